"""Every statistic against hand-worked cases, closed forms and properties."""

import dataclasses
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from synthetic import make_records, pair_table

from taulong.batch.report import ReportConfig
from taulong.errors import ConfigError
from taulong.value import (
    Estimate,
    arm_mean,
    cluster_interval,
    clustered_t,
    contrast,
    coverage_table,
    equal,
    estimates_table,
    fewest_trials,
    fieller,
    headroom_share,
    holm,
    learning_slope,
    lumpy,
    memory_contrasts,
    not_clustered,
    one_baseline,
    p_text,
    pass_hat_k,
    plan_shifts,
    point_coverage,
    reward_contrasts,
    share_interval,
    sign_flip_p,
    smooth,
    t_power,
    variance_components,
    with_owed,
)  # fmt: skip

NOTEBOOK, NONE = ("learner", "notebook"), ("learner", "none")
DIFFERENCES = st.lists(
    st.lists(st.integers(-4, 4).map(lambda quarter: quarter / 4), min_size=1, max_size=4), min_size=2, max_size=7
)


def test_a_contrast_worked_by_hand():
    # Shift means 1, 0.5, 0: mean 0.5, deviation 0.5, standard error 0.5 / sqrt(3), t(2) at 97.5 % is 4.302653.
    found = contrast(pair_table([[1, 1], [1, 0], [0, 0]]), NOTEBOOK, NONE)
    half = 4.302653 * 0.5 / math.sqrt(3)
    assert (found.value, found.shifts, found.cases, found.planned) == (0.5, 3, 6, 6)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    # Of the 8 sign patterns of (1, .5, 0), the 4 with both signs alike have a mean as far out, 2 on either side.
    assert found.p == pytest.approx(0.5)
    assert found.descriptive


def test_shifts_weigh_the_same_whatever_their_size():
    assert contrast(pair_table([[1, 1, 1, 1], [0]]), NOTEBOOK, NONE).value == 0.5


def test_the_interval_is_that_of_scipy():
    means = np.array([0.1, 0.4, 0.2, 0.9, 0.3])
    interval = stats.ttest_1samp(means, 0).confidence_interval(0.9)
    assert cluster_interval(means, 0.9) == pytest.approx((interval.low, interval.high))


@given(DIFFERENCES)
@settings(max_examples=25, deadline=None)
def test_exchanging_the_arms_flips_the_signs(differences):
    table = pair_table(differences)
    forth, back = contrast(table, NOTEBOOK, NONE), contrast(table, NONE, NOTEBOOK)
    assert back.value == pytest.approx(-forth.value)
    if forth.low is None:
        assert back.low is None
        assert back.note == forth.note
    else:
        assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low))
    assert back.p == pytest.approx(forth.p)


