"""Notebooks by name, and the parameters they take: checked before a kernel starts."""

import ast
import contextlib
import json
import math
import os
from pathlib import Path
from typing import Any

from taulong.errors import TauLongError, near
from taulong.keys import refuse_keys
from taulong.paths import NOTEBOOKS


class NotebookError(TauLongError):
    """A notebook cannot be run as asked, or its run was not good."""


def find_notebook(name: str | os.PathLike) -> Path:
    """Return the path of a notebook given as a path or by its name (``40_memory_value``) in ``notebooks/``.

    Raises NotebookError naming the near match.
    """
    for path in (Path(name), NOTEBOOKS / name, NOTEBOOKS / f"{name}.ipynb"):
        if path.is_file():
            return path.resolve()
    raise NotebookError(
        f"no notebook {str(name)!r}; {near(str(name), sorted(p.stem for p in NOTEBOOKS.glob('*.ipynb')))}"
    )


def read_defaults(path: Path) -> dict[str, Any]:
    """Return the parameters of a notebook with their defaults, in order.

    Raises:
        NotebookError: not a notebook; not exactly one cell tagged ``parameters``; or a line of that cell is something
            else than ``name = literal`` (``name: type = literal``).
    """
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
    except (UnicodeDecodeError, ValueError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise NotebookError(f"{path.name}: not a notebook: {error}") from error
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1 or cells[0].cell_type != "code":
        raise NotebookError(
            f"{path.name}: {len(cells)} cells are tagged 'parameters'; it must be exactly one code cell"
        )
    try:
        statements = ast.parse(cells[0].source).body
    except SyntaxError as error:
        raise NotebookError(f"{path.name}: parameters cell, line {error.lineno}: {error.msg}") from error
    defaults = {}
    for statement in statements:
        where = f"{path.name}: parameters cell, line {statement.lineno}"
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                pass
            case _:
                raise NotebookError(f"{where}: only 'name = literal' is accepted")
        try:
            defaults[name] = ast.literal_eval(value)
        except (ValueError, TypeError) as error:
            raise NotebookError(f"{where}: the default of {name!r} is not a literal") from error
        if isinstance(defaults[name], tuple | set | bytes | complex):
            raise NotebookError(f"{where}: the default of {name!r} is a {type(defaults[name]).__name__}; use a list")
    return defaults


def parse_parameter(text: str, default: Any) -> Any:
    """Return the value a command line means by ``text`` for a parameter with this default.

    A text parameter takes the text as it is; any other takes a literal, in Python's spelling or JSON's, and a list or
    dict also in YAML's, as in a sweep: ``[learner, parrot]``.
    """
    if isinstance(default, str):
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    if isinstance(default, list | dict):
        import yaml

        with contextlib.suppress(yaml.YAMLError):
            return yaml.safe_load(text)
    return text


def check_parameters(parameters: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters as they go into the notebook: an int for a float made one, a tuple made a list.

    Raises NotebookError for an unknown name (with the near match) or a value of another type than the default: an int
    is a float too, a bool is never a number, the items of a list are like those of the default, and a default of None
    takes any plain value.
    """
    checked = {}
    refuse_keys("parameters", parameters)  # before papermill writes them into the notebook
    for name, value in parameters.items():
        if name not in defaults:
            raise NotebookError(f"unknown parameter {name!r}; {near(name, defaults)}")
        checked[name] = _like(value, defaults[name], name)
    return checked


def _like(value: Any, default: Any, name: str) -> Any:
    value = list(value) if isinstance(value, tuple) else value
    if type(default) is float and type(value) is int:
        value = float(value)
    accepted = (type(None), bool, int, float, str, list, dict) if default is None else (type(default),)
    if type(value) not in accepted or (isinstance(value, float) and not math.isfinite(value)):
        names = ", ".join("None" if kind is type(None) else kind.__name__ for kind in accepted)
        names += f", e.g. [{value}]" if isinstance(value, str) and accepted == (list,) else ""
        raise NotebookError(f"parameter {name!r}: {value!r} is a {type(value).__name__}; accepted: {names}")
    if isinstance(value, list):
        example = default[0] if default else None  # a list of a notebook holds one kind of item
        return [_like(item, example, f"{name}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {str(key): _like(item, None, f"{name}[{key!r}]") for key, item in value.items()}
    return value
