"""Which fields of the agent database two states disagree on.

A state is the plain contents of a telecom agent database (``TelecomDB.model_dump()``). A field is named by its record
and its name in the record: ``("lines.L1002", "roaming_enabled")``. The comparison is that of the frame's core
(:mod:`taulong.frame.delta`), which is told here what is peculiar to telecom:

* records are matched by id, whatever their order;
* a list without ids (line items, payment methods, lists of ids) is one field and its order does not count;
* numbers are compared by value, also where they are written inside text ("2 GB" equals "2.0 GB");
* ids minted during a run differ from replay to replay, so a bill whose id the initial state does not know is named by
  its owner and its rank among the owner's new bills.
"""

from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import taulong.frame.delta as frame
from taulong.frame.delta import canonical
from taulong.frame.manifest import state_manifest

RECORD_IDS = {
    "plans": "plan_id",
    "customers": "customer_id",
    "lines": "line_id",
    "bills": "bill_id",
    "devices": "device_id",
}
ABSENT = "(absent)"  # stands for the value of a field whose record does not exist, told apart from a null field


class Field(NamedTuple):
    """One field of one record: ``str(Field("lines.L1002", "status"))`` is ``lines.L1002.status``."""

    record: str
    name: str

    def __str__(self) -> str:
        return f"{self.record}.{self.name}"


Delta = dict[Field, tuple[Any, Any]]
"""Field -> (canonical value in the first state, canonical value in the second), for the fields that differ."""


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
    parts = _differing(_named(first, known), _named(second, known))
    for change in frame.compare(*(state_manifest(part, name="telecom") for part in parts)):
        old, new = (_value(change.kind, state) for state in (change.old, change.new))
        if (old, new) != (ABSENT, ABSENT):  # otherwise a record or a group of fields, each of which is named itself
            _, table, identity, *names = change.path.split("/")
            delta[Field(f"{table}.{identity}", ".".join(names))] = (old, new)
    return dict(sorted(delta.items()))


def _differing(first: dict, second: dict) -> tuple[dict, dict]:
    """Return the records that differ, by table and id: few of many, and what the frame is asked about."""
    parts: tuple[dict, dict] = ({}, {})
    for table, identity in RECORD_IDS.items():
        if first[table] != second[table]:
            one, other = ({record[identity]: record for record in state[table]} for state in (first, second))
            for part, here, there in zip(parts, (one, other), (other, one), strict=True):
                part[table] = {name: record for name, record in here.items() if record != there.get(name)}
    return parts


def _value(kind: str, state: Any) -> Any:
    """Return the canonical value of one side of a change, ABSENT where there is none."""
    if kind == "content":
        return canonical(state)
    return canonical(state["value"]) if state is not None and state["type"] == "value" else ABSENT


def observe(first: dict, second: dict) -> tuple[str, ...]:
    """Return the names of the fields in which two user databases differ; they are reported and never gated."""
    first, second = _flat(first), _flat(second)
    return tuple(
        sorted(name for name in first.keys() | second.keys() if first.get(name, ABSENT) != second.get(name, ABSENT))
    )


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
