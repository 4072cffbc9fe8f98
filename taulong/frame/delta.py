"""The delta of two manifests, and when two values count as equal."""

import datetime
import json
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from taulong.errors import DataError
from taulong.frame.manifest import Entry, Manifest

KINDS = ("added", "deleted", "content", "mode", "type")
_DECIMAL = re.compile(r"(?<![\w.])(\d+)\.(\d+)(?![\w.])")
_FACETS = {  # what of an entry is its content
    "file": ("size", "sha256"),
    "link": ("target",),
    "value": ("value",),
    "table": ("value",),
}


class Change(NamedTuple):
    """One difference between two manifests.

    Attributes:
        path: where; as it is, so a name may hold line breaks or stray bytes (``str(change)`` escapes them).
        kind: ``added``, ``deleted``, ``content``, ``mode`` or ``type``. One entry can have both content and mode.
        old, new: the entry, its content or its mode before and after; None where there is none.
    """

    path: str
    kind: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{shown(self.path)} {self.kind}"

    def to_json(self) -> dict:
        """Return it as JSON types."""
        return self._asdict()


Delta = tuple[Change, ...]


def shown(path: str) -> str:
    """Return a path as one line of printable text: backslashes, controls and bytes that are no UTF-8 are escaped."""
    return "".join(map(_shown, path))


def _shown(sign: str) -> str:
    if sign == "\\":
        return "\\\\"
    if "\udc80" <= sign <= "\udcff":
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")


def compare(first: Manifest, second: Manifest) -> Delta:
    """Return what changed from the first manifest to the second, sorted by path.

    What was created and deleted again in between is no difference of end states and cannot be seen.

    Raises:
        DataError: they are of different kinds or roots, or left other paths unread.
    """
    for name in ("kind", "roots", "without"):
        one, other = getattr(first, name), getattr(second, name)
        if one != other:
            raise DataError(f"manifests of different {name}: {one!r} and {other!r}")
    return tuple(_changes(first.entries, second.entries))


def _changes(first, second) -> Iterator[Change]:
    for path in sorted(first.keys() | second.keys()):
        old, new = first.get(path), second.get(path)
        if old is None or new is None:
            yield Change(path, "added" if old is None else "deleted", old, new)
        elif old != new:
            yield from entry_changes(path, old, new)


def entry_changes(path: str, old: Entry, new: Entry) -> Iterator[Change]:
    """Yield the changes of one entry that was there before and after."""
    if old["type"] != new["type"]:
        yield Change(path, "type", old, new)
        return
    if not _equal(old, new):
        yield Change(path, "content", content(old), content(new))
    if old.get("mode") != new.get("mode"):
        yield Change(path, "mode", old.get("mode"), new.get("mode"))


def content(entry: Entry) -> Any:
    """Return what of an entry is its content: a value, a link's target, a file's size and sha256, None for a folder."""
    names = _FACETS.get(entry["type"], ())
    return entry[names[0]] if len(names) == 1 else {name: entry.get(name) for name in names} or None


def _equal(old: Entry, new: Entry) -> bool:
    one, other = content(old), content(new)
    return same(one, other) if old["type"] == "value" else one == other


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal canonically; unlike ``==`` it tells true from 1 and a list from a dict."""
    return one is other or _form(one) == _form(other)


def _form(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{_form(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(sorted(map(_form, value))) + "]"
    return repr(canonical(value))


def canonical(value: Any) -> Any:
    """Return a value in the form that is compared: hashable JSON types, numbers by value, lists without order."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        number = round(value, 9)  # 0.1 + 0.2 in two purchases is 0.3 in one
        return int(number) if number.is_integer() else number
    if isinstance(value, str):
        return _DECIMAL.sub(_shortest, value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, dict):
        return tuple((key, canonical(value[key])) for key in sorted(value))
    if isinstance(value, (list, tuple)):
        return tuple(sorted((canonical(item) for item in value), key=repr))
    raise TypeError(f"a database value of type {type(value).__name__} cannot be compared: {value!r}")


def _shortest(match: re.Match) -> str:
    whole, fraction = match.group(1), match.group(2).rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def spelled_otherwise(first: Manifest, second: Manifest) -> tuple[str, ...]:
    """Return the paths of values and records that are equal canonically and stand in another order or spelling."""
    both = sorted(first.entries.keys() & second.entries.keys())
    return tuple(path for path in both if _otherwise(first.entries[path], second.entries[path]))


def _otherwise(old: Entry, new: Entry) -> bool:
    if old["type"] == new["type"] == "records":
        common = set(old["order"]) & set(new["order"])
        one, other = ([name for name in entry["order"] if name in common] for entry in (old, new))
        return one != other
    if old["type"] == new["type"] == "value":
        return json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True) and _equal(old, new)
    return False
