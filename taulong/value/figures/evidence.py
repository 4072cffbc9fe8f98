"""Where evidence is lost between the teaching case and the fix."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taulong.errors import ConfigError, check_name
from taulong.value.figures.curves import ACROSS
from taulong.value.figures.layout import (
    add_heading,
    blank,
    count_of,
    empty_figure,
    filled,
    marked,
    new_panels,
    only,
    refused_caption,
)
from taulong.value.figures.style import DOUBLE, agent_styles, agents_of, broken, styled
from taulong.value.metrics import MODES, scores, solved
from taulong.value.statistics.estimates import MAX_DROPPED

STAGES = {
    "written": "the agent wrote its notebook in an earlier case of the shift",
    "kept": "and the text it is shown tells the fix, by its tool or in words, and no other",
    "applied": "and it committed the recurring fix",
    "resolved": "and the official reward is 1",
}
EVIDENCE_COLUMNS = ("agent", "memory_mode", "stage", "meaning", "cases", "total", "share", "outside", "shifts", "note")


def evidence_table(
    table: pd.DataFrame, corrective_tools: Mapping[str, str], mode: str = "notebook", max_dropped: float = MAX_DROPPED
) -> pd.DataFrame:  # fmt: skip
    """Return how many testing cases reach each stage from written to resolved, per agent; each stage implies the last.

    Args:
        corrective_tools: the corrective tool of every cause.
        mode: the memory mode whose cases are followed.
        max_dropped: an agent of whose testing cases a larger share has no score has one row, whose ``note`` says so.

    The stages, from the fields of the record (``STAGES`` has the words): notebook_writes > 0 in an earlier case of the
    shift; fix_in_notebook; the commitment is the corrective tool of the recurring cause, or another one that resolved the case;
    official_reward is 1. ``outside`` is how many cases were resolved without passing all stages: lucky guesses. Empty where the mode
    was not run; a case of several trials counts once for each.

    Columns: agent, memory_mode, stage, meaning, cases, total, share, outside, shifts, note, partial.
    """
    table = table[table["memory_mode"] == check_name("mode", mode, {*MODES, *table["memory_mode"].dropna()})]
    if unknown := set(table["recurring_cause"].dropna()) - set(corrective_tools):
        given = ", ".join(corrective_tools)
        raise ConfigError(f"corrective_tools: none for {', '.join(sorted(unknown))}; given for {given}")
    shift = ["shift_id", "trial"] if "trial" in table else ["shift_id"]  # each trial of a shift has its own notebook
    rows: list[dict[str, Any]] = []
    for agent in agents_of(table):
        own = table[table["agent"] == agent].sort_values([*shift, "position"])
        writes = own["notebook_writes"].fillna(0).astype(float)
        earlier = writes.groupby([own[field] for field in shift]).cumsum() - writes
        own = own.assign(written=earlier > 0, resolved=solved(scores(own, "official_reward")))
        testing = own[own["population"] == "testing"]
        own = testing[testing["outcome"] == "scored"]
        if len(testing) - len(own) > max_dropped * len(testing) or own.empty:
            note = (
                f"{len(testing) - len(own)} of {len(testing)} cases without a score; at most {max_dropped:.0%} accepted"
            )
            rows.append({"agent": agent, "memory_mode": mode, "total": len(testing), "note": note})
            continue
        reached = pd.Series(True, index=own.index)
        checks = {
            "written": own["written"],
            "kept": own["fix_in_notebook"].eq(True),
            "applied": own["commitment"].eq(own["recurring_cause"].map(corrective_tools))
            | (own["commitment"].notna() & own["resolved"]),
            "resolved": own["resolved"],
        }
        counts = {stage: int((reached := reached & check).sum()) for stage, check in checks.items()}
        for stage, count in counts.items():
            rows.append({
                "agent": agent, "memory_mode": mode, "stage": stage, "meaning": STAGES[stage], "cases": count,
                "total": len(own), "share": count / len(own),
                "outside": int((own["resolved"] & ~reached).sum()), "shifts": own["shift_id"].nunique(), "note": "",
            })  # fmt: skip
    frame = pd.DataFrame(rows, columns=EVIDENCE_COLUMNS).astype({"share": float})
    return marked(table, filled(frame, ("cases", "total", "outside", "shifts"), ("stage", "meaning", "note")))


@styled
def plot_evidence(table: pd.DataFrame) -> Figure:
    """Return the figure of evidence_table: a panel per agent, a bar per stage, with the cases that reach it."""
    drawn = table[table["share"].notna()]
    refused = refused_caption(table, "share") if len(table) else ""
    if drawn.empty:
        return empty_figure(f"Where evidence is lost: no testing case of the memory mode has a score.{refused}", table)
    agents = agents_of(drawn)
    outside = ", ".join(f"{agent} {int(drawn.loc[drawn['agent'] == agent, 'outside'].iloc[0])}" for agent in agents)
    caption = (
        f"Testing cases under {only(drawn, 'memory_mode')} that reach each stage. "
        + "; ".join(f"{stage}: {meaning}" for stage, meaning in STAGES.items())
        + f". Counts, no interval; n = {count_of(drawn['total'], 'case')} of "
        f"{count_of(drawn['shifts'], 'shift')} an agent. Resolved outside this chain: {outside}.{refused}"
    )
    across = min(ACROSS, max(2, len(agents)))
    figure, panels = new_panels(-(-len(agents) // across), across, 1.4, caption, table, width=DOUBLE, sharey=True)
    styles = agent_styles(agents)
    for at, (agent, panel) in enumerate(zip(agents, panels.flat, strict=False)):
        own = drawn[drawn["agent"] == agent]
        rows = [list(STAGES).index(stage) for stage in own["stage"]]
        panel.barh(rows, own["share"], color=styles[agent]["color"], height=0.7)
        for y, share, count in zip(rows, own["share"], own["cases"], strict=True):
            panel.text(share + 0.03, y, f"{count}", va="center", fontsize=7.5)
        panel.set(xlim=(0, 1.25), xticks=(0, 0.5, 1), ylim=(len(STAGES) - 0.5, -0.5))
        panel.set_title(broken(agent, 88 // across))
        panel.set_yticks(range(len(STAGES)), list(STAGES))
        if at + across >= len(agents):
            panel.set_xlabel("share of testing cases")
    blank(panels, len(agents))
    add_heading(figure)
    return figure
