"""Reading runs: conversations, shifts and verdicts as HTML for a notebook and as plain text for a terminal.

Whatever a model or a file wrote is text here, never markup: :func:`element` escapes every child that is not markup already,
and :func:`visible` shows control characters (terminal sequences, direction overrides) as their codes. No script is used, and
JupyterLab's colours are taken where there are any. A notebook that was not run yet is untrusted to JupyterLab, which then
drops style sheets; so what tells the lanes apart is an inline border and a word, and the style sheet adds the rest.
"""

import argparse
import difflib
import html
import json
import sys
import textwrap
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from taulong.errors import ConfigError, DataError, near

if TYPE_CHECKING:
    import pandas as pd

    from taulong.shifts.generation import Shift

LANES = {  # lane -> (colour of Okabe and Ito, left margin, right margin)
    "agent": ("#0072b2", "0", "10%"),
    "records": ("#808080", "5%", "10%"),
    "customer": ("#e69f00", "10%", "0"),
    "phone": ("#009e73", "15%", "0"),
}
OUTCOMES = {"solved": "#009e73", "not solved": "#d55e00", "unscored": "#808080", "owed": "#808080"}
SIGNS = {"solved": "✓", "not solved": "✗", "unscored": "?", "owed": "–"}
OBJECTION, MARK = "#d55e00", "#cc79a7"
TINT = 14  # percent of a lane's colour in its background; the ink on it stays above the contrast of WCAG AA
PAPER = {"light": ("#ffffff", "#1a1a1a"), "dark": ("#111111", "#eeeeee")}  # where the page brings no colours of its own
LINES = "white-space: pre-wrap"
INFERRED = "inferred from: "  # before a sentence of the policy that does not speak of the write objected to
FOLD = 100  # characters of an answer that are shown unfolded

STYLE = f"""
.taulong {{ --taulong-paper: var(--jp-layout-color0, {PAPER["light"][0]}); --taulong-ink: var(--jp-content-font-color0, {PAPER["light"][1]});
  color: var(--taulong-ink); background: var(--taulong-paper); font: 13px/1.45 system-ui, sans-serif; max-width: 62rem; padding: 4px; }}
@media (prefers-color-scheme: dark) {{ .taulong {{ --taulong-paper: var(--jp-layout-color0, {PAPER["dark"][0]});
  --taulong-ink: var(--jp-content-font-color0, {PAPER["dark"][1]}); }} }}
.taulong-row {{ display: flex; flex-wrap: wrap; gap: 12px; max-width: none; }}
.taulong-row > .taulong {{ flex: 1 1 18rem; min-width: 0; }}
.taulong .taulong-title {{ font-weight: 600; font-size: 14px; }} .taulong .taulong-facts {{ font-size: 12px; }}
.taulong .taulong-turn {{ --taulong-lane: #808080; border-radius: 3px; overflow-wrap: anywhere;
  background: color-mix(in srgb, var(--taulong-lane) {TINT}%, var(--taulong-paper)); }}
{"".join(f".taulong .taulong-{lane} {{ --taulong-lane: {colour}; }} " for lane, (colour, _, _) in LANES.items())}
.taulong .taulong-objection {{ --taulong-lane: {OBJECTION}; }} .taulong .taulong-note {{ --taulong-lane: {MARK}; }}
.taulong .taulong-undelivered {{ opacity: .85; outline: 1px dashed; }}
.taulong .taulong-text, .taulong.taulong pre {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; color: inherit; background: none; }}
.taulong.taulong pre, .taulong.taulong code {{ font: 12px/1.4 var(--jp-code-font-family, monospace); color: inherit; background: none; padding: 0; }}
.taulong summary {{ cursor: pointer; }} .taulong summary:focus-visible {{ outline: 2px solid; }}
.taulong.taulong mark {{ color: inherit; background: none; border: 1px solid; border-radius: 3px; padding: 0 4px; font-size: 11px; font-weight: 600; }}
.taulong.taulong mark.taulong-commitment {{ background: color-mix(in srgb, {MARK} {2 * TINT}%, var(--taulong-paper)); }}
.taulong span.taulong-turn {{ display: inline-block; margin: 2px 6px 2px 0; padding: 0 6px; }}
.taulong.taulong ins, .taulong.taulong del {{ display: block; color: inherit; white-space: pre-wrap; text-decoration: none; }}
.taulong.taulong ins {{ background: color-mix(in srgb, #009e73 {TINT}%, var(--taulong-paper)); }}
.taulong.taulong del {{ background: color-mix(in srgb, {OBJECTION} {TINT}%, var(--taulong-paper)); }}
.taulong.taulong blockquote {{ margin: 2px 0 0 8px; padding: 0 0 0 8px; border-left: 2px solid; color: inherit; white-space: pre-wrap; }}
.taulong.taulong table {{ border-collapse: separate; border-spacing: 3px; color: inherit; font-size: 12px; margin: 0; }}
.taulong.taulong tr {{ background: none; }} .taulong.taulong th {{ white-space: nowrap; }} .taulong.taulong th, .taulong.taulong td {{ text-align: left; vertical-align: top; padding: 3px 6px; border: 0; background: none; color: inherit; }}
.taulong.taulong.taulong td.taulong-turn {{ background: color-mix(in srgb, var(--taulong-lane) {TINT}%, var(--taulong-paper)); min-width: 5.2rem; }}
{"".join(f".taulong .taulong-{name.replace(' ', '-')} {{ --taulong-lane: {colour}; }} " for name, colour in OUTCOMES.items())}
.taulong .taulong-owed {{ opacity: .8; }}
"""


