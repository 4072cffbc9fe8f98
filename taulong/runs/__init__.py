"""How are shifts executed, and what is kept of them? Configuration, units of work, executors, the run folder, accounts.

May use cases and what lies below. Start with :mod:`taulong.runs.execution`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "accounts": ["Account", "Spending", "check_limits", "spent"],
        "execution": [
            "APART",
            "CALLS_A_CASE",
            "CASE_THREADS",
            "EXECUTORS",
            "Estimate",
            "FORMAT",
            "KEY",
            "MODEL_THREADS",
            "PROGRESS_LINES",
            "RESULTS",
            "RunConfig",
            "RunFolder",
            "TOKENS_A_MESSAGE",
            "TRANSPORT",
            "Unit",
            "estimate_run",
            "execute_runs",
            "run_manifest",
            "run_path",
            "run_step",
            "run_unit",
        ],
    },
)
