"""A page of its own: one HTML file that fetches nothing, in light and dark, on screen and on paper."""

import base64
import hashlib
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING

from taulong.reading.markup import STYLE, Markup, element, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from taulong.reading.packed import Packed

HERE = Path(__file__).parent
DPI = 200  # of figures of 7 inches: twice what a page shows of them


def page(title: str, *children: str, packed: "Packed | None" = None) -> str:
    """Return a whole HTML page.

    Only its own script runs: a policy in the page names it by its digest, and forbids everything else and every address.

    Args:
        title: of the window.
        *children: markup of the body; a text is escaped.
        packed: the cases whose conversations it opens; then :func:`cases_box` must be among the children.
    """
    style, script = f"{STYLE}\n{(HERE / 'page.css').read_text()}", (HERE / "page.js").read_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}' 'strict-dynamic'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(visible(title))}</title><style>{style}</style>"
    )
    body = element("body", *children, packed.html() if packed else None, Markup(f"<script>{script}</script>"))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


def plain(tag: str, *children: str | None, kind: str | None = None, **attributes: str | None) -> Markup:
    """Return an element as :func:`taulong.reading.markup.element` does, its class one of the page's own."""
    return element(tag, *children, **({"class": kind} if kind else {}), **attributes)


def folded(title: str, *children: str, screen: bool = False, name: str | None = None) -> Markup:
    """Return a section that unfolds; on paper it is unfolded, unless it is for the screen alone."""
    return plain("details", element("summary", title), *children, kind="screen" if screen else None, id=name)


def picture(figure: "Figure") -> Markup:
    """Return a figure as an image in the page, at twice its size, its caption as the text for who cannot see it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode()
    caption = " ".join(getattr(figure, "caption", "").split())
    return element("figure", Markup(f'<img src="data:image/png;base64,{data}" alt="{html.escape(caption)}">'))


def cases_box() -> Markup:
    """Return where the page's script shows the cases: what to filter by, the list, and the conversation."""
    parts = [plain("div", kind=kind) for kind in ("filters", "list", "case")]
    return plain("div", *parts, kind="cases screen")
