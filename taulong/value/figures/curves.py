"""Testing accuracy over a shift, by memory mode."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taulong.value.figures.layout import (
    LIMITS,
    OUTCOMES,
    add_heading,
    bar,
    empty_figure,
    filled,
    marked,
    new_panels,
    only,
    point_caption,
    refused_caption,
)
from taulong.value.figures.style import DOUBLE, agents_of, broken, mode_styles, modes_of, styled
from taulong.value.statistics.estimates import MAX_DROPPED, refusal
from taulong.value.statistics.intervals import bounded_interval
from taulong.value.statistics.pairs import matched

AXES = {
    "teaching_seen": "teaching cases before", "evidence_seen": "cases before that\nshowed the cause",
    "position": "position in the shift",
}  # fmt: skip
CHANCE = 1 / 4  # a guess among the four corrective tools
CURVE_COLUMNS = (
    "agent", "memory_mode", "reward", "axis", "x", "value", "low", "high", "cases", "shifts", "dropped", "level", "note",
)  # fmt: skip
ACROSS = 4  # panels side by side


def curve_table(
    table: pd.DataFrame, reward: str = "official_reward", level: float = 0.95, max_dropped: float = MAX_DROPPED
) -> pd.DataFrame:  # fmt: skip
    """Return testing accuracy by memory mode over what the agent saw before and over position, for every agent.

    What it saw is told by ``teaching_seen`` (teaching cases of the shift before this one) and, where the records have it,
    ``evidence_seen`` (cases before it in which this agent saw the cause). Only cases with a score in every mode of an agent
    enter, so that its lines speak of the same cases (``dropped`` counts the others); an agent of which more than
    ``max_dropped`` would be left out has one row without a value and with a ``note`` that says why. Limits are those of
    :func:`taulong.value.statistics.intervals.bounded_interval` over shifts, each weighing as many cases as it has at the
    point.

    Columns: agent, memory_mode, reward, axis, x, value, low, high, cases, shifts, dropped, level, note, partial.
    """
    rows: list[dict[str, Any]] = []
    testing = table[table["population"] == "testing"]
    for agent in agents_of(testing):
        modes = modes_of(testing[testing["agent"] == agent])
        pairs = matched(testing, [(agent, mode) for mode in modes], reward, "testing")
        fixed = {"agent": agent, "reward": reward, "level": level}
        if note := refusal(pairs, max_dropped, len(pairs.kept)):
            rows.append(fixed | {"memory_mode": "", "note": note, "dropped": len(pairs.cases) - len(pairs.kept)})
            continue
        kept = pairs.kept.set_axis(modes, axis=1)
        rows += [fixed | {"memory_mode": mode} | point for mode, point in points(kept, pairs.cases, level)]
    return marked(table, as_curves(rows))


def as_curves(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return points as a table with the columns of a curve, of one type each also where there are none."""
    frame = pd.DataFrame(rows, columns=CURVE_COLUMNS).astype(LIMITS)
    return filled(frame, ("x", "cases", "shifts", "dropped"), ("note", "axis"))


def points(kept: pd.DataFrame, cases: pd.DataFrame, level: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (column name, point) for every column of ``kept`` and value of each axis, with its interval over shifts."""
    about = cases.loc[kept.index]
    fixed = {"dropped": len(cases) - len(kept), "level": level, "note": ""}
    for axis in (axis for axis in AXES if axis in about and about[axis].notna().all()):
        for x, rows in about.groupby(axis):
            shift_of = rows["shift_id"]
            for name in kept:
                by_shift = kept[name].loc[rows.index].groupby(shift_of)
                means, counts = by_shift.mean().to_numpy(float), by_shift.size().to_numpy()
                low, high = bounded_interval(means, 0.0, 1.0, level, counts)
                yield str(name), {
                    "axis": axis, "x": int(float(str(x))), "value": float(kept[name].loc[rows.index].mean()),
                    "low": float(low), "high": float(high), "cases": len(rows), "shifts": len(counts),
                } | fixed  # fmt: skip


@styled
def plot_curves(table: pd.DataFrame) -> Figure:
    """Return the figure of curve_table: a column per agent, a row per axis, a line per memory mode, chance at 1/4.

    Agents whose numbers are the same share a panel.
    """
    drawn = table[table["value"].notna()]
    if drawn.empty:
        refused = refused_caption(table) if len(table) else ""
        return empty_figure(
            f"Accuracy on testing cases: none has a score in every memory mode of its agent.{refused}", table
        )
    groups = alike(drawn)
    axes = [axis for axis in AXES if axis in set(drawn["axis"])]
    said = {
        "teaching_seen": "by teaching cases seen before in the shift",
        "evidence_seen": "by cases before it in which this agent saw the cause", "position": "by position in the shift",
    }  # fmt: skip
    caption = (
        f"Accuracy on testing cases ({OUTCOMES.get(only(table, 'reward'), only(table, 'reward'))}), "
        f"{'; '.join(said[axis] for axis in axes)}. {point_caption(drawn)} Dotted: a guess among four tools (1/4). Modes are "
        f"shifted sideways to be told apart; agents with the same numbers share a panel.{refused_caption(table)}"
    )
    across = min(ACROSS, max(2, len(groups)))
    bands = -(-len(groups) // across)
    figure, panels = new_panels(bands * len(axes), across, 1.75, caption, table, width=DOUBLE, sharey=True)
    styles = mode_styles(modes_of(drawn))
    for at, names in enumerate(groups):
        band, column = divmod(at, across)
        own = drawn[drawn["agent"] == names[0]]
        for row, axis in enumerate(axes):
            panel = panels[band * len(axes) + row, column]
            draw_lines(panel, own[own["axis"] == axis], styles)
            panel.set(xlabel=AXES[axis], ylim=(-0.05, 1.05), yticks=(0, 0.25, 0.5, 0.75, 1), xmargin=0.12)
            panel.set_xticks(sorted(drawn.loc[drawn["axis"] == axis, "x"].unique()))
            if not column:
                panel.set_ylabel("share of testing\ncases solved")
        panels[band * len(axes), column].set_title(broken(", ".join(names), 88 // across))
    for at in range(len(groups), bands * across):
        for row in range(len(axes)):
            panels[at // across * len(axes) + row, at % across].set_axis_off()
    add_heading(figure, styles)
    return figure


def draw_lines(panel: Axes, points_: pd.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    """Draw a line per memory mode with its intervals, side by side, over the level of chance."""
    panel.axhline(CHANCE, color="#444444", linewidth=0.8, linestyle=":")
    step = min(0.12, 0.7 / max(len(styles), 1)) * (0.6 if points_["x"].nunique() < 4 else 1)
    for at, (mode, style) in enumerate(styles.items()):
        line = points_[points_["memory_mode"] == mode].sort_values("x")
        x = line["x"] + step * (at - (len(styles) - 1) / 2)
        panel.plot(x, line["value"], **style)
        bar(panel, x, line["low"], line["high"], style["color"])


def alike(table: pd.DataFrame) -> list[list[str]]:
    """Return the agents of a table in groups that have the same numbers in every column that is drawn."""
    groups: dict[bytes, list[str]] = {}
    for agent in agents_of(table):
        own = table[table["agent"] == agent].sort_values(["memory_mode", "reward", "axis", "x"])
        numbers = own[["memory_mode", "reward", "axis", "x", "value", "low", "high"]]
        groups.setdefault(numbers.to_csv(index=False).encode(), []).append(agent)
    return list(groups.values())
