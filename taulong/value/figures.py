"""The figures of the memory question: for each a function that makes a tidy table, and one that only draws it.

A table says everything its figure says, the caption included, so that a figure can be drawn again from its CSV. Memory
modes and agents keep their order, colour and marker in every figure (Okabe and Ito's colours; none is grey, oracle
black and dashed).
"""

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from taulong.errors import ConfigError, check_name
from taulong.value.metrics import (
    AGENTS,
    MODES,
    MixedRecords,
    agents_with,
    require_complete,
    require_one_version,
    scores,
    solved,
)  # fmt: skip
from taulong.value.statistics import contrast, counted, matched, p_text, share_interval

STYLE = {
    "axes.spines.right": False, "axes.spines.top": False, "axes.linewidth": 0.6, "axes.titlesize": 8,
    "axes.labelsize": 8, "axes.facecolor": "white", "figure.facecolor": "white", "savefig.facecolor": "white",
    "figure.dpi": 110, "savefig.dpi": 300, "font.family": "DejaVu Sans", "font.size": 7.5, "legend.fontsize": 7,
    "legend.frameon": False, "lines.linewidth": 1.4, "lines.markersize": 4, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "pdf.fonttype": 42,
}  # fmt: skip
MODE_STYLE = {
    "none": {"color": "#8c8c8c", "marker": "o", "linestyle": "-"},
    "notebook": {"color": "#0072b2", "marker": "s", "linestyle": "-"},
    "oracle": {"color": "#000000", "marker": "D", "linestyle": "--", "markersize": 6.5, "mfc": "none"},
    "placebo": {"color": "#e69f00", "marker": "v", "linestyle": "-"},
    "transcript": {"color": "#009e73", "marker": "^", "linestyle": "-"},
    "frozen": {"color": "#cc79a7", "marker": "P", "linestyle": "-."},
}
AGENT_COLOURS = ("#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")
AGENT_MARKERS = ("o", "s", "^", "D", "v", "P")
POPULATION_MARKERS = {"testing": "o", "lookalike": "s", "teaching": "^", "all": "D"}
POPULATION_LETTERS = {"teaching": ("T", "#9ccbe8"), "testing": ("E", "#f2c27a"), "lookalike": ("L", "#d9d9d9")}
REWARD_STYLE = {
    "official_reward": {"label": "official", "color": "#d55e00", "marker": "o", "markersize": 6.5, "mfc": "none"},
    "gated_reward": {"label": "gated", "color": "#0072b2", "marker": "s"},
}
STAGES = {
    "written": "the agent wrote its notebook in an earlier case of the shift",
    "kept": "and the fix is named in the text it is shown",
    "consulted": "and it committed a corrective tool with that text in view (the record has no sign of reading itself)",
    "applied": "and the tool it committed is the recurring fix",
    "resolved": "and the official reward is 1",
}
AXES = {"teaching_seen": "teaching seen", "position": "position"}  # short: six panels stand side by side
CHANCE = 1 / 4  # a guess among the four corrective tools
CURVE_COLUMNS = (
    "agent", "memory_mode", "reward", "axis", "x", "value", "low", "high", "cases", "shifts", "dropped", "level",
)  # fmt: skip
CAP_COLUMNS = (
    "agent", "memory_mode", "notebook_cap", "value", "low", "high", "cases", "shifts", "level", "note", "partial",
)  # fmt: skip
EVIDENCE_COLUMNS = ("agent", "memory_mode", "stage", "meaning", "cases", "total", "share", "outside", "shifts")
LIMITS = dict.fromkeys(("value", "low", "high"), float)  # columns that are numbers also where all are missing
SINGLE, DOUBLE = 3.4, 7.0  # widths in inches of one and two print columns


