"""What the figures share: panels over a caption, a heading, what is said of intervals and counts."""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.style import DOUBLE, SINGLE
from taulong.value.metrics import require_complete
from taulong.value.statistics.pairs import counted

LIMITS = dict.fromkeys(("value", "low", "high"), float)  # columns that are numbers also where all are missing


def new_panels(
    rows: int, columns: int, height: float, caption: str, table: pd.DataFrame, width: float | None = None, **shared
) -> tuple[Figure, np.ndarray]:  # fmt: skip
    """Return a figure and its grid of axes, the caption under them and, over partial results, a title that says so."""
    width = width or (SINGLE if columns == 1 else DOUBLE)
    whole = " ".join(caption.split()).replace(" %", "\u00a0%").replace(" = ", "\u00a0=\u00a0")
    text = textwrap.fill(whole, int(20 * width))
    below = 0.125 * (text.count("\n") + 1) + 0.08
    height = rows * height + 0.5 + below
    figure, panels = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **shared)
    plt.close(figure)  # a notebook shows it as the value of a cell, pyplot shall not show it again
    figure.get_layout_engine().set(rect=(0, below / height, 1, 1 - below / height), h_pad=0.06)
    figure.text(0.08 / width, 0.04 / height, text, fontsize=6.5, va="bottom", linespacing=1.15)
    figure.caption = text
    partial = "; ".join(sorted(set(table["partial"].dropna()) - {""}))
    figure.partial = textwrap.fill(partial, int(16 * width))
    return figure, panels


def marked(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table with what its title must say of the records it is made of, also if it has no rows."""
    partial = require_complete(table, allow_partial=True)
    rows = rows.assign(partial=partial)
    rows.attrs["partial"] = partial
    return rows


def empty_figure(caption: str, table: pd.DataFrame | None = None) -> Figure:
    """Return the figure of a table without rows, which says so."""
    partial = [] if table is None else [table.attrs.get("partial", "")]
    figure, panels = new_panels(1, 1, 0.5, caption, pd.DataFrame({"partial": partial}))
    panels[0, 0].text(0.5, 0.5, "no cases", transform=panels[0, 0].transAxes, ha="center", va="center", color="#444444")
    panels[0, 0].set_axis_off()
    add_heading(figure, panels[0, 0])
    return figure


def finish(figure: Figure, panels: np.ndarray, agents: list[str], label: str | None) -> None:
    for agent, panel in zip(agents, panels[0], strict=False):
        panel.set_title(agent)
    if label:
        figure.supylabel(label, fontsize=8)
    add_heading(figure, panels[0, 0])


def add_heading(figure: Figure, panel) -> None:
    """Put the legend on top, if there is one, and over it what must be said of partial results."""
    if handles := panel.get_legend_handles_labels()[0]:
        columns = 3 if figure.get_figwidth() < DOUBLE else 6
        legend = figure.legend(handles=handles, loc="outside upper center", ncols=columns, title=figure.partial or None)
        legend.get_title().set(color="#b00000", fontsize=8)
    elif figure.partial:
        figure.suptitle(figure.partial, color="#b00000", fontsize=8)


def limits_of(table: pd.DataFrame, what: str) -> tuple[float, float]:
    numbers = table[[what, f"{what}_low", f"{what}_high"]].to_numpy()
    return np.nanmin([*numbers.flat, -0.1]) - 0.1, np.nanmax([*numbers.flat, 1.0]) + 0.1


def bar_caption(table: pd.DataFrame) -> str:
    totals = table[table["axis"] == table["axis"].iloc[-1]].groupby(["agent", "memory_mode", "reward"])["cases"].sum()
    return (
        f"Bars: {100 * only(table, 'level'):g} % Wilson interval of each point over shifts, "
        f"{count_of(table['shifts'], 'shift')} a point, n = {count_of(totals, 'case')} a line, "
        f"{count_of(table['dropped'], 'case')} dropped."
    )


def t_caption(table: pd.DataFrame, value: str) -> str:
    lost = [f"{row.agent}, {row.memory_mode} ({row.note})" for row in table[table[value].isna()].itertuples()]
    return (
        f"Bars: {100 * only(table, 'level'):g} % t interval with C - 1 degrees of freedom, paired by case, clustered "
        f"by shift; C = {count_of(table['shifts'], 'shift')}, n = {count_of(table['cases'], 'testing case')}; none "
        "where all shifts agree." + (f" Not drawn: {'; '.join(lost)}." if lost else "")
    )


def only(table: pd.DataFrame, column: str):
    """Return the only value of a column; a figure speaks of one level, one reward, one mode."""
    (value,) = table[column].unique()
    return value


def count_of(values, noun: str) -> str:
    """Return how many, as "1 shift", "12 shifts" or "6 to 8 shifts"."""
    low, high = int(np.min(values)), int(np.max(values))
    return counted(low, noun) if low == high else f"{low} to {high} {noun}s"
