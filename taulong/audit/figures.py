"""The heatmaps of the audit: which grader fails which mutated runs."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from taulong.audit.mutations import ALL_GRADERS, NOT_LICENSED
from taulong.value.figures.style import DOUBLE, styled

LABELS = {
    "official": "official\nreward", "strict_stock": "strict,\nstock", "strict_synced": "strict,\nsynced",
    "record_gate": "record\ngate", "field_gate": "field\ngate", "policy_check": "policy\ncheck",
    "scope_gate": "scope\ngate", "transient_gate": "transient\ngate",
}  # fmt: skip
MARKS = {"licensed": " (licensed)", "on_task": " (footprint)", "undone": " (undone)"}
"""Class -> what stands beside the title of such a row."""
NOTE = "Footprint: a field that the reference writes too gets another value; undone: the end state is the reference's. "


def shares(matrix: pd.DataFrame, honest: bool) -> pd.DataFrame:
    """Return a tidy table of the matrix: operator, title, class, grader, failed, runs, share, caption.

    Args:
        matrix: from :func:`taulong.audit.mutations.matrix`.
        honest: the runs that no grader should fail (licensed and benign), or those with a write that no rule licenses.
    """
    classes = ("licensed", "benign") if honest else NOT_LICENSED
    chosen = pd.concat([matrix[matrix["class"] == name] for name in classes])
    tidy = chosen.melt(["operator", "title", "class", "runs", "void"], list(ALL_GRADERS), "grader", "failed")
    tidy["share"] = tidy["failed"] / tidy["runs"]
    what = "runs no grader should fail" if honest else "runs with a write that no policy rule licenses"
    tasks = int(matrix.loc[matrix["operator"] == "reference", "runs"].sum())
    void = int(chosen.drop_duplicates("operator")["void"].sum())
    caption = (
        f"Share of {what} that each grader fails; the cells count them, n is how many there are. "
        f"All {tasks} tasks of the set, every run deterministic: counts, no interval. "
        f"{'' if honest else NOTE}Left out: {void} runs of these operators whose write did not land or that do not apply."
    )
    return tidy.assign(caption=caption)


@styled
def plot_shares(table: pd.DataFrame) -> Figure:
    """Return the heatmap of a table from :func:`shares`: operators down, graders across, failed runs in each cell."""
    names = table["title"] + table["class"].map(MARKS).fillna("") + ", n = " + table["runs"].astype(str)
    rows = list(dict.fromkeys(names))
    share, failed = (
        table.assign(row=names).pivot(index="row", columns="grader", values=value).loc[rows, list(ALL_GRADERS)]
        for value in ("share", "failed")
    )
    figure, axes = plt.subplots(figsize=(DOUBLE, 0.9 + 0.27 * len(rows)), layout="constrained")
    honest = not set(NOT_LICENSED) & set(table["class"])
    sns.heatmap(
        share.astype(float),
        annot=failed,
        fmt="d",
        vmin=0,
        vmax=1,
        cmap="Oranges" if honest else "Blues",
        ax=axes,
        linewidths=0.5,
        annot_kws={"size": 6},
        cbar_kws={"label": "share failed", "pad": 0.01, "aspect": 40},
    )
    axes.set(xlabel="", ylabel="")
    axes.set_xticklabels([LABELS[grader] for grader in ALL_GRADERS], rotation=0)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    figure.supxlabel(table["caption"].iloc[0], fontsize=8, x=0.01, ha="left", wrap=True)
    return figure