def save_figure(figure: Figure, table: pd.DataFrame, stem: str | Path) -> list[Path]:
    """Return the paths written: the figure as PNG (300 dpi) and dateless PDF, and its table as CSV, under one stem.

    The bytes depend on the figure, the table and the version of matplotlib only.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("png", "pdf", "csv")]
    with plt.rc_context(STYLE):
        figure.savefig(paths[0], metadata={"Software": None})
        figure.savefig(paths[1], metadata={"CreationDate": None, "Creator": None, "Producer": None})
    table.to_csv(paths[2], index=False, lineterminator="\n")
    return paths


# --- what a shift looks like ---------------------------------------------------------------------------------------


@plt.rc_context(STYLE)
def plot_placement(cases: pd.DataFrame) -> Figure:
    """Return the placement of cases: a row per shift, a column per position, coloured by population.

    Args:
        cases: the table of shifts.shift_table, one row a case.
    """
    grid = cases.pivot(index="shift_id", columns="position", values="population")
    causes = cases.drop_duplicates("shift_id").set_index("shift_id")["recurring_cause"].reindex(grid.index)
    caption = (
        f"Cases of {_count(len(grid), 'shift')} in order: T teaching, E testing (evidence masked), L lookalike (the "
        "same complaint, another cause). Right: the recurring cause."
    )
    figure, panels = _panels(1, 1, 0.3 + 0.2 * len(grid), caption, cases.assign(partial=""), width=DOUBLE)
    panel = panels[0, 0]
    for row, shift_id in enumerate(grid.index):
        for column, population in enumerate(grid.loc[shift_id]):
            letter, colour = POPULATION_LETTERS[population]
            panel.add_patch(plt.Rectangle((column + 0.53, row - 0.44), 0.94, 0.88, color=colour, linewidth=0))
            panel.text(column + 1, row, letter, ha="center", va="center", fontsize=6.5)
    panel.set(xlim=(0.5, grid.shape[1] + 0.5), ylim=(len(grid) - 0.5, -0.5), xlabel="position in the shift")
    panel.set_xticks(grid.columns)
    panel.set_yticks(range(len(grid)), grid.index)
    right = panel.secondary_yaxis("right")
    right.set_yticks(range(len(grid)), causes)
    for ticks in (panel, right):
        ticks.spines[:].set_visible(False)
        ticks.tick_params(length=0)
    return figure


# --- 1: testing accuracy over a shift ------------------------------------------------------------------------------


def curve_table(table: pd.DataFrame, reward: str = "official_reward", level: float = 0.95) -> pd.DataFrame:
    """Return testing accuracy by memory mode over teaching incidents seen and over position, for every agent.

    Only cases with a score in every mode of an agent enter, so that its lines speak of the same cases (``dropped``
    counts the others). The limits are Wilson's interval at each point, with the shifts as its count (those of unequal
    numbers of cases count for less, by Kish's effective number): resampling shifts covers much too seldom where they
    are few or nearly all solve the case (taulong.value.coverage.point_coverage).

    Columns: agent, memory_mode, reward, axis, x, value, low, high, cases, shifts, dropped, level, partial.
    """
    rows = []
    for agent in _agents(table):
        modes = _modes(table[table["agent"] == agent])
        pairs = matched(table, [(agent, mode) for mode in modes], reward, "testing")
        kept = pairs.kept.set_axis(modes, axis=1)
        rows += [{"agent": agent, "memory_mode": name, "reward": reward} | point
                 for name, point in _points(kept, pairs.cases, level)]  # fmt: skip
    return _of(table, pd.DataFrame(rows, columns=CURVE_COLUMNS).astype(LIMITS))


@plt.rc_context(STYLE)
def plot_curves(table: pd.DataFrame) -> Figure:
    """Return the figure of curve_table: a column per agent, a row per axis, a line per memory mode, chance at 1/4."""
    if table.empty:
        return _empty("Accuracy on testing cases: none has a score in every memory mode of its agent.", table)
    agents = _agents(table)
    caption = (
        f"Accuracy on testing cases ({_one(table, 'reward').replace('_', ' ')}). {_bar_caption(table)} "
        "Dotted: a guess among four tools (1/4). Upper row: by teaching cases seen before in the shift; lower row: by "
        "position in the shift. Modes are shifted sideways to be told apart."
    )
    figure, panels = _panels(2, len(agents), 1.75, caption, table, sharey=True)
    modes = _modes(table)
    for (axis, label), row in zip(AXES.items(), panels, strict=False):
        for agent, panel in zip(agents, row, strict=False):
            panel.axhline(CHANCE, color="#444444", linewidth=0.8, linestyle=":")
            for at, mode in enumerate(modes):
                line = table[(table["agent"] == agent) & (table["axis"] == axis) & (table["memory_mode"] == mode)]
                colour = MODE_STYLE[mode]["color"]
                x = line["x"] + (0.06 if axis == "teaching_seen" else 0.12) * (at - (len(modes) - 1) / 2)
                panel.vlines(x, line["low"], line["high"], color=colour, alpha=0.6, linewidth=0.9)
                panel.plot(x, line["value"], label=mode, **MODE_STYLE[mode])
            panel.set(xlabel=label, ylim=(-0.07, 1.07), yticks=(0, 0.25, 0.5, 0.75, 1), xmargin=0.12)
            panel.set_xticks(sorted(table.loc[table["axis"] == axis, "x"].unique()))
    _finish(figure, panels, agents, "testing accuracy")
    return figure


# --- 2: paired contrasts -------------------------------------------------------------------------------------------


@plt.rc_context(STYLE)
def plot_forest(table: pd.DataFrame) -> Figure:
    """Return the forest plot of statistics.estimates_table: a row a contrast, as declared, in its agent's colour.

    Contrasts that are 0 in every shift are counted in the caption and not drawn.
    """
    if table.empty:
        return _empty("Mean paired differences: no agent has a memory mode to compare with its none.")
    named = table.assign(agent=table["name"].str.extract("(.*?)(?:: |/)", expand=False))
    agents = _agents(named)
    nothing = table["value"].eq(0) & table["low"].isna() & table["shifts"].gt(1)
    left_out = named.loc[nothing, "agent"].value_counts(sort=False)
    sizes = table.groupby("family", dropna=False)["name"].transform("size")  # a CSV has no empty text
    caption = (
        f"Mean paired difference, {100 * _one(table, 'level'):g} % t interval with C - 1 degrees of freedom on shift "
        f"means, not adjusted; paired by case, clustered by shift; C = {_count(table['shifts'], 'shift')}. p: sign flip "
        f"of shift means, adjusted by Holm over the {_count(sizes, 'contrast')} that ask one question (mode and "
        "population) of several agents. Hollow: too few shifts for p < "
        f"{1 - _one(table, 'level'):.2g}, descriptive. Colours: agents. A t interval may pass 1, which no difference can."
    )
    if len(left_out):
        by_agent = ", ".join(f"{agent} {count}" for agent, count in left_out.items())
        caption += f" Not drawn, being 0 in every shift: {nothing.sum()} contrasts ({by_agent})."
    if nothing.all():
        return _empty(caption)
    lost = int((table["planned"] - table["cases"]).sum())
    partial = f"PARTIAL: {lost} of {int(table['planned'].sum())} pairs dropped" if lost else ""
    table, named = table[~nothing], named[~nothing]
    figure, panels = _panels(1, 1, 0.35 + 0.19 * len(table), caption, table.assign(partial=partial), width=DOUBLE)
    panel = panels[0, 0]
    panel.axvline(0, color="#444444", linewidth=0.8)
    texts = []
    for at, row in enumerate(named.itertuples()):
        if pd.isna(row.value):
            texts.append("no number: " + textwrap.shorten(row.note, 40))
            continue
        colour = _agent_style(row.agent, agents)["color"]
        shape = {"marker": POPULATION_MARKERS[row.population], "color": colour, "capsize": 0, "linestyle": ""}
        if not pd.isna(row.low):
            panel.plot([row.low, row.high], [at, at], color=colour, linewidth=1.2)
        panel.errorbar([row.value], [at], mfc="white" if row.descriptive else colour, **shape)
        limits = f"[{row.low:+.2f}, {row.high:+.2f}]"
        if pd.isna(row.low):
            limits = "in every shift" if row.shifts > 1 else "[1 shift]"
        p = "" if pd.isna(row.p_holm) else p_text(row.p, row.p_method, row.p_holm)
        texts.append(f"{row.value:+.2f} {limits}  {p}")
    panel.set(ylim=(len(table) - 0.5, -0.5), xlabel="mean paired difference")
    panel.set_yticks(range(len(table)), [f"{row.name}, {row.population}" for row in table.itertuples(index=False)])
    panel.tick_params(axis="y", length=0)
    numbers = panel.secondary_yaxis("right")
    numbers.set_yticks(range(len(table)), texts)
    numbers.tick_params(length=0)
    numbers.spines["right"].set_visible(False)
    _add_heading(figure, panel)
    return figure


# --- 3: memory value against the notebook's cap --------------------------------------------------------------------


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
        for agent in filter(everywhere.__contains__, _agents(table)):
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
        return _empty("Memory value by notebook cap: no agent ran notebook and none at every cap.")
    caps, agents = sorted(table["notebook_cap"].unique()), _agents(table)
    spacing = "one cap, so a point an agent and no line" if len(caps) == 1 else "caps are evenly spaced"
    caption = (
        f"Memory value: accuracy on testing cases, {_one(table, 'memory_mode')} - none. {_t_caption(table, 'value')} "
        f"Agents are shifted sideways to be told apart; {spacing}."
    )
    figure, panels = _panels(1, 1, 2.1, caption, table)
    panel = panels[0, 0]
    panel.axhline(0, color="#444444", linewidth=0.8)
    for at, agent in enumerate(agents):
        line = table[table["agent"] == agent]
        x = np.array([caps.index(cap) for cap in line["notebook_cap"]]) + 0.09 * (at - (len(agents) - 1) / 2)
        style = _agent_style(agent, agents)
        panel.plot(x, line["value"], label=agent, **style)
        panel.vlines(x, line["low"], line["high"], color=style["color"], linewidth=0.9)
    panel.set(xlabel="notebook cap (characters)", ylabel="memory value")
    panel.set_xticks(range(len(caps)), [f"{cap:,}" for cap in caps])
    _add_heading(figure, panel)
    return figure


# --- 4: official against gated -------------------------------------------------------------------------------------


def reward_table(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Return testing accuracy under the official and the gated reward, over the cases that have both.

    Columns as in curve_table; ``dropped`` counts testing cases without an official or a gated reward.
    """
    rows = []
    for agent in _agents(table):
        for mode in _modes(table[table["agent"] == agent]):
            both = {reward: matched(table, [(agent, mode)], reward, "testing") for reward in REWARD_STYLE}
            kept = pd.concat([pairs.kept[0].rename(reward) for reward, pairs in both.items()], axis=1).dropna()
            rows += [{"agent": agent, "memory_mode": mode, "reward": reward} | point
                     for reward, point in _points(kept, both["official_reward"].cases, level)]  # fmt: skip
    return _of(table, pd.DataFrame(rows, columns=CURVE_COLUMNS).astype(LIMITS))


