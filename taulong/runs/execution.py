"""Runs: shifts executed by agents under memory modes, written as append-only records that can be resumed."""

import argparse
import fcntl
import json
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from taulong import __version__
from taulong.errors import ConfigError, DataError, RunError, check_integer, check_name, near
from taulong.paths import RUNS, atomic_write, located
from taulong.progress import progress_bar
from taulong.runs.accounts import Account, check_limits, spent
from taulong.shifts.files import read_manifest, read_shifts, shift_paths
from taulong.shifts.stream import Case, Shift

if TYPE_CHECKING:
    from taulong.cases.models import Model
    from taulong.memory.modes import Memory

FORMAT = "taulong-run-1"
APART = ("seconds", "retries", "spent_before")  # what moves from run to run, so that it stays out of the records
RESULTS = ("records", "transcripts", "timings")
KEY = ("agent", "memory_mode", "shift_id", "trial", "position")  # a case of a run
EXECUTORS = ("serial", "threads", "processes", "cluster")
MODEL_THREADS = 16
CASE_THREADS = "taulong-case"  # how the names of threads begin that run cases
PROGRESS_LINES = 20
TRANSPORT = ("timeout",)  # arguments of a model that change nothing it is asked, so that a resumed run may change them


@dataclass(frozen=True)
class RunConfig:
    """What is run; with the shifts' digest and the versions it is the identity of a run folder.

    Attributes:
        shifts: name below data/shifts, or path, of the set of shifts.
        agents: agents on board, in the order of the result files; ``llm`` is the model of ``agent_llm``.
        memory_modes: memory modes, likewise. ``frozen`` is a second pass over the testing cases after the shift, in
            fresh environments, with the final notebook read-only: it needs ``notebook``.
        trials: times each shift is run by the same agent in the same mode, with other draws.
        agent_llm: the model behind the agent ``llm``, as LiteLLM names it.
        agent_llm_args: arguments of its calls, e.g. ``base_url``, ``temperature``; keys come from the environment.
        user: ``scripted`` or ``llm``.
        user_llm, user_llm_args: likewise of the customer.
        log_prompts: put the models' prompts into the transcripts, not only their digests.

    Raises:
        ConfigError: naming the field, the value, the accepted ones and the near match.
    """

    shifts: str
    agents: tuple[str, ...] = ("learner",)
    memory_modes: tuple[str, ...] = ("none", "notebook", "oracle")
    trials: int = 1
    agent_llm: str | None = None
    agent_llm_args: dict = field(default_factory=dict)
    user: str = "scripted"
    user_llm: str | None = None
    user_llm_args: dict = field(default_factory=dict)
    log_prompts: bool = False

    def __post_init__(self):
        from taulong.cases.agents import AGENTS, check_agent
        from taulong.keys import refuse_keys
        from taulong.memory.modes import MEMORY_MODES

        refuse_keys("config", asdict(self))
        checks = {
            "agents": (check_agent, AGENTS),
            "memory_modes": (partial(check_name, "memory_modes", known=MEMORY_MODES), MEMORY_MODES),
        }
        for name, (check, known) in checks.items():
            values = getattr(self, name)
            if isinstance(values, str) or not values:
                raise ConfigError(f"{name}: {values!r} is not a list of names; accepted: {', '.join(known)}")
            object.__setattr__(self, name, tuple(map(check, values)))
            if len(set(values)) < len(values):
                raise ConfigError(f"{name}: {list(values)} names one twice")
        if "frozen" in self.memory_modes and "notebook" not in self.memory_modes:
            raise ConfigError(
                "memory_modes: 'frozen' is a second pass with the final notebook and needs 'notebook' too"
            )
        check_integer("trials", self.trials, 1)
        check_name("user", self.user, ("scripted", "llm"))
        for side, wanted in (("agent", "llm" in self.agents), ("user", self.user == "llm")):
            given = getattr(self, f"{side}_llm") or getattr(self, f"{side}_llm_args")
            if bool(given) != wanted:
                remedy = (
                    f"name its model, e.g. {side}_llm openai/gpt-4.1"
                    if wanted
                    else f"the {side} is no llm; leave it out"
                )
                raise ConfigError(f"{side}_llm: {getattr(self, f'{side}_llm')!r}; {remedy}")
            self.side(side)

    def side(self, side: str) -> "Model | None":
        """Return the model of a side (``agent``, ``user``), or None where no model plays it."""
        from taulong.cases.models import Model

        played = "llm" in self.agents if side == "agent" else self.user == "llm"
        return Model(getattr(self, f"{side}_llm"), getattr(self, f"{side}_llm_args")) if played else None

    def units(self, shifts: list[Shift]) -> list["Unit"]:
        """Return the units of work over some shifts, in the order of the result files."""
        agents = [self.side("agent") if agent == "llm" else agent for agent in self.agents]
        user = self.side("user") or "scripted"
        return [
            Unit(
                shift, mode, agent, trial, user, self.log_prompts, mode == "notebook" and "frozen" in self.memory_modes
            )
            for agent in agents
            for mode in self.memory_modes
            if mode != "frozen"
            for shift in shifts
            for trial in range(self.trials)
        ]


