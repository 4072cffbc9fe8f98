"""Both questions at a glance: what memory is worth to an agent that learns, and what the reward misses of one that meddles."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taulong.errors import check_name
from taulong.value.figures.curves import CHANCE, as_curves, curve_table
from taulong.value.figures.layout import add_heading, count_of, empty_figure, marked, new_panels, only
from taulong.value.figures.rewards import REWARD_STYLE, reward_table
from taulong.value.figures.style import DOUBLE, agents_of, broken, mode_styles, styled
from taulong.value.statistics.estimates import MAX_DROPPED

LINES = {"oracle": "told the fix", "notebook": "with a notebook", "none": "without memory"}
"""Memory mode -> what a line is called."""


def headline_table(
    table: pd.DataFrame, learns: str | None = None, meddles: str | None = None, level: float = 0.95,
    max_dropped: float = MAX_DROPPED,
) -> pd.DataFrame:  # fmt: skip
    """Return the lines of the headline: a learning agent's accuracy by memory mode, and another's under both rewards.

    Args:
        learns, meddles: the agents; where not given, the one to which the notebook is worth most, and the one of whose
            rewards with the notebook the gate takes most.

    Columns: panel (``memory`` or ``reward``) and those of curve_table.

    Raises ConfigError for an agent that the table does not have.
    """
    for name, agent in (("learns", learns), ("meddles", meddles)):
        if agent is not None:
            check_name(name, agent, agents_of(table))
    curves = curve_table(table, level=level, max_dropped=max_dropped)
    curves = curves[(curves["axis"] == "position") & curves["memory_mode"].isin(list(LINES))]
    rewards = reward_table(table, level=level, max_dropped=max_dropped)
    rewards = rewards[(rewards["axis"] == "position") & (rewards["memory_mode"] == "notebook")]
    learns = learns or _largest(curves, "memory_mode", "notebook", "none")
    meddles = meddles or _largest(rewards, "reward", "official_reward", "gated_reward")
    chosen = [
        curves[curves["agent"] == learns].assign(panel="memory"), rewards[rewards["agent"] == meddles].assign(panel="reward"),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = [
        {str(key): cell for key, cell in row.items()} for frame in chosen for row in frame.to_dict("records")
    ]
    frame = as_curves(rows)
    frame.insert(0, "panel", [row["panel"] for row in rows])
    return marked(table, frame)


def _largest(curves: pd.DataFrame, column: str, one: str, other: str) -> str | None:
    """Return the agent for which ``one`` lies above ``other`` by most in the mean over cases, the first where several do."""
    weighted = (curves["value"] * curves["cases"]).groupby([curves["agent"], curves[column]]).sum()
    means = (weighted / curves["cases"].groupby([curves["agent"], curves[column]]).sum()).unstack()
    if not {one, other} <= set(means):
        return None
    apart = (means[one] - means[other]).dropna().round(9)
    return next((agent for agent in agents_of(curves) if agent in apart and apart[agent] == apart.max()), None)


@styled
def plot_headline(table: pd.DataFrame) -> Figure:
    """Return the figure of headline_table: two panels, every line named where it ends."""
    if table.empty:
        return empty_figure("No agent was run with none and with the notebook.", table)
    memory, reward = (table[table["panel"] == name] for name in ("memory", "reward"))
    told = memory["memory_mode"].nunique() and not memory.empty
    caption = (
        f"Share of testing cases solved, by position in the shift; {count_of(table['shifts'], 'shift')} a point. Bands: "
        f"{100 * only(table, 'level'):g} % intervals, clustered by shift."
        + (" Left: official reward; dotted: a guess among four fixes." if told else "")
        + (
            ""
            if reward.empty
            else " Right: with the notebook, by tau2's reward and by the one that also asks what else changed."
        )
    )
    figure, panels = new_panels(1, 2, 2.35, caption, table, width=DOUBLE, sharey=True)
    styles = mode_styles(list(LINES))
    panels[0, 0].text(
        0.99, CHANCE - 0.02, "a guess", transform=panels[0, 0].get_yaxis_transform(), ha="right", va="top", fontsize=8
    )
    panels[0, 0].axhline(CHANCE, color="#444444", linewidth=0.9, linestyle=":")
    named = [(name, LINES[name], styles[name]) for name in LINES]
    _draw(panels[0, 0], memory, "memory_mode", named, "What is memory worth?")
    kinds = [("official_reward", "official reward"), ("gated_reward", "gated reward")]
    _draw(
        panels[0, 1],
        reward,
        "reward",
        [(key, name, REWARD_STYLE[key]) for key, name in kinds],
        "What does the reward miss?",
    )
    panels[0, 0].set_ylabel("share of testing cases solved")
    add_heading(figure)
    return figure


def _draw(
    panel: Axes, rows: pd.DataFrame, column: str, named: list[tuple[str, str, dict[str, Any]]], title: str
) -> None:
    """Draw a line for each name, wider where another lies over it, with its mean at its end; names keep apart."""
    ends: list[tuple[float, str, str]] = []
    present = [(key, name, style) for key, name, style in named if key in set(rows[column])]
    for order, (key, name, style) in enumerate(reversed(present)):
        line = rows[rows[column] == key].sort_values("x")
        width = 1.6 if style.get("linestyle") == "--" else 3.0
        panel.fill_between(line["x"], line["low"], line["high"], color=style["color"], alpha=0.13, linewidth=0)
        plain = {"color": style["color"], "linestyle": style.get("linestyle", "-")}
        panel.plot(line["x"], line["value"], linewidth=width, zorder=3 + order, **plain)
        mean = float((line["value"] * line["cases"]).sum() / line["cases"].sum())
        ends.append((float(line["value"].iloc[-1]), f"{name} {mean:.2f}", style["color"]))
    last = rows["x"].max() if len(rows) else 1
    height = 2.0
    for value, text, colour in sorted(ends, reverse=True):
        height = min(value, height - 0.11)
        panel.text(last + 0.25, height, text, color=colour, va="center", fontsize=9, fontweight="bold")
    agents = ", ".join(dict.fromkeys(rows["agent"]))
    panel.set_title(f"{title}\n{broken(agents, 44)}", fontsize=10)
    panel.set(ylim=(-0.05, 1.12), yticks=(0, 0.25, 0.5, 0.75, 1), xlabel="position in the shift")
    if len(rows):
        panel.set_xticks(sorted(rows["x"].unique()))
        panel.set_xlim(rows["x"].min() - 0.3, last + 0.72 * (last - rows["x"].min() + 1))
