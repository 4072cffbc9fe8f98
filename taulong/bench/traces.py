"""Rollouts that the verifiers library has written, as runs of the suite: the same tables, notebooks and commands."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from taulong.errors import DataError
from taulong.memory.names import current_name
from taulong.paths import atomic_write, located
from taulong.runs.folder import check_row
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.files import read_shifts, shift_paths, write_shifts
from taulong.shifts.generation import generate_shift
from taulong.shifts.stream import Shift

TASK = "ShiftTask"  # the class of taulong.bench.taskset whose name the library writes


@dataclass(frozen=True)
class Rollout:
    """One rollout of a shift.

    Attributes:
        path: the ``traces.jsonl`` it is from.
        task: its ``TaskData`` as plain data: split, seed, shift_config, memory_mode, user_llm, ...
        model: the agent's.
        rows: of the cases that were run, as from :func:`taulong.runs.units.run_unit`; fewer than planned where it broke down.
        sampling: how the model's answers were sampled, as JSON: part of what the agent is.
    """

    path: Path
    task: dict
    model: str
    rows: list[dict]
    sampling: str = "{}"

    @property
    def agent(self) -> str:
        """What the records call the agent."""
        return self.rows[0]["record"]["agent"] if self.rows else f"openai/{self.model}"


def read_rollouts(folder: str | Path) -> list[Rollout]:
    """Return the benchmark's rollouts in an ``outputs/`` folder, or a part of it; other environments' are left out.

    Both layouts are read: a trace a line (verifiers 0.2) and an episode a line (0.4).

    Raises:
        DataError: there is none, or a line is damaged.
    """
    folder = Path(folder)
    rollouts: dict[object, Rollout] = {}
    for path in sorted(folder.rglob("traces.jsonl")):
        for number, trace in _traces(path):
            try:
                if trace["task"]["type"] != TASK:
                    continue
                rollout = _rollout(path, trace)
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
                what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
                raise DataError(
                    f"{path.parent.name}/{path.name}, line {number}: not a trace of verifiers ({what})"
                ) from error
            place = trace.get("id") or (path, number)
            if place not in rollouts or len(rollouts[place].rows) < len(rollout.rows):  # a replay beside its source
                rollouts[place] = rollout
    if not rollouts:
        raise DataError(
            f"{folder.name}: no rollout of taulong-bench-v1 in it; accepted: an outputs folder of verifiers' eval"
        )
    return list(rollouts.values())


def _rollout(path: Path, trace: dict) -> Rollout:
    """Return the rollout of a trace; raises KeyError, TypeError or ValueError that says in what it is none."""
    agent, task = trace["agent"], trace["task"]["data"]
    config = agent if "model" in agent else agent["config"]
    for field, kind in (("split", str), ("seed", int), ("shift_config", dict), ("memory_mode", str)):
        if not isinstance(task[field], kind) or isinstance(task[field], bool):
            raise ValueError(f"task.data.{field} is {task[field]!r:.60}")
    if not isinstance(config["model"], str):
        raise ValueError(f"agent.model is {config['model']!r:.60}")
    rows = (trace.get("info") or {}).get("cases") or []
    if not isinstance(rows, list):
        raise ValueError("info.cases is not a list")
    for row in rows:
        check_row(row)
        if "record" not in row:
            raise ValueError("a case without its record")
        _rename(row)
        for reward in ("official_reward", "gated_reward"):
            value = row["record"].get(reward)
            if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
                raise ValueError(f"{reward} is {value!r:.60}, accepted: 0 to 1")
    task["memory_mode"] = current_name(task["memory_mode"])
    sampling = {name: value for source in (agent, config) for name, value in source.items() if "sampling" in name}
    return Rollout(path, task, config["model"], rows, json.dumps(sampling, sort_keys=True))


def _rename(row: dict) -> None:
    """Give a row the name that its memory mode has now."""
    for part in (row["record"], row["transcript"]):
        part["memory_mode"] = current_name(part["memory_mode"])


def _traces(path: Path) -> Iterator[tuple[int, dict]]:
    # lines end at "\n" alone: a model may have said another sign that ends lines elsewhere
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], start=1):
        try:
            row = json.loads(line)
            traces = row.get("traces", [row])
            if not isinstance(traces, list) or not all(isinstance(trace, dict) for trace in traces):
                raise ValueError("traces is not a list of objects")
            yield from ((number, trace) for trace in traces)
        except (ValueError, AttributeError, RecursionError) as error:
            raise DataError(
                f"{path.parent.name}/{path.name}, line {number}: not JSON, or cut short ({error}); remove the line"
            ) from error


def read_traces(folder: str | Path):
    """Return the records of an ``outputs/`` folder of verifiers as a table, one row a case that was run."""
    import pandas as pd

    return pd.DataFrame([row["record"] for rollout in _numbered(read_rollouts(folder)) for row in rollout.rows])


def _numbered(rollouts: list[Rollout]) -> list[Rollout]:
    """Return the rollouts with the trials of each arm and shift numbered as they come.

    The harness counts anew in every process, so that after ``--resume`` a number may come twice; workers do not count.
    """
    seen: dict[tuple, int] = {}
    numbered = []
    for rollout in rollouts:
        arm = (rollout.agent, rollout.task["memory_mode"], rollout.task["split"], rollout.task["seed"])
        trial = seen[arm] = seen.get(arm, -1) + 1
        rows = [row | {part: row[part] | {"trial": trial} for part in ("record", "transcript")} for row in rollout.rows]
        numbered.append(replace(rollout, rows=rows))
    return numbered


def import_traces(folder: str | Path, name: str):
    """Return a run folder made of an ``outputs/`` folder of verifiers; its shifts are written beside the other sets.

    What a broken rollout did not come to is owed, as in any run.

    Args:
        folder: holds rollouts of one shift configuration, one split and one customer; of any models and memory modes.
        name: of the run folder below data/runs, and of its shifts below data/shifts.

    Raises:
        DataError: the rollouts do not fit together, the installed tau2 is not theirs, or the name is taken.
    """
    from taulong.memory.names import MEMORY_MODES
    from taulong.runs.config import RunConfig, run_manifest
    from taulong.runs.folder import KEY, RunFolder, run_path
    from taulong.runs.units import Unit

    rollouts = _numbered(read_rollouts(folder))
    task = _common(rollouts)
    config = ShiftConfig.from_dict(task["shift_config"])
    shifts = [
        generate_shift(config, task["split"], seed) for seed in sorted({rollout.task["seed"] for rollout in rollouts})
    ]
    agents = list(dict.fromkeys(rollout.agent for rollout in rollouts))
    met = list(dict.fromkeys(rollout.task["memory_mode"] for rollout in rollouts))
    modes = tuple(sorted(met, key=lambda mode: MEMORY_MODES.index(mode) if mode in MEMORY_MODES else len(MEMORY_MODES)))
    arms = [(rollout.agent, rollout.task["memory_mode"], rollout.task["seed"]) for rollout in rollouts]
    trials = max(map(arms.count, arms))
    units = [
        Unit(shift, mode, agent, trial)
        for agent in agents
        for mode in modes
        for shift in shifts
        for trial in range(trials)
    ]
    run = RunFolder(run_path(name))
    _write_shifts(shifts, name, run)
    user = {"user": "llm", "user_llm": task["user_llm"]} if task["user_llm"] else {}
    manifest = run_manifest(
        RunConfig(name, ("llm",), modes, trials, agents[0], **user, memory_args=_memory_args(rollouts))
    )
    if len(agents) > 1:
        del manifest["agent_llm"]  # there is no one model
    manifest |= {"agents": agents, "planned_cases": sum(len(unit.steps) for unit in units)}
    atomic_write(run.path / "manifest.json", json.dumps(manifest, indent=1) + "\n")
    run.finish(units, {tuple(row["record"][name] for name in KEY): row for rollout in rollouts for row in rollout.rows})
    return run


def _memory_args(rollouts: list[Rollout]) -> dict[str, dict]:
    """Return the options of memory systems by mode; raises DataError where a mode ran with two kinds of them."""
    options: dict[str, dict] = {}
    for rollout in rollouts:
        mode, given = rollout.task["memory_mode"], rollout.task.get("memory_args") or {}
        if options.setdefault(mode, given) != given:
            raise DataError(
                f"{rollout.path.parent.name}: memory_args of {mode} differ between rollouts; import them apart"
            )
    return {mode: given for mode, given in options.items() if given}


def _common(rollouts: list[Rollout]) -> dict:
    """Return the task data that all rollouts have in common; raises DataError for the first that does not fit."""
    from taulong import __version__
    from taulong.backend import installation
    from taulong.graders.verdicts import GRADER_VERSION

    first, sampled = rollouts[0].task, {rollouts[0].agent: rollouts[0]}
    versions = {
        "tau2_data": installation().data_digest,
        "grader_version": GRADER_VERSION,
        "taulong_version": __version__,
    }
    if "mark" not in first["shift_config"]:
        raise DataError(
            f"{rollouts[0].path.parent.name}: was run by a version whose shifts had one mark each, which this one cannot "
            "generate again; import it with that version"
        )
    for rollout in rollouts:
        for field in ("shift_config", "split", "user_llm", "user_base_url"):
            if (value := rollout.task.get(field)) != first.get(field):
                raise DataError(
                    f"{rollout.path.parent.name}: {field} is {value!r} there and {first.get(field)!r} in "
                    f"{rollouts[0].path.parent.name}; import them apart"
                )
        if (other := sampled.setdefault(rollout.agent, rollout)).sampling != rollout.sampling:
            raise DataError(
                f"{rollout.path.parent.name}: {rollout.agent} was sampled as {rollout.sampling} there and as "
                f"{other.sampling} in {other.path.parent.name}; these are two agents, import them apart"
            )
        for row in rollout.rows:
            for field, installed in versions.items():
                if (ran := row["record"].get(field)) != installed:
                    raise DataError(
                        f"{rollout.path.parent.name}: was run with {field.replace('_', ' ')} {ran}; installed is {installed}"
                    )
    return {"user_llm": None, **first}


def _write_shifts(shifts: list[Shift], name: str, run) -> None:
    if (run.path / "manifest.json").exists() or Path(name).name != name or name in (".", ".."):
        raise DataError(f"name: {name!r} is that of a run already, or no name; choose another name")
    if shift_paths(name)[0].exists() and read_shifts(name) != shifts:
        raise DataError(f"name: {name!r} is that of another set of shifts already; choose another name")
    write_shifts(shifts, name)


# --- command --------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong import``."""
    parser.add_argument("folder", metavar="FOLDER", help="outputs folder of verifiers' eval, or a part of it")
    parser.add_argument("--name", required=True, help="name of the run folder below data/runs, and of its shifts")


def run(arguments: argparse.Namespace) -> int:
    """Import rollouts, say what they come to, and return 0 when every planned case is scored."""
    folder = import_traces(arguments.folder, arguments.name)
    account = folder.account
    print(f"{account}, in {located(folder.path)}")
    return 0 if account.scored == account.planned else 1