# --- markup and text ------------------------------------------------------------------------------------------------


class Markup(str):
    """Text that is HTML already, made by :func:`element` alone."""


def element(tag: str, *children: str | None, **attributes: str | None) -> Markup:
    """Return one HTML element; children that are not markup and all attribute values are escaped, None is left out.

    ``kind`` is the class, each word of it prefixed so that no page's own style meets it; the empty word is the root's.
    """
    if (kind := attributes.pop("kind", None)) is not None:
        attributes["class"] = " ".join(f"taulong-{word}" if word else "taulong" for word in kind.split(" "))
    given = "".join(
        f' {name}="{html.escape(visible(value))}"' for name, value in attributes.items() if value is not None
    )
    inner = "".join(
        child if isinstance(child, Markup) else html.escape(visible(child)) for child in children if child is not None
    )
    return Markup(f"<{tag}{given}>{inner}</{tag}>")


def visible(text: Any) -> str:
    r"""Return a text in which every character that could drive a terminal or reorder a line is shown as its code.

    That is all of Unicode's control, format, surrogate and line-separator characters but the newline; a tab becomes four
    spaces. ``"\x1b[2J"`` comes back as ``"\\x1b[2J"``.
    """
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else "    "
        if character == "\t"
        else ascii(character)[1:-1]
        for character in str(text)
    )


class _Shown(ABC):
    """Something shown as HTML in a notebook and as text in a terminal."""

    text: str

    @abstractmethod
    def _html(self) -> Markup:
        """Return it as HTML, without the style."""

    def _repr_html_(self) -> str:
        return f"<style>{STYLE}</style>{self._html()}"

    def __repr__(self) -> str:
        return self.text


