"""Manifests: what an environment holds at one moment, of a JSON-like state, a file tree or a SQLite file.

All three are a mapping from path to entry. In a tree a path begins with its root; in a state it is a JSON pointer whose
segments are keys, or the value of the key field where a list holds records; in SQLite it is ``/table/key/column``.
"""

import base64
import datetime
import hashlib
import json
import os
import shlex
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from taulong.errors import ConfigError, DataError
from taulong.frame import reader
from taulong.frame.reader import FORMAT, MARK, escaped, glob_pattern
from taulong.paths import atomic_write

Kind = Literal["tree", "state", "sqlite"]
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Bounds:
    """How much may be read for one manifest; what is over is a problem of the manifest, never a part passed for all.

    Attributes:
        seconds: of the clock, for the whole of it.
        entries: files, folders and links, or rows and values.
        bytes: of file contents.

    Raises:
        ConfigError: one that is not positive.
    """

    seconds: float = reader.BOUNDS["seconds"]
    entries: float = reader.BOUNDS["entries"]
    bytes: float = reader.BOUNDS["bytes"]

    def __post_init__(self):
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ConfigError(f"bounds: {name} is {value!r}, accepted: a number above 0")


@dataclass(frozen=True)
class Manifest:
    """What was there.

    Attributes:
        kind: ``tree``, ``state`` or ``sqlite``.
        roots: the folders, the name of the state, or the database file.
        entries: path -> entry, sorted by path.
        problems: (path, why) of whatever could not be read, "" for the whole; such a manifest may not be whole.
        without: globs of paths that were not read.
    """

    kind: Kind
    roots: tuple[str, ...]
    entries: Mapping[str, Entry] = field(repr=False)
    problems: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()

    def digest(self, leave_out: Sequence[str] = (), paths: frozenset[str] = frozenset()) -> str:
        """Return the sha256 of all entries but those whose path is named or matches one of the globs."""
        patterns = [glob_pattern(glob) for glob in leave_out]
        kept = [
            [path, entry]
            for path, entry in sorted(self.entries.items())
            if path not in paths and not any(pattern.fullmatch(path) for pattern in patterns)
        ]
        text = json.dumps([self.kind, self.roots, kept], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def to_json(self) -> dict:
        """Return it as JSON types, the format the reader writes."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "roots": list(self.roots),
            "without": list(self.without),
            "entries": {path: dict(entry) for path, entry in self.entries.items()},
            "problems": [list(problem) for problem in self.problems],
        }

    @classmethod
    def from_json(cls, data: Any, where: str = "manifest") -> "Manifest":
        """Return the manifest that JSON types hold.

        Raises:
            DataError: it is none, or of another format.
        """
        if not isinstance(data, dict) or "format" not in data:
            raise DataError(f"{where}: is no manifest")
        if data["format"] != FORMAT:
            raise DataError(f"{where}: a manifest of format {data['format']!r}, accepted: {FORMAT!r}")
        try:
            kind, entries = data["kind"], data["entries"]
            if kind not in ("tree", "state", "sqlite") or not all(
                isinstance(entry, dict) for entry in entries.values()
            ):
                raise TypeError
            return cls(
                kind,
                tuple(map(str, data["roots"])),
                entries,
                tuple((str(path), str(why)) for path, why in data["problems"]),
                tuple(map(str, data["without"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError(f"{where}: is a damaged manifest") from None

    def packed(self) -> str:
        """Return it as one line of ASCII, compressed, as it crosses pipes and is kept in logs."""
        return reader.packed(self.to_json())

    @classmethod
    def unpacked(cls, text: str, where: str = "manifest") -> "Manifest":
        """Return the manifest in what a command printed: its line may have others around it.

        Raises:
            DataError: no line holds one; the error ends with what there was instead.
        """
        line = next((line for line in text.splitlines() if line.startswith(MARK)), None)
        if line is None:
            said = " ".join(text.split())
            raise DataError(f"{where}: no manifest was printed" + (f" but {said[-200:]!r}" if said else ""))
        try:
            data = json.loads(zlib.decompress(base64.b64decode(line[len(MARK) :], validate=True)))
        except (ValueError, zlib.error):
            raise DataError(f"{where}: the printed manifest is cut off or damaged") from None
        return cls.from_json(data, where)

    def write(self, path: str | os.PathLike) -> None:
        """Write it as JSON, in one step."""
        atomic_write(path, json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")) + "\n")

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Manifest":
        """Return a stored manifest.

        Raises:
            DataError: the file is missing or holds none.
        """
        return cls.from_json(read_json(path), str(path))


def read_json(path: str | os.PathLike) -> Any:
    """Return what a JSON file holds; raises DataError with the file's name."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: does not exist") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


# --- trees and databases --------------------------------------------------------------------------------------------


def tree_manifest(
    roots: Sequence[str | os.PathLike], without: Sequence[str] = (), bounds: Bounds = Bounds()
) -> Manifest:
    """Return the manifest of folders of this machine; see :func:`taulong.frame.reader.read_tree`."""
    return Manifest.from_json(reader.read_tree(check_roots(roots), check_globs(without), vars(bounds)))


def sqlite_manifest(path: str | os.PathLike, bounds: Bounds = Bounds()) -> Manifest:
    """Return the manifest of a SQLite file of this machine; see :func:`taulong.frame.reader.read_sqlite`."""
    return Manifest.from_json(reader.read_sqlite(os.fspath(path), vars(bounds)))


def read_command(
    roots: Sequence[str | os.PathLike],
    kind: Literal["tree", "sqlite"] = "tree",
    without: Sequence[str] = (),
    bounds: Bounds = Bounds(),
    python: str = "python3",
) -> list[str]:
    """Return the command that prints the packed manifest in any sandbox that has python3.

    It carries the reader along, reads no standard input, writes no file and ends by itself at the bounds, so it should
    be given more time than ``bounds.seconds``. :meth:`Manifest.unpacked` reads what it prints.
    """
    what = {
        "kind": kind,
        "roots": check_roots(roots),
        "without": check_globs(without),
        "bounds": vars(bounds),
    }
    source = base64.b64encode(zlib.compress(Path(reader.__file__).read_bytes(), 9)).decode("ascii")
    code = f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{source}')))"
    # Isolated and without bytecode: neither the folder nor the environment of the sandbox changes what runs, and
    # importing the standard library leaves no trace in the tree.
    return [python, "-I", "-B", "-c", code, base64.b64encode(json.dumps(what).encode()).decode("ascii")]


def shell_command(*args, **options) -> str:
    """Return :func:`read_command` as one line for a POSIX shell."""
    return shlex.join(read_command(*args, **options))


def check_roots(roots: Sequence[str | os.PathLike]) -> list[str]:
    """Return roots as text; raises ConfigError for none, for an empty one, and for one inside another."""
    if isinstance(roots, (str, bytes)) or not roots:
        raise ConfigError(f"roots: {roots!r} is no list of folders, e.g. ['/app', '/root']")
    texts = [os.fspath(root) for root in roots]
    for text in texts:
        if not text or "\0" in text:
            raise ConfigError(f"roots: {text!r} is no path")
    plain = [text.rstrip("/") or "/" for text in texts]
    for one in plain:
        for other in plain:
            if one is not other and (other + "/").startswith(one.rstrip("/") + "/"):
                raise ConfigError(f"roots: {other!r} is inside {one!r}; name the outer one alone")
    return texts


def check_globs(globs: Sequence[str]) -> list[str]:
    """Return globs as a list; raises ConfigError where one is no text."""
    if isinstance(globs, str) or not all(isinstance(glob, str) and glob for glob in globs):
        raise ConfigError(f"without: {globs!r} is no list of globs, e.g. ['/root/.cache/**']")
    return list(globs)


# --- states ---------------------------------------------------------------------------------------------------------


def state_manifest(state: Any, keys: Mapping[str, str] | None = None, name: str = "state") -> Manifest:
    """Return the manifest of a JSON-like state.

    Dicts are followed by key. A list is followed by record where ``keys`` says so, and is one value otherwise.

    Args:
        state: dicts, lists, text, numbers, booleans, None; also tuples, enums and dates.
        keys: glob of the list's path -> key field of its records: ``{"/lines": "line_id"}``.
        name: what the state is of; states of other names are not compared.

    A state that cannot be read so (a value of another type, a record without its key, two with one key, a cycle) has
    the manifest's problem that says where.
    """
    entries: dict[str, Entry] = {}
    problems: list[tuple[str, str]] = []
    patterns = [(glob_pattern(glob), key) for glob, key in (keys or {}).items()]
    for path, entry, problem in _entries("", state, patterns, ()):
        if problem is None:
            entries[path] = entry
        else:
            problems.append((path, problem))
    return Manifest("state", (name,), dict(sorted(entries.items())), tuple(problems))


def _entries(path: str, value: Any, keys: list, above: tuple) -> Iterator[tuple[str, Entry, str | None]]:
    """Yield (path, entry, None) for a value and all below it, and (path, {}, why) for what cannot be read."""
    if isinstance(value, (dict, list, tuple)):
        if id(value) in above:
            yield path, {}, "unreadable: it contains itself"
            return
        above = (*above, id(value))
    if isinstance(value, Mapping):
        yield path, {"type": "object"}, None
        for key, below in value.items():
            if isinstance(key, str):
                yield from _entries(f"{path}/{escaped(key)}", below, keys, above)
            else:
                yield path, {}, f"unreadable: the key {key!r} is no text"
        return
    key = next((key for pattern, key in keys if pattern.fullmatch(path)), None)
    if key is not None and isinstance(value, (list, tuple)):
        yield from _record_entries(path, value, key, keys, above)
        return
    try:
        yield path, {"type": "value", "value": plain(value)}, None
    except (TypeError, RecursionError) as unfit:
        yield path, {}, f"unreadable: {unfit}"


def _record_entries(path: str, records: Sequence, key: str, keys: list, above: tuple):
    order: list[str] = []
    for place, record in enumerate(records):
        identity = plain(record.get(key)) if isinstance(record, Mapping) else None
        if not isinstance(identity, (str, int)):
            yield path, {}, f"unreadable: record {place} has no {key}"
        elif (name := escaped(identity)) in order:
            yield path, {}, f"unreadable: two records have the {key} {identity!r}"
        else:
            order.append(name)
            yield from _entries(f"{path}/{name}", record, keys, above)
    yield path, {"type": "records", "order": order}, None


def plain(value: Any) -> Any:
    """Return a value as JSON types; raises TypeError where it has none."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(below) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise TypeError(f"a value of type {type(value).__name__} cannot be compared: {value!r}")
