"""What is left of a run and what it will take, before it costs anything."""

import json
from dataclasses import dataclass
from pathlib import Path

from taulong.runs.claim import claim
from taulong.runs.config import RunConfig, run_manifest
from taulong.runs.folder import RunFolder, run_path
from taulong.runs.units import held_rows
from taulong.shifts.files import read_shifts

# Of the learner on board with the scripted customer, 12 shifts in mode notebook: what a model needs is about this.
CALLS_A_CASE = {"agent": 9, "user": 10}
TOKENS_A_MESSAGE = 60


@dataclass(frozen=True)
class Estimate:
    """What is left of a run and what it will take.

    Attributes:
        planned, done: cases of the plan; those whose conversation is whole.
        calls: model calls of the cases that are owed, both sides.
        tokens: likewise, prompt and answer together; four characters count as one.
    """

    planned: int
    done: int
    calls: int
    tokens: int

    def __str__(self) -> str:
        return (
            f"{self.planned:,} cases planned, {self.done:,} done, {self.planned - self.done:,} owed: "
            f"about {self.calls:,} model calls and {self.tokens:,} tokens"
        )


def estimate_run(config: RunConfig, name: str | Path, fresh: bool = False, replace: str | None = None) -> Estimate:
    """Return what is left of a run (``fresh``, ``replace``: all of it) and what it will take; runs nothing and writes nothing.

    Calls and tokens of a case are the mean of the cases that are done; without one, they are estimated from scripted
    conversations and the lengths of the prompts (policy and tools), which are sent again with every call.

    Raises:
        DataError: as :func:`execute_runs`.
    """
    from taulong import backend
    from taulong.cases.models import tool_schemas

    shifts = read_shifts(config.shifts)
    folder = RunFolder(run_path(name))
    manifest = run_manifest(config)
    if replace is None:
        claim(folder, manifest, fresh)
    _, done = held_rows(config.units(shifts), {} if fresh or replace is not None else folder.rows())
    planned, calls, tokens = manifest["planned_cases"], 0, 0
    owed = {side: 0 for side in ("agent", "user")}
    for unit, rows in done.items():
        left = len(unit.steps) - len(rows)
        owed["agent"] += left * (not isinstance(unit.agent, str))
        owed["user"] += left * (not isinstance(unit.user, str))
    environment = backend.new_environment()
    kits = {"agent": (environment.tools, environment.policy), "user": (environment.user_tools, "")}
    for side, (kit, text) in kits.items():
        if not owed[side]:
            continue
        played = [row for unit, rows in done.items() for row in rows if not isinstance(getattr(unit, side), str)]
        role = "assistant" if side == "agent" else "user"
        if played:
            # but for the greeting, which is tau2's
            said = [sum(m["role"] == role for m in row["transcript"]["messages"][1:]) for row in played]
            a_case = sum(said) / len(played)
            tokens_a_case = sum(row["record"][f"{side}_tokens"] for row in played) / len(played)
        else:
            a_case = CALLS_A_CASE[side]
            prompt = (len(text) + len(json.dumps([tool.openai_schema for tool in tool_schemas(kit)]))) / 4
            tokens_a_case = a_case * (
                prompt + TOKENS_A_MESSAGE * (a_case + 1)
            )  # the history grows by two messages a call
        calls += round(owed[side] * a_case)
        tokens += round(owed[side] * tokens_a_case)
    return Estimate(planned, sum(map(len, done.values())), calls, tokens)
