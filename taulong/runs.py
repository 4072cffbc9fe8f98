"""Runs: shifts executed by agents under memory modes, written as append-only records that can be resumed."""

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tqdm import tqdm

from taulong import __version__
from taulong.errors import ConfigError, DataError, check_integer, check_name, near
from taulong.paths import RUNS, atomic_write
from taulong.shifts import Shift, read_manifest, read_shifts, shift_paths

FORMAT = "taulong-run-1"
RESULTS = ("records", "transcripts", "timings")
KEY = ("agent", "memory_mode", "shift_id", "trial", "position")  # a case of a run


@dataclass(frozen=True)
class RunConfig:
    """What is run; with the shifts' digest and the versions it is the identity of a run folder.

    Attributes:
        shifts: name below data/shifts, or path, of the set of shifts.
        agents: agents on board, in the order of the result files.
        memory_modes: memory modes, likewise.
        trials: times each shift is run by the same agent in the same mode, with other draws.

    Raises:
        ConfigError: naming the field, the value, the accepted ones and the near match.
    """

    shifts: str
    agents: tuple[str, ...] = ("learner",)
    memory_modes: tuple[str, ...] = ("none", "notebook", "oracle")
    trials: int = 1

    def __post_init__(self):
        from taulong.agents import AGENTS
        from taulong.memory import MEMORY_MODES

        for name, known in (("agents", AGENTS), ("memory_modes", MEMORY_MODES)):
            values = getattr(self, name)
            if isinstance(values, str) or not values:
                raise ConfigError(f"{name}: {values!r} is not a list of names; accepted: {', '.join(known)}")
            object.__setattr__(self, name, tuple(check_name(name, value, known) for value in values))
            if len(set(values)) < len(values):
                raise ConfigError(f"{name}: {list(values)} names one twice")
        check_integer("trials", self.trials, 1)


@dataclass(frozen=True)
class Unit:
    """The unit of work: one shift under one memory mode by one agent, independent of all others."""

    shift: Shift
    memory_mode: str
    agent: str
    trial: int

    def key(self, position: int) -> tuple:
        """Return the key of the unit's case at a position."""
        return (self.agent, self.memory_mode, self.shift.shift_id, self.trial, position)


def run_unit(unit: Unit, done: list[dict] = (), on_case: Callable[[dict], None] | None = None) -> list[dict]:
    """Return the rows of a unit's cases that were not done, each with ``record``, ``transcript`` and ``seconds``.

    The notebook is carried from case to case; ``done`` (rows of the unit's first cases) says where to go on and with what
    text. A unit stops at an unscored case: what follows would run on a notebook that is not what it would have been.

    Args:
        unit: what to run.
        done: rows of its first cases, from an earlier session.
        on_case: called with each row as soon as its case has ended.
    """
    from taulong.cases import run_case
    from taulong.memory import first_memory

    memory = first_memory(unit.memory_mode, unit.shift)
    if done:
        memory = replace(memory, text=done[-1]["transcript"]["notebook_after"])
    rows = []
    for case in unit.shift.cases[len(done):]:
        outcome = run_case(unit.shift, case, memory, unit.agent, unit.trial)
        rows.append({"record": outcome.record, "transcript": outcome.transcript, "seconds": round(outcome.seconds, 6)})
        if on_case:
            on_case(rows[-1])
        if outcome.record["outcome"] != "scored":
            break
        memory = replace(memory, text=outcome.notebook)
    return rows


def execute_runs(
    config: RunConfig, name: str | Path, workers: int = 1, fresh: bool = False, progress: bool = True
) -> "RunFolder":
    """Run what is owed of a config, and return the run folder with every row there is.

    Units go over a process pool (``workers`` > 1) or run in this process; results do not depend on which. Each finished
    case is appended to a journal at once; when the work ends or is interrupted, the rows are put into plan order and written
    atomically. An unscored case of an earlier session is tried again.

    Args:
        config: what to run.
        name: name of the run folder below data/runs, or a path.
        workers: processes.
        fresh: run everything again, whatever the folder holds. Rows of the same configuration stay until the new ones
            are there, those of another one are removed first.
        progress: show a bar where a terminal shows it.

    Raises:
        DataError: the folder holds a run of another configuration (names what differs), or the shifts cannot be read.
    """
    check_integer("workers", workers, 1)
    shifts = read_shifts(config.shifts)
    folder = RunFolder(run_path(name))
    manifest = _manifest(config)
    folder.check_same_run(manifest, fresh)
    folder.start(manifest, fresh)
    units = [Unit(shift, mode, agent, trial) for agent in config.agents for mode in config.memory_modes
             for shift in shifts for trial in range(config.trials)]
    rows = {} if fresh else folder.rows()
    done = [_done(unit, rows) for unit in units]
    rows = {_key(row["record"]): row for held in done for row in held}
    owed = [(unit, held) for unit, held in zip(units, done, strict=True) if len(held) < len(unit.shift.cases)]
    planned = sum(len(unit.shift.cases) for unit in units)
    bar = tqdm(total=planned, initial=len(rows), unit="case", disable=None if progress else True)
    with bar, folder.journal() as journal:

        def keep(row: dict) -> None:
            journal(row)
            bar.update()

        try:
            if workers == 1:
                for unit, held in owed:
                    run_unit(unit, held, keep)
            else:
                with _process_pool(workers) as pool:
                    futures: list[Future] = [pool.submit(run_unit, unit, held) for unit, held in owed]
                    try:
                        for future in as_completed(futures):
                            for row in future.result():
                                keep(row)
                    except BaseException:
                        pool.shutdown(cancel_futures=True)
                        raise
        finally:
            folder.finish(units, rows)
    return folder


