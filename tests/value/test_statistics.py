"""Every statistic against hand-worked cases, closed forms and properties."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from synthetic import make_records, pair_table

from taulong.errors import ConfigError
from taulong.reading.report import ReportConfig
from taulong.value import (
    Estimate,
    arm_mean,
    cluster_interval,
    contrast,
    equivalence,
    estimates_table,
    fewest_trials,
    fieller,
    headroom_share,
    holm,
    in_order,
    interactions,
    learning_slope,
    memory_contrasts,
    p_text,
    pass_hat_k,
    reward_contrasts,
    sign_flip_p,
    value_per_thousand_tokens,
    variance_components,
    variance_split,
    weighted_interval,
    with_owed,
)  # fmt: skip

NOTEBOOK, NONE = ("learner", "notebook"), ("learner", "none")
DIFFERENCES = st.lists(
    st.lists(st.integers(-4, 4).map(lambda quarter: quarter / 4), min_size=1, max_size=4), min_size=2, max_size=7
)


def test_a_contrast_worked_by_hand():
    # Shift means 1, 0.5, 0: mean 0.5, deviation 0.5, standard error 0.5 / sqrt(3), t(2) at 97.5 % is 4.302653.
    table = pair_table([[1, 1], [1, 0], [0, 0]]).assign(steps=lambda rows: 10 + rows["official_reward"])
    found = contrast(table, NOTEBOOK, NONE, "steps")
    half = 4.302653 * 0.5 / math.sqrt(3)
    assert (found.value, found.shifts, found.cases, found.planned) == (0.5, 3, 6, 6)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    assert found.interval == "t"
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
    agreed = len({sum(shift) / len(shift) for shift in differences}) == 1
    assert (found.low is None) == (agreed and found.interval != "bounded")
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
def test_shifts_that_all_agree_say_how_many_may_differ(difference):
    table = pair_table([[difference, difference, difference]] * 10)
    found = contrast(table, NOTEBOOK, NONE)
    # 10 of 10 alike has a chance of 5 % where 74.1 % of shifts are.
    assert found.note == "all 10 shifts agree; at most 26 % differ (95 %)"
    assert found.low < found.value + 1e-9
    assert found.high > found.value - 1e-9
    assert found.high - found.low > 0.25
    steps = contrast(table.assign(steps=table["official_reward"] + 7), NOTEBOOK, NONE, "steps")
    assert (steps.low, steps.high, steps.note) == (None, None, found.note)


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


def test_a_missing_trial_leaves_the_other_trials_of_its_case_standing():
    trials = [pair_table([[1], [1]]).assign(trial=trial) for trial in range(4)]
    table = pd.concat(trials, ignore_index=True)
    table.loc[
        (table["trial"] == 3) & (table["memory_mode"] == "notebook") & (table["shift_id"] == "eval-1000000"), "outcome"
    ] = "unscored"
    found = contrast(table, NOTEBOOK, NONE, max_dropped=0.6)
    assert (found.cases, found.planned) == (1, 2)
    assert (found.at_least, found.at_most) == pytest.approx(((0.75 + 1) / 2, 1))


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
    assert found.value == pytest.approx(1)
    assert found.low < 0.75 < 1.3 < found.high
    assert found.note.startswith("all 12 shifts agree")


def test_the_interval_of_a_share_holds_it():
    table = with_owed(make_records(num_shifts=12))
    table.loc[(table["memory_mode"] == "notebook") & (table["position"] > 6), "official_reward"] = 0
    found = headroom_share(table, "learner")
    assert found.low < found.value < found.high
    assert (found.interval, found.note) == ("ratio", "")
    with pytest.raises(ConfigError, match="metric: 'position'"):
        headroom_share(table, "learner", metric="position")


def test_the_guesser_has_no_headroom_to_share():
    found = headroom_share(with_owed(make_records(agents=("guesser",), num_shifts=12)), "guesser")
    assert found.value is None
    assert "it covers 0" in found.note
    same = with_owed(make_records(num_shifts=4)).assign(official_reward=1.0)
    assert headroom_share(same, "learner").note.startswith("the headroom oracle - none is +0.000 [-0.6")


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


def test_primary_contrasts_come_first_and_the_others_of_an_agent_after_its_own():
    # Two agents, half of the level each. a: .01 / .5 = .02; its two others share its half: .012 / .25 = .048, then the last
    # .04 / .5 = .08. Its half then goes to b: .06 / 1 = .08 is the larger, and b's other one follows at .5.
    p = [0.01, 0.06, 0.012, 0.04, 0.5]
    adjusted = in_order(p, ["a", "b", "a", "a", "b"], [True, True, False, False, False])
    assert adjusted == pytest.approx([0.02, 0.08, 0.048, 0.08, 0.5])
    blocked = in_order([None, 0.001, 0.001], ["a", "a", "b"], [True, False, True])
    assert blocked == [None, 1.0, pytest.approx(0.002)]


def test_where_nothing_is_to_be_found_one_report_in_twenty_finds_something_at_most():
    rng = np.random.default_rng(11)
    agents, primary = ["a", "b", "c"] * 5, [True] * 3 + [False] * 12
    false_alarms = [min(in_order(list(rng.random(15)), agents, primary)) <= 0.05 for _ in range(4000)]
    assert stats.binomtest(sum(false_alarms), 4000, 0.05, alternative="greater").pvalue > 0.01
    # a's primary is real, its others and b are not: what a passes on does not add up
    mixed = [min(np.delete(in_order([1e-9, *rng.random(14)], agents, primary), 0)) <= 0.05 for _ in range(4000)]
    assert stats.binomtest(sum(mixed), 4000, 0.05, alternative="greater").pvalue > 0.01


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abc"), st.booleans()), min_size=1, max_size=10))
def test_adjusted_values_are_no_smaller_than_p_and_no_smaller_after_a_primary_one(contrasts):
    p, agents, primary = map(list, zip(*contrasts, strict=True))
    adjusted = in_order(p, agents, primary)
    assert all(new >= old for old, new in zip(p, adjusted, strict=True))
    for agent in set(agents):
        own = [at for at, name in enumerate(agents) if name == agent]
        first = [adjusted[at] for at in own if primary[at]]
        others = [adjusted[at] for at in own if not primary[at]]
        assert not first or not others or min(others) >= max(first)


def test_the_table_says_which_contrast_is_primary_and_when_there_are_too_many_for_the_shifts():
    table = with_owed(make_records(agents=("learner", "parrot"), num_shifts=7))
    found = [*memory_contrasts(table), *reward_contrasts(table)[1:3], *interactions(table)]
    rows = estimates_table(found)
    primary = rows[rows["family"] == "primary"]
    assert primary[["agent", "memory_mode", "baseline", "population", "metric"]].values.tolist() == [
        [agent, "notebook", "none", "testing", "official_reward"] for agent in ("learner", "parrot")
    ]
    assert rows.loc[rows["family"] == "exploratory", "p_adjusted"].isna().all()
    assert rows.loc[rows["family"] != "exploratory", "p_adjusted"].notna().all()
    assert not primary["descriptive"].any()  # two agents, 2 / 128 each: .031
    assert rows.loc[
        rows["family"] == "secondary", "descriptive"
    ].all()  # three and five in half of the level: .094 and more
    assert rows["dropped"][0] == "learner/notebook 0, learner/none 0"
    assert isinstance(found[0], Estimate)


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
    assert [found.family for found in (official, gated, gap)] == ["primary", "secondary", "secondary"]
    taken = np.array([[0.5, 0], [0.5, 0], [0, 0], [0.5, 0], [0.5, 0], [0, 0]])
    assert (gap.low, gap.high) == pytest.approx(weighted_interval(taken, (1, -1)))
    lost = table.copy()
    lost.loc[(lost["case_id"] == "eval-1000000/1") & (lost["memory_mode"] == "none"), "gated_reward"] = None
    official, gated, gap = reward_contrasts(lost)
    assert (official.cases, gated.cases, gap.cases) == (12, 11, 11)
    assert gap.dropped == {"learner/notebook": 0, "learner/none": 1}


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
    assert nothing[["value", "p_adjusted", "cases"]].dtypes.equals(full[["value", "p_adjusted", "cases"]].dtypes)


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


# --- equivalence, interaction, variance, tokens ------------------------------------------------------------------------


def test_no_cost_on_lookalikes_takes_enough_shifts_to_be_shown():
    # No lookalike is lost in 30 shifts: an imagined one more weighs .0951 at 95 % (1 - .05 ** (1 / 30)).
    table = with_owed(make_records(num_shifts=30))
    shown = equivalence(table, NOTEBOOK, NONE, 0.1)
    assert shown.equivalent
    assert (shown.low, shown.high) == pytest.approx((-0.0951, 0.0951), abs=1e-4)
    assert shown.p == pytest.approx(0.9**30, abs=1e-4)
    assert "equivalent within 0.1" in str(shown)
    few = equivalence(table[table["seed"] < 1_000_012], NOTEBOOK, NONE, 0.1)
    assert not few.equivalent
    assert "not shown equivalent" in str(few)
    assert not equivalence(
        with_owed(make_records(agents=("parrot",), num_shifts=30)), ("parrot", "notebook"), ("parrot", "none"), 0.5
    ).equivalent
    with pytest.raises(ConfigError, match="margin: 2"):
        equivalence(table, NOTEBOOK, NONE, 2)


def test_an_interaction_is_the_difference_of_two_memory_values():
    table = with_owed(make_records(agents=("learner", "guesser"), num_shifts=8))
    (found,) = interactions(table)
    values = [contrast(table, (agent, "notebook"), (agent, "none")).value for agent in ("learner", "guesser")]
    assert found.value == pytest.approx(values[0] - values[1])
    assert found.low < found.value < found.high
    assert found.name == "(notebook - none) of learner - of guesser"


def test_variance_components_by_hand():
    # Two shifts of two cases of one trial: means 1 and 3, within 0.5 + 0.5 over 2, across 2 * (1 + 1) / 1 = 4; between 1.75.
    values, shift_of = pd.Series([0.5, 1.5, 2.5, 3.5]), pd.Series(["a", "a", "b", "b"])
    assert variance_components(values, shift_of, pd.Series(list("wxyz"))) == (
        pytest.approx(1.75),
        pytest.approx(0.5),
        None,
    )
    # Two trials of each case, apart by 0.2: trial 0.02; cases then have 0.5 - 0.02 / 2 and shifts what is left.
    twice = pd.concat([values - 0.1, values + 0.1])
    shift, case, trial = variance_components(twice, pd.concat([shift_of] * 2), pd.concat([pd.Series(list("wxyz"))] * 2))
    assert (shift, case, trial) == pytest.approx((1.75, 0.49, 0.02))


def test_variance_components_of_unequal_sizes_are_right_on_average():
    rng = np.random.default_rng(3)
    sizes = {f"s{shift}c{case}": int(rng.integers(1, 4)) for shift in range(8) for case in range(1 + shift % 4)}
    names = pd.Series([name for name, size in sizes.items() for _ in range(size)])
    shift_of = names.str[:2]
    found = []
    for _ in range(400):
        shift = shift_of.map(pd.Series(rng.normal(0, 1, 8), index=[f"s{at}" for at in range(8)]))
        case = names.map(pd.Series(rng.normal(0, 0.7, len(sizes)), index=list(sizes)))
        found.append(variance_components(shift + case + rng.normal(0, 0.5, len(names)), shift_of, names))
    assert np.mean(found, axis=0) == pytest.approx((1, 0.49, 0.25), rel=0.15)


def test_the_split_of_a_run_counts_what_it_splits():
    one, two = (
        pair_table([[1, 0], [1, 1], [0, 0]]).assign(trial=0),
        pair_table([[0, 0], [1, 1], [0, 1]]).assign(trial=1),
    )
    split = variance_split(pd.concat([one, two], ignore_index=True), NOTEBOOK, NONE)
    assert (split.shifts, split.cases, split.trials) == (3, 6, 12)
    assert split.trial == pytest.approx(0.5 * 2 / 6)
    assert variance_split(one, NOTEBOOK, NONE).trial is None


def test_value_for_each_thousand_tokens():
    table = pair_table([[1, 1], [1, 0], [1, 0], [0, 1]]).assign(agent_tokens=4000)
    table.loc[table["memory_mode"] == "notebook", "agent_tokens"] += 500
    found = value_per_thousand_tokens(table, "learner")
    assert found.value == pytest.approx((1 + 0.5 + 0.5 + 0.5) / 4 / 0.5)
    assert found.low < found.value < found.high
    assert "takes +0.00" in value_per_thousand_tokens(table.assign(agent_tokens=0), "learner").note
