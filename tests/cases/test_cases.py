"""One case: patience, how it ends, what is scored, and what the agents on board achieve."""

from functools import cache

import pandas as pd
import pytest
from conversations import (
    EMPTY_NOTEBOOK,
    NO_MEMORY,
    agent,
    agent_does,
    asks,
    block,
    calls_of,
    case_of,
    customer,
    customer_does,
    official,
    reward_of,
    says,
    shift_of,
)
from scipy.stats import binomtest

from taulong.backend import AssistantMessage, TerminationReason, UserMessage
from taulong.cases import case as cases
from taulong.cases import orchestrator
from taulong.cases.agents import ScriptedAgent
from taulong.cases.case import run_case
from taulong.cases.environment import NO_STATUS, NOT_AVAILABLE, NOT_CARRIED_OUT
from taulong.cases.orchestrator import ENDINGS
from taulong.graders.gates import GRADERS
from taulong.runs.units import Unit, run_unit
from taulong.shifts.causes import recurring_causes
from taulong.shifts.generation import generate_shifts

COLUMNS = [
    "shift_id",
    "case_id",
    "split",
    "seed",
    "trial",
    "position",
    "population",
    "cause",
    "recurring_cause",
    "fleet",
    "regime",
    "teaching_seen",
    "teaching_distance",
    "memory_mode",
    "agent",
    "user",
    "held_out",
    "official_reward",
    "simulation_reward",
    "assertion_error",
    "strict_stock",
    "strict_synced",
    "record_gate",
    "field_gate",
    "policy_check",
    "scope_gate",
    "transient_gate",
    "gated_reward",
    "transferred",
    "ending",
    "ended_on_consent",
    "utterances",
    "steps",
    "tool_errors",
    "ownership_errors",
    "commitment",
    "stale",
    "evidence_shown",
    "fix_in_notebook",
    "notebook_length_before",
    "notebook_length_after",
    "notebook_writes",
    "notebook_refusals",
    "memory_items",
    "agent_tokens",
    "user_tokens",
    "memory_tokens",
    "agent_cost",
    "user_cost",
    "memory_cost",
    "agent_truncated",
    "user_truncated",
    "memory_truncated",
    "unpriced_calls",
    "outcome",
    "reason",
    "taulong_version",
    "grader_version",
    "tau2_distribution",
    "tau2_version",
    "tau2_data",
]


def run(case, memory=NO_MEMORY, agent_name="learner"):
    shift = next(shift for shift in block() if case in shift.cases)
    return run_case(shift, case, memory, agent_name)


def dialogue_of(*messages, then=None):
    """Return a dialogue that sends the messages in order, then ``then`` for ever."""

    def dialogue(self):
        yield None
        for message in messages:  # noqa: UP028  what is sent in goes nowhere
            yield message
        while True:
            yield then or says("Hm.")

    return dialogue


def user(text="Yes?", *calls):
    calls = [call.model_copy(update={"id": f"customer-{number}"}) for number, call in enumerate(calls)]
    return UserMessage(role="user", content=text, tool_calls=calls or None)


def visible_case(cause="bad_wifi_calling"):
    return case_of(cause, "teaching")


# --- patience ---------------------------------------------------------------------------------------------------------


def test_nine_utterances_are_delivered_and_the_tenth_is_not(monkeypatch):
    numbered = [says(f"utterance {number}") for number in range(1, 12)]
    agent_does(monkeypatch, dialogue_of(*numbered))
    heard = []
    customer_does(monkeypatch, lambda message, turn: heard.append(message.content) or user())
    done = run(visible_case())
    assert heard[1:] == [f"utterance {number}" for number in range(1, 10)]  # the greeting is the first it hears
    assert (done.record["ending"], done.record["utterances"], done.record["outcome"]) == ("patience", 9, "scored")
    assert done.record["official_reward"] == 0.0
    undelivered = done.transcript["messages"][done.transcript["undelivered_message"]]
    assert undelivered["content"] == "utterance 10"
    assert undelivered is done.transcript["messages"][-1]


def test_a_case_that_ends_on_the_ninth_utterance_is_no_case_of_patience(monkeypatch):
    agent_does(monkeypatch, dialogue_of())
    customer_does(monkeypatch, lambda message, turn: user("Goodbye ###STOP###" if turn == 9 else "Yes?"))
    record = run(visible_case()).record
    assert (record["ending"], record["utterances"]) == ("customer_stop", 9)


def test_tool_calls_of_either_side_are_free(monkeypatch):
    calls = [asks(agent("write_notebook", text=str(number))) for number in range(6)]
    agent_does(monkeypatch, dialogue_of(*calls, says("Please look.")))
    looks = [user(None, customer("check_status_bar")) for _ in range(7)]
    customer_does(
        monkeypatch,
        lambda message, turn: user() if turn == 0 else looks[turn - 1] if turn <= 7 else user("Bye ###STOP###"),
    )
    record = run(visible_case(), EMPTY_NOTEBOOK).record
    assert (record["utterances"], record["notebook_writes"], record["ending"]) == (1, 6, "customer_stop")