@plt.rc_context(STYLE)
def plot_rewards(table: pd.DataFrame, axis: str = "position") -> Figure:
    """Return the figure of reward_table: a column per agent, a row per memory mode, the gap shaded and labelled."""
    table = table[table["axis"] == axis]
    if table.empty:
        return _empty("Accuracy on testing cases under two rewards: no case has both.", table)
    agents, modes = _agents(table), _modes(table)
    caption = (
        "Accuracy on testing cases under tau2's official reward and under the gated reward. "
        f"{_bar_caption(table)} "
        "Shaded: what the official reward pays for runs the gate fails; its mean over cases is written in."
    )
    figure, panels = _panels(len(modes), len(agents), 1.15, caption, table, sharey=True)
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
    _finish(figure, panels, agents, "testing accuracy")
    return figure


# --- 5: where evidence is lost -------------------------------------------------------------------------------------


def evidence_table(table: pd.DataFrame, corrective_tools: Mapping[str, str], mode: str = "notebook") -> pd.DataFrame:
    """Return how many testing cases reach each stage from written to resolved, per agent; each stage implies the last.

    Args:
        corrective_tools: the corrective tool of every cause.
        mode: the memory mode whose cases are followed.

    The stages, from the fields of the record (``STAGES`` has the words): notebook_writes > 0 in an earlier case of the
    shift; fix_in_notebook; a commitment; the commitment is the corrective tool of the recurring cause; official_reward
    is 1. ``outside`` is how many cases were resolved without passing all stages: lucky guesses. Empty where the mode
    was not run; a case of several trials counts once for each.

    Columns: agent, memory_mode, stage, meaning, cases, total, share, outside, shifts, partial.
    """
    table = table[table["memory_mode"] == check_name("mode", mode, MODES)]
    if unknown := set(table["recurring_cause"].dropna()) - set(corrective_tools):
        given = ", ".join(corrective_tools)
        raise ConfigError(f"corrective_tools: none for {', '.join(sorted(unknown))}; given for {given}")
    shift = ["shift_id", "trial"] if "trial" in table else ["shift_id"]  # each trial of a shift has its own notebook
    rows = []
    for agent in _agents(table):
        own = table[table["agent"] == agent].sort_values([*shift, "position"])
        writes = own["notebook_writes"].fillna(0).astype(float)
        earlier = writes.groupby([own[field] for field in shift]).cumsum() - writes
        own = own.assign(written=earlier > 0, resolved=solved(scores(own, "official_reward")))
        own = own[(own["population"] == "testing") & (own["outcome"] == "scored")]
        reached = pd.Series(True, index=own.index)
        checks = {
            "written": own["written"],
            "kept": own["fix_in_notebook"].eq(True),
            "consulted": own["commitment"].notna(),
            "applied": own["commitment"].eq(own["recurring_cause"].map(corrective_tools)),
            "resolved": own["resolved"],
        }
        counts = {stage: int((reached := reached & check).sum()) for stage, check in checks.items()}
        for stage, count in counts.items():
            rows.append({
                "agent": agent, "memory_mode": mode, "stage": stage, "meaning": STAGES[stage], "cases": count,
                "total": len(own), "share": count / len(own) if len(own) else float("nan"),
                "outside": int((own["resolved"] & ~reached).sum()), "shifts": own["shift_id"].nunique(),
            })  # fmt: skip
    return _of(table, pd.DataFrame(rows, columns=EVIDENCE_COLUMNS).astype({"share": float}))


