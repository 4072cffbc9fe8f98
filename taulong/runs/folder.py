"""A run on disk: what its rows are called, how they are read back, and how they are written so that nothing is lost."""

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from taulong.errors import ConfigError, DataError, RunError, near
from taulong.memory.names import current_name
from taulong.paths import RUNS, atomic_write, naming
from taulong.runs.accounts import Account
from taulong.runs.ledger import Ledger

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
WRITTEN = "written"  # of the manifest: digests of the result files, no part of the run's identity
DIGITS = 8  # of a line's digest
NUMBER = (int, float)
KEY_TYPES: dict[str, tuple[type, ...]] = {
    "agent": (str,), "memory_mode": (str,), "shift_id": (str,), "trial": (int,), "position": (int,)
}  # fmt: skip
RECORD_TYPES: dict[str, tuple[type, ...]] = KEY_TYPES | {
    "outcome": (str,),
    "reason": (str, type(None)),
    "official_reward": (*NUMBER, type(None)),
    "agent_tokens": NUMBER,
    "user_tokens": NUMBER,
    "agent_cost": NUMBER,
    "user_cost": NUMBER,
    "unpriced_calls": NUMBER,
}
TRANSCRIPT_TYPES: dict[str, tuple[type, ...]] = KEY_TYPES | {
    "notebook_before": (str, type(None)),
    "notebook_after": (str, type(None)),
    "messages": (list,),
}
"""What is read of rows; the rest of their columns are read as they are."""


