"""What the reward of each task is made of, what its checks read, and where the stock database check stands.

Counts over the tasks of whatever tau2 is installed; its version and data digest are columns of the tables.
"""

import enum
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from unittest import mock

import pandas as pd
from pydantic import BaseModel

from taulong import backend
from taulong.audit.scripts import gold_calls, play_in
from taulong.backend import EnvAssertion, Environment, Task, TelecomEnvironment, database_contents, domain_tasks
from taulong.graders.official import is_vacuous
from taulong.graders.policy import Write, caller_of
from taulong.graders.reference import Reference, hashes, start

DOMAINS = ("telecom", "airline", "retail")


def census_tasks(domains: Iterable[str] = DOMAINS) -> pd.DataFrame:
    """Return one row a task: what tau2 computes for it, and what of that its reward basis scores.

    Columns: domain, task_id, basis, computed, scored, unscored (components joined by " + "), assertions, gold_actions.
    The database check is computed for every task with criteria; other components where the task has something to check.
    """
    rows = []
    for domain in domains:
        for task in domain_tasks(domain):
            criteria = task.evaluation_criteria
            content = {
                "DB": True,
                "ENV_ASSERTION": criteria.env_assertions,
                "ACTION": criteria.actions,
                "COMMUNICATE": criteria.communicate_info,
                "NL_ASSERTION": criteria.nl_assertions,
            }
            basis = [part.value for part in criteria.reward_basis]
            computed = [name for name, has in content.items() if has]
            rows.append(
                {
                    "domain": domain,
                    "task_id": task.id,
                    "basis": " + ".join(basis),
                    "computed": " + ".join(computed),
                    "scored": " + ".join(name for name in computed if name in basis),
                    "unscored": " + ".join(name for name in computed if name not in basis),
                    "assertions": ";".join(assertion.func_name for assertion in criteria.env_assertions or ()),
                    "gold_actions": len(criteria.actions or ()),
                }
            )
    return pd.DataFrame(rows)


