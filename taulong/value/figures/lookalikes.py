"""What memory gains on testing cases and costs on lookalikes."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from taulong.memory.names import second_pass
from taulong.value.figures.layout import add_heading, count_of, empty_figure, limits_of, marked, new_panels, t_caption
from taulong.value.figures.style import STYLE, agent_style, agents_of, modes_of
from taulong.value.metrics import agents_with
from taulong.value.statistics.estimates import contrast


def lookalike_table(table: pd.DataFrame, reward: str = "official_reward", level: float = 0.95) -> pd.DataFrame:
    """Return for every agent and mode the gain on testing cases and the loss on lookalikes, both against none.

    Columns: agent, memory_mode, gain, gain_low, gain_high, loss, loss_low, loss_high, cases, lookalikes, shifts, level,
    note, partial. ``cases`` and ``shifts`` are those of the testing contrast, ``lookalikes`` the cases of the other.
    """
    rows = []
    for agent in agents_with(table, "none"):
        for mode in modes_of(table[table["agent"] == agent]):
            if mode == "none" or second_pass(mode):  # a second pass has no lookalikes
                continue
            gain = contrast(table, (agent, mode), (agent, "none"), reward, "testing", level)
            loss = contrast(table, (agent, "none"), (agent, mode), reward, "lookalike", level)
            rows.append({
                "agent": agent, "memory_mode": mode, "gain": gain.value, "gain_low": gain.low, "gain_high": gain.high,
                "loss": loss.value, "loss_low": loss.low, "loss_high": loss.high, "cases": gain.cases,
                "lookalikes": loss.cases, "shifts": gain.shifts, "level": level, "note": gain.note or loss.note,
            })  # fmt: skip
    numbers = ["gain", "gain_low", "gain_high", "loss", "loss_low", "loss_high"]
    frame = pd.DataFrame(
        rows, columns=["agent", "memory_mode", *numbers, "cases", "lookalikes", "shifts", "level", "note"]
    )
    return marked(table, frame.astype(dict.fromkeys(numbers, float)))


@plt.rc_context(STYLE)
def plot_lookalikes(table: pd.DataFrame) -> Figure:
    """Return the figure of lookalike_table: a column per memory mode, one point per agent, rings where points meet."""
    if table.empty:
        nothing = "Gain on testing cases against loss on lookalikes: no agent has a mode to compare with its none."
        return empty_figure(nothing, table)
    agents, modes = agents_of(table), modes_of(table)
    caption = (
        "What a mode gains on testing cases against what it loses on lookalikes, both against none; best is below and "
        f"to the right. {t_caption(table, 'gain')} Upright bars: n = {count_of(table['lookalikes'], 'lookalike')}. "
        "Rings around one another share a centre."
    )
    figure, panels = new_panels(1, len(modes), 1.9, caption, table, sharex=True, sharey=True)
    for mode, panel in zip(modes, panels[0], strict=False):
        panel.axhline(0, color="#444444", linewidth=0.6)
        panel.axvline(0, color="#444444", linewidth=0.6)
        for row in table[table["memory_mode"] == mode].itertuples():
            style = agent_style(row.agent, agents)
            panel.plot([row.gain_low, row.gain_high], [row.loss, row.loss], color=style["color"], linewidth=0.9)
            panel.plot([row.gain, row.gain], [row.loss_low, row.loss_high], color=style["color"], linewidth=0.9)
            size = 4 + 2.5 * (len(agents) - 1 - agents.index(row.agent))
            panel.plot(row.gain, row.loss, linestyle="", markersize=size, mfc="none", **style)
        panel.set(title=mode, xlabel="gain on testing cases")
        panel.set(xlim=limits_of(table, "gain"), ylim=limits_of(table, "loss"))
    panels[0, 0].set_ylabel("loss on lookalikes")
    for agent in agents:
        panels[0, 0].plot([], [], linestyle="", mfc="none", label=agent, **agent_style(agent, agents))
    add_heading(figure, panels[0, 0])
    return figure
