"""TauLong Bench as an environment of the verifiers library: one task is one shift, run by the suite's own case runner.

The library imports this module to answer ``--help``, so it is light: tau2 is imported when the first shift is run.
"""

import asyncio
import multiprocessing
import threading
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import asdict, fields
from itertools import count
from typing import Any

import verifiers.v1 as vf
from pydantic import Field, model_validator

from taulong.bench.wire import wire_safe
from taulong.errors import ConfigError, RunError
from taulong.memory.names import check_memory, check_options, second_pass
from taulong.shifts.configuration import ShiftConfig, shift_seeds


class BenchConfig(vf.TasksetConfig):
    """Which shifts, and how they are run; checked when it is built, before any model is called."""

    num_shifts: int = 100
    """Shifts of the taskset, one a task; ``-n`` takes the first of them."""
    split: str = "train"
    """train or eval: two ranges of seeds that share none."""
    seed_offset: int = 0
    """First seed, counted from the start of the split."""
    memory_mode: str = "notebook"
    """A memory mode on board, or module:Class; no second pass, which is no rollout of its own."""
    memory_args: dict[str, Any] = Field(default_factory=dict)
    """Options of the memory system."""
    num_cases: int = ShiftConfig.num_cases
    """Customers a shift."""
    incident_fraction: float = ShiftConfig.incident_fraction
    """Share of them that have the recurring cause; the rest are lookalikes."""
    teaching_count: int = ShiftConfig.teaching_count
    """Incidents whose evidence is visible; the other incidents are testing cases."""
    patience: int = ShiftConfig.patience
    """Agent utterances a customer takes."""
    max_steps: int = ShiftConfig.max_steps
    """tau2's step limit of one case."""
    notebook_cap: int = ShiftConfig.notebook_cap
    """Characters the notebook holds."""
    mark: str = ShiftConfig.mark
    """By what incidents can be told from lookalikes before any evidence: none, or model (of the phone)."""
    masked_lookalikes: bool = ShiftConfig.masked_lookalikes
    """Mask lookalikes like testing cases; needs a mark."""
    teaching_first: bool = ShiftConfig.teaching_first
    """Begin a shift with a teaching case."""
    changes: int = ShiftConfig.changes
    """How often the recurring cause changes inside a shift."""
    fleets: int = ShiftConfig.fleets
    """Phone models that mark incidents, each with a cause of its own; more than one needs a mark."""
    user_llm: str | None = None
    """The customer's model as LiteLLM names it, its key from the environment; without one the customer is scripted."""
    user_base_url: str | None = None
    """Where the customer's model is."""

    @model_validator(mode="after")
    def check(self):
        """Return itself; raises ConfigError (in pydantic's) that names the field, the value and the accepted ones."""
        shift_seeds(self.split, self.num_shifts, self.seed_offset)
        self.memory_mode = check_memory(self.memory_mode, "memory_mode")
        if second_pass(self.memory_mode):
            raise ConfigError(f"memory_mode: {self.memory_mode!r} is a second pass; accepted: modes of a first one")
        check_options({self.memory_mode: self.memory_args}, [self.memory_mode])
        self.shift_config()
        if self.user_llm is not None:
            customer(self.user_llm, self.user_base_url)
        elif self.user_base_url is not None:
            raise ConfigError(
                f"user_base_url: {self.user_base_url!r} is of no model; name it, e.g. user_llm openai/gpt-4.1"
            )
        return self

    def shift_config(self) -> ShiftConfig:
        """Return what every shift has in common."""
        return ShiftConfig(**{field.name: getattr(self, field.name) for field in fields(ShiftConfig)})


def customer(user_llm: str | None, base_url: str | None):
    """Return the customer of a unit: ``scripted``, or a model; raises ConfigError as :class:`taulong.cases.models.Model`."""
    if user_llm is None:
        return "scripted"
    from taulong.cases.models import Model

    return Model(user_llm, {"base_url": base_url} if base_url else {})


class ShiftData(vf.TaskData):
    """One shift as plain data: all that it takes to generate it again, and nothing that tells its cause."""

    split: str
    seed: int
    shift_config: dict[str, Any]
    memory_mode: str
    memory_args: dict[str, Any] = Field(default_factory=dict)
    user_llm: str | None = None
    user_base_url: str | None = None


class ShiftTask(vf.Task[ShiftData, vf.State, vf.TaskConfig]):
    """A shift and what it is worth, read from the records that the harness left in ``trace.info["cases"]``."""

    @vf.reward(weight=1.0)
    async def official_reward(self, trace) -> float:
        """Return the sum of official rewards over the shift."""
        return float(sum(record["official_reward"] for record in scored_records(trace)))

    @vf.metric
    async def shift_metrics(self, trace) -> dict[str, float]:
        """Return the shift's accuracies, masked transfer rate, gated reward and totals.

        A gated reward that could not be evaluated, in one case, leaves out what would be summed over it: it is no zero.
        """
        import pandas as pd

        from taulong.value.metrics import case_metrics

        records = pd.DataFrame(scored_records(trace))
        shares = case_metrics(records)
        metrics = dict(shares[shares["reward"] != "gated_reward"].set_index("metric")["value"])
        metrics["gated_reward"] = records["gated_reward"].astype(float).sum(skipna=False)
        metrics |= {name: records[name].sum() for name in ("steps", "utterances", "tool_errors")}
        metrics["notebook_length"] = records["notebook_length_after"].iloc[-1]
        return {name: float(value) for name, value in metrics.items() if pd.notna(value)}


