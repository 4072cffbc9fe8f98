"""What a memory system is: one class that is shown a shift case by case and says what the agent is told of earlier ones."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


class MemoryFailure(RuntimeError):
    """A memory system that failed: ``step`` says where; the case is unscored with it as the reason, never a zero."""

    def __init__(self, step: str, why: str):
        self.step = step
        super().__init__(f"{step}: {why}")


class Refused(Exception):
    """Raised by a tool of a memory that does not do as asked (a text over the cap): an answer to the agent, not an error."""


@dataclass(frozen=True)
class ShiftView:
    """All that a memory is told of a shift.

    Attributes:
        cap: characters that it may show.
        seed: for its own draws; the same in every memory mode, and derived such that it says nothing else.
    """

    cap: int
    seed: int


@dataclass(frozen=True)
class Opening:
    """The start of a case.

    Attributes:
        message: the customer's first message, or None while it is not known.
    """

    message: str | None = None


def writes(tool: Callable) -> Callable:
    """Mark a tool as one that changes what the memory keeps: counted, and taken away where the memory is frozen."""
    tool.writes = True  # type: ignore[attr-defined]
    return tool


class MemorySystem:
    """A memory system: subclass it, and name the subclass ``module:Class`` wherever a memory mode is named.

    One object serves one case: it is made with the options (``--memory-args``), told of the shift by :meth:`start`, given
    what it kept by :meth:`load`, asked by :meth:`show`, heard through its tools, told the conversation by :meth:`after`, and
    what :meth:`dump` returns is all that is left of it. Whatever it keeps elsewhere is lost, or worse, leaks.

    Attributes:
        wants_query: whether :meth:`show` is asked again when the customer's first message is known.
        capped: whether what it shows is held to the cap (False: a baseline that spends context freely, and says so).
        calls_a_case: model calls that it makes a case, for the estimate of a run.
        view: the shift, as :meth:`start` was told of it.
    """

    wants_query = False
    capped = True
    calls_a_case = 0
    view: ShiftView
    _ask: Callable[[list[dict]], str] | None = None

    def bind(self, ask: Callable[[list[dict]], str]) -> None:
        """Say what answers :meth:`ask`; the runner calls it."""
        self._ask = ask

    def start(self, view: ShiftView) -> None:
        """Begin with an empty memory; called before anything else, also before :meth:`load`. No model can be asked here."""
        self.view = view

    def show(self, opening: Opening) -> str | None:
        """Return the text that the agent's policy shows, or None for no section at all."""
        return None

    def tools(self) -> Sequence[Callable[..., str]]:
        """Return the agent's tools: bound methods with type hints and a docstring, which is what a model reads of them.

        A ValueError is answered as a failed call, :class:`Refused` as a refusal; anything else is a failure of the memory.
        """
        return ()

    def after(self, conversation: list[dict]) -> None:
        """Take in a case that has ended, see :func:`seen_by_agent`."""

    def dump(self) -> Any:
        """Return what is kept, as plain JSON."""
        return None

    def load(self, state: Any) -> None:
        """Take up what :meth:`dump` returned."""

    def contents(self) -> str | None:
        """Return all that is kept as text, for people who read along; None where there is nothing to be kept."""
        state = self.dump()
        return state if state is None or isinstance(state, str) else json.dumps(state, ensure_ascii=False, indent=1)

    def held(self) -> int:
        """Return how many items are kept: entries of a list or table, else lines of a text."""
        state = self.dump()
        return len(state) if isinstance(state, list | dict) else len((self.contents() or "").splitlines())

    def rule(self) -> str:
        """Return the sentence that tells the agent what it may do with the memory."""
        names = [tool.__name__ for tool in self.tools()]
        return f"Your tools for it: {', '.join(names)}." if names else "It is read-only."

    def ask(self, messages: list[dict]) -> str:
        """Return what the agent's own model (or ``--memory-llm``) answers; with a scripted agent, a deterministic stand-in.

        Args:
            messages: ``{"role": "system" or "user" or "assistant", "content": text}``, as a chat endpoint takes them.
        """
        if self._ask is None:
            raise MemoryFailure("ask", "there is no model to ask here, only in show, tools and after")
        return self._ask(messages)


def seen_by_agent(messages: Sequence[dict]) -> list[dict]:
    """Return a conversation as the agent saw it, from the messages of a transcript.

    Each message has ``role`` (``agent``, ``customer`` or ``tool``), ``text``, ``calls`` (name and arguments) and ``error``.
    The customer's own tool calls and their answers are not the agent's to see; ids are left out.
    """
    seen = []
    for message in messages:
        customers = message["role"] == "user" or message.get("requestor") == "user"
        if customers and (message["role"] == "tool" or message.get("tool_calls")):
            continue
        calls = [{"name": call["name"], "arguments": call["arguments"]} for call in message.get("tool_calls") or ()]
        role = "customer" if customers else {"assistant": "agent", "tool": "tool"}[message["role"]]
        seen.append(
            {
                "role": role,
                "text": message.get("content") or "",
                "calls": calls,
                "error": bool(message.get("error", False)),
            }
        )
    return seen


def as_text(conversation: Sequence[dict], tools: bool = True) -> str:
    """Return a conversation as text, a line a message; without ``tools`` only what was said."""
    lines = []
    for message in conversation:
        if not tools and (message["role"] == "tool" or not message["text"]):
            continue
        calls = [f"calls {call['name']}({call['arguments']})" for call in message["calls"]] if tools else []
        lines.append(f"{message['role'].capitalize()}: " + "; ".join(filter(None, [message["text"], *calls])))
    return "\n".join(lines)
