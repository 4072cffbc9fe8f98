"""What model calls cost, written down before their answers are used: what a killed worker has spent is not forgotten.

A line a call, in the run folder's ``spending.jsonl``, by the attempt at a case that made it. The row of a case names the
attempts whose calls it counts; what no row counts yet is part of the run's spending all the same.
"""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from taulong.once import once
from taulong.paths import atomic_write
from taulong.runs.accounts import Spending

TOPIC = "taulong-spending"  # of events that dask.distributed carries from workers that do not see the folder


@dataclass(frozen=True)
class Notes:
    """Where the calls of a run are noted; goes to the workers with each case.

    Attributes:
        path: the ledger, as the one that submits sees it.
        token: its first line says it, by which a worker knows that it sees the same file.
    """

    path: Path
    token: str

    def of(self, key: tuple) -> tuple[str, Callable[[int, float, int], None]]:
        """Return (the name of a new attempt at a case, the function that notes a call of it)."""
        attempt = uuid4().hex
        return attempt, partial(self.note, key, attempt)

    def note(self, key: tuple, attempt: str, tokens: int, cost: float, unpriced: int) -> None:
        """Write one call down, here or by the one that submitted the case."""
        call = {"key": list(key), "attempt": attempt, "tokens": tokens, "cost": cost, "unpriced_calls": unpriced}
        line = json.dumps(call, separators=(",", ":")) + "\n"
        if _sees(self.path, self.token):
            append(self.path, line)
        else:
            from distributed import get_worker

            get_worker().log_event(TOPIC, line)


@once
def _sees(path: Path, token: str) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            return json.loads(file.readline())["run"] == token
    except (OSError, ValueError, KeyError, TypeError):
        return False


def append(path: Path, line: str) -> None:
    """Append a line in one write, which no other process's comes between."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


class Ledger:
    """The calls of a run that no row counts yet, by attempt; a run without models has none, and no file.

    Args:
        folder: of the run.
        settled: attempts that rows count.
    """

    def __init__(self, folder: Path, settled: Iterable[str] = ()):
        self.path = folder.resolve() / "spending.jsonl"
        self._open: dict[str, tuple[tuple, Spending]] = {}
        self._settled = set(settled)
        self._read_to = 0

    def begin(self) -> Notes:
        """Return where a session's workers note their calls; what the file holds already stays."""
        held = self.open()
        token = uuid4().hex
        lines = [json.dumps({"run": token}), *(_line(attempt, *held[attempt]) for attempt in held)]
        atomic_write(self.path, "\n".join(lines) + "\n")
        self._read_to, self._open = 0, {}
        return Notes(self.path, token)

    def open(self) -> dict[str, tuple[tuple, Spending]]:
        """Return (case, spending) of each attempt that no row counts, with what was noted since it was asked last."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                new = file.read()
        except FileNotFoundError:
            return self._open
        whole, _, _ = new.rpartition(b"\n")  # a torn last line is read when it is whole
        self._read_to += len(whole) + bool(whole)
        for line in whole.split(b"\n"):
            try:
                call = json.loads(line)
                key, attempt = tuple(call["key"]), call["attempt"]
                spending = Spending(call["tokens"], call["cost"], call["unpriced_calls"])
            except (ValueError, KeyError, TypeError):
                continue  # the first line, or one that a kill has torn and another worker's call has ended
            if attempt not in self._settled:
                self._open[attempt] = key, self._open.get(attempt, (key, Spending()))[1] + spending
        return self._open

    def unsettled(self) -> Spending:
        """Return what all of that has cost."""
        return sum((spending for _, spending in self.open().values()), Spending())

    def settle(self, key: tuple, attempt: str) -> tuple[Spending, list[str]]:
        """Count a case's row, made by an attempt; return (what other attempts at it cost, all of them by name)."""
        others = {name: spending for name, (case, spending) in self.open().items() if case == key and name != attempt}
        for name in (attempt, *others):
            self._open.pop(name, None)
            self._settled.add(name)
        return sum(others.values(), Spending()), [attempt, *others]

    def close(self) -> None:
        """Leave in the file what no row counts, one line an attempt; without any, remove it."""
        held = self.open()
        if held:
            atomic_write(self.path, "".join(_line(attempt, *held[attempt]) + "\n" for attempt in held))
        else:
            self.path.unlink(missing_ok=True)


def _line(attempt: str, key: tuple, spending: Spending) -> str:
    call = {"key": list(key), "attempt": attempt, "tokens": spending.tokens, "cost": spending.cost}
    return json.dumps({**call, "unpriced_calls": spending.unpriced_calls}, separators=(",", ":"))
