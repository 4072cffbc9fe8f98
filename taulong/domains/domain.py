"""A domain of tau2 as data: what its audit needs to know and tau2 does not say."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from taulong import backend
from taulong.backend import ToolCall
from taulong.domains.state import shipped, tables
from taulong.errors import check_name
from taulong.once import once

DOMAINS = ("airline", "retail", "telecom", "telecom-workflow", "mock", "banking_knowledge")
"""The domains that are described here; a release of tau2 may have others."""


@dataclass(frozen=True)
class Stray:
    """A write on the record of somebody the task is not about.

    Attributes:
        name: the tool, or a word that tells two strays of one tool apart.
        call: the write; it lands in the shipped database.
    """

    name: str
    call: ToolCall


@dataclass(frozen=True)
class Domain:
    """What differs between domains. To add one, write such a module and name it in ``DOMAINS``.

    Attributes:
        name: as tau2 registers it.
        find_strays: gives the writes on a bystander's records.
        find_beside: gives, for a write of the gold, another write on the same record, or None.
        unordered: tool -> groups of list arguments; permuting a group's lists together means the same.
        debatable: likewise, where one may argue that the order means something.
        has_own_matrix: whether the audit has operators of its own for this domain, and the policy check its rules; then
            only bystanders' records and reads are varied here.
        known_bugs: tool -> the fault of tau2's that makes an order of its lists change more than the order.
    """

    name: str
    find_strays: Callable[[], tuple[Stray, ...]] = tuple
    find_beside: Callable[[ToolCall], ToolCall | None] = lambda call: None
    unordered: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    debatable: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    has_own_matrix: bool = False
    known_bugs: Mapping[str, str] = field(default_factory=dict)


def find_domain(name: str) -> Domain:
    """Return a domain by name; raises ConfigError with the near match."""
    check_name("domain", name, DOMAINS)
    return import_module(f"taulong.domains.{name.replace('-', '_')}").DOMAIN


def write(name: str, **arguments) -> ToolCall:
    """Return a write of the agent's."""
    return ToolCall(id="", name=name, arguments=arguments, requestor="assistant")


def find_bystander(domain: str, fits: Callable[[dict], bool], table: str = "users") -> dict:
    """Return the first record of a table, by id, that fits and that no task of the domain names in any word."""
    words = _words(domain)
    for key in sorted(tables(domain)[table]):
        record = shipped(domain, table, key)
        if record is not None and key not in words and fits(record):
            return record
    raise LookupError(f"{domain}: no record of {table} that no task names fits")


@once
def _words(domain: str) -> str:
    return json.dumps([task.model_dump(mode="json") for task in backend.domain_tasks(domain)])