@given(DIFFERENCES, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_the_order_of_shifts_and_rows_changes_nothing(differences, random):
    forth = contrast(pair_table(differences), NOTEBOOK, NONE)
    random.shuffle(differences)
    relabelled = pair_table(differences)
    other = contrast(relabelled.sample(frac=1, random_state=random.randrange(99)), NOTEBOOK, NONE)
    for name in ("value", "low", "high"):
        assert getattr(other, name) == pytest.approx(getattr(forth, name))
    assert other.p == pytest.approx(forth.p)


@given(DIFFERENCES)
@settings(max_examples=25, deadline=None)
def test_the_interval_holds_its_value_and_p_is_a_probability(differences):
    found = contrast(pair_table(differences), NOTEBOOK, NONE)
    assert found.low is None or found.low <= found.value <= found.high
    assert (found.low is None) == (len({sum(shift) / len(shift) for shift in differences}) == 1)
    assert 2 / 2**found.shifts <= found.p <= 1


def test_fewer_shifts_give_a_wider_interval():
    pattern = [[1, 0], [0, 0], [1, 1]]
    widths = []
    for repeats in (1, 2, 4, 8):
        found = contrast(pair_table(pattern * repeats), NOTEBOOK, NONE)
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


# quarters are exact in binary: in thirds, sums that are equal differ by rounding, and scipy counts only one of them
@given(st.lists(st.integers(-4, 4).map(lambda quarter: quarter / 4), min_size=2, max_size=8))
@settings(max_examples=25, deadline=None)
def test_the_sign_flip_p_is_that_of_scipy(means):
    exact = stats.permutation_test((means,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True)
    assert sign_flip_p(np.array(means)) == (pytest.approx(exact.pvalue), "exact sign flip")


@pytest.mark.parametrize(("shifts", "p"), [(5, 2 / 32), (6, 2 / 64), (16, 2 / 65536)])
def test_the_smallest_p_of_a_number_of_shifts(shifts, p):
    assert sign_flip_p(np.ones(shifts))[0] == pytest.approx(p)


def test_above_sixteen_shifts_the_flips_are_drawn_and_the_seed_is_named():
    means = np.random.default_rng(1).normal(0.2, 1, 20)
    first, method = sign_flip_p(means, seed=7)
    assert method == "99999 sign flips, seed 7"
    assert sign_flip_p(means, seed=7)[0] == first
    assert first == pytest.approx(stats.ttest_1samp(means, 0).pvalue, abs=0.02)
    assert sign_flip_p(np.ones(20))[0] == pytest.approx(2e-5, abs=2e-5)


def test_one_shift_has_a_value_and_no_interval():
    found = contrast(pair_table([[1, 0]]), NOTEBOOK, NONE)
    assert (found.value, found.low, found.high, found.p, found.note) == (0.5, None, None, None, "1 shift: no interval")
    assert "t(0)" not in str(found)


@pytest.mark.parametrize(("shifts", "descriptive"), [(5, True), (6, False)])
def test_fewer_than_six_shifts_are_descriptive(shifts, descriptive):
    differences = ([[1], [0]] * shifts)[:shifts]
    assert contrast(pair_table(differences), NOTEBOOK, NONE).descriptive is descriptive


# thirds: their means differ by rounding
@pytest.mark.parametrize("difference", [1, 0, 1 / 3])
def test_shifts_that_all_agree_have_no_interval_and_say_how_many_may_differ(difference):
    found = contrast(pair_table([[difference, difference, difference]] * 10), NOTEBOOK, NONE)
    assert (found.value, found.low, found.high) == (pytest.approx(difference), None, None)
    # 10 of 10 alike has a chance of 5 % where 74.1 % of shifts are.
    assert found.note == "all 10 shifts agree; at most 26 % differ (95 %)"


def test_what_is_missing_bounds_the_value():
    table = pair_table([[1, 0, 1, 0], [1, 1, 0, 0]])
    whole = contrast(table, NOTEBOOK, NONE)
    assert (whole.at_least, whole.value, whole.at_most) == (0.5, 0.5, 0.5)
    assert "whatever" not in str(whole)
    table.loc[(table["case_id"] == "eval-1000000/1") & (table["memory_mode"] == "notebook"), "outcome"] = "unscored"
    found = contrast(table, NOTEBOOK, NONE, max_dropped=0.2)
    assert (found.at_least, found.at_most) == pytest.approx(((0.25 + 0.5) / 2, (0.5 + 0.5) / 2))
    assert "7 of 8 pairs (+0.375 to +0.500 whatever the others are)" in str(found)
    refused = contrast(table, NOTEBOOK, NONE)
    assert refused.value is None
    assert (refused.at_least, refused.at_most) == (found.at_least, found.at_most)


def test_bounds_are_for_shares_only():
    table = pair_table([[1, 0], [0, 1]]).assign(steps=lambda rows: range(10, 10 + len(rows)))
    assert contrast(table, NOTEBOOK, NONE, "steps").at_least is None


def test_shifts_without_a_pair_are_counted():
    table = pair_table([[1, 1], [0, 0], [1, 0]])
    table.loc[table["shift_id"] == "eval-1000001", "outcome"] = "unscored"
    assert contrast(table, NOTEBOOK, NONE, max_dropped=0.5).note == "1 shift without a pair left out"


def test_dropped_pairs_are_counted_by_arm_and_refused_above_the_share():
    table = pair_table([[1, 0, 1, 0, 1], [1, 1, 0, 0, 1]])
    table.loc[(table["case_id"] == "eval-1000000/1") & (table["memory_mode"] == "none"), "outcome"] = "unscored"
    found = contrast(table, NOTEBOOK, NONE)
    assert (found.cases, found.planned, found.dropped) == (9, 10, {"learner/notebook": 0, "learner/none": 1})
    assert found.value == pytest.approx((0.5 + 0.6) / 2)
    table.loc[(table["case_id"] == "eval-1000001/2") & (table["memory_mode"] == "notebook"), "official_reward"] = None
    refused = contrast(table, NOTEBOOK, NONE)
    assert refused.value is None
    assert refused.note == "2 of 10 pairs dropped (no score: learner/notebook 1, learner/none 1); at most 10% accepted"
    assert contrast(table, NOTEBOOK, NONE, max_dropped=0.2).cases == 8


def test_an_owed_case_is_a_dropped_pair():
    table = with_owed(pair_table([[1, 0], [0, 1]]).iloc[1:])
    assert contrast(table, NOTEBOOK, NONE, max_dropped=0.5).dropped == {"learner/notebook": 0, "learner/none": 1}


def test_trials_of_a_case_count_as_their_mean():
    one, two = pair_table([[1], [1]]).assign(trial=0), pair_table([[0], [1]]).assign(trial=1)
    found = contrast(pd.concat([one, two]), NOTEBOOK, NONE)
    assert (found.value, found.cases) == (0.75, 2)


def test_the_mean_of_an_arm():
    found = arm_mean(pair_table([[1, 1], [1, 0], [0, 0]]), NOTEBOOK)
    assert (found.value, found.p) == (0.5, None)


def test_unknown_words_name_the_near_match():
    table = pair_table([[1], [0]])
    with pytest.raises(ValueError, match="did you mean 'learner/notebook'"):
        contrast(table, ("learner", "notbook"), NONE)
    with pytest.raises(ValueError, match="did you mean 'official_reward'"):
        contrast(table, NOTEBOOK, NONE, metric="offical_reward")
    with pytest.raises(ValueError, match="did you mean 'testing'"):
        contrast(table, NOTEBOOK, NONE, population="test")
    with pytest.raises(ValueError, match="level: 95"):
        contrast(table, NOTEBOOK, NONE, level=95)


# --- headroom ------------------------------------------------------------------------------------------------------


def test_fieller_without_noise_in_the_denominator_is_the_t_interval_over_it():
    top = np.array([0.2, 0.4, 0.1, 0.5])
    low, high = cluster_interval(top)
    assert fieller(top, np.full(4, 0.5)) == pytest.approx((top.mean() / 0.5, low / 0.5, high / 0.5))


def test_fiellers_limits_are_where_the_t_test_turns():
    rng = np.random.default_rng(3)
    bottom = rng.normal(0.6, 0.2, 9)
    top = 0.5 * bottom + rng.normal(0, 0.1, 9)
    _, low, high = fieller(top, bottom, 0.9)
    for limit in (low, high):
        assert stats.ttest_1samp(top - limit * bottom, 0).pvalue == pytest.approx(0.1)


def test_a_denominator_that_may_be_nothing_has_no_ratio():
    with pytest.raises(ValueError, match="covers 0"):
        fieller(np.array([1.0, 0, 1]), np.array([1.0, -1, 0]))


def test_the_learner_reaches_the_whole_headroom():
    found = headroom_share(with_owed(make_records(num_shifts=12)), "learner")
    assert (found.value, found.low, found.high) == (pytest.approx(1), None, None)
    assert found.note.startswith("all 12 shifts agree")


def test_the_interval_of_a_share_is_fiellers_and_says_so():
    table = with_owed(make_records(num_shifts=12))
    table.loc[(table["memory_mode"] == "notebook") & (table["position"] > 6), "official_reward"] = 0
    found = headroom_share(table, "learner")
    assert found.low < found.value < found.high
    assert found.note == "Fieller's interval"


def test_the_guesser_has_no_headroom_to_share():
    found = headroom_share(with_owed(make_records(agents=("guesser",), num_shifts=12)), "guesser")
    assert found.value is None
    assert "it covers 0" in found.note
    same = with_owed(make_records(num_shifts=4)).assign(official_reward=1.0)
    assert headroom_share(same, "learner").note == "the headroom oracle - none is +0.000 in every shift"


def test_an_oracle_that_harms_is_refused():
    table = with_owed(make_records(num_shifts=8))
    table["official_reward"] = 1 - table["official_reward"]
    assert "the oracle does worse" in headroom_share(table, "learner").note


# --- slope, pass^k, Holm -------------------------------------------------------------------------------------------


def test_the_slope_of_the_difference_over_positions():
    # Differences grow by 0.1 and 0.3 a position; the shift of a single case has no slope.
    table = pair_table([[0, 0.1, 0.2], [0, 0.3, 0.6], [0.5]])
    found = learning_slope(table, NOTEBOOK, NONE)
    assert found.value == pytest.approx(0.2)
    assert found.shifts == 2
    assert found.note == "1 shift without variation in position left out"


def test_a_level_difference_has_no_slope():
    assert learning_slope(pair_table([[1, 1, 1], [0, 0, 0]]), NOTEBOOK, NONE).value == pytest.approx(0)


def test_pass_hat_k_is_the_share_of_subsets_that_all_succeed():
    # One case solved in 2 of 3 trials, one in 3 of 3: of its three pairs of trials one, and all, succeed.
    trials = [pair_table([[a, b]]).assign(trial=at) for at, (a, b) in enumerate([(1, 1), (1, 1), (0, 1)])]
    table = pd.concat(trials)
    by_mode = {k: pass_hat_k(table, k).set_index("memory_mode")["value"]["notebook"] for k in (1, 2, 3)}
    assert by_mode == pytest.approx({1: (2 / 3 + 1) / 2, 2: (1 / 3 + 1) / 2, 3: 0.5})
    with pytest.raises(ValueError, match=r"pass\^4 needs 4 scored trials a case; eval-1000000/1"):
        pass_hat_k(table, 4)
    assert fewest_trials(table) == 3
    table.loc[(table["trial"] == 2) & (table["memory_mode"] == "none"), "outcome"] = "unscored"
    assert fewest_trials(table, "testing") == 2


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.02, None, 0.5]) == [pytest.approx(0.06), None, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    for p, new in zip(p_values, adjusted, strict=False):
        assert p <= new <= min(1, len(p_values) * p) + 1e-12
    assert sorted(range(len(p_values)), key=lambda at: (p_values[at], adjusted[at])) == sorted(
        range(len(p_values)), key=lambda at: (adjusted[at], p_values[at])
    )


def test_the_table_of_contrasts_adjusts_over_each_family_and_says_when_it_is_too_large_for_the_shifts():
    found = contrast(pair_table([[1], [1], [1], [1], [1], [1]]), NOTEBOOK, NONE)
    other = dataclasses.replace(found, family="another question")
    table = estimates_table([found, other, found])
    assert table["p_holm"].tolist() == pytest.approx([4 / 64, 2 / 64, 4 / 64])
    assert table["descriptive"].tolist() == [True, False, True]  # two contrasts of six shifts: at best .0625
    assert table["dropped"][0] == "learner/notebook 0, learner/none 0"
    assert isinstance(found, Estimate)


def test_contrasts_that_ask_one_question_of_several_agents_are_a_family():
    records = make_records(agents=("learner", "parrot"), num_shifts=2)
    table = estimates_table(memory_contrasts(with_owed(records)))
    sizes = table.groupby("family")["name"].agg(list)
    assert sizes["notebook - none, testing"] == ["learner: notebook - none", "parrot: notebook - none"]
    assert len(sizes) == 4


def test_the_smallest_p_that_drawn_flips_give_is_an_upper_limit():
    drawn = contrast(pair_table([[1]] * 20), NOTEBOOK, NONE)
    assert "p \u2264 1e-05 (99999 sign flips, seed 0)" in str(drawn)
    assert p_text(drawn.p, drawn.p_method, 6 * drawn.p) == "p \u2264 6e-05"
    assert p_text(2e-5, drawn.p_method) == "p = 2e-05"
    assert "p = 0.031 (exact sign flip)" in str(contrast(pair_table([[1]] * 6), NOTEBOOK, NONE))


def test_memory_value_under_both_rewards_and_what_the_gate_does_not_grant():
    table = pair_table([[1, 1], [1, 0], [0, 0], [1, 1], [1, 0], [0, 0]])
    table["gated_reward"] = table["official_reward"]
    table.loc[(table["memory_mode"] == "notebook") & table["case_id"].str.endswith("/1"), "gated_reward"] = 0.0
    official, gated, gap = reward_contrasts(table)
    assert (official.value, gated.value, gap.value) == pytest.approx((0.5, 1 / 6, 1 / 3))
    assert [found.metric for found in (official, gated, gap)] == ["official_reward", "gated_reward", "official - gated"]
    assert gap.low < gap.value < gap.high
    assert len({official.family, gated.family, gap.family}) == 3
    hand = cluster_interval(np.array([0.5, 0.5, 0, 0.5, 0.5, 0]))
    assert (gap.low, gap.high) == pytest.approx(hand)
    lost = table.copy()
    lost.loc[(lost["case_id"] == "eval-1000000/1") & (lost["memory_mode"] == "none"), "gated_reward"] = None
    official, gated, gap = reward_contrasts(lost)
    assert (official.cases, gated.cases, gap.cases) == (12, 11, 11)
    assert gap.dropped == {"learner/notebook": 0, "learner/none": 1}


# --- planning ------------------------------------------------------------------------------------------------------


def test_the_power_of_the_t_test_is_the_tabulated_one():
    # Cohen (1988): effect 0.5, two-sided 5 %, power 0.8 needs 34 pairs; effect 0.8 needs 15.
    assert t_power(0.5, 33) < 0.8 < t_power(0.5, 34)
    assert t_power(0.8, 14) < 0.8 < t_power(0.8, 15)
    assert t_power(0, 10) == pytest.approx(0.05)


def test_variance_components_by_hand():
    # Two shifts of two: means 1 and 3, within squares 0.5 + 0.5, so within 0.5; across 2 * (1 + 1) / 1 = 4; between 1.75.
    values = pd.Series([0.5, 1.5, 2.5, 3.5])
    assert variance_components(values, pd.Series(["a", "a", "b", "b"])) == pytest.approx((1.75, 0.5, 2))


def test_the_plan_reaches_its_power_and_one_shift_fewer_does_not():
    pilot = with_owed(make_records(num_shifts=12))
    plan = plan_shifts(pilot, NOTEBOOK, NONE, 0.1, cost_per_shift=2.5)
    deviation = math.sqrt(plan.between + plan.within / plan.cases_per_shift)
    assert t_power(0.1 / deviation, plan.shifts - 1) < 0.8 <= plan.power
    assert plan.cost == 2.5 * plan.shifts
    assert plan_shifts(pilot, NOTEBOOK, NONE, 0.05).shifts > plan.shifts
    assert plan_shifts(pilot, NOTEBOOK, NONE, 0.1, cases_per_shift=1).shifts > plan.shifts


def test_a_plan_for_several_contrasts_needs_more_shifts():
    pilot = with_owed(make_records(num_shifts=12))
    one, five = (plan_shifts(pilot, NOTEBOOK, NONE, 0.1, tests=tests) for tests in (1, 5))
    deviation = math.sqrt(five.between + five.within / five.cases_per_shift)
    assert t_power(0.1 / deviation, five.shifts - 1, 0.99) < 0.8 <= five.power
    assert five.shifts > one.shifts
    assert "at p < 0.05/5" in str(five)
    assert "at p < 0.05 " in str(one)


def test_a_pilot_that_cannot_plan_says_why():
    assert str(plan_shifts(pair_table([[1], [1]]), NOTEBOOK, NONE, 0.1)).endswith(
        "no plan (the pilot's differences do not vary)"
    )
    assert "the pilot has 1 shift," in plan_shifts(pair_table([[1, 0]]), NOTEBOOK, NONE, 0.1).note
    assert "a million" in plan_shifts(pair_table([[1], [0]]), NOTEBOOK, NONE, 1e-6).note
    with pytest.raises(ValueError, match="difference: 0"):
        plan_shifts(pair_table([[1], [0]]), NOTEBOOK, NONE, 0)


def test_the_cost_of_a_shift_is_what_the_pilot_paid_in_both_arms():
    pilot = pair_table([[1, 0], [0, 0]]).assign(agent_cost=0.5, user_cost=0.25, unpriced_calls=0)
    plan = plan_shifts(pilot, NOTEBOOK, NONE, 0.1)
    assert (plan.cost_per_shift, plan.cost) == (3.0, 3.0 * plan.shifts)
    pilot.loc[0, "unpriced_calls"] = 1
    assert plan_shifts(pilot, NOTEBOOK, NONE, 0.1).cost is None


def test_the_contrasts_of_the_memory_question():
    names = [(found.name, found.population) for found in memory_contrasts(with_owed(make_records(num_shifts=2)))]
    assert names == [
        ("learner: notebook - none", "testing"), ("learner: oracle - none", "testing"),
        ("learner: notebook - none", "lookalike"), ("learner: oracle - none", "lookalike"),
    ]  # fmt: skip


def test_an_agent_that_was_not_run_without_memory_has_no_contrast():
    records = make_records(agents=("learner", "parrot"), num_shifts=2)
    table = with_owed(records[(records["agent"] == "learner") | (records["memory_mode"] != "none")])
    assert {found.name.partition(":")[0] for found in memory_contrasts(table)} == {"learner"}
    nothing = estimates_table(memory_contrasts(table[table["agent"] == "parrot"]))
    full = estimates_table(memory_contrasts(table))
    assert nothing.empty
    assert list(nothing) == list(full)
    assert nothing[["value", "p_holm", "cases"]].dtypes.equals(full[["value", "p_holm", "cases"]].dtypes)


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("level", 95.0, "within (0, 1)"), ("level", 1.0, "within (0, 1)"), ("seed", -1, "of at least 0"),
        ("max_dropped", 1.5, "within [0, 1)"), ("difference", 0.0, "within (0, 1]"), ("level", "0.95", "not a number"),
        ("run", "", "the name of a run folder"), ("cap_runs", ("smoke",), "other runs than run"),
    ],
)  # fmt: skip
def test_a_report_that_cannot_be_made_is_refused_by_field(field, value, accepted):
    with pytest.raises(ConfigError, match=re.escape(f"{field}: {value!r}")) as refused:
        ReportConfig(**{"run": "smoke", field: value})
    assert accepted in str(refused.value)


