"""The command ``taulong run``."""

import argparse
import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from taulong.errors import ConfigError
from taulong.paths import located
from taulong.runs.config import RunConfig
from taulong.runs.estimate import estimate_run
from taulong.runs.execution import execute_runs
from taulong.runs.executors import CASE_THREADS, EXECUTORS
from taulong.runs.interrupts import Interrupted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong run``."""
    parser.add_argument("shifts", help="name of a set of shifts below data/shifts, or its path")
    parser.add_argument("--name", help="name of the run folder below data/runs, or a path (default: the shifts' name)")
    parser.add_argument("--agents", nargs="+", default=["learner"], help="agents on board, or llm (default learner)")
    parser.add_argument(
        "--memory-modes",
        nargs="+",
        default=["none", "notebook", "oracle"],
        help="modes on board, module:Class, or frozen(MODE) (default none notebook oracle)",
    )
    parser.add_argument("--trials", type=int, default=1, help="runs of each shift with other draws (default 1)")
    parser.add_argument(
        "--memory-args",
        metavar="JSON",
        default="{}",
        help='options of memory systems, e.g. \'{"retrieval": {"k": 1}}\'',
    )
    for side in ("agent", "user", "memory"):
        if side == "user":
            parser.add_argument("--user", default="scripted", help="scripted or llm (default scripted)")
        parser.add_argument(
            f"--{side}-llm",
            metavar="MODEL",
            help=f"the {side}'s model as LiteLLM names it, e.g. openai/gpt-4.1"
            + (" (default: the agent's)" if side == "memory" else ""),
        )
        parser.add_argument(
            f"--{side}-llm-args",
            metavar="JSON",
            default="{}",
            help="arguments of its calls, e.g. '{\"temperature\": 0}'; keys come from the environment only",
        )
    parser.add_argument("--log-prompts", action="store_true", help="put the models' prompts into the transcripts")
    parser.add_argument("--workers", type=int, help="units at once (default: 16 for models, else 1)")
    parser.add_argument("--executor", help=f"{', '.join(EXECUTORS)} (default: what fits)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a dask.distributed scheduler, e.g. tcp://10.0.0.1:8786"
    )
    parser.add_argument("--max-cases", type=int, metavar="N", help="start no case once N were run in this session")
    parser.add_argument("--max-cost", type=float, metavar="DOLLARS", help="start no case once the run has cost so much")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be run and what it would take, and run nothing"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="run everything again; refused where a model's cases would be lost"
    )
    parser.add_argument(
        "--replace",
        metavar="NAME",
        help="the run's name once more: what it holds is moved to NAME.replaced-DIGEST first",
    )


def _json(option: str, text: str) -> dict:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:  # not an argparse type, whose errors repeat the text
        raise ConfigError(f"{option}: not JSON ({error.msg} at character {error.pos})") from None


def run(arguments: argparse.Namespace) -> int:
    """Execute a run and say what it has come to; return 0 when all is well, see :attr:`Account.as_asked`."""
    config = RunConfig(
        arguments.shifts,
        tuple(arguments.agents),
        tuple(arguments.memory_modes),
        arguments.trials,
        arguments.agent_llm,
        _json("--agent-llm-args", arguments.agent_llm_args),
        arguments.user,
        arguments.user_llm,
        _json("--user-llm-args", arguments.user_llm_args),
        arguments.log_prompts,
        _json("--memory-args", arguments.memory_args),
        arguments.memory_llm,
        _json("--memory-llm-args", arguments.memory_llm_args),
    )
    name = arguments.name or Path(arguments.shifts).stem
    if arguments.dry_run:
        print(estimate_run(config, name, arguments.fresh, arguments.replace))
        return 0
    limits = {"max_cases": arguments.max_cases, "max_cost": arguments.max_cost, "replace": arguments.replace}
    spread = {"executor": arguments.executor, "scheduler": arguments.scheduler}
    try:
        folder = execute_runs(config, name, arguments.workers, arguments.fresh, progress=True, **spread, **limits)
    except Interrupted as interrupt:
        with suppress(OSError):
            print(f"taulong: interrupted by {interrupt}; every case that ended is kept", file=sys.stderr, flush=True)
        if any(thread.name.startswith(CASE_THREADS) for thread in threading.enumerate()):
            os._exit(interrupt.exit_code)  # Python would wait at its end for the cases that were dropped
        return interrupt.exit_code
    account = folder.account
    if account.stopped:
        print(f"stopped{' as asked' if account.as_asked else ''}: {account.stopped}")
    print(f"{account}, in {located(folder.path)}")
    return 0 if account.as_asked else 1