# --- a conversation -------------------------------------------------------------------------------------------------


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
    """

    index: int
    lane: str
    text: str | None
    call: str | None = None
    arguments: Any = None
    marks: tuple[str, ...] = ()
    objections: tuple[Objection, ...] = ()


@dataclass(frozen=True, repr=False, eq=False)
class Conversation(_Shown):
    """A case to be read: HTML in a notebook, plain text in a terminal.

    Attributes:
        transcript: a transcript row of a run folder; ``messages`` (and ``findings``, for objections) are enough, so that a
            regraded run of another source can be read too.
        record: its record row, for reward, verdicts and ending; optional.
        title: shown instead of the case id.

    Raises:
        DataError: the transcript has no list of messages, or a message is none.
    """

    transcript: Mapping[str, Any]
    record: Mapping[str, Any] | None = None
    title: str | None = None

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
            found = tuple(objections.get(index, ()))
            calls = message.get("tool_calls") or ()
            if message.get("content"):
                undelivered = index == self.transcript.get("undelivered_message")
                marks = ("not delivered: the customer's patience ran out",) if undelivered else ()
                yield Turn(index, speaker, message["content"], marks=marks, objections=() if calls else found)
            for number, call in enumerate(calls):
                at = answers.get((index, number))
                answer = messages[at] if at is not None else {}
                marks = [
                    mark
                    for mark, applies in (
                        ("masked", at in (self.transcript.get("masked_messages") or ())),
                        ("commitment", at is not None and at == self.transcript.get("commitment_message")),
                        ("error", answer.get("error")),
                        ("no answer", at is None),
                    )
                    if applies
                ]
                yield Turn(
                    index,
                    "records" if speaker == "agent" else "phone",
                    answer.get("content"),
                    call.get("name"),
                    call.get("arguments"),
                    tuple(marks),
                    found if number == len(calls) - 1 else (),
                )

    def _answers(self) -> dict[tuple[int, int], int]:
        """Return the index of the answer to each call, by (message, number of the call in it)."""
        asked, answers = {}, {}
        for index, message in enumerate(self.transcript["messages"]):
            for number, call in enumerate(message.get("tool_calls") or ()):
                asked[call.get("id")] = index, number
            if message["role"] == "tool" and message.get("id") in asked:
                answers[asked.pop(message["id"])] = index
        return answers

    @cached_property
    def objections(self) -> dict[int | None, list[Objection]]:
        """The findings by message, those on one field together; under None those that no call explains."""
        groups: dict[tuple, list[Mapping]] = {}
        for finding in self.transcript.get("findings") or ():
            path = finding.get("record") and f"{finding['record']}.{finding.get('field')}"
            key = finding.get("call"), path, _plain(finding.get("old")), _plain(finding.get("new"))
            groups.setdefault(key, []).append(finding)
        placed: dict[int | None, list[Objection]] = {}
        for (call, path, old, new), findings in groups.items():
            graders = dict.fromkeys(finding["grader"] for finding in findings)
            sentences = dict.fromkeys(finding["sentence"] for finding in findings if finding.get("sentence"))
            inferred = [finding["sentence"] for finding in findings if finding.get("inferred")]
            inferred = tuple(sentence for sentence in sentences if sentence in inferred)
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
        facts = {name.replace("_", " "): str(known[name]) for name in names if _given(known.get(name))}
        verdicts = {}
        for name, value in (self.record or {}).items():
            if value in ("pass", "fail", "not_evaluated"):
                verdicts.setdefault(value.replace("_", " "), []).append(name)
        return facts | {word: ", ".join(names) for word, names in verdicts.items()}

    def verdicts(self) -> "Table":
        """Return what each grader says: its verdict, the fields it objects to, and the policy's sentence."""
        rows = []
        for grader, verdict in (self.record or {}).items():
            if verdict in ("pass", "fail", "not_evaluated"):
                found = [finding for finding in self.transcript.get("findings") or () if finding["grader"] == grader]
                changes = dict.fromkeys(
                    f"{finding['record']}.{finding['field']}: {_plain(finding['old'])} → {_plain(finding['new'])}"
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
    def _notebook(self) -> list[str] | None:
        """The lines of the notebook, before and after as a diff; None where there is no notebook."""
        before, after = self.transcript.get("notebook_before"), self.transcript.get("notebook_after")
        if before is None and after is None:
            return None
        lines = difflib.ndiff(visible(before or "").splitlines(), visible(after or "").splitlines())
        return [line for line in lines if not line.startswith("?")]

    # --- as HTML

    def _html(self) -> Markup:
        facts = element("div", "; ".join(f"{name} {value}" for name, value in self.facts.items()), kind="facts")
        loose = [_objection(objection) for objection in self.objections.get(None, ())]
        parts = [element("div", self._name, kind="title"), facts, *map(_turn, self.turns), *loose]
        if self._notebook is not None:
            lines = [element({"+": "ins", "-": "del"}.get(line[0], "div"), line) for line in self._notebook]
            changed = any(line[0] in "+-" for line in self._notebook)
            what = "notebook, before (-) and after (+)" if changed else "notebook, unchanged"
            parts.append(_box("note", element("b", what), *(lines or [element("div", "(empty)")])))
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
            full: show answers whole; else their first lines.
        """
        lines = [visible(self._name), *(f"  {name}: {visible(value)}" for name, value in self.facts.items()), ""]
        for turn in self.turns:
            lines += _wrapped(f"{turn.index:>3} {turn.lane:<9}", _told(turn, full), width)
            lines += [line for objection in turn.objections for line in _wrapped("    ! ", _objected(objection), width)]
        lines += [
            line
            for objection in self.objections.get(None, ())
            for line in _wrapped("    ! ", _objected(objection), width)
        ]
        if self._notebook is not None:
            lines += ["", "notebook, before (-) and after (+)"]
            lines += [line for entry in self._notebook or ["  (empty)"] for line in _wrapped("  ", entry, width)]
        return "\n".join(lines)


def _given(value: Any) -> bool:
    return value is not None and value == value  # a table's NaN is not equal to itself


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _pretty(text: str) -> str:
    """Return JSON text indented, and any other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, indent=1, ensure_ascii=False) if isinstance(value, dict | list) else text