@plt.rc_context(STYLE)
def plot_evidence(table: pd.DataFrame) -> Figure:
    """Return the figure of evidence_table: a column per agent, a bar per stage, with the cases that reach it."""
    if table.empty:
        return _empty("Where evidence is lost: the memory mode was not run.", table)
    agents = _agents(table)
    outside = ", ".join(f"{agent} {int(table.loc[table['agent'] == agent, 'outside'].iloc[0])}" for agent in agents)
    caption = (
        f"Testing cases under {_one(table, 'memory_mode')} that reach each stage. "
        + "; ".join(f"{stage}: {meaning}" for stage, meaning in STAGES.items())
        + f". Counts, no interval; n = {_count(table['total'], 'case')} of "
        f"{_count(table['shifts'], 'shift')} an agent. Resolved outside this chain: {outside}."
    )
    figure, panels = _panels(1, len(agents), 1.5, caption, table, sharey=True)
    for agent, panel in zip(agents, panels[0], strict=False):
        own = table[table["agent"] == agent]
        at = [list(STAGES).index(stage) for stage in own["stage"]]
        panel.barh(at, own["share"], color=_agent_style(agent, agents)["color"], height=0.7)
        for y, row in zip(at, own.itertuples(), strict=False):
            panel.text(row.share + 0.03, y, f"{row.cases}", va="center")
        panel.set(xlim=(0, 1.2), xticks=(0, 0.5, 1), ylim=(len(STAGES) - 0.5, -0.5), xlabel="share of cases")
        panel.set_yticks(range(len(STAGES)), list(STAGES))
    _finish(figure, panels, agents, None)
    return figure


