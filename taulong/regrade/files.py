"""Files as they come: which files of a folder are read, compressed or not, and JSON that cannot take a whole table with it."""

import gzip
import json
import math
import zlib
from pathlib import Path

from taulong.errors import DataError

ENDINGS = (".json", ".json.gz", ".jsonl", ".jsonl.gz")
"""How the name of a file that may hold runs ends."""


def result_files(path: str | Path) -> list[Path]:
    """Return the files that a path stands for: itself, a run's ``results.json``, or all that a folder holds.

    A folder without ``results.json`` stands for its files of the ``ENDINGS``, and for each folder in it that has one.

    Raises:
        DataError: the folder holds no file that could be read.
    """
    path = Path(path)
    if not path.is_dir() or (path / "records.jsonl").exists() or (path / "results.json").exists():
        return [path]
    held = sorted(
        inner
        for inner in path.iterdir()
        if (inner / "results.json").exists() or (inner.is_file() and inner.name.endswith(ENDINGS))
    )
    if not held:
        raise DataError(
            f"{path.name} holds no tau2 result file; accepted: results.json, or files *{', *'.join(ENDINGS)}"
        )
    return held


def read_json(path: Path):
    """Return what a JSON file holds; of JSON Lines, a list with one item a line (a damaged line is :func:`damage`).

    Gzip is told by its first bytes and a byte order mark is no content. Lines end at a line feed alone.

    Raises:
        DataError: the file cannot be read or is no JSON.
    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as missing:
        raise DataError(f"{path.name} cannot be read: {getattr(missing, 'strerror', None) or missing}") from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    if ".jsonl" not in path.suffixes:
        return _parsed(content, path.name)
    found = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            found.append(_parsed_or_damage(line, f"{path.name}, line {number},"))
    return found


def damage(reason: str, **known) -> dict:
    """Return what stands for a run that cannot be read: it becomes a row with its reason."""
    return {**known, "damage": reason}


def _parsed_or_damage(line: bytes, name: str):
    try:
        return _parsed(line, name)
    except DataError as error:
        return damage(str(error))


def _parsed(content: bytes, name: str):
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise DataError(f"{name} is not JSON that can be read: its brackets nest too deeply") from None
    except ValueError as error:
        raise DataError(f"{name} is not JSON: {error}") from None


def _refuse(constant: str):
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