def _process_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool whose workers are forked from a clean process that has imported tau2 once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["taulong.cases"])
    return ProcessPoolExecutor(workers, mp_context=context)


def _done(unit: Unit, rows: dict[tuple, dict]) -> list[dict]:
    """Return the rows of the unit's first cases that are there and scored."""
    done = []
    for case in unit.shift.cases:
        row = rows.get(unit.key(case.position))
        if row is None or row["record"]["outcome"] != "scored":
            break
        done.append(row)
    return done


def run_path(name: str | Path) -> Path:
    """Return the path of a run folder, by name below data/runs or by path."""
    path = Path(name)
    return path if len(path.parts) > 1 else RUNS / path


class RunFolder:
    """A run on disk: ``manifest.json``, ``records.jsonl``, ``transcripts.jsonl`` and, apart, ``timings.jsonl``.

    While work goes on, ``journal.jsonl`` holds the cases that have ended since; a torn last line of it is owed.
    """

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def open(cls, name: str | Path) -> "RunFolder":
        """Return an existing run folder; raises DataError with the near match when there is none."""
        path = run_path(name)
        if not (path / "manifest.json").exists():
            known = sorted(folder.parent.name for folder in path.parent.glob("*/manifest.json"))
            raise DataError(f"run: there is no run in {path.name!r}; {near(path.name, known)} Or execute it with: taulong run")
        return cls(path)

    @property
    def manifest(self) -> dict:
        """The run's identity: config, shifts, versions, and the number of planned cases."""
        try:
            manifest = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise KeyError("format")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path.name}/manifest.json: not the manifest of a run ({error}); remove the folder, or run it "
                            "afresh (fresh)") from error
        return manifest

    def records(self):
        """Return the records as a table, one row a case, in plan order (then whatever the journal holds)."""
        import pandas as pd

        return pd.DataFrame(row["record"] for row in self.rows().values())

    def transcripts(self) -> Iterator[dict]:
        """Return the transcripts, one a case."""
        return (row["transcript"] for row in self.rows().values())

    def rows(self) -> dict[tuple, dict]:
        """Return every complete row by key: those of the result files, then those of the journal."""
        transcripts = {_key(row): row for row in _lines(self.path / "transcripts.jsonl")}
        seconds = {_key(row): row["seconds"] for row in _lines(self.path / "timings.jsonl")}
        rows = {}
        for record in _lines(self.path / "records.jsonl"):
            key = _key(record)
            if key in transcripts:  # else the session was killed between two files, and the journal has the row
                rows[key] = {"record": record, "transcript": transcripts[key], "seconds": seconds.get(key, 0.0)}
        for row in _lines(self.path / "journal.jsonl"):
            rows[_key(row["record"])] = row
        return rows

    def check_same_run(self, manifest: dict, fresh: bool) -> None:
        """Raise DataError when the folder holds a run of another identity, naming the first field that differs."""
        if fresh or not (self.path / "manifest.json").exists():
            return
        held = self.manifest
        for field, value in manifest.items():
            if held.get(field) != value:
                raise DataError(
                    f"{self.path.name}: holds a run of another configuration: {field} is {held.get(field)!r} there and "
                    f"{value!r} here; choose another name, or run it afresh (fresh)"
                )

    def start(self, manifest: dict, fresh: bool) -> None:
        """Write the manifest; when starting afresh, forget the journal, and rows that belong to another manifest."""
        self.path.mkdir(parents=True, exist_ok=True)
        if fresh:
            (self.path / "journal.jsonl").unlink(missing_ok=True)
            if not self._holds(manifest):
                for name in RESULTS:
                    (self.path / f"{name}.jsonl").unlink(missing_ok=True)
        atomic_write(self.path / "manifest.json", json.dumps(manifest, indent=1) + "\n")

    def _holds(self, manifest: dict) -> bool:
        try:
            return self.manifest == manifest
        except (OSError, DataError):
            return False

    def journal(self):
        """Return a context that gives a function which appends one row."""
        return _Journal(self.path / "journal.jsonl")

    def finish(self, units: list[Unit], rows: dict[tuple, dict]) -> None:
        """Write the result files in plan order, from the given rows and the journal's, and remove the journal."""
        rows = {**rows, **{_key(row["record"]): row for row in _lines(self.path / "journal.jsonl")}}
        ordered = [rows[key] for unit in units for case in unit.shift.cases if (key := unit.key(case.position)) in rows]
        contents = (
            [row["record"] for row in ordered],
            [row["transcript"] for row in ordered],
            [dict(zip(KEY, _key(row["record"]), strict=True), seconds=row["seconds"]) for row in ordered],
        )
        for name, lines in zip(RESULTS, contents, strict=True):
            atomic_write(self.path / f"{name}.jsonl", "".join(_line(line) for line in lines))
        (self.path / "journal.jsonl").unlink(missing_ok=True)


