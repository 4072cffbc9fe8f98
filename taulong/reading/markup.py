"""Markup and text that what a model wrote can go into: nothing of it is ever markup or drives a terminal.

Whatever a model or a file wrote is text here: :func:`element` escapes every child that is not markup already, and
:func:`visible` shows control characters (terminal sequences, direction overrides) as their codes. No script is used, and
JupyterLab's colours are taken where there are any. A notebook that was not run yet is untrusted to JupyterLab, which then
drops style sheets; so what tells the lanes apart is an inline border and a word, and the style sheet adds the rest.
"""

import html
import json
import textwrap
import unicodedata
from abc import ABC, abstractmethod
from typing import Any

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
.taulong .taulong-badges {{ margin: 3px 0; }} .taulong .taulong-badge, .taulong .taulong-chip {{ --taulong-lane: #808080; display: inline-block; border-radius: 10px;
  margin: 1px 5px 1px 0; padding: 0 8px; background: color-mix(in srgb, var(--taulong-lane) {TINT}%, var(--taulong-paper)); }}
.taulong .taulong-badge {{ font-weight: 600; }} .taulong .taulong-chip {{ font-size: 11px; }}
.taulong .taulong-hidden {{ background: repeating-linear-gradient(135deg, var(--taulong-paper) 0 7px, color-mix(in srgb, var(--taulong-lane) {TINT}%, var(--taulong-paper)) 7px 14px); }}
.taulong .taulong-unmasked {{ border-left: 2px dotted; padding-left: 8px; font-size: 12px; }}
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
.taulong-sheet {{ overflow-x: auto; }}
.taulong.taulong-sheet table {{ border-collapse: collapse; max-width: 100%; font-variant-numeric: tabular-nums; }}
.taulong.taulong-sheet th, .taulong.taulong-sheet td {{ white-space: normal; padding: 3px 9px 3px 3px; border-bottom: 1px solid color-mix(in srgb, var(--taulong-ink) 16%, transparent); }}
.taulong.taulong-sheet thead th {{ vertical-align: bottom; border-bottom: 2px solid color-mix(in srgb, var(--taulong-ink) 55%, transparent); font-weight: 600; }}
.taulong.taulong-sheet tbody th {{ font-weight: 500; }} .taulong.taulong-sheet th {{ overflow-wrap: break-word; }} .taulong.taulong-sheet td.taulong-text {{ overflow-wrap: anywhere; }}
.taulong.taulong-sheet td.taulong-number {{ white-space: nowrap; }} .taulong .taulong-foot {{ display: block; margin-top: 3px; }}
"""


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


class Shown(ABC):
    """Something shown as HTML in a notebook and as text in a terminal."""

    @property
    @abstractmethod
    def text(self) -> str:
        """It as plain text."""

    @abstractmethod
    def _html(self) -> Markup:
        """Return it as HTML, without the style."""

    def _repr_html_(self) -> str:
        return f"<style>{STYLE}</style>{self._html()}"

    def __repr__(self) -> str:
        return self.text


def is_given(value: Any) -> bool:
    """Return whether there is a value: neither None nor a table's NaN or NA."""
    return value is not None and type(value).__name__ != "NAType" and value == value  # NaN is not equal to itself


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def indented(text: str) -> str:
    """Return JSON text indented, and any other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, indent=1, ensure_ascii=False) if isinstance(value, dict | list) else text


def box(lane: str, *children: str | None, kind: str = "") -> Markup:
    colour, left, right = LANES.get(lane, (OBJECTION if lane == "objection" else MARK, "0", "0"))
    style = f"border-left: 4px solid {colour}; margin: 4px {right} 4px {left}; padding: 3px 8px"
    return element("div", *children, kind=f"turn {lane} {kind}".strip(), style=style)


def wrapped(prefix: str, text: str, width: int) -> list[str]:
    """Return a text's lines, wrapped, the first after a prefix and the others indented by as much."""
    room = max(width - len(prefix), 20)
    lines = [
        part for line in visible(text).split("\n") for part in textwrap.wrap(line, room, drop_whitespace=False) or [""]
    ]
    return [(prefix if number == 0 else " " * len(prefix)) + line.rstrip() for number, line in enumerate(lines)]
