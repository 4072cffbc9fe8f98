"""The transcript: every earlier conversation, uncut; plain context, which dedicated memories have to beat."""

from taulong.memory.system import MemorySystem, Opening, ShiftView, as_text

CONVERSATION = "--- earlier conversation ---"


class Transcript(MemorySystem):
    """All earlier conversations of the shift as the agent saw them, read-only and as long as they are."""

    capped = False

    def start(self, view: ShiftView) -> None:
        """Begin with no conversation."""
        super().start(view)
        self.conversations: list[str] = []

    def show(self, opening: Opening) -> str:
        """Return every conversation, oldest first."""
        return "\n".join(f"{CONVERSATION}\n{conversation}" for conversation in self.conversations)

    def after(self, conversation: list[dict]) -> None:
        """Add a conversation."""
        self.conversations.append(as_text(conversation))

    def dump(self) -> list[str]:
        """Return the conversations."""
        return self.conversations

    def load(self, state: list[str]) -> None:
        """Take up conversations."""
        self.conversations = list(state)

    def contents(self) -> str:
        """Return what the next case is shown."""
        return self.show(Opening())
