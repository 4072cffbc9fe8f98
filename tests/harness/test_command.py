"""``taulong frame`` on stored runs, and the tables of an audit; without Inspect and Harbor."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from taulong import cli
from taulong.frame.footprint import build_footprint, read_footprints, write_footprints
from taulong.frame.manifest import state_manifest
from taulong.frame.verdict import Record
from taulong.harness.accidents import ACCIDENTS, accident_command
from taulong.harness.audit import AuditedRun, fetched, find_tasks
from taulong.harness.tables import plot_audit, shares, summary, write_tables

START, GOLD, LEFT = (state_manifest(state) for state in ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 2}))


@pytest.fixture
def runs(tmp_path):
    """Return the paths of a stored run of the reference, of one that leaves the frame, and of the footprints."""
    footprint = build_footprint("t", [(START, GOLD)])
    write_footprints({"t": footprint}, tmp_path / "f.json")
    paths = []
    for name, end in (("reference", GOLD), ("left", LEFT)):
        paths.append(tmp_path / name / "frame-run.json")
        Record.of("t", START, end, footprint).write(paths[-1])
    return (*paths, tmp_path / "f.json")


def test_a_footprint_is_measured_from_stored_runs(runs, tmp_path, capsys):
    assert cli.main(["frame", "footprint", str(runs[0].parent), "--out", str(tmp_path / "new.json")]) == 0
    assert "t: 1 paths in 1 runs" in capsys.readouterr().out
    assert read_footprints(tmp_path / "new.json") == read_footprints(runs[2])


def test_verdicts_are_given_again(runs, capsys):
    reference = ["--reference", str(runs[2])]
    assert cli.main(["frame", "verdict", str(runs[0]), *reference]) == 0
    assert cli.main(["frame", "verdict", str(runs[0]), str(runs[1]), *reference]) == 1
    assert "fail          t: changed outside the footprint: /b content" in capsys.readouterr().out
    assert cli.main(["frame", "verdict", str(runs[1]), *reference, "--format", "json"]) == 1
    [row] = json.loads(capsys.readouterr().out)
    assert row["outside"] == [{"path": "/b", "kind": "content", "old": 1, "new": 2}]
    assert cli.main(["frame", "verdict", str(runs[0])]) == 1
    assert "not_evaluated t: no reference" in capsys.readouterr().out


def test_licences_changed_after_the_run_must_be_meant(runs, tmp_path, capsys):
    (tmp_path / "l.toml").write_text('[[licence]]\nkinds = ["content"]\nglob = "/b"\nreason = "found out later"\n')
    words = ["frame", "verdict", str(runs[1]), "--reference", str(runs[2]), "--licensed", str(tmp_path / "l.toml")]
    assert cli.main(words) == 1
    assert "changed after the run: the licences" in capsys.readouterr().out
    assert cli.main([*words, "--accept-changed"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verdict", "{}"], "holds no framed run"),
        (["footprint", "{}", "--out", "x"], "holds no framed run"),
        (["verdict", "{}/x.json"], "holds no framed run"),
        (["audit", "{}"], "holds no Harbor task"),
        (["audit", "{}/none"], "is no folder"),
        (["audit", "{}", "--runs", "0"], "accepted: 1 or more"),
        (["audit", "file:///no/such/repository", "--name", "../../{}"], "cannot be cloned"),
    ],
)
def test_what_is_no_run_and_no_task_is_one_sentence(tmp_path, capsys, monkeypatch, words, said):
    monkeypatch.setattr("taulong.harness.command.FRAME", tmp_path / "frame")
    assert cli.main(["frame", *(word.replace("{}", str(tmp_path)) for word in words)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_repository_of_tasks_is_cloned_once(tmp_path):
    source = tmp_path / "source"
    (source / "tasks" / "one").mkdir(parents=True)
    for name in ("task.toml", "instruction.md"):
        (source / "tasks" / "one" / name).write_text("x")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(source)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    for _ in range(2):
        folder = fetched(f"file://{source}#tasks", tmp_path / "fetched")
        assert [path.name for path in find_tasks([folder])] == ["one"]


# --- accidents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_an_accident_happens_and_spares_what_it_is_told_to(tmp_path, accident):
    from taulong.frame.delta import compare
    from taulong.frame.manifest import tree_manifest

    files = {"out.txt": "mine", "in.txt": "input", "set.ini": "[x]\n", "run.log": "line\n"}
    (tmp_path / "home").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    start = tree_manifest([tmp_path])
    command = accident_command(accident, [str(tmp_path)], str(tmp_path / "home"), [str(tmp_path / "out.txt")])
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("did ")
    changes = compare(start, tree_manifest([tmp_path]))
    assert bool(changes) == ACCIDENTS[accident].seen
    assert f"{tmp_path}/out.txt" not in {change.path for change in changes}


def test_an_accident_with_nothing_to_happen_to_is_void(tmp_path):
    command = accident_command("truncate_log", [str(tmp_path)], str(tmp_path))
    assert subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True).stdout.startswith("void: ")


# --- tables ---------------------------------------------------------------------------------------------------------

ROWS = [
    AuditedRun("harbor", "one", "reference", 1.0, "pass"),
    AuditedRun("harbor", "one", "chmod", 1.0, "fail", 1, "why"),
    AuditedRun("harbor", "two", "chmod", 0.0, "fail", 1, "why"),
    AuditedRun("harbor", "three", "chmod", None, "void"),
    AuditedRun("inspect", "records/1", "nop", 0.0, "not_evaluated", 0, "why"),
]


def test_void_runs_are_not_counted_and_paid_runs_that_left_the_frame_are(tmp_path):
    write_tables(ROWS, tmp_path)
    counts = pd.read_csv(tmp_path / "summary.csv").set_index(["group", "does"])
    chmod = counts.loc[("harbor", "chmod")]
    assert chmod.to_dict() == {
        "runs": 2, "paid": 1, "kept": 0, "left": 2, "not_evaluated": 0, "paid_and_left": 1,
    }  # fmt: skip
    assert counts.loc[("inspect records", "nop"), "not_evaluated"] == 1
    assert len(pd.read_csv(tmp_path / "runs.csv")) == len(ROWS)
    numbers = shares(summary([row.row() for row in ROWS]))
    assert list(numbers["paid"]) == [1.0, 0.5, 0.0]
    assert len(plot_audit(numbers).axes) == 2


def test_harnesses_that_are_missing_are_named_with_their_extra():
    for name, extra in (("inspect", "inspect_ai"), ("harbor", "harbor")):
        code = f"import sys; sys.modules[{extra!r}] = None\nimport taulong.harness.{name}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert f"pip install 'taulong[{name}]'" in done.stderr


def test_nothing_imports_a_harness_before_it_is_used():
    code = "import sys, taulong.harness, taulong.harness.command, taulong.harness.tables; "
    code += "print(sorted({'inspect_ai', 'inspect_evals', 'harbor', 'tau2'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
