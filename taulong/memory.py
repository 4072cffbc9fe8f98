"""Memory modes: what of earlier cases an agent is shown, and what it may keep."""

from dataclasses import dataclass

from taulong.causes import recurring_causes
from taulong.errors import check_name
from taulong.shifts import Shift

MEMORY_MODES = ("none", "notebook", "oracle")


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
            "of this conversation is kept." if self.writable else "It is read-only."
        )
        return (
            "\n<notebook>\nYour notebook is what you have from earlier customers of this shift. "
            f"{rule} Its text:\n{self.text or '(empty)'}\n</notebook>"
        )


def first_memory(mode: str, shift: Shift) -> Memory:
    """Return the memory before a shift's first case."""
    check_name("memory_mode", mode, MEMORY_MODES)
    if mode == "none":
        return Memory(mode, None, False, 0)
    if mode == "oracle":
        return Memory(mode, fix_note(shift.phone_model, shift.recurring_cause), False, shift.config.notebook_cap)
    return Memory(mode, "", True, shift.config.notebook_cap)


def fix_note(phone_model: str, cause: str) -> str:
    """Return the note that says which fix belongs to a phone model: the oracle's text, and how scripted agents write."""
    return f"MMS fails on {phone_model}: fixed by {recurring_causes()[cause].fix_text}"