# --- 6: what memory costs on lookalikes ----------------------------------------------------------------------------


def lookalike_table(table: pd.DataFrame, reward: str = "official_reward", level: float = 0.95) -> pd.DataFrame:
    """Return for every agent and mode the gain on testing cases and the loss on lookalikes, both against none.

    Columns: agent, memory_mode, gain, gain_low, gain_high, loss, loss_low, loss_high, cases, lookalikes, shifts, level,
    note, partial. ``cases`` and ``shifts`` are those of the testing contrast, ``lookalikes`` the cases of the other.
    """
    rows = []
    for agent in agents_with(table, "none"):
        for mode in _modes(table[table["agent"] == agent]):
            if mode in ("none", "frozen"):  # the frozen second pass has no lookalikes
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
    return _of(table, frame.astype(dict.fromkeys(numbers, float)))


@plt.rc_context(STYLE)
def plot_lookalikes(table: pd.DataFrame) -> Figure:
    """Return the figure of lookalike_table: a column per memory mode, one point per agent, rings where points meet."""
    if table.empty:
        nothing = "Gain on testing cases against loss on lookalikes: no agent has a mode to compare with its none."
        return _empty(nothing, table)
    agents, modes = _agents(table), _modes(table)
    caption = (
        "What a mode gains on testing cases against what it loses on lookalikes, both against none; best is below and "
        f"to the right. {_t_caption(table, 'gain')} Upright bars: n = {_count(table['lookalikes'], 'lookalike')}. "
        "Rings around one another share a centre."
    )
    figure, panels = _panels(1, len(modes), 1.9, caption, table, sharex=True, sharey=True)
    for mode, panel in zip(modes, panels[0], strict=False):
        panel.axhline(0, color="#444444", linewidth=0.6)
        panel.axvline(0, color="#444444", linewidth=0.6)
        for row in table[table["memory_mode"] == mode].itertuples():
            style = _agent_style(row.agent, agents)
            panel.plot([row.gain_low, row.gain_high], [row.loss, row.loss], color=style["color"], linewidth=0.9)
            panel.plot([row.gain, row.gain], [row.loss_low, row.loss_high], color=style["color"], linewidth=0.9)
            size = 4 + 2.5 * (len(agents) - 1 - agents.index(row.agent))
            panel.plot(row.gain, row.loss, linestyle="", markersize=size, mfc="none", **style)
        panel.set(title=mode, xlabel="gain on testing cases")
        panel.set(xlim=_limits(table, "gain"), ylim=_limits(table, "loss"))
    panels[0, 0].set_ylabel("loss on lookalikes")
    for agent in agents:
        panels[0, 0].plot([], [], linestyle="", mfc="none", label=agent, **_agent_style(agent, agents))
    _add_heading(figure, panels[0, 0])
    return figure


