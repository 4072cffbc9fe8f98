"""Where cases are run: in this thread, in threads or processes of this machine, or over a dask.distributed scheduler."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from math import ceil
from pathlib import Path

from taulong.errors import ConfigError
from taulong.keys import scrub
from taulong.runs.interrupts import ignore_interrupts
from taulong.runs.ledger import TOPIC, append

EXECUTORS = ("serial", "threads", "processes", "cluster")
MODEL_THREADS = 16
CASE_THREADS = "taulong-case"  # how the names of threads begin that run cases


class _Here(Executor):
    """Runs what is submitted at once, in this thread."""

    def submit(self, call, /, *arguments, **named) -> Future:
        future: Future = Future()
        future.set_result(call(*arguments, **named))
        return future


@contextmanager
def new_executor(
    kind: str, workers: int | None, scheduler: str | None, ledger: Path | None = None
) -> Iterator[tuple[Executor, int]]:
    """Give an executor and the number of units to have under way in it.

    Args:
        kind: one of :data:`EXECUTORS`.
        workers: units at once; None, for a scheduler alone, is as many as its workers have threads.
        scheduler: address of a dask.distributed scheduler, which stands before the kind.
        ledger: where calls are noted that workers report, who do not see it.
    """
    if scheduler or kind == "cluster":
        try:
            from distributed import Client, KilledWorker
        except ImportError as error:
            what = "scheduler" if scheduler else "executor cluster"
            raise ConfigError(f"{what}: dask.distributed is not installed; pip install 'taulong[cluster]'") from error
        with nullcontext(scheduler) if scheduler else _local_cluster(workers or 1) as address:
            try:
                client = Client(address)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"scheduler: {scrub(repr(address))} cannot be reached ({scrub(str(error))}); accepted: the address of a "
                    "dask.distributed scheduler, e.g. tcp://10.0.0.1:8786"
                ) from error
            with client:
                if ledger is not None:
                    client.subscribe_topic(TOPIC, lambda event: append(ledger, event[1]))
                try:
                    yield client.get_executor(pure=False), workers or sum(client.nthreads().values())
                except KilledWorker as error:
                    raise BrokenExecutor(str(error)) from error
    elif kind == "serial":
        yield _Here(), 1
    elif kind == "threads":
        with _dropping(ThreadPoolExecutor(workers, thread_name_prefix=CASE_THREADS)) as pool:
            yield pool, workers or 1
    else:
        # forked from a clean process that has imported tau2 once
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["taulong.cases.case"])
        with _dropping(ProcessPoolExecutor(workers, mp_context=context, initializer=_serve_parent)) as pool:
            yield pool, workers or 1


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
                process.kill()  # it ignores SIGTERM
        raise
    pool.shutdown()


def _serve_parent() -> None:
    """Have a process of a pool ignore interrupts, and end with the one that submits, however that ends."""
    ignore_interrupts()
    parent = multiprocessing.parent_process()
    assert parent, "a pool's process has a parent"

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


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
            client.run(ignore_interrupts)
        yield cluster.scheduler_address
