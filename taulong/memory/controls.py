"""Controls: no memory at all, and notes whose worth is known. Only these are told what is in an answer key."""

from dataclasses import dataclass

from taulong.draws import Draws
from taulong.memory.system import MemorySystem, Opening, ShiftView
from taulong.shifts.stream import Shift

ELSEWHERE = (
    "A bill is due two weeks after it was issued. An overdue bill is paid before a suspended line is resumed. ",
    "Data can be refueled for a line with an active plan. The customer hears the price before agreeing to it. ",
    "A line is suspended for six months at most. Roaming is switched on for one line at a time, not the account. ",
)
"""True sentences about matters that no case of a shift is about."""


@dataclass(frozen=True)
class AnswerKey(ShiftView):
    """A shift as the controls on board see it.

    Attributes:
        right: the note with the recurring fix.
        misleading: the same note with a fix that is wrong here, and for the lookalikes too where their causes leave one.
        irrelevant: a text of the same length about something else.
        stale: the same note with the fix of an earlier shift, which another cause had.
    """

    right: str
    misleading: str
    irrelevant: str
    stale: str


class NoMemory(MemorySystem):
    """Nothing: no text, no tool."""


class Note(MemorySystem):
    """A read-only note; a subclass says which of the answer key's."""

    which: str

    def show(self, opening: Opening) -> str:
        """Return the note."""
        return getattr(self.view, self.which)

    def contents(self) -> str:
        """Return the note."""
        return self.show(Opening())


class Oracle(Note):
    """The recurring fix: what a perfect memory would hold."""

    which = "right"


class Misleading(Note):
    """A fix that is wrong for the shift: what trusting a memory blindly costs."""

    which = "misleading"


class Irrelevant(Note):
    """A text of the oracle's length about something else: what the mere presence of a note does."""

    which = "irrelevant"


class Stale(Note):
    """The fix of an earlier shift: what a note costs that was right once."""

    which = "stale"


def fix_note(phone_model: str, cause: str) -> str:
    """Return the note that says which fix belongs to a phone model: the oracle's text, and how scripted agents write."""
    from taulong.shifts.causes import recurring_causes  # with tau2, which the names of the modes do not need

    return f"MMS fails on {phone_model}: fixed by {recurring_causes()[cause].fix_text}"


def answer_key(shift: Shift, view: ShiftView) -> AnswerKey:
    """Return a shift's view with the controls' notes; every draw is keyed by the shift alone."""
    from taulong.shifts.causes import recurring_causes

    others = [cause for cause in recurring_causes() if cause != shift.recurring_cause]
    met = [case.cause for case in shift.cases if case.population == "lookalike"]
    fewest = min(met.count(cause) for cause in others)
    misleading = Draws("misleading", shift.split, shift.seed).choice(
        [cause for cause in others if met.count(cause) == fewest]
    )
    stale = Draws("stale", shift.split, shift.seed).choice(others)
    right = fix_note(shift.phone_model, shift.recurring_cause)
    elsewhere = Draws("irrelevant", shift.split, shift.seed).choice(ELSEWHERE)
    return AnswerKey(
        view.cap,
        view.seed,
        right=right,
        misleading=fix_note(shift.phone_model, misleading),
        irrelevant=(elsewhere * (len(right) // len(elsewhere) + 1))[: len(right)],
        stale=fix_note(shift.phone_model, stale),
    )
