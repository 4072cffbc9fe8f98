"""Paired contrasts, a row each."""

import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.layout import (
    OUTCOMES,
    add_heading,
    count_of,
    empty_figure,
    filled,
    new_panels,
    only,
    refused_caption,
)
from taulong.value.figures.style import DOUBLE, POPULATION_MARKERS, agent_styles, agents_of, broken, styled
from taulong.value.statistics.signs import p_text


@styled
def plot_forest(table: pd.DataFrame) -> Figure:
    """Return the forest plot of statistics.estimates_table: under each agent a row a contrast, in the agent's colour.

    Contrasts that are 0 in every shift, and those without a number, are told in the caption and not drawn.
    """
    if table.empty:
        return empty_figure("Mean paired differences: no agent has a memory mode to compare with its none.")
    table = filled(table, (), ("agent", "note", "family"))  # a CSV has no empty text
    table["agent"] = table["agent"].replace("", "several agents")
    nothing = table["value"].eq(0) & table["note"].astype(str).str.startswith("all ")
    refused = table["value"].isna()
    lost = int((table["planned"] - table["cases"]).sum())
    partial = f"PARTIAL: {lost} of {int(table['planned'].sum())} pairs dropped" if lost else ""
    caption = _caption(table, nothing)
    drawn = table[~nothing & ~refused]
    if drawn.empty:
        return empty_figure(caption, pd.DataFrame({"partial": [partial]}), "nothing to draw")
    lines = [(agent, row) for agent in agents_of(drawn) for row in [None, *_rows(drawn, agent)]]
    figure, panels = new_panels(
        1, 1, 0.4 + 0.185 * len(lines), caption, drawn.assign(partial=partial), width=DOUBLE
    )  # fmt: skip
    panel, styles = panels[0, 0], agent_styles(agents_of(drawn))
    panel.axvline(0, color="#444444", linewidth=0.8)
    labels, texts = [], []
    for at, (agent, row) in enumerate(lines):
        if row is None:
            labels.append(broken(agent, 60).replace("\n", " "))
            texts.append("")
            continue
        colour = styles[agent]["color"]
        face = "white" if row["descriptive"] else colour
        panel.plot([row["value"]], [at], marker=POPULATION_MARKERS.get(row["population"], "D"), color=colour, mfc=face)
        panel.hlines([at], row["low"], row["high"], color=colour, linewidth=1.1, zorder=1 if row["descriptive"] else 4)
        labels.append(_label(row))
        texts.append(_numbers(row))
    panel.set(ylim=(len(lines) - 0.5, -0.5), xlabel="mean paired difference (share of cases solved)")
    panel.set_yticks(range(len(lines)), labels)
    for (agent, row), tick in zip(lines, panel.get_yticklabels(), strict=True):
        if row is None:
            tick.set(fontweight="bold", color=styles[agent]["color"])
    panel.tick_params(axis="y", length=0)
    numbers = panel.secondary_yaxis("right")
    numbers.set_yticks(range(len(lines)), texts)
    numbers.tick_params(length=0)
    numbers.spines["right"].set_visible(False)
    add_heading(figure)
    return figure


def _rows(table: pd.DataFrame, agent: str) -> list[pd.Series]:
    return [row for _, row in table[table["agent"] == agent].iterrows()]


def _caption(table: pd.DataFrame, nothing: pd.Series) -> str:
    """Return what is drawn, what its intervals and p values are, and what is not drawn."""
    level, families = only(table, "level"), table["family"].value_counts()
    primary, others = int(families.get("primary", 0)), int(families.get("secondary", 0))
    caption = (
        f"Mean paired difference with its {100 * level:g} % interval, not adjusted; paired by case, clustered by shift, with "
        f"room for one more shift, the worst there can be; C = {count_of(table['shifts'], 'shift')}, n = "
        f"{count_of(table['cases'], 'pair')}. p: sign flips of shift means, adjusted over all contrasts that the report "
        f"declares: the {primary} marked * are primary, one an agent; an agent's others ({others} here) are tested where its "
        f"primary one is found. Hollow: too few shifts for p < {1 - level:.2g}, descriptive. Circle: testing cases, square: "
        "lookalikes."
    )
    if nothing.any():
        by_agent = ", ".join(
            f"{agent} {count}" for agent, count in table.loc[nothing, "agent"].value_counts(sort=False).items()
        )
        caption += f" Not drawn, being 0 in every shift: {int(nothing.sum())} contrasts ({by_agent})."
    refused = table[table["value"].isna()]
    if len(refused):
        caption += refused_caption(refused.assign(memory_mode=refused["memory_mode"] + ", " + refused["population"]))
    return caption


def _label(row: pd.Series) -> str:
    metric = "" if row["metric"] == "official_reward" else f", {OUTCOMES.get(row['metric'], row['metric'])}"
    modes = f"{row['memory_mode']} - {row['baseline']}" if row["agent"] != "several agents" else row["name"]
    return f"{modes}, {row['population']}{metric}{' *' if row['family'] == 'primary' else ''}"


def _numbers(row: pd.Series) -> str:
    limits = "[1 shift]" if pd.isna(row["low"]) else f"[{row['low']:+.2f}, {row['high']:+.2f}]"
    p = row["p_adjusted"]
    return f"{row['value']:+.2f} {limits}  {'' if pd.isna(p) else p_text(row['p'], row['p_method'], p)}".rstrip()
