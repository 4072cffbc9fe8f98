"""What a memory that asks a model is answered where the agent is a script: a reader of notes, the same every time."""

import re
from collections.abc import Iterator, Sequence

from taulong.cases.agents import REMEDIES
from taulong.memory.controls import fix_note

NOTE = re.compile(r"(MMS fails(?: on [^:\n]+)?: fixed by [^\n]+)")


def stand_in(messages: Sequence[dict]) -> str:
    """Return the fixes that a question tells of, one note a line, each once.

    It is what the learner on board would note: of text that holds such notes, these; of a conversation that shows the
    evidence, the fix.

    Args:
        messages: as for a chat endpoint; those of the role ``user`` are read.
    """
    text = "\n".join(message["content"] for message in messages if message["role"] == "user")
    return "\n".join(dict.fromkeys(_notes(text)))


def _notes(text: str) -> Iterator[str]:
    yield from NOTE.findall(text)
    for remedy in REMEDIES:
        if remedy.sign.search(text):
            yield fix_note(None, remedy.cause)