def _box(lane: str, *children: str | None, kind: str = "") -> Markup:
    colour, left, right = LANES.get(lane, (OBJECTION if lane == "objection" else MARK, "0", "0"))
    style = f"border-left: 4px solid {colour}; margin: 4px {right} 4px {left}; padding: 3px 8px"
    return element("div", *children, kind=f"turn {lane} {kind}".strip(), style=style)


def _turn(turn: Turn) -> Markup:
    marks = [
        part for mark in turn.marks for part in (" ", element("mark", mark, kind=mark.split(":")[0].replace(" ", "-")))
    ]
    undelivered = "undelivered" if any(mark.startswith("not delivered") for mark in turn.marks) else ""
    who = {"records": "agent calls", "phone": "customer's phone"}.get(turn.lane, turn.lane)
    head = element("small", f"{turn.index} · ", element("b", who), *marks)
    objections = [_objection(objection) for objection in turn.objections]
    if turn.call is None:
        return _box(turn.lane, head, element("div", turn.text, kind="text", style=LINES), *objections, kind=undelivered)
    if turn.arguments:
        names = ", ".join(turn.arguments) if isinstance(turn.arguments, Mapping) else "…"
        call = element(
            "details",
            element("summary", element("code", f"{turn.call}({names})")),
            element("pre", json.dumps(turn.arguments, indent=1, ensure_ascii=False, default=str)),
        )
    else:
        call = element("div", element("code", f"{turn.call}()"))
    return _box(turn.lane, head, call, _answer(turn.text), *objections)


def _answer(text: str | None) -> Markup | None:
    if text is None:
        return None
    text = str(text)
    if len(text) <= FOLD and "\n" not in text:
        return element("div", f"→ {text}", kind="text", style=LINES)
    first = text.split("\n")[0][: FOLD - 40]
    return element("details", element("summary", f"→ {first} …"), element("pre", _pretty(text), style=LINES))


def _objection(objection: Objection) -> Markup:
    quotes = [element("blockquote", mark + sentence) for mark, sentence in objection.cited]
    return _box("objection", element("b", "Objection. "), objection.headline, *quotes)


def _told(turn: Turn, full: bool) -> str:
    marks = "".join(f"[{mark}] " for mark in turn.marks)
    if turn.call is None:
        return f"{marks}{turn.text}"
    given = turn.arguments if isinstance(turn.arguments, Mapping) else {"…": turn.arguments} if turn.arguments else {}
    call = f"{marks}{turn.call}({', '.join(f'{name}={_plain(value)}' for name, value in given.items())})"
    if turn.text is None:
        return call
    answer = _pretty(str(turn.text)) if full else str(turn.text)
    if not full and (len(answer) > 3 * FOLD or answer.count("\n") > 4):
        answer = "\n".join(answer[: 3 * FOLD].split("\n")[:4]) + f" … ({len(turn.text)} characters)"
    return f"{call}\n→ {answer}"


