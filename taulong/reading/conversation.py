"""A conversation as it was: what was said, which calls were made and answered, and what graders object to."""

import difflib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from taulong.errors import DataError
from taulong.reading.drawn import badges_html, objection_html, turn_html
from taulong.reading.markup import (
    FOLD,
    INFERRED,
    Markup,
    Shown,
    as_text,
    box,
    element,
    indented,
    is_given,
    visible,
    wrapped,
)
from taulong.reading.tables import Table

BADGES = ("official reward", "gated reward", "outcome", "ending", "pass", "fail", "not evaluated")
"""Facts that HTML shows as badges."""


@dataclass(frozen=True)
class Objection:
    """What graders found at one call: the field, its old and new value, and the sentences of the policy.

    Attributes:
        path: the field's full name, or None where the message itself is at fault.
        old, new: its values as JSON.
        graders: the graders that found it.
        sentences: policy sentences, each once.
        inferred: those that do not speak of such a write, from which the rule is inferred.
    """

    path: str | None
    old: str
    new: str
    graders: tuple[str, ...]
    sentences: tuple[str, ...]
    inferred: tuple[str, ...] = ()

    @property
    def cited(self) -> list[tuple[str, str]]:
        """The sentences, each after what says that the rule is only inferred from it, or nothing."""
        return [(INFERRED if sentence in self.inferred else "", sentence) for sentence in self.sentences]

    @property
    def headline(self) -> str:
        """The graders and the change, in one line."""
        change = f"{self.path}: {self.old} → {self.new}" if self.path else "how the message was sent"
        return f"{', '.join(self.graders)} · {change}"


@dataclass(frozen=True)
class Turn:
    """One thing that happened in a conversation: something said, or a call with its answer.

    Attributes:
        index: index of the message.
        lane: ``agent``, ``customer``, or where a call went: ``phone`` or ``records``.
        text: what was said, or the answer (None: there is none).
        call: the tool's name, or None where something was said.
        arguments: the call's arguments.
        marks: words that set it apart: masked, commitment, error, not delivered.
        objections: what graders found at it.
        unmasked: what a masked answer would have said, where that is known.
    """

    index: int
    lane: str
    text: str | None
    call: str | None = None
    arguments: Any = None
    marks: tuple[str, ...] = ()
    objections: tuple[Objection, ...] = ()
    unmasked: str | None = None

    def is_marked(self, start: str) -> bool:
        """Return whether one of its marks begins so."""
        return any(mark.startswith(start) for mark in self.marks)


