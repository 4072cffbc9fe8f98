"""A memory system at work in one case: what it shows, answers and takes in, with every failure told as the memory's own."""

import inspect
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from taulong.backend import Message, ToolCall, ToolMessage
from taulong.keys import scrub
from taulong.memory.modes import Memory
from taulong.memory.system import MemoryFailure, Opening, Refused, seen_by_agent

MEMORY = "memory"
"""How the reason begins of a case that a failure of its memory has cut short."""
MEMORY_AFTER = "memory_after"
"""How it begins where the conversation is whole and the memory failed behind it: nothing of the conversation is run again."""


@dataclass
class Shown:
    """What an agent is given of its memory; the text may change once, when the customer's first message is known.

    Attributes:
        text: what the policy's section shows, or None where there is no section.
        tools: names of the memory's tools.
        cap: characters that the memory may show.
    """

    text: str | None = None
    tools: frozenset[str] = frozenset()
    cap: int = 0

    @property
    def writable(self) -> bool:
        """Whether there is a notebook to be replaced."""
        return "write_notebook" in self.tools


class MemoryAtWork:
    """The memory of one case, from its opening to what is kept of it.

    Args:
        memory: at the start of the case.
        ask: what answers the memory's questions to a model.

    Attributes:
        memory: what is to be kept, as far as it is known.
        tools: the memory's tools for the agent, by name.
        shown: what the agent is given.
        failure: the reason of a failure before the conversation, or None.
        writes, refusals: calls of tools that write which were carried out, and refused.
        contents: all that is kept, as text.
        items: how many items are kept.
        seconds: wall time that the memory took.
    """

    def __init__(self, memory: Memory, ask: Callable[[list[dict]], str] | None = None):
        self.memory = memory
        self.tools: dict[str, Callable[..., str]] = {}
        self.shown = Shown(cap=memory.view.cap)
        self.failure: str | None = None
        self.writes = self.refusals = 0
        self.seconds = 0.0
        self.contents: str | None = None
        self.items = 0
        self._rule = ""
        try:
            self.system = self._do("load", memory.system)
            if ask is not None:
                self.system.bind(ask)
            self.tools = {tool.__name__: tool for tool in self._do("tools", self.system.tools)}
            self._rule = self._do("rule", self.system.rule)
            self.shown.tools = frozenset(self.tools)
            self.show()
            self.contents = self.shown.text
        except MemoryFailure as error:
            self.failure = f"{MEMORY}: {error}"

    def _do(self, step: str, call: Callable, *arguments, answers: tuple[type[Exception], ...] = (), **options) -> Any:
        """Return what a call into the memory system returns; its exceptions, but for ``answers``, are MemoryFailure."""
        started = time.perf_counter()
        try:
            return call(*arguments, **options)
        except (MemoryFailure, *answers):
            raise
        except Exception as error:
            raise MemoryFailure(step, scrub(f"{type(error).__name__}: {error}")) from None
        finally:
            self.seconds += time.perf_counter() - started

    def show(self, message: str | None = None) -> None:
        """Ask for the text that the agent is shown, at the opening or when the customer's first message is known."""
        text = self._do("show", self.system.show, Opening(message))
        if not isinstance(text, str | None):
            raise MemoryFailure("show", f"gave a {type(text).__name__}; accepted: a text, or None")
        if self.system.capped and len(text or "") > self.shown.cap:
            raise MemoryFailure("show", f"gave {len(text)} characters, and the cap is {self.shown.cap}")
        self.shown.text = text

    @property
    def wants_query(self) -> bool:
        """Whether the memory is to be asked again when the customer's first message is known."""
        return self.failure is None and self.system.wants_query

    @property
    def is_long(self) -> bool:
        """Whether the agent is shown more than the cap, as a memory that spends context freely may."""
        return len(self.shown.text or "") > self.shown.cap

    @property
    def section(self) -> str:
        """The part of the agent's policy that shows the memory; empty where it shows none."""
        if self.shown.text is None:
            return ""
        return (
            "\n<notebook>\nYour notebook is what you have from earlier customers of this shift. "
            f"{self._rule} Its text:\n{self.shown.text or '(empty)'}\n</notebook>"
        )

    def answer(self, call: ToolCall) -> ToolMessage:
        """Return the answer to the agent's call of one of the memory's tools; no database is touched."""
        tool = self.tools[call.name]
        said, error = None, False
        try:
            inspect.signature(tool).bind(**call.arguments)
            said = self._do(f"tool {call.name}", tool, answers=(Refused, ValueError), **call.arguments)
            self.writes += getattr(tool, "writes", False)
        except Refused as refused:
            said = str(refused)
            self.refusals += 1
        except (TypeError, ValueError) as refused:
            said, error = f"Error: {refused}", True
        if not isinstance(said, str):
            raise MemoryFailure(f"tool {call.name}", f"answered a {type(said).__name__}; accepted: a text")
        return ToolMessage(id=call.id, role="tool", content=said, requestor="assistant", error=error)

    def take_in(self, messages: Sequence[dict]) -> str | None:
        """Tell the memory the conversation that has ended, and return the reason of a failure, or None.

        Args:
            messages: those of the transcript; the memory is given what the agent saw of them.
        """
        try:
            self.keep()
            self._do("after", self.system.after, seen_by_agent(messages))
            self.keep()
        except MemoryFailure as error:
            return f"{MEMORY_AFTER}: {error}"
        return None

    def keep(self) -> None:
        """Take over what the memory system dumps, and what there is to tell about it."""
        state = self._do("dump", self.system.dump)
        try:
            plain = json.loads(json.dumps(state, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise MemoryFailure("dump", f"not plain JSON ({error})") from None
        if plain != state:
            raise MemoryFailure(
                "dump", "not plain JSON (it reads back as something else: a tuple, or a key that is no text)"
            )
        self.memory = replace(self.memory, state=plain)
        self.contents = self._do("contents", self.system.contents)
        self.items = int(self._do("held", self.system.held))


class Remembered:
    """Stands in for a memory where a conversation is replayed: its tools' calls are answered as they were.

    Args:
        names: of the memory's tools.
        messages: the conversation.
    """

    def __init__(self, names: Sequence[str], messages: Sequence[Message]):
        self.tools = frozenset(names)
        self._answers = iter(tuple(self._recorded(messages)))

    def _recorded(self, messages: Sequence[Message]) -> Iterator[ToolMessage]:
        asked: deque[str] = deque()  # answers come in the order of the calls
        for message in messages:
            if message.role == "assistant":
                asked = deque(call.name for call in message.tool_calls or ())
            elif (
                message.role == "tool" and message.requestor == "assistant" and asked and asked.popleft() in self.tools
            ):
                yield message

    def answer(self, call: ToolCall) -> ToolMessage:
        """Return the recorded answer to the next call of a memory's tool."""
        recorded = next(self._answers, None)
        if recorded is None:
            raise ValueError(f"{call.name}: the conversation has no answer to it")
        return recorded.model_copy(update={"id": call.id})


def with_query(agent, memory: MemoryAtWork, policy: str):
    """Return the agent, its memory asked again when the customer's first message has come and its policy told anew.

    Args:
        agent: a tau2 agent.
        memory: one that wants the query.
        policy: the domain's, without the memory's section.
    """
    plain = agent.generate_next_message
    heard = False

    def generate_next_message(message, state):
        nonlocal heard
        if not heard and message.role == "user":
            heard = True
            memory.show(message.content)
            agent.domain_policy = policy + memory.section
            for system in getattr(state, "system_messages", ())[:1]:
                system.content = agent.system_prompt
        return plain(message, state)

    agent.generate_next_message = generate_next_message
    return agent
