"""A memory as it was at the end of a shift: read in a second pass, and changed by nothing."""

from taulong.memory.system import MemorySystem, Opening, ShiftView


class Frozen(MemorySystem):
    """Wraps a memory system: what it shows and lets be searched stays, what it would write or learn does not happen.

    Args:
        inner: the memory system.
    """

    def __init__(self, inner: MemorySystem):
        self.inner = inner
        self.wants_query, self.capped = inner.wants_query, inner.capped

    def start(self, view: ShiftView) -> None:
        """Tell the wrapped memory."""
        super().start(view)
        self.inner.start(view)

    def bind(self, ask) -> None:
        """Let the wrapped memory ask, too."""
        super().bind(ask)
        self.inner.bind(ask)

    def show(self, opening: Opening) -> str | None:
        """Return what the wrapped memory shows."""
        return self.inner.show(opening)

    def tools(self):
        """Return the wrapped memory's tools but for those that write."""
        return [tool for tool in self.inner.tools() if not getattr(tool, "writes", False)]

    def dump(self):
        """Return what was loaded, whatever the wrapped memory has come to since."""
        return self.state

    def load(self, state) -> None:
        """Take up what a shift has left."""
        self.state = state
        self.inner.load(state)

    def contents(self) -> str | None:
        """Return what the wrapped memory holds."""
        return self.inner.contents()

    def held(self) -> int:
        """Return how many items the wrapped memory holds."""
        return self.inner.held()
