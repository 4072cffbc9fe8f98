"""Licences: which changes outside the footprint a task allows, and why."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from taulong.errors import ConfigError, DataError, near
from taulong.frame.delta import KINDS, Change
from taulong.frame.reader import glob_pattern


@dataclass(frozen=True)
class Licence:
    """Leave to change something.

    Attributes:
        kinds: which kinds of change.
        glob: which paths; ``**`` alone crosses ``/``.
        reason: why, for a reader.

    Raises:
        ConfigError: an unknown kind, no path or no reason.
    """

    kinds: tuple[str, ...]
    glob: str
    reason: str

    def __post_init__(self):
        object.__setattr__(self, "kinds", (self.kinds,) if isinstance(self.kinds, str) else tuple(self.kinds))
        for kind in self.kinds:
            if kind not in KINDS:
                raise ConfigError(f"licence for {self.glob!r}: unknown kind {kind!r}; {near(kind, KINDS)}")
        for name in ("kinds", "glob", "reason"):
            if not getattr(self, name) or not str(getattr(self, name)).strip():
                raise ConfigError(f"licence {self.glob!r}: no {name}; a licence has kinds, glob and reason")

    def allows(self, change: Change) -> bool:
        """Return whether it covers a change."""
        return change.kind in self.kinds and self.matches(change.path)

    def matches(self, path: str) -> bool:
        """Return whether its glob matches a path."""
        return _pattern(self.glob).fullmatch(path) is not None


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern:
    return glob_pattern(glob)


_COMES_AND_GOES = ("added", "deleted", "content")
NOISE = (
    Licence(_COMES_AND_GOES, "**/__pycache__/**", "noise: bytecode that Python keeps of what it imports"),
    Licence(_COMES_AND_GOES, "**/.pytest_cache/**", "noise: what pytest remembers of its last run"),
    Licence(_COMES_AND_GOES, "**/.bash_history", "noise: the shell's list of commands"),
    Licence(_COMES_AND_GOES, "**/.python_history", "noise: Python's list of commands"),
)
"""Licensed by default, and shown in every verdict like any other."""


def find_licence(change: Change, licences: Iterable[Licence]) -> Licence | None:
    """Return the first licence that covers a change, or None."""
    return next((licence for licence in licences if licence.allows(change)), None)


def licences_digest(licences: Sequence[Licence]) -> str:
    """Return the sha256 of licences, by which a verdict knows what it was given under."""
    return hashlib.sha256(json.dumps([asdict(licence) for licence in licences]).encode("ascii")).hexdigest()


def read_licences(path: str | os.PathLike) -> tuple[Licence, ...]:
    """Return the licences of a TOML file, each a ``[[licence]]`` with ``kinds``, ``glob`` and ``reason``.

    Raises:
        DataError: the file is missing, is no TOML, or holds something else.
        ConfigError: a licence is not sound.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: does not exist") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as TOML: {error}") from None
    listed = data.pop("licence", None)
    if data or not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
        raise DataError(f"{path}: accepted is a list of [[licence]] tables alone")
    return tuple(licence_from(row, str(path)) for row in listed)


def licence_from(row: dict, where: str) -> Licence:
    """Return the licence that a table of a file holds; raises DataError for a key too many or too few."""
    wanted = {"kinds", "glob", "reason"}
    for name in row.keys() ^ wanted:
        raise DataError(
            f"{where}: a licence without {name}"
            if name in wanted
            else f"{where}: a licence with {name!r}; {near(name, wanted)}"
        )
    return Licence(row["kinds"], row["glob"], row["reason"])
