"""A domain's environment without its price: nothing is parsed again, and only the records a run takes are copied.

tau2 parses a database of megabytes for every environment, and its hash dumps all of it. Here the shipped database is
read once; a run works on tables that copy a record when it is taken, and its state is told by the records that differ.
"""

import hashlib
import json

from taulong import backend
from taulong.backend import Environment
from taulong.once import once


class Records(dict):
    """A table of records (id -> model) that copies a record when it is taken by its id; the others are shared.

    Iterating gives the shared records: a tool that searches a table changes none of them.
    """

    def __init__(self, shared):
        super().__init__(shared)
        self.taken: set[str] = set()

    def __getitem__(self, key):
        if key not in self.taken:
            record = super().__getitem__(key).model_copy(deep=True)
            super().__setitem__(key, record)
            self.taken.add(key)
        return super().__getitem__(key)

    def __setitem__(self, key, record):
        super().__setitem__(key, record)
        self.taken.add(key)


def fresh(domain: str) -> Environment:
    """Return a fresh environment of a domain, as tau2's constructor makes it; raises KeyError for an unknown domain.

    Where tables are no mappings of records (telecom, banking) the whole database is copied, which is cheap there.
    """
    if domain.startswith("telecom"):
        return backend.new_environment(policy_type="workflow" if domain.endswith("workflow") else "manual")
    shared = _shared(domain)
    if not all(isinstance(getattr(shared, name), dict) for name in type(shared).model_fields):
        return backend.environment_on(domain, shared.model_copy(deep=True))
    database = type(shared).model_construct(**{name: Records(table) for name, table in _tables(shared).items()})
    return backend.environment_on(domain, database)


def changes(environment: Environment) -> dict[str, dict | None]:
    """Return what of the agent's database is not as shipped: {"table/id": the record as plain data, None where it is gone}.

    The records are ordered by table and id, their lists as they are.
    """
    shared, found = _tables(_shared(environment.domain_name)), {}
    for name, table in _tables(environment.tools.db).items():
        known = shared[name]
        taken = table.taken if isinstance(table, Records) else known.keys() | table.keys()
        for key in sorted(taken | (known.keys() - table.keys())):
            before, now = _plain(dict.get(known, key)), _plain(dict.get(table, key))
            if _spelled(before) != _spelled(now):
                found[f"{name}/{key}"] = now
    return found


def state_hash(environment: Environment) -> str:
    """Return a text that is equal for two environments of a domain exactly where tau2's database hash is.

    tau2 hashes a dump of the whole database; what is as shipped on both sides adds nothing to a comparison.
    """
    if not all(isinstance(table, Records) for table in _tables(environment.tools.db).values()):
        return environment.get_db_hash()
    return hashlib.sha256(_spelled(changes(environment)).encode()).hexdigest()


def shipped(domain: str, table: str, key: str) -> dict | None:
    """Return a record of the shipped database as plain data, None where there is none."""
    return _plain(dict.get(tables(domain)[table], key))


def tables(domain: str) -> dict[str, dict]:
    """Return the shipped database's tables (id -> model); shared: never change one."""
    return _tables(_shared(domain))


@once
def _shared(domain: str):
    return backend.domain_environment(domain).tools.db


def _tables(database) -> dict[str, dict]:
    """Return the tables of a database, id -> record; a list of records by the field that tells them apart."""
    found = {}
    for name in type(database).model_fields:
        table = getattr(database, name)
        if isinstance(table, list):
            identity = next(field for field in type(table[0]).model_fields if field.endswith("_id"))
            table = {getattr(record, identity): record for record in table}
        elif not isinstance(table, dict):  # banking's: rows by key in a model of their own
            table = table.data
        found[name] = table
    return found


def _plain(record) -> dict | None:
    return record if record is None or isinstance(record, dict) else record.model_dump()


def _spelled(value) -> str:
    return json.dumps(value, sort_keys=True, default=str)