def test_text_beside_a_tool_call_is_not_delivered_and_uses_no_patience(monkeypatch):
    agent_does(
        monkeypatch, dialogue_of(*[asks(agent("get_customer_by_phone", phone_number="1"), content="Let me see.")] * 5)
    )
    customer_does(monkeypatch, lambda message, turn: user("Bye ###STOP###" if turn else "Hello"))
    record = run(visible_case()).record
    assert (record["utterances"], record["tool_errors"]) == (1, 5)


# --- endings ----------------------------------------------------------------------------------------------------------


def test_the_step_limit_is_tau2s(monkeypatch):
    agent_does(monkeypatch, dialogue_of(then=asks(agent("write_notebook", text="again"))))
    record = run(visible_case(), EMPTY_NOTEBOOK).record
    assert (record["ending"], record["outcome"], record["official_reward"]) == ("steps", "scored", 0.0)
    assert 40 <= record["steps"] <= 41  # tau2 does not stop before a call is answered


def test_too_many_tool_errors_end_a_case(monkeypatch):
    agent_does(monkeypatch, dialogue_of(then=asks(agent("no_such_tool"))))
    record = run(visible_case()).record
    assert (record["ending"], record["tool_errors"], record["official_reward"]) == ("errors", 10, 0.0)


def test_the_agent_may_stop(monkeypatch):
    agent_does(monkeypatch, dialogue_of(says("###STOP###")))
    monkeypatch.setattr(
        ScriptedAgent, "is_stop", classmethod(lambda cls, message: "###STOP###" in (message.content or ""))
    )
    record = run(visible_case()).record
    assert (record["ending"], record["utterances"], record["outcome"]) == ("agent_stop", 0, "scored")


def test_a_transfer_has_its_own_ending(monkeypatch):
    transfer = asks(agent("transfer_to_human_agents", summary="beyond me"))
    agent_does(monkeypatch, dialogue_of(transfer, says("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.")))
    record = run(visible_case()).record
    assert (record["ending"], record["transferred"], record["official_reward"]) == ("transfer", True, 0.0)


@pytest.mark.parametrize(
    "empty",
    [
        AssistantMessage(role="assistant"),
        AssistantMessage(role="assistant", content=" \n"),
        AssistantMessage(role="assistant", tool_calls=[]),
        AssistantMessage(role="assistant", content="", tool_calls=[]),
    ],
    ids=["nothing", "blank", "no calls", "blank and no calls"],
)
def test_an_empty_message_of_the_agent_is_its_error_and_scored(empty, monkeypatch):
    agent_does(monkeypatch, dialogue_of(says("Hello."), empty))
    record = run(visible_case()).record
    assert (record["ending"], record["outcome"], record["official_reward"], record["utterances"]) == (
        "agent_error",
        "scored",
        0.0,
        1,
    )


def test_what_was_done_before_an_empty_message_counts(monkeypatch):
    agent_does(monkeypatch, dialogue_of(says("Please turn Wi-Fi calling off."), AssistantMessage(role="assistant")))
    customer_does(
        monkeypatch, lambda message, turn: [user(), user(None, customer("toggle_wifi_calling")), user("Done.")][turn]
    )
    record = run(visible_case()).record
    assert (record["ending"], record["official_reward"]) == ("agent_error", 1.0)


def test_text_with_an_empty_list_of_calls_is_an_utterance(monkeypatch):
    agent_does(monkeypatch, dialogue_of(then=says("Hello.", tool_calls=[])))
    customer_does(monkeypatch, lambda message, turn: user("Bye ###STOP###" if turn == 3 else "Yes?"))
    record = run(visible_case()).record
    assert (record["ending"], record["utterances"], record["reason"]) == ("customer_stop", 3, None)


def test_an_empty_message_of_the_customer_leaves_the_case_unscored(monkeypatch):
    customer_does(monkeypatch, lambda message, turn: user(""))
    record = run(visible_case()).record
    assert (record["ending"], record["outcome"], record["official_reward"]) == ("user_error", "unscored", None)
    assert "customer" in record["reason"]


def test_an_exception_of_the_agent_is_unscored_with_a_reason_and_never_a_zero(monkeypatch):
    def dialogue(self):
        yield None
        raise ConnectionError("the endpoint went away")

    shift = block()[0]
    agent_does(monkeypatch, dialogue)
    rows = run_unit(Unit(shift, "notebook", "learner", 0))
    assert len(rows) == 1  # later cases would run on a notebook that is not what it would have been
    record = rows[0]["record"]
    assert (record["ending"], record["outcome"]) == ("infrastructure", "unscored")
    assert record["reason"] == "ConnectionError: the endpoint went away"
    assert {record[name] for name in ("official_reward", "gated_reward", *GRADERS)} == {None}


