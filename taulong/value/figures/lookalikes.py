"""What memory gains on testing cases and costs on lookalikes."""

import pandas as pd
from matplotlib.figure import Figure

from taulong.memory.names import second_pass
from taulong.value.figures.layout import (
    add_heading,
    blank,
    count_of,
    empty_figure,
    interval_caption,
    limits_of,
    marked,
    new_panels,
    refused_caption,
)
from taulong.value.figures.style import DOUBLE, agent_styles, agents_of, broken, modes_of, styled
from taulong.value.metrics import agents_with
from taulong.value.statistics.estimates import MAX_DROPPED, contrast


def lookalike_table(
    table: pd.DataFrame, reward: str = "official_reward", level: float = 0.95, max_dropped: float = MAX_DROPPED
) -> pd.DataFrame:  # fmt: skip
    """Return for every agent and mode the gain on testing cases and the loss on lookalikes, both against none.

    Columns: agent, memory_mode, gain, gain_low, gain_high, loss, loss_low, loss_high, cases, lookalikes, shifts, level,
    note, partial. ``cases`` and ``shifts`` are those of the testing contrast, ``lookalikes`` the cases of the other.
    """
    rows = []
    both = {"testing", "lookalike"} <= set(table["population"])
    for agent in agents_with(table, "none") if both else []:
        for mode in modes_of(table[table["agent"] == agent]):
            if mode == "none" or second_pass(mode):  # which have no lookalikes
                continue
            gain = contrast(table, (agent, mode), (agent, "none"), reward, "testing", level, max_dropped)
            loss = contrast(table, (agent, "none"), (agent, mode), reward, "lookalike", level, max_dropped)
            rows.append({
                "agent": agent, "memory_mode": mode, "gain": gain.value, "gain_low": gain.low, "gain_high": gain.high,
                "loss": loss.value, "loss_low": loss.low, "loss_high": loss.high, "cases": gain.cases,
                "lookalikes": loss.cases, "shifts": gain.shifts, "level": level, "note": gain.note if gain.value is None else loss.note,
            })  # fmt: skip
    numbers = ["gain", "gain_low", "gain_high", "loss", "loss_low", "loss_high"]
    frame = pd.DataFrame(
        rows, columns=["agent", "memory_mode", *numbers, "cases", "lookalikes", "shifts", "level", "note"]
    )
    return marked(table, frame.astype(dict.fromkeys(numbers, float)))


@styled
def plot_lookalikes(table: pd.DataFrame) -> Figure:
    """Return the figure of lookalike_table: a panel per memory mode, one point per agent, rings where points meet."""
    drawn = table.dropna(subset=["gain", "loss"])
    named = table.assign(gain=table["gain"].where(table["loss"].notna()))
    refused = refused_caption(named, "gain") if len(table) else ""
    if drawn.empty:
        nothing = "Gain on testing cases against loss on lookalikes: no agent has a mode to compare with its none."
        return empty_figure(nothing + refused, table)
    agents, modes = agents_of(drawn), modes_of(drawn)
    caption = (
        "What a mode gains on testing cases against what it loses on lookalikes (share of cases solved), both against none; "
        f"best is below and to the right. {interval_caption(drawn)}; upright: n = "
        f"{count_of(drawn['lookalikes'], 'lookalike')}. Rings around one another share a centre.{refused}"
    )
    across = min(4, max(2, len(modes)))
    figure, panels = new_panels(
        -(-len(modes) // across), across, 2.0, caption, table, width=DOUBLE, sharex=True, sharey=True
    )
    styles = agent_styles(agents)
    for at, (mode, panel) in enumerate(zip(modes, panels.flat, strict=False)):
        panel.axhline(0, color="#bbbbbb", linewidth=0.6, zorder=0)
        panel.axvline(0, color="#bbbbbb", linewidth=0.6, zorder=0)
        for _, row in drawn[drawn["memory_mode"] == mode].iterrows():
            style = styles[row["agent"]]
            size = 4 + 2.2 * (len(agents) - 1 - agents.index(row["agent"]))
            panel.plot(row["gain"], row["loss"], linestyle="", markersize=size, mfc="none", zorder=3, **style)
            across_bar, upright = [row["gain_low"], row["gain_high"]], [row["loss_low"], row["loss_high"]]
            panel.plot(across_bar, [row["loss"]] * 2, color=style["color"], linewidth=0.9, zorder=4)
            panel.plot([row["gain"]] * 2, upright, color=style["color"], linewidth=0.9, zorder=4)
        panel.set_title(broken(mode, 88 // across))
        panel.set(xlim=limits_of(drawn, "gain"), ylim=limits_of(drawn, "loss"))
        if at + across >= len(modes):
            panel.set_xlabel("gain on testing cases")
            panel.tick_params(labelbottom=True)
        if not at % across:
            panel.set_ylabel("loss on lookalikes")
    blank(panels, len(modes))
    add_heading(figure, {agent: style | {"linestyle": "", "mfc": "none"} for agent, style in styles.items()})
    return figure
