"""``taulong reproduce``: the main job at full size, from shifts to figures, without a model or a key."""

import argparse
import os
from pathlib import Path

from taulong.paths import FIGURES, OUTPUTS, shown

NAME = "reproduction"
AGENTS = ("learner", "guesser", "parrot", "transferrer", "meddler", "forgetful")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong reproduce``."""
    parser.add_argument("--num-shifts", type=int, default=24, help="eval shifts (default 24)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")


def run(arguments: argparse.Namespace) -> int:
    """Generate the shifts, run every agent on board under every memory mode, execute the notebooks and print the metrics."""
    from taulong.metrics import case_metrics, with_owed
    from taulong.notebooks import run_notebook
    from taulong.runs import RunConfig, execute_runs
    from taulong.shifts import ShiftConfig, generate_shifts, write_shifts

    write_shifts(generate_shifts(ShiftConfig(), "eval", arguments.num_shifts), NAME)
    folder = execute_runs(RunConfig(NAME, AGENTS), NAME, arguments.workers, fresh=True)
    notebooks = {
        "10_generate_shifts": {"shifts": NAME, "num_shifts": arguments.num_shifts},
        "20_execute_runs": {"shifts": NAME, "run": NAME, "agents": list(AGENTS), "fresh": False},
        "40_memory_value": {"run": NAME},
    }
    for name, parameters in notebooks.items():
        executed = run_notebook(name, parameters, OUTPUTS / NAME / f"{name}.ipynb")
        print(f"executed {shown(executed)}")
    table = case_metrics(with_owed(folder.records()))
    wide = table[table["reward"] != "gated_reward"].pivot(index=["agent", "memory_mode"], columns="metric", values="count")
    print(wide.to_string())
    print(f"figures: {shown(FIGURES / NAME)}")
    return 0
