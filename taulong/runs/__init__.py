"""How are shifts executed, and what is kept of them? Configuration, units of work, executors, the run folder, accounts.

May use cases and what lies below. Start with :mod:`taulong.runs.execution`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "accounts": ["Account", "Spending", "check_limits", "spent"],
        "claim": ["VERSIONS", "claim", "move_aside"],
        "config": ["RunConfig", "TRANSPORT", "run_manifest"],
        "estimate": ["CALLS_A_CASE", "Estimate", "TOKENS_A_MESSAGE", "estimate_run"],
        "execution": ["PROGRESS_LINES", "execute_runs"],
        "executors": ["CASE_THREADS", "EXECUTORS", "MODEL_THREADS"],
        "folder": ["APART", "FORMAT", "KEY", "RESULTS", "RunFolder", "run_path"],
        "interrupts": ["Interrupted", "STOPPING", "Stopping", "ignore_interrupts", "stop_requests"],
        "ledger": ["Ledger", "Notes"],
        "units": ["Unit", "run_step", "run_unit"],
    },
)
