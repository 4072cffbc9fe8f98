"""What each reward of tau2 sees, in both directions: inaction and stray writes that are paid, honest work that is not."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from taulong import backend
from taulong.audit.domain_runs import Gold, build_gold, outcome, play_run
from taulong.audit.inaction import basis, gold_health, inaction
from taulong.audit.target_frame import judge_state
from taulong.audit.variations import make_variations
from taulong.backend import Task
from taulong.domains.domain import DOMAINS, find_domain
from taulong.domains.state import changes
from taulong.errors import ConfigError, check_name
from taulong.progress import progress_bar

QUESTIONS = {
    "nothing": "doing nothing is paid",
    "stray": "a forbidden extra write is paid",
    "honest": "correct work in another form is refused",
}


@dataclass(frozen=True)
class DomainAuditConfig:
    """What is audited, in both directions.

    Attributes:
        domains: in the order of tables and figure.
        tasks: split of telecom's tasks, ``small`` (20), ``base`` (114) or ``full`` (2,285); other domains are taken whole.

    Raises ConfigError naming the near match, also for a domain that the installed tau2 does not have.
    """

    domains: tuple[str, ...] = ("airline", "retail", "telecom")
    tasks: str = "small"

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", tuple(self.domains))
        check_name("tasks", self.tasks, ("small", "base", "full"))
        if not self.domains or len(set(self.domains)) != len(self.domains):
            raise ConfigError(f"domains: {self.domains!r}; accepted: one or more of {', '.join(DOMAINS)}, each once")
        for domain in self.domains:
            check_name("domains", domain, DOMAINS)
            check_name("domains", domain, backend.registry.get_domains())


def domain_tasks(domain: str, split: str = "full") -> tuple[Task, ...]:
    """Return a domain's tasks that have criteria; a split of telecom (``small``, ``base``, ``full``), else all."""
    check_name("domain", domain, DOMAINS)
    tasks = backend.telecom_tasks(split) if domain.startswith("telecom") else backend.domain_tasks(domain)
    return tuple(task for task in tasks if task.evaluation_criteria is not None)


def audit_domain(domain: str, split: str = "full", progress: bool = True) -> dict[str, pd.DataFrame]:
    """Return the tables of a domain's audit: ``inaction``, ``variations`` (a row a run) and ``health``.

    The columns of ``variations`` are domain, task_id, basis, operator, detail, kind, reason, known_bug, outcome, and what the
    gate says: gate (pass or fail), target, frame, form. ``witness`` names the fields that end otherwise than the reference's.
    """
    tasks = domain_tasks(domain, split)
    golds, rows = [], []
    with progress_bar(len(tasks), unit=f"task of {domain}", show=progress) as bar:
        for task in tasks:
            golds.append(build_gold(task, domain))
            rows += variation_rows(golds[-1])
            bar.update()
    return {
        "inaction": inaction(golds),
        "variations": pd.DataFrame(rows, columns=VARIATION_COLUMNS),
        "health": gold_health(golds),
    }


VARIATION_COLUMNS = (
    "domain", "task_id", "basis", "operator", "detail", "kind", "reason", "known_bug", "outcome", "gate", "target", "frame", "form", "witness",
)  # fmt: skip


def variation_rows(gold: Gold) -> list[dict]:
    """Return one row a variation of a task: what the official reward and the gate say of it."""
    bugs, rows = find_domain(gold.domain).known_bugs, []
    for made in make_variations(gold):
        run = play_run(gold.task, gold.domain, made.steps)
        parts = judge_state(gold, changes(run.environment))
        rows.append(
            {
                "domain": gold.domain,
                "task_id": gold.task.id,
                "basis": basis(gold.task),
                "operator": made.operator,
                "detail": made.detail,
                "kind": made.kind,
                "reason": made.reason,
                "known_bug": made.reason in bugs.values(),
                "outcome": outcome(gold, run),
                "gate": "pass" if parts.passed else "fail",
                "target": parts.target,
                "frame": parts.frame,
                "form": parts.form,
                "witness": ";".join(change.path for change in (*parts.verdict.outside, *parts.verdict.target)),
            }
        )
    return rows