@dataclass(frozen=True, repr=False, eq=False)
class Conversation(Shown):
    """A case to be read: HTML in a notebook, plain text in a terminal.

    Attributes:
        transcript: a transcript row of a run folder; ``messages`` (and ``findings``, for objections) are enough, so that a
            regraded run of another source can be read too.
        record: its record row, for reward, verdicts and ending; optional.
        title: shown instead of the case id.
        unmasked: by index of the message, what a masked answer would have said; for the researcher, and optional.

    Raises:
        DataError: the transcript has no list of messages, or a message is none.
    """

    transcript: Mapping[str, Any]
    record: Mapping[str, Any] | None = None
    title: str | None = None
    unmasked: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self):
        messages = self.transcript.get("messages")
        if not isinstance(messages, Sequence) or isinstance(messages, str):
            raise DataError(f"transcript: 'messages' is a {type(messages).__name__}; accepted: a list of messages")
        for index, message in enumerate(messages):
            if not isinstance(message, Mapping) or message.get("role") not in ("assistant", "user", "tool", "system"):
                raise DataError(f"transcript, message {index}: not a message of role assistant, user, tool or system")

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """What happened, in order; each answer is with its call."""
        return tuple(self._turns())

    def _turns(self) -> Iterator[Turn]:
        messages, answers = self.transcript["messages"], self._answers()
        objections = self.objections
        for index, message in enumerate(messages):
            speaker = {"assistant": "agent", "user": "customer"}.get(message["role"])
            if speaker is None:
                continue
            found: tuple[Objection, ...] = tuple(objections.get(index, ()))
            calls = message.get("tool_calls") or ()
            if message.get("content"):
                undelivered = index == self.transcript.get("undelivered_message")
                marks = ("not delivered: the customer's patience ran out",) if undelivered else ()
                yield Turn(index, speaker, message["content"], marks=marks, objections=() if calls else found)
            for number, call in enumerate(calls):
                at = answers.get((index, number))
                answer = messages[at] if at is not None else {}
                applied = tuple(
                    mark
                    for mark, applies in (
                        ("masked", at in (self.transcript.get("masked_messages") or ())),
                        ("commitment", at is not None and at == self.transcript.get("commitment_message")),
                        ("error", answer.get("error")),
                        ("no answer", at is None),
                    )
                    if applies
                )
                yield Turn(
                    index,
                    "records" if speaker == "agent" else "phone",
                    answer.get("content"),
                    call.get("name"),
                    call.get("arguments"),
                    applied,
                    found if number == len(calls) - 1 else (),
                    self.unmasked.get(at) if at is not None else None,
                )

    def _answers(self) -> dict[tuple[int, int], int]:
        """Return the index of the answer to each call, by (message, number of the call in it)."""
        asked: deque[tuple[int, int]] = deque()  # answers come in the order of the calls; ids may repeat
        answers = {}
        for index, message in enumerate(self.transcript["messages"]):
            if message["role"] != "tool":
                asked = deque((index, number) for number, _ in enumerate(message.get("tool_calls") or ()))
            elif asked:
                answers[asked.popleft()] = index
        return answers

    @cached_property
    def objections(self) -> dict[int | None, list[Objection]]:
        """The findings by message, those on one field together; under None those that no call explains."""
        groups: dict[tuple, list[Mapping]] = {}
        for finding in self.transcript.get("findings") or ():
            path = finding.get("record") and f"{finding['record']}.{finding.get('field')}"
            key = finding.get("call"), path, as_text(finding.get("old")), as_text(finding.get("new"))
            groups.setdefault(key, []).append(finding)
        placed: dict[int | None, list[Objection]] = {}
        for (call, path, old, new), findings in groups.items():
            graders = dict.fromkeys(finding["grader"] for finding in findings)
            sentences = dict.fromkeys(finding["sentence"] for finding in findings if finding.get("sentence"))
            marked = {finding["sentence"] for finding in findings if finding.get("inferred")}
            inferred = tuple(sentence for sentence in sentences if sentence in marked)
            placed.setdefault(call, []).append(Objection(path, old, new, tuple(graders), tuple(sentences), inferred))
        return placed

    @property
    def facts(self) -> dict[str, str]:
        """What stands above the conversation: where it is from, and what came of it."""
        known = {**self.transcript, **(self.record or {})}
        names = (
            "population",
            "cause",
            "agent",
            "memory_mode",
            "ending",
            "commitment",
            "official_reward",
            "gated_reward",
            "outcome",
            "reason",
        )
        facts = {name.replace("_", " "): str(known[name]) for name in names if is_given(known.get(name))}
        verdicts: dict[str, list[str]] = {}
        for name, value in (self.record or {}).items():
            if value in ("pass", "fail", "not_evaluated"):
                verdicts.setdefault(value.replace("_", " "), []).append(name)
        facts |= {word: ", ".join(names) for word, names in verdicts.items()}
        if changed := known.get("user_fields"):
            facts["changed on the phone (observed, never gated)"] = ", ".join(map(str, changed))
        return facts

    def verdicts(self) -> "Table":
        """Return what each grader says: its verdict, the fields it objects to, and the policy's sentence."""
        rows = []
        for grader, verdict in (self.record or {}).items():
            if verdict in ("pass", "fail", "not_evaluated"):
                found = [finding for finding in self.transcript.get("findings") or () if finding["grader"] == grader]
                changes = dict.fromkeys(
                    f"{finding['record']}.{finding['field']}: {as_text(finding['old'])} → {as_text(finding['new'])}"
                    for finding in found
                    if finding["record"]
                )
                sentences = dict.fromkeys(
                    (INFERRED if finding.get("inferred") else "") + finding["sentence"]
                    for finding in found
                    if finding.get("sentence")
                )
                rows.append((grader, verdict, "\n".join(changes), "\n".join(sentences)))
        return Table(("grader", "verdict", "objects to", "sentence of the policy"), tuple(rows))

    @property
    def _name(self) -> str:
        return self.title or str(self.transcript.get("case_id") or "conversation")

    @property
    def notebook_lines(self) -> list[str] | None:
        """The lines of the notebook, before and after as a diff; None where there is no notebook."""
        before, after = self.transcript.get("notebook_before"), self.transcript.get("notebook_after")
        if before is None and after is None:
            return None
        lines = difflib.ndiff(visible(before or "").splitlines(), visible(after or "").splitlines())
        return [line for line in lines if not line.startswith("?")]

    # --- as HTML

    def _html(self) -> Markup:
        rest = {name: value for name, value in self.facts.items() if name not in BADGES}
        facts = element("div", "; ".join(f"{name} {value}" for name, value in rest.items()), kind="facts")
        badges = badges_html({**self.transcript, **(self.record or {})})
        loose = [objection_html(objection) for objection in self.objections.get(None, ())]
        parts = [element("div", self._name, kind="title"), badges, facts, *map(turn_html, self.turns), *loose]
        if self.notebook_lines is not None:
            lines = [element({"+": "ins", "-": "del"}.get(line[0], "div"), line) for line in self.notebook_lines]
            changed = any(line[0] in "+-" for line in self.notebook_lines)
            what = "notebook, before (-) and after (+)" if changed else "notebook, unchanged"
            parts.append(box("note", element("b", what), *(lines or [element("div", "(empty)")])))
        return element("div", *parts, kind="")

    # --- as text

    @property
    def text(self) -> str:
        """The conversation as plain text, long answers cut."""
        return self.plain()

    def plain(self, width: int = 110, full: bool = False) -> str:
        """Return the conversation as plain text of this width.

        No line that the conversation wrote begins at the left edge, so that none can pass for one of ours.

        Args:
            width: characters a line.
            full: show answers whole, and what masked ones would have said; else their first lines.
        """
        lines = [visible(self._name), *(f"  {name}: {visible(value)}" for name, value in self.facts.items()), ""]
        for turn in self.turns:
            lines += wrapped(f"{turn.index:>3} {turn.lane:<9}", _told(turn, full), width)
            if full and turn.unmasked is not None:
                lines += wrapped("    would have said: ", turn.unmasked, width)
            lines += [line for objection in turn.objections for line in wrapped("    ! ", _objected(objection), width)]
        lines += [
            line
            for objection in self.objections.get(None, ())
            for line in wrapped("    ! ", _objected(objection), width)
        ]
        if self.notebook_lines is not None:
            lines += ["", "notebook, before (-) and after (+)"]
            lines += [line for entry in self.notebook_lines or ["  (empty)"] for line in wrapped("  ", entry, width)]
        return "\n".join(lines)