# --- what the figures share ----------------------------------------------------------------------------------------


def _points(kept: pd.DataFrame, cases: pd.DataFrame, level: float):
    """Yield (column name, point) for every column of ``kept`` and value of each axis, with its interval over shifts."""
    about = cases.loc[kept.index]
    fixed = {"dropped": len(cases) - len(kept), "level": level}
    for axis in AXES:
        for x, at in about.groupby(axis).groups.items():
            counts = about.loc[at, "shift_id"].value_counts()
            effective = float(counts.sum() ** 2 / (counts**2).sum())
            for name in kept:
                value = float(kept.loc[at, name].mean())
                low, high = share_interval(value, effective, level)
                yield name, {
                    "axis": axis, "x": int(x), "value": value, "low": low, "high": high, "cases": len(at),
                    "shifts": len(counts),
                } | fixed  # fmt: skip


def _panels(
    rows: int, columns: int, height: float, caption: str, table: pd.DataFrame, width: float | None = None, **shared
) -> tuple[Figure, np.ndarray]:  # fmt: skip
    """Return a figure and its grid of axes, the caption under them and, over partial results, a title that says so."""
    width = width or (SINGLE if columns == 1 else DOUBLE)
    whole = " ".join(caption.split()).replace(" %", "\u00a0%").replace(" = ", "\u00a0=\u00a0")
    text = textwrap.fill(whole, int(20 * width))
    below = 0.125 * (text.count("\n") + 1) + 0.08
    height = rows * height + 0.5 + below
    figure, panels = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **shared)
    plt.close(figure)  # a notebook shows it as the value of a cell, pyplot shall not show it again
    figure.get_layout_engine().set(rect=(0, below / height, 1, 1 - below / height), h_pad=0.06)
    figure.text(0.08 / width, 0.04 / height, text, fontsize=6.5, va="bottom", linespacing=1.15)
    figure.caption = text
    partial = "; ".join(sorted(set(table["partial"].dropna()) - {""}))
    figure.partial = textwrap.fill(partial, int(16 * width))
    return figure, panels


