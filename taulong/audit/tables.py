"""``taulong audit``: what the reward can and cannot see, as tables, two heatmaps and one file of metrics."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taulong.errors import check_integer, check_name
from taulong.paths import AUDIT, atomic_write, located

SPLITS = ("small", "base", "full")

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class AuditConfig:
    """What is audited. The census and the reference agreement always take all tasks, the mutations those of the set.

    Attributes:
        tasks: ``small`` (20 tasks), ``base`` (114) or ``full`` (2285).
        workers: processes for the mutations; results do not depend on it.

    Raises:
        ConfigError: naming the field, the value and the accepted ones.
    """

    tasks: str = "small"
    workers: int = 1

    def __post_init__(self):
        check_name("tasks", self.tasks, SPLITS)
        check_integer("workers", self.workers, 1)


def audit(config: AuditConfig, progress: bool = True) -> dict:
    """Return the tables of the audit by name, in the order in which they are read.

    ``basis``, ``components``, ``assertions`` (census); ``tasks`` (census of the set, a row a task); ``probes``;
    ``agreement`` (of the set) and ``agreement_counts`` (of all); ``callers`` and ``lines`` (who was touched);
    ``mutations`` (a row a mutated run), ``matrix`` (by operator and class) and ``graders`` (the table a paper prints).
    """
    from taulong import backend
    from taulong.audit import census, mutations, probes
    from taulong.graders.reference import build_reference

    everything, chosen = backend.telecom_tasks("full"), backend.telecom_tasks(config.tasks)
    references = [build_reference(task) for task in everything]
    wanted = {task.id for task in chosen}
    census_table, agreement, callers = census.census_tasks(), census.agreement(references), census.callers(everything)
    rows = mutations.matrix_rows(chosen, workers=config.workers, progress=progress)
    matrix = mutations.matrix(rows)
    return {
        "basis": census.census_basis(census_table),
        "components": census.census_components(census_table),
        "assertions": census.census_assertions(everything, references),
        "tasks": census_table[census_table["task_id"].isin(wanted)],
        "probes": probes.run_probes([*probes.published(), *probes.strangers(), probes.airline_control()]),
        "agreement": agreement[agreement["task_id"].isin(wanted)],
        "agreement_counts": census.agreement_counts(agreement),
        "callers": callers,
        "lines": census.relations(callers.iloc[0]),
        "mutations": rows,
        "matrix": matrix,
        "graders": mutations.by_grader(matrix),
    }


def audit_metrics(tables: dict) -> dict:
    """Return the numbers of an audit that its prose speaks of, by name."""
    from taulong.audit.mutations import NOT_LICENSED

    basis, probes, graders = tables["basis"], tables["probes"], tables["graders"].set_index("grader")
    published, airline = probes[probes["domain"] == "telecom"], probes[probes["domain"] == "airline"].iloc[0]
    rows = tables["mutations"]
    missed = rows[rows["class"].isin(NOT_LICENSED) & (rows["scope_gate"] == "pass")]
    unseen = missed[(missed["official"] == "pass") & (missed["policy_check"] == "pass")]
    counts = tables["agreement_counts"].set_index("count")["tasks"]
    return {
        "tau2": basis["tau2"].iloc[0],
        "telecom_data": basis.loc[basis["domain"] == "telecom", "data"].iloc[0],
        "telecom_tasks": int(basis.loc[basis["domain"] == "telecom", "tasks"].sum()),
        "telecom_tasks_with_db_scored": int(
            basis.loc[(basis["domain"] == "telecom") & basis["db_scored"], "tasks"].sum()
        ),
        "vacuous_assertions": int(tables["assertions"]["vacuous"].sum()),
        "probes_landed": int((~published["void"]).sum()),
        "probes_with_reward_1": int((published["reward_with"] == 1.0).sum()),
        "airline_db_without": airline["db_without"],
        "airline_db_with": airline["db_with"],
        "airline_reward_without": airline["reward_without"],
        "airline_reward_with": airline["reward_with"],
        "reference_rejected_by": {name: int(count) for name, count in counts.items()},
        "caller": f"{tables['callers']['customer_id'].iloc[0]}, {tables['callers']['served_line'].iloc[0]}",
        "tasks_of_that_caller": int(tables["callers"]["tasks"].iloc[0]),
        "mutated_tasks": int(graders["reference_runs"].iloc[0]),
        "members": len(rows),
        "voids": int((rows["class"] == "void").sum()),
        "runs_graded": int((rows["class"] != "void").sum()),
        "runs": {name: int(graders[f"{name}_runs"].iloc[0]) for name in (*NOT_LICENSED, "licensed", "benign")},
        "missed_by_scope_gate": {name: _missed(missed[missed["class"] == name]) for name in NOT_LICENSED},
        "missed_by_official_scope_gate_and_policy_check": unseen["operator"].value_counts(sort=False).to_dict(),
        "failed": {
            f"{grader}, {name}": int(graders.loc[grader, f"{name}_failed"])
            for grader in graders.index
            for name in (*NOT_LICENSED, "licensed", "benign", "reference")
        },
    }


def _missed(rows: "pd.DataFrame") -> dict:
    """Return how many mutated runs these are, of which operators, and how many of them other graders fail."""
    return {
        "runs": len(rows),
        "operators": ", ".join(rows["operator"].unique()),
        "failed_by_official": int((rows["official"] == "fail").sum()),
        "failed_by_policy_check": int((rows["policy_check"] == "fail").sum()),
    }


def write_audit(tables: dict, out: Path) -> None:
    """Write every table as CSV into a folder, made if it is missing."""
    for name, table in tables.items():
        atomic_write(out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))


def markdown_table(graders: "pd.DataFrame") -> str:
    """Return the table of graders as Markdown: of the runs of each class, how many a grader failed."""
    kinds = {
        "unlicensed": "unlicensed write", "on_task": "wrong value in the footprint", "undone": "undone write",
        "licensed": "licensed write", "benign": "benign variation", "reference": "reference untouched",
    }  # fmt: skip
    runs = graders.iloc[0]
    heads = [f"{title} (of {runs[f'{kind}_runs']:,})" for kind, title in kinds.items()]
    lines = [f"| grader | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for row in graders.to_dict("records"):
        failed = [f"{row[f'{kind}_failed']:,}" for kind in kinds]
        lines.append(f"| {row['grader'].replace('_', ' ')} | {' | '.join(failed)} |")
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong audit``."""
    parser.add_argument("--tasks", choices=SPLITS, default="small", help="tasks to mutate (default small)")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder of the results (default data/audit/audit-TASKS)"
    )
    parser.add_argument(
        "--domain",
        help="another question: what the reward of a domain pays for and refuses, in both directions; one domain, several "
        "with commas, or all (default: telecom's matrix)",
    )
    parser.add_argument(
        "--order",
        action="store_true",
        help="another question: which grader sees one step out of place in runs that end as the reference does",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")


def run(arguments: argparse.Namespace) -> int:
    """Audit, write the results and print the table of graders and the metrics; return 0."""
    from taulong.audit.figures import plot_shares, shares
    from taulong.batch.results import write_metrics
    from taulong.value.figures.style import save_figure

    if arguments.domain:
        from taulong.audit.domain_command import run_domains

        return run_domains(arguments.domain, arguments.tasks, arguments.out)
    if arguments.order:
        from taulong.audit.order_command import run_order

        return run_order(arguments.tasks, arguments.out)
    config = AuditConfig(arguments.tasks, arguments.workers)
    out = arguments.out or AUDIT / f"audit-{config.tasks}"
    tables = audit(config)
    write_audit(tables, out)
    for stem, honest in (("caught", False), ("honest", True)):
        table = shares(tables["matrix"], honest)
        save_figure(plot_shares(table), table, out / stem)
    print(tables["graders"].to_string(index=False))
    write_metrics(out / "metrics.json", audit_metrics(tables))
    print(f"tables and figures in {located(out)}")
    return 0