def test_a_case_cut_off_inside_a_tool_call_is_graded(monkeypatch):
    monkeypatch.setattr(
        ScriptedAgent, "is_stop", classmethod(lambda cls, message: "###STOP###" in (message.content or ""))
    )
    goodbye = asks(agent("get_customer_by_phone", phone_number="1"), content="###STOP###")
    agent_does(monkeypatch, dialogue_of(says("Please turn Wi-Fi calling off."), goodbye))
    customer_does(
        monkeypatch, lambda message, turn: [user(), user(None, customer("toggle_wifi_calling")), user("Done.")][turn]
    )
    done = run(visible_case())
    assert done.record["reason"] is None
    assert (done.record["ending"], done.record["outcome"], done.record["official_reward"]) == (
        "agent_stop",
        "scored",
        1.0,
    )
    assert done.transcript["messages"][-1]["tool_calls"]  # the call that was never made is kept in the transcript


def test_an_assertion_that_raises_on_the_state_that_the_run_left_is_not_met(monkeypatch):
    # tau2's set_apn_settings stores whatever it is given before it fails, and its assertion then breaks on it.
    agent_does(monkeypatch, dialogue_of())
    turns = [user(), user(None, customer("set_apn_settings", apn_settings="internet")), user("Bye ###STOP###")]
    customer_does(monkeypatch, lambda message, turn: turns[turn])
    with pytest.warns(UserWarning, match="Pydantic serializer"):
        record = run(visible_case("break_apn_mms_setting")).record
    assert (record["outcome"], record["official_reward"], record["reason"]) == ("scored", 0.0, None)
    assert record["assertion_error"].startswith("assert_can_send_mms: AttributeError")


def test_every_termination_of_the_installed_tau2_has_an_ending_or_is_infrastructure():
    assert set(orchestrator._ENDING_OF.values()) < set(ENDINGS)
    infrastructure = {"judge_stop", "timeout", "infrastructure_error", "context_window_exceeded", "unexpected_error"}
    assert {reason for reason in TerminationReason if reason not in orchestrator._ENDING_OF} <= infrastructure


# --- records and transcripts ------------------------------------------------------------------------------------------


def test_a_record_has_the_columns_in_their_order_and_a_transcript_its_parts():
    done = run(visible_case())
    assert list(done.record) == COLUMNS
    assert set(done.transcript) >= {
        "shift_id",
        "case_id",
        "memory_mode",
        "agent",
        "user",
        "notebook_before",
        "notebook_after",
        "messages",
        "masked_messages",
        "commitment_message",
        "undelivered_message",
        "findings",
    }
    assert not [
        message for message in done.transcript["messages"] if set(message) & {"timestamp", "cost", "turn_idx", "usage"}
    ]


def test_masked_messages_and_the_commitment_are_marked():
    case = case_of("bad_wifi_calling")
    done = run(case)
    messages = done.transcript["messages"]
    answers = {
        index
        for index, message in enumerate(messages)
        if message.get("content") in (NOT_AVAILABLE, NO_STATUS, NOT_CARRIED_OUT)
    }
    assert set(done.transcript["masked_messages"]) == answers != set()
    committed = done.transcript["commitment_message"]
    assert messages[committed - 1]["tool_calls"][0]["name"] == done.record["commitment"]
    assert all(index < committed for index in answers)


def test_calls_that_share_an_id_are_told_apart(monkeypatch):
    agent_does(monkeypatch, dialogue_of())
    turns = [
        user(),
        user(None, customer("can_send_mms")),
        user(None, customer("toggle_wifi_calling")),
        user(None, customer("can_send_mms")),
        user("Bye ###STOP###"),
    ]
    customer_does(monkeypatch, lambda message, turn: turns[turn])  # every call has the id customer-0
    done = run(case_of("bad_wifi_calling"))
    assert (
        done.transcript["messages"][done.transcript["commitment_message"] - 1]["tool_calls"][0]["name"]
        == "toggle_wifi_calling"
    )
    assert len(done.transcript["masked_messages"]) == 1


def test_a_transcript_is_in_the_order_of_the_conversation_whatever_the_clock_says(monkeypatch):
    numbered = [says(f"utterance {number}", timestamp=f"20{50 - number}-01-01T00:00:00") for number in range(1, 6)]
    agent_does(monkeypatch, dialogue_of(*numbered))
    customer_does(monkeypatch, lambda message, turn: user("Bye ###STOP###" if turn == 5 else "Yes?"))
    said = [
        message["content"] for message in run(visible_case()).transcript["messages"] if message["role"] == "assistant"
    ]
    assert said[1:] == [f"utterance {number}" for number in range(1, 6)]


