"""A run on disk: what its rows are called, how they are read back, and how they are written so that nothing is lost."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from taulong.errors import DataError, RunError, near
from taulong.memory.names import current_name
from taulong.paths import RUNS, atomic_write
from taulong.runs.accounts import Account

if TYPE_CHECKING:
    from taulong.runs.units import Unit

FORMAT = "taulong-run-1"
APART = (
    "seconds",
    "memory_seconds",
    "retries",
    "spent_before",
)  # what moves from run to run, so that it stays out of the records
RESULTS = ("records", "transcripts", "timings")
KEY = ("agent", "memory_mode", "shift_id", "trial", "position")  # a case of a run


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
        self._account: Account | None = None

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
    def account(self) -> Account:
        """What the run has come to: its last session's account, or that of the rows on disk."""
        if self._account is None:
            self._account = Account(self.manifest["planned_cases"], self.rows().values())
        return self._account

    @account.setter
    def account(self, account: Account) -> None:
        self._account = account

    @property
    def manifest(self) -> dict:
        """The run's identity: config, shifts, versions, and the number of planned cases."""
        try:
            manifest = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise KeyError("format")
            manifest["memory_modes"] = [current_name(mode) for mode in manifest["memory_modes"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{self.path.name}/manifest.json: not the manifest of a run ({error}); remove the folder, or run it "
                "afresh (fresh)"
            ) from error
        return manifest

    def records(self):
        """Return the records as a table, one row a case, in plan order (then whatever the journal holds)."""
        import pandas as pd

        journal = (row["record"] for row in read_rows(self.path / "journal.jsonl"))
        rows = {record_key(record): record for record in [*read_rows(self.path / "records.jsonl"), *journal]}
        return pd.DataFrame(rows.values())

    def transcripts(self) -> Iterator[dict]:
        """Return the transcripts, one a case."""
        return (row["transcript"] for row in self.rows().values())

    def rows(self) -> dict[tuple, dict]:
        """Return every complete row by key: those of the result files, then those of the journal."""
        transcripts = {record_key(row): row for row in read_rows(self.path / "transcripts.jsonl")}
        timings = {
            record_key(row): {name: value for name, value in row.items() if name not in KEY}
            for row in read_rows(self.path / "timings.jsonl")
        }
        rows = {}
        for record in read_rows(self.path / "records.jsonl"):
            key = record_key(record)
            if key in transcripts:  # else the session was killed between two files, and the journal has the row
                rows[key] = {"record": record, "transcript": transcripts[key], **timings.get(key, {"seconds": 0.0})}
        for row in read_rows(self.path / "journal.jsonl"):
            rows[record_key(row["record"])] = row
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
                atomic_write(path, "".join(row_line(row) for row in read_rows(path)))
            atomic_write(self.path / "manifest.json", json.dumps(manifest, indent=1) + "\n")
            with path.open("a", encoding="utf-8") as file:

                def append(row: dict) -> None:
                    file.write(row_line(row))
                    file.flush()

                yield append
        finally:
            os.close(folder)

    def _holds(self, manifest: dict) -> bool:
        try:
            return self.manifest == manifest
        except (OSError, DataError):
            return False

    def finish(self, units: "list[Unit]", rows: dict[tuple, dict]) -> None:
        """Write the result files in plan order, from the given rows and the journal's, and remove the journal."""
        rows = {**rows, **{record_key(row["record"]): row for row in read_rows(self.path / "journal.jsonl")}}
        ordered = [rows[key] for unit in units for key in unit.case_keys() if key in rows]
        contents = (
            [row["record"] for row in ordered],
            [row["transcript"] for row in ordered],
            [
                dict(
                    zip(KEY, record_key(row["record"]), strict=True),
                    **{name: row[name] for name in APART if name in row},
                )
                for row in ordered
            ],
        )
        for name, lines in zip(RESULTS, contents, strict=True):
            atomic_write(self.path / f"{name}.jsonl", "".join(row_line(line) for line in lines))
        (self.path / "journal.jsonl").unlink(missing_ok=True)


def row_line(row: dict) -> str:
    """Return a row as a line of a result file."""
    # ASCII, because a model may send half of a surrogate pair, which has no UTF-8.
    return json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n"


def read_rows(path: Path) -> Iterator[dict]:
    """Yield the rows of a JSON Lines file; a torn last line is left out, a damaged one elsewhere is an error."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            for part in (row["record"], row["transcript"]) if "record" in row else (row,):
                part["memory_mode"] = current_name(part["memory_mode"])
            hash(record_key(row.get("record", row)))
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


def record_key(record: dict) -> tuple:
    """Return the key of a case of a run, see :data:`KEY`."""
    return tuple(record[name] for name in KEY)
