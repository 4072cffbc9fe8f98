"""Paired contrasts, a row each."""

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from taulong.value.figures.layout import add_heading, count_of, empty_figure, new_panels, only
from taulong.value.figures.style import DOUBLE, POPULATION_MARKERS, STYLE, agent_style, agents_of
from taulong.value.statistics.signs import p_text


@plt.rc_context(STYLE)
def plot_forest(table: pd.DataFrame) -> Figure:
    """Return the forest plot of statistics.estimates_table: a row a contrast, as declared, in its agent's colour.

    Contrasts that are 0 in every shift are counted in the caption and not drawn.
    """
    if table.empty:
        return empty_figure("Mean paired differences: no agent has a memory mode to compare with its none.")
    named = table.assign(agent=table["name"].str.extract("(.*?)(?:: |/)", expand=False))
    agents = agents_of(named)
    nothing = table["value"].eq(0) & table["low"].isna() & table["shifts"].gt(1)
    left_out = named.loc[nothing, "agent"].value_counts(sort=False)
    sizes = table.groupby("family", dropna=False)["name"].transform("size")  # a CSV has no empty text
    caption = (
        f"Mean paired difference, {100 * only(table, 'level'):g} % t interval with C - 1 degrees of freedom on shift "
        f"means, not adjusted; paired by case, clustered by shift; C = {count_of(table['shifts'], 'shift')}. p: sign flip "
        f"of shift means, adjusted by Holm over the {count_of(sizes, 'contrast')} that ask one question (mode and "
        "population) of several agents. Hollow: too few shifts for p < "
        f"{1 - only(table, 'level'):.2g}, descriptive. Colours: agents. A t interval may pass 1, which no difference can."
    )
    if len(left_out):
        by_agent = ", ".join(f"{agent} {count}" for agent, count in left_out.items())
        caption += f" Not drawn, being 0 in every shift: {nothing.sum()} contrasts ({by_agent})."
    if nothing.all():
        return empty_figure(caption)
    lost = int((table["planned"] - table["cases"]).sum())
    partial = f"PARTIAL: {lost} of {int(table['planned'].sum())} pairs dropped" if lost else ""
    table, named = table[~nothing], named[~nothing]
    figure, panels = new_panels(1, 1, 0.35 + 0.19 * len(table), caption, table.assign(partial=partial), width=DOUBLE)
    panel = panels[0, 0]
    panel.axvline(0, color="#444444", linewidth=0.8)
    texts = []
    for at, row in enumerate(named.itertuples()):
        if pd.isna(row.value):
            texts.append("no number: " + textwrap.shorten(row.note, 40))
            continue
        colour = agent_style(row.agent, agents)["color"]
        shape = {"marker": POPULATION_MARKERS[row.population], "color": colour, "capsize": 0, "linestyle": ""}
        if not pd.isna(row.low):
            panel.plot([row.low, row.high], [at, at], color=colour, linewidth=1.2)
        panel.errorbar([row.value], [at], mfc="white" if row.descriptive else colour, **shape)
        limits = f"[{row.low:+.2f}, {row.high:+.2f}]"
        if pd.isna(row.low):
            limits = "in every shift" if row.shifts > 1 else "[1 shift]"
        p = "" if pd.isna(row.p_adjusted) else p_text(row.p, row.p_method, row.p_adjusted)
        texts.append(f"{row.value:+.2f} {limits}  {p}")
    panel.set(ylim=(len(table) - 0.5, -0.5), xlabel="mean paired difference")
    panel.set_yticks(range(len(table)), [f"{row.name}, {row.population}" for row in table.itertuples(index=False)])
    panel.tick_params(axis="y", length=0)
    numbers = panel.secondary_yaxis("right")
    numbers.set_yticks(range(len(table)), texts)
    numbers.tick_params(length=0)
    numbers.spines["right"].set_visible(False)
    add_heading(figure, panel)
    return figure
