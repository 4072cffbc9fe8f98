"""Reruns: everything below one folder named by what was run, the same bytes again, and the notebooks untouched."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from taulong.batch.parameters import NotebookError
from taulong.batch.reruns import STEPS, rerun
from taulong.errors import DataError


def notebook(path, parameters: str, *cells: str):
    """Write a small notebook and return its path."""
    given = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Fixture"), given, *map(new_code_cell, cells)]), path)
    return path


@pytest.fixture
def steps(tmp_path):
    """A notebook that writes what a second one reads, in a folder with a space in its name."""
    folder = tmp_path / "my notebooks"
    folder.mkdir()
    imports = "from taulong.batch import write_metrics\nfrom taulong.paths import DATA, FIGURES, atomic_write, shown"
    first = notebook(folder / "1_write.ipynb", "size = 2  # numbers", imports,
                     'atomic_write(FIGURES / "a.txt", "figure")\natomic_write(DATA / "timings.jsonl", __import__("os").urandom(4))\n'
                     'atomic_write(DATA / "numbers.json", str(list(range(size))))\nprint(shown(DATA / "numbers.json"))',
                     'write_metrics(DATA / "1.metrics.json", {"size": size})')  # fmt: skip
    second = notebook(
        folder / "2_read.ipynb",
        "factor = 1  # multiplier",
        imports,
        'write_metrics(DATA / "2.metrics.json", {"sum": factor * sum(eval((DATA / "numbers.json").read_text()))})',
    )
    return [(str(first), {"size": 4}), (str(second), {"factor": 10})]


def test_a_rerun_keeps_everything_in_one_folder_and_repeats_itself_byte_for_byte(steps, tmp_path):
    committed = {name: Path(name).read_bytes() for name, _ in steps}
    done = rerun(steps, tmp_path / "reruns")
    assert done.first
    assert done.changed == ()
    assert sorted(done.files) == ["data/1.metrics.json", "data/2.metrics.json", "data/numbers.json", "figures/a.txt",
                                  "notebooks/1_write.ipynb", "notebooks/2_read.ipynb"]  # fmt: skip
    assert json.loads((done.folder / "data" / "2.metrics.json").read_text()) == {"sum": 60}
    assert str(tmp_path) not in (done.folder / "notebooks" / "1_write.ipynb").read_text()
    assert {name: Path(name).read_bytes() for name, _ in steps} == committed
    manifest = json.loads((done.folder / "manifest.json").read_text())
    assert [step["parameters"] for step in manifest["steps"]] == [{"size": 4}, {"factor": 10}]
    assert manifest["files"] == done.files

    again = rerun(steps, tmp_path / "reruns")
    assert again.folder == done.folder
    assert again.files == done.files
    assert not again.first
    assert again.changed == ()

    (done.folder / "manifest.json").write_text(
        json.dumps({**manifest, "files": {**done.files, "data/numbers.json": "0", "gone": "1"}})
    )
    assert rerun(steps, tmp_path / "reruns").changed == ("data/numbers.json", "gone")


def test_other_parameters_are_another_folder_and_mistakes_are_told_before_anything_runs(steps, tmp_path):
    (first, _), second = steps
    done = rerun([(first, {"size": 1})], tmp_path / "reruns")
    with pytest.raises(NotebookError, match="did you mean 'factor'"):
        rerun([(first, {"size": 2}), (second[0], {"facto": 1})], tmp_path / "reruns")
    assert [folder.name for folder in (tmp_path / "reruns").iterdir()] == [done.folder.name]
    (done.folder / "manifest.json").write_text('{"format": "another"}')
    with pytest.raises(DataError, match="not the manifest of a rerun"):
        rerun([(first, {"size": 1})], tmp_path / "reruns")


def test_the_steps_are_notebooks_that_take_their_parameters():
    from taulong.batch.parameters import check_parameters, find_notebook, read_defaults

    for name, parameters in STEPS:
        check_parameters(parameters, read_defaults(find_notebook(name)))
