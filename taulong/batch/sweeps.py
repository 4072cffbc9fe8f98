"""Sweeps: notebooks run over points of their parameters, each output named by its parameters and a digest.

A sweep is a small YAML file::

    name: two-agents                    # its folder below data/notebooks
    notebooks:
      - notebook: 20_execute_runs
        parameters: {shifts: smoke, run: "two-agents-{point}"}
        grid: {trials: [1, 2], agents: [[learner], [guesser]]}

``grid`` gives every combination; ``points`` instead lists them. Every point is checked before the first runs.
``{point}`` in a text is replaced by the point's own name, so that no two points write to one run folder.
"""

import argparse
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taulong.batch.checks import check_notebook, written
from taulong.batch.notebooks import run_notebook
from taulong.batch.parameters import NotebookError, check_parameters, find_notebook, read_defaults
from taulong.errors import ConfigError, near
from taulong.paths import OUTPUTS, located, shown


@dataclass(frozen=True)
class Point:
    """One run of a notebook.

    Attributes:
        notebook: its path.
        name: the notebook's name, the parameters that vary, and a digest of all and of the notebook itself.
        parameters: checked against the notebook's.
    """

    notebook: Path
    name: str
    parameters: dict[str, Any]


def read_sweep(path: str | Path) -> tuple[str, list[Point]]:
    """Return (name, points) of a sweep's YAML file, every point checked.

    Raises:
        ConfigError: the file cannot be read, or a field of it is unknown or of another kind; a value looks like a key.
        NotebookError: a notebook or parameter is unknown, or a value of another type than its default.
        DataError: shifts or a run that is neither there nor written by an earlier point.
    """
    import yaml

    path = Path(path)
    try:
        sweep = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path.name}: not a sweep ({' '.join(str(error).split())})") from error
    _check(path.name, sweep, {"name": str, "notebooks": list})
    points = []
    for number, entry in enumerate(sweep.get("notebooks", []), 1):
        where = f"{path.name}: notebooks[{number}]"
        _check(where, entry, {"notebook": str, "parameters": dict, "grid": dict, "points": list})
        if "notebook" not in entry or {"grid", "points"} <= set(entry):
            raise ConfigError(f"{where}: needs a notebook, and a grid or points, not both")
        if "points" in entry:
            varied = entry["points"]
            if not varied:
                raise ConfigError(f"{where}: points is empty; leave it out to run the notebook once")
            for point in varied:
                if not isinstance(point, dict):
                    raise ConfigError(f"{where}: points has {point!r}; accepted: parameters and their values")
        else:
            varied = grid_points(entry.get("grid", {}))
        points += make_points(entry["notebook"], varied, entry.get("parameters"))
    if not points:
        raise ConfigError(f"{path.name}: no notebook to run")
    for name, count in Counter(point.name for point in points).items():
        if count > 1:
            raise ConfigError(f"{path.name}: {count} entries have the point {name}")
    targets: Counter[tuple[str, str]] = Counter()
    for point in points:
        check_notebook(point.notebook, point.parameters, targets)
        if made := written(point.notebook, point.parameters):
            targets[made] += 1
    for (parameter, target), count in targets.items():
        if count > 1:
            raise ConfigError(
                f"{path.name}: {count} points write to the same {parameter}, {target}; give each its own, e.g. "
                f'{parameter}: "{target}-{{point}}"'
            )
    name = sweep.get("name", path.stem)
    if Path(name).name != name or name == "..":
        raise ConfigError(f"{path.name}: name is {name!r}; accepted: the name of one folder, made in {shown(OUTPUTS)}")
    return name, points


def _check(where: str, entry: Any, kinds: dict[str, type]) -> None:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: a {type(entry).__name__}; accepted: fields {', '.join(kinds)}")
    for field, value in entry.items():
        if field not in kinds:
            raise ConfigError(f"{where}: {field!r} is no field; {near(field, kinds)}")
        if not isinstance(value, kinds[field]):
            raise ConfigError(f"{where}: {field} is a {type(value).__name__}; accepted: {kinds[field].__name__}")


def grid_points(grid: dict[str, Sequence]) -> list[dict[str, Any]]:
    """Return every combination of a grid's values, the last parameter varying fastest; ConfigError for no list."""
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ConfigError(f"grid: {name} is {values!r}; accepted: a list of values, e.g. [{values!r}]")
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def make_points(
    notebook: str | Path, varied: Sequence[dict[str, Any]], parameters: dict[str, Any] | None = None
) -> list[Point]:
    """Return the points of a notebook, every one checked.

    Args:
        notebook: a path, or a name in ``notebooks/``.
        varied: the parameters that are each point's own.
        parameters: those that all have in common.
    """
    path = find_notebook(notebook)
    defaults = read_defaults(path)
    points = {}
    for own in varied:
        checked = check_parameters({**(parameters or {}), **own}, defaults)
        content = json.dumps([path.stem, checked], sort_keys=True).encode() + path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:8]
        words = [
            f"{name}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}"
            for name, value in own.items()
        ]
        label = re.sub(r"[^\w=.,+-]+", "_", "-".join([path.stem, *words]))[:100]
        name = f"{label}-{digest}"
        if name in points:
            raise ConfigError(f"{path.stem}: two points are the same: {own!r}")
        filled = {
            key: value.replace("{point}", name) if isinstance(value, str) else value for key, value in checked.items()
        }
        points[name] = Point(path, name, filled)
    return list(points.values())


def run_sweep(
    points: Sequence[Point], folder: str | Path, fresh: bool = False, timeout: float | None = None
) -> dict[str, str | None]:
    """Run the points in order and return by name what went wrong with each, or None.

    A point that fails leaves ``NAME.failed.ipynb`` with the error on top, and the others go on. One whose output is
    there was run in an earlier session, with the same parameters and notebook, and is not run again.

    Args:
        points: from :func:`read_sweep` or :func:`make_points`.
        folder: where the executed notebooks go.
        fresh: run every point again.
        timeout: seconds one cell may take.
    """
    outcomes: dict[str, str | None] = {}
    for number, point in enumerate(points, 1):
        output = Path(folder) / f"{point.name}.ipynb"
        said, outcomes[point.name] = "done", None
        if output.exists() and not fresh:
            said = "done before"
        else:
            try:
                run_notebook(point.notebook, point.parameters, output, timeout)
            except NotebookError as error:
                said = outcomes[point.name] = str(error)
        print(f"{number}/{len(points)} {point.name}: {said}", flush=True)
    return outcomes


# --- command --------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong sweep``."""
    parser.add_argument("file", metavar="FILE", help="the sweep's YAML file")
    parser.add_argument("--dry-run", action="store_true", help="say which points there are, and run nothing")
    parser.add_argument("--fresh", action="store_true", help="run points again whose output is there")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="limit for one cell (default: none)")


def run(arguments: argparse.Namespace) -> int:
    """Run a sweep and return 0 when every point is good, else 1."""
    name, points = read_sweep(arguments.file)
    if arguments.dry_run:
        for point in points:
            print(point.name)
        return 0
    folder = OUTPUTS / name
    outcomes = run_sweep(points, folder, arguments.fresh, arguments.timeout)
    failed = sum(error is not None for error in outcomes.values())
    print(f"{len(outcomes) - failed} of {len(outcomes)} points good, in {located(folder)}")
    return 1 if failed else 0