def _objected(objection: Objection) -> str:
    return "\n".join([objection.headline, *(f'{mark}"{sentence}"' for mark, sentence in objection.cited)])


def _wrapped(prefix: str, text: str, width: int) -> list[str]:
    """Return a text's lines, wrapped, the first after a prefix and the others indented by as much."""
    room = max(width - len(prefix), 20)
    lines = [
        part for line in visible(text).split("\n") for part in textwrap.wrap(line, room, drop_whitespace=False) or [""]
    ]
    return [(prefix if number == 0 else " " * len(prefix)) + line.rstrip() for number, line in enumerate(lines)]


@dataclass(frozen=True, repr=False, eq=False)
class Table(_Shown):
    """A table of texts, none of them cut.

    Attributes:
        columns: their names.
        rows: a text (or anything with one) for each column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple, ...]

    def _html(self) -> Markup:
        head = element("tr", *(element("th", name, scope="col") for name in self.columns))
        body = [
            element(
                "tr",
                element("th", str(row[0]), scope="row"),
                *(element("td", str(value), kind="text", style=f"{LINES}; text-align: left") for value in row[1:]),
            )
            for row in self.rows
        ]
        return element("div", element("table", element("thead", head), element("tbody", *body)), kind="")

    @property
    def text(self) -> str:
        """The rows one below the other, a line for each text that is not empty."""
        blocks = [
            [
                line
                for name, value in zip(self.columns[1:], row[1:], strict=True)
                if str(value)
                for line in _wrapped(f"  {name}: ", str(value), 110)
            ]
            for row in self.rows
        ]
        return "\n".join("\n".join([visible(row[0]), *block]) for row, block in zip(self.rows, blocks, strict=True))


def notebook_growth(
    run, shift_id: str, agent: str | None = None, memory_mode: str | None = None, trial: int = 0
) -> Table:
    """Return a shift's notebook as it grew: for every case what was added (+) to it and what was dropped (-).

    Arguments and errors as for :func:`open_case`.
    """
    rows = []
    for case_id in dict.fromkeys(
        row["record"]["case_id"] for row in _rows(run) if row["record"]["shift_id"] == shift_id
    ):
        case = open_case(run, case_id, agent, memory_mode, trial)
        changed = "\n".join(line for line in case._notebook or () if line[0] in "+-")
        rows.append(
            (
                case.record["position"],
                case.record["population"],
                case.record["notebook_length_after"],
                changed or "unchanged",
            )
        )
    if not rows:
        raise ConfigError(
            f"shift_id: {shift_id!r} is not in the run; {near(shift_id, {row['record']['shift_id'] for row in _rows(run)})}"
        )
    return Table(("position", "population", "characters after", "what changed"), tuple(rows))


@dataclass(frozen=True, repr=False, eq=False)
class Beside(_Shown):
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


# --- a shift --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class Strip(_Shown):
    """A shift as strips of cells, one strip for each agent and memory mode: population, outcome, commitment.

    Attributes:
        records: the shift's rows of a table of records.
        num_cases: customers of the shift; without it, the last position there is. A case without a row is owed.

    Raises:
        DataError: the records are not those of one shift.
    """

    records: "pd.DataFrame"
    num_cases: int | None = None

    def __post_init__(self):
        shifts = list(self.records["shift_id"].unique())
        if len(shifts) != 1:
            raise DataError(f"records: {len(shifts)} shifts; a strip shows one: records[records['shift_id'] == ...]")

    @cached_property
    def rows(self) -> dict[str, list[dict]]:
        """The cells by arm: outcome, reward, commitment, and whether a gate objects, one a position."""
        count = self.num_cases or int(self.records["position"].max())
        rows: dict[str, list[dict]] = {}
        several = self.records["trial"].nunique() > 1 if "trial" in self.records else False
        for record in self.records.to_dict("records"):
            arm = f"{record['agent']}, {record['memory_mode']}" + (f", trial {record['trial']}" if several else "")
            cells = rows.setdefault(arm, [{"outcome": "owed"} for _ in range(count)])
            cells[record["position"] - 1] = _cell(record)
        return rows

    @cached_property
    def populations(self) -> list[str]:
        """The population at each position; empty where no arm has come so far."""
        known = dict(zip(self.records["position"], self.records["population"], strict=True))
        return [known.get(position, "") for position in range(1, len(next(iter(self.rows.values()))) + 1)]

    @property
    def _name(self) -> str:
        first = self.records.iloc[0]
        return f"{first['shift_id']}, recurring cause {first['recurring_cause']}"

    def _html(self) -> Markup:
        heads = [
            element("th", f"{position} ", population, scope="col")
            for position, population in enumerate(self.populations, 1)
        ]
        body = [
            element("tr", element("th", arm, scope="row"), *map(_cell_html, cells)) for arm, cells in self.rows.items()
        ]
        legend = element(
            "small",
            *(part for name in OUTCOMES for part in (_key(name), " ")),
            "reward in figures; ! a gate objects; the tool named is the commitment of a testing case",
        )
        table = element("table", element("thead", element("tr", element("th", ""), *heads)), element("tbody", *body))
        return element("div", element("div", self._name, kind="title"), table, legend, kind="")

    @property
    def text(self) -> str:
        """The strips as lines of fixed width."""
        room = max(map(len, self.rows)) + 2
        lines = [visible(self._name), " " * room + "".join(f"{population:<12}" for population in self.populations)]
        for arm, cells in self.rows.items():
            lines.append(f"{arm:<{room}}" + "".join(f"{_cell_text(cell):<12}" for cell in cells))
            if any(cell.get("commitment") for cell in cells):
                lines.append(" " * room + "".join(f"{(cell.get('commitment') or '')[:11]:<12}" for cell in cells))
        return "\n".join(
            line.rstrip() for line in [*lines, "✓ solved  ✗ not solved  ? unscored  – owed  ! a gate objects"]
        )


def _cell(record: Mapping) -> dict:
    reward = record["official_reward"]
    outcome = (
        "unscored" if record["outcome"] != "scored" or not _given(reward) else "solved" if reward >= 1 else "not solved"
    )
    return {
        "outcome": outcome,
        "reward": f"{reward:g}" if outcome != "unscored" else None,
        "commitment": record["commitment"] if _given(record["commitment"]) else None,
        "gate": record["scope_gate"] == "fail",
    }


def _cell_text(cell: Mapping) -> str:
    return " ".join(filter(None, (SIGNS[cell["outcome"]], cell.get("reward"), "!" if cell.get("gate") else "")))


def _cell_html(cell: Mapping) -> Markup:
    commitment = cell.get("commitment")
    return element(
        "td",
        element("b", _cell_text(cell)),
        commitment and element("div", commitment.replace("_", " ")),
        kind=f"turn {cell['outcome'].replace(' ', '-')}",
        title=cell["outcome"],
        style=_edge(cell["outcome"]),
    )


def _key(outcome: str) -> Markup:
    return element(
        "span", f" {SIGNS[outcome]} {outcome} ", kind=f"turn {outcome.replace(' ', '-')}", style=_edge(outcome)
    )


def _edge(outcome: str) -> str:
    return f"border-left: 4px {'dashed' if outcome == 'owed' else 'solid'} {OUTCOMES[outcome]}"


def customers(shift: "Shift") -> "pd.DataFrame":
    """Return a shift's customers as a table, one a row in order: who calls, with which phone, and what is broken."""
    import pandas as pd

    rows = []
    for case in shift.cases:
        customer = case.records["customers"][0]
        line = next(line for line in case.records["lines"] if line["phone_number"] == customer["phone_number"])
        device = next(device for device in case.records["devices"] if device["device_id"] == line["device_id"])
        rows.append(
            {
                "position": case.position,
                "customer": customer["full_name"],
                "phone number": customer["phone_number"],
                "phone": device["model"],
                "population": case.population,
                "cause": case.cause,
            }
        )
    return pd.DataFrame(rows).set_index("position")


