"""Runs: shifts executed by agents under memory modes, written as append-only records that can be resumed."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taulong.cases.record import SIDES
from taulong.errors import RunError, check_integer, check_name
from taulong.progress import progress_bar
from taulong.runs.accounts import Account, Spending, check_limits, spent
from taulong.runs.claim import claim
from taulong.runs.config import RunConfig, run_manifest
from taulong.runs.executors import EXECUTORS, MODEL_THREADS, new_executor
from taulong.runs.folder import RunFolder, record_key, run_path
from taulong.runs.interrupts import Stopping, stop_requests
from taulong.runs.ledger import Ledger, Notes
from taulong.runs.units import Unit, held_rows, run_step
from taulong.shifts.files import read_shifts

if TYPE_CHECKING:
    from taulong.memory.modes import Memory

PROGRESS_LINES = 20
POLL = 0.5  # seconds between looks at whether what is under way is to be dropped


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
    replace: str | None = None,
) -> "RunFolder":
    """Run what is owed of a config, and return the run folder with every row there is.

    Cases go one by one to an executor, a unit's next when the one before has ended, never more units at once than there
    are workers; results do not depend on which executor or how many. Each ended case is appended to a journal at once;
    when the work ends or is interrupted (cases under way are then awaited and kept), the rows are put into plan order
    and written atomically. A case whose conversation failed in an earlier session is run again; one whose memory or
    grading failed behind it is finished from its transcript.

    Args:
        config: what to run.
        name: name of the run folder below data/runs, or a path.
        workers: units at once (default: the cluster's threads for a scheduler, 16 for models and ``cluster``, else 1).
        fresh: run everything again. The rows there are stay until this session ends, by a limit too; then the folder holds
            the new rows alone. Refused where a model's cases, or another configuration's, would be lost.
        progress: True for a bar on a terminal or in JupyterLab and at most twenty lines elsewhere, False for none; by
            default a bar there alone.
        executor: ``serial``, ``threads`` (default for models), ``processes`` (default for several workers), or
            ``cluster``: a dask.distributed one on this machine, the workers being threads of a process a core.
        scheduler: address of a dask.distributed scheduler to send the cases to.
        max_cases: start no case once so many were run in this session.
        max_cost: start no case once the folder's cost, all sessions together, has reached so many dollars, or is not
            known because of an unpriced call.
        replace: the run's name once more, which moves whatever its folder holds to ``NAME.replaced-DIGEST`` first.

    Raises:
        ConfigError: an argument is not one of the accepted.
        DataError: the folder holds a run of another configuration (names what differs), or the shifts cannot be read.
        RunError: a worker process died, or the scheduler was lost; every case that ended is kept.
        Interrupted: Ctrl-C, SIGTERM or SIGHUP asked to stop; every case that ended is kept, and those under way were
            awaited, unless asked again.
    """
    check_limits(max_cases, max_cost)
    models = any(config.side(side) for side in SIDES)
    if executor is not None:
        check_name("executor", executor, EXECUTORS)
    if workers is not None:
        check_integer("workers", workers, 1)
    executor = executor or ("threads" if models else "processes" if (workers or 1) > 1 else "serial")
    at_once = MODEL_THREADS if executor == "cluster" or (models and executor == "threads") else 1
    workers = workers or (None if scheduler else at_once)
    for side in SIDES:
        if model := config.side(side):
            model.check_key()
    folder = RunFolder(run_path(name))
    manifest = run_manifest(config)
    claim(folder, manifest, fresh, replace)
    if not fresh and (account := folder.finished(manifest)):
        folder.account = account
        return folder
    units = config.units(read_shifts(config.shifts))
    with folder.journal(manifest, fresh) as journal, stop_requests() as stopping:
        held = {} if fresh else folder.rows()
        ledger = Ledger(folder.path, (name for row in held.values() for name in row.get("attempts", ())))
        rows, done = held_rows(units, held)
        account = Account(manifest["planned_cases"], rows.values(), max_cases, max_cost, ledger.unsettled)
        session = _Session(account, rows, journal, ledger, ledger.begin() if models else None, stopping)
        with _progress(account, progress) as session.show:
            try:
                _finish_owed(units, done, session)
                owed = [unit for unit in units if _is_owed(unit, done[unit])]
                with new_executor(executor, workers, scheduler, ledger.path) as (pool, window):
                    _work(pool, window, owed, done, session)
            except (BrokenExecutor, CancelledError) as error:
                what = "the scheduler was lost" if isinstance(error, CancelledError) else "a worker process died"
                raise RunError(
                    f"{folder.path.name}: {what}; every case that ended is kept, run again to go on"
                ) from error
            finally:
                folder.finish(units, rows)
                ledger.close()
    folder.account = account
    return folder


@dataclass
class _Session:
    """What one session of a run writes to: the account, the journal and the ledger of its calls.

    Attributes:
        account: what the run has come to.
        rows: those that were there before, by key.
        journal: appends a row.
        ledger: the calls that no row counts yet.
        notes: where workers note their calls; None without a model.
        stopping: whether the work is to stop.
        show: shows how far it is.
    """

    account: Account
    rows: dict[tuple, dict]
    journal: Callable[[dict], None]
    ledger: Ledger
    notes: Notes | None
    stopping: Stopping
    show: Callable[[], None] = lambda: None

    def keep(self, row: dict) -> None:
        """Journal the row of a case that has ended, and count it with what other attempts at it have cost."""
        from taulong.cases.grading import is_whole

        key = record_key(row["record"])
        earlier = self.rows.get(key)
        wasted = Spending(**(row.get("spent_before") or {}))
        if earlier and not is_whole(earlier["record"]):  # what the failed attempt has cost is not forgotten
            wasted = spent(earlier)
        if attempt := row.pop("attempt", None):
            lost, row["attempts"] = self.ledger.settle(key, attempt)
            wasted += lost
        if wasted != Spending():
            row["spent_before"] = asdict(wasted)
        self.journal(row)
        self.account.add(row, earlier)
        self.show()


def _work(pool: Executor, window: int, owed: list[Unit], done: dict[Unit, list], session: _Session) -> None:
    """Submit the units' cases, a unit's next when the one before has ended, and keep their rows."""
    from taulong.cases.grading import goes_on

    first = ((unit, len(done[unit]), unit.memory(done[unit])) for unit in owed)
    # before another unit's first: a limit shall find shifts complete
    following: deque[tuple[Unit, int, Memory]] = deque()
    active: dict[Future, tuple[Unit, int, Memory]] = {}
    coming: list[tuple[Unit, int, Memory]] = []
    stopping = session.stopping
    stopping.waits_for = lambda: _named([*active.values(), *coming])
    try:
        while True:
            while len(active) < window and stopping.asked is None:
                case = following.popleft() if following else next(first, None)
                if case is None:
                    break
                if session.account.exhausted(len(active)):
                    following.appendleft(case)
                    break
                coming = [case]
                with stopping.case_here():
                    future = pool.submit(run_step, *case, *([session.notes] if session.notes else []))
                active[future], coming = case, []
            if not active:
                stopping.check()
                return
            for future in wait(active, timeout=POLL, return_when=FIRST_COMPLETED).done:
                unit, step, memory = active.pop(future)
                row = future.result()
                session.keep(row)
                if step + 1 < len(unit.steps) and goes_on(row["record"]):
                    following.append((unit, step + 1, unit.memory_after(memory, row)))
            if stopping.dropping:
                stopping.check()
    except BaseException:
        while active and not stopping.dropping:  # the cases under way are paid for
            _keep_ended(active, session, POLL)
        _keep_ended(active, session, 0)
        raise


def _keep_ended(active: dict[Future, tuple], session: _Session, timeout: float) -> None:
    for future in wait(active, timeout=timeout).done:
        del active[future]
        if not future.cancelled() and future.exception() is None:
            session.keep(future.result())


def _named(cases: "list[tuple[Unit, int, Memory]]") -> str:
    """Return which cases these are, in words; empty for none."""
    names = [f"{unit.agent} {unit.steps[step][0]} {unit.steps[step][1].case_id}" for unit, step, _ in cases]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{len(names)} case{'s' * (len(names) > 1)} under way ({', '.join(names[:3])}{more})" if names else ""


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


def _finish_owed(units: list[Unit], done: dict[Unit, list[dict]], session: _Session) -> None:
    """Finish the whole conversations that have no score yet: what their memory has still to take in, and the grading."""
    from taulong.cases.case import finish_again

    for unit in units:
        for place, row in enumerate(done[unit]):
            if row["record"]["outcome"] != "scored":
                (_, case), memory = unit.steps[place], unit.memory(done[unit][:place])
                record, transcript = finish_again(
                    case, memory, row["record"], row["transcript"], unit.agent, unit.memory_llm
                )
                done[unit][place] = {**row, "record": record, "transcript": transcript}
                session.keep(done[unit][place])
                session.stopping.check()


def _is_owed(unit: Unit, done: list[dict]) -> bool:
    """Return whether a unit has cases to be run, on a memory that is what it should be."""
    from taulong.cases.grading import goes_on

    return len(done) < len(unit.steps) and (not done or goes_on(done[-1]["record"]))