@dataclass(frozen=True, eq=False)
class Unit:
    """What is handed to a worker and resumed as a whole: a shift, a memory mode, an agent and a trial."""

    shift: Shift
    memory_mode: str
    agent: "str | Model"
    trial: int = 0
    user: "str | Model" = "scripted"
    log_prompts: bool = False
    second_pass: bool = False

    @property
    def steps(self) -> list[tuple[str, Case]]:
        """The unit's cases in order, each with its memory mode: the shift, then its testing cases in a second pass."""
        first = [(self.memory_mode, case) for case in self.shift.cases]
        return first + [("frozen", case) for _, case in first if self.second_pass and case.population == "testing"]

    def case_keys(self) -> list[tuple]:
        """Return the key of each step's row."""
        return [(str(self.agent), mode, self.shift.shift_id, self.trial, case.position) for mode, case in self.steps]

    def memory(self, done: list[dict] = ()) -> "Memory":
        """Return the memory at the start of the case after those done."""
        from taulong.memory.modes import first_memory

        memory = first_memory(self.memory_mode, self.shift)
        for row in done:
            memory = self.memory_after(memory, row)
        return memory

    def memory_after(self, memory: "Memory", row: dict) -> "Memory":
        """Return the memory of the case after a row's."""
        memory = memory.after(row["transcript"]["notebook_after"], row["transcript"]["messages"])
        last = row["record"]["position"] == len(self.shift.cases)
        return memory.frozen() if self.second_pass and last and memory.mode == "notebook" else memory


def run_step(unit: Unit, step: int, memory: "Memory") -> dict:
    """Return the row of one step of a unit: ``record``, ``transcript``, ``seconds`` and ``retries``."""
    from taulong.cases.case import run_case

    _, case = unit.steps[step]
    outcome = run_case(unit.shift, case, memory, unit.agent, unit.trial, unit.user, unit.log_prompts)
    return {
        "record": outcome.record,
        "transcript": outcome.transcript,
        "seconds": round(outcome.seconds, 6),
        "retries": outcome.retries,
    }


def run_unit(unit: Unit, done: list[dict] = (), on_case: Callable[[dict], None] | None = None) -> list[dict]:
    """Return the rows of a unit's cases that were not done, see :func:`run_step`.

    The memory is carried from case to case; ``done`` (rows of the unit's first cases) says where to go on and with what
    text. A unit stops at a case whose conversation failed: what follows would run on a memory that is not what it would
    have been.

    Args:
        unit: what to run.
        done: rows of its first cases, from an earlier session.
        on_case: called with each row as soon as its case has ended.
    """
    from taulong.cases.grading import is_whole

    memory, rows = unit.memory(done), []
    for step in range(len(done), len(unit.steps)):
        rows.append(run_step(unit, step, memory))
        if on_case:
            on_case(rows[-1])
        if not is_whole(rows[-1]["record"]):
            break
        memory = unit.memory_after(memory, rows[-1])
    return rows


