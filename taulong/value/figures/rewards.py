"""Testing accuracy under the official reward and under the gated one."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taulong.value.figures.curves import ACROSS, AXES, as_curves, points
from taulong.value.figures.layout import (
    add_heading,
    bar,
    blank,
    empty_figure,
    marked,
    new_panels,
    point_caption,
    refused_caption,
)
from taulong.value.figures.style import DOUBLE, agents_of, broken, modes_of, styled
from taulong.value.statistics.estimates import MAX_DROPPED
from taulong.value.statistics.pairs import matched

REWARD_STYLE: dict[str, dict[str, Any]] = {
    "official_reward": {"color": "#d55e00", "marker": "o", "linestyle": "-"},
    "gated_reward": {"color": "#0072b2", "marker": "s", "linestyle": "-"},
}
REWARD_NAMES = {"official_reward": "official", "gated_reward": "gated"}


def reward_table(table: pd.DataFrame, level: float = 0.95, max_dropped: float = MAX_DROPPED) -> pd.DataFrame:
    """Return testing accuracy under the official and the gated reward, over the cases that have both.

    Columns as in curve_table; ``dropped`` counts testing cases without an official or a gated reward. An arm of which more
    than ``max_dropped`` have not both has a row without a value and with a ``note``.
    """
    rows: list[dict[str, Any]] = []
    testing = table[table["population"] == "testing"]
    for agent in agents_of(testing):
        for mode in modes_of(testing[testing["agent"] == agent]):
            both = {reward: matched(testing, [(agent, mode)], reward, "testing") for reward in REWARD_STYLE}
            planned = both["official_reward"].cases
            kept = pd.concat([pairs.kept[0].rename(reward) for reward, pairs in both.items()], axis=1).dropna()
            lost = len(planned) - len(kept)
            fixed = {"agent": agent, "memory_mode": mode, "level": level}
            if lost > max_dropped * len(planned) or not len(kept):
                note = f"{lost} of {len(planned)} cases without both rewards; at most {max_dropped:.0%} accepted"
                rows += [fixed | {"reward": reward, "note": note, "dropped": lost} for reward in REWARD_STYLE]
                continue
            rows += [fixed | {"reward": reward} | point for reward, point in points(kept, planned, level)]
    return marked(table, as_curves(rows))


@styled
def plot_rewards(table: pd.DataFrame, axis: str = "position") -> Figure:
    """Return the figure of reward_table: a panel per agent and memory mode in which the rewards differ, the gap shaded.

    Where they do not differ there is nothing to see: the caption names those.
    """
    lines = table[(table["axis"] == axis) & table["value"].notna()]
    refused = refused_caption(table) if len(table) else ""
    if lines.empty:
        return empty_figure(f"Accuracy on testing cases under two rewards: no case has both.{refused}", table)
    arms = [
        (agent, mode) for agent in agents_of(lines) for mode in modes_of(lines[lines["agent"] == agent])
    ]  # fmt: skip
    gaps = {arm: _gap(lines, *arm) for arm in arms}
    apart = [arm for arm, (_, largest) in gaps.items() if largest > 1e-9]
    same: dict[str, list[str]] = {}
    for agent, mode in (arm for arm in arms if arm not in apart):
        same.setdefault(agent, []).append(mode)
    equal = "; ".join(f"{agent} ({', '.join(modes)})" for agent, modes in same.items())
    caption = (
        "Share of testing cases solved by tau2's official reward and by the gated reward, by position in the shift. "
        f"{point_caption(lines)} Shaded: what the official reward pays for runs the gate fails; its mean over cases is "
        f"written in.{f' No gap, not drawn: {equal}.' if equal else ''}{refused}"
    )
    if not apart:
        return empty_figure(caption, table, "no gap: both rewards are the same in every case")
    across = min(ACROSS, max(2, len(apart)))
    figure, panels = new_panels(-(-len(apart) // across), across, 1.6, caption, table, width=DOUBLE, sharey=True)
    for at, ((agent, mode), panel) in enumerate(zip(apart, panels.flat, strict=False)):
        own = lines[(lines["agent"] == agent) & (lines["memory_mode"] == mode)]
        draw_gap(panel, own)
        gap = f"gap {gaps[agent, mode][0]:.2f}"
        panel.text(0.97, 0.96, gap, transform=panel.transAxes, ha="right", va="top", fontsize=7.5)
        panel.set_title(broken(f"{agent}, {mode}", 88 // across))
        panel.set(ylim=(-0.05, 1.3), yticks=(0, 0.5, 1), xticks=sorted(lines["x"].unique()), xlabel=AXES[axis])
        if not at % across:
            panel.set_ylabel("share of testing\ncases solved")
    blank(panels, len(apart))
    add_heading(figure, {REWARD_NAMES[reward]: style for reward, style in REWARD_STYLE.items()})
    return figure


def draw_gap(panel: Axes, lines: pd.DataFrame) -> None:
    """Draw both rewards of an arm with their intervals, and shade what is between them."""
    by_reward = {reward: lines[lines["reward"] == reward].sort_values("x") for reward in REWARD_STYLE}
    for aside, (reward, style) in zip((-0.12, 0.12), REWARD_STYLE.items(), strict=True):
        line = by_reward[reward]
        panel.plot(line["x"] + aside, line["value"], **style)
        bar(panel, line["x"] + aside, line["low"], line["high"], style["color"])
    official, gated = (by_reward[reward] for reward in REWARD_STYLE)
    panel.fill_between(official["x"], gated["value"], official["value"], color="#d55e00", alpha=0.2, linewidth=0)


def _gap(lines: pd.DataFrame, agent: str, mode: str) -> tuple[float, float]:
    """Return the mean over cases, and the largest, of what the official reward is above the gated one."""
    own = lines[(lines["agent"] == agent) & (lines["memory_mode"] == mode)]
    wide = own.pivot(index="x", columns="reward", values="value")
    apart = (wide["official_reward"] - wide["gated_reward"]).to_numpy(float)
    weights = own[own["reward"] == "official_reward"].set_index("x")["cases"].loc[wide.index]
    return float(np.average(apart, weights=weights)), float(np.abs(apart).max())
