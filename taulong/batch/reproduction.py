"""``taulong reproduce``: the main job at full size, from shifts to figures, without a model or a key."""

import argparse
import json
import os

from taulong.paths import FIGURES, OUTPUTS, RUNS, shown

NAME = "reproduction"
NUM_SHIFTS = 40  # every number of the results table is within its own interval of the agent's truth
AGENTS = ("learner", "guesser", "parrot", "transferrer", "meddler", "forgetful")
MODES = ("none", "notebook", "oracle", "misleading", "transcript", "frozen")
CAPS = (0, 25, 50, 75, 100, 125, 500)  # besides the default of 2,000
CAP_AGENTS = ("learner", "forgetful")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong reproduce``."""
    parser.add_argument("--num-shifts", type=int, default=NUM_SHIFTS, help=f"eval shifts (default {NUM_SHIFTS})")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")


def cap_name(cap: int, name: str = NAME) -> str:
    """Return the name of the set of shifts, and of the run, with a notebook of ``cap`` characters."""
    return f"{name}-cap-{cap}"


def run(arguments: argparse.Namespace) -> int:
    """Run every agent on board under every memory mode, sweep the notebook's cap, execute the notebooks, print the metrics."""
    from taulong.batch.notebooks import run_notebook
    from taulong.runs.config import RunConfig
    from taulong.runs.execution import execute_runs
    from taulong.shifts.configuration import ShiftConfig
    from taulong.shifts.files import write_shifts
    from taulong.shifts.generation import generate_shifts
    from taulong.value.figures.headline import headline_table, plot_headline
    from taulong.value.figures.style import save_figure
    from taulong.value.metrics import read_table

    sets = {NAME: ShiftConfig(), **{cap_name(cap): ShiftConfig(notebook_cap=cap) for cap in CAPS}}
    for name, config in sets.items():
        write_shifts(generate_shifts(config, "eval", arguments.num_shifts), name)
        whole = name == NAME
        plan = RunConfig(name, AGENTS if whole else CAP_AGENTS, MODES if whole else ("none", "notebook"))
        folder = execute_runs(plan, name, arguments.workers, fresh=True, progress=True)
        print(f"{shown(folder.path)}: {folder.account}")
    notebooks = {
        "10_generate_shifts": {"shifts": NAME, "num_shifts": arguments.num_shifts},
        "20_execute_runs": {"shifts": NAME, "run": NAME, "agents": AGENTS, "memory_modes": MODES, "fresh": False},
        "40_memory_value": {"run": NAME, "cap_runs": [cap_name(cap) for cap in CAPS]},
    }
    for name, parameters in notebooks.items():
        print(f"executed {shown(run_notebook(name, parameters, OUTPUTS / NAME / f'{name}.ipynb'))}")
    headline = headline_table(read_table(NAME))
    save_figure(plot_headline(headline), headline, FIGURES / NAME / "headline")
    print(results_table())
    print(f"figures: {shown(FIGURES / NAME)}")
    return 0


def results_table(name: str = NAME) -> str:
    """Return what came of a run as a Markdown table, from the metrics that ``20_execute_runs`` wrote: a row per agent.

    Accuracy on testing cases in every memory mode; then, with the notebook, accuracy on lookalikes, the share of testing
    cases transferred, and the mean over shifts of the shift's reward (the sum over its cases), official and gated.
    """
    metrics = json.loads((RUNS / name / "20_execute_runs.metrics.json").read_text(encoding="utf-8"))
    heads = [*MODES, "lookalikes", "transferred", "official", "gated"]
    lines = [f"| agent | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for agent in dict.fromkeys(key.split(", ")[0] for key in metrics["accuracy"]):
        values = [metrics["accuracy"][f"{agent}, {mode}, masked_env_accuracy"] for mode in MODES]
        values += [
            metrics["accuracy"][f"{agent}, notebook, {metric}"]
            for metric in ("lookalike_env_accuracy", "masked_transfer_rate")
        ]
        values += [
            metrics["mean_shift_reward"][f"{reward}_reward, {agent}, notebook"] for reward in ("official", "gated")
        ]
        lines.append(f"| {agent} | {' | '.join(f'{value:.2f}' for value in values)} |")
    return "\n".join(lines)
