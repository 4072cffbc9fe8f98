"""The audit's tables and figure: what each harness pays beside an accident, and what the frame says."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from taulong.errors import DataError
from taulong.harness.audit import AuditedRun
from taulong.paths import atomic_write, shown

WITHOUT_TRACE = ("touch_only", "suspend_and_resume")
"""What end states do not show: a file touched, its content as it was, and a write that is undone again."""
COLUMNS = ("harness", "task", "does", "reward", "frame", "outside", "reason")


def group_of(row: dict) -> str:
    """Return the group of tasks a row is counted in: of Inspect the task, Harbor's all together."""
    return f"inspect {row['task'].partition('/')[0]}" if row["harness"] == "inspect" else row["harness"]


def summary(rows: Sequence[dict] | pd.DataFrame) -> pd.DataFrame:
    """Return one row for each group and thing done: how many runs, how many are paid, and how the frame judges them.

    Columns: ``group``, ``does``, ``runs`` (without void ones), ``paid`` (reward above 0), ``kept``, ``left``,
    ``not_evaluated``, and ``paid_and_left`` (rewarded although the frame fails).
    """
    table = pd.DataFrame(rows)
    table["group"] = [group_of(row) for row in table.to_dict("records")]
    table = table[table["frame"] != "void"]
    paid = table["reward"].fillna(0) > 0
    columns = {
        "runs": table["frame"].notna(),
        "paid": paid,
        "kept": table["frame"] == "pass",
        "left": table["frame"] == "fail",
        "not_evaluated": table["frame"] == "not_evaluated",
        "paid_and_left": paid & (table["frame"] == "fail"),
    }
    counted = table[["group", "does"]].assign(**columns)
    return counted.groupby(["group", "does"], sort=False).sum().astype(int).reset_index()


def write_tables(rows: Sequence[AuditedRun], folder: Path) -> None:
    """Write ``runs.csv``, a row a run, and ``summary.csv``."""
    table = pd.DataFrame([row.row() for row in rows], columns=list(COLUMNS))
    for name, found in (("runs", table), ("summary", summary(table))):
        atomic_write(folder / f"{name}.csv", found.to_csv(index=False, lineterminator="\n"))


def read_runs(folder: Path) -> pd.DataFrame:
    """Return the rows that :func:`write_tables` has written, a row a run; raises DataError where there are none."""
    path = folder / "runs.csv"
    if not path.is_file():
        raise DataError(f"{shown(path)}: does not exist; taulong frame audit writes it")
    return pd.read_csv(path)


def audit_metrics(runs: pd.DataFrame) -> dict:
    """Return the numbers that the notebook's prose speaks of."""
    done = runs[runs["frame"] != "void"]
    paid = done["reward"].fillna(0) > 0
    trace = ~done["does"].isin(["reference", "nop", *WITHOUT_TRACE])
    return {
        "runs": len(runs),
        "void": int((runs["frame"] == "void").sum()),
        "not_evaluated": int((done["frame"] == "not_evaluated").sum()),
        "harbor_tasks": int(runs.loc[runs["harness"] == "harbor", "task"].nunique()),
        "inspect_samples": int(runs.loc[runs["harness"] == "inspect", "task"].nunique()),
        "references_failed_by_frame": int(((done["does"] == "reference") & (done["frame"] == "fail")).sum()),
        "nops_failed_by_frame": int(((done["does"] == "nop") & (done["frame"] == "fail")).sum()),
        "accidents": int(trace.sum()),
        "accidents_paid": int((trace & paid).sum()),
        "accidents_paid_and_failed_by_frame": int((trace & paid & (done["frame"] == "fail")).sum()),
        "without_trace_failed_by_frame": int((done["does"].isin(WITHOUT_TRACE) & (done["frame"] == "fail")).sum()),
    }


def shares(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the figure's numbers: of each group and thing done, the share paid and the share that leaves the frame."""
    return counts.assign(paid=counts["paid"] / counts["runs"], left=counts["left"] / counts["runs"])[
        ["group", "does", "runs", "paid", "left"]
    ]


def plot_audit(table: pd.DataFrame) -> Figure:
    """Return the figure: a panel for each group, what is paid in grey and what the frame fails in colour."""
    groups = list(dict.fromkeys(table["group"]))
    most = int(table.groupby("group").size().max())
    figure = Figure(figsize=(3.0 * len(groups) + 1, 0.34 * most + 1.2), layout="constrained")
    for place, group in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups, strict=True):
        part = table[table["group"] == group].iloc[::-1]
        ticks = range(len(part))
        place.barh([tick + 0.2 for tick in ticks], part["paid"], 0.38, color="0.6", label="paid by the harness")
        place.barh([tick - 0.2 for tick in ticks], part["left"], 0.38, color="#0072b2", label="failed by the frame")
        place.set_yticks(
            list(ticks), [f"{does} ({runs})" for does, runs in zip(part["does"], part["runs"], strict=True)]
        )
        place.set(title=group, xlim=(0, 1), xlabel="share of runs")
    figure.legend(*place.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
