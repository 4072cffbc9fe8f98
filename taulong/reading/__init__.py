"""What was said and done? Conversations, shifts and verdicts as HTML for a notebook and as text for a terminal.

May use value, runs and what lies below. Start with :mod:`taulong.reading.conversation`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "conversation": [
            "BROWSED",
            "Beside",
            "Conversation",
            "FOLD",
            "INFERRED",
            "LANES",
            "LINES",
            "Markup",
            "OUTCOMES",
            "Objection",
            "PAPER",
            "SIGNS",
            "STYLE",
            "Strip",
            "TINT",
            "Table",
            "Turn",
            "beside",
            "browse",
            "customers",
            "element",
            "notebook_growth",
            "open_case",
            "visible",
        ],
    },
)