# --- browsing a run -------------------------------------------------------------------------------------------------

BROWSED = (
    "case_id",
    "population",
    "agent",
    "memory_mode",
    "official_reward",
    "scope_gate",
    "commitment",
    "ending",
    "outcome",
)


def browse(records: "pd.DataFrame", interactive: bool = False, columns: Sequence[str] = BROWSED):
    """Return records as a table from which a case or a run is chosen; a case is opened with :func:`open_case`.

    Plain, it is a pandas table: the same bytes at every run, and what committed notebooks show. Interactive, it is an
    itables table to sort, filter and search, with its script inside (no server, no network), for a live JupyterLab.

    Args:
        records: a table of records, or of regraded runs (then with ``columns``), filtered as you like.
        interactive: whether it can be sorted and filtered in place; it is then displayed, and None comes back.
        columns: columns to show, in order; those that are not there are left out, and the first there is the index.

    Raises:
        ConfigError: an interactive table is asked for and itables is not installed.
    """
    import pandas as pd

    table = records[[name for name in columns if name in records.columns]]
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    table = table.assign(**{name: table[name].fillna("") for name in texts}).set_index(table.columns[0])
    if not interactive:
        return table
    try:
        import itables
    except ModuleNotFoundError as error:
        raise ConfigError(
            "interactive: True needs itables (pip install itables); accepted without it: False"
        ) from error
    itables.init_notebook_mode(all_interactive=False, connected=False)
    itables.show(table, column_filters="header", display_logo_when_loading=False, maxBytes=0)
    return None


