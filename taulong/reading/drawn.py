"""A conversation as HTML: badges of what came of it, a box a turn, the masked shown as masked."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from taulong.reading.markup import (
    FOLD,
    LINES,
    OUTCOMES,
    SIGNS,
    Markup,
    as_text,
    box,
    element,
    indented,
    is_given,
)

if TYPE_CHECKING:
    from taulong.reading.conversation import Objection, Turn

VERDICTS = {"pass": "solved", "fail": "not solved", "not_evaluated": "unscored"}
"""How a verdict is coloured: as the outcome it would be."""


def badges_html(record: Mapping[str, Any]) -> Markup:
    """Return what came of a case as badges: each reward and each verdict in colour, with its sign and in words."""
    rewards = {name: record.get(f"{name}_reward") for name in ("official", "gated")}
    shown = [_badge(_outcome(value), f"{name} {_reward(value)}") for name, value in rewards.items() if is_given(value)]
    if (outcome := record.get("outcome")) in ("unscored", "owed"):
        shown.append(_badge(outcome, outcome))
    if is_given(ending := record.get("ending")):
        shown.append(_badge(None, f"ended by {str(ending).replace('_', ' ')}"))
    if record.get("transferred") is True:
        shown.append(_badge(None, "handed to a human"))
    verdicts = [(name, value) for name, value in record.items() if isinstance(value, str) and value in VERDICTS]
    chips = [
        _badge(VERDICTS[value], f"{name.replace('_', ' ')}: {value.replace('_', ' ')}", "chip")
        for name, value in verdicts
    ]
    return element("div", *shown, *chips, kind="badges")


def _outcome(reward: Any) -> str | None:
    return None if not isinstance(reward, int | float) else "solved" if reward >= 1 else "not solved"


def _reward(reward: Any) -> str:
    return f"{reward:.1f}" if isinstance(reward, int | float) and round(reward, 1) == reward else str(reward)


def _badge(outcome: str | None, text: str, kind: str = "badge") -> Markup:
    colour = OUTCOMES.get(outcome or "", "#808080")
    sign = f"{SIGNS[outcome]} " if outcome else ""
    kinds = f"{kind} {outcome.replace(' ', '-')}" if outcome else kind
    return element("span", f"{sign}{text}", kind=kinds, style=f"border: 1px solid {colour}")


def turn_html(turn: "Turn") -> Markup:
    """Return one turn as a box: who, what was said or called and answered, and what graders object to."""
    marks = [
        part for mark in turn.marks for part in (" ", element("mark", mark, kind=mark.split(":")[0].replace(" ", "-")))
    ]
    kinds = [kind for kind, start in (("undelivered", "not delivered"), ("hidden", "masked")) if turn.is_marked(start)]
    who = {"records": "agent calls", "phone": "customer's phone"}.get(turn.lane, turn.lane)
    head = element("small", f"{turn.index} · ", element("b", who), *marks)
    objections = [objection_html(objection) for objection in turn.objections]
    if turn.call is None:
        said = element("div", turn.text, kind="text", style=LINES)
        return box(turn.lane, head, said, *objections, kind=" ".join(kinds))
    inside = [head, _call(turn), _answer(turn.text), _would_have_said(turn.unmasked), *objections]
    return box(turn.lane, *inside, kind=" ".join(kinds))


def _call(turn: "Turn") -> Markup:
    """Return a call; its arguments are folded away, and shown where it is the commitment."""
    arguments = turn.arguments
    if not arguments:
        return element("div", element("code", f"{turn.call}()"))
    if turn.is_marked("commitment"):
        given = arguments if isinstance(arguments, Mapping) else {"…": arguments}
        told = ", ".join(f"{name}={as_text(value)}" for name, value in given.items())
        return element("div", element("code", element("b", f"{turn.call}({told})")))
    names = ", ".join(arguments) if isinstance(arguments, Mapping) else "…"
    laid_out = element("pre", json.dumps(arguments, indent=1, ensure_ascii=False, default=str))
    return element("details", element("summary", element("code", f"{turn.call}({names})")), laid_out)


def _would_have_said(text: str | None) -> Markup | None:
    if text is None:
        return None
    summary = element("summary", "for the researcher: what it would have said")
    return element("details", summary, element("pre", indented(text), style=LINES), kind="unmasked")


def _answer(text: str | None) -> Markup | None:
    if text is None:
        return None
    text = str(text)
    if len(text) <= FOLD and "\n" not in text:
        return element("div", f"→ {text}", kind="text", style=LINES)
    first = text.split("\n")[0][: FOLD - 40]
    return element("details", element("summary", f"→ {first} …"), element("pre", indented(text), style=LINES))


def objection_html(objection: "Objection") -> Markup:
    """Return what graders object to, with the sentences of the policy."""
    quotes = [element("blockquote", mark + sentence) for mark, sentence in objection.cited]
    return box("objection", element("b", "Objection. "), objection.headline, *quotes)
