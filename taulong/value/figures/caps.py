"""Memory value against the notebook's cap."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.layout import (
    LIMITS,
    add_heading,
    bar,
    empty_figure,
    interval_caption,
    new_panels,
    only,
    refused_caption,
)
from taulong.value.figures.style import DOUBLE, agent_styles, agents_of, styled
from taulong.value.metrics import MixedRecords, agents_with, require_complete, require_one_version
from taulong.value.statistics.estimates import MAX_DROPPED, contrast

CAP_COLUMNS = (
    "agent", "memory_mode", "notebook_cap", "value", "low", "high", "cases", "shifts", "level", "note", "partial",
)  # fmt: skip


def cap_table(
    tables: Iterable[pd.DataFrame], reward: str = "official_reward", level: float = 0.95, mode: str = "notebook",
    max_dropped: float = MAX_DROPPED,
) -> pd.DataFrame:  # fmt: skip
    """Return memory value, mode - none on testing cases, by notebook cap, for each agent that ran both at every cap.

    Args:
        tables: one table of metrics.read_table per cap.
        max_dropped: refuse a point, which then has a ``note``, where a larger share of its pairs lacks a score.

    Columns: agent, memory_mode, notebook_cap, value, low, high, cases, shifts, level, note, partial.

    Raises:
        MixedRecords: the tables differ in more than the cap, or two have the same.
    """
    tables = [table for table in tables if len(table)]
    if not tables:
        return pd.DataFrame(columns=CAP_COLUMNS).astype(LIMITS)
    require_one_version(pd.concat(tables))
    by_cap = {int(cap): table for table in tables for cap in table["notebook_cap"].unique()}
    if len(by_cap) < len(tables):
        raise MixedRecords(f"notebook_cap: {len(tables)} runs have {len(by_cap)} caps; give one run for each cap")
    everywhere = set.intersection(*(set(agents_with(table, mode, "none")) for table in tables))
    rows = []
    for cap, table in sorted(by_cap.items()):
        partial = require_complete(table, allow_partial=True)
        testing = "testing" in set(table["population"])
        for agent in filter(everywhere.__contains__, agents_of(table) if testing else []):
            found = contrast(table, (agent, mode), (agent, "none"), reward, level=level, max_dropped=max_dropped)
            rows.append({
                "agent": agent, "memory_mode": mode, "notebook_cap": cap, "value": found.value, "low": found.low,
                "high": found.high, "cases": found.cases, "shifts": found.shifts, "level": level, "note": found.note,
                "partial": partial,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=CAP_COLUMNS).astype(LIMITS)


@styled
def plot_caps(table: pd.DataFrame) -> Figure:
    """Return the figure of cap_table: one line an agent, the caps evenly spaced."""
    if table["value"].notna().sum() == 0:
        refused = refused_caption(table) if len(table) else ""
        return empty_figure(
            f"Memory value by notebook cap: no agent ran notebook and none at every cap.{refused}", table
        )
    caps, agents = sorted(table["notebook_cap"].unique()), agents_of(table)
    spacing = "one cap, so a point an agent and no line" if len(caps) == 1 else "caps are evenly spaced"
    named = table.assign(memory_mode=table["notebook_cap"].map("cap {:,}".format))
    caption = (
        f"Memory value: share of testing cases solved, {only(table, 'memory_mode')} - none, by notebook cap. "
        f"{interval_caption(table)}. Agents are shifted sideways to be told apart; {spacing}.{refused_caption(named)}"
    )
    figure, panels = new_panels(1, 1, 2.4, caption, table, width=DOUBLE)
    panel, styles = panels[0, 0], agent_styles(agents)
    panel.axhline(0, color="#444444", linewidth=0.8)
    for at, (agent, style) in enumerate(styles.items()):
        line = table[table["agent"] == agent]
        x = np.array([caps.index(cap) for cap in line["notebook_cap"]]) + 0.06 * (at - (len(agents) - 1) / 2)
        panel.plot(x, line["value"], **style)
        bar(panel, x, line["low"], line["high"], style["color"])
    panel.set(xlabel="notebook cap (characters)", ylabel=f"memory value\n({only(table, 'memory_mode')} - none)")
    panel.set_xticks(range(len(caps)), [f"{cap:,}" for cap in caps])
    add_heading(figure, styles)
    return figure
