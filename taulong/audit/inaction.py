"""What a reward pays for doing nothing, and for the reference with a write left out; and how sound the gold itself is."""

from collections.abc import Iterator, Sequence

import pandas as pd

from taulong.audit.domain_runs import Gold, begin, is_write, outcome, play_run, reference_steps, strings
from taulong.audit.scripts import call, gold_calls
from taulong.backend import Task, ToolCall
from taulong.frame.delta import same

TRANSFER = "transfer_to_human_agents"


def variants(gold: Gold) -> Iterator[tuple[str, list[ToolCall | str]]]:
    """Yield (variant, steps) of a task: nothing, the strings, a transfer, the reference, the reference less each write."""
    task, environment = gold.task, begin(gold.task, gold.domain)
    yield "nothing", []
    yield "strings", list(strings(task))
    if environment.tools.has_tool(TRANSFER):
        yield "transfer", [call(TRANSFER, summary="The customer asks for a human.")]
    yield "reference", reference_steps(task)
    for position, asked in enumerate(gold_calls(task)):
        if asked.requestor == "assistant" and is_write(environment, asked.name):
            steps = reference_steps(task)
            yield f"without {position}:{asked.name}", [*steps[:position], *steps[position + 1 :]]


def inaction(golds: Sequence[Gold]) -> pd.DataFrame:
    """Return one row a task and variant: domain, task_id, basis, variant, outcome (``1``, ``0`` or ``judge decides``)."""
    return pd.DataFrame(
        [
            {
                "domain": gold.domain,
                "task_id": gold.task.id,
                "basis": basis(gold.task),
                "variant": variant,
                "outcome": outcome(gold, play_run(gold.task, gold.domain, steps)),
            }
            for gold in golds
            for variant, steps in variants(gold)
        ]
    )


def gold_health(golds: Sequence[Gold]) -> pd.DataFrame:
    """Return one row a task whose gold is not sound: calls that fail, and whether the gold changes anything at all.

    Columns: domain, task_id, failing (``position:tool``), failing_writes, writes, changes_nothing (it has writes, and
    the database ends as it was), unread (criteria that no part of the basis reads).
    """
    rows = []
    for gold in golds:
        environment = begin(gold.task, gold.domain)
        writes = [asked for asked in gold_calls(gold.task) if is_write(environment, asked.name)]
        failing = [f"{position}:{tool}" for position, tool, _ in gold.failing]
        failing_writes = [f"{position}:{tool}" for position, tool, writing in gold.failing if writing]
        nothing = bool(writes) and same(gold.changes, gold.initial)
        unread = _unread(gold.task)
        if failing or nothing or unread:
            rows.append(
                {
                    "domain": gold.domain,
                    "task_id": gold.task.id,
                    "failing": ";".join(failing),
                    "failing_writes": ";".join(failing_writes),
                    "writes": len(writes),
                    "changes_nothing": nothing,
                    "unread": unread,
                }
            )
    columns = ["domain", "task_id", "failing", "failing_writes", "writes", "changes_nothing", "unread"]
    return pd.DataFrame(rows, columns=columns)


def basis(task: Task) -> str:
    """Return the reward basis of a task, its parts joined by " + "."""
    return " + ".join(part.value for part in task.evaluation_criteria.reward_basis)


def _unread(task: Task) -> str:
    """Return the criteria that are filled in and not part of the basis, and parts of the basis with nothing to read."""
    criteria = task.evaluation_criteria
    filled = {
        "ENV_ASSERTION": criteria.env_assertions,
        "COMMUNICATE": criteria.communicate_info,
        "NL_ASSERTION": criteria.nl_assertions,
    }
    named = {part.value for part in criteria.reward_basis}
    return ";".join(name for name, content in filled.items() if content and name not in named)
