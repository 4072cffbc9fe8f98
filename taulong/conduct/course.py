"""The course of a run: what was said, and each tool call with the records that its answer showed, in order."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from taulong.backend import AssistantMessage, Message, UserMessage
from taulong.graders.policy import WRITES
from taulong.graders.reference import Reference
from taulong.graders.replay import Run, answered_calls
from taulong.graders.speech import without_reasoning

TRANSFER = "transfer_to_human_agents"


@dataclass(frozen=True)
class Said:
    """Words of one side.

    Attributes:
        index: index of the message.
        role: ``assistant`` or ``user``.
        text: the words, without reasoning.
    """

    index: int
    role: str
    text: str


@dataclass(frozen=True)
class Asked:
    """One tool call and what came of it.

    Attributes:
        index: index of the message that made the call.
        name, arguments, role: the call, and who made it.
        shown: records of the agent database in the answer, by id.
        wrote: whether it changed the agent database.
    """

    index: int
    name: str
    arguments: dict
    role: str
    shown: dict[str, dict]
    wrote: bool

    @property
    def is_write(self) -> bool:
        """Whether the agent changed the database by a tool that the policy speaks of."""
        return self.wrote and self.role == "assistant" and self.name in WRITES


@dataclass(frozen=True)
class Course:
    """The course of a run, and what a rule has to know beside it.

    Attributes:
        moments: words and calls, in order.
        customer: the customer's record of the agent database, ``{}`` where nobody has the caller's number.
        lines: ids of the customer's lines.
        owners: customer id by the id of every customer, line, bill and device.
        transfers: whether the reference transfers to a human.
        solo_mode: whether the agent worked alone.
    """

    moments: tuple[Said | Asked, ...]
    customer: dict
    lines: frozenset[str]
    owners: dict[str, str]
    transfers: bool
    solo_mode: bool

    def calls(self, *names: str) -> Iterator[tuple[int, Asked]]:
        """Yield (place in the course, call) for the agent's calls of these tools."""
        for place, moment in enumerate(self.moments):
            if isinstance(moment, Asked) and moment.role == "assistant" and moment.name in names:
                yield place, moment

    def writes(self, *names: str) -> Iterator[tuple[int, Asked]]:
        """Yield (place in the course, call) for the agent's writes by these tools (any, if none is named)."""
        for place, call in self.calls(*(names or WRITES)):
            if call.is_write:
                yield place, call

    def seen(self, record: Any, place: int, since: int = 0) -> list[dict]:
        """Return how a record was shown before a place in the course (and from another on), in order."""
        before = self.moments[since:place]
        return [moment.shown[record] for moment in before if isinstance(moment, Asked) and record in moment.shown]

    def said(self, role: str, place: int, since: int = 0) -> list[Said]:
        """Return what one side said before a place in the course (and from another on), in order."""
        before = self.moments[since:place]
        return [moment for moment in before if isinstance(moment, Said) and moment.role == role]


def course_of(run: Run, reference: Reference) -> Course:
    """Return the course of a replayed run."""
    state = run.final
    line: dict = next((line for line in state["lines"] if line["phone_number"] == run.caller.phone_number), {})
    customer: dict = next(
        (
            customer
            for customer in state["customers"]
            if customer["phone_number"] == run.caller.phone_number or line.get("line_id") in customer["line_ids"]
        ),
        {},
    )
    criteria = reference.task.evaluation_criteria
    return Course(
        tuple(_moments(run.trajectory, run)),
        customer,
        frozenset(customer.get("line_ids", ())),
        _owners(state),
        any(action.name == TRANSFER for action in (criteria and criteria.actions) or ()),
        run.solo_mode,
    )


def _moments(messages: Sequence[Message], run: Run) -> Iterator[Said | Asked]:
    wrote = [bool(step.changes) for step in run.steps]
    asked: dict[int, list[Asked]] = {}
    for number, (index, call, answer) in enumerate(answered_calls(messages)):
        shown = {} if answer.error else dict(_records(_read(answer.content)))
        asked.setdefault(index, []).append(
            Asked(index, call.name, call.arguments, call.requestor, shown, wrote[number])
        )
    for index, message in enumerate(messages):
        if not isinstance(message, AssistantMessage | UserMessage):
            continue
        if text := without_reasoning(message.content or "").strip():
            yield Said(index, message.role, text)
        yield from asked.get(index, ())


def _read(content: str | None):
    try:
        return json.loads(content or "")
    except (ValueError, RecursionError):
        return None


def _records(answer) -> Iterator[tuple[str, dict]]:
    """Yield (id, record) for every record of the agent database in a tool's answer."""
    if isinstance(answer, list):
        for item in answer:
            yield from _records(item)
    elif isinstance(answer, dict):
        for key in ("bill_id", "line_id", "device_id", "customer_id", "plan_id"):  # a bill names its customer too
            if isinstance(answer.get(key), str):
                yield answer[key], answer
                return


def _owners(state: dict) -> dict[str, str]:
    lines = {line["line_id"]: line for line in state["lines"]}
    owners = {bill["bill_id"]: bill["customer_id"] for bill in state["bills"]}
    for customer in state["customers"]:
        held = [lines[line_id] for line_id in customer["line_ids"] if line_id in lines]
        devices = [line["device_id"] for line in held if line.get("device_id")]
        owned = [customer["customer_id"], *customer["line_ids"], *customer["bill_ids"], *devices]
        owners |= dict.fromkeys(owned, customer["customer_id"])
    return owners
