"""The unit of work, one shift under one memory mode by one agent, and how its cases are run in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from taulong.runs.folder import record_key
from taulong.shifts.stream import Case, Shift

if TYPE_CHECKING:
    from taulong.cases.models import Model
    from taulong.memory.modes import Memory
    from taulong.runs.ledger import Notes


@dataclass(frozen=True, eq=False)
class Unit:
    """What is handed to a worker and resumed as a whole: a shift, a memory mode, an agent and a trial."""

    shift: Shift
    memory_mode: str
    agent: "str | Model"
    trial: int = 0
    user: "str | Model" = "scripted"
    log_prompts: bool = False
    second_passes: tuple[str, ...] = ()
    memory_args: Mapping[str, Any] = field(default_factory=dict)
    memory_llm: "Model | None" = None

    @cached_property
    def steps(self) -> list[tuple[str, Case]]:
        """The unit's cases in order, each with its memory mode: the shift, then its testing cases in each second pass.

        A frozen memory is read by customers that the shift did not have; ``frozen_same`` meets the same ones again.
        """
        from taulong.memory.names import is_held_out
        from taulong.shifts.generation import held_out_cases

        steps = [(self.memory_mode, case) for case in self.shift.cases]
        for mode in self.second_passes:
            same = [case for case in self.shift.cases if case.population == "testing"]
            steps += [(mode, case) for case in (held_out_cases(self.shift) if is_held_out(mode) else same)]
        return steps

    def case_keys(self) -> list[tuple]:
        """Return the key of each step's row."""
        return [(str(self.agent), mode, self.shift.shift_id, self.trial, case.position) for mode, case in self.steps]

    def memory(self, done: Sequence[dict] = ()) -> "Memory":
        """Return the memory at the start of the case after those done."""
        from taulong.memory.modes import first_memory

        memory = first_memory(self.memory_mode, self.shift, self.memory_args, self.trial)
        for row in done:
            memory = self.memory_after(memory, row)
        return memory

    def memory_after(self, memory: "Memory", row: dict) -> "Memory":
        """Return the memory of the case after a row's."""
        step = self.case_keys().index(record_key(row["record"])) + 1
        mode = self.steps[step][0] if step < len(self.steps) else memory.mode
        return replace(memory, mode=mode, state=row["transcript"]["memory_after"])


def run_step(unit: Unit, step: int, memory: "Memory", notes: "Notes | None" = None) -> dict:
    """Return the row of one step of a unit: ``record``, ``transcript``, ``seconds``, ``memory_seconds`` and ``retries``.

    With ``notes``, each model call is written down there before its answer is used, and the row names its ``attempt``.
    """
    from taulong.cases.case import run_case

    _, case = unit.steps[step]
    arguments = (unit.shift, case, memory, unit.agent, unit.trial, unit.user, unit.log_prompts, unit.memory_llm)
    if notes is None:
        outcome, named = run_case(*arguments), {}
    else:
        attempt, note = notes.of(unit.case_keys()[step])
        outcome, named = run_case(*arguments, note), {"attempt": attempt}
    return {
        **named,
        "record": outcome.record,
        "transcript": outcome.transcript,
        "seconds": round(outcome.seconds, 6),
        "memory_seconds": round(outcome.memory_seconds, 6),
        "retries": outcome.retries,
    }


def run_unit(unit: Unit, done: Sequence[dict] = (), on_case: Callable[[dict], None] | None = None) -> list[dict]:
    """Return the rows of a unit's cases that were not done, see :func:`run_step`.

    The memory is carried from case to case; ``done`` (rows of the unit's first cases) says where to go on and with what
    state. A unit stops at a case whose conversation or memory failed: what follows would run on a memory that is not what
    it would have been.

    Args:
        unit: what to run.
        done: rows of its first cases, from an earlier session.
        on_case: called with each row as soon as its case has ended.
    """
    from taulong.cases.grading import goes_on

    memory, rows = unit.memory(done), []
    for step in range(len(done), len(unit.steps)):
        rows.append(run_step(unit, step, memory))
        if on_case:
            on_case(rows[-1])
        if not goes_on(rows[-1]["record"]):
            break
        memory = unit.memory_after(memory, rows[-1])
    return rows


def held_rows(units: list[Unit], rows: dict[tuple, dict]) -> tuple[dict[tuple, dict], dict[Unit, list[dict]]]:
    """Return (rows of the plan worth keeping, by key; rows of each unit's first cases whose conversation is whole)."""
    from taulong.cases.grading import goes_on, is_whole

    kept: dict[tuple, dict] = {}
    done: dict[Unit, list[dict]] = {}
    for unit in units:
        done[unit], memory = [], unit.memory()
        for key in unit.case_keys():
            # a row that began with another memory follows on other rows: a session that began afresh was killed between
            if key not in rows or rows[key]["transcript"].get("memory_before") != memory.digest:
                break
            kept[key] = rows[key]
            if not is_whole(rows[key]["record"]):
                break
            done[unit].append(rows[key])
            if not goes_on(rows[key]["record"]):
                break
            memory = unit.memory_after(memory, rows[key])
    return kept, done
