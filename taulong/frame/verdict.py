"""Verdicts: whether a run kept the frame, given by what was there at handoff and at grading.

Two manifests show end states. So a verdict sees neither what was created and deleted again in between, nor, in a tree,
a wrong content of a file that the reference writes too: that is for the task's own tests.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from taulong.errors import DataError
from taulong.frame.delta import Change, Delta, compare, entry_changes, shown, spelled_otherwise
from taulong.frame.footprint import Footprint
from taulong.frame.licences import NOISE, Licence, find_licence, licences_digest
from taulong.frame.manifest import Manifest, read_json
from taulong.paths import atomic_write

FORMAT = "taulong-frame-run/1"
Status = Literal["pass", "fail", "not_evaluated"]


@dataclass(frozen=True)
class Verdict:
    """What the frame says of a run.

    Attributes:
        status: ``pass``, ``fail`` or ``not_evaluated``.
        reason: why it failed or was not evaluated.
        outside: changes that neither the reference made nor a licence allows (the frame).
        target: footprint entries that end otherwise than the reference's: (path, kind, reference's, run's). Part of
            the verdict for a database; for a tree it is only told.
        form: paths where the order or the spelling alone differs; never part of the verdict.
        licensed: changes that a licence allows, each with the licence.
        within: how many changes are of the footprint.
        licences: all licences in force.
        without: globs of paths that were not read.
    """

    status: Status
    reason: str | None = None
    outside: Delta = ()
    target: Delta = ()
    form: tuple[str, ...] = ()
    licensed: tuple[tuple[Change, Licence], ...] = ()
    within: int = 0
    licences: tuple[Licence, ...] = field(default=(), repr=False)
    without: tuple[str, ...] = ()

    def __post_init__(self):
        if self.status != "pass" and not self.reason:
            raise ValueError(f"a verdict {self.status!r} without a reason")

    def gated(self, reward: float | None) -> float | None:
        """Return the reward if the frame was kept, 0.0 if not, None where either is not known."""
        if reward is None or self.status == "not_evaluated":
            return None
        return reward if self.status == "pass" else 0.0

    def to_json(self) -> dict:
        """Return it as JSON types; paths as they may be printed."""
        return {
            "status": self.status,
            "reason": self.reason,
            "outside": [_shown(change) for change in self.outside],
            "target": [_shown(change) for change in self.target],
            "form": [shown(path) for path in self.form],
            "licensed": [_shown(change) | {"reason": licence.reason} for change, licence in self.licensed],
            "within": self.within,
            "licences": [asdict(licence) | {"kinds": list(licence.kinds)} for licence in self.licences],
            "without": list(self.without),
        }


def _shown(change: Change) -> dict:
    return change.to_json() | {"path": shown(change.path)}


def judge(
    start: Manifest | None,
    end: Manifest | None,
    footprint: Footprint | None,
    licences: Sequence[Licence] = NOISE,
    task: str | None = None,
    database: bool = False,
) -> Verdict:
    """Return the verdict on a run.

    Args:
        start: the manifest at handoff.
        end: the manifest at grading.
        footprint: of the reference, from the same start.
        licences: what the task allows besides; give ``(*NOISE, ...)`` to keep the default noise.
        task: name of the task; a footprint of another one is refused. Default: whatever the footprint is of.
        database: whether the fields of the footprint must also end as the reference leaves them (the target).
    """
    licences = tuple(licences)
    if start is None or end is None or footprint is None:
        missing = {"manifest at handoff": start, "manifest at grading": end, "reference": footprint}
        absent = "; ".join(f"no {name}" for name, found in missing.items() if found is None)
        return Verdict("not_evaluated", absent, licences=licences)
    without = start.without
    why = _blocked(start, end, footprint, licences, task)
    if why is not None:
        return Verdict("not_evaluated", why, licences=licences, without=without)
    within, licensed, outside = 0, [], []
    for change in compare(start, end):
        if footprint.covers(change):
            within += 1
        elif licence := find_licence(change, licences):
            licensed.append((change, licence))
        else:
            outside.append(change)
    target = _target(end, footprint)
    reasons = [_reason(outside, "changed outside the footprint")] if outside else []
    reasons += [_reason(target, "not as the reference leaves it")] if database and target else []
    return Verdict(
        "fail" if reasons else "pass",
        "; ".join(reasons) or None,
        tuple(outside),
        target,
        _form(start, end, footprint) if end.kind != "tree" else (),
        tuple(licensed),
        within,
        licences,
        without,
    )


def _blocked(start: Manifest, end: Manifest, footprint: Footprint, licences, task: str | None) -> str | None:
    """Return why these cannot be judged by each other, or None."""
    if task is not None and task != footprint.task:
        return f"the footprint is of task {footprint.task!r}, this is {task!r}"
    for when, manifest in (("handoff", start), ("grading", end)):
        for name in ("kind", "roots", "without"):
            one, other = getattr(footprint, name), getattr(manifest, name)
            if one != other:
                return f"the manifest at {when} has {name} {other!r}, the footprint {one!r}"
    for when, manifest in (("handoff", start), ("grading", end)):
        problems = [problem for problem in manifest.problems if not _may_be_unread(problem[0], licences)]
        if problems:
            path, why = problems[0]
            more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
            return f"at {when}: {shown(path) + ': ' if path else ''}{why}{more}"
    if footprint.start_of(start) != footprint.start:
        return "the handoff is not the start from which the footprint was measured"
    return None


def _may_be_unread(path: str, licences) -> bool:
    """Whether whatever happens to a path is licensed, so that it need not be known."""
    return bool(path) and any(
        licence.matches(path) and {"added", "deleted", "content"} <= {*licence.kinds} for licence in licences
    )


def _target(end: Manifest, footprint: Footprint) -> Delta:
    found: list[Change] = []
    for path, gold in footprint.gold.items():
        left = end.entries.get(path)
        if gold is None or left is None:
            if gold != left:
                found.append(Change(path, "added" if gold is None else "deleted", gold, left))
        else:
            found += entry_changes(path, gold, left)
    return tuple(found)


def _form(start: Manifest, end: Manifest, footprint: Footprint) -> tuple[str, ...]:
    """Return where only order or spelling differs: from the reference in its footprint, from the start elsewhere."""
    known = {path: entry for path, entry in footprint.gold.items() if entry is not None}
    expected = Manifest(start.kind, start.roots, {**start.entries, **known})
    return spelled_otherwise(expected, end)


def _reason(changes: Sequence[Change], what: str) -> str:
    named = ", ".join(map(str, changes[:3])) + (f" and {len(changes) - 3} more" if changes[3:] else "")
    return f"{what}: {named}"


# --- stored runs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """A run as it is stored, so that a verdict can be given again.

    Attributes:
        task: name of the task.
        start, end: the manifests, None where there is none.
        licences: digest of the licences that were in force.
        footprint: digest of the footprint, None where there was none.
        database: whether the target was part of the verdict.
    """

    task: str
    start: Manifest | None
    end: Manifest | None
    licences: str
    footprint: str | None
    database: bool = False

    @classmethod
    def of(cls, task, start, end, footprint, licences=NOISE, database=False) -> "Record":
        """Return the record of a run that is judged by these."""
        return cls(task, start, end, licences_digest(tuple(licences)), footprint and footprint.digest, database)

    def to_json(self) -> dict:
        """Return it as JSON types."""
        manifests = {
            name: manifest and manifest.to_json() for name, manifest in (("start", self.start), ("end", self.end))
        }
        return {"format": FORMAT} | vars(self) | manifests

    @classmethod
    def from_json(cls, data: Any, where: str = "run") -> "Record":
        """Return the record that JSON types hold; raises DataError where they hold none."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise DataError(f"{where}: is no run of format {FORMAT!r}")
        try:
            manifests = {
                name: data[name] and Manifest.from_json(data[name], f"{where}: {name}") for name in ("start", "end")
            }
            return cls(**{name: data[name] for name in cls.__dataclass_fields__} | manifests)
        except KeyError as missing:
            raise DataError(f"{where}: has no {missing}") from None

    def write(self, path: str | os.PathLike) -> None:
        """Write it as JSON, in one step."""
        atomic_write(path, json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")) + "\n")

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Record":
        """Return a stored run; raises DataError where the file is missing or holds none."""
        return cls.from_json(read_json(path), str(path))


def judge_again(
    record: Record,
    footprint: Footprint | None,
    licences: Sequence[Licence] = NOISE,
    accept_changed: bool = False,
) -> Verdict:
    """Return the verdict on a stored run.

    Licences or a footprint other than those the run was judged by give ``not_evaluated``, unless ``accept_changed``
    says that the other ones are meant.
    """
    licences = tuple(licences)
    changed = []
    if record.licences != licences_digest(licences):
        changed.append("the licences")
    if footprint is not None and record.footprint not in (None, footprint.digest):
        changed.append("the footprint")
    if changed and not accept_changed:
        return Verdict("not_evaluated", f"changed after the run: {' and '.join(changed)}", licences=licences)
    return judge(record.start, record.end, footprint, licences, record.task, record.database)
