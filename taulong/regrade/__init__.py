"""What do the graders say of runs that tau2 has already made?

May use all that lies below. Start with :mod:`taulong.regrade.regrading`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "command": ["csv_text", "safe"],
        "demonstration": [
            "ENDED",
            "OTHER",
            "OVERDUE",
            "PAID",
            "PLAIN",
            "REFUEL",
            "RUNS",
            "SERVED",
            "demonstration_runs",
            "write_demonstration",
        ],
        "regrading": [
            "COLUMNS",
            "OUT_OF_SCOPE_RULES",
            "RegradeConfig",
            "conversation",
            "graded",
            "regrade",
            "summary",
            "summary_line",
        ],
        "files": ["read_json", "result_files"],
        "results": ["Chosen", "DOMAINS", "ResultFile", "UNKNOWN_ENDING", "read_results"],
    },
)
