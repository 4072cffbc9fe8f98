"""The memory between two cases: which system, with what options, and what it keeps, as plain data."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from taulong.draws import Draws
from taulong.memory.controls import Note, answer_key
from taulong.memory.frozen import Frozen
from taulong.memory.names import ON_BOARD, check_memory, memory_class, second_pass
from taulong.memory.system import MemorySystem, ShiftView
from taulong.shifts.stream import Shift


@dataclass(frozen=True)
class Memory:
    """A memory system at rest, at the start of a case: what crosses from one case, process or session to the next.

    Attributes:
        mode: its name.
        view: the shift as it is told.
        state: what it dumped.
        options: what it is made with.
    """

    mode: str
    view: ShiftView
    state: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """16 hex digits over the state: a case that began with another one does not follow."""
        return hashlib.sha256(json.dumps(self.state, sort_keys=True).encode()).hexdigest()[:16]

    def system(self) -> MemorySystem:
        """Return the memory system at work, with its state."""
        system = self._new()
        system.start(self.view)
        system.load(self.state)
        return system

    def _new(self) -> MemorySystem:
        system = memory_class(self.mode)(**self.options)
        return Frozen(system) if second_pass(self.mode) else system


def first_memory(mode: str, shift: Shift, options: Mapping[str, Any] | None = None, trial: int = 0) -> Memory:
    """Return the memory before a shift's first case.

    Raises:
        ConfigError: no such mode, or a second pass, which follows another memory and has no first one.
    """
    mode = check_memory(mode, "memory_mode")
    if followed := second_pass(mode):
        raise ValueError(f"memory_mode: {mode!r} follows {followed[1]} and has no first memory")
    seed = Draws("memory", shift.split, shift.seed, trial).below(2**31)
    view = ShiftView(shift.config.notebook_cap, seed)
    if mode in ON_BOARD and issubclass(memory_class(mode), Note):  # none from outside is ever told a key
        view = answer_key(shift, view)
    memory = Memory(mode, view, options=dict(options or {}))
    system = memory._new()
    system.start(view)
    return replace(memory, state=system.dump())
