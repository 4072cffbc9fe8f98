"""Runs on disk: the same bytes whoever makes them, whatever interrupts them."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from conversations import agent, agent_does, asks, says

from taulong.cases import case as cases
from taulong.errors import ConfigError, DataError
from taulong.paths import ROOT
from taulong.runs import execution as runs
from taulong.runs import folder as folders
from taulong.runs.config import RunConfig
from taulong.runs.execution import execute_runs
from taulong.runs.folder import APART, KEY, RESULTS, RunFolder, row_line
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts

UNHASHABLE = '{"record":{"agent":[],"memory_mode":"none","shift_id":"a","trial":0,"position":1}}'
SMALL = ShiftConfig(num_cases=4, teaching_count=1)
FILES = ("records.jsonl", "transcripts.jsonl", "manifest.json")


def pair(**more):
    """Return two short shifts."""
    return generate_shifts(replace(SMALL, **more), num_shifts=2)


@pytest.fixture(scope="module")
def shifts(tmp_path_factory):
    return str(write_shifts(pair(), tmp_path_factory.mktemp("shifts") / "pair.jsonl"))


@pytest.fixture
def config(shifts):
    return RunConfig(shifts, ("learner", "guesser"), ("none", "notebook"))


@pytest.fixture(scope="module")
def reference(shifts, tmp_path_factory):
    """Return the bytes of a run that nothing interrupted."""
    config = RunConfig(shifts, ("learner", "guesser"), ("none", "notebook"))
    return contents(execute_runs(config, tmp_path_factory.mktemp("runs") / "whole", progress=False))


def contents(folder):
    return {name: (folder.path / name).read_bytes() for name in FILES}


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- the same bytes ---------------------------------------------------------------------------------------------------


def test_another_run_and_more_workers_give_the_same_bytes(config, reference, tmp_path):
    assert contents(execute_runs(config, tmp_path / "again", progress=False)) == reference
    assert contents(execute_runs(config, tmp_path / "four", workers=4, progress=False)) == reference


def test_rows_are_in_plan_order_and_every_planned_case_has_one(config, tmp_path, reference):
    records = [json.loads(line) for line in reference["records.jsonl"].splitlines()]
    plan = [
        (name, mode, shift.shift_id, 0, case.position)
        for name in config.agents
        for mode in config.memory_modes
        for shift in pair()
        for case in shift.cases
    ]
    assert [tuple(record[name] for name in KEY) for record in records] == plan
    assert json.loads(reference["manifest.json"])["planned_cases"] == len(plan) == 32
    transcripts = [json.loads(line) for line in reference["transcripts.jsonl"].splitlines()]
    assert [tuple(row[name] for name in KEY) for row in transcripts] == plan


def test_nothing_in_the_results_moves(config, tmp_path, reference):
    folder = execute_runs(config, tmp_path / "run", progress=False)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "manifest.json",
        "records.jsonl",
        "timings.jsonl",
        "transcripts.jsonl",
    ]
    text = b"".join(reference.values()).decode()
    for word in ("timestamp", "seconds", str(tmp_path), str(ROOT), time.strftime("%Y-%m-%dT"), "NaN"):
        assert word not in text
    assert all(row["seconds"] > 0 and set(row) <= {*KEY, *APART} for row in rows(folder.path / "timings.jsonl"))


def test_a_run_of_trials_has_draws_of_its_own_and_keeps_those_of_the_first(shifts, tmp_path):
    one = execute_runs(RunConfig(shifts, ("guesser",), ("none",)), tmp_path / "one", progress=False).records()
    two = execute_runs(RunConfig(shifts, ("guesser",), ("none",), trials=2), tmp_path / "two", progress=False).records()
    first, second = (two.query("trial == @trial").reset_index(drop=True) for trial in (0, 1))
    assert first.equals(one)
    assert (first["commitment"] != second["commitment"]).any()
    assert (first["case_id"] == second["case_id"]).all()


def test_a_finished_run_is_not_run_again(config, tmp_path, reference, monkeypatch):
    folder = execute_runs(config, tmp_path / "run", progress=False)
    monkeypatch.setattr(runs, "run_step", None)
    execute_runs(config, folder.path, progress=False)
    assert contents(folder) == reference


# --- resuming ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept",
    [
        lambda lines: lines[:10],
        lambda lines: lines[:5] + lines[6:],
        lambda lines: lines[1:],
        lambda lines: [],
        lambda lines: lines[4:] + lines[:4],
        lambda lines: [*lines[:-1], lines[-1][:100]],
    ],
    ids=["the last", "one in the middle", "the first", "all", "another order", "a torn last line"],
)
@pytest.mark.parametrize("name", ["records.jsonl", "transcripts.jsonl"])
def test_deleted_rows_are_owed_and_run_again(config, tmp_path, reference, kept, name):
    folder = execute_runs(config, tmp_path / "run", progress=False)
    path = folder.path / name
    path.write_text("".join(kept(path.read_text(encoding="utf-8").splitlines(keepends=True))), encoding="utf-8")
    assert contents(execute_runs(config, folder.path, progress=False)) == reference


def interrupted(config, path, monkeypatch, after, **options):
    """Execute a run that is interrupted after so many cases."""
    left = iter(range(after))
    whole = cases.run_case

    def run_case(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return whole(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(cases, "run_case", run_case)
        with pytest.raises(KeyboardInterrupt):
            execute_runs(config, path, progress=False, **options)


@pytest.mark.parametrize("after", [0, 1, 4, 11, 31])
def test_an_interrupt_leaves_complete_rows_and_the_next_run_does_the_rest(
    config, tmp_path, reference, monkeypatch, after
):
    interrupted(config, tmp_path / "run", monkeypatch, after)
    folder = RunFolder.open(tmp_path / "run")
    assert len(folder.records()) == after
    assert (folder.path / "records.jsonl").read_bytes() == b"".join(
        reference["records.jsonl"].splitlines(keepends=True)[:after]
    )
    assert not (folder.path / "journal.jsonl").exists()
    assert contents(execute_runs(config, folder.path, progress=False)) == reference


def journal_of(folder, count):
    """Turn a finished run into one that was killed after ``count`` cases: a journal and no result files."""
    held = list(folder.rows().values())[:count]
    for name in RESULTS:
        (folder.path / f"{name}.jsonl").unlink()
    journal = folder.path / "journal.jsonl"
    journal.write_text("".join(row_line(row) for row in held), encoding="utf-8")
    return journal


@pytest.mark.parametrize(("torn", "left"), [(1, 10), (2, 9), (50, 9), (3000, 9)])
def test_a_torn_journal_line_is_owed(config, tmp_path, reference, torn, left):
    folder = execute_runs(config, tmp_path / "run", progress=False)
    journal = journal_of(folder, 10)
    journal.write_bytes(journal.read_bytes()[:-torn])
    assert len(folder.records()) == left  # a row that lacks only its line end is whole
    assert contents(execute_runs(config, folder.path, progress=False)) == reference


@pytest.mark.parametrize(
    "line", ["not a row", "{}", "[]", "7", '{"record":{"agent":"learner"}}', '{"record":null}', UNHASHABLE]
)
@pytest.mark.parametrize("name", ["journal.jsonl", "records.jsonl"])
def test_a_damaged_line_names_file_and_line(config, tmp_path, name, line):
    folder = execute_runs(config, tmp_path / "run", progress=False)
    if name == "journal.jsonl":
        journal_of(folder, 10)
    lines = (folder.path / name).read_text(encoding="utf-8").splitlines()
    lines[6] = line
    (folder.path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for read in (folder.records, lambda: execute_runs(config, folder.path, progress=False)):
        with pytest.raises(DataError, match=rf"run/{name}, line 7: .*owed"):
            read()
    del lines[6]
    (folder.path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(execute_runs(config, folder.path, progress=False).records()) == 32


def test_a_journal_row_without_its_transcript_is_damaged(config, tmp_path):
    folder = execute_runs(config, tmp_path / "run", progress=False)
    journal = journal_of(folder, 10)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    del lines[2]["transcript"]
    journal.write_text("".join(row_line(line) for line in lines))
    with pytest.raises(DataError, match=r"run/journal.jsonl, line 3: not a row of a run"):
        execute_runs(config, folder.path, progress=False)


def test_a_case_that_does_not_follow_on_the_one_before_is_owed(config, tmp_path, reference):
    """As when a session that began afresh was killed: the first cases are its own, the rest an older session's."""
    folder = execute_runs(config, tmp_path / "run", progress=False)
    path = folder.path / "transcripts.jsonl"
    transcripts = rows(path)
    (at,) = [
        at for at, row in enumerate(transcripts)
        if (row["agent"], row["memory_mode"], row["position"]) == ("learner", "notebook", 3)
        and row["shift_id"] == transcripts[0]["shift_id"]
    ]  # fmt: skip
    transcripts[at]["memory_before"] = "another session's memory"
    path.write_text("".join(row_line(row) for row in transcripts))
    again = execute_runs(config, folder.path, progress=False, max_cases=0)
    assert len(again.records()) == 30  # the third and the fourth case of the shift are owed
    assert contents(execute_runs(config, folder.path, progress=False)) == reference


