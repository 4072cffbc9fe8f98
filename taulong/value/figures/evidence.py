"""Where evidence is lost between the teaching case and the fix."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from taulong.errors import ConfigError, check_name
from taulong.value.figures.layout import count_of, empty_figure, finish, marked, new_panels, only
from taulong.value.figures.style import STYLE, agent_style, agents_of
from taulong.value.metrics import MODES, scores, solved

STAGES = {
    "written": "the agent wrote its notebook in an earlier case of the shift",
    "kept": "and the text it is shown tells the fix, by its tool or in words, and no other",
    "applied": "and it committed the recurring fix",
    "resolved": "and the official reward is 1",
}
EVIDENCE_COLUMNS = ("agent", "memory_mode", "stage", "meaning", "cases", "total", "share", "outside", "shifts")


def evidence_table(table: pd.DataFrame, corrective_tools: Mapping[str, str], mode: str = "notebook") -> pd.DataFrame:
    """Return how many testing cases reach each stage from written to resolved, per agent; each stage implies the last.

    Args:
        corrective_tools: the corrective tool of every cause.
        mode: the memory mode whose cases are followed.

    The stages, from the fields of the record (``STAGES`` has the words): notebook_writes > 0 in an earlier case of the
    shift; fix_in_notebook; the commitment is the corrective tool of the recurring cause, or another one that resolved the case;
    official_reward is 1. ``outside`` is how many cases were resolved without passing all stages: lucky guesses. Empty where the mode
    was not run; a case of several trials counts once for each.

    Columns: agent, memory_mode, stage, meaning, cases, total, share, outside, shifts, partial.
    """
    table = table[table["memory_mode"] == check_name("mode", mode, dict.fromkeys([*MODES, *table["memory_mode"]]))]
    if unknown := set(table["recurring_cause"].dropna()) - set(corrective_tools):
        given = ", ".join(corrective_tools)
        raise ConfigError(f"corrective_tools: none for {', '.join(sorted(unknown))}; given for {given}")
    shift = ["shift_id", "trial"] if "trial" in table else ["shift_id"]  # each trial of a shift has its own notebook
    rows = []
    for agent in agents_of(table):
        own = table[table["agent"] == agent].sort_values([*shift, "position"])
        writes = own["notebook_writes"].fillna(0).astype(float)
        earlier = writes.groupby([own[field] for field in shift]).cumsum() - writes
        own = own.assign(written=earlier > 0, resolved=solved(scores(own, "official_reward")))
        own = own[(own["population"] == "testing") & (own["outcome"] == "scored")]
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
                "total": len(own), "share": count / len(own) if len(own) else float("nan"),
                "outside": int((own["resolved"] & ~reached).sum()), "shifts": own["shift_id"].nunique(),
            })  # fmt: skip
    return marked(table, pd.DataFrame(rows, columns=EVIDENCE_COLUMNS).astype({"share": float}))


@plt.rc_context(STYLE)
def plot_evidence(table: pd.DataFrame) -> Figure:
    """Return the figure of evidence_table: a column per agent, a bar per stage, with the cases that reach it."""
    if table.empty:
        return empty_figure("Where evidence is lost: the memory mode was not run.", table)
    agents = agents_of(table)
    outside = ", ".join(f"{agent} {int(table.loc[table['agent'] == agent, 'outside'].iloc[0])}" for agent in agents)
    caption = (
        f"Testing cases under {only(table, 'memory_mode')} that reach each stage. "
        + "; ".join(f"{stage}: {meaning}" for stage, meaning in STAGES.items())
        + f". Counts, no interval; n = {count_of(table['total'], 'case')} of "
        f"{count_of(table['shifts'], 'shift')} an agent. Resolved outside this chain: {outside}."
    )
    figure, panels = new_panels(1, len(agents), 1.5, caption, table, sharey=True)
    for agent, panel in zip(agents, panels[0], strict=False):
        own = table[table["agent"] == agent]
        at = [list(STAGES).index(stage) for stage in own["stage"]]
        panel.barh(at, own["share"], color=agent_style(agent, agents)["color"], height=0.7)
        for y, row in zip(at, own.itertuples(), strict=False):
            panel.text(row.share + 0.03, y, f"{row.cases}", va="center")
        panel.set(xlim=(0, 1.2), xticks=(0, 0.5, 1), ylim=(len(STAGES) - 0.5, -0.5), xlabel="share of cases")
        panel.set_yticks(range(len(STAGES)), list(STAGES))
    finish(figure, panels, agents, None)
    return figure
