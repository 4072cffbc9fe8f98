"""What crosses from one case to the next? Memory systems: a protocol, those on board, and how others are named.

May use shifts and what lies below. Start with :mod:`taulong.memory.system`; a memory of one's own is a subclass of
:class:`~taulong.memory.system.MemorySystem`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "controls": ["AnswerKey", "fix_note"],
        "frozen": ["Frozen"],
        "modes": ["Memory", "first_memory"],
        "names": ["MEMORY_MODES", "check_memory", "current_name", "memory_class", "memory_sources", "second_pass"],
        "notebook": ["Notebook"],
        "system": [
            "MemoryFailure",
            "MemorySystem",
            "Opening",
            "Refused",
            "ShiftView",
            "as_text",
            "seen_by_agent",
            "writes",
        ],
        "transcript": ["CONVERSATION", "Transcript"],
    },
)