def execute_runs(
    config: RunConfig,
    name: str | Path,
    workers: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
    executor: str | None = None,
    scheduler: str | None = None,
    max_cases: int | None = None,
    max_cost: float | None = None,
) -> "RunFolder":
    """Run what is owed of a config, and return the run folder with every row there is.

    Cases go one by one to an executor, a unit's next when the one before has ended, never more units at once than there
    are workers; results do not depend on which executor or how many. Each ended case is appended to a journal at once;
    when the work ends or is interrupted (cases under way are then awaited and kept), the rows are put into plan order
    and written atomically. A case whose conversation failed in an earlier session is run again; one whose grading
    failed is graded again from its transcript.

    Args:
        config: what to run.
        name: name of the run folder below data/runs, or a path.
        workers: units at once (default: the cluster's threads for a scheduler, 16 for models and ``cluster``, else 1).
        fresh: run everything again, whatever the folder holds. Rows of the same configuration stay until this session
            ends, by a limit too, and those of another one are removed first; then the folder holds the new rows alone.
        progress: True for a bar on a terminal or in JupyterLab and at most twenty lines elsewhere, False for none; by
            default a bar there alone.
        executor: ``serial``, ``threads`` (default for models), ``processes`` (default for several workers), or
            ``cluster``: a dask.distributed one on this machine, the workers being threads of a process a core.
        scheduler: address of a dask.distributed scheduler to send the cases to.
        max_cases: start no case once so many were run in this session.
        max_cost: start no case once the folder's cost, all sessions together, has reached so many dollars, or is not
            known because of an unpriced call.

    Raises:
        ConfigError: an argument is not one of the accepted.
        DataError: the folder holds a run of another configuration (names what differs), or the shifts cannot be read.
        RunError: a worker process died, or the scheduler was lost; every case that ended is kept.
    """
    from taulong.cases.grading import is_whole

    check_limits(max_cases, max_cost)
    models = bool(config.side("agent") or config.side("user"))
    if executor is not None:
        check_name("executor", executor, EXECUTORS)
    if workers is not None:
        check_integer("workers", workers, 1)
    executor = executor or ("threads" if models else "processes" if (workers or 1) > 1 else "serial")
    at_once = MODEL_THREADS if executor == "cluster" or (models and executor == "threads") else 1
    workers = workers or (None if scheduler else at_once)
    shifts = read_shifts(config.shifts)
    folder = RunFolder(run_path(name))
    manifest = run_manifest(config)
    folder.check_same_run(manifest, fresh)
    units = config.units(shifts)
    with folder.journal(manifest, fresh) as journal:
        rows, done = _held(units, {} if fresh else folder.rows())
        account = Account(manifest["planned_cases"], rows.values(), max_cases, max_cost)
        with _progress(account, progress) as show:

            def keep(row: dict) -> None:
                earlier = rows.get(_key(row["record"]))
                if earlier and not is_whole(earlier["record"]):  # what the failed attempt has cost is not forgotten
                    row["spent_before"] = asdict(spent(earlier))
                journal(row)
                account.add(row, earlier)
                show()

            try:
                _grade_owed(units, done, keep)
                with _executor(executor, workers, scheduler) as (pool, window):
                    _work(
                        pool, window, [unit for unit in units if len(done[unit]) < len(unit.steps)], done, account, keep
                    )
            except (BrokenExecutor, CancelledError) as error:
                what = "the scheduler was lost" if isinstance(error, CancelledError) else "a worker process died"
                raise RunError(
                    f"{folder.path.name}: {what}; every case that ended is kept, run again to go on"
                ) from error
            finally:
                folder.finish(units, rows)
    folder.account = account
    return folder


