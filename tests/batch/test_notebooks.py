"""The notebook contract, held for every committed notebook, and a test that the guards themselves bite.

That the stored outputs are what the code gives is nbval's part: make test runs every notebook cell by cell.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
import tokenize
from io import StringIO
from pathlib import Path

import nbformat
import pytest
from papermill import inspect_notebook

from taulong.batch import KERNELSPEC, NotebookError, execute_in_place, printed, read_defaults
from taulong.paths import NOTEBOOKS

COMMITTED = sorted(NOTEBOOKS.glob("*.ipynb"))
FIXTURES = Path(__file__).parent / "fixtures" / "notebooks"
IMPORTS = {"taulong", "pandas", "seaborn", "matplotlib", "IPython", "pathlib", "typing"}
MOVING = {  # what differs from machine to machine or from run to run
    "an absolute path": re.compile(r"(?<![\w.])/(home|root|tmp|Users|work|var)/|\b[A-Z]:\\\w"),
    "an object id": re.compile(r"\b0x[0-9a-f]{6,}\b"),
    "a time": re.compile(r"\b\d+\.\d+ ?(s|ms|µs|it/s|s/it)\b"),
}
NUMBER = re.compile(r"\d+(\.\d+)?")
IMAGES = ("image/png", "image/jpeg", "application/pdf")  # nbval passes over them; their numbers are printed as tables


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(output):
    """Return what an output shows as text, by kind."""
    if output.output_type == "stream":
        return {output.name: output.text}
    return {kind: text for kind, text in output.get("data", {}).items() if kind not in IMAGES and isinstance(text, str)}


def violations(path):
    """Return every sentence of the notebook contract that a notebook breaks, as a list of texts."""
    try:
        json.loads(path.read_text(), parse_constant=_refuse)
        notebook = nbformat.reads(path.read_text(), as_version=4)
        nbformat.validate(notebook)
        defaults = read_defaults(path)
    except (ValueError, nbformat.ValidationError, NotebookError) as error:
        return [str(error)]
    found = []
    if notebook.metadata.get("kernelspec") != KERNELSPEC:
        found.append("the kernelspec is not python3")
    if unknown := set(notebook.metadata) - {"kernelspec", "language_info"}:
        found.append(f"metadata of the notebook: {sorted(unknown)}")
    title = notebook.cells[0]
    if title.cell_type != "markdown" or not re.match(r"# \S", title.source):
        found.append("the first cell is not a title")
    found += [f"the title cell has no {word}" for word in ("Question", "Inputs", "Outputs") if word not in title.source]
    for number, cell in enumerate(notebook.cells, 1):
        found += [f"cell {number}: {text}" for text in _cell_violations(cell)]
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"not executed from top to bottom: counts {counts}")
    if "metrics in " not in printed(code_cells(notebook)[-1]):
        found.append("the last cell does not write the metrics")
    if not defaults:
        found.append("no parameters")
    unseen = [name for name in defaults if name not in inspect_notebook(str(path))]
    found += [f"papermill does not see the parameter {name}" for name in unseen]
    return found


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _cell_violations(cell):
    if unknown := set(cell.metadata) - {"tags", "jupyter"}:
        yield f"metadata {sorted(unknown)}"
    if re.search(r"nbval|papermill", f"{cell.metadata.get('tags', [])}{cell.source}", re.IGNORECASE):
        yield "a mark of nbval or papermill"
    if cell.cell_type != "code":
        return
    if "parameters" in cell.metadata.get("tags", []):
        yield from _parameter_violations(cell.source)
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield f"line {node.lineno}: {type(node).__name__}"
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        yield from (f"imports {name}" for name in modules if name.partition(".")[0] not in IMPORTS)
    for output in cell.outputs:
        if output.output_type == "error" or output.get("name") == "stderr":
            yield "an error or a text on stderr"
        if "widget" in "".join(output.get("data", {})):
            yield "a widget, which nbval cannot compare"
        for text in texts(output).values():
            yield from (
                f"shows {what}: {match[0]!r}" for what, pattern in MOVING.items() if (match := pattern.search(text))
            )


def _parameter_violations(source):
    """Yield what is wrong in a parameters cell: each line is ``name: type = literal  # what it is``."""
    commented = {
        token.start[0]
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.AnnAssign):
            yield f"line {statement.lineno}: a parameter without a type"
        if statement.end_lineno not in commented:
            yield f"line {statement.lineno}: a parameter without a comment"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_notebook_keeps_the_contract(path):
    assert violations(path) == []


