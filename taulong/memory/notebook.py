"""The notebook: one text, replaced by the agent, and nothing else."""

from taulong.memory.system import MemorySystem, Opening, Refused, ShiftView, writes


class Notebook(MemorySystem):
    """A text that the agent reads at the start of a case and may replace; over the cap, the old one stays."""

    def start(self, view: ShiftView) -> None:
        """Begin with an empty text."""
        super().start(view)
        self.text = ""

    def show(self, opening: Opening) -> str:
        """Return the text."""
        return self.text

    def tools(self):
        """Return the tool that replaces the text."""
        return (self.write_notebook,)

    @writes
    def write_notebook(self, text: str) -> str:
        """
        Replace the whole text of your notebook, the only thing you keep from one customer to the next.

        Args:
            text: The new text of the notebook.

        Returns:
            A message that says whether the text was kept.
        """
        if not isinstance(text, str):
            raise ValueError(f"text must be a string, not {type(text).__name__}")
        if len(text) > self.view.cap:
            raise Refused(
                f"Refused: the text has {len(text)} characters and the notebook holds {self.view.cap}. "
                "The old text was kept."
            )
        self.text = text
        return f"Notebook replaced ({len(text)} of {self.view.cap} characters)."

    def rule(self) -> str:
        """Return how the text is replaced."""
        return (
            f"You may replace its text with the write_notebook tool; it holds at most {self.view.cap} characters. "
            "Nothing else of this conversation is kept."
        )

    def dump(self) -> str:
        """Return the text."""
        return self.text

    def load(self, state: str) -> None:
        """Take up a text."""
        self.text = state
