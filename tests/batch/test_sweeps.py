"""Sweeps: points named by their parameters, checked before the first runs, and no failure stops the others."""

import shutil
from pathlib import Path

import nbformat
import pytest

from taulong.batch import sweeps
from taulong.batch.parameters import NotebookError
from taulong.batch.sweeps import grid_points, make_points, read_sweep, run_sweep
from taulong.cli import main
from taulong.errors import ConfigError

FIXTURES = Path(__file__).parent / "fixtures" / "notebooks"


@pytest.fixture
def notebooks(tmp_path):
    """Copies of the fixtures: a notebook writes its metrics beside itself."""
    return Path(shutil.copytree(FIXTURES, tmp_path / "notebooks"))


def write(folder, text):
    path = folder / "sweep.yaml"
    path.write_text(text)
    return path


def test_a_grid_is_every_combination():
    assert grid_points({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]
    assert grid_points({}) == [{}]
    with pytest.raises(ConfigError, match=r"grid: a is 3; accepted: a list of values, e.g. \[3\]"):
        grid_points({"a": 3})


def test_a_points_name_says_its_parameters_and_its_digest_everything():
    first, second = make_points(FIXTURES / "good.ipynb", grid_points({"num_shifts": [3, 4]}))
    assert first.name.startswith("good-num_shifts=3-")
    assert len(first.name.rsplit("-", 1)[1]) == 8
    assert first.name.rsplit("-", 1)[1] != second.name.rsplit("-", 1)[1]
    (common,) = make_points(FIXTURES / "good.ipynb", [{"num_shifts": 3}], {"agent": "x"})
    assert common.name != first.name
    assert common.parameters == {"num_shifts": 3, "agent": "x"}
    (named,) = make_points(FIXTURES / "good.ipynb", [{"agent": "run-{point}"}])
    assert named.parameters["agent"] == f"run-{named.name}"
    assert "{" not in named.name


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("notebooks: [{notebook: 40_memory, grid: {}}]", NotebookError, "no notebook '40_memory'"),
        ("notebooks: [{notebook: GOOD, grid: {num_shfits: [1]}}]", NotebookError, "did you mean 'num_shifts'"),
        ("notebooks: [{notebook: GOOD, grid: {num_shifts: [one]}}]", NotebookError, "'one' is a str"),
        ("notebooks: [{notebook: GOOD, gird: {num_shifts: [1]}}]", ConfigError, "did you mean 'grid'"),
        ("notebooks: [{notebook: GOOD, grid: {num_shifts: [1]}, points: [{num_shifts: 1}]}]", ConfigError, "not both"),
        (
            "notebooks: [{notebook: GOOD, points: [{num_shifts: 1}, {num_shifts: 1}]}]",
            ConfigError,
            "two points are the same",
        ),
        ("notebooks: [{notebook: GOOD, parameters: {agent: sk-abcdef123456}}]", ConfigError, "looks like a key"),
        ("notebooks: []", ConfigError, "no notebook to run"),
        ("notebooks: [{notebook: GOOD, points: []}]", ConfigError, "points is empty"),
        ("notebooks: [{notebook: GOOD, points: [1]}]", ConfigError, "points has 1; accepted: parameters"),
        ("notebooks: [{notebook: GOOD}, {notebook: GOOD}]", ConfigError, "2 entries have the point good-"),
        (
            "notebooks: [{notebook: 20_execute_runs, parameters: {run: same}, grid: {trials: [1, 2]}}]",
            ConfigError,
            r"2 points write to the same run, same; give each its own, e.g. run: .same-\{point\}",
        ),
        ("{name: ../out, notebooks: [{notebook: GOOD}]}", ConfigError, "accepted: the name of one folder"),
        ("[1", ConfigError, "not a sweep"),
        ("7", ConfigError, "a int"),
    ],
)
def test_a_sweep_that_cannot_be_run_is_refused_before_anything_runs(tmp_path, monkeypatch, text, error, message):
    monkeypatch.setattr(sweeps, "run_notebook", lambda *_: pytest.fail("ran"))
    path = write(tmp_path, text.replace("GOOD", str(FIXTURES / "good.ipynb")))
    with pytest.raises(error, match=message) as refused:
        read_sweep(path)
    assert "abcdef" not in str(refused.value)
    assert main(["sweep", str(path)]) == 2


def test_notebooks_of_different_defaults_do_not_write_to_one_run_and_a_default_spelled_out_does(tmp_path):
    _, points = read_sweep(write(tmp_path, "notebooks: [{notebook: 00_tour}, {notebook: 20_execute_runs}]"))
    assert len(points) == 2
    spelled = "notebooks: [{notebook: 20_execute_runs}, {notebook: 20_execute_runs, grid: {run: [smoke]}}]"
    with pytest.raises(ConfigError, match="2 points write to the same run, smoke"):
        read_sweep(write(tmp_path, spelled))


def test_a_point_that_fails_leaves_its_notebook_and_the_others_go_on(tmp_path, notebooks, monkeypatch, capsys):
    monkeypatch.setattr(sweeps, "OUTPUTS", tmp_path / "outputs")
    text = "\n".join(f"  - notebook: {notebooks / name}.ipynb" for name in ("raised_error", "good"))
    path = write(tmp_path, f"name: both\nnotebooks:\n{text}\n")
    assert main(["sweep", str(path)]) == 1
    outputs = sorted((tmp_path / "outputs" / "both").iterdir())
    good, failed = (output.name for output in outputs)
    assert good.startswith("good-")
    assert failed.startswith("raised_error-")
    assert failed.endswith(".failed.ipynb")
    banner = nbformat.read(outputs[1], as_version=4).cells[0]
    assert "An Exception was encountered" in banner.source
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 of 2 points good, in ")
    stamp = outputs[0].stat().st_mtime_ns
    assert main(["sweep", str(path)]) == 1
    assert outputs[0].stat().st_mtime_ns == stamp
    assert ": done before" in capsys.readouterr().out


def test_a_finished_sweep_is_good(tmp_path, notebooks):
    points = make_points(notebooks / "good.ipynb", [{"num_shifts": 3}])
    assert run_sweep(points, tmp_path / "out") == {points[0].name: None}
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"{points[0].name}.ipynb"]