def _work(
    pool: Executor, window: int, owed: list[Unit], done: dict[Unit, list], account: Account, keep: Callable
) -> None:
    """Submit the units' cases, a unit's next when the one before has ended, and keep their rows."""
    from taulong.cases.grading import is_whole

    first = ((unit, len(done[unit]), unit.memory(done[unit])) for unit in owed)
    following: deque[tuple[Unit, int, Memory]] = (
        deque()
    )  # before another unit's first: a limit shall find shifts complete
    active: dict[Future, tuple[Unit, int, Memory]] = {}
    try:
        while True:
            while len(active) < window:
                case = following.popleft() if following else next(first, None)
                if case is None:
                    break
                if account.exhausted(len(active)):
                    following.appendleft(case)
                    break
                active[pool.submit(run_step, *case)] = case
            if not active:
                return
            for future in wait(active, return_when=FIRST_COMPLETED).done:
                unit, step, memory = active.pop(future)
                row = future.result()
                keep(row)
                if step + 1 < len(unit.steps) and is_whole(row["record"]):
                    following.append((unit, step + 1, unit.memory_after(memory, row)))
    except BaseException:
        for future in wait(active).done:  # the cases under way are paid for
            if not future.cancelled() and future.exception() is None:
                keep(future.result())
        raise


class _Here(Executor):
    """Runs what is submitted at once, in this thread."""

    def submit(self, call, /, *arguments) -> Future:
        future: Future = Future()
        future.set_result(call(*arguments))
        return future


