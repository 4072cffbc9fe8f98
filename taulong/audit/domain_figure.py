"""The figure of the audit across domains: what each reward pays for and refuses, a row a domain."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from taulong.audit.directions import QUESTIONS
from taulong.value.figures.style import DOUBLE, STYLE

COLOURS = {"nothing": "#e69f00", "stray": "#d55e00", "honest": "#0072b2"}
BAR = 0.24


@plt.rc_context(STYLE)
def plot_directions(table: pd.DataFrame) -> Figure:
    """Return the figure of :func:`taulong.audit.directions.directions`: three bars a domain, hollow marks for the gate.

    A bar is the share of tasks for which the official reward does what the colour says; its end says how many of how
    many. Where no task could, that is said in place of a bar.
    """
    domains = list(dict.fromkeys(table["domain"]))
    figure, axes = plt.subplots(figsize=(DOUBLE, 0.9 + 0.75 * len(domains)), layout="constrained")
    for row in table.itertuples():
        middle = domains.index(row.domain) + (list(QUESTIONS).index(row.question) - 1) * (BAR + 0.03)
        if row.reward == "official":
            share = 0.0 if row.of == 0 else row.share
            axes.barh(middle, share, BAR, color=COLOURS[row.question])
            judged = f", a judge decides {row.judge} more" if row.judge else ""
            told = f"{row.count} of {row.of}{judged}" if row.of else "no such run"
            axes.text(share + 0.012, middle, told, va="center", fontsize=7)
        elif row.of:
            axes.plot(row.share, middle, "o", mfc="white", mec=COLOURS[row.question], ms=4.5, zorder=3, clip_on=False)
    axes.set(xlim=(0, 1.18), ylim=(len(domains) - 0.45, -0.55), xlabel="share of tasks")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".50", ".75", "1"])
    axes.set_yticks(range(len(domains)), domains)
    axes.tick_params(axis="y", length=0)
    handles = [Patch(color=COLOURS[name], label=label) for name, label in QUESTIONS.items()]
    hollow = Line2D([], [], marker="o", ls="", mfc="white", mec="#444444", label="the same with target and frame")
    figure.legend(handles=[*handles, hollow], loc="outside upper left", ncols=2)
    plt.close(figure)  # a notebook shows the figure that a cell ends with; an open one it would show once more
    return figure


def direction_caption(table: pd.DataFrame) -> str:
    """Return the caption: what is counted, over which tasks, and what a mark means."""
    tasks = {row.domain: row.of for row in table.itertuples() if row.question == "nothing"}
    listed = ", ".join(f"{domain} {count:,}" for domain, count in tasks.items())
    return (
        f"Share of tasks ({listed}) whose official reward is 1 for doing nothing; is 1 for some run that is the reference "
        "plus a write nobody asked for; is 0 for some run that is the reference in another order of lists or of independent "
        "calls. Deterministic runs: counts, no interval. Hollow: official reward times the gate (target and frame)."
    )