def scored_records(trace) -> list[dict]:
    """Return the records of a shift whose every case is scored; raises RunError naming the first that is not.

    The library makes that an error of the rollout, without a reward: what broke down, or was cut short, is no zero.
    """
    data = trace.task.data
    records = [row["record"] for row in trace.info.get("cases", ())]
    for record in records:
        if record["outcome"] != "scored":
            raise RunError(f"{record['case_id']}: {record['reason']}")
    if len(records) < (planned := data.shift_config["num_cases"]):
        raise RunError(f"{data.name}: {len(records)} of {planned} cases were run ({trace.stop_condition})")
    return records


class ShiftTaskset(vf.Taskset[ShiftTask, BenchConfig]):
    """TauLong Bench v1: shifts of telecom customers; does an agent retain and selectively reuse what it has learnt?"""

    def load(self):
        """Yield a task for every shift, in the order of their seeds."""
        config = self.config
        shift_config = config.shift_config()
        for idx, seed in enumerate(shift_seeds(config.split, config.num_shifts, config.seed_offset)):
            name = f"{config.split}-{seed}"
            yield ShiftTask(
                ShiftData(
                    idx=idx,
                    name=name,
                    prompt=f"Shift {name}: {shift_config.num_cases} customers, memory mode {config.memory_mode}.",
                    split=config.split,
                    seed=seed,
                    shift_config=asdict(shift_config),
                    memory_mode=config.memory_mode,
                    memory_args=config.memory_args,
                    user_llm=config.user_llm,
                    user_base_url=config.user_base_url,
                ),
                config.task,
            )


class ShiftHarness(vf.Harness[vf.HarnessConfig]):
    """Runs a shift in this process, by the suite's own runner; the agent's calls go to the endpoint it is handed.

    The prompts are the suite's: a task's prompt is its title and goes to no model.
    """

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    def __init__(self, config):
        super().__init__(config)
        self._trials = defaultdict(count)

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data=None) -> vf.ProgramResult:
        """Run the shift of a trace and leave its rows in ``trace.info["cases"]``, those of a broken shift too.

        The trial, which the seeds of model calls depend on, is the number of the rollout of this shift. A worker of the
        library's pool does not know which of them the others run, and takes one from the trace's id.
        """
        data = trace.task.data
        trial = int(trace.id[:8], 16) if multiprocessing.parent_process() else next(self._trials[data.name])
        rows: list[dict] = []
        try:
            await in_thread(run_shift, data, trial, f"openai/{ctx.model}", endpoint, secret, rows.append)
        finally:
            trace.info["cases"] = wire_safe(list(rows))  # a copy: when cancelled, the thread may be at its last case
        try:
            scored_records(trace)
        except RunError as error:
            return vf.ProgramResult(exit_code=1, stdout="", stderr=str(error))
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


def run_shift(data: ShiftData, trial: int, model: str, endpoint: str, secret: str, on_case) -> None:
    """Run a shift by a model behind an endpoint; the rows of its cases go to ``on_case``."""
    from taulong.cases.models import Model
    from taulong.runs.units import Unit, run_unit
    from taulong.shifts.generation import generate_shift

    shift = generate_shift(ShiftConfig.from_dict(data.shift_config), data.split, data.seed)
    agent = Model(model, {"base_url": endpoint}, key=secret)
    user = customer(data.user_llm, data.user_base_url)
    run_unit(Unit(shift, data.memory_mode, agent, trial, user, memory_args=data.memory_args), on_case=on_case)


async def in_thread(call, *arguments):
    """Return what a call returns, made in a thread of its own.

    Not ``asyncio.to_thread``: its few threads are shared with the library, which needs them to answer the calls that
    the shifts in them wait for, and they are awaited at exit, whatever a cancelled shift is waiting for.
    """
    done = Future()
    done.set_running_or_notify_cancel()

    def work():
        try:
            done.set_result(call(*arguments))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, name="shift", daemon=True).start()
    return await asyncio.wrap_future(done)


if hasattr(
    vf, "SingleAgentEnv"
):  # since 0.3 an agent is a program in a remote sandbox unless told otherwise; ours is none

    class ShiftEnvConfig(vf.SingleAgentEnvConfig):
        """The library's, with the agent on this machine."""

        agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())

    class ShiftEnv(vf.Env[ShiftEnvConfig]):
        """The library's environment of one agent."""

        async def run(self, task, agents) -> None:
            """Run the one agent."""
            await agents.agent.run(task)