def killed(config, path, at):
    """Execute a run in a process of its own, kill it once it has ``at`` rows, and return how many rows it left."""
    code = (
        "import sys; from taulong.runs import RunConfig, execute_runs\n"
        "config = RunConfig(sys.argv[1], ('learner', 'guesser'), ('none', 'notebook'))\n"
        "execute_runs(config, sys.argv[2], progress=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, config.shifts, str(path)], cwd=ROOT)
    journal = path / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= at):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return len(RunFolder.open(path).records())


def test_a_killed_run_is_resumed(config, tmp_path, reference):
    left = killed(config, tmp_path / "run", 7)
    assert left >= 7
    assert contents(execute_runs(config, tmp_path / "run", progress=False)) == reference


@pytest.mark.slow
def test_fifty_kills_at_any_time_lose_nothing(config, tmp_path, reference):
    for kill in range(50):
        killed(config, tmp_path / str(kill), 1 + kill % 31)
        assert contents(execute_runs(config, tmp_path / str(kill), progress=False)) == reference


def test_a_kill_between_the_result_files_loses_nothing(config, tmp_path, reference, monkeypatch):
    writes = []

    def write(path, content):
        writes.append(path)
        if len(writes) == stop:
            raise KeyboardInterrupt
        return whole(path, content)

    whole = folders.atomic_write
    for stop in range(2, 7):  # the first write is the manifest, the last one too, with the digests of the files
        writes.clear()
        folder = tmp_path / f"run-{stop}"
        with monkeypatch.context() as patch:
            patch.setattr(folders, "atomic_write", write)
            with pytest.raises(KeyboardInterrupt):
                execute_runs(config, folder, progress=False)
        assert len(RunFolder.open(folder).records()) == 32
        monkeypatch.setattr(runs, "run_step", None)  # nothing is owed
        assert contents(execute_runs(config, folder, progress=False)) == reference
        monkeypatch.undo()


