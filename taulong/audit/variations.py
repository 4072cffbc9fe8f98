"""Runs of a database domain that are wrong, honest or open to argument, made from the reference by rule.

Every variation is made of tool schemas and gold calls, so that no domain has a list of its own. ``wrong`` lands and leaves
something that the task does not want; ``honest`` is the reference in another form; ``open`` is neither for certain and
stands in no rate.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from taulong import backend
from taulong.audit.domain_runs import Gold, begin, is_write, play_run, reference_steps
from taulong.audit.scripts import call, gold_calls
from taulong.backend import ToolCall
from taulong.domains.domain import find_domain
from taulong.domains.state import changes
from taulong.frame.delta import same
from taulong.once import once

Kind = Literal["wrong", "honest", "open"]


@dataclass(frozen=True)
class Variation:
    """One run made from a task's reference.

    Attributes:
        operator: the rule: ``stray``, ``beside``, ``value``, ``less``, ``lists``, ``order``, ``spelling`` or ``read``.
        detail: what it was applied to, e.g. ``2:book_reservation.cabin``.
        kind: ``wrong``, ``honest`` or ``open``.
        reason: why it is of this kind.
        steps: calls and sentences.
    """

    operator: str
    detail: str
    kind: Kind
    reason: str
    steps: tuple[ToolCall | str, ...]


def make_variations(gold: Gold) -> list[Variation]:
    """Return the variations of a task, no two of equal steps; those whose write does not land are left out."""
    domain, steps = find_domain(gold.domain), reference_steps(gold.task)
    environment = begin(gold.task, gold.domain)
    writes = [
        (position, step)
        for position, step in enumerate(steps)
        if isinstance(step, ToolCall) and step.requestor == "assistant" and is_write(environment, step.name)
    ]
    found: dict[str, Variation] = {}
    rules = (_strays, _reads) if domain.has_own_matrix else RULES
    for made in itertools.chain.from_iterable(rule(gold, domain, steps, writes) for rule in rules):
        found.setdefault(
            repr([step if isinstance(step, str) else (step.name, step.arguments) for step in made.steps]), made
        )
    return list(found.values())


def _with(steps: list, position: int, step: ToolCall) -> tuple:
    return (*steps[:position], step, *steps[position + 1 :])


def _asking(step: ToolCall, **arguments: Any) -> ToolCall:
    return step.model_copy(update={"arguments": step.arguments | arguments})


def _end(gold: Gold, steps) -> tuple[dict, bool]:
    """Return (the state a run ends in, whether its last call was answered without an error)."""
    run = play_run(gold.task, gold.domain, [step for step in steps if not isinstance(step, str)])
    return changes(run.environment), bool(run.answered) and run.answered[-1]


def _lands(gold: Gold, steps) -> bool:
    return not same(_end(gold, steps)[0], gold.changes)


def _strays(gold, domain, steps, writes) -> Iterator[Variation]:
    for stray in domain.find_strays():
        made = (*steps, stray.call)
        if _lands(gold, made):
            yield Variation(
                "stray", stray.name, "wrong", "a write on the record of somebody the task is not about", made
            )


def _beside(gold, domain, steps, writes) -> Iterator[Variation]:
    for position, step in writes:
        other = domain.find_beside(step)
        if other is not None and _lands(gold, made := (*steps, other)):
            detail = f"{position}:{step.name} and {other.name}"
            yield Variation("beside", detail, "wrong", "another field of a record that the task is about", made)


def _values(gold, domain, steps, writes) -> Iterator[Variation]:
    for position, step in writes:
        for name, value in step.arguments.items():
            for candidate in _others(gold.domain, step.name, name, value):
                made = _with(steps, position, _asking(step, **{name: candidate}))
                if _answered(gold, made, position) and _lands(gold, made):
                    detail = f"{position}:{step.name}.{name}"
                    yield Variation("value", detail, "wrong", f"{name} has another value than the task wants", made)
                    break


def _answered(gold: Gold, steps, position: int) -> bool:
    return play_run(gold.task, gold.domain, steps[: position + 1]).answered[-1]


def _less(gold, domain, steps, writes) -> Iterator[Variation]:
    for position, step in writes:
        made = (*steps[:position], *steps[position + 1 :])
        if _lands(gold, made):
            yield Variation("less", f"{position}:{step.name}", "wrong", "a write that the task wants is missing", made)


def _lists(gold, domain, steps, writes) -> Iterator[Variation]:
    """The lists of a call in another order, those that belong together together."""
    choices: tuple[tuple[Kind, Mapping, str], ...] = (
        ("honest", domain.unordered, "the order of the list says nothing"),
        ("open", domain.debatable, "one may argue that the order says something"),
    )
    for kind, groups, reason in choices:
        for position, step in writes:
            for group in groups.get(step.name, ()):
                lists = {name: step.arguments.get(name) or [] for name in group}
                turned = {name: values[::-1] for name, values in lists.items()}
                if turned != lists:
                    made = _with(steps, position, _asking(step, **turned))
                    detail = f"{position}:{step.name}.{'+'.join(group)}"
                    yield Variation("lists", detail, kind, domain.known_bugs.get(step.name, reason), made)


def _orders(gold, domain, steps, writes) -> Iterator[Variation]:
    """Two neighbouring writes in the other order, where both orders answer alike and end in the same state."""
    for (first, one), (second, other) in itertools.pairwise(writes):
        made = list(steps)
        made[first], made[second] = other, one
        end, _ = _end(gold, made)
        if same(end, gold.changes) and _answers_alike(gold, steps, made):
            detail = f"{first}:{one.name} and {second}:{other.name}"
            yield Variation("order", detail, "honest", "either order ends in the same state", tuple(made))


def _answers_alike(gold: Gold, steps, made) -> bool:
    runs = [play_run(gold.task, gold.domain, each) for each in (steps, made)]
    return sorted(runs[0].answered) == sorted(runs[1].answered)


def _spellings(gold, domain, steps, writes) -> Iterator[Variation]:
    """A whole number written with a decimal point, where the tool takes it."""
    for position, step in writes:
        for name, value in step.arguments.items():
            if isinstance(value, int) and not isinstance(value, bool):
                made = _with(steps, position, _asking(step, **{name: float(value)}))
                if _answered(gold, made, position):
                    reason = "the schema asks for an integer; the value is the same"
                    yield Variation("spelling", f"{position}:{step.name}.{name}", "open", reason, made)


def _reads(gold, domain, steps, writes) -> Iterator[Variation]:
    """The reference with each of its reads asked once more at the end."""
    environment = begin(gold.task, gold.domain)
    seen = set()
    for step in gold_calls(gold.task):
        reading = environment.tools.has_tool(step.name) and not is_write(environment, step.name)
        if reading and environment.tools.tool_type(step.name) == backend.ToolType.READ and step.name not in seen:
            seen.add(step.name)
            again = call(step.name, **step.arguments)
            yield Variation("read", step.name, "honest", "a read changes nothing", (*steps, again))


RULES = (_strays, _beside, _values, _less, _lists, _orders, _spellings, _reads)


@once
def _seen_values(domain: str) -> dict[tuple[str, str], list]:
    """Return the values that each argument of each tool has anywhere in a domain's gold, each once."""
    seen: dict[tuple[str, str], list] = {}
    for task in backend.domain_tasks(domain):
        for asked in gold_calls(task) if task.evaluation_criteria else ():
            for name, value in asked.arguments.items():
                values = seen.setdefault((asked.name, name), [])
                if value not in values:
                    values.append(value)
    return seen


def _others(domain: str, tool: str, name: str, value: Any) -> Iterator[Any]:
    """Yield other values of an argument: its neighbours, what its schema lists, what the domain's gold has elsewhere."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield value + 1
        yield value - 1
    if isinstance(value, list) and len(value) > 1:
        yield value[:-1]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for field, text in value[0].items():
            if isinstance(text, str):
                yield [value[0] | {field: f"{text}x"}, *value[1:]]
    for other in (*_listed(domain, tool, name), *_seen_values(domain).get((tool, name), ())):
        if not same(other, value):
            yield other
    if isinstance(value, str) and value:
        yield f"{value}x"


@once
def _listed(domain: str, tool: str, name: str) -> tuple:
    """Return the values that a tool's schema lists for an argument; nothing where it lists none."""
    schema = backend.domain_tool_schema(domain, tool)
    return tuple(schema["parameters"].get("properties", {}).get(name, {}).get("enum", ()))