def open_case(
    run, case_id: str, agent: str | None = None, memory_mode: str | None = None, trial: int = 0
) -> Conversation:
    """Return one case of a run, to be read.

    Args:
        run: a run folder, or its name or path.
        case_id: ``<shift id>/<position>``.
        agent: needed where several agents ran the case.
        memory_mode: needed where it ran under several.
        trial: which of several runs.

    Raises:
        DataError: there is no such run.
        ConfigError: there is no such case, or there are several; names the near match or the choices.
    """
    rows = _rows(run)
    if not rows:
        raise DataError(
            f"run: {run} has no transcripts here (they are not committed); make them with 'taulong run' or 20_execute_runs"
        )
    wanted = {"case_id": case_id, "agent": agent, "memory_mode": memory_mode, "trial": trial}
    for field, value in wanted.items():
        known = list(dict.fromkeys(row["record"][field] for row in rows))
        if value is None and len(known) > 1:
            raise ConfigError(f"{field}: {case_id} ran with several; say which: {', '.join(map(str, known))}")
        if value is not None and value not in known:
            raise ConfigError(f"{field}: {value!r} is not in the run; {near(value, known)}")
        rows = [row for row in rows if value is None or row["record"][field] == value]
    return Conversation(rows[0]["transcript"], rows[0]["record"])


def _rows(run) -> list[dict]:
    from taulong.runs.folder import RunFolder

    folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
    return list(folder.rows().values())


# --- command --------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong show``."""
    parser.add_argument("run_name", metavar="RUN", help="a run folder below data/runs, or its path")
    parser.add_argument("case_id", metavar="CASE", help="a case, as SHIFT/POSITION: eval-1000000/4")
    parser.add_argument("--agent", help="needed where several agents ran the case")
    parser.add_argument("--memory-mode", help="needed where it ran under several memory modes")
    parser.add_argument("--trial", type=int, default=0, help="which of several runs (default 0)")
    parser.add_argument("--full", action="store_true", help="show answers whole")


def run(arguments: argparse.Namespace) -> int:
    """Print a case as text, with control characters shown as codes; return 0."""
    import shutil

    case = open_case(arguments.run_name, arguments.case_id, arguments.agent, arguments.memory_mode, arguments.trial)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no arrow still shows the rest
    print(case.plain(shutil.get_terminal_size((110, 24)).columns, arguments.full))
    return 0