@contextmanager
def _executor(kind: str, workers: int | None, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Give an executor and the number of units to have under way in it."""
    if scheduler or kind == "cluster":
        try:
            from distributed import Client, KilledWorker
        except ImportError as error:
            what = "scheduler" if scheduler else "executor cluster"
            raise ConfigError(f"{what}: dask.distributed is not installed; pip install 'taulong[cluster]'") from error
        with nullcontext(scheduler) if scheduler else _local_cluster(workers) as address:
            try:
                client = Client(address)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"scheduler: {address!r} cannot be reached ({error}); accepted: the address of a "
                    "dask.distributed scheduler, e.g. tcp://10.0.0.1:8786"
                ) from error
            with client:
                try:
                    yield client.get_executor(pure=False), workers or sum(client.nthreads().values())
                except KilledWorker as error:
                    raise BrokenExecutor(str(error)) from error
    elif kind == "serial":
        yield _Here(), 1
    elif kind == "threads":
        with _dropping(ThreadPoolExecutor(workers, thread_name_prefix=CASE_THREADS)) as pool:
            yield pool, workers
    else:
        # forked from a clean process that has imported tau2 once
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["taulong.cases.case"])
        with _dropping(ProcessPoolExecutor(workers, mp_context=context, initializer=_serve_parent)) as pool:
            yield pool, workers


@contextmanager
def _dropping(pool: Executor) -> Iterator[Executor]:
    """Give a pool; after an exception, what it has under way is dropped: the first interrupt has awaited it before."""
    others = multiprocessing.active_children()
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        raise
    pool.shutdown()


def _serve_parent() -> None:
    """Have a process of a pool ignore Ctrl-C, and end with the one that submits, however that ends."""
    _ignore_interrupts()
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def _ignore_interrupts() -> None:
    """Have a worker process ignore Ctrl-C: the one that submits waits for its cases and keeps them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    """Give the address of a scheduler on this machine: so many threads, spread over a process a core."""
    import dask
    from distributed import Client, LocalCluster

    processes = min(workers, os.cpu_count() or 1)
    threads = ceil(workers / processes)
    with (
        # Dask's profiler walks the stacks of all threads a hundred times a second.
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(n_workers=processes, threads_per_worker=threads, dashboard_address="127.0.0.1:0") as cluster,
    ):
        with Client(cluster) as client:
            client.run(_ignore_interrupts)
        yield cluster.scheduler_address


@contextmanager
def _progress(account: Account, progress: bool | None) -> Iterator[Callable[[], None]]:
    """Give a function that shows how far the work is: a bar where somebody looks on, elsewhere a few lines."""
    bar = progress_bar(account.planned, account.cases, "case", show=progress is not False)
    shown_at = account.cases

    def show() -> None:
        nonlocal shown_at
        bar.set_postfix_str(str(account), refresh=False)
        bar.update(account.cases - bar.n)
        if progress and bar.disable and account.cases - shown_at >= account.planned / PROGRESS_LINES:
            shown_at = account.cases
            print(f"{account}, {account.time_left()}", file=sys.stderr, flush=True)

    with bar:
        yield show


def _held(units: list[Unit], rows: dict[tuple, dict]) -> tuple[dict[tuple, dict], dict[Unit, list[dict]]]:
    """Return (rows of the plan worth keeping, by key; rows of each unit's first cases whose conversation is whole)."""
    from taulong.cases.grading import is_whole

    kept, done = {}, {}
    for unit in units:
        done[unit], memory = [], unit.memory()
        for key in unit.case_keys():
            # a row that began with another text follows on other rows: a session that began afresh was killed between
            if key not in rows or rows[key]["transcript"]["notebook_before"] != memory.text:
                break
            kept[key] = rows[key]
            if not is_whole(rows[key]["record"]):
                break
            done[unit].append(rows[key])
            memory = unit.memory_after(memory, rows[key])
    return kept, done


def _grade_owed(units: list[Unit], done: dict[Unit, list[dict]], keep: Callable[[dict], None]) -> None:
    """Grade the whole conversations that have no score yet."""
    from taulong.cases.grading import grade_again

    for unit in units:
        for place, row in enumerate(done[unit]):
            if row["record"]["outcome"] != "scored":
                _, case = unit.steps[place]
                record, transcript = grade_again(
                    case, unit.memory(done[unit][:place]), row["record"], row["transcript"]
                )
                done[unit][place] = {**row, "record": record, "transcript": transcript}
                keep(done[unit][place])


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
        self.account: Account | None = None

    @classmethod
    def open(cls, name: str | Path) -> "RunFolder":
        """Return an existing run folder; raises DataError with the near match when there is none."""
        path = run_path(name)
        if not (path / "manifest.json").exists():
            known = sorted(folder.parent.name for folder in path.parent.glob("*/manifest.json"))
            raise DataError(
                f"run: there is no run in {path.name!r}; {near(path.name, known)}, or execute it with 'taulong run'"
            )
        return cls(path)

    @property
    def manifest(self) -> dict:
        """The run's identity: config, shifts, versions, and the number of planned cases."""
        try:
            manifest = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise KeyError("format")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{self.path.name}/manifest.json: not the manifest of a run ({error}); remove the folder, or run it "
                "afresh (fresh)"
            ) from error
        return manifest

    def records(self):
        """Return the records as a table, one row a case, in plan order (then whatever the journal holds)."""
        import pandas as pd

        journal = (row["record"] for row in _lines(self.path / "journal.jsonl"))
        rows = {_key(record): record for record in [*_lines(self.path / "records.jsonl"), *journal]}
        return pd.DataFrame(rows.values())

    def transcripts(self) -> Iterator[dict]:
        """Return the transcripts, one a case."""
        return (row["transcript"] for row in self.rows().values())

    def rows(self) -> dict[tuple, dict]:
        """Return every complete row by key: those of the result files, then those of the journal."""
        transcripts = {_key(row): row for row in _lines(self.path / "transcripts.jsonl")}
        timings = {
            _key(row): {name: value for name, value in row.items() if name not in KEY}
            for row in _lines(self.path / "timings.jsonl")
        }
        rows = {}
        for record in _lines(self.path / "records.jsonl"):
            key = _key(record)
            if key in transcripts:  # else the session was killed between two files, and the journal has the row
                rows[key] = {"record": record, "transcript": transcripts[key], **timings.get(key, {"seconds": 0.0})}
        for row in _lines(self.path / "journal.jsonl"):
            rows[_key(row["record"])] = row
        return rows

    def check_same_run(self, manifest: dict, fresh: bool) -> None:
        """Raise DataError when the folder holds a run of another identity, naming the first field that differs."""
        if fresh or not (self.path / "manifest.json").exists():
            return
        held = self.manifest
        for name in manifest | held:
            if held.get(name) != manifest.get(name):
                raise DataError(
                    f"{self.path.name}: holds a run of another configuration: {name} is {held.get(name)!r} there and "
                    f"{manifest.get(name)!r} here; choose another name, or run it afresh (--fresh)"
                )

    @contextmanager
    def journal(self, manifest: dict, fresh: bool = False) -> Iterator[Callable[[dict], None]]:
        """Write the manifest and give a function that appends one row to the journal.

        A torn last line, from a killed process, is cut off; starting afresh, the journal is forgotten.

        Raises:
            RunError: another process is at work in the folder.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / "journal.jsonl"
        folder = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunError(
                    f"{self.path.name}: another process is executing this run; wait for it, or choose another name"
                ) from error
            if fresh:
                path.unlink(missing_ok=True)
                if not self._holds(manifest):  # rows of another run are no rows of this one, should this be cut short
                    for name in RESULTS:
                        (self.path / f"{name}.jsonl").unlink(missing_ok=True)
            elif path.exists():
                atomic_write(path, "".join(_line(row) for row in _lines(path)))
            atomic_write(self.path / "manifest.json", json.dumps(manifest, indent=1) + "\n")
            with path.open("a", encoding="utf-8") as file:

                def append(row: dict) -> None:
                    file.write(_line(row))
                    file.flush()

                yield append
        finally:
            os.close(folder)

    def _holds(self, manifest: dict) -> bool:
        try:
            return self.manifest == manifest
        except (OSError, DataError):
            return False

    def finish(self, units: list[Unit], rows: dict[tuple, dict]) -> None:
        """Write the result files in plan order, from the given rows and the journal's, and remove the journal."""
        rows = {**rows, **{_key(row["record"]): row for row in _lines(self.path / "journal.jsonl")}}
        ordered = [rows[key] for unit in units for key in unit.case_keys() if key in rows]
        contents = (
            [row["record"] for row in ordered],
            [row["transcript"] for row in ordered],
            [
                dict(zip(KEY, _key(row["record"]), strict=True), **{name: row[name] for name in APART if name in row})
                for row in ordered
            ],
        )
        for name, lines in zip(RESULTS, contents, strict=True):
            atomic_write(self.path / f"{name}.jsonl", "".join(_line(line) for line in lines))
        (self.path / "journal.jsonl").unlink(missing_ok=True)


