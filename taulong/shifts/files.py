"""Sets of shifts as files: JSON Lines with a manifest that tells what was changed since, and tau2's own task files."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from taulong import __version__
from taulong.errors import ConfigError, DataError, near
from taulong.paths import SHIFTS, atomic_write
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.stream import Shift

FORMATS = ("taulong-shifts-1", "taulong-shifts-2")  # the first has one cause and one mark a shift


def shift_paths(name: str | Path) -> tuple[Path, Path]:
    """Return (JSON Lines file, manifest file) of a set of shifts, by name below data/shifts or by path."""
    path = Path(name)
    if path.suffix != ".jsonl":
        if Path(path.name) != path or path.name in ("", ".", ".."):
            raise ConfigError(
                f"shifts: {str(name)!r} is no name; accepted: a name, for data/shifts, or a path that ends in .jsonl"
            )
        path = SHIFTS / f"{path.name}.jsonl"
    return path, path.with_suffix(".manifest.json")


def write_shifts(shifts: Sequence[Shift], name: str | Path) -> Path:
    """Write a set of shifts as JSON Lines with a manifest beside it and return the file's path.

    The manifest holds config, split, versions, a digest of every line, by which :func:`read_shifts` names a line that was
    changed, and a digest of all that, by which it sees a change of the manifest itself.
    """
    if not shifts:
        raise DataError("shifts: an empty set cannot be written")
    path, manifest_path = shift_paths(name)
    lines = [shift.to_json() for shift in shifts]
    atomic_write(path, "\n".join(lines) + "\n")
    atomic_write(manifest_path, json.dumps(set_manifest(shifts, lines), indent=1) + "\n")
    return path


def set_manifest(shifts: Sequence[Shift], lines: list[str]) -> dict:
    """Return the manifest of shifts and their lines."""
    from taulong.backend import installation

    tau2 = installation()
    manifest = {
        "format": FORMATS[-1],
        "config": asdict(shifts[0].config),
        "split": shifts[0].split,
        "num_shifts": len(shifts),
        "first_seed": shifts[0].seed,
        "taulong_version": __version__,
        "tau2_distribution": tau2.distribution,
        "tau2_version": tau2.version,
        "tau2_data": tau2.data_digest,
        "lines": [_digest(line) for line in lines],
    }
    return {**manifest, "digest": _digest(json.dumps(manifest))}


def read_manifest(name: str | Path) -> dict:
    """Return the manifest of a set of shifts; raises DataError when it is missing, edited or not one of ours."""
    path, manifest_path = shift_paths(name)
    remedy = "generate the set again with: taulong generate"
    for wanted in (path, manifest_path):
        if not wanted.exists():
            others = sorted(file.stem for file in path.parent.glob("*.jsonl"))
            raise DataError(
                f"{wanted.name}: no such file of shifts; {near(path.stem, others).rstrip('?')}, or make them with: "
                f"taulong generate --name {path.stem}"
            )
    try:
        manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
        digest = manifest.pop("digest")
        if manifest["format"] not in FORMATS:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{manifest_path.name}: not a manifest of shifts ({error}); {remedy}") from error
    if _digest(json.dumps(manifest)) != digest:
        raise DataError(f"{manifest_path.name}: edited since it was written; {remedy}")
    return {**manifest, "config": ShiftConfig.from_written(manifest["config"]), "digest": digest}


def read_shifts(name: str | Path) -> list[Shift]:
    """Return the shifts of a file, checked line by line against its manifest.

    Raises:
        DataError: the file is truncated, edited, foreign, or of other tau2 data; names the line and the remedy.
    """
    from taulong.backend import installation

    path, _ = shift_paths(name)
    manifest = read_manifest(name)
    remedy = "generate the set again with: taulong generate"
    if manifest["tau2_data"] != installation().data_digest:
        raise DataError(
            f"{path.name}: made with tau2 data {manifest['tau2_data']}, installed is "
            f"{installation().data_digest}; {remedy}"
        )
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    for number, (line, digest) in enumerate(zip(lines, manifest["lines"], strict=False), start=1):
        if _digest(line) != digest:
            last = number == len(lines) and len(lines) <= len(manifest["lines"])
            raise DataError(
                f"{path.name}, line {number}: {'cut short or edited' if last else 'edited'} since it was written; {remedy}"
            )
    if len(lines) != len(manifest["lines"]):
        what = "truncated" if len(lines) < len(manifest["lines"]) else "holds lines that were not written by taulong"
        raise DataError(
            f"{path.name}, line {min(len(lines), len(manifest['lines'])) + 1}: the file {what} "
            f"({len(lines)} of {len(manifest['lines'])} lines); {remedy}"
        )
    return [Shift.from_json(line, manifest["config"]) for line in lines]


def export_tasks(shift: Shift, folder: str | Path) -> Path:
    """Write a shift for use with tau2 alone and return the path of its ``tasks.json``.

    ``tasks.json`` is loaded by tau2's ``load_tasks``. The customers are not in it: tau2 takes a database through the
    environment constructor, so ``db.json`` beside it holds the shipped customers and the shift's, for
    ``get_environment(db=TelecomDB.load(path))``. The mask, the notebook and patience are this package's and not exported.
    """
    from taulong import backend

    folder = Path(folder)
    database = backend.database_with(*(case.records for case in shift.cases))
    atomic_write(folder / "db.json", database.model_dump_json(indent=1) + "\n")
    path = folder / "tasks.json"
    atomic_write(path, json.dumps([case.task for case in shift.cases], indent=1, ensure_ascii=False) + "\n")
    return path


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