def _told(turn: Turn, full: bool) -> str:
    marks = "".join(f"[{mark}] " for mark in turn.marks)
    if turn.call is None:
        return f"{marks}{turn.text}"
    given = turn.arguments if isinstance(turn.arguments, Mapping) else {"…": turn.arguments} if turn.arguments else {}
    call = f"{marks}{turn.call}({', '.join(f'{name}={as_text(value)}' for name, value in given.items())})"
    if turn.text is None:
        return call
    answer = indented(str(turn.text)) if full else str(turn.text)
    if not full and (len(answer) > 3 * FOLD or answer.count("\n") > 4):
        answer = "\n".join(answer[: 3 * FOLD].split("\n")[:4]) + f" … ({len(turn.text)} characters)"
    return f"{call}\n→ {answer}"


def _objected(objection: Objection) -> str:
    return "\n".join([objection.headline, *(f'{mark}"{sentence}"' for mark, sentence in objection.cited)])


@dataclass(frozen=True, repr=False, eq=False)
class Beside(Shown):
    """Conversations side by side, or one below the other where the width is short.

    Attributes:
        conversations: what to show, in order.
    """

    conversations: tuple[Conversation, ...]

    def _html(self) -> Markup:
        return element("div", *(conversation._html() for conversation in self.conversations), kind=" row")

    @property
    def text(self) -> str:
        """The conversations one after the other."""
        return "\n\n".join(conversation.text for conversation in self.conversations)


def beside(*conversations: Conversation) -> Beside:
    """Return conversations to be shown side by side."""
    return Beside(conversations)