def _line(row: dict) -> str:
    # ASCII, because a model may send half of a surrogate pair, which has no UTF-8.
    return json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n"


def _lines(path: Path) -> Iterator[dict]:
    """Yield the rows of a JSON Lines file; a torn last line is left out, a damaged one elsewhere is an error."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            hash(_key(row.get("record", row)))
            if "record" in row:
                row["transcript"]["notebook_before"]
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            if number == len(lines):  # what follows the last newline: nothing, or a torn row
                return
            raise DataError(
                f"{path.parent.name}/{path.name}, line {number}: not a row of a run ({error}); remove the line, "
                "its case and those after it in the shift are then owed and run again"
            ) from error
        yield row


def _key(record: dict) -> tuple:
    return tuple(record[name] for name in KEY)


def run_manifest(config: RunConfig) -> dict:
    """Return the identity of a run of a config with what is installed; what its folder's ``manifest.json`` holds."""
    from taulong.backend import installation
    from taulong.cases.agents import agent_sources
    from taulong.graders.verdicts import GRADER_VERSION

    shifts = read_manifest(config.shifts)
    tau2 = installation()
    whole = sum(mode != "frozen" for mode in config.memory_modes) * shifts["config"].num_cases
    second = ("frozen" in config.memory_modes) * shifts["config"].counts["testing"]
    cases = shifts["num_shifts"] * config.trials * len(config.agents) * (whole + second)
    models, own = {}, agent_sources(config.agents)
    for side in ("agent", "user"):
        if model := config.side(side):
            arguments = {name: value for name, value in model.arguments.items() if name not in TRANSPORT}
            models |= {f"{side}_llm": model.name, f"{side}_llm_args": arguments}
    manifest = {
        "format": FORMAT,
        "shifts": shift_paths(config.shifts)[0].stem,
        "shifts_digest": shifts["digest"],
        "split": shifts["split"],
        "first_seed": shifts["first_seed"],
        "num_shifts": shifts["num_shifts"],
        "shift_config": asdict(shifts["config"]),
        "agents": [str(config.side("agent")) if agent == "llm" else agent for agent in config.agents],
        **({"agent_sources": own} if own else {}),
        "memory_modes": list(config.memory_modes),
        "trials": config.trials,
        "user": config.user,
        **models,
        **({"log_prompts": True} if models and config.log_prompts else {}),
        "planned_cases": cases,
        "taulong_version": __version__,
        "grader_version": GRADER_VERSION,
        "tau2_distribution": tau2.distribution,
        "tau2_version": tau2.version,
        "tau2_data": tau2.data_digest,
    }
    return json.loads(json.dumps(manifest))  # as it is read back: names are texts, tuples are lists