# --- the guards bite ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the path of a small notebook that keeps the contract, executed."""
    return execute_in_place(shutil.copy(FIXTURES / "good.ipynb", tmp_path_factory.mktemp("good")))


def test_the_executed_fixture_keeps_the_contract(good):
    assert violations(good) == []


def test_the_same_notebook_not_executed_does_not():
    assert any("not executed" in text for text in violations(FIXTURES / "good.ipynb"))


def _set(key, value):
    return lambda notebook: notebook.metadata.update({key: value})


def _source(index, text):
    return lambda notebook: notebook.cells[index].update(source=text)


def _output(**output):
    return lambda notebook: notebook.cells[-2].outputs.append(nbformat.from_dict(output))


def _shown(text):
    return _output(output_type="stream", name="stdout", text=text)


BREAKS = {
    "the kernelspec is not python3": _set(
        "kernelspec", {"name": "conda-env", "display_name": "x", "language": "python"}
    ),
    "metadata of the notebook: ['papermill']": _set("papermill", {"exception": True}),
    "the first cell is not a title": _source(0, "Question Inputs Outputs"),
    "the title cell has no Inputs": _source(0, "# Title\nQuestion Outputs"),
    "cell 2: imports os.path": _source(1, "import os.path"),
    "cell 2: imports .": _source(1, "from . import shifts"),
    "line 1: a parameter without a type": _source(2, "num_shifts = 4  # shifts"),
    "line 2: a parameter without a comment": _source(2, "num_shifts: int = 4  # shifts\nagent: str = 'learner'"),
    "the default of 'num_shifts' is not a literal": _source(2, "num_shifts: int = max(1, 2)  # shifts"),
    "cell 5: line 1: FunctionDef": _source(4, "def accuracy(): ..."),
    "cell 5: line 2: ClassDef": _source(4, "if True:\n    class Config: ..."),
    "cell 5: line 1: Lambda": _source(4, "accuracy = lambda row: row"),
    "a mark of nbval or papermill": _source(4, "# NBVAL_IGNORE_OUTPUT\nprint(1)"),
    "not executed from top to bottom": lambda notebook: notebook.cells[4].update(execution_count=9),
    "counts [1, 2, None, 4]": lambda notebook: notebook.cells[4].update(execution_count=None, outputs=[]),
    "cell 5: metadata ['execution']": lambda notebook: notebook.cells[4].metadata.update(execution={"start": "now"}),
    "an error or a text on stderr": _output(output_type="stream", name="stderr", text="warning"),
    "shows an absolute path: '/home/": _shown("written to /home/someone/figures"),
    "shows an absolute path: 'C:": _shown("written to C:\\figures"),
    "shows an object id": _shown("<Shift object at 0x7f3a2b4c5d6e>"),
    "shows a time": _shown("done in 0.51s"),
    "a widget": _output(
        output_type="display_data", metadata={}, data={"application/vnd.jupyter.widget-view+json": {"model_id": "a"}}
    ),
    "the last cell does not write the metrics": lambda notebook: notebook.cells[-1].update(outputs=[]),
    "papermill does not see the parameter num_shifts": _source(2, "num_shifts: int | None = None  # shifts to run"),
    "0 cells are tagged 'parameters'": lambda notebook: notebook.cells[2].metadata.pop("tags"),
}


@pytest.mark.parametrize("message", BREAKS)
def test_each_break_of_the_contract_is_found(message, good, tmp_path):
    notebook = nbformat.read(good, as_version=4)
    BREAKS[message](notebook)
    nbformat.write(notebook, tmp_path / "broken.ipynb")
    assert any(message in text for text in violations(tmp_path / "broken.ipynb"))


