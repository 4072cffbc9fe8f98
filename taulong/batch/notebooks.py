"""Notebooks in batch: run by papermill, with what papermill lets pass refused.

papermill goes on after an unknown parameter, a missing ``parameters`` tag, a killed kernel or ``sys.exit(0)``, and
writes its output in place. Here a run is good only if three things hold: no cell raised, every code cell was really
executed in order, and the last one printed the line with which :func:`write_metrics` begins (the sentinel). The last
says that the notebook came to its results, and takes no function in the notebook.
"""

import argparse
import ast
import contextlib
import html
import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import taulong
from taulong.errors import TauLongError, near
from taulong.keys import refuse_keys
from taulong.paths import NOTEBOOKS, OUTPUTS, atomic_write, located, shown

SENTINEL = "metrics in "
"""How the line begins that the last cell of a notebook prints when it got there."""

# The kernel's own answer has its Python's version in it, so that a rerun under another would change the file.
LANGUAGE_INFO = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class NotebookError(TauLongError):
    """A notebook cannot be run as asked, or its run was not good."""


# --- in a notebook --------------------------------------------------------------------------------------------------


def write_metrics(path: str | os.PathLike, metrics: dict[str, Any]) -> None:
    """Write metrics as strict JSON with sorted keys, in one step, and print them rounded to six digits.

    The last cell of every notebook calls this; the first printed line is what tells a run that came to its end.

    Args:
        path: the JSON file.
        metrics: numbers (numpy's too), texts, booleans and None by name; they may be nested in dicts and lists.

    Raises:
        ValueError: a number is NaN or infinite; the message names it.
        TypeError: a value is none of these.
    """
    leaves = dict(_leaves(metrics))
    for name, value in leaves.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"metrics: {name} is {value}; a metric without a value is None")
    atomic_write(path, json.dumps(metrics, indent=2, sort_keys=True, allow_nan=False, default=_plain) + "\n")
    print(f"{SENTINEL}{shown(path)}")
    width = max(map(len, leaves), default=0)
    for name, value in sorted(leaves.items()):
        print(f"  {name:<{width}}  {f'{value:.6g}' if isinstance(value, float) else value}")


def _plain(value: Any) -> Any:
    if not hasattr(value, "item"):
        raise TypeError(f"metrics: {value!r} is a {type(value).__name__}; accepted: numbers, texts, booleans, None")
    return value.item()


def _leaves(value: Any, name: str = ""):
    """Yield (dotted name, plain value) of everything in nested dicts and lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{name}[{index}]")
    else:
        yield name, value if value is None or isinstance(value, bool | int | float | str) else _plain(value)


# --- parameters -----------------------------------------------------------------------------------------------------


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


# --- running --------------------------------------------------------------------------------------------------------


def run_notebook(
    name: str | os.PathLike,
    parameters: dict[str, Any] | None = None,
    output: str | os.PathLike | None = None,
    timeout: float | None = None,
) -> Path:
    """Run a notebook and return the path of the executed copy, which is written in one step after a good run.

    It runs in its own folder, as under JupyterLab and nbval, with this interpreter and this taulong, whatever kernel
    is installed as ``python3``. The copy holds no times, paths or ids that change, so that equal runs give equal bytes.

    Args:
        name: a path, or the name of a notebook in ``notebooks/``.
        parameters: values that replace defaults of the parameters cell.
        output: where the executed copy goes; default ``data/notebooks/NAME.ipynb``.
        timeout: seconds one cell may take; default: no limit.

    Raises:
        NotebookError: before anything runs, for what :func:`read_defaults` and :func:`check_parameters` refuse; after
            the run, if it was not good. What was executed is then kept as ``NAME.failed.ipynb``, the error on top
            (in the folder of ``output``, or in ``data/notebooks/`` when a notebook is to replace itself), and
            ``output`` is left as it was.
    """
    path = find_notebook(name)
    parameters = check_parameters(parameters or {}, read_defaults(path))
    output = OUTPUTS / path.name if output is None else Path(output).resolve()
    evidence = (OUTPUTS if output == path else output.parent) / f"{output.stem}.failed.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "draft.ipynb"
        failure = _execute(path, draft, parameters, timeout)
        notebook = _clean(draft)
    failure = failure or _incomplete(notebook)
    warnings = "".join(printed(cell, "stderr") for cell in notebook.cells if cell.cell_type == "code")
    if not failure and warnings and output == path:
        failure = f"a notebook that is committed must write nothing to stderr: {warnings.splitlines()[0]}"
    if failure:
        atomic_write(evidence, _text(_with_banner(notebook, failure)))
        raise NotebookError(f"{path.name}: {failure}. What was executed is in {located(evidence)}")
    atomic_write(output, _text(notebook))
    evidence.unlink(missing_ok=True)
    return output


def execute_in_place(name: str | os.PathLike, timeout: float | None = None) -> Path:
    """Run a notebook at its defaults and store the result in it, ready to be committed; return its path.

    Raises NotebookError as :func:`run_notebook`, and leaves the notebook as it was.
    """
    path = find_notebook(name)
    return run_notebook(path, output=path, timeout=timeout)


def _execute(path: Path, draft: Path, parameters: dict[str, Any], timeout: float | None) -> str | None:
    """Write what papermill made of a notebook; return what went wrong, in one line, or None."""
    import papermill
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    class ThisInterpreter(AsyncKernelManager):
        """Starts this interpreter, where Jupyter would take the first kernel named python3 on its search path."""

        @property
        def kernel_spec(self) -> KernelSpec:
            package = str(Path(taulong.__file__).parents[1])
            search = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
            # Left out: a warning of loopback connections at every start, and an error at the end when the interrupt
            # that shuts a kernel down meets its last answer. What a cell raises comes as output, not by this log.
            quiet = ["--IPKernelApp.log_level=CRITICAL"]
            return KernelSpec(**get_kernel_dict(quiet), env={"PYTHONPATH": search})

    try:
        papermill.execute_notebook(
            # papermill formats both paths as templates, so braces in a folder's name must be doubled
            str(path).replace("{", "{{").replace("}", "}}"),
            str(draft),
            parameters=parameters,
            kernel_name=KERNELSPEC["name"],
            language=KERNELSPEC["language"],
            progress_bar=sys.stderr.isatty() and {"desc": path.stem, "leave": False},
            execution_timeout=timeout,
            kernel_manager_class=ThisInterpreter,
            resources={"metadata": {"path": str(path.parent)}},
        )
    except papermill.PapermillExecutionError as error:
        return f"cell {error.cell_index + 1} raised {error.ename}: {error.evalue}"
    except DeadKernelError:
        return "the kernel died"
    except CellTimeoutError:
        return f"a cell took longer than {timeout:g} seconds"
    return None


def _clean(path: Path):
    """Return the executed notebook of a file without what papermill and the kernel leave of one run."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("papermill", None)
    notebook.metadata.kernelspec = KERNELSPEC
    notebook.metadata.language_info = LANGUAGE_INFO
    for index, cell in enumerate(notebook.cells):
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
        tags = cell.metadata.get("tags", [])
        if not tags:
            cell.metadata.pop("tags", None)
        elif tags[0] in ("injected-parameters", "papermill-error-cell-tag"):
            cell.id = f"{tags[0]}-{index}"
    return notebook