class _Journal:
    """An append-only file of rows; a torn last line, from a killed process, is cut off when it is opened."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> Callable[[dict], None]:
        kept = list(_lines(self.path))
        if self.path.exists():
            atomic_write(self.path, "".join(_line(row) for row in kept))
        self.file = self.path.open("a", encoding="utf-8")
        return self._append

    def _append(self, row: dict) -> None:
        self.file.write(_line(row))
        self.file.flush()

    def __exit__(self, *_) -> None:
        self.file.close()


def _line(row: dict) -> str:
    # ASCII, because a model may send half of a surrogate pair, which has no UTF-8.
    return json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n"


def _lines(path: Path) -> Iterator[dict]:
    """Yield the rows of a JSON Lines file; a torn last line is left out, a damaged one elsewhere is an error."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, start=1):
        if number == len(lines):  # what follows the last newline: nothing, or a torn row
            return
        try:
            row = json.loads(line)
            _key(row.get("record", row))
        except (ValueError, KeyError, AttributeError) as error:
            raise DataError(f"{path.parent.name}/{path.name}, line {number}: not a row of a run ({error}); remove the line, "
                            "its case is then owed and run again") from error
        yield row


def _key(record: dict) -> tuple:
    return tuple(record[name] for name in KEY)


def _manifest(config: RunConfig) -> dict:
    from taulong.backend import installation
    from taulong.graders import GRADER_VERSION

    shifts = read_manifest(config.shifts)
    tau2 = installation()
    cases = shifts["num_shifts"] * shifts["config"].num_cases * config.trials * len(config.agents) * len(config.memory_modes)
    return {
        "format": FORMAT, "shifts": shift_paths(config.shifts)[0].stem, "shifts_digest": shifts["digest"], "split": shifts["split"],
        "first_seed": shifts["first_seed"], "num_shifts": shifts["num_shifts"], "shift_config": asdict(shifts["config"]),
        "agents": list(config.agents), "memory_modes": list(config.memory_modes), "trials": config.trials, "user": "scripted",
        "planned_cases": cases, "taulong_version": __version__, "grader_version": GRADER_VERSION,
        "tau2_distribution": tau2.distribution, "tau2_version": tau2.version, "tau2_data": tau2.data_digest,
    }


# --- command --------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong run``."""
    parser.add_argument("shifts", help="name of a set of shifts below data/shifts, or its path")
    parser.add_argument("--name", help="name of the run folder below data/runs, or a path (default: the shifts' name)")
    parser.add_argument("--agents", nargs="+", default=["learner"], help="agents on board (default learner)")
    parser.add_argument("--memory-modes", nargs="+", default=["none", "notebook", "oracle"], help="(default none notebook oracle)")
    parser.add_argument("--trials", type=int, default=1, help="runs of each shift with other draws (default 1)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--fresh", action="store_true", help="run everything again, whatever the folder holds")


def run(arguments: argparse.Namespace) -> int:
    """Execute a run and say where it is."""
    config = RunConfig(arguments.shifts, tuple(arguments.agents), tuple(arguments.memory_modes), arguments.trials)
    folder = execute_runs(config, arguments.name or Path(arguments.shifts).stem, arguments.workers, arguments.fresh)
    records = folder.records()
    scored = int((records["outcome"] == "scored").sum())
    print(f"{len(records)} of {folder.manifest['planned_cases']} planned cases, {scored} scored, in {folder.path}")
    return 0 if scored == folder.manifest["planned_cases"] else 1
