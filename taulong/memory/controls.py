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
    """A shift as the controls on board see it: of each kind one note a position, which changes where the cause does.

    Attributes:
        right: the recurring fix, of every fleet.
        misleading: a fix that is wrong here, and for the lookalikes too where their causes leave one.
        irrelevant: a text of the same length about something else.
        stale: the fix that the shift began with, right until the cause changes; where it never does, another shift's.
    """

    right: tuple[str, ...]
    misleading: tuple[str, ...]
    irrelevant: tuple[str, ...]
    stale: tuple[str, ...]


class NoMemory(MemorySystem):
    """Nothing: no text, no tool."""


class Note(MemorySystem):
    """A read-only note; a subclass says which of the answer key's. It counts cases, so as to know which is in force."""

    which: str
    view: AnswerKey

    def start(self, view: ShiftView) -> None:
        """Begin before the first case."""
        super().start(view)
        self.cases = 0

    def show(self, opening: Opening) -> str:
        """Return the note."""
        notes = getattr(self.view, self.which)
        return notes[min(self.cases, len(notes) - 1)]

    def after(self, conversation: list[dict]) -> None:
        """Count a case."""
        self.cases += 1

    def dump(self) -> int:
        """Return how many cases there were."""
        return self.cases

    def load(self, state: int) -> None:
        """Take up the count."""
        self.cases = state

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


def fix_note(phone_model: str | None, cause: str) -> str:
    """Return the note that says which fix helps, on a phone model or (None) on any: the oracle's text, and how agents write."""
    from taulong.shifts.causes import recurring_causes  # with tau2, which the names of the modes do not need

    return f"MMS fails{f' on {phone_model}' if phone_model else ''}: fixed by {recurring_causes()[cause].fix_text}"


def answer_key(shift: Shift, view: ShiftView) -> AnswerKey:
    """Return a shift's view with the controls' notes; every draw is keyed by the shift alone."""
    in_force = [shift.causes_at(case.position) for case in shift.cases]
    first = in_force[0]
    elsewhere = {model: _other(shift, "stale", model, {cause}) for model, cause in first.items()}
    right = tuple(map(_notes, in_force))
    return AnswerKey(
        view.cap,
        view.seed,
        right=right,
        misleading=tuple(_notes(_wrong(shift, causes)) for causes in in_force),
        irrelevant=tuple(_about_something_else(shift, len(note)) for note in right),
        stale=(_notes(first if shift.changed_at else elsewhere),) * len(shift.cases),
    )


def _notes(causes: dict[str | None, str]) -> str:
    return "\n".join(fix_note(model, cause) for model, cause in causes.items())


def _wrong(shift: Shift, causes: dict[str | None, str]) -> dict[str | None, str]:
    """Return for each mark a cause that no lookalike has, or the fewest, and no incident of the mark."""
    return {model: _other(shift, "misleading", model, {cause}) for model, cause in causes.items()}


def _other(shift: Shift, role: str, model: str | None, without: set[str]) -> str:
    from taulong.shifts.causes import recurring_causes

    others = [cause for cause in recurring_causes() if cause not in without]
    if role == "misleading":
        met = [case.cause for case in shift.cases if case.population == "lookalike"]
        fewest = min(met.count(cause) for cause in others)
        others = [cause for cause in others if met.count(cause) == fewest]
    return Draws(role, shift.split, shift.seed, model or "").choice(others)


def _about_something_else(shift: Shift, length: int) -> str:
    text = Draws("irrelevant", shift.split, shift.seed).choice(ELSEWHERE)
    return (text * (length // len(text) + 1))[:length]
