"""Memory modes: what of earlier cases an agent is shown, and what it may keep."""

from dataclasses import dataclass, replace

from taulong.draws import Draws
from taulong.errors import check_name
from taulong.shifts.stream import Shift

MEMORY_MODES = ("none", "notebook", "oracle", "placebo", "transcript", "frozen")
CONVERSATION = "--- earlier conversation ---"


@dataclass(frozen=True)
class Memory:
    """The memory an agent has at the start of a case.

    Attributes:
        mode: the memory mode.
        text: the notebook's text, or None where there is no notebook (mode ``none``).
        writable: whether the agent has the tool that replaces the text.
        cap: characters the notebook holds.
    """

    mode: str
    text: str | None
    writable: bool
    cap: int

    @property
    def section(self) -> str:
        """The part of the agent's policy that shows the notebook; empty in mode ``none``."""
        if self.text is None:
            return ""
        rule = (
            f"You may replace its text with the write_notebook tool; it holds at most {self.cap} characters. Nothing else "
            "of this conversation is kept."
            if self.writable
            else "It is read-only."
        )
        return (
            "\n<notebook>\nYour notebook is what you have from earlier customers of this shift. "
            f"{rule} Its text:\n{self.text or '(empty)'}\n</notebook>"
        )

    def after(self, notebook: str | None, messages: list[dict]) -> "Memory":
        """Return the memory at the start of the next case.

        Args:
            notebook: the notebook's text at the end of the case.
            messages: the case's conversation, plain; what mode ``transcript`` adds to its text, uncut.
        """
        if self.mode != "transcript":
            return replace(self, text=notebook)
        return replace(self, text="\n".join(filter(None, [self.text, CONVERSATION, *map(_told, messages)])))

    def frozen(self) -> "Memory":
        """Return the memory of the second pass: the same text, read-only."""
        return replace(self, mode="frozen", writable=False)


def first_memory(mode: str, shift: Shift) -> Memory:
    """Return the memory before a shift's first case (``frozen`` has none: it is what a notebook is in the second pass).

    ``placebo`` has the oracle's note with the fix of a shift with another recurring cause: it looks as good and is wrong.
    """
    from taulong.shifts.causes import recurring_causes  # with tau2, which the names of the modes do not need

    cap = shift.config.notebook_cap
    match check_name("memory_mode", mode, MEMORY_MODES):
        case "none":
            return Memory(mode, None, False, 0)
        case "notebook":
            return Memory(mode, "", True, cap)
        case "oracle":
            return Memory(mode, fix_note(shift.phone_model, shift.recurring_cause), False, cap)
        case "placebo":
            others = [cause for cause in recurring_causes() if cause != shift.recurring_cause]
            cause = Draws("placebo", shift.split, shift.seed).choice(others)
            return Memory(mode, fix_note(shift.phone_model, cause), False, cap)
        case "transcript":
            return Memory(mode, "", False, cap)
        case _:
            raise ValueError(f"memory_mode: {mode!r} follows a notebook and has no first memory")


def _told(message: dict) -> str:
    """Return one message of a conversation as text, tool calls and answers included."""
    who = {"assistant": "Agent", "user": "Customer", "tool": "Tool"}[message["role"]]
    calls = [f"calls {call['name']}({call['arguments']})" for call in message.get("tool_calls") or ()]
    return f"{who}: " + "; ".join(filter(None, [message.get("content"), *calls]))


def fix_note(phone_model: str | None, cause: str) -> str:
    """Return the note that says which fix helps, on a phone model or (None) on any: the oracle's text, and how agents write."""
    from taulong.shifts.causes import recurring_causes

    return f"MMS fails{f' on {phone_model}' if phone_model else ''}: fixed by {recurring_causes()[cause].fix_text}"
