"""What a notebook would refuse, said before its kernel starts: its config is built here, and what it reads must be there."""

import ast
import importlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from taulong.batch.parameters import read_defaults
from taulong.paths import WORK

READS = {"20_execute_runs": ("shifts",), "40_memory_value": ("run", "cap_runs")}
"""The parameters of a notebook that name what it reads: a set of shifts, or runs."""
WRITES = {"00_tour": "run", "10_generate_shifts": "shifts", "20_execute_runs": "run"}
"""The parameter of a notebook that names what it writes; two points with the same would overwrite each other."""


def check_notebook(path: Path, parameters: dict[str, Any], coming: Collection[tuple[str, str]] = ()) -> None:
    """Raise what a notebook with these parameters would raise about them; nothing of it is run.

    Args:
        path: the notebook; ``config = SomeConfig(...)``, with a class of taulong and parameters as arguments, is built.
        parameters: as :func:`taulong.batch.parameters.check_parameters` gives them.
        coming: (kind, name) of shifts and runs that will be there by then, kind being ``shifts`` or ``run``.

    Raises:
        ConfigError: a value that the config refuses.
        DataError: a set of shifts, or a run, that is not there; with the near match.
    """
    values = read_defaults(path) | parameters
    for parameter in READS.get(path.stem, ()):
        kind = "shifts" if parameter == "shifts" else "run"
        names = values[parameter] if isinstance(values[parameter], list) else [values[parameter]]
        for name in names:
            if (kind, name) not in coming:
                _find(kind, name)
    _build_config(path, values)


def written(path: Path, parameters: dict[str, Any]) -> tuple[str, str] | None:
    """Return (kind, name) of what a notebook writes that another may read, or None."""
    if path.stem not in WRITES:
        return None
    kind = WRITES[path.stem]
    return kind, (read_defaults(path) | parameters)[kind]


def _find(kind: str, name: str) -> None:
    from taulong.runs import RunFolder
    from taulong.shifts import read_manifest

    work = Path(os.environ.get("TAULONG_WORK") or WORK).resolve()  # where the kernel will look
    elsewhere = work != WORK and Path(name).name == name
    if kind == "shifts":
        read_manifest(work / "data" / "shifts" / f"{name}.jsonl" if elsewhere else name)
    else:
        RunFolder.open(work / "data" / "runs" / name if elsewhere else name)


def _build_config(path: Path, values: dict[str, Any]) -> None:
    """Build the frozen config of a notebook, where it is made of a class of taulong and of parameters alone."""
    import nbformat

    modules: dict[str, str] = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        for statement in ast.parse(cell.source).body:
            match statement:
                case ast.ImportFrom(module=str() as module) if module.partition(".")[0] == "taulong":
                    modules |= {alias.asname or alias.name: module for alias in statement.names}
                case ast.Assign(targets=[ast.Name(id="config")], value=ast.Call(func=ast.Name(id=name)) as call):
                    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
                    if name in modules and used <= {name, "tuple", *values}:
                        known = {name: getattr(importlib.import_module(modules[name]), name), "tuple": tuple}
                        eval(compile(ast.Expression(call), path.name, "eval"), {"__builtins__": {}}, known | values)
                    return
