"""tau2 result files, read piece by piece, so that one damaged run does not take the others with it.

Two layouts: one file with everything (tau2 0.2, and ``<run>/results.json`` of 1.0), and 1.0's folder layout, a
``results.json`` without runs beside a folder ``simulations`` with one file a run. JSON Lines hold a run a line, and may
begin with what such a file holds beside its runs. The task and the policy are the installed ones unless one trusts the file.
"""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from taulong.backend import SimulationRun, Task, domain_environment, domain_tasks, policy, telecom_tasks
from taulong.errors import DataError, near
from taulong.regrade.files import damage, read_json

DOMAINS = {"telecom": "manual", "telecom-workflow": "workflow"}
"""Domain name in a result file -> policy type."""
OTHER_DOMAINS = ("airline", "retail")
"""Domains whose database is compared by target, frame and form; the policy check has no rules for them."""
UNKNOWN_ENDING = "too_many_errors"  # stands in for an ending that only another tau2 knows; like it, it is not a stop


@dataclass(frozen=True)
class Chosen:
    """The task by which a run is graded.

    Attributes:
        task: the task.
        other: the one of the same id that was not taken and differs, or None.
        note: what is to be said of the choice, or None.
    """

    task: Task
    other: Task | None = None
    note: str | None = None


@dataclass(frozen=True)
class ResultFile:
    """One tau2 result file.

    Attributes:
        name: the file's name; for a ``results.json``, with its folder's.
        domain: ``telecom``, ``telecom-workflow``, ``airline`` or ``retail``.
        solo_mode: whether the agent worked alone.
        runs: the runs as plain data, not yet validated.
        tasks: the file's own tasks as plain data, by id.
        policy: the policy the file says its agent had, or None where it says nothing.
    """

    name: str
    domain: str
    solo_mode: bool
    runs: tuple[dict, ...]
    tasks: dict[str, dict] = field(repr=False)
    policy: str | None = field(default=None, repr=False)

    @property
    def policy_type(self) -> str:
        """``manual`` or ``workflow``."""
        return DOMAINS[self.domain]

    @property
    def policy_note(self) -> str | None:
        """That the file's policy is not an installed one, or None. tau2 writes the policy of the other mode at times."""
        if self.domain in DOMAINS:
            installed = {policy(self.policy_type, solo)[1] for solo in (False, True)}
        else:
            installed = {domain_environment(self.domain).policy}
        if self.policy is None or self.policy in installed:
            return None
        return "the file's policy differs from the installed one; the rules are of the installed one"

    def task(self, task_id: str, trust: bool = False) -> Chosen:
        """Return the task of this id: the installed tau2's, or the file's own where it is trusted or tau2 has none.

        Raises:
            DataError: neither has it, or the file's own is damaged.
        """
        known = {
            task.id: task for task in (telecom_tasks("full") if self.domain in DOMAINS else domain_tasks(self.domain))
        }
        own = _validated(Task, self.tasks[task_id], f"task {task_id}") if task_id in self.tasks else None
        installed = known.get(task_id)
        if installed is None and own is None:
            close = near(task_id, [*self.tasks, *known])
            raise DataError(f"unknown task id {task_id!r}" + (f"; {close}" if close.startswith("did") else ""))
        if installed is None or own is None:
            only_own = f"the task is the file's own: the installed tau2 has no {task_id!r}"
            return Chosen(own or installed, None, only_own if installed is None else None)
        where = differing(installed.model_dump(mode="json"), own.model_dump(mode="json"))
        if not where:
            return Chosen(installed)
        task, other = (own, installed) if trust else (installed, own)
        taken = "the file's" if trust else "the installed one"
        return Chosen(
            task, other, f"the file's task differs from the installed one in {', '.join(where)}: graded by {taken}"
        )

    def simulation(self, run: dict) -> SimulationRun:
        """Return a run as tau2's model. Raises DataError where it is damaged, or has no messages or no ending.

        An ending that the installed tau2 does not know is read as one that is no stop; none at all is no ending.
        """
        if "damage" in run:
            raise DataError(run["damage"])
        if not isinstance(run.get("messages"), list) or not run["messages"]:
            raise DataError("the run has no messages (a voice run, or damaged)")
        if not run.get("termination_reason"):
            raise DataError("the run has no termination_reason (not finished, or damaged)")
        endings = [reason.value for reason in SimulationRun.model_fields["termination_reason"].annotation]
        if run["termination_reason"] not in endings:
            run = run | {"termination_reason": UNKNOWN_ENDING}
        return _validated(SimulationRun, run, "run")


