"""Footprints: what the reference of a task changes, measured by running it from the task's own start."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from taulong.errors import DataError
from taulong.frame.delta import KINDS, Change, compare, shown
from taulong.frame.licences import NOISE
from taulong.frame.manifest import Entry, Kind, Manifest, read_json
from taulong.paths import atomic_write

FORMAT, MANY = "taulong-footprint/1", "taulong-footprints/1"
_OPPOSITE = {"added": "deleted", "deleted": "added"}


@dataclass(frozen=True)
class Footprint:
    """What the reference of one task changes.

    Attributes:
        task: name of the task.
        kind, roots, without: of the manifests it was measured with.
        runs: how often the reference was run; with one, nothing is known to be unsteady.
        changes: path -> the kinds of change that some run of the reference made there.
        gold: path -> the entry that every run left there (None where it is gone); without the unsteady ones.
        unsteady: paths that differed between the runs, in their starts or in what the reference made of them.
        start: digest of the start, unsteady paths and default noise left out.
    """

    task: str
    kind: Kind
    roots: tuple[str, ...]
    without: tuple[str, ...]
    runs: int
    changes: Mapping[str, tuple[str, ...]]
    gold: Mapping[str, Entry | None] = field(repr=False)
    unsteady: tuple[str, ...]
    start: str

    def covers(self, change: Change) -> bool:
        """Return whether the reference made such a change there."""
        return change.kind in self.changes.get(change.path, ())

    def start_of(self, manifest: Manifest) -> str:
        """Return the digest by which a handoff is known to be the start the reference had."""
        return _start(manifest, frozenset(self.unsteady))

    @property
    def digest(self) -> str:
        """The sha256 of all of it, by which a verdict knows what it was given by."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode("ascii")).hexdigest()

    def to_json(self) -> dict:
        """Return it as JSON types."""
        listed = {"roots", "without", "unsteady"}
        plain = {name: list(value) if name in listed else value for name, value in vars(self).items()}
        return {"format": FORMAT} | plain | {"changes": {path: list(kinds) for path, kinds in self.changes.items()}}

    @classmethod
    def from_json(cls, data: Any, where: str = "footprint") -> "Footprint":
        """Return the footprint that JSON types hold; raises DataError where they hold none."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise DataError(f"{where}: is no footprint of format {FORMAT!r} but {found!r}")
        try:
            found = {name: data[name] for name in cls.__dataclass_fields__}
            for name in ("roots", "without", "unsteady"):
                found[name] = tuple(map(str, found[name]))
            found["changes"] = {path: tuple(kinds) for path, kinds in found["changes"].items()}
            if not {kind for kinds in found["changes"].values() for kind in kinds} <= set(KINDS):
                raise ValueError
            return cls(**found)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError(f"{where}: is a damaged footprint") from None

    def write(self, path: str | os.PathLike) -> None:
        """Write it as JSON, in one step."""
        atomic_write(path, json.dumps(self.to_json(), sort_keys=True, indent=1) + "\n")

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Footprint":
        """Return a stored footprint; raises DataError where the file is missing or holds none."""
        return cls.from_json(read_json(path), str(path))


def build_footprint(task: str, runs: Sequence[tuple[Manifest, Manifest]]) -> Footprint:
    """Return the footprint of a reference that was run once or more, each time from a fresh start.

    Args:
        task: name of the task.
        runs: the manifests before and after each run of the reference.

    Raises:
        DataError: no run, a manifest with problems, or manifests of different roots.
    """
    if not runs:
        raise DataError(f"{task}: no run of the reference")
    for number, pair in enumerate(runs, 1):
        for when, manifest in zip(("before", "after"), pair, strict=True):
            for path, why in manifest.problems[:1]:
                place = f"{shown(path)}: " if path else ""
                raise DataError(f"{task}: manifest {when} run {number} of the reference: {place}{why}")
    first = runs[0][0]
    kinds: dict[str, set[str]] = defaultdict(set)
    unsteady: set[str] = set()
    for start, _ in runs[1:]:
        for change in compare(first, start):  # what differs before the reference has done anything
            unsteady.add(change.path)
            kinds[change.path] |= {change.kind, _OPPOSITE.get(change.kind, change.kind)}
    made = []
    for start, end in runs:
        delta = compare(start, end)
        made.append({(change.path, change.kind) for change in delta})
        for change in delta:
            kinds[change.path].add(change.kind)
    ends = [end.entries for _, end in runs]
    for path, kind in set().union(*made):
        if any((path, kind) not in run for run in made) or any(end.get(path) != ends[0].get(path) for end in ends):
            unsteady.add(path)
    return Footprint(
        task,
        first.kind,
        first.roots,
        first.without,
        len(runs),
        {path: tuple(kind for kind in KINDS if kind in kinds[path]) for path in sorted(kinds)},
        {path: ends[0].get(path) for path in sorted(kinds) if path not in unsteady},
        tuple(sorted(unsteady)),
        _start(first, frozenset(unsteady)),
    )


def _start(manifest: Manifest, unsteady: frozenset[str]) -> str:
    return manifest.digest([licence.glob for licence in NOISE], unsteady)


# --- of many tasks --------------------------------------------------------------------------------------------------


def write_footprints(footprints: Mapping[str, Footprint], path: str | os.PathLike) -> None:
    """Write the footprints of many tasks into one file, in one step."""
    found = {name: footprints[name].to_json() for name in sorted(footprints)}
    atomic_write(path, json.dumps({"format": MANY, "footprints": found}, sort_keys=True, indent=1) + "\n")


def read_footprints(path: str | os.PathLike) -> dict[str, Footprint]:
    """Return the footprints of a file by task; raises DataError where it is missing or holds none."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != MANY or not isinstance(data.get("footprints"), dict):
        raise DataError(f"{path}: is no file of footprints of format {MANY!r}")
    return {name: Footprint.from_json(found, f"{path}: {name}") for name, found in data["footprints"].items()}