def run_path(name: str | Path) -> Path:
    """Return the path of a run folder, by name below data/runs or by path; raises ConfigError for ``.`` and ``..``."""
    path = Path(name)
    if path.name in ("", ".", ".."):
        raise ConfigError(f"run: {str(name)!r} is no name of a folder; accepted: a name below data/runs, or a path")
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
            ledger = Ledger(self.path, (name for row in self._lines("journal") for name in row.get("attempts", ())))
            self._account = Account(self.manifest["planned_cases"], self._counted(), unsettled=ledger.unsettled)
        return self._account

    @account.setter
    def account(self, account: Account) -> None:
        self._account = account

    @property
    def manifest(self) -> dict:
        """The run's identity: config, shifts, versions, and the number of planned cases."""
        return {name: value for name, value in self._manifest().items() if name != WRITTEN}

    def _manifest(self) -> dict:
        try:
            manifest = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise KeyError("format")
            manifest["memory_modes"] = [current_name(mode) for mode in manifest["memory_modes"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                f"{self.path.name}/manifest.json: not the manifest of a run ({error}); put it back, or move the folder aside"
            ) from error
        return manifest

    def _written(self) -> dict:
        """Return the digests of the result files that the manifest holds: ``records``, ``transcripts``, ``lines``."""
        return self._manifest().get(WRITTEN) or {}

    def records(self):
        """Return the records as a table, one row a case, in plan order (then whatever the journal holds).

        Raises:
            DataError: a line is damaged, or was edited since it was written; names it.
        """
        import pandas as pd

        journal = {record_key(row["record"]): row["record"] for row in self._lines("journal")}
        return pd.DataFrame(({**dict(self._records(journal)), **journal}).values())

    def _lines(self, name: str) -> Iterator[dict]:
        return (row for _, row in read_rows(self.path / f"{name}.jsonl"))

    def _records(self, journalled: Collection[tuple] = ()) -> Iterator[tuple[tuple, dict]]:
        """Yield (key, record) of the records, each as its digest in the manifest says, but for those that a journal has."""
        path = self.path / "records.jsonl"
        digests = self._written().get("lines") if path.exists() else None
        known = digests and {digests[at : at + DIGITS] for at in range(0, len(digests), DIGITS)}
        for number, (line, record) in enumerate(read_rows(path), start=1):
            key = record_key(record)
            if known is not None and key not in journalled and line_digest(line) not in known:
                raise DataError(
                    f"{self.path.name}/records.jsonl, line {number}: edited since it was written (its digest is not in the "
                    "manifest); put it back, or remove the line: its case and those after it in the shift are then owed"
                )
            yield key, record

    def transcripts(self) -> Iterator[dict]:
        """Return the transcripts, one a case."""
        return (row["transcript"] for row in self.rows().values())

    def rows(self) -> dict[tuple, dict]:
        """Return every complete row by key: those of the result files, then those of the journal."""
        journal = {record_key(row["record"]): row for row in self._lines("journal")}
        transcripts = {record_key(row): row for row in self._lines("transcripts")}
        timings = self._timings()
        rows = {}
        for key, record in self._records(journal):
            if key in transcripts:  # else the session was killed between two files, and the journal has the row
                rows[key] = {"record": record, "transcript": transcripts[key], **timings.get(key, {"seconds": 0.0})}
        return {**rows, **journal}

    def _timings(self) -> dict[tuple, dict]:
        return {
            record_key(row): {name: value for name, value in row.items() if name not in KEY}
            for row in self._lines("timings")
        }

    def _counted(self) -> Iterator[dict]:
        """Yield what an account counts of each row, without transcripts."""
        journal = {record_key(row["record"]): row for row in self._lines("journal")}
        timings = self._timings()
        for key, record in self._records(journal):
            if key not in journal:
                yield {"record": record, **timings.get(key, {})}
        yield from journal.values()

    def finished(self, manifest: dict) -> Account | None:
        """Return the account of a run that owes nothing, and None where it may; no transcript is read into memory.

        So it is where every planned case is scored, and the files are those that the last session wrote.
        """
        try:
            if self.manifest != manifest or (self.path / "journal.jsonl").exists():
                return None
            written = self._written()
            if any(file_digest(self.path / f"{name}.jsonl") != written.get(name) for name in RESULTS[:2]):
                return None
        except OSError:
            return None
        account = self.account
        return account if account.scored == account.planned else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; raises RunError when another process is at work in it."""
        self.path.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunError(
                    f"{self.path.name}: another process is executing this run; wait for it, or choose another name"
                ) from error
            yield
        finally:
            os.close(folder)

    @contextmanager
    def journal(self, manifest: dict, fresh: bool = False) -> Iterator[Callable[[dict], None]]:
        """Write the manifest and give a function that appends one row to the journal.

        A torn last line, from a killed process, is cut off; starting afresh, the journal is forgotten.

        Raises:
            RunError: another process is at work in the folder.
        """
        path = self.path / "journal.jsonl"
        with self.locked():
            same = self._holds(manifest)
            if fresh:
                path.unlink(missing_ok=True)
                if not same:  # rows of another run are no rows of this one, should this be cut short
                    for name in RESULTS:
                        (self.path / f"{name}.jsonl").unlink(missing_ok=True)
            elif path.exists():
                atomic_write(path, (row_line(row) for row in list(self._lines("journal"))))
            self._write_manifest(manifest, self._written() if same else {})
            with path.open("ab", buffering=0) as file:
                yield partial(_append, path, file)

    def _holds(self, manifest: dict) -> bool:
        try:
            return self.manifest == manifest
        except (OSError, DataError):
            return False

    def _write_manifest(self, manifest: dict, written: dict) -> None:
        whole = {**manifest, WRITTEN: written} if written else manifest
        atomic_write(self.path / "manifest.json", json.dumps(whole, indent=1) + "\n")

    def finish(self, units: "list[Unit]", rows: dict[tuple, dict]) -> None:
        """Write the result files in plan order, from the given rows and the journal's, and remove the journal."""
        rows = {**rows, **{record_key(row["record"]): row for row in self._lines("journal")}}
        ordered = [rows[key] for unit in units for key in unit.case_keys() if key in rows]
        manifest = self.manifest
        lines = "".join(line_digest(row_line(row["record"]).rstrip("\n")) for row in ordered)
        self._write_manifest(
            manifest, {"lines": lines}
        )  # a kill from here on leaves the journal, which stands before it
        contents = {
            "records": (row["record"] for row in ordered),
            "transcripts": (row["transcript"] for row in ordered),
            "timings": (
                dict(zip(KEY, record_key(row["record"]), strict=True))
                | {name: row[name] for name in APART if name in row}
                for row in ordered
            ),
        }
        written = {
            name: atomic_write(self.path / f"{name}.jsonl", map(row_line, content))
            for name, content in contents.items()
        }
        self._write_manifest(manifest, {name: written[name] for name in RESULTS[:2]} | {"lines": lines})
        (self.path / "journal.jsonl").unlink(missing_ok=True)


def _append(path: Path, file: BinaryIO, row: dict) -> None:
    """Append a row to a journal, or leave it as it was: the disk may be full."""
    line, end = row_line(row).encode(), file.tell()
    with naming(path):
        try:
            if file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            file.truncate(end)
            raise


def row_line(row: dict) -> str:
    """Return a row as a line of a result file."""
    # ASCII, because a model may send half of a surrogate pair, which has no UTF-8.
    return json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n"


def line_digest(line: str) -> str:
    """Return the digest of a record's line, as the manifest holds them one after the other."""
    return hashlib.sha256(line.encode()).hexdigest()[:DIGITS]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_rows(path: Path) -> Iterator[tuple[str, dict]]:
    """Yield (line, row) of a JSON Lines file; a torn last line is left out, a damaged one elsewhere is an error.

    Lines end at ``\\n`` alone: texts may hold other signs that end lines elsewhere.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, data in enumerate(file, start=1):
            line = data.decode("utf-8", errors="replace").removesuffix("\n")
            try:
                row = json.loads(line)
                check_row(row)
                for part in (row["record"], row["transcript"]) if "record" in row else (row,):
                    part["memory_mode"] = current_name(part["memory_mode"])
            except (ValueError, RecursionError) as error:
                if not data.endswith(b"\n"):  # torn
                    return
                what = "nested too deep" if isinstance(error, RecursionError) else error
                raise DataError(
                    f"{path.parent.name}/{path.name}, line {number}: not a row of a run ({what}); remove the line, "
                    "its case and those after it in the shift are then owed and run again"
                ) from error
            yield line, row


def check_row(row: object) -> None:
    """Raise ValueError that names the field in which this is no row of a run."""
    if not isinstance(row, dict):
        raise ValueError(f"a {type(row).__name__}, not an object")
    _check_fields("", row, {} if "record" in row else KEY_TYPES)
    if "record" in row:
        for part, kinds in (("record", RECORD_TYPES), ("transcript", TRANSCRIPT_TYPES)):
            if not isinstance(row.get(part), dict):
                raise ValueError(f"field {part} is {'missing' if part not in row else 'not an object'}")
            _check_fields(f"{part}.", row[part], kinds)
    elif "outcome" in row:
        _check_fields("", row, RECORD_TYPES)
    elif "messages" in row:
        _check_fields("", row, TRANSCRIPT_TYPES)


def _check_fields(where: str, row: dict, kinds: dict[str, tuple[type, ...]]) -> None:
    for name, kind in kinds.items():
        if name not in row:
            raise ValueError(f"field {where}{name} is missing")
        if not isinstance(row[name], kind) or (isinstance(row[name], bool) and bool not in kind):
            raise ValueError(f"field {where}{name} is {row[name]!r:.60}")


def record_key(record: dict) -> tuple:
    """Return the key of a case of a run, see :data:`KEY`."""
    return tuple(record[name] for name in KEY)
