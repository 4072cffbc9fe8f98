"""What crosses from one case to the next? The memory modes, from nothing to whole transcripts.

May use shifts and what lies below. Start with :mod:`taulong.memory.modes`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "modes": ["CONVERSATION", "MEMORY_MODES", "Memory", "first_memory", "fix_note"],
    },
)
