"""What an agent had seen before a case: not what the shift had taught, but what was visible to this agent in its run."""

import pandas as pd


def evidence_seen(table: pd.DataFrame) -> pd.Series:
    """Return, for each row, in how many earlier cases of its shift and arm its recurring cause was visible to the agent.

    Visible means that the phone has shown its cause or that the fix works (``evidence_shown`` of the record): in a
    teaching case to an agent that looks, and in a masked case after the commitment. So it counts what an agent teaches
    itself, which ``teaching_seen`` does not.

    Args:
        table: records with ``evidence_shown``; a case that is owed has shown nothing.
    """
    arm = [field for field in ("agent", "memory_mode", "shift_id", "trial") if field in table]
    ordered = table.sort_values("position", kind="stable")
    shown = ordered["evidence_shown"].eq(True)
    seen = pd.Series(0, index=ordered.index)
    for cause in ordered["recurring_cause"].dropna().unique():
        here = (shown & ordered["cause"].eq(cause)).astype(int)
        before = here.groupby([ordered[field] for field in arm]).cumsum() - here
        seen = seen.where(ordered["recurring_cause"] != cause, before)
    return seen.reindex(table.index)