def test_the_official_reward_of_a_record_is_that_of_its_transcript():
    kinds = {"user": UserMessage, "assistant": AssistantMessage}
    for shift in block()[:2]:
        for case, row in zip(shift.cases, run_unit(Unit(shift, "none", "learner", 0)), strict=True):
            messages = [
                kinds.get(message["role"], cases.backend.ToolMessage)(**message)
                for message in row["transcript"]["messages"]
            ]
            assert official(case, messages) == row["record"]["official_reward"]


# --- the agents on board ----------------------------------------------------------------------------------------------


@cache
def results():
    """Return the records of 12 eval shifts by the agents on board, in the memory modes that say something of them."""
    arms = [(name, mode) for name in ("learner", "guesser", "meddler") for mode in ("none", "notebook")]
    arms += [("learner", "oracle"), ("parrot", "notebook"), ("transferrer", "none")]
    rows = [
        row["record"]
        for name, mode in arms
        for shift in generate_shifts(num_shifts=12)
        for row in run_unit(Unit(shift, mode, name, 0))
    ]
    return pd.DataFrame(rows)


def mean(agent_name, mode, population, column="official_reward"):
    arm = results().query("agent == @agent_name and memory_mode == @mode and population == @population")
    assert len(arm) == {"teaching": 24, "testing": 48, "lookalike": 24}[population]
    assert (arm["outcome"] == "scored").all()
    return arm[column].astype(float).mean()


@pytest.mark.parametrize(("agent_name", "mode"), [("learner", "none"), ("guesser", "none"), ("guesser", "notebook")])
def test_without_memory_one_testing_case_in_four_is_resolved(agent_name, mode):
    resolved = round(48 * mean(agent_name, mode, "testing"))
    assert binomtest(resolved, 48, 0.25).pvalue > 0.001  # exact: the 99.9 % interval has 1/4 in it


@pytest.mark.parametrize(
    ("agent_name", "mode", "population", "column", "expected"),
    [
        ("learner", "notebook", "testing", "official_reward", 1),
        ("learner", "oracle", "testing", "official_reward", 1),
        *[
            ("learner", mode, population, "official_reward", 1)
            for mode in ("none", "notebook", "oracle")
            for population in ("teaching", "lookalike")
        ],
        ("parrot", "notebook", "lookalike", "official_reward", 0),
        ("parrot", "notebook", "testing", "official_reward", 1),
        ("transferrer", "none", "testing", "transferred", 1),
        ("transferrer", "none", "testing", "official_reward", 0),
        ("transferrer", "none", "teaching", "official_reward", 1),
        ("transferrer", "none", "lookalike", "transferred", 0),
        ("meddler", "notebook", "testing", "official_reward", 1),
        ("meddler", "notebook", "testing", "gated_reward", 0),
        ("meddler", "none", "teaching", "official_reward", 1),
        ("meddler", "none", "teaching", "gated_reward", 0),
        ("learner", "notebook", "testing", "gated_reward", 1),
    ],
)
def test_what_each_agent_achieves(agent_name, mode, population, column, expected):
    assert mean(agent_name, mode, population, column) == expected


def test_meddling_leaves_the_official_reward_as_it_was():
    both = [
        results().query("agent == @name and memory_mode == 'none'")["official_reward"].tolist()
        for name in ("learner", "meddler")
    ]
    assert both[0] == both[1]
    assert 0 < sum(both[0]) < len(both[0])


def test_no_agent_on_board_makes_a_tool_error_or_runs_out_of_patience():
    assert (results()["tool_errors"] == 0).all()
    assert set(results()["ending"]) == {"customer_stop", "transfer"}
    assert (
        results()["commitment"].notna().sum()
        == (results().query("population == 'testing' and agent != 'transferrer'")).shape[0]
    )


def test_the_fix_counts_as_noted_only_when_it_is_in_the_text_shown_at_the_start():
    learner = results().query("agent == 'learner' and memory_mode == 'notebook'")
    assert (learner["fix_in_notebook"].astype(bool) == (learner["teaching_seen"] > 0)).all()
    assert results().query("memory_mode == 'none'")["fix_in_notebook"].isna().all()


def test_a_wrong_commitment_cannot_be_mended():
    shift = shift_of("bad_wifi_calling")
    case = next(case for case in shift.cases if case.population == "testing")
    wrong, right = (calls_of(recurring_causes()[cause].fix) for cause in ("bad_network_preference", "bad_wifi_calling"))
    assert (reward_of(case, [*wrong, *right]), reward_of(case, [*right, *wrong])) == (0.0, 1.0)