# --- before it costs anything ---------------------------------------------------------------------------------------

# Of the learner on board with the scripted customer, 12 shifts in mode notebook: what a model needs is about this.
CALLS_A_CASE = {"agent": 9, "user": 10}
TOKENS_A_MESSAGE = 60


@dataclass(frozen=True)
class Estimate:
    """What is left of a run and what it will take.

    Attributes:
        planned, done: cases of the plan; those whose conversation is whole.
        calls: model calls of the cases that are owed, both sides.
        tokens: likewise, prompt and answer together; four characters count as one.
    """

    planned: int
    done: int
    calls: int
    tokens: int

    def __str__(self) -> str:
        return (
            f"{self.planned:,} cases planned, {self.done:,} done, {self.planned - self.done:,} owed: "
            f"about {self.calls:,} model calls and {self.tokens:,} tokens"
        )


def estimate_run(config: RunConfig, name: str | Path, fresh: bool = False) -> Estimate:
    """Return what is left of a run (``fresh``: all of it) and what it will take; runs nothing and writes nothing.

    Calls and tokens of a case are the mean of the cases that are done; without one, they are estimated from scripted
    conversations and the lengths of the prompts (policy and tools), which are sent again with every call.

    Raises:
        DataError: as :func:`execute_runs`.
    """
    from taulong import backend
    from taulong.cases.models import tool_schemas

    shifts = read_shifts(config.shifts)
    folder = RunFolder(run_path(name))
    manifest = run_manifest(config)
    folder.check_same_run(manifest, fresh)
    _, done = _held(config.units(shifts), {} if fresh else folder.rows())
    planned, calls, tokens = manifest["planned_cases"], 0, 0
    owed = {side: 0 for side in ("agent", "user")}
    for unit, rows in done.items():
        left = len(unit.steps) - len(rows)
        owed["agent"] += left * (not isinstance(unit.agent, str))
        owed["user"] += left * (not isinstance(unit.user, str))
    environment = backend.new_environment()
    kits = {"agent": (environment.tools, environment.policy), "user": (environment.user_tools, "")}
    for side, (kit, text) in kits.items():
        if not owed[side]:
            continue
        played = [row for unit, rows in done.items() for row in rows if not isinstance(getattr(unit, side), str)]
        role = "assistant" if side == "agent" else "user"
        if played:
            # but for the greeting, which is tau2's
            said = [sum(m["role"] == role for m in row["transcript"]["messages"][1:]) for row in played]
            a_case = sum(said) / len(played)
            tokens_a_case = sum(row["record"][f"{side}_tokens"] for row in played) / len(played)
        else:
            a_case = CALLS_A_CASE[side]
            prompt = (len(text) + len(json.dumps([tool.openai_schema for tool in tool_schemas(kit)]))) / 4
            tokens_a_case = a_case * (
                prompt + TOKENS_A_MESSAGE * (a_case + 1)
            )  # the history grows by two messages a call
        calls += round(owed[side] * a_case)
        tokens += round(owed[side] * tokens_a_case)
    return Estimate(planned, sum(map(len, done.values())), calls, tokens)


