"""Verdicts on one run beside tau2's official reward: each grader a pure function of (run, reference).

The run is replayed call by call in the environment class it was made in, so that every changed field is known by the
call that wrote it. A call is judged by what it did to the database, not by its error flag: tau2's tools can answer with
an error after their write has landed, and a tool that does not exist changes nothing. A replay whose answers differ
from the recorded ones is void: nothing about it is evaluated, and the number of differing answers is reported.
"""

import dataclasses
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from taulong import backend
from taulong.backend import (
    AssistantMessage,
    Environment,
    Message,
    RewardInfo,
    RewardType,
    Task,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from taulong.graders.delta import Delta, Field, compare, known_bills, observe
from taulong.graders.policy import Caller, Judgement, Rule, Write, caller_of, conduct, judge
from taulong.graders.reference import Hashes, Reference, build_reference, hashes, start

GRADER_VERSION = "1"
GRADERS = ("strict_stock", "strict_synced", "record_gate", "field_gate", "policy_check", "scope_gate")

Status = Literal["pass", "fail", "not_evaluated"]


@dataclass(frozen=True)
class Finding:
    """One reason for a failed verdict.

    Attributes:
        grader: the grader that found it.
        record, field: what differs or was written (``lines.L1002``, ``status``); None where a message is at fault.
        old, new: canonical values: in the reference and in the run (gates), before and after the call (policy check).
        call: index of the message whose call wrote it, or None where no call did.
        rule, sentence: the policy rule that was broken, and its sentence; None where no rule speaks of it.
        inferred: the sentence does not speak of such a write; the rule is inferred from it.
    """

    grader: str
    record: str | None
    field: str | None
    old: Any
    new: Any
    call: int | None
    rule: str | None = None
    sentence: str | None = None
    inferred: bool = False

    @property
    def path(self) -> str | None:
        """The field's full name, ``lines.L1002.status``."""
        return self.record and f"{self.record}.{self.field}"


@dataclass(frozen=True)
class Verdict:
    """What one grader says of a run: ``pass``, ``fail`` (with findings) or ``not_evaluated`` (with a reason)."""

    status: Status
    reason: str | None = None
    findings: tuple[Finding, ...] = ()

    def __post_init__(self):
        if (self.status == "fail") < bool(self.findings) or (self.status == "not_evaluated" and not self.reason):
            raise ValueError(f"a verdict {self.status!r} with reason {self.reason!r} and {len(self.findings)} findings")


@dataclass(frozen=True)
class Step:
    """One answered tool call of a replayed run.

    Attributes:
        index: index of the message that made the call.
        call: the call.
        changes: fields of the agent database that it changed.
        judgement: what the policy says of it in the state it met; None where it changed nothing.
        agrees: whether the replayed answer equals the recorded one.
    """

    index: int
    call: ToolCall
    changes: Delta
    judgement: Judgement | None
    agrees: bool = True


@dataclass(frozen=True)
class Run:
    """A replayed run.

    Attributes:
        steps: the answered tool calls, in order.
        final, user_final: plain contents of the databases at the end.
        hashes: tau2's hashes of both.
        caller: who called.
        solo_mode: whether the agent worked alone, with the phone in its own hands.
        breaches: (message index, conduct rule) for every message that breaks one.
        error: why the run could not be replayed, or None.
    """

    steps: tuple[Step, ...]
    final: dict
    user_final: dict
    hashes: Hashes
    caller: Caller
    solo_mode: bool = False
    breaches: tuple[tuple[int, Rule], ...] = ()
    error: str | None = None
    _deltas: dict = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def delta(self, reference: Reference) -> Delta:
        """Return the fields in which the final agent database differs from the reference's (computed once)."""
        if id(reference) not in self._deltas:
            self._deltas[id(reference)] = compare(reference.final, self.final, reference.known)
        return self._deltas[id(reference)]

    @property
    def mismatches(self) -> int:
        """How many replayed answers differ from the recorded ones."""
        return sum(not step.agrees for step in self.steps)

    @property
    def void(self) -> str | None:
        """Why nothing about the run can be evaluated, or None."""
        if self.error:
            return f"void: {self.error}"
        if self.mismatches:
            first = next(step for step in self.steps if not step.agrees)
            return (
                f"void: {self.mismatches} of {len(self.steps)} replayed answers differ from the recorded ones, "
                f"first {first.call.name} in message {first.index}"
            )
        return None

    def writers(self, field: Field) -> list[Step]:
        """Return the calls that changed a field, in order."""
        return [step for step in self.steps if field in step.changes]


@dataclass(frozen=True)
class Grades:
    """Everything said of one run.

    Attributes:
        official_reward: tau2's reward, or None where it could not be computed.
        official_reason: why it could not.
        official: tau2's own account of the reward.
        strict_stock, strict_synced: whether both final databases equal those of tau2's unsynced gold, of synced gold.
        record_gate, field_gate: whether agent-database records (fields) outside the footprint differ from the gold.
        policy_check: whether every agent write was permitted at the moment of the call, and each tool call made alone.
        scope_gate: the field gate, with fields excused whose every write the policy licenses.
        replay_mismatches: number of replayed answers that differ from the recorded ones.
        user_fields: fields of the user database that differ from the reference's: observed, never gated.
    """

    official_reward: float | None
    official_reason: str | None
    official: RewardInfo | None
    strict_stock: Verdict
    strict_synced: Verdict
    record_gate: Verdict
    field_gate: Verdict
    policy_check: Verdict
    scope_gate: Verdict
    replay_mismatches: int = 0
    user_fields: tuple[str, ...] = ()

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by grader name."""
        return {name: getattr(self, name) for name in GRADERS}

    @property
    def gated_reward(self) -> float | None:
        """The official reward if the scope gate passes, 0.0 if it fails, None if either was not evaluated."""
        if self.official_reward is None or self.scope_gate.status == "not_evaluated":
            return None
        return self.official_reward if self.scope_gate.status == "pass" else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of the graders."""
        return tuple(finding for verdict in self.verdicts.values() for finding in verdict.findings)


# --- replay ---------------------------------------------------------------------------------------------------------


def trim(messages: Sequence[Message]) -> list[Message]:
    """Return the trajectory without tool calls at its end that were never answered (a run cut off inside a call).

    The given messages are not changed: one that is partly answered is copied with the answered calls.
    """
    messages = list(messages)
    tail = len(messages)
    while tail and isinstance(messages[tail - 1], ToolMessage):
        tail -= 1
    last, answers = (messages[tail - 1], messages[tail:]) if tail else (None, messages)
    calls = getattr(last, "tool_calls", None) or []
    if len(answers) >= len(calls):
        return messages
    kept = last.model_copy(update={"tool_calls": calls[: len(answers)] or None})
    return messages[: tail - 1] + ([kept] if kept.tool_calls or kept.has_text_content() else []) + answers


def answered_calls(messages: Sequence[Message]) -> Iterator[tuple[int, ToolCall, ToolMessage]]:
    """Yield (message index, call, answer) for every tool call.

    Raises:
        ValueError: a call without its answer, an answer without its call, or a call in the name of the other side.
    """
    position = 0
    while position < len(messages):
        index, message = position, messages[position]
        position += 1
        if isinstance(message, ToolMessage):
            raise ValueError(f"message {index} answers no tool call")
        if not isinstance(message, (AssistantMessage, UserMessage)):
            continue
        for call in message.tool_calls or ():
            if call.requestor != message.role:
                raise ValueError(
                    f"the call of {call.name} in message {index} says it is of the {call.requestor}, "
                    f"the message is of the {message.role}"
                )
            answer = messages[position] if position < len(messages) else None
            if not isinstance(answer, ToolMessage) or answer.id != call.id:
                raise ValueError(f"the call of {call.name} in message {index} has no answer")
            position += 1
            yield index, call, answer


def replay(
    task: Task,
    messages: Sequence[Message],
    environment_constructor: Callable[..., Environment] = backend.new_environment,
    solo_mode: bool = False,
) -> Run:
    """Return the run that a trajectory records, replayed call by call (dangling calls at its end are trimmed)."""
    messages = trim(messages)
    environment = start(task, environment_constructor, solo_mode)
    caller = caller_of(environment.user_tools.db.model_dump(), task)
    steps, error = [], None
    state = environment.tools.db.model_dump()
    known = known_bills(state)
    if solo_mode and any(isinstance(message, UserMessage) for message in messages):
        error = "a solo run has no user messages, this one has"
    try:
        for index, call, answer in answered_calls(messages):
            said = environment.get_response(call)
            before, state = state, environment.tools.db.model_dump()
            agrees = _same(said.content, answer.content)
            steps.append(judged_step(index, call, before, state, known, caller, solo_mode, agrees))
    except ValueError as malformed:
        error = str(malformed)
    breaches = tuple(
        (index, rule)
        for index, message in enumerate(messages)
        if isinstance(message, AssistantMessage) and message.tool_calls
        for rule in conduct([call.name for call in message.tool_calls], message.has_text_content(), solo_mode)
    )
    return Run(
        tuple(steps),
        state,
        environment.user_tools.db.model_dump(),
        hashes(environment),
        caller,
        solo_mode,
        breaches,
        error,
    )


def judged_step(
    index: int,
    call: ToolCall,
    before: dict,
    after: dict,
    known: Collection[str],
    caller: Caller,
    solo_mode: bool = False,
    agrees: bool = True,
) -> Step:
    """Return one call of a run with what it changed and how the policy judges that, from the states around it."""
    changes = compare(before, after, known)
    if not changes:
        return Step(index, call, changes, None, agrees)
    write = Write(call.name, call.arguments, call.requestor, before, frozenset(changes))
    return Step(index, call, changes, judge(write, caller, solo_mode), agrees)


def _same(said: str, recorded: str) -> bool:
    """Compare two answers the way tau2's replay does: as JSON where they are JSON."""
    return said == recorded or _parsed(said) == _parsed(recorded)


def _parsed(text: str):
    try:
        return json.loads(text)
    except (json.JSONDecodeError, TypeError):
        return text


# --- graders --------------------------------------------------------------------------------------------------------


def strict(run: Run, reference: Reference, gold: Literal["stock", "synced"] = "synced") -> Verdict:
    """Return whether both final databases equal the gold ones, by tau2's hashes."""
    if blocked := run.void or reference.error:
        return Verdict("not_evaluated", blocked)
    equal = run.hashes == getattr(reference, gold)
    return Verdict("pass") if equal else Verdict("fail", f"the final databases differ from the {gold} gold")


def delta_gate(run: Run, reference: Reference, scope: Literal["field", "record"] = "field") -> Verdict:
    """Return whether the agent database differs from the reference's outside the reference's footprint.

    It compares end states and names of fields. So it sees neither a write that is undone again nor a wrong value in a
    field that the reference wrote too: a line that the reference resumed and that ends suspended, say.
    """
    if blocked := run.void or reference.error:
        return Verdict("not_evaluated", blocked)
    findings = tuple(
        Finding(f"{scope}_gate", *field, old, new, _last(run.writers(field)))
        for field, (old, new) in outside(run, reference, scope).items()
    )
    return _verdict(findings, "changed outside the footprint")


def outside(run: Run, reference: Reference, scope: Literal["field", "record"] = "field") -> Delta:
    """Return the delta between reference and run without the footprint (its fields, or all fields of its records)."""
    records = {field.record for field in reference.footprint}
    excused = reference.footprint.__contains__ if scope == "field" else lambda field: field.record in records
    return {field: values for field, values in run.delta(reference).items() if not excused(field)}


def policy_check(run: Run, reference: Reference | None = None) -> Verdict:
    """Return whether every agent write was permitted at the moment of the call; end states are not looked at.

    A message with several tool calls, or with text beside one, fails too, whatever the calls do (reads, a transfer).
    A write fails where a rule forbids it. What the policy neither forbids nor permits passes: disabling roaming on the
    caller's own line, which for a traveller may be enabled again, or refuelling a line that still has data.
    """
    if run.void:
        return Verdict("not_evaluated", run.void)
    writes = [step for step in run.steps if step.changes and step.call.requestor == "assistant"]
    if writes and run.caller.phone_number is None:
        return Verdict("not_evaluated", "the caller gave no phone number, so no write can be placed")
    findings = []
    for step in writes:
        field, (old, new) = next(iter(step.changes.items()))
        findings += [
            Finding("policy_check", *field, old, new, step.index, *_cited(rule, step, run))
            for rule in step.judgement.broken
        ]
    findings += [
        Finding("policy_check", None, None, None, None, index, rule.id, rule.words(run.solo_mode))
        for index, rule in run.breaches
    ]
    return _verdict(tuple(sorted(findings, key=lambda finding: finding.call)), "against the policy")


def scope_gate(run: Run, reference: Reference) -> Verdict:
    """Return the field gate's verdict, with a field excused if the policy licenses every write that touched it.

    What the field gate does not see, it does not see either.
    """
    if blocked := run.void or reference.error:
        return Verdict("not_evaluated", blocked)
    differing = outside(run, reference)
    if differing and run.caller.phone_number is None:
        return Verdict("not_evaluated", "the caller gave no phone number, so no write can be placed")
    findings = []
    for field, (old, new) in differing.items():
        writers = run.writers(field)
        unlicensed = [step for step in writers if not step.judgement.licensed]
        if unlicensed or not writers:
            cited = next((_cited(rule, step, run) for step in unlicensed for rule in step.judgement.broken), ())
            findings.append(Finding("scope_gate", *field, old, new, _last(unlicensed), *cited))
    return _verdict(tuple(findings), "changed outside the footprint, unlicensed")


def _cited(rule: Rule, step: Step, run: Run) -> tuple[str, str, bool]:
    """Return the last three fields of the finding that a call broke a rule: rule, sentence, inferred."""
    return rule.id, rule.words(run.solo_mode), step.call.name in rule.inferred


def excused(run: Run, reference: Reference) -> tuple[Field, ...]:
    """Return the fields outside the footprint that the scope gate excuses: the policy licenses every write of them."""
    failed = {(finding.record, finding.field) for finding in scope_gate(run, reference).findings}
    return tuple(field for field in outside(run, reference) if field not in failed)


def _verdict(findings: tuple[Finding, ...], what: str) -> Verdict:
    if not findings:
        return Verdict("pass")
    names = sorted({finding.path or f"message {finding.call}" for finding in findings})
    return Verdict("fail", f"{', '.join(names)}: {what}", findings)


def _last(steps: Sequence[Step]) -> int | None:
    return steps[-1].index if steps else None


def grade_run(run: Run, reference: Reference) -> dict[str, Verdict]:
    """Return the verdict of every grader but the official one on a replayed run."""
    return {
        "strict_stock": strict(run, reference, "stock"),
        "strict_synced": strict(run, reference, "synced"),
        "record_gate": delta_gate(run, reference, "record"),
        "field_gate": delta_gate(run, reference, "field"),
        "policy_check": policy_check(run, reference),
        "scope_gate": scope_gate(run, reference),
    }


def grade(
    task: Task,
    messages: Sequence[Message],
    environment_constructor: Callable[..., Environment] = backend.new_environment,
    solo_mode: bool = False,
    policy_type: str = "manual",
    reference: Reference | None = None,
) -> Grades:
    """Return the official reward and every verdict on a trajectory.

    Args:
        task: the task of the run.
        messages: the trajectory; tool calls at its end that were never answered are left out.
        environment_constructor: makes the environment class the run used; called with ``solo_mode``.
        solo_mode: whether the agent worked alone.
        policy_type: ``manual`` or ``workflow``; used with the default constructor.
        reference: the task's reference in that environment class, from :func:`build_reference`; built if not given.
    """
    if environment_constructor is backend.new_environment:
        environment_constructor = backend.environment_maker(policy_type)
    reference = reference or build_reference(task, environment_constructor)
    messages = trim(messages)
    run = replay(task, messages, environment_constructor, solo_mode)
    reward = official = None
    reason = run.void
    if reason is None:
        try:
            official = backend.official_reward(task, messages, environment_constructor, solo_mode)
            reward = official.reward
        except (ValueError, AssertionError) as refused:  # what tau2's set_state raises
            reason = f"tau2's evaluator refuses the run: {str(refused).splitlines()[0]}"
    return Grades(
        reward,
        reason,
        official,
        **grade_run(run, reference),
        replay_mismatches=run.mismatches,
        user_fields=observe(reference.user_final, run.user_final),
    )


# --- the official result, part by part ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Component:
    """One part of the official result.

    Attributes:
        name: ``DB``, ``ACTION`` with the gold action's name, or the assertion's name.
        met: whether the check succeeded.
        scored: whether the task's reward basis has it.
        vacuous: an assertion that held before the run and that no call could have broken.
    """

    name: str
    met: bool
    scored: bool
    vacuous: bool = False

    def __str__(self) -> str:
        words = ("match" if self.met else "mismatch") if self.name == "DB" else ("met" if self.met else "not met")
        notes = [note for note, applies in (("vacuous", self.vacuous), ("not in basis", not self.scored)) if applies]
        return f"{self.name}: {words}" + (f" ({', '.join(notes)})" if notes else "")


def is_vacuous(assertion, reference: Reference) -> bool:
    """Return whether an assertion held before the run and no call could have broken it.

    Of tau2's telecom assertions only ``assert_no_overdue_bill`` can be so: it holds where the bill does not exist, and
    no tool creates a bill under a given id. Every other one reads a state that some tool changes.
    """
    return (
        assertion.func_name == "assert_no_overdue_bill"
        and assertion.assert_value
        and assertion.arguments.get("overdue_bill_id") not in reference.known
    )


def components(official: RewardInfo, task: Task, reference: Reference) -> tuple[Component, ...]:
    """Return the parts of an official result, each with whether it counts: an unscored check is labelled so."""
    basis = task.evaluation_criteria.reward_basis
    parts = []
    if official.db_check is not None:
        parts.append(Component("DB", official.db_check.db_match, RewardType.DB in basis))
    for check in official.env_assertions or ():
        parts.append(
            Component(
                check.env_assertion.func_name,
                check.met,
                RewardType.ENV_ASSERTION in basis,
                is_vacuous(check.env_assertion, reference),
            )
        )
    for check in official.action_checks or ():
        parts.append(Component(f"ACTION {check.action.name}", check.action_match, RewardType.ACTION in basis))
    return tuple(parts)
