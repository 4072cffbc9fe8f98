"""A recorded run, replayed call by call in the environment class it was made in: every changed field, and who wrote it.

A call is judged by what it did to the database, not by its error flag: tau2's tools can answer with an error after their
write has landed, and a tool that does not exist changes nothing. A replay whose answers differ from the recorded ones is
void: nothing about it is evaluated, and the number of differing answers is reported.
"""

import dataclasses
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from taulong import backend
from taulong.backend import AssistantMessage, Environment, Message, Task, ToolCall, ToolMessage, UserMessage
from taulong.graders.delta import Delta, Field, compare, known_bills
from taulong.graders.policy import Caller, Judgement, Rule, Write, caller_of, conduct, judge
from taulong.graders.reference import Hashes, Reference, hashes, start
from taulong.graders.speech import agreed_to, without_reasoning


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
        trajectory: the messages, an error answer that agrees in substance worded as the replay words it.
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
    trajectory: tuple[Message, ...] = dataclasses.field(default=(), repr=False, compare=False)
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
    steps: list[Step] = []
    error, reworded = None, {}
    state = environment.tools.db.model_dump()
    known = known_bills(state)
    if solo_mode and any(isinstance(message, UserMessage) for message in messages):
        error = "a solo run has no user messages, this one has"
    try:
        for index, call, answer in answered_calls(messages):
            phone = environment.get_user_db_hash()
            said = environment.get_response(call)
            before, state = state, environment.tools.db.model_dump()
            agrees = _same(said.content, answer.content)
            if (
                not agrees
                and said.error
                and answer.error
                and before == state
                and phone == environment.get_user_db_hash()
            ):
                agrees, reworded[id(answer)] = True, said.content  # Pythons word one error in their own ways
            agreed = call.name == "refuel_data" and _agreed(messages[:index], call)
            steps.append(judged_step(index, call, before, state, known, caller, solo_mode, agrees, agreed))
    except ValueError as malformed:
        error = str(malformed)
    breaches = tuple(
        (index, rule)
        for index, message in enumerate(messages)
        if isinstance(message, AssistantMessage) and message.tool_calls
        for rule in conduct([call.name for call in message.tool_calls], _speaks(message), solo_mode)
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
        tuple(
            message.model_copy(update={"content": reworded[id(message)]}) if id(message) in reworded else message
            for message in messages
        ),
    )


def _speaks(message: AssistantMessage) -> bool:
    """Return whether a message has words for the customer; reasoning is none."""
    return message.has_text_content() and bool(without_reasoning(message.content or "").strip())


def _agreed(messages: Sequence[Message], call: ToolCall) -> bool:
    amount = call.arguments.get("gb_amount")
    return isinstance(amount, int | float) and agreed_to(messages, float(amount)) is not None


def judged_step(
    index: int,
    call: ToolCall,
    before: dict,
    after: dict,
    known: Collection[str],
    caller: Caller,
    solo_mode: bool = False,
    agrees: bool = True,
    agreed: bool = False,
) -> Step:
    """Return one call of a run with what it changed and how the policy judges that, from the states around it."""
    changes = compare(before, after, known)
    if not changes:
        return Step(index, call, changes, None, agrees)
    write = Write(call.name, call.arguments, call.requestor, before, frozenset(changes), agreed)
    return Step(index, call, changes, judge(write, caller, solo_mode), agrees)


def _same(said: str, recorded: str) -> bool:
    """Compare two answers the way tau2's replay does: as JSON where they are JSON."""
    return said == recorded or _parsed(said) == _parsed(recorded)


def _parsed(text: str):
    try:
        return json.loads(text)
    except (json.JSONDecodeError, TypeError):
        return text