def _joined(outputs: list) -> list:
    """Return outputs with what was printed in one go in one piece: where a kernel cuts a long text is chance."""
    joined: list = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _incomplete(notebook) -> str | None:
    """Return what shows that a run without an exception did not come to its end, or None."""
    cells = [
        (index, cell)
        for index, cell in enumerate(notebook.cells, 1)
        if cell.cell_type == "code" and cell.source.strip()
    ]
    for count, (index, cell) in enumerate(cells, 1):
        for out in cell.outputs:
            if out.output_type == "error":
                return f"cell {index} raised {out.ename}: {out.evalue}"
        if cell.execution_count != count:
            return f"cell {index} was not executed"
    if not any(line.startswith(SENTINEL) for line in printed(cells[-1][1]).splitlines()):
        return "the last cell did not write the metrics (taulong.batch.write_metrics)"
    return None


def _with_banner(notebook, failure: str):
    """Return a notebook with what went wrong on top, unless papermill has said it there: it does when a cell raised."""
    import nbformat

    if not any("papermill-error-cell-tag" in cell.metadata.get("tags", []) for cell in notebook.cells):
        banner = nbformat.v4.new_markdown_cell(f"**This run failed:** <code>{html.escape(failure)}</code>")
        banner.id = "failure"
        notebook.cells.insert(0, banner)
    return notebook


def printed(cell, stream: str = "stdout") -> str:
    """Return what a cell printed to stdout or stderr."""
    return "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == stream)


def _text(notebook) -> str:
    """Return a notebook as strict JSON, one way only: sorted keys, one space of indentation, a newline at the end."""
    import nbformat

    json.dumps(notebook, allow_nan=False)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


# --- taulong notebook -----------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong notebook``."""
    parser.add_argument("name", metavar="NAME", help="a notebook of notebooks/, with or without .ipynb, or a path")
    parser.add_argument("-p", "--parameter", metavar="KEY=VALUE", action="append", default=[], help="may be repeated")
    parser.add_argument("-o", "--output", metavar="PATH", help="the executed copy (default: data/notebooks/NAME.ipynb)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="limit for one cell (default: none)")
    parser.add_argument(
        "--commit", action="store_true", help="run at the defaults and store the result in the notebook"
    )


def run(args: argparse.Namespace) -> int:
    """Run a notebook as asked, print where the executed copy is, and return 0."""
    if args.commit:
        if args.parameter or args.output:
            raise NotebookError("--commit runs a notebook at its defaults, in place: neither -p nor -o goes with it")
        print(located(execute_in_place(args.name, timeout=args.timeout)))
        return 0
    path = find_notebook(args.name)
    defaults, texts = read_defaults(path), {}
    for assignment in args.parameter:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise NotebookError(f"-p {assignment!r}: write KEY=VALUE")
        texts[key] = parse_parameter(text, defaults.get(key))
    print(located(run_notebook(path, texts, args.output, args.timeout)))
    return 0
