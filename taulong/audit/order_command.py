"""``taulong audit --order``: which grader sees one step out of place, as tables and a heatmap."""

from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from taulong.audit.order import ORDER_GRADERS, order_rows, order_table, order_tasks
from taulong.audit.tables import write_audit
from taulong.batch.results import write_metrics
from taulong.paths import AUDIT, located
from taulong.value.figures.style import DOUBLE, save_figure, styled

LABELS = {
    "scope_gate": "scope\ngate", "transient_gate": "scope gate,\ntransients", "policy_check": "policy\ncheck",
    "conduct_check": "conduct\ncheck", "privacy_check": "privacy\ncheck",
}  # fmt: skip


def run_order(tasks: str, out: Path | None) -> int:
    """Play the scripts on the tasks of a set, write tables and figure, print the table; return 0."""
    out = out or AUDIT / f"order-{tasks}"
    rows = order_rows(order_tasks(tasks))
    table = order_table(rows)
    write_audit({"order_runs": rows}, out)
    save_figure(plot_order(table), table.assign(caption=order_caption(rows)), out / "order")
    print(table.to_string(index=False))
    write_metrics(
        out / "metrics.json", {row["operator"]: row for row in table.drop(columns="title").to_dict("records")}
    )
    print(f"tables and figure in {located(out)}")
    return 0


@styled
def plot_order(table: pd.DataFrame) -> Figure:
    """Return the heatmap of :func:`taulong.audit.order.order_table`: of the runs with official reward 1, those failed."""
    import matplotlib.pyplot as plt

    graders = list(ORDER_GRADERS[1:])
    applied = table[table["runs"] > 0]
    counts = applied.set_index(applied["title"] + ", n = " + applied["official"].astype(str))[graders]
    share = counts.div(applied["official"].to_numpy(), axis=0).astype(float)
    figure, axes = plt.subplots(figsize=(DOUBLE, 1.0 + 0.27 * len(counts)), layout="constrained")
    sns.heatmap(
        share,
        annot=counts,
        fmt="d",
        vmin=0,
        vmax=1,
        cmap="Blues",
        ax=axes,
        linewidths=0.5,
        annot_kws={"size": 6},
        cbar_kws={"label": "share failed", "pad": 0.01, "aspect": 40},
    )
    axes.set(xlabel="", ylabel="")
    axes.set_xticklabels([LABELS[grader] for grader in graders], rotation=0)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    return figure


def order_caption(rows: pd.DataFrame) -> str:
    """Return the caption: what is counted, over how many tasks."""
    return (
        f"Runs with official reward 1 that each grader fails, n is how many there are, over {rows['task_id'].nunique()} tasks. "
        "Every run is deterministic: counts, no interval. An operator is played where it applies."
    )