def test_an_unscored_case_is_owed_again_with_all_that_follow_it(shifts, tmp_path, monkeypatch):
    config = RunConfig(shifts, ("learner",), ("notebook",))
    reference = contents(execute_runs(config, tmp_path / "whole", progress=False))
    whole, calls = cases.run_case, []

    def run_case(shift, case, memory, *more):
        calls.append(case.case_id)
        outcome = whole(shift, case, memory, *more)
        if len(calls) == 3:
            return replace(
                outcome, record={**outcome.record, "outcome": "unscored", "official_reward": None, "reason": "test"}
            )
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(cases, "run_case", run_case)
        records = execute_runs(config, tmp_path / "run", progress=False).records()
    assert len(calls) == len(records) == 7  # three of the first shift, four of the second
    assert records["outcome"].tolist().count("unscored") == 1
    assert contents(execute_runs(config, tmp_path / "run", progress=False)) == reference


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"agents": ("learner",)}, "agents"),
        ({"memory_modes": ("none",)}, "memory_modes"),
        ({"trials": 2}, "trials"),
        ({"agents": ("guesser", "learner")}, "agents"),
    ],
)
def test_a_changed_configuration_is_refused_naming_the_field(config, tmp_path, change, field):
    interrupted_run = execute_runs(config, tmp_path / "run", progress=False)
    before = contents(interrupted_run)
    with pytest.raises(DataError, match=rf"run: .*another configuration: {field} is .*--replace run"):
        execute_runs(replace(config, **change), tmp_path / "run", progress=False)
    assert contents(interrupted_run) == before


