"""What the graders say of a case's conversation, when it has ended or, from its transcript, later."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from taulong import backend
from taulong.backend import Message, Task
from taulong.cases.environment import CaseEnvironment, new_case_environment
from taulong.cases.record import CaseRecord
from taulong.cases.remembering import MEMORY_AFTER, Remembered
from taulong.graders.verdicts import GRADERS, grade
from taulong.keys import scrub
from taulong.shifts.stream import Case

GRADING = "grading"
"""How the reason begins of a case whose conversation is whole and whose grading failed."""
_UNGRADED = dict.fromkeys(("official_reward", *GRADERS, "gated_reward"))


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
        grades = grade(Task.model_validate(case.task), messages, constructor)
    except Exception as error:
        reason = scrub(f"{GRADING}: {type(error).__name__}: {error}")
        return replace(record, **_UNGRADED, outcome="unscored", reason=reason), None
    refused = grades.official_reason
    record = replace(
        record,
        official_reward=grades.official_reward,
        **{name: verdict.status for name, verdict in grades.verdicts.items()},
        gated_reward=grades.gated_reward,
        outcome="scored" if refused is None else "unscored",
        reason=None if refused is None else f"{GRADING}: {refused}",
    )
    findings = json.dumps([asdict(finding) for finding in grades.findings])
    return record, json.loads(findings, parse_constant=str)  # sums of large numbers are infinite: "Infinity"


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
