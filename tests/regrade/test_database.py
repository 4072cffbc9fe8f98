"""Regrading runs of database domains: the deterministic part is recomputed, a judge's part is taken from the file."""

import pytest

from taulong.audit.directions import domain_tasks
from taulong.audit.domain_runs import build_gold, play_run, reference_steps
from taulong.audit.variations import make_variations
from taulong.backend import RewardInfo, RewardType, SimulationRun, TerminationReason, ToolMessage
from taulong.regrade.database import database_verdicts


def recorded(task, domain, steps, ending=TerminationReason.USER_STOP, reward_info=None):
    messages = play_run(task, domain, steps).messages
    return SimulationRun(
        id="run", task_id=task.id, start_time="", end_time="", duration=0.0, termination_reason=ending,
        messages=messages, reward_info=reward_info,
    )  # fmt: skip


def task_with(operator, kind="honest", domain="airline"):
    for task in domain_tasks(domain):
        for made in make_variations(build_gold(task, domain)):
            if (made.operator, made.kind) == (operator, kind):
                return task, made.steps
    raise LookupError(operator)


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_a_reference_passes_everything(domain):
    task = next(task for task in domain_tasks(domain) if task.evaluation_criteria.actions)
    row = database_verdicts(recorded(task, domain, reference_steps(task)), task, domain, {})
    assert (row["official_reward"], row["gated_reward"], row["replay_mismatches"]) == (1.0, 1.0, 0)
    assert {row[name] for name in ("strict_stock", "target", "frame", "form")} == {"pass"}


def test_a_failure_of_form_alone_is_told():
    task, steps = task_with("lists")
    row = database_verdicts(recorded(task, "airline", steps), task, "airline", {})
    assert row["official_reward"] == 0
    assert (row["strict_stock"], row["target"], row["frame"], row["form"]) == ("fail", "pass", "pass", "fail")


def test_a_stray_write_fails_the_frame_and_names_the_field():
    task, steps = task_with("stray", "wrong")
    row = database_verdicts(recorded(task, "airline", steps), task, "airline", {})
    assert (row["official_reward"], row["gated_reward"], row["frame"]) == (0, 0, "fail")
    assert row["fields"].startswith(("/reservations/", "/users/"))


def test_a_run_that_did_not_stop_has_no_reward():
    task = domain_tasks("airline")[0]
    run = recorded(task, "airline", reference_steps(task), TerminationReason.MAX_STEPS)
    assert database_verdicts(run, task, "airline", {})["official_reward"] == 0


def test_answers_that_differ_make_a_run_void():
    task = next(task for task in domain_tasks("airline") if task.evaluation_criteria.actions)
    run = recorded(task, "airline", reference_steps(task))
    answer = next(message for message in run.messages if isinstance(message, ToolMessage))
    answer.content += " and more"
    row = database_verdicts(run, task, "airline", {})
    assert "official_reward" not in row
    assert row["reason"].startswith("void: 1 replayed answers differ")


@pytest.mark.parametrize(("said", "expected"), [(1.0, 1.0), (0.0, 0.0), (None, None)])
def test_the_judges_part_is_the_recorded_one(said, expected):
    task = next(task for task in domain_tasks("airline") if task.evaluation_criteria.nl_assertions)
    criteria = task.evaluation_criteria.model_copy(update={"reward_basis": [RewardType.DB, RewardType.NL_ASSERTION]})
    asked = task.model_copy(update={"evaluation_criteria": criteria})
    breakdown = {RewardType.DB: 1.0} if said is None else {RewardType.DB: 1.0, RewardType.NL_ASSERTION: said}
    info = RewardInfo(reward=1.0 if said is None else said, reward_breakdown=breakdown)
    row = database_verdicts(recorded(asked, "airline", reference_steps(asked), reward_info=info), asked, "airline", {})
    assert row["official_reward"] == expected
    assert ("not in the file" if said is None else f"{said:g} (recorded)") in row["components"]