def _of(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table with what its title must say of the records it is made of, also if it has no rows."""
    partial = require_complete(table, allow_partial=True)
    rows = rows.assign(partial=partial)
    rows.attrs["partial"] = partial
    return rows


def _empty(caption: str, table: pd.DataFrame | None = None) -> Figure:
    """Return the figure of a table without rows, which says so."""
    partial = [] if table is None else [table.attrs.get("partial", "")]
    figure, panels = _panels(1, 1, 0.5, caption, pd.DataFrame({"partial": partial}))
    panels[0, 0].text(0.5, 0.5, "no cases", transform=panels[0, 0].transAxes, ha="center", va="center", color="#444444")
    panels[0, 0].set_axis_off()
    _add_heading(figure, panels[0, 0])
    return figure


def _finish(figure: Figure, panels: np.ndarray, agents: list[str], label: str | None) -> None:
    for agent, panel in zip(agents, panels[0], strict=False):
        panel.set_title(agent)
    if label:
        figure.supylabel(label, fontsize=8)
    _add_heading(figure, panels[0, 0])


def _add_heading(figure: Figure, panel) -> None:
    """Put the legend on top, if there is one, and over it what must be said of partial results."""
    if handles := panel.get_legend_handles_labels()[0]:
        columns = 3 if figure.get_figwidth() < DOUBLE else 6
        legend = figure.legend(handles=handles, loc="outside upper center", ncols=columns, title=figure.partial or None)
        legend.get_title().set(color="#b00000", fontsize=8)
    elif figure.partial:
        figure.suptitle(figure.partial, color="#b00000", fontsize=8)


def _limits(table: pd.DataFrame, what: str) -> tuple[float, float]:
    numbers = table[[what, f"{what}_low", f"{what}_high"]].to_numpy()
    return np.nanmin([*numbers.flat, -0.1]) - 0.1, np.nanmax([*numbers.flat, 1.0]) + 0.1


def _agents(table: pd.DataFrame) -> list[str]:
    present = set(table["agent"])
    return [agent for agent in AGENTS if agent in present] + sorted(present - set(AGENTS))


def _modes(table: pd.DataFrame) -> list[str]:
    present = set(table["memory_mode"])
    return [mode for mode in MODES if mode in present]


def _agent_style(agent: str, agents: list[str]) -> dict[str, str]:
    names = [*AGENTS, *(name for name in agents if name not in AGENTS)]
    at = names.index(agent) % len(AGENT_COLOURS)
    return {"color": AGENT_COLOURS[at], "marker": AGENT_MARKERS[at]}


def _bar_caption(table: pd.DataFrame) -> str:
    totals = table[table["axis"] == table["axis"].iloc[-1]].groupby(["agent", "memory_mode", "reward"])["cases"].sum()
    return (
        f"Bars: {100 * _one(table, 'level'):g} % Wilson interval of each point over shifts, "
        f"{_count(table['shifts'], 'shift')} a point, n = {_count(totals, 'case')} a line, "
        f"{_count(table['dropped'], 'case')} dropped."
    )


def _t_caption(table: pd.DataFrame, value: str) -> str:
    lost = [f"{row.agent}, {row.memory_mode} ({row.note})" for row in table[table[value].isna()].itertuples()]
    return (
        f"Bars: {100 * _one(table, 'level'):g} % t interval with C - 1 degrees of freedom, paired by case, clustered "
        f"by shift; C = {_count(table['shifts'], 'shift')}, n = {_count(table['cases'], 'testing case')}; none "
        "where all shifts agree." + (f" Not drawn: {'; '.join(lost)}." if lost else "")
    )


def _one(table: pd.DataFrame, column: str):
    """Return the only value of a column; a figure speaks of one level, one reward, one mode."""
    (value,) = table[column].unique()
    return value


def _count(values, noun: str) -> str:
    """Return how many, as "1 shift", "12 shifts" or "6 to 8 shifts"."""
    low, high = int(np.min(values)), int(np.max(values))
    return counted(low, noun) if low == high else f"{low} to {high} {noun}s"
