"""Notebooks in batch: what is refused before a run, what counts as a good one, what is left behind."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from endpoint import Endpoint, scripted_sides

from taulong.batch import (
    NotebookError,
    check_parameters,
    execute_in_place,
    notebooks,
    parse_parameter,
    printed,
    read_defaults,
    run_notebook,
    write_metrics,
)
from taulong.paths import ROOT
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts

FIXTURES = Path(__file__).parent / "fixtures" / "notebooks"
DEFAULTS = read_defaults(FIXTURES / "good.ipynb")


@pytest.fixture
def folder(tmp_path):
    """Return an empty folder whose name has what breaks careless code: spaces and braces."""
    folder = tmp_path / "a {folder} with spaces"
    folder.mkdir()
    return folder


def copy(name, folder):
    return Path(shutil.copy(FIXTURES / f"{name}.ipynb", folder))


def test_defaults_are_read_from_the_parameters_cell():
    assert DEFAULTS == {
        "num_shifts": 4,
        "fraction": 0.75,
        "modes": ["none", "notebook"],
        "agent": "learner",
        "limit": None,
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_parameters_tag", "0 cells are tagged 'parameters'"),
        ("two_parameters_cells", "2 cells are tagged 'parameters'"),
        ("computed_parameter", "line 1: the default of 'num_shifts' is not a literal"),
        ("tuple_parameter", "the default of 'modes' is a tuple; use a list"),
    ],
)
def test_an_unfit_parameters_cell_is_refused_before_anything_runs(name, message, folder, monkeypatch):
    monkeypatch.setattr(notebooks, "_execute", lambda *arguments: pytest.fail("it ran"))
    with pytest.raises(NotebookError, match=message):
        run_notebook(FIXTURES / f"{name}.ipynb", output=folder / "out.ipynb")
    assert os.listdir(folder) == []


def test_what_is_no_notebook_is_refused(folder):
    path = folder / "cut.ipynb"
    path.write_text('{"cells": [')
    with pytest.raises(NotebookError, match=r"cut.ipynb: not a notebook"):
        run_notebook(path)
    with pytest.raises(NotebookError, match="no notebook '99_absent'"):
        run_notebook("99_absent")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_shift": 5}, "unknown parameter 'num_shift'; did you mean 'num_shifts'?"),
        ({"zzz": 5}, "unknown parameter 'zzz'; accepted: num_shifts, fraction, modes, agent, limit"),
        ({"num_shifts": 4.0}, "parameter 'num_shifts': 4.0 is a float; accepted: int"),
        ({"num_shifts": True}, "parameter 'num_shifts': True is a bool; accepted: int"),
        ({"num_shifts": "4"}, "parameter 'num_shifts': '4' is a str; accepted: int"),
        ({"num_shifts": None}, "parameter 'num_shifts': None is a NoneType; accepted: int"),
        ({"fraction": False}, "parameter 'fraction': False is a bool; accepted: float"),
        ({"fraction": float("nan")}, "parameter 'fraction': nan is a float; accepted: float"),
        ({"modes": "none"}, r"parameter 'modes': 'none' is a str; accepted: list, e.g. \[none\]"),
        ({"modes": ["none", 1]}, r"parameter 'modes\[1\]': 1 is a int; accepted: str"),
        ({"agent": 1}, "parameter 'agent': 1 is a int; accepted: str"),
        ({"limit": {1}}, r"parameter 'limit': \{1\} is a set; accepted: None, bool, int, float, str, list, dict"),
        ({"limit": [{1}]}, r"parameter 'limit\[0\]'"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_runs(parameters, message, folder, monkeypatch):
    monkeypatch.setattr(notebooks, "_execute", lambda *arguments: pytest.fail("it ran"))
    with pytest.raises(NotebookError, match=message.replace("?", r"\?")):
        run_notebook(FIXTURES / "good.ipynb", parameters, folder / "out.ipynb")
    assert os.listdir(folder) == []


def test_fitting_parameters_are_made_the_type_of_their_default():
    given = {"num_shifts": 5, "fraction": 1, "modes": ("oracle",), "agent": "parrot", "limit": 3}
    checked = check_parameters(given, DEFAULTS)
    assert checked == {"num_shifts": 5, "fraction": 1.0, "modes": ["oracle"], "agent": "parrot", "limit": 3}
    assert type(checked["fraction"]) is float
    assert type(checked["modes"]) is list


@pytest.mark.parametrize(
    ("text", "default", "value"),
    [
        ("5", 4, 5), ("true", False, True), ("True", False, True), ("0.5", 0.75, 0.5), ('["a"]', [], ["a"]),
        ("['a']", [], ["a"]), ("[a, b]", [], ["a", "b"]), ("{a: 1}", {}, {"a": 1}), ("a", [], "a"), ("a: [", {}, "a: ["), ("null", None, None), ("None", None, None), ("two words", None, "two words"),
        ("5", "learner", "5"), ("yes", False, "yes"),
    ],
)  # fmt: skip
def test_texts_of_the_command_line_are_read_by_the_default(text, default, value):
    read = parse_parameter(text, default)
    assert read == value
    assert type(read) is type(value)


def test_a_good_run_is_written_whole_clean_and_the_same_each_time(folder):
    first = run_notebook(copy("good", folder), {"num_shifts": 7}, folder / "first.ipynb")
    second = run_notebook(first, {"num_shifts": 7}, folder / "second.ipynb")
    assert sorted(path.name for path in folder.iterdir()) == ["first.ipynb", "good.ipynb", "outputs", "second.ipynb"]
    assert first.read_bytes() == second.read_bytes()
    notebook = nbformat.read(first, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert "version" not in notebook.metadata.language_info
    assert {key for cell in notebook.cells for key in cell.metadata} == {"tags"}
    shown = "".join(printed(cell) for cell in notebook.cells if cell.cell_type == "code")
    assert "7 0.75 ['none', 'notebook'] learner None" in shown
    assert shown.endswith("metrics in metrics.json\n  fraction    0.75\n  num_shifts  7\n")
    assert str(folder) not in first.read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("killed_kernel", "the kernel died"),
        ("early_exit", "cell 5 raised SystemExit"),
        ("raised_error", "cell 5 raised ZeroDivisionError: division by zero"),
        ("no_metrics", "the last cell did not write the metrics"),
    ],
)
def test_a_run_that_did_not_come_to_its_end_is_red_and_its_evidence_kept(name, message, folder):
    output = folder / "out.ipynb"
    output.write_text("an earlier result")
    with pytest.raises(NotebookError, match=f"{name}.ipynb: {message}.* What was executed is in .*/out.failed.ipynb"):
        run_notebook(copy(name, folder), output=output)
    assert output.read_text() == "an earlier result"
    evidence = nbformat.read(folder / "out.failed.ipynb", as_version=4)
    assert "papermill" not in evidence.metadata
    assert ("An Exception was encountered" if name == "raised_error" else message) in evidence.cells[0].source
    assert evidence.cells[1].source.startswith("# ")
    executed = [cell.execution_count for cell in evidence.cells if cell.cell_type == "code"]
    assert executed[:2] == [1, 2]


def test_a_cell_over_its_time_is_red(folder):
    notebook = nbformat.read(FIXTURES / "good.ipynb", as_version=4)
    notebook.cells[-2].source = "import time\ntime.sleep(60)"
    nbformat.write(notebook, folder / "long.ipynb")
    with pytest.raises(NotebookError, match="a cell took longer than 1 seconds"):
        run_notebook(folder / "long.ipynb", output=folder / "out.ipynb", timeout=1)


def test_the_kernel_is_this_interpreter_whatever_is_installed_as_python3(folder, monkeypatch):
    spec = folder / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    argv = ["/nonexistent/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "another", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(folder / "jupyter"))
    output = run_notebook(copy("other_interpreter", folder), output=folder / "out.ipynb")
    assert printed(nbformat.read(output, as_version=4).cells[-2]) == sys.executable + "\n"


def test_in_place_the_notebook_is_stored_executed_and_the_second_time_unchanged(folder):
    path = copy("good", folder)
    assert execute_in_place(path) == path
    once = path.read_bytes()
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4]
    execute_in_place(path)
    assert path.read_bytes() == once


def test_in_place_a_notebook_that_warns_is_left_as_it_was(folder, monkeypatch):
    monkeypatch.setattr(notebooks, "OUTPUTS", folder / "outputs")
    path = copy("writes_to_stderr", folder)
    before = path.read_bytes()
    with pytest.raises(NotebookError, match=r"must write nothing to stderr: .*UserWarning: a warning"):
        execute_in_place(path)
    assert path.read_bytes() == before
    assert (folder / "outputs" / "writes_to_stderr.failed.ipynb").is_file()


def test_the_command_runs_a_notebook_and_says_where_the_copy_is(folder):
    words = [
        "notebook",
        str(copy("good", folder)),
        "-p",
        "num_shifts=9",
        "-p",
        "agent=5",
        "-o",
        str(folder / "out.ipynb"),
    ]
    done = subprocess.run([sys.executable, "-m", "taulong", *words], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder / 'out.ipynb'}\n", "")
    assert "9 0.75 ['none', 'notebook'] 5 None" in (folder / "out.ipynb").read_text()


def test_the_command_is_silent_when_the_interrupt_that_ends_a_kernel_meets_its_last_answer(folder):
    path = copy("good", folder)
    notebook = nbformat.read(path, as_version=4)
    # what papermill asks for last, before it interrupts the kernel: here the answer is out long before its handler ends
    notebook.cells[-1].source += """
