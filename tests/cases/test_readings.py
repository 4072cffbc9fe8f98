"""Both readings that tau2 has of a case, and what a memory that is too long costs."""

import pytest
from conversations import agent_does, block, case_of, official, says
from endpoint import CONTEXT_WINDOW, Endpoint

from taulong import backend
from taulong.backend import registry
from taulong.cases.case import run_case
from taulong.cases.environment import new_case_environment
from taulong.cases.models import Model
from taulong.cases.orchestrator import TERMINATIONS
from taulong.cases.remembering import Remembered
from taulong.memory.modes import first_memory
from taulong.memory.transcript import CONVERSATION
from taulong.shifts.causes import recurring_causes


def finished(monkeypatch, case, last):
    """Run a case whose agent asks for the right fix and then does not come to an end, or says goodbye."""
    (shift,) = [shift for shift in block() if case in shift.cases]

    def dialogue(self):
        yield None
        yield says("Please turn Wi-Fi Calling off.")
        while True:
            yield last(self)

    agent_does(monkeypatch, dialogue)
    return run_case(shift, case, first_memory("none", shift), "learner")


@pytest.mark.parametrize(
    ("last", "ending", "readings"),
    [
        (lambda agent: says("I cannot do more. Goodbye."), "customer_stop", (1.0, 1.0)),
        (lambda agent: agent.call("get_bills_for_customer", customer_id="C1001"), "steps", (1.0, 0.0)),
    ],
)
def test_the_step_limit_has_two_readings(monkeypatch, last, ending, readings):
    record = finished(monkeypatch, case_of("bad_wifi_calling"), last).record
    assert record["ending"] == ending, record["reason"]
    assert (record["official_reward"], record["simulation_reward"]) == readings
    assert record["outcome"] == "scored"


@pytest.mark.parametrize("cause", list(recurring_causes()))
def test_the_second_reading_is_what_evaluate_simulation_says(cause):
    """Whatever the ending: asked of tau2 itself, with the case's environment as a domain of its own."""
    case = case_of(cause)
    (shift,) = [shift for shift in block() if case in shift.cases]
    memory = first_memory("none", shift)
    domain = f"readings-{cause}"
    registry.register_domain(lambda solo_mode=False: new_case_environment(case, Remembered((), ()), solo_mode), domain)
    for agent in ("guesser", "transferrer"):
        run = run_case(shift, case, memory, agent)
        kinds = {"assistant": backend.AssistantMessage, "user": backend.UserMessage, "tool": backend.ToolMessage}
        messages = [kinds[each["role"]].model_validate(each) for each in run.transcript["messages"]]
        ended = backend.SimulationRun.model_construct(
            messages=messages, termination_reason=TERMINATIONS[run.record["ending"]]
        )
        task = backend.Task.model_validate(case.task)
        assert backend.simulation_reward(ended, task, False, domain).reward == run.record["simulation_reward"]
        assert official(case, messages, memory) == run.record["official_reward"]


@pytest.mark.parametrize(("length", "ending"), [(2000, "infrastructure"), (2001, "memory_overflow")])
def test_a_model_that_cannot_take_a_memory_over_the_cap_scores_nothing(length, ending):
    from dataclasses import replace

    case = case_of("bad_wifi_calling")
    (shift,) = [shift for shift in block() if case in shift.cases]
    heading = len(CONVERSATION) + 1  # before each conversation that is shown
    memory = replace(first_memory("transcript", shift), state=["x" * (length - heading)])
    with Endpoint(fault=lambda *_: CONTEXT_WINDOW) as endpoint:
        model = Model("openai/test", {"base_url": endpoint.url}, key="k")
        record = run_case(shift, case, memory, model).record
    assert record["ending"] == ending, record["reason"]
    scored = (0.0, 0.0, "scored", None)
    values = (record["official_reward"], record["simulation_reward"], record["outcome"], record["reason"])
    assert (values == scored) == (ending == "memory_overflow")
    assert ending == "memory_overflow" or record["reason"].startswith("context_window")
