"""How memory systems are named: those on board, classes of one's own, entry points; nothing here imports tau2."""

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points

from taulong.classes import named_class, source_digest
from taulong.errors import ConfigError, near
from taulong.memory.system import MemorySystem

ON_BOARD = {
    "none": "taulong.memory.controls:NoMemory",
    "notebook": "taulong.memory.notebook:Notebook",
    "oracle": "taulong.memory.controls:Oracle",
    "misleading": "taulong.memory.controls:Misleading",
    "irrelevant": "taulong.memory.controls:Irrelevant",
    "stale": "taulong.memory.controls:Stale",
    "transcript": "taulong.memory.transcript:Transcript",
}
MEMORY_MODES = (*ON_BOARD, "frozen", "frozen_same")
"""The modes on board, in the order of every table and figure."""
OLD_NAMES = {"placebo": "misleading"}
ENTRY_POINTS = "taulong.memory"
_FROZEN = re.compile(r"(frozen|frozen_same)(?:\((.+)\))?")


def second_pass(mode: str) -> tuple[str, str] | None:
    """Return (``frozen`` or ``frozen_same``, the mode it follows) of a second pass, or None for any other mode.

    ``frozen`` alone follows ``notebook``; ``frozen(retrieval)`` another one.
    """
    found = _FROZEN.fullmatch(mode)
    return found and (found[1], found[2] or "notebook")


def is_held_out(mode: str) -> bool:
    """Return whether a mode's cases are customers that the shift did not have."""
    return (second_pass(mode) or ("",))[0] == "frozen"


def current_name(mode: str) -> str:
    """Return the name that a mode has now, of one that it had in older runs."""
    return OLD_NAMES.get(mode, mode)


def check_memory(name: str, field: str = "memory_modes") -> str:
    """Return the name of a memory mode as records have it.

    Accepted are the modes on board, ``module:Class``, the name of an entry point of the group ``taulong.memory``, and
    ``frozen(mode)`` or ``frozen_same(mode)`` of any of them.

    Raises:
        ConfigError: there is none of that name (with the near match), or it is not the name of a memory system.
    """
    name = current_name(str(name))
    if followed := second_pass(name):
        kind, mode = followed
        if second_pass(mode):
            raise ConfigError(f"{field}: {name!r} freezes what is frozen already; accepted: frozen(MODE)")
        mode = check_memory(mode, field)
        return kind if mode == "notebook" else f"{kind}({mode})"
    memory_class(name, field)
    return name


def memory_class(name: str, field: str = "memory_modes") -> type[MemorySystem]:
    """Return the class of a memory mode (of a second pass: the class of the mode it follows).

    Raises:
        ConfigError: as :func:`check_memory`.
    """
    name = current_name(name)
    if followed := second_pass(name):
        name = followed[1]
    if name in ON_BOARD:
        found = named_class(field, ON_BOARD[name])
    elif ":" in name:
        found = named_class(field, name, "class of a memory system")
    elif installed := entry_points(group=ENTRY_POINTS, name=name):
        found = next(iter(installed)).load()
    else:
        known = [*MEMORY_MODES, *entry_points(group=ENTRY_POINTS).names]
        raise ConfigError(f"{field}: {name!r} is not one of {', '.join(known)}, nor module:Class; {near(name, known)}")
    if not (isinstance(found, type) and issubclass(found, MemorySystem)):
        raise ConfigError(
            f"{field}: {name!r} is no subclass of taulong.memory.MemorySystem; write class X(MemorySystem)"
        )
    return found


def check_options(options: Mapping[str, Mapping], modes: Iterable[str]) -> dict[str, dict]:
    """Return the options of memory systems, by mode, such that each can be made with them.

    Raises:
        ConfigError: of a mode that is not run, of no such option, not plain JSON, or refused by the class.
    """
    modes = list(modes)
    if not isinstance(options, Mapping):
        raise ConfigError(f"memory_args: {type(options).__name__} is not a table of options by memory mode")
    checked = {}
    for mode, given in options.items():
        mode = current_name(mode)
        if mode not in modes or second_pass(mode):
            raise ConfigError(
                f"memory_args: {mode!r} is not run; {near(mode, [m for m in modes if not second_pass(m)])}"
            )
        if not isinstance(given, Mapping):
            raise ConfigError(f"memory_args.{mode}: {type(given).__name__} is not a table of options")
        checked[mode] = dict(given)
    for mode in modes:
        made = memory_class(mode)
        try:
            json.dumps(checked.get(mode, {}), allow_nan=False)
            inspect.signature(made).bind(**checked.get(mode, {}))
            made(**checked.get(mode, {}))
        except ConfigError:
            raise
        except (TypeError, ValueError) as error:
            raise ConfigError(f"memory_args.{mode}: {error}; accepted: {inspect.signature(made)}") from error
    return checked


def memory_sources(modes: Iterable[str]) -> dict[str, str]:
    """Return what tells apart versions of the memory systems from outside: source digest, and distribution if installed."""
    sources = {}
    for mode in modes:
        name = (second_pass(mode) or ("", mode))[1]
        if name in ON_BOARD or second_pass(mode):
            continue
        digest = source_digest(memory_class(name))
        installed = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None) if ":" not in name else None
        dist = installed and installed.dist
        sources[mode] = f"{dist.name} {dist.version} {digest}" if dist else digest
    return sources
