"""What was said and done? Conversations, shifts and verdicts as HTML for a notebook and as text for a terminal.

May use value, runs and what lies below. Start with :mod:`taulong.reading.show`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "answers": [
            "Answer",
            "audit_answer",
            "memory_answer",
            "regrade_answer",
            "runs_answer",
            "shifts_answer",
            "tour_answer",
        ],
        "conversation": ["Beside", "Conversation", "Objection", "Turn", "beside"],
        "markup": [
            "FOLD",
            "INFERRED",
            "LANES",
            "LINES",
            "Markup",
            "OUTCOMES",
            "PAPER",
            "SIGNS",
            "STYLE",
            "TINT",
            "element",
            "visible",
        ],
        "packed": ["COLUMNS", "Packed", "pack"],
        "page": ["cases_box", "folded", "page", "picture", "plain"],
        "report": ["ReportConfig", "Reported", "endings_table", "report_page", "write_report"],
        "show": ["notebook_growth", "open_case"],
        "strip": ["Strip", "outcome_of"],
        "tables": ["BROWSED", "Table", "as_table", "browse", "customers"],
        "unmasked": ["Unmasked"],
        "view": ["write_view"],
        "words": ["interval", "listed", "number", "of", "p_phrase", "p_value", "signed"],
    },
)
