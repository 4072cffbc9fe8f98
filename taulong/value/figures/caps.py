"""Memory value against the notebook's cap."""

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.layout import LIMITS, add_heading, empty_figure, new_panels, only, t_caption
from taulong.value.figures.style import STYLE, agent_style, agents_of
from taulong.value.metrics import MixedRecords, agents_with, require_complete, require_one_version
from taulong.value.statistics.estimates import contrast

CAP_COLUMNS = (
    "agent", "memory_mode", "notebook_cap", "value", "low", "high", "cases", "shifts", "level", "note", "partial",
)  # fmt: skip


def cap_table(
    tables: Iterable[pd.DataFrame], reward: str = "official_reward", level: float = 0.95, mode: str = "notebook"
) -> pd.DataFrame:  # fmt: skip
    """Return memory value, mode - none on testing cases, by notebook cap, for each agent that ran both at every cap.

    Args:
        tables: one table of metrics.read_table per cap.

    Columns: agent, memory_mode, notebook_cap, value, low, high, cases, shifts, level, note, partial.

    Raises:
        MixedRecords: the tables differ in more than the cap, or two have the same.
    """
    tables = list(tables)
    require_one_version(pd.concat(tables))
    by_cap = {int(cap): table for table in tables for cap in table["notebook_cap"].unique()}
    if len(by_cap) < len(tables):
        raise MixedRecords(f"notebook_cap: {len(tables)} runs have {len(by_cap)} caps; give one run for each cap")
    everywhere = set.intersection(*(set(agents_with(table, mode, "none")) for table in tables))
    rows = []
    for cap, table in sorted(by_cap.items()):
        partial = require_complete(table, allow_partial=True)
        for agent in filter(everywhere.__contains__, agents_of(table)):
            found = contrast(table, (agent, mode), (agent, "none"), reward, level=level)
            rows.append({
                "agent": agent, "memory_mode": mode, "notebook_cap": cap, "value": found.value, "low": found.low,
                "high": found.high, "cases": found.cases, "shifts": found.shifts, "level": level, "note": found.note,
                "partial": partial,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=CAP_COLUMNS).astype(LIMITS)


@plt.rc_context(STYLE)
def plot_caps(table: pd.DataFrame) -> Figure:
    """Return the figure of cap_table: one line an agent, the caps evenly spaced."""
    if table.empty:
        return empty_figure("Memory value by notebook cap: no agent ran notebook and none at every cap.")
    caps, agents = sorted(table["notebook_cap"].unique()), agents_of(table)
    spacing = "one cap, so a point an agent and no line" if len(caps) == 1 else "caps are evenly spaced"
    caption = (
        f"Memory value: accuracy on testing cases, {only(table, 'memory_mode')} - none. {t_caption(table, 'value')} "
        f"Agents are shifted sideways to be told apart; {spacing}."
    )
    figure, panels = new_panels(1, 1, 2.1, caption, table)
    panel = panels[0, 0]
    panel.axhline(0, color="#444444", linewidth=0.8)
    for at, agent in enumerate(agents):
        line = table[table["agent"] == agent]
        x = np.array([caps.index(cap) for cap in line["notebook_cap"]]) + 0.09 * (at - (len(agents) - 1) / 2)
        style = agent_style(agent, agents)
        panel.plot(x, line["value"], label=agent, **style)
        panel.vlines(x, line["low"], line["high"], color=style["color"], linewidth=0.9)
    panel.set(xlabel="notebook cap (characters)", ylabel="memory value")
    panel.set_xticks(range(len(caps)), [f"{cap:,}" for cap in caps])
    add_heading(figure, panel)
    return figure
