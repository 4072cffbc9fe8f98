"""Print how many shifts a second the benchmark environment can serve per core, the time of its endpoint excluded.

The endpoint is another process, and what counts is the processor time of this one: the library's interception of calls,
LiteLLM, tau2, the suite and its graders. The endpoint's pace and the machine's other work are not in the number.

Run: .venv-bench/bin/python tests/benchmarks/benchmark_bench.py [ROLLOUTS]
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.eval import EvalConfig

from taulong.cases.models import Model
from taulong.runs.units import Unit, run_unit
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts

ENDPOINT = Path(__file__).parents[1] / "endpoint.py"
MODES = ("none", "notebook")
FEW = 8


def main(rollouts: int) -> None:
    """Run so many rollouts at once in each mode, then a few shifts without the library, and without calls."""
    shifts = generate_shifts(num_shifts=rollouts)
    run_unit(Unit(shifts[0], "none", "learner"))  # what is imported and read once is no rollout's
    with tempfile.TemporaryDirectory() as folder:
        path = write_shifts(shifts, Path(folder) / "shifts.jsonl")
        serving = subprocess.Popen(
            [sys.executable, ENDPOINT, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        url = serving.stdout.readline().strip()
        try:
            for mode in MODES:
                evaluate(url, Path(folder) / "warm", mode, 1)
                report(
                    f"verifiers, {mode}, {rollouts} at once",
                    rollouts,
                    lambda mode=mode: evaluate(url, Path(folder) / mode, mode, rollouts),
                )
            alone = {
                "LiteLLM, without verifiers": Model("openai/benchmark", {"base_url": url}, key="no key"),
                "no calls: scripted agent": "learner",
            }
            for name, agent in alone.items():
                report(
                    f"{name}, notebook",
                    FEW,
                    lambda agent=agent: [run_unit(Unit(shift, "notebook", agent)) for shift in shifts[:FEW]],
                )
        finally:
            serving.communicate()


def evaluate(url: str, folder: Path, mode: str, rollouts: int) -> None:
    """Run rollouts as ``eval`` does; raises SystemExit when one of them failed."""
    config = EvalConfig.model_validate({
        "taskset": {"id": "taulong-bench-v1", "split": "eval", "num_shifts": rollouts, "memory_mode": mode},
        "model": "benchmark",
        "client": {"type": "eval", "base_url": url}, "rich": False, "push": False, "output_dir": folder,
    })  # fmt: skip
    traces = asyncio.run(run_eval(vf.Environment(config), config))
    if failed := [trace.error for trace in traces if trace.error]:
        raise SystemExit(f"{len(failed)} of {len(traces)} rollouts failed: {failed[0].message}")


def report(name: str, count: int, call) -> None:
    """Print what a call costs that runs so many shifts."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"{name}: {count / processor:.2f} shifts/s per core ({processor / count:.3f} s of processor a shift; "
        f"{count} shifts in {wall:.0f} s)",
        flush=True,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
