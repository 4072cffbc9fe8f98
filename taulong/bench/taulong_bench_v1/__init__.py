"""The name by which verifiers finds the benchmark, ``eval taulong-bench-v1``; the code is in taulong.bench.taskset."""

from taulong.bench import taskset as bench
from taulong.bench.taskset import ShiftHarness, ShiftTaskset

__all__ = ["ShiftHarness", "ShiftTaskset"]
if hasattr(bench, "ShiftEnv"):  # verifiers 0.3 and later
    from taulong.bench.taskset import ShiftEnv

    __all__ += ["ShiftEnv"]