def test_what_is_dropped_from_a_configuration_is_a_difference_too(shifts, tmp_path):
    logged = RunConfig(shifts, ("llm",), ("none",), agent_llm="openai/tested", log_prompts=True)
    execute_runs(logged, tmp_path / "run", max_cases=0)
    with pytest.raises(DataError, match="log_prompts is True there and None here"):
        execute_runs(replace(logged, log_prompts=False), tmp_path / "run", max_cases=0)


def test_a_configuration_is_the_same_after_json(shifts, tmp_path):
    arguments = {"logit_bias": {50256: -100}, "stop": ("x",)}
    config = RunConfig(shifts, ("llm",), ("none",), agent_llm="openai/tested", agent_llm_args=arguments)
    execute_runs(config, tmp_path / "run", max_cases=0)
    execute_runs(config, tmp_path / "run", max_cases=0)


def test_other_shifts_of_the_same_name_are_refused(config, tmp_path):
    execute_runs(config, tmp_path / "run", progress=False)
    other = write_shifts(pair(patience=5), tmp_path / "pair.jsonl")
    with pytest.raises(DataError, match="shifts_digest is"):
        execute_runs(replace(config, shifts=str(other)), tmp_path / "run", progress=False)


def test_a_run_of_another_configuration_is_moved_aside_and_never_mixed_with_or_lost(config, tmp_path, monkeypatch):
    held = contents(execute_runs(config, tmp_path / "run", progress=False))
    other = write_shifts(pair(patience=5), tmp_path / "pair.jsonl")
    changed = replace(config, shifts=str(other))
    reference = contents(execute_runs(changed, tmp_path / "whole", progress=False))
    with pytest.raises(DataError, match="holds a run of another configuration"):
        execute_runs(changed, tmp_path / "run", fresh=True, progress=False)
    assert contents(RunFolder(tmp_path / "run")) == held
    interrupted(changed, tmp_path / "run", monkeypatch, 3, replace="run")
    (aside,) = tmp_path.glob("run.replaced-*")
    assert contents(RunFolder(aside)) == held
    assert contents(execute_runs(changed, tmp_path / "run", progress=False)) == reference


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"agents": ("lerner",)}, "agents: 'lerner'.*did you mean 'learner'"),
        ({"memory_modes": ("notbook",)}, "did you mean 'notebook'"),
        ({"agents": "learner"}, "agents: 'learner' is not a list"),
        ({"agents": ()}, "agents"),
        ({"trials": 0}, "trials: 0"),
        ({"agents": ("learner", "learner")}, "twice"),
        ({"memory_modes": ["none", "none"]}, "twice"),
        ({"trials": True}, "trials: True"),
    ],
)
def test_a_bad_configuration_is_refused_before_anything_runs(fields, message):
    with pytest.raises(ConfigError, match=message):
        RunConfig("pair", **fields)


@pytest.mark.parametrize("workers", [0, -1, 1.5])
def test_a_bad_number_of_workers_is_refused(config, tmp_path, workers):
    with pytest.raises(ConfigError, match="workers"):
        execute_runs(config, tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_not_there_names_the_near_match(config, tmp_path):
    execute_runs(config, tmp_path / "first", progress=False)
    with pytest.raises(DataError, match="'firsst'; did you mean 'first'"):
        RunFolder.open(tmp_path / "firsst")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other"}'])
def test_a_manifest_that_is_none_is_named(config, tmp_path, text):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=r"run/manifest\.json: not the manifest of a run"):
        execute_runs(config, folder, progress=False)


def test_text_that_has_no_utf8_is_kept(shifts, tmp_path, monkeypatch):
    def dialogue(self):
        yield None
        yield asks(agent("write_notebook", text="half \ud83d"))
        yield says("Goodbye, I cannot help. \u2028 \ud83d")

    agent_does(monkeypatch, dialogue)
    config = RunConfig(shifts, ("learner",), ("notebook",))
    folder = execute_runs(config, tmp_path / "run", progress=False)
    assert len(folder.records()) == 8
    assert next(folder.transcripts())["notebook_after"] == "half \ud83d"