# --- command --------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong run``."""
    parser.add_argument("shifts", help="name of a set of shifts below data/shifts, or its path")
    parser.add_argument("--name", help="name of the run folder below data/runs, or a path (default: the shifts' name)")
    parser.add_argument("--agents", nargs="+", default=["learner"], help="agents on board, or llm (default learner)")
    parser.add_argument(
        "--memory-modes", nargs="+", default=["none", "notebook", "oracle"], help="(default none notebook oracle)"
    )
    parser.add_argument("--trials", type=int, default=1, help="runs of each shift with other draws (default 1)")
    for side in ("agent", "user"):
        if side == "user":
            parser.add_argument("--user", default="scripted", help="scripted or llm (default scripted)")
        parser.add_argument(
            f"--{side}-llm", metavar="MODEL", help=f"the {side}'s model as LiteLLM names it, e.g. openai/gpt-4.1"
        )
        parser.add_argument(
            f"--{side}-llm-args",
            metavar="JSON",
            default="{}",
            help="arguments of its calls, e.g. '{\"temperature\": 0}'; keys come from the environment only",
        )
    parser.add_argument("--log-prompts", action="store_true", help="put the models' prompts into the transcripts")
    parser.add_argument("--workers", type=int, help="units at once (default: 16 for models, else 1)")
    parser.add_argument("--executor", help=f"{', '.join(EXECUTORS)} (default: what fits)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a dask.distributed scheduler, e.g. tcp://10.0.0.1:8786"
    )
    parser.add_argument("--max-cases", type=int, metavar="N", help="start no case once N were run in this session")
    parser.add_argument("--max-cost", type=float, metavar="DOLLARS", help="start no case once the run has cost so much")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be run and what it would take, and run nothing"
    )
    parser.add_argument("--fresh", action="store_true", help="run everything again, whatever the folder holds")


def _json(option: str, text: str) -> dict:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:  # not an argparse type, whose errors repeat the text
        raise ConfigError(f"{option}: not JSON ({error.msg} at character {error.pos})") from None


def run(arguments: argparse.Namespace) -> int:
    """Execute a run and say what it has come to; return 0 when every planned case is scored."""
    config = RunConfig(
        arguments.shifts,
        tuple(arguments.agents),
        tuple(arguments.memory_modes),
        arguments.trials,
        arguments.agent_llm,
        _json("--agent-llm-args", arguments.agent_llm_args),
        arguments.user,
        arguments.user_llm,
        _json("--user-llm-args", arguments.user_llm_args),
        arguments.log_prompts,
    )
    name = arguments.name or Path(arguments.shifts).stem
    if arguments.dry_run:
        print(estimate_run(config, name, arguments.fresh))
        return 0
    limits = {"max_cases": arguments.max_cases, "max_cost": arguments.max_cost}
    spread = {"executor": arguments.executor, "scheduler": arguments.scheduler}
    try:
        folder = execute_runs(config, name, arguments.workers, arguments.fresh, progress=True, **spread, **limits)
    except KeyboardInterrupt:
        if any(thread.name.startswith(CASE_THREADS) for thread in threading.enumerate()):
            print("taulong: interrupted", file=sys.stderr, flush=True)
            os._exit(130)  # Python would wait at its end for the cases that were dropped
        raise
    account = folder.account
    if account.stopped:
        print(f"stopped: {account.stopped}")
    print(f"{account}, in {located(folder.path)}")
    return 0 if account.scored == account.planned else 1
