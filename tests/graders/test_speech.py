"""What was said: reasoning is no word to the customer, and consent is an amount, a price and a yes."""

import pytest

from taulong.audit.scripts import call, gold_calls, play
from taulong.backend import AssistantMessage, RewardType, UserMessage, telecom_tasks
from taulong.graders.gates import GRADERS
from taulong.graders.replay import replay
from taulong.graders.speech import REASONING, agreed_to, without_reasoning
from taulong.graders.verdicts import grade
from taulong.graders.version import code_of, graders_version

SERVED = {"customer_id": "C1001", "line_id": "L1002"}


def says(*texts):
    kinds = (AssistantMessage, UserMessage)
    return [
        kinds[number % 2](role=("assistant", "user")[number % 2], content=text) for number, text in enumerate(texts)
    ]


OFFER = "2 GB would cost $2 per GB, $4 in all. Shall I add 2 GB to your line?"


@pytest.mark.parametrize(
    ("texts", "agreed"),
    [
        ((OFFER, "Yes, please."), True),
        ((OFFER, "Sure, go ahead."), True),
        ((OFFER, "No, that is too expensive."), False),
        ((OFFER, "Hmm, how would I notice?"), False),
        (("Shall I add 2 GB?", "Yes."), False),  # no price was said
        (("It costs $2 per GB. Shall I add 1 GB?", "Yes."), False),  # another amount
        (("Hello.", "Yes, refuel me 2 GB at $2 per GB!"), False),  # nobody has offered it
        ((OFFER, "Yes.", "One moment.", "Wait, no, don't."), True),  # the first yes stands until a later offer
        ((f"<think>{OFFER}</think>Hello.", "Yes."), False),  # thought and not said
    ],
)
def test_consent_is_an_amount_a_price_and_a_yes(texts, agreed):
    assert (agreed_to(says(*texts), 2.0) is not None) == agreed


@pytest.mark.parametrize(("opening", "closing"), REASONING)
def test_reasoning_beside_a_call_is_no_text(opening, closing):
    task = next(
        task
        for task in telecom_tasks("small")
        if any(a.requestor == "assistant" for a in task.evaluation_criteria.actions)
    )
    messages = play(task, gold_calls(task))
    first = next(index for index, message in enumerate(messages) if isinstance(message, AssistantMessage))
    thinking = messages[first].model_copy(update={"content": f"{opening}Let me see.{closing}"})
    speaking = messages[first].model_copy(update={"content": f"{opening}Let me see.{closing}One moment."})
    checked = [
        grade(task, [*messages[:first], each, *messages[first + 1 :]]).policy_check for each in (thinking, speaking)
    ]
    assert [verdict.status for verdict in checked] == ["pass", "fail"]
    assert without_reasoning(f"{opening}a{closing}b") == "b"


def refuel_with(texts):
    task = next(task for task in telecom_tasks("full") if task.id == "[service_issue]airplane_mode_on[PERSONA:None]")
    gold = play(task, gold_calls(task))
    played = play(task, [*gold_calls(task), call("refuel_data", **SERVED, gb_amount=2.0)])
    return grade(task, [*gold, *says(*texts), *played[len(gold) :]])


def test_the_scope_gate_passes_a_consented_refuel_and_fails_an_unasked_one():
    assert refuel_with((OFFER, "Yes, please.")).scope_gate.status == "pass"
    assert refuel_with(("Hello.", "Hello.")).scope_gate.status == "fail"
    assert refuel_with((OFFER, "No.")).scope_gate.status == "fail"


def test_the_action_part_of_a_basis_counts():
    tasks = [task for task in telecom_tasks("full") if RewardType.ACTION in task.evaluation_criteria.reward_basis]
    assert len(tasks) == 32
    for task in tasks[::4]:
        assert grade(task, []).official_reward == 0
        assert grade(task, []).gated_reward == 0
        assert grade(task, play(task, gold_calls(task))).official_reward == 1


def test_a_basis_that_asks_a_judge_is_not_guessed():
    task = telecom_tasks("small")[0]
    criteria = task.evaluation_criteria.model_copy(update={"reward_basis": [RewardType.NL_ASSERTION]})
    grades = grade(task.model_copy(update={"evaluation_criteria": criteria}), play(task, gold_calls(task)))
    assert grades.official_reward is None
    assert "NL assertions" in grades.official_reason


def test_two_errors_of_a_call_that_changed_nothing_agree_however_they_are_worded():
    task = telecom_tasks("small")[0]
    messages = play(task, [*gold_calls(task), call("suspend_line", customer="C1001")])
    assert messages[-1].error
    messages[-1] = messages[-1].model_copy(update={"content": f"{messages[-1].content} Did you mean 'customer_id'?"})
    run = replay(task, messages)
    assert run.mismatches == 0
    grades = grade(task, messages)
    assert grades.official_reward == 1
    assert {grades.verdicts[name].status for name in GRADERS} <= {"pass", "fail"}
    landed = play(task, [call("get_customer_by_phone", phone_number="555-123-2002")])
    landed[-1] = landed[-1].model_copy(update={"content": "Error: no such customer"})
    assert replay(task, landed).mismatches == 1


def test_the_version_is_of_what_the_graders_do():
    assert len(graders_version()) == 12
    plain = 'def f(a):\n    """Words."""\n    return a  # why\n'
    assert code_of(plain) == code_of("def f(a):\n\n    return a\n")
    assert code_of(plain) != code_of("def f(a):\n    return -a\n")
