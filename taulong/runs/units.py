"""The unit of work, one shift under one memory mode by one agent, and how its cases are run in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taulong.shifts.stream import Case, Shift

if TYPE_CHECKING:
    from taulong.cases.models import Model
    from taulong.memory.modes import Memory


@dataclass(frozen=True, eq=False)
class Unit:
    """What is handed to a worker and resumed as a whole: a shift, a memory mode, an agent and a trial."""

    shift: Shift
    memory_mode: str
    agent: "str | Model"
    trial: int = 0
    user: "str | Model" = "scripted"
    log_prompts: bool = False
    second_pass: bool = False

    @property
    def steps(self) -> list[tuple[str, Case]]:
        """The unit's cases in order, each with its memory mode: the shift, then its testing cases in a second pass."""
        first = [(self.memory_mode, case) for case in self.shift.cases]
        return first + [("frozen", case) for _, case in first if self.second_pass and case.population == "testing"]

    def case_keys(self) -> list[tuple]:
        """Return the key of each step's row."""
        return [(str(self.agent), mode, self.shift.shift_id, self.trial, case.position) for mode, case in self.steps]

    def memory(self, done: Sequence[dict] = ()) -> "Memory":
        """Return the memory at the start of the case after those done."""
        from taulong.memory.modes import first_memory

        memory = first_memory(self.memory_mode, self.shift)
        for row in done:
            memory = self.memory_after(memory, row)
        return memory

    def memory_after(self, memory: "Memory", row: dict) -> "Memory":
        """Return the memory of the case after a row's."""
        memory = memory.after(row["transcript"]["notebook_after"], row["transcript"]["messages"])
        last = row["record"]["position"] == len(self.shift.cases)
        return memory.frozen() if self.second_pass and last and memory.mode == "notebook" else memory


def run_step(unit: Unit, step: int, memory: "Memory") -> dict:
    """Return the row of one step of a unit: ``record``, ``transcript``, ``seconds`` and ``retries``."""
    from taulong.cases.case import run_case

    _, case = unit.steps[step]
    outcome = run_case(unit.shift, case, memory, unit.agent, unit.trial, unit.user, unit.log_prompts)
    return {
        "record": outcome.record,
        "transcript": outcome.transcript,
        "seconds": round(outcome.seconds, 6),
        "retries": outcome.retries,
    }


def run_unit(unit: Unit, done: Sequence[dict] = (), on_case: Callable[[dict], None] | None = None) -> list[dict]:
    """Return the rows of a unit's cases that were not done, see :func:`run_step`.

    The memory is carried from case to case; ``done`` (rows of the unit's first cases) says where to go on and with what
    text. A unit stops at a case whose conversation failed: what follows would run on a memory that is not what it would
    have been.

    Args:
        unit: what to run.
        done: rows of its first cases, from an earlier session.
        on_case: called with each row as soon as its case has ended.
    """
    from taulong.cases.grading import is_whole

    memory, rows = unit.memory(done), []
    for step in range(len(done), len(unit.steps)):
        rows.append(run_step(unit, step, memory))
        if on_case:
            on_case(rows[-1])
        if not is_whole(rows[-1]["record"]):
            break
        memory = unit.memory_after(memory, rows[-1])
    return rows


def held_rows(units: list[Unit], rows: dict[tuple, dict]) -> tuple[dict[tuple, dict], dict[Unit, list[dict]]]:
    """Return (rows of the plan worth keeping, by key; rows of each unit's first cases whose conversation is whole)."""
    from taulong.cases.grading import is_whole

    kept: dict[tuple, dict] = {}
    done: dict[Unit, list[dict]] = {}
    for unit in units:
        done[unit], memory = [], unit.memory()
        for key in unit.case_keys():
            # a row that began with another text follows on other rows: a session that began afresh was killed between
            if key not in rows or rows[key]["transcript"]["notebook_before"] != memory.text:
                break
            kept[key] = rows[key]
            if not is_whole(rows[key]["record"]):
                break
            done[unit].append(rows[key])
            memory = unit.memory_after(memory, rows[key])
    return kept, done
