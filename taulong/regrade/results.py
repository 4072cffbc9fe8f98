"""tau2 result files, read piece by piece, so that one damaged run does not take the others with it.

Two layouts: one file with everything (tau2 0.2, and ``<run>/results.json`` of 1.0), and 1.0's folder layout, a
``results.json`` without runs beside a folder ``simulations`` with one file a run.
"""

import gzip
import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from taulong.backend import SimulationRun, Task, domain_tasks, telecom_tasks
from taulong.errors import DataError, near

DOMAINS = {"telecom": "manual", "telecom-workflow": "workflow"}
"""Domain name in a result file -> policy type."""
OTHER_DOMAINS = ("airline", "retail")
"""Domains whose database is compared by target, frame and form; the policy check has no rules for them."""
UNKNOWN_ENDING = "too_many_errors"  # stands in for an ending that only another tau2 knows; like it, it is not a stop


@dataclass(frozen=True)
class ResultFile:
    """One tau2 result file.

    Attributes:
        name: the file's name; for a ``results.json``, with its folder's.
        domain: ``telecom`` or ``telecom-workflow``.
        solo_mode: whether the agent worked alone.
        runs: the runs as plain data, not yet validated.
        tasks: the file's own tasks as plain data, by id.
    """

    name: str
    domain: str
    solo_mode: bool
    runs: tuple[dict, ...]
    tasks: dict[str, dict] = field(repr=False)

    @property
    def policy_type(self) -> str:
        """``manual`` or ``workflow``."""
        return DOMAINS[self.domain]

    def task(self, task_id: str) -> Task:
        """Return a task: the file's own, or else the installed tau2's. Raises DataError for an unknown id."""
        if task_id in self.tasks:
            return _validated(Task, self.tasks[task_id], f"task {task_id}")
        known = {
            task.id: task for task in (telecom_tasks("full") if self.domain in DOMAINS else domain_tasks(self.domain))
        }
        if task_id not in known:
            close = near(task_id, [*self.tasks, *known])
            raise DataError(f"unknown task id {task_id!r}" + (f"; {close}" if close.startswith("did") else ""))
        return known[task_id]

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
    contents = _json(path)
    try:
        info, tasks = contents["info"], contents["tasks"]
        domain, agent = info["environment_info"]["domain_name"], info["agent_info"]["implementation"]
        tasks = {task["id"]: task for task in tasks}
        solo_mode = "solo" in agent or (info.get("user_info") or {}).get("implementation") == "dummy_user"
    except KeyError as missing:
        raise DataError(f"{path.name} is not a tau2 result file: {missing} is missing") from None
    except (AttributeError, TypeError) as damage:
        raise DataError(f"{path.name} is not a tau2 result file: {damage}") from None
    if domain not in [*DOMAINS, *OTHER_DOMAINS]:
        raise DataError(f"{path.name} is of domain {domain!r}; accepted: {', '.join([*DOMAINS, *OTHER_DOMAINS])}")
    runs = contents.get("simulations")
    folder = path.parent / "simulations"
    if not runs and folder.is_dir():
        runs = [_json_or_damage(run) for run in sorted(folder.glob("*.json"))]
    if not isinstance(runs, list):
        raise DataError(f"{path.name} is not a tau2 result file: it has no list of simulations")
    name = f"{path.parent.name}/{path.name}" if path.name == "results.json" else path.name
    return ResultFile(name, domain, solo_mode, tuple(runs), tasks)


def _json(path: Path):
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
    except (OSError, EOFError) as missing:
        raise DataError(f"{path.name} cannot be read: {getattr(missing, 'strerror', None) or missing}") from None
    except RecursionError:
        raise DataError(f"{path.name} is not JSON that can be read: its brackets nest too deeply") from None
    except ValueError as damage:
        raise DataError(f"{path.name} is not JSON: {damage}") from None


def _refuse(constant: str):
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


def _json_or_damage(path: Path):
    try:
        return _json(path)
    except DataError as damage:
        return {"id": path.stem, "damage": str(damage)}


def _validated(model, contents, what: str):
    try:
        return model.model_validate(contents)
    except ValidationError as invalid:
        first = invalid.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{what} is damaged at {where}: {first['msg']}") from None
