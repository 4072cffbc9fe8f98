"""What the figures share: panels over a caption, a heading, what is said of intervals, counts and what is not drawn."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from taulong.value.figures.style import DOUBLE, SINGLE
from taulong.value.metrics import require_complete
from taulong.value.statistics.pairs import counted

LIMITS = dict.fromkeys(("value", "low", "high"), float)  # columns that are numbers also where all are missing
CAPTION = 8  # points
A_LINE = 0.15  # inches
OUTCOMES = {"official_reward": "official reward", "gated_reward": "gated reward"}


class CaptionedFigure(Figure):
    """A figure with its caption as text and what its title says of partial results."""

    caption: str = ""
    partial: str = ""


def new_panels(
    rows: int, columns: int, height: float, caption: str, table: pd.DataFrame, width: float | None = None, **shared: Any
) -> tuple[CaptionedFigure, np.ndarray]:  # fmt: skip
    """Return a figure and its grid of axes, the caption under them and, over partial results, a title that says so."""
    width = width or (SINGLE if columns == 1 else DOUBLE)
    whole = " ".join(caption.split()).replace(" %", "\u00a0%").replace(" = ", "\u00a0=\u00a0")
    text = textwrap.fill(whole, int(16.2 * width))
    below = A_LINE * (text.count("\n") + 1) + 0.1
    height = rows * height + 0.5 + below
    figure = plt.figure(figsize=(width, height), layout="constrained", FigureClass=CaptionedFigure)
    panels = figure.subplots(rows, columns, squeeze=False, **shared)
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0, below / height, 1, 1 - below / height), h_pad=0.06)
    figure.text(0.08 / width, 0.04 / height, text, fontsize=CAPTION, va="bottom", linespacing=1.2)
    figure.caption = text
    partial = "; ".join(sorted(set(table["partial"].dropna()) - {""})) if "partial" in table else ""
    figure.partial = textwrap.fill(partial, int(13 * width))
    return figure, panels


def marked(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table with what its title must say of the records it is made of, also if it has no rows."""
    partial = require_complete(table, allow_partial=True)
    rows = rows.assign(partial=partial)
    rows.attrs["partial"] = partial
    return rows


def filled(table: pd.DataFrame, counts: tuple[str, ...], texts: tuple[str, ...]) -> pd.DataFrame:
    """Return a table whose counts are whole numbers and whose texts are texts, 0 and empty where there is none."""
    whole = {name: table[name].astype(float).fillna(0).astype(int) for name in counts}
    said = {name: table[name].astype(object).where(table[name].notna(), "") for name in texts}
    return table.assign(**whole, **said)


def empty_figure(caption: str, table: pd.DataFrame | None = None, said: str = "no cases") -> Figure:
    """Return the figure of a table in which nothing can be drawn, which says so."""
    given = pd.DataFrame({"partial": []}) if table is None else table
    partial = (
        given if len(given) and "partial" in given else pd.DataFrame({"partial": [given.attrs.get("partial", "")]})
    )
    figure, panels = new_panels(1, 1, 0.5, caption, partial, width=DOUBLE)
    panels[0, 0].text(0.5, 0.5, said, transform=panels[0, 0].transAxes, ha="center", va="center", color="#444444")
    panels[0, 0].set_axis_off()
    add_heading(figure)
    return figure


def add_heading(figure: CaptionedFigure, styles: dict[str, dict[str, Any]] | None = None) -> None:
    """Put a legend of names on top, if there are any, and over it what must be said of partial results."""
    if styles:
        handles = [Line2D([], [], **style) for style in styles.values()]
        room = int(14 * figure.get_figwidth()) // (max(map(len, styles)) + 8)
        legend = figure.legend(
            handles, list(styles), loc="outside upper center", ncols=max(1, min(len(styles), room)),
            title=figure.partial or None, handlelength=2.2,
        )  # fmt: skip
        legend.get_title().set(color="#b00000", fontsize=9)
    elif figure.partial:
        figure.suptitle(figure.partial, color="#b00000", fontsize=9)


def bar(panel: Axes, x: pd.Series | np.ndarray, low: pd.Series, high: pd.Series, colour: str) -> None:
    """Draw upright intervals over whatever else is there, markers included."""
    panel.vlines(x, low, high, color=colour, linewidth=1.0, zorder=5)


def limits_of(table: pd.DataFrame, what: str) -> tuple[float, float]:
    """Return the limits of an axis that shows a value and its interval."""
    numbers = table[[what, f"{what}_low", f"{what}_high"]].to_numpy(float)
    return float(np.nanmin([*numbers.flat, -0.1])) - 0.1, float(np.nanmax([*numbers.flat, 1.0])) + 0.1


def interval_caption(table: pd.DataFrame, clusters: str = "shifts", cases: str = "cases") -> str:
    """Return what intervals are, their level, what they are clustered by, and n."""
    return (
        f"Bars: {100 * only(table, 'level'):g} % intervals of shares, clustered by shift, with room for one more shift, the "
        f"worst there can be; C = {count_of(table[clusters], 'shift')}, n = {count_of(table[cases], 'testing case')}"
    )


def point_caption(table: pd.DataFrame) -> str:
    """Return the same of a curve, whose points have their own counts."""
    totals = table[table["axis"] == table["axis"].iloc[-1]].groupby(["agent", "memory_mode", "reward"])["cases"].sum()
    return (
        f"Bars: {100 * only(table, 'level'):g} % interval of each point, clustered by shift, with room for one more shift, "
        f"the worst there can be; {count_of(table['shifts'], 'shift')} a point, n = {count_of(totals, 'case')} a line, "
        f"{count_of(table['dropped'], 'case')} dropped."
    )


def refused_caption(table: pd.DataFrame, value: str = "value") -> str:
    """Return which numbers are not drawn and why: a sentence, or nothing."""
    lost = table[table[value].isna()]
    said = dict.fromkeys(
        f"{row['agent']}{', ' + row['memory_mode'] if isinstance(row['memory_mode'], str) and row['memory_mode'] else ''}"
        f"{' (' + row['note'] + ')' if isinstance(row.get('note'), str) and row['note'] else ''}"
        for _, row in lost.iterrows()
    )
    return f" Not drawn: {'; '.join(said)}." if said else ""


def only(table: pd.DataFrame, column: str) -> Any:
    """Return the only value of a column; a figure speaks of one level, one reward, one mode."""
    (value,) = table[column].dropna().unique()
    return value


def count_of(values: Any, noun: str) -> str:
    """Return how many, as "1 shift", "12 shifts" or "6 to 8 shifts"."""
    low, high = int(np.min(values)), int(np.max(values))
    return counted(low, noun) if low == high else f"{low} to {high} {noun}s"


def blank(panels: np.ndarray, used: int) -> None:
    """Take the axes beyond those used out of a row-wise grid."""
    for panel in panels.flat[used:]:
        panel.set_axis_off()