def census_basis(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the number of tasks by domain and reward basis, with the installed tau2 and each domain's data digest."""
    tau2 = backend.installation()
    counts = tasks.groupby(["domain", "basis"], sort=False).size().rename("tasks").reset_index()
    counts["db_scored"] = counts["basis"].str.split(" + ", regex=False).map(lambda basis: "DB" in basis)
    return counts.assign(tau2=f"{tau2.distribution} {tau2.version}", data=counts["domain"].map(backend.data_digest))


def census_components(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the number of tasks by domain and by what is computed, what of that is scored, and what is not."""
    return tasks.groupby(["domain", "computed", "scored", "unscored"], sort=False).size().rename("tasks").reset_index()


def census_assertions(
    tasks: Sequence[Task], references: Sequence[Reference], measured: Collection[str] | None = None
) -> pd.DataFrame:
    """Return one row an assertion function: how many tasks have it, how often it is vacuous, and the fields it reads.

    ``reads`` is measured: every assertion is evaluated in its task's initial and reference state while the attributes
    it takes from database records are recorded (``measured``: ids of the tasks to do so for; default all). A branch
    that none of them enters is not seen.
    """
    counts, vacuous, reads = Counter(), Counter(), {}
    for task, reference in zip(tasks, references, strict=True):
        for assertion in task.evaluation_criteria.env_assertions or ():
            counts[assertion.func_name] += 1
            vacuous[assertion.func_name] += is_vacuous(assertion, reference)
            if measured is None or task.id in measured:
                reads.setdefault(assertion.func_name, set()).update(read_by(assertion, reference))
    return pd.DataFrame(
        [
            {
                "assertion": name,
                "tasks": count,
                "vacuous": vacuous[name],
                "reads": ";".join(sorted(reads.get(name, ()))),
            }
            for name, count in counts.most_common()
        ]
    )


def read_by(assertion: EnvAssertion, reference: Reference) -> set[str]:
    """Return the fields (``Line.status``) that an assertion reads in the task's initial and in its reference state."""
    seen: set[str] = set()
    for agent, user in ((reference.initial, reference.user_initial), (reference.final, reference.user_final)):
        environment = backend.new_environment(
            database=backend.new_database(agent), user_database=backend.new_user_database(user)
        )
        toolkit = environment.user_tools if assertion.env_type == "user" else environment.tools
        with _recorded(environment, seen):
            getattr(toolkit, assertion.func_name)(**assertion.arguments)
    return seen


@contextmanager
def _recorded(environment: Environment, seen: set[str]):
    """Record every read of a field of the databases' records (reads that only lead to a record are left out)."""
    models = set()
    _collect(environment.tools.db, models)
    _collect(environment.user_tools.db, models)
    with ExitStack() as patches:
        for model in models:
            patches.enter_context(mock.patch.object(model, "__getattribute__", _recorder(model, seen)))
        yield


def _recorder(model: type[BaseModel], seen: set[str]):
    plain, fields = model.__getattribute__, model.model_fields

    def read(record, name):
        value = plain(record, name)
        if name in fields and (value is None or isinstance(value, (bool, int, float, str, enum.Enum))):
            seen.add(f"{model.__name__}.{name}")
        return value

    return read


def _collect(value, models: set) -> None:
    if isinstance(value, BaseModel):
        models.add(type(value))
        for name in type(value).model_fields:
            _collect(getattr(value, name), models)
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _collect(item, models)


# --- the reference and the stock database check -----------------------------------------------------------------------


def agreement(references: Sequence[Reference]) -> pd.DataFrame:
    """Return one row a task: which databases of each gold environment the untouched reference run agrees with.

    The run is played as every run is, synced after each call; tau2's gold environment never syncs, ours does. Columns:
    task_id, agent_database, user_database, stock (both, against tau2's gold), synced (both, against ours), footprint.
    """
    rows = []
    for reference in references:
        environment = start(reference.task, backend.new_environment)
        play_in(environment, gold_calls(reference.task))
        agent, user = hashes(environment)
        rows.append(
            {
                "task_id": reference.task.id,
                "agent_database": agent == reference.stock[0],
                "user_database": user == reference.stock[1],
                "stock": (agent, user) == reference.stock,
                "synced": (agent, user) == reference.synced,
                "footprint": ";".join(map(str, sorted(reference.footprint))),
            }
        )
    return pd.DataFrame(rows)


def agreement_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Return on how many tasks the stock check rejects the reference, and which database is to blame."""
    stock, agent, user = table["stock"], table["agent_database"], table["user_database"]
    counts = {
        "tasks": len(table),
        "stock gold": (~stock).sum(),
        "stock gold, user database only": (agent & ~user).sum(),
        "stock gold, both databases": (~agent & ~user).sum(),
        "stock gold, agent database only": (~agent & user).sum(),
        "synced gold": (~table["synced"]).sum(),
    }
    return pd.DataFrame(counts.items(), columns=["count", "tasks"])


# --- who was touched --------------------------------------------------------------------------------------------------


def callers(tasks: Sequence[Task]) -> pd.DataFrame:
    """Return who calls in how many tasks, from the tasks' own data: phone number, customer, name, served line."""
    counts: Counter = Counter()
    for task in tasks:
        environment: TelecomEnvironment = start(task, backend.new_environment)
        caller = caller_of(environment.user_tools.db.model_dump(), task)
        here = Write("", {}, "assistant", environment.tools.db.model_dump())
        customer, line = here.customer_of(caller), here.record("lines", "phone_number", caller.phone_number)
        counts[caller.phone_number, customer.get("customer_id"), customer.get("full_name"), line.get("line_id")] += 1
    return pd.DataFrame(
        [(*key, count) for key, count in counts.most_common()],
        columns=["phone_number", "customer_id", "full_name", "served_line", "tasks"],
    )


def relations(caller: pd.Series) -> pd.DataFrame:
    """Return how every line of the shipped database stands to a caller (a row of :func:`callers`).

    Columns: line_id, phone_number, status, owner_id, owner, relation (served line, other line of the caller's account,
    stranger).
    """
    contents, rows = database_contents(), []
    for line in contents["lines"]:
        owner = next(owner for owner in contents["customers"] if line["line_id"] in owner["line_ids"])
        own = "served line" if line["line_id"] == caller["served_line"] else "other line of the caller's account"
        rows.append(
            {
                "line_id": line["line_id"],
                "phone_number": line["phone_number"],
                "status": line["status"].value,
                "owner_id": owner["customer_id"],
                "owner": owner["full_name"],
                "relation": own if owner["customer_id"] == caller["customer_id"] else "stranger",
            }
        )
    return pd.DataFrame(rows)
