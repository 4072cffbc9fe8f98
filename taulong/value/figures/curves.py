"""Testing accuracy over a shift, by memory mode."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.layout import LIMITS, bar_caption, empty_figure, finish, marked, new_panels, only
from taulong.value.figures.style import STYLE, agents_of, mode_style, modes_of
from taulong.value.statistics.intervals import share_interval
from taulong.value.statistics.pairs import matched

AXES = {"teaching_seen": "teaching seen", "position": "position"}  # short: six panels stand side by side
CHANCE = 1 / 4  # a guess among the four corrective tools
CURVE_COLUMNS = (
    "agent", "memory_mode", "reward", "axis", "x", "value", "low", "high", "cases", "shifts", "dropped", "level",
)  # fmt: skip


def curve_table(table: pd.DataFrame, reward: str = "official_reward", level: float = 0.95) -> pd.DataFrame:
    """Return testing accuracy by memory mode over teaching incidents seen and over position, for every agent.

    Only cases with a score in every mode of an agent enter, so that its lines speak of the same cases (``dropped``
    counts the others). The limits are Wilson's interval at each point, with the shifts as its count (those of unequal
    numbers of cases count for less, by Kish's effective number): resampling shifts covers much too seldom where they
    are few or nearly all solve the case (taulong.value.coverage.point_coverage).

    Columns: agent, memory_mode, reward, axis, x, value, low, high, cases, shifts, dropped, level, partial.
    """
    rows = []
    for agent in agents_of(table):
        modes = modes_of(table[table["agent"] == agent])
        pairs = matched(table, [(agent, mode) for mode in modes], reward, "testing")
        kept = pairs.kept.set_axis(modes, axis=1)
        rows += [{"agent": agent, "memory_mode": name, "reward": reward} | point
                 for name, point in points(kept, pairs.cases, level)]  # fmt: skip
    return marked(table, pd.DataFrame(rows, columns=CURVE_COLUMNS).astype(LIMITS))


@plt.rc_context(STYLE)
def plot_curves(table: pd.DataFrame) -> Figure:
    """Return the figure of curve_table: a column per agent, a row per axis, a line per memory mode, chance at 1/4."""
    if table.empty:
        return empty_figure("Accuracy on testing cases: none has a score in every memory mode of its agent.", table)
    agents = agents_of(table)
    caption = (
        f"Accuracy on testing cases ({only(table, 'reward').replace('_', ' ')}). {bar_caption(table)} "
        "Dotted: a guess among four tools (1/4). Upper row: by teaching cases seen before in the shift; lower row: by "
        "position in the shift. Modes are shifted sideways to be told apart."
    )
    figure, panels = new_panels(2, len(agents), 1.75, caption, table, sharey=True)
    modes = modes_of(table)
    for (axis, label), row in zip(AXES.items(), panels, strict=False):
        for agent, panel in zip(agents, row, strict=False):
            panel.axhline(CHANCE, color="#444444", linewidth=0.8, linestyle=":")
            for at, mode in enumerate(modes):
                line = table[(table["agent"] == agent) & (table["axis"] == axis) & (table["memory_mode"] == mode)]
                colour = mode_style(mode, modes)["color"]
                x = line["x"] + (0.06 if axis == "teaching_seen" else 0.12) * (at - (len(modes) - 1) / 2)
                panel.vlines(x, line["low"], line["high"], color=colour, alpha=0.6, linewidth=0.9)
                panel.plot(x, line["value"], label=mode, **mode_style(mode, modes))
            panel.set(xlabel=label, ylim=(-0.07, 1.07), yticks=(0, 0.25, 0.5, 0.75, 1), xmargin=0.12)
            panel.set_xticks(sorted(table.loc[table["axis"] == axis, "x"].unique()))
    finish(figure, panels, agents, "testing accuracy")
    return figure


def points(kept: pd.DataFrame, cases: pd.DataFrame, level: float):
    """Yield (column name, point) for every column of ``kept`` and value of each axis, with its interval over shifts."""
    about = cases.loc[kept.index]
    fixed = {"dropped": len(cases) - len(kept), "level": level}
    for axis in AXES:
        for x, at in about.groupby(axis).groups.items():
            counts = about.loc[at, "shift_id"].value_counts()
            effective = float(counts.sum() ** 2 / (counts**2).sum())
            for name in kept:
                value = float(kept.loc[at, name].mean())
                low, high = share_interval(value, effective, level)
                yield name, {
                    "axis": axis, "x": int(x), "value": value, "low": low, "high": high, "cases": len(at),
                    "shifts": len(counts),
                } | fixed  # fmt: skip
