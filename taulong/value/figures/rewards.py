"""Testing accuracy under the official reward and under the gated one."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.curves import AXES, CURVE_COLUMNS, points
from taulong.value.figures.layout import LIMITS, bar_caption, empty_figure, finish, marked, new_panels
from taulong.value.figures.style import STYLE, agents_of, modes_of
from taulong.value.statistics.pairs import matched

REWARD_STYLE = {
    "official_reward": {"label": "official", "color": "#d55e00", "marker": "o", "markersize": 6.5, "mfc": "none"},
    "gated_reward": {"label": "gated", "color": "#0072b2", "marker": "s"},
}


def reward_table(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Return testing accuracy under the official and the gated reward, over the cases that have both.

    Columns as in curve_table; ``dropped`` counts testing cases without an official or a gated reward.
    """
    rows = []
    for agent in agents_of(table):
        for mode in modes_of(table[table["agent"] == agent]):
            both = {reward: matched(table, [(agent, mode)], reward, "testing") for reward in REWARD_STYLE}
            kept = pd.concat([pairs.kept[0].rename(reward) for reward, pairs in both.items()], axis=1).dropna()
            rows += [{"agent": agent, "memory_mode": mode, "reward": reward} | point
                     for reward, point in points(kept, both["official_reward"].cases, level)]  # fmt: skip
    return marked(table, pd.DataFrame(rows, columns=CURVE_COLUMNS).astype(LIMITS))


@plt.rc_context(STYLE)
def plot_rewards(table: pd.DataFrame, axis: str = "position") -> Figure:
    """Return the figure of reward_table: a column per agent, a row per memory mode, the gap shaded and labelled."""
    table = table[table["axis"] == axis]
    if table.empty:
        return empty_figure("Accuracy on testing cases under two rewards: no case has both.", table)
    agents, modes = agents_of(table), modes_of(table)
    caption = (
        "Accuracy on testing cases under tau2's official reward and under the gated reward. "
        f"{bar_caption(table)} "
        "Shaded: what the official reward pays for runs the gate fails; its mean over cases is written in."
    )
    figure, panels = new_panels(len(modes), len(agents), 1.15, caption, table, sharey=True)
    for mode, row in zip(modes, panels, strict=False):
        for agent, panel in zip(agents, row, strict=False):
            here = table[(table["agent"] == agent) & (table["memory_mode"] == mode)]
            lines = {reward: here[here["reward"] == reward] for reward in REWARD_STYLE}
            for shift, (reward, style) in zip((-0.12, 0.12), REWARD_STYLE.items(), strict=False):
                line = lines[reward]
                panel.plot(line["x"], line["value"], **style)
                panel.vlines(line["x"] + shift, line["low"], line["high"], color=style["color"], linewidth=0.8)
            official, gated = (lines[reward]["value"].to_numpy() for reward in REWARD_STYLE)
            panel.fill_between(lines["gated_reward"]["x"], gated, official, color="#d55e00", alpha=0.25, linewidth=0)
            if len(official):
                gap = np.average(official - gated, weights=lines["official_reward"]["cases"])
                panel.text(0.97, 0.93, f"gap {gap:.2f}", transform=panel.transAxes, ha="right", va="center")
            panel.set(ylim=(-0.09, 1.4), yticks=(0, 0.5, 1), xticks=sorted(table["x"].unique()), xmargin=0.12)
        row[0].set_ylabel(mode)
    for panel in panels[-1]:
        panel.set_xlabel(AXES[axis])
    finish(figure, panels, agents, "testing accuracy")
    return figure
