"""Which fields of the agent database two states disagree on.

A state is the plain contents of a telecom agent database (``TelecomDB.model_dump()``). A field is named by its record
and its name in the record: ``("lines.L1002", "roaming_enabled")``. Values are compared canonically:

* records are matched by id, whatever their order;
* a list without ids (line items, payment methods, lists of ids) is one field and its order does not count;
* numbers are compared by value, also where they are written inside text ("2 GB" equals "2.0 GB");
* ids minted during a run differ from replay to replay, so a bill whose id the initial state does not know is named by
  its owner and its rank among the owner's new bills.
"""

import datetime
import re
from collections import Counter
from collections.abc import Collection
from enum import Enum
from typing import Any, NamedTuple

RECORD_IDS = {
    "plans": "plan_id",
    "customers": "customer_id",
    "lines": "line_id",
    "bills": "bill_id",
    "devices": "device_id",
}
ABSENT = "(absent)"  # stands for the value of a field whose record does not exist, told apart from a null field
_DECIMAL = re.compile(r"(?<![\w.])(\d+)\.(\d+)(?![\w.])")


class Field(NamedTuple):
    """One field of one record: ``str(Field("lines.L1002", "status"))`` is ``lines.L1002.status``."""

    record: str
    name: str

    def __str__(self) -> str:
        return f"{self.record}.{self.name}"


Delta = dict[Field, tuple[Any, Any]]
"""Field -> (canonical value in the first state, canonical value in the second), for the fields that differ."""


def canonical(value: Any) -> Any:
    """Return a value in the form that is compared: hashable JSON types, numbers by value, lists without order."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        number = round(float(value), 9)  # 0.1 + 0.2 in two purchases is 0.3 in one
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


def known_bills(contents: dict) -> frozenset[str]:
    """Return the bill ids of a state; what a later state has beyond them was minted."""
    return frozenset(bill["bill_id"] for bill in contents["bills"])


def compare(first: dict, second: dict, known: Collection[str] | None = None) -> Delta:
    """Return the fields in which two database contents differ.

    Args:
        first: contents before, or of the reference.
        second: contents after, or of the run.
        known: bill ids that were there from the start; default: those of ``first``.
    """
    if first == second:
        return {}
    known = known_bills(first) if known is None else known
    delta: Delta = {}
    for table, before, after in _changed_tables(_named(first, known), _named(second, known)):
        for identity in before.keys() | after.keys():
            old, new = before.get(identity), after.get(identity)
            if old != new:
                record = f"{table}.{identity}"
                delta.update({Field(record, name): values for name, values in _differing(old or {}, new or {})})
    return dict(sorted(delta.items()))


def observe(first: dict, second: dict) -> tuple[str, ...]:
    """Return the names of the fields in which two user databases differ; they are reported and never gated."""
    first, second = _flat(first), _flat(second)
    return tuple(
        sorted(name for name in first.keys() | second.keys() if first.get(name, ABSENT) != second.get(name, ABSENT))
    )


def _changed_tables(first: dict, second: dict):
    for table, identity in RECORD_IDS.items():
        if first[table] != second[table]:
            yield (table, *({record[identity]: record for record in state[table]} for state in (first, second)))


def _differing(old: dict, new: dict):
    old, new = _flat(old), _flat(new)
    for name in old.keys() | new.keys():
        values = old.get(name, ABSENT), new.get(name, ABSENT)
        if values[0] != values[1] and (values := tuple(map(canonical, values)))[0] != values[1]:
            yield name, values


def _flat(record: dict, prefix: str = "") -> dict:
    fields = {}
    for name, value in record.items():
        if isinstance(value, dict):
            fields |= _flat(value, f"{prefix}{name}.")
        else:
            fields[prefix + name] = value
    return fields


def _named(contents: dict, known: Collection[str]) -> dict:
    """Return the contents with every minted bill id replaced by its owner and rank (the same object if none is)."""
    if all(bill["bill_id"] in known for bill in contents["bills"]):
        return contents
    names, rank = {}, Counter()
    for bill in contents["bills"]:
        if bill["bill_id"] not in known:
            rank[bill["customer_id"]] += 1
            names[bill["bill_id"]] = f"new-{bill['customer_id']}-{rank[bill['customer_id']]}"
    bills = [bill | {"bill_id": names.get(bill["bill_id"], bill["bill_id"])} for bill in contents["bills"]]
    customers = [
        customer | {"bill_ids": [names.get(bill_id, bill_id) for bill_id in customer["bill_ids"]]}
        for customer in contents["customers"]
    ]
    return contents | {"bills": bills, "customers": customers}