def test_json_with_nan_is_found(good, tmp_path):
    text = good.read_text().replace('"metadata": {', '"metadata": {"mean": NaN, ', 1)
    (tmp_path / "broken.ipynb").write_text(text)
    assert any("NaN" in text for text in violations(tmp_path / "broken.ipynb"))


# --- nbval turns red when a stored number is changed -----------------------------------------------------------------


def changed(text, match):
    """Return the text with the last digit of the matched number made another."""
    end = match.end()
    return text[: end - 1] + str((int(text[end - 1]) + 1) % 10) + text[end:]


def one_number_changed(outputs):
    """Yield copies of a cell's outputs, in each of which one number is another, and the place of that number."""
    for index, output in enumerate(outputs):
        for kind, text in texts(output).items():
            for match in NUMBER.finditer(text):
                new = changed(text, match)
                other = {"text": new} if output.output_type == "stream" else {"data": {**output.data, kind: new}}
                copy = [*outputs[:index], nbformat.from_dict({**output, **other}), *outputs[index + 1 :]]
                yield copy, f"output {index + 1}, {kind}, character {match.start()}: {match[0]}"


@pytest.fixture
def nbval_cells(request):
    """Return a function: the cells of a notebook as nbval collects them here, with its options and sanitizing."""
    from nbval.plugin import IPyNbFile

    def collect(path):
        file = IPyNbFile.from_parent(request.session, path=Path(path))
        file.setup_sanitize_files()
        return list(file.collect())

    return collect


@pytest.mark.parametrize("path", [*COMMITTED, None], ids=lambda path: path.stem if path else "fixture")
def test_nbval_compares_every_stored_number(path, good, nbval_cells):
    numbers = 0
    for item in nbval_cells(path or good):
        assert item.options["check"]
        assert not item.options["skip"]
        assert item.compare_outputs(item.cell.outputs, item.cell.outputs)
        item.format_output_compare = lambda key, left, right: None  # the verdict alone: a diff of tables is slow
        for outputs, place in one_number_changed(item.cell.outputs):
            numbers += 1
            assert not item.compare_outputs(outputs, item.cell.outputs), (
                f"{item.name}, {place}: nbval does not see a change"
            )
    assert numbers > 0


def red_cells(*paths):
    """Return which cells (``file.ipynb::Cell 2``) nbval finds red when it really runs notebooks, and how many green."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "-o", "addopts=", "--nbval",
         "--nbval-current-env", "--rootdir", str(paths[0].parent), *map(str, paths)],
        cwd=paths[0].parent, capture_output=True, text=True,
    )  # fmt: skip
    green = re.search(r"(\d+) passed", done.stdout)
    return set(re.findall(r"^FAILED (?:.*/)?(\S+::Cell \d+)", done.stdout, re.MULTILINE)), int(green[1]) if green else 0


def change_one_number_a_cell(path):
    """Change the last number of every cell that shows one; return the names nbval gives these cells."""
    notebook, names = nbformat.read(path, as_version=4), set()
    for index, cell in enumerate(code_cells(notebook)):
        if copies := [copy for copy, _ in one_number_changed(cell.outputs)]:
            cell.outputs = copies[-1]
            names.add(f"{path.name}::Cell {index}")
    nbformat.write(notebook, path)
    return names


def test_a_run_of_nbval_is_red_where_a_number_was_changed_and_nowhere_else(good, tmp_path):
    paths = [Path(shutil.copy(good, tmp_path / name)) for name in ("same.ipynb", "changed.ipynb")]
    names = change_one_number_a_cell(paths[1])
    assert names == {"changed.ipynb::Cell 2", "changed.ipynb::Cell 3"}
    assert red_cells(*paths) == (names, 6)


@pytest.mark.slow
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_run_of_nbval_is_red_wherever_a_committed_number_is_changed(path):
    copy = path.with_name(f".{path.stem}.changed.ipynb")  # beside the original: a notebook's folder is its current one
    try:
        shutil.copy(path, copy)
        names = change_one_number_a_cell(copy)
        assert names
        assert red_cells(copy)[0] == names
    finally:
        copy.unlink(missing_ok=True)