import time
from ipykernel.kernelbase import Kernel

async def linger(self, stream, ident, parent, answer=Kernel.kernel_info_request):
    await answer(self, stream, ident, parent)
    time.sleep(20)

get_ipython().kernel.shell_handlers["kernel_info_request"] = linger.__get__(get_ipython().kernel)
"""
    nbformat.write(notebook, path)
    words = ["notebook", str(path), "-o", str(folder / "out.ipynb")]
    done = subprocess.run([sys.executable, "-m", "taulong", *words], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder / 'out.ipynb'}\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "agnt=x"], "unknown parameter 'agnt'; did you mean 'agent'?"),
        (["-p", "num_shifts"], "-p 'num_shifts': write KEY=VALUE"),
        (["-p", "num_shifts=many"], "parameter 'num_shifts': 'many' is a str; accepted: int"),
        (["--commit", "-p", "num_shifts=5"], "--commit runs a notebook at its defaults, in place"),
    ],
)
def test_the_command_refuses_in_one_line(words, message, capsys):
    from taulong.cli import main

    assert main(["notebook", str(FIXTURES / "good.ipynb"), *words]) == 2
    assert message in capsys.readouterr().err


def test_metrics_are_strict_sorted_and_printed_rounded(tmp_path, capsys):
    import numpy

    metrics = {"b": 1 / 3, "a": {"n": numpy.int64(12), "p": numpy.float64(1e-5)}, "c": [True, None, "text"]}
    write_metrics(tmp_path / "new" / "metrics.json", metrics)
    text = (tmp_path / "new" / "metrics.json").read_text()
    assert json.loads(text) == {"b": 1 / 3, "a": {"n": 12, "p": 1e-5}, "c": [True, None, "text"]}
    assert text.index('"a"') < text.index('"b"') < text.index('"c"')
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "metrics in metrics.json"
    assert dict(line.split() for line in lines[1:]) == {
        "a.n": "12", "a.p": "1e-05", "b": "0.333333", "c[0]": "True", "c[1]": "None", "c[2]": "text"
    }  # fmt: skip


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_metric_that_is_no_number_is_refused_by_name_and_nothing_written(value, tmp_path, capsys):
    with pytest.raises(ValueError, match=r"metrics: arms\[0\].accuracy is "):
        write_metrics(tmp_path / "metrics.json", {"arms": [{"accuracy": value}]})
    with pytest.raises(TypeError, match="is a set; accepted: numbers"):
        write_metrics(tmp_path / "metrics.json", {"modes": {"none"}})
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr().out == ""


def test_what_was_printed_is_one_piece_wherever_the_kernel_cut_it():
    def stream(name, text):
        return nbformat.v4.new_output("stream", name=name, text=text)

    cut = [stream("stdout", "a"), stream("stdout", "b\n"), stream("stderr", "c"), stream("stdout", "d")]
    assert [(output.name, output.text) for output in notebooks._joined(cut)] == [
        ("stdout", "ab\n"),
        ("stderr", "c"),
        ("stdout", "d"),
    ]


def test_the_execution_notebook_runs_a_model_behind_an_endpoint(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "loopback")
    monkeypatch.setenv("TAULONG_WORK", str(folder))
    shifts = generate_shifts(num_shifts=2)
    write_shifts(shifts, folder / "data" / "shifts" / "two.jsonl")
    with Endpoint(scripted_sides(shifts)) as endpoint:
        parameters = {
            "shifts": "two",
            "run": "model",
            "agents": ["learner", "llm"],
            "memory_modes": ["none", "notebook"],
            "agent_llm": "openai/scripted",
            "agent_llm_args": {"base_url": endpoint.url},
            "executor": "threads",
        }
        run_notebook("20_execute_runs", parameters, output=folder / "out.ipynb")
    metrics = json.loads((folder / "data" / "runs" / "model" / "20_execute_runs.metrics.json").read_text())
    assert metrics["planned"] == metrics["scored"] == 64
    assert len(endpoint.requests) > 32
    rewards = metrics["mean_shift_reward"]
    for mode in ("none", "notebook"):  # the model says what the learner says
        assert rewards[f"official_reward, openai/scripted, {mode}"] == rewards[f"official_reward, learner, {mode}"]