def directions(tables: Sequence[dict[str, pd.DataFrame]]) -> pd.DataFrame:
    """Return one row a domain, reward and question: in how many tasks it holds, of how many it could.

    Args:
        tables: of :func:`audit_domain`, one a domain.

    Columns: domain, reward (``official``, or ``target and frame``: the official one times the gate), question, count, of,
    share, judge (tasks in which a judge decides, counted in ``of`` and not in ``count``). A task counts for ``stray`` if
    any write beside its reference is paid, and for ``honest`` if any honest form of its reference is refused; forms that
    a known fault of tau2's turns into another state count for the official reward and not for the gate.
    """
    rows = []
    for found in tables:
        idle = found["inaction"][found["inaction"]["variant"] == "nothing"]
        made = found["variations"]
        wrong = made[made["operator"].isin(("stray", "beside"))]
        honest = made[(made["kind"] == "honest") & (made["operator"] != "read")]  # a read more is no form of the work
        domain = idle["domain"].iloc[0]
        refused = honest["outcome"] == "0"
        judge = (idle["outcome"] == "judge decides").sum()
        rows.append((domain, "official", "nothing", (idle["outcome"] == "1").sum(), len(idle), judge))
        rows.append((domain, "official", "stray", *_tasks(wrong, wrong["outcome"] == "1"), *_judged(wrong)))
        rows.append((domain, "official", "honest", *_tasks(honest, refused), *_judged(honest)))
        gated = wrong["outcome"].isin(("1", "judge decides")) & (wrong["gate"] == "pass")
        rows.append((domain, "target and frame", "stray", *_tasks(wrong, gated), 0))
        fair = honest[~honest["known_bug"]]
        rows.append((domain, "target and frame", "honest", *_tasks(fair, fair["gate"] == "fail"), 0))
    table = pd.DataFrame(rows, columns=["domain", "reward", "question", "count", "of", "judge"])
    return table.assign(share=table["count"] / table["of"].where(table["of"] > 0))


def _tasks(runs: pd.DataFrame, holds: pd.Series) -> tuple[int, int]:
    """Return (tasks with a run for which it holds, tasks with a run)."""
    return runs.loc[holds, "task_id"].nunique(), runs["task_id"].nunique()


def _judged(runs: pd.DataFrame) -> tuple[int]:
    return (runs.loc[runs["outcome"] == "judge decides", "task_id"].nunique(),)


def audit_domains(config: DomainAuditConfig, progress: bool = True) -> dict[str, pd.DataFrame]:
    """Return the tables of all domains: ``directions``, ``idle``, ``operators``, ``health`` and, a row a run, ``inaction`` and
    ``variations``."""
    found = [audit_domain(domain, config.tasks, progress) for domain in config.domains]
    whole = {name: pd.concat([tables[name] for tables in found], ignore_index=True) for name in found[0]}
    return {"directions": directions(found), "idle": idle_counts(found), "operators": operator_counts(found), **whole}


def direction_metrics(tables: dict[str, pd.DataFrame]) -> dict:
    """Return the numbers of the tables by name: ``airline, official, nothing`` -> count, of, judge; gold that fails."""
    rows = tables["directions"].to_dict("records")
    health = tables["health"]
    failing = health[health["failing"] != ""]
    return {
        "directions": {
            f"{row['domain']}, {row['reward']}, {row['question']}": {
                name: int(row[name]) for name in ("count", "of", "judge")
            }
            for row in rows
        },
        "gold_with_failing_calls": failing.groupby("domain").size().to_dict(),
        "gold_with_failing_writes": failing[failing["failing_writes"] != ""].groupby("domain").size().to_dict(),
        "gold_that_changes_nothing": health[health["changes_nothing"]].groupby("domain").size().to_dict(),
        "runs": len(tables["variations"]) + len(tables["inaction"]),
    }


def operator_counts(tables: Sequence[dict[str, pd.DataFrame]]) -> pd.DataFrame:
    """Return one row a domain, operator and kind: runs, how many are paid, refused or left to a judge, and the gate's word.

    Columns: domain, operator, kind, runs, paid, refused, judge, gate_pass, gate_fail, known_bug.
    """
    made = pd.concat([found["variations"] for found in tables], ignore_index=True)
    groups = made.groupby(["domain", "operator", "kind"], sort=False)
    return groups.agg(
        runs=("outcome", "size"),
        paid=("outcome", lambda outcomes: (outcomes == "1").sum()),
        refused=("outcome", lambda outcomes: (outcomes == "0").sum()),
        judge=("outcome", lambda outcomes: (outcomes == "judge decides").sum()),
        gate_pass=("gate", lambda gates: (gates == "pass").sum()),
        gate_fail=("gate", lambda gates: (gates == "fail").sum()),
        known_bug=("known_bug", "sum"),
    ).reset_index()


def idle_counts(tables: Sequence[dict[str, pd.DataFrame]]) -> pd.DataFrame:
    """Return one row a domain and basis: tasks, and how many pay for each variant that works nothing off, or a part.

    Columns: domain, basis, tasks, nothing, strings, transfer, reference, less (tasks in which the reference is paid with
    some write left out), judge (tasks in which a judge decides whether doing nothing is paid).
    """
    made = pd.concat([found["inaction"] for found in tables], ignore_index=True)
    rows = []
    for (domain, name), group in made.groupby(["domain", "basis"], sort=False):
        paid = group[group["outcome"] == "1"]
        first = {
            variant: (paid["variant"] == variant).sum() for variant in ("nothing", "strings", "transfer", "reference")
        }
        idle = group[group["variant"] == "nothing"]
        rows.append(
            {
                "domain": domain,
                "basis": name,
                "tasks": len(idle),
                **first,
                "less": paid.loc[paid["variant"].str.startswith("without "), "task_id"].nunique(),
                "judge": (idle["outcome"] == "judge decides").sum(),
            }
        )
    return pd.DataFrame(rows)
