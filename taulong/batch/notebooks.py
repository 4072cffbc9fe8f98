"""Notebooks in batch: run by papermill, with what papermill lets pass refused.

papermill goes on after an unknown parameter, a missing ``parameters`` tag, a killed kernel or ``sys.exit(0)``, and
writes its output in place. Here a run is good only if three things hold: no cell raised, every code cell was really
executed in order, and the last one printed the line with which :func:`taulong.batch.results.write_metrics` begins (the sentinel). The last
says that the notebook came to its results, and takes no function in the notebook.
"""

import argparse
import html
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import taulong
from taulong.batch.checks import check_notebook
from taulong.batch.parameters import NotebookError, check_parameters, find_notebook, parse_parameter, read_defaults
from taulong.batch.results import SENTINEL
from taulong.paths import OUTPUTS, SHIPPED, WORK, atomic_write, located

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


def run_notebook(
    name: str | os.PathLike,
    parameters: dict[str, Any] | None = None,
    output: str | os.PathLike | None = None,
    timeout: float | None = None,
) -> Path:
    """Run a notebook and return the path of the executed copy, which is written in one step after a good run.

    It runs in its own folder, as under JupyterLab and nbval (a wheel's in the current one), with this interpreter and this taulong, whatever kernel
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
        ConfigError, DataError: before anything runs, as :func:`taulong.batch.checks.check_notebook`.
    """
    path = find_notebook(name)
    parameters = check_parameters(parameters or {}, read_defaults(path))
    check_notebook(path, parameters)
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
            search = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"), os.getcwd())))
            work = Path(os.environ.get("TAULONG_WORK") or WORK).resolve()  # the command's, wherever the kernel starts
            # Left out: a warning of loopback connections at every start, and an error at the end when the interrupt
            # that shuts a kernel down meets its last answer. What a cell raises comes as output, not by this log.
            quiet = ["--IPKernelApp.log_level=CRITICAL"]
            return KernelSpec(**get_kernel_dict(quiet), env={"PYTHONPATH": search, "TAULONG_WORK": str(work)})

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
            resources={"metadata": {"path": str(Path.cwd() if path.parent == SHIPPED else path.parent)}},
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
