"""How does a trainer use the benchmark? As a taskset of verifiers, whose rollouts come back as runs.

May use runs and what lies below. Start with :mod:`taulong.bench.taskset`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "wire": ["wire_safe"],
        "taskset": [
            "BENCH_MODES",
            "BenchConfig",
            "ShiftData",
            "ShiftHarness",
            "ShiftTask",
            "ShiftTaskset",
            "customer",
            "run_shift",
            "scored_records",
        ],
        "traces": ["Rollout", "TASK", "import_traces", "read_rollouts", "read_traces"],
    },
)