# --- coverage ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coverage():
    return coverage_table(replicates=2000, seed=5).set_index(["effect", "interval", "shifts"])["coverage"]


@pytest.mark.parametrize("effect", [smooth, lumpy, equal])
@pytest.mark.parametrize("shifts", [5, 10, 20])
def test_the_clustered_interval_covers_at_its_level(coverage, effect, shifts):
    # Binomial standard error 0.005; lumpy effects on five shifts lose some 0.015.
    assert 0.92 <= coverage[effect.__name__, clustered_t.__name__, shifts] <= 0.975


def test_the_naive_intervals_do_not(coverage):
    assert coverage["smooth", "cluster_bootstrap", 5] < 0.87
    assert coverage["smooth", not_clustered.__name__, 20] < 0.91
    assert coverage["equal", one_baseline.__name__, 20] < 0.5


def test_rare_losses_are_covered_by_no_interval_of_few_shifts(coverage):
    assert coverage["rare", clustered_t.__name__, 5] < 0.6  # every case lost with 3 in 100: most tables show none


def test_wilsons_interval_is_scipys():
    for won, count in ((0, 8), (3, 8), (8, 8), (19, 24)):
        limits = stats.binomtest(won, count).proportion_ci(0.9, "wilson")
        assert share_interval(won / count, count, 0.9) == pytest.approx((limits.low, limits.high))


def test_the_interval_of_a_point_covers_where_resampled_shifts_do_not():
    covered = point_coverage().pivot_table(index=["share", "shifts"], columns="interval", values="coverage")
    assert covered["wilson"].min() > 0.85
    assert covered["wilson"].mean() > 0.94
    assert covered.loc[(0.97, 5), "bootstrap"] < 0.2


@pytest.mark.parametrize(("agent", "mode", "truth"), [("learner", "none", 0.25), ("guesser", "notebook", 0.25)])
def test_the_truth_of_a_scripted_agent_is_inside_at_the_stated_rate(agent, mode, truth):
    # Four guesses a shift are so coarse that t covers .932 on 8 shifts, and .951 on the 12 used here (200,000 draws).
    inside = 0
    for seed in range(60):
        found = arm_mean(make_records(agents=(agent,), modes=(mode,), num_shifts=12, seed=seed), (agent, mode))
        inside += found.low is not None and found.low <= truth <= found.high
    assert stats.binomtest(inside, 60, 0.95).pvalue > 0.01