def read_results(path) -> ResultFile:
    """Return a tau2 result file of either layout; a run's folder stands for its ``results.json``.

    Raises:
        DataError: the file is missing, is no JSON, is no tau2 result file, or is of another domain.
    """
    path = Path(path)
    if (path / "records.jsonl").exists():
        raise DataError(f"{path.name} is a run of this suite: its records have every verdict already")
    path = path / "results.json" if path.is_dir() else path
    contents = _whole(read_json(path), path.name)
    try:
        info, tasks = contents["info"], contents["tasks"]
        domain, agent = info["environment_info"]["domain_name"], info["agent_info"]["implementation"]
        tasks, said = {task["id"]: task for task in tasks}, info["environment_info"].get("policy")
        solo_mode = "solo" in agent or (info.get("user_info") or {}).get("implementation") == "dummy_user"
    except KeyError as missing:
        raise DataError(f"{path.name} is not a tau2 result file: {missing} is missing") from None
    except (AttributeError, TypeError) as error:
        raise DataError(f"{path.name} is not a tau2 result file: {error}") from None
    if domain not in [*DOMAINS, *OTHER_DOMAINS]:
        raise DataError(f"{path.name} is of domain {domain!r}; accepted: {', '.join([*DOMAINS, *OTHER_DOMAINS])}")
    runs = _runs(contents, path)
    name = f"{path.parent.name}/{path.name}" if path.name == "results.json" else path.name
    return ResultFile(name, domain, solo_mode, tuple(runs), tasks, said if isinstance(said, str) else None)


def _runs(contents: dict, path: Path) -> list:
    """Return the runs of a file and of the folder beside it; what its index lists and nobody finds is damage."""
    runs, folder = contents.get("simulations"), path.parent / "simulations"
    if not runs and folder.is_dir():
        files = sorted(folder.glob("*.json"))
        runs = [_json_or_damage(file) for file in files]
        found = {file.stem for file in files} | {run.get("id") for run in runs if isinstance(run, dict)}
        index = contents.get("simulation_index")
        for entry in index if isinstance(index, list) else ():
            if isinstance(entry, dict) and entry.get("id") not in found:
                reason = f"the index lists this run, and the file simulations/{entry.get('id')}.json is missing"
                runs.append(damage(reason, **{name: entry.get(name) for name in ("id", "task_id", "trial")}))
    if not isinstance(runs, list):
        raise DataError(f"{path.name} is not a tau2 result file: it has no list of simulations")
    if not runs:
        raise DataError(f"{path.name} holds no runs")
    return runs


def _whole(contents, name: str) -> dict:
    """Return what was read as a result file: bare runs get the information that they were written without.

    Bare runs are taken to be telecom's where their tasks are, and solo where no customer speaks in any of them.
    """
    if isinstance(contents, dict) and "messages" in contents and "info" not in contents:
        contents = [contents]
    if not isinstance(contents, list):
        return contents
    heads = [item for item in contents if isinstance(item, dict) and "info" in item and "messages" not in item]
    runs = [item for item in contents if not any(item is head for head in heads)]
    if len(heads) > 1:
        raise DataError(f"{name} holds the lines of {len(heads)} result files; accepted: those of one")
    if heads:
        return heads[0] | {"simulations": [*(heads[0].get("simulations") or ()), *runs]}
    known = {task.id for task in telecom_tasks("full")}
    if not any(isinstance(run, dict) and run.get("task_id") in known for run in runs):
        raise DataError(
            f"{name} does not say of which domain its runs are: an object with 'info' and 'tasks' is missing"
        )
    spoken = any(
        _is_customers(message) for run in runs if isinstance(run, dict) for message in run.get("messages") or ()
    )
    info = {"environment_info": {"domain_name": "telecom"}, "agent_info": {"implementation": "" if spoken else "solo"}}
    return {"info": info, "tasks": [], "simulations": runs}


def _is_customers(message) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"


def _json_or_damage(path: Path):
    try:
        return read_json(path)
    except DataError as error:
        return damage(str(error), id=path.stem)


def differing(first: dict, second: dict, above: str = "") -> list[str]:
    """Return the names of the fields in which two plain records differ, those of records within them with a dot."""
    names: list[str] = []
    for name in sorted(first.keys() | second.keys()):
        one, other = first.get(name), second.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            names += differing(one, other, f"{above}{name}.")
        elif one != other:
            names.append(above + name)
    return names


def _validated(model, contents, what: str):
    try:
        return model.model_validate(contents)
    except ValidationError as invalid:
        first = invalid.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{what} is damaged at {where}: {first['msg']}") from None
