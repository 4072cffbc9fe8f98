"""What the graders say of a case's conversation, when it has ended or, from its transcript, later."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace

from taulong import backend
from taulong.backend import Message, Task, TerminationReason
from taulong.cases.environment import CaseEnvironment, new_case_environment
from taulong.cases.orchestrator import TERMINATIONS
from taulong.cases.record import CaseRecord
from taulong.cases.remembering import MEMORY_AFTER, Remembered
from taulong.graders.gates import GRADERS
from taulong.graders.verdicts import grade
from taulong.keys import scrub
from taulong.shifts.stream import Case

GRADING = "grading"
"""How the reason begins of a case whose conversation is whole and whose grading failed."""
_UNGRADED = dict.fromkeys(("official_reward", "simulation_reward", "assertion_error", *GRADERS, "gated_reward"))


def graded(
    record: CaseRecord, case: Case, memory_tools: Sequence[str], messages: Sequence[Message]
) -> tuple[CaseRecord, list[dict] | None]:
    """Return the record of a whole conversation with its verdicts, and the findings (None where grading failed).

    Args:
        record: of the conversation, without verdicts.
        case: the case.
        memory_tools: names of the memory's tools, whose calls are not made again.
        messages: the conversation.
    """

    def constructor(solo_mode: bool = False) -> CaseEnvironment:
        return new_case_environment(case, Remembered(memory_tools, messages), solo_mode)

    try:
        task = Task.model_validate(case.task)
        grades = grade(task, messages, constructor)
    except Exception as error:
        reason = scrub(f"{GRADING}: {type(error).__name__}: {error}")
        return replace(record, **_UNGRADED, outcome="unscored", reason=reason), None
    refused = grades.official_reason
    record = replace(
        record,
        official_reward=grades.official_reward,
        simulation_reward=_simulation_reward(record.ending, grades.official_reward, task, messages),
        assertion_error=backend.assertion_error(grades.official) if grades.official else None,
        **{name: verdict.status for name, verdict in grades.verdicts.items()},
        gated_reward=grades.gated_reward,
        outcome="scored" if refused is None else "unscored",
        reason=None if refused is None else f"{GRADING}: {refused}",
    )
    findings = json.dumps([asdict(finding) for finding in grades.findings])
    return record, json.loads(findings, parse_constant=str)  # sums of large numbers are infinite: "Infinity"


def _simulation_reward(ending: str, official: float | None, task: Task, messages: Sequence[Message]) -> float | None:
    """Return what tau2's ``evaluate_simulation`` says of a conversation.

    It is asked where a conversation did not come to its end, which it looks at first; on tasks that are rewarded for
    assertions alone, as all of ours are, it is otherwise the environment evaluator's reward.
    """
    reason = TERMINATIONS[ending]
    if official is None or reason in (TerminationReason.USER_STOP, TerminationReason.AGENT_STOP):
        return official
    ended = SimpleNamespace(messages=messages, termination_reason=reason)
    return backend.simulation_reward(ended, task, solo_mode=False).reward


def is_whole(record: dict) -> bool:
    """Return whether a case's conversation came to its end: then a missing score is the fault of what came after it."""
    return goes_on(record) or (record["reason"] or "").startswith(f"{MEMORY_AFTER}:")


def goes_on(record: dict) -> bool:
    """Return whether the next case may follow: the conversation is whole and the memory has taken it in."""
    return record["outcome"] == "scored" or (record["reason"] or "").startswith(f"{GRADING}:")


def grade_again(case: Case, record: dict, transcript: dict) -> tuple[dict, dict]:
    """Return the record and transcript of a whole conversation, graded from the transcript: nothing is run again.

    Args:
        case: the case.
        record, transcript: as they were written.
    """
    kinds = {"assistant": backend.AssistantMessage, "user": backend.UserMessage, "tool": backend.ToolMessage}
    messages = [kinds[message["role"]].model_validate(message) for message in transcript["messages"]]
    again, findings = graded(CaseRecord.from_row(record), case, transcript["memory_tools"], messages)
    return again.row(), transcript if findings is None else {**transcript, "findings": findings}
