"""Nothing that was paid for is lost: runs are moved aside, spending is noted before answers are used, edits are found."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from endpoint import Endpoint, say, scripted_sides

import taulong
from taulong import cli
from taulong.cases import case as cases
from taulong.cases import models
from taulong.errors import ConfigError, DataError
from taulong.paths import atomic_write
from taulong.runs import execution as runs
from taulong.runs import folder as folders
from taulong.runs.accounts import Spending
from taulong.runs.config import RunConfig
from taulong.runs.execution import execute_runs
from taulong.runs.folder import RunFolder
from taulong.runs.interrupts import Interrupted, stop_requests
from taulong.runs.ledger import Ledger
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts

PRICES = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
RESULTS = ("records.jsonl", "transcripts.jsonl")
KEY = ("llm", "notebook", "eval-1", 0, 1)


@pytest.fixture(scope="module")
def shifts():
    return generate_shifts(num_shifts=2)


@pytest.fixture(scope="module")
def shifts_file(shifts, tmp_path_factory):
    return str(write_shifts(shifts, tmp_path_factory.mktemp("shifts") / "two.jsonl"))


@pytest.fixture
def config(shifts_file):
    return RunConfig(shifts_file, ("learner",), ("none", "notebook"))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-7f3a9c51d2e84b06")
    monkeypatch.setattr(models, "sleep", lambda seconds: None)


def on_model(shifts_file, endpoint, **arguments):
    arguments = {"base_url": endpoint.url, "timeout": 20, **PRICES, **arguments}
    return RunConfig(shifts_file, ("llm",), ("notebook",), agent_llm="openai/tested", agent_llm_args=arguments)


def results(folder):
    return [(folder.path / name).read_bytes() for name in RESULTS]


def held(path):
    return {file.relative_to(path): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


# --- a run in the way -------------------------------------------------------------------------------------------------


def test_a_models_run_is_never_replaced_without_its_name_and_then_moved_aside(shifts, shifts_file, tmp_path, config):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        paid = on_model(shifts_file, endpoint)
        before = held(execute_runs(paid, tmp_path / "pilot-41", max_cases=3).path)
        for other, options in ((paid, {"fresh": True}), (config, {"fresh": True}), (config, {})):
            with pytest.raises(DataError, match=r"pilot-41: holds .*--replace pilot-41"):
                execute_runs(other, tmp_path / "pilot-41", **options)
        for typed in ("pilot", "", str(tmp_path / "pilot-41")):
            with pytest.raises(ConfigError, match="type 'pilot-41'"):
                execute_runs(config, tmp_path / "pilot-41", replace=typed)
        assert held(tmp_path / "pilot-41") == before
    again = execute_runs(config, tmp_path / "pilot-41", replace="pilot-41")
    assert again.account.scored == 32
    (aside,) = tmp_path.glob("pilot-41.replaced-*")
    assert held(aside) == before


def test_an_own_agents_run_may_have_been_paid_for_too(shifts_file, tmp_path, monkeypatch):
    (tmp_path / "mine_agents.py").write_text(
        "from taulong.cases.agents import ScriptedAgent, AGENTS\n"
        "class Mine(ScriptedAgent):\n"
        "    def __init__(self, tools, policy, memory, where): super().__init__(tools, policy, memory, where, AGENTS['learner'])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = RunConfig(shifts_file, ("mine_agents:Mine",), ("none",))
    execute_runs(mine, tmp_path / "run", max_cases=2)
    with pytest.raises(DataError, match="holds 2 cases of a model"):
        execute_runs(mine, tmp_path / "run", fresh=True)


def test_a_scripted_run_of_the_same_configuration_may_begin_afresh_by_other_versions_too(config, tmp_path):
    whole = results(execute_runs(config, tmp_path / "run"))
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "grader_version": "of old"}))
    with pytest.raises(DataError, match="grader_version is 'of old' there"):
        execute_runs(config, tmp_path / "run")
    assert results(execute_runs(config, tmp_path / "run", fresh=True)) == whole
    assert list(tmp_path.glob("run.replaced-*")) == []


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_a_folder_whose_manifest_cannot_be_read_is_not_replaced_either(config, tmp_path, text):
    execute_runs(config, tmp_path / "run", max_cases=1)
    (tmp_path / "run" / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=r"run/manifest\.json: not the manifest of a run"):
        execute_runs(config, tmp_path / "run", fresh=True)
    execute_runs(config, tmp_path / "run", replace="run", max_cases=1)
    assert len(list(tmp_path.glob("run.replaced-*"))) == 1


def test_the_command_says_stopped_as_asked(config, tmp_path, capsys):
    command = ["run", config.shifts, "--name", str(tmp_path / "run"), "--memory-modes", "none", "--max-cases", "3"]
    assert cli.main(command) == 0
    assert "stopped as asked: max_cases 3 reached\n3 of 16" in capsys.readouterr().out
    assert cli.main([*command, "--replace", "other"]) == 2
    assert "type 'run'" in capsys.readouterr().err
    assert cli.main([*command, "--replace", "run"]) == 0
    assert len(list(tmp_path.glob("run.replaced-*"))) == 1


# --- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record | {"official_reward": 1.0, "gated_reward": 1.0},
        lambda record: record | {"agent_tokens": 7},
        lambda record: record | {"agent": "guesser"},
        lambda record: dict(reversed(record.items())),
    ],
    ids=["reward", "tokens", "agent", "order"],
)
def test_an_edited_record_is_found_wherever_it_is_read(config, tmp_path, edit):
    folder = execute_runs(config, tmp_path / "run")
    path = folder.path / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if json.loads(line)["official_reward"] == 0.0)
    record = json.loads(lines[at])
    lines[at] = json.dumps(edit(record), separators=(",", ":")) + "\n"
    path.write_text("".join(lines))
    for read in (folder.records, lambda: folder.rows(), lambda: execute_runs(config, folder.path)):
        with pytest.raises(DataError, match=rf"run/records\.jsonl, line {at + 1}: edited since it was written"):
            read()
    del lines[at]
    path.write_text("".join(lines))
    assert execute_runs(config, folder.path).account.scored == 32


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        (lambda row: row["record"].pop("outcome"), "record.outcome is missing"),
        (lambda row: row["record"].update(agent_tokens="many"), "record.agent_tokens is 'many'"),
        (lambda row: row["record"].update(trial=True), "record.trial is True"),
        (lambda row: row["transcript"].pop("messages"), "transcript.messages is missing"),
        (lambda row: row["transcript"].update(notebook_before=7), "transcript.notebook_before is 7"),
        (lambda row: row.update(transcript=None), "transcript is not an object"),
        (lambda row: row.pop("transcript"), "transcript is missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_journal_row_names_file_line_and_field(config, tmp_path, damage, field):
    folder = execute_runs(config, tmp_path / "run", max_cases=4)
    rows = list(folder.rows().values())
    damage(rows[2])
    (folder.path / "journal.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=rf"run/journal\.jsonl, line 3: not a row of a run \(field {field}"):
        execute_runs(config, folder.path)


def test_a_finished_run_is_gone_on_with_without_reading_shifts_or_transcripts(config, tmp_path, monkeypatch):
    folder = execute_runs(config, tmp_path / "run")
    said = str(folder.account)
    monkeypatch.setattr(runs, "read_shifts", None)
    assert str(execute_runs(config, folder.path).account) == said
    assert str(RunFolder(folder.path).account) == said


# --- files ------------------------------------------------------------------------------------------------------------


def test_what_a_kill_left_of_a_file_is_removed_and_what_another_writes_is_not(tmp_path):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    left = tmp_path / f".table.csv.{int(gone.stdout)}.7.part"
    under_way = tmp_path / f".table.csv.{os.getppid()}.7.part"
    for part in (left, under_way):
        part.write_text("half")
    atomic_write(tmp_path / "table.csv", "whole")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "table.csv", under_way])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(config, tmp_path, monkeypatch, capsys):
    whole = results(execute_runs(config, tmp_path / "whole"))
    written = []

    def full(file, data):
        written.append(data)
        if len(written) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return file.write(data)

    append = folders._append
    monkeypatch.setattr(folders, "_append", lambda path, file, row: append(path, Full(file, full), row))
    command = ["run", config.shifts, "--name", str(tmp_path / "run"), "--memory-modes", "none", "notebook"]
    assert cli.main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line.endswith("journal.jsonl: No space left on device")
    monkeypatch.undo()
    assert len(RunFolder(tmp_path / "run").records()) == 5
    assert results(execute_runs(config, tmp_path / "run")) == whole


class Full:
    """A file on a disk that is full after some writes; half of the write that fails has landed."""

    def __init__(self, file, write):
        self.tell, self.truncate = file.tell, file.truncate
        self.file, self._write = file, write

    def write(self, data):
        try:
            return self._write(self.file, data)
        except OSError:
            self.file.write(data[: len(data) // 2])
            raise


# --- spending ---------------------------------------------------------------------------------------------------------


def test_a_ledger_counts_what_no_row_counts_and_forgets_what_one_does(tmp_path):
    ledger = Ledger(tmp_path)
    notes = ledger.begin()
    (first, note), (second, again), (other, elsewhere) = notes.of(KEY), notes.of(KEY), notes.of((*KEY[:4], 2))
    note(10, 0.5, 0)
    note(5, 0.25, 1)
    again(7, 0.0, 0)
    elsewhere(100, 1.0, 0)
    assert ledger.unsettled() == Spending(122, 1.75, 1)
    assert ledger.settle(KEY, second) == (Spending(15, 0.75, 1), [second, first])
    assert ledger.unsettled() == Spending(100, 1.0, 0)
    ledger.close()
    assert Ledger(tmp_path).unsettled() == Spending(100, 1.0, 0)
    assert Ledger(tmp_path, [other]).unsettled() == Spending()
    more = Ledger(tmp_path)
    more.begin()
    assert more.unsettled() == Spending(100, 1.0, 0)
    more.settle((*KEY[:4], 2), "new")
    more.close()
    assert list(tmp_path.iterdir()) == []


def test_a_call_is_noted_before_its_answer_is_used(shifts, shifts_file, tmp_path, monkeypatch):
    """A worker that is killed between answer and use leaves what it has spent."""
    seen = []
    whole = models.check_finish

    def killed(choice):
        seen.append(Ledger(tmp_path / "run").unsettled().tokens)
        whole(choice)

    monkeypatch.setattr(models, "check_finish", killed)
    with Endpoint(scripted_sides(shifts)) as endpoint:
        execute_runs(on_model(shifts_file, endpoint), tmp_path / "run", executor="serial", max_cases=1)
    assert seen == sorted(set(seen))
    assert seen[0] > 0


def test_the_spending_of_attempts_that_never_ended_counts_and_stops_at_max_cost(shifts, shifts_file, tmp_path):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        config = on_model(shifts_file, endpoint)
        folder = execute_runs(config, tmp_path / "run", executor="serial", max_cases=1)
        one = folder.account.spending
        key = ("openai/tested", "notebook", shifts[0].shift_id, 0, 2)
        notes = Ledger(folder.path).begin()
        _, note = notes.of(key)  # as of a worker that was killed
        note(1000, 5.0, 0)
        calls = len(endpoint.requests)
        stopped = execute_runs(config, folder.path, max_cost=5.0)
        assert stopped.account.stopped == "max_cost 5.0 reached"
        assert len(endpoint.requests) == calls
        assert stopped.account.spending == one + Spending(1000, 5.0)
        assert RunFolder(folder.path).account.spending == one + Spending(1000, 5.0)
        done = execute_runs(config, folder.path)
        served = sum(record["agent_tokens"] for record in done.records().to_dict("records"))
    assert done.account.spending.tokens == served + 1000
    assert RunFolder(folder.path).account.spending.tokens == served + 1000
    assert not (folder.path / "spending.jsonl").exists()
    assert done.rows()[key]["spent_before"] == {"tokens": 1000, "cost": 5.0, "unpriced_calls": 0}


@pytest.mark.parametrize("executor", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_what_a_killed_run_has_spent_is_counted_to_the_token(shifts, shifts_file, tmp_path, executor):
    arguments = ["--agents", "llm", "--agent-llm", "openai/tested", "--memory-modes", "notebook", "--workers", "2"]
    with Endpoint(scripted_sides(shifts), latency=0.02) as endpoint:
        options = json.dumps({"base_url": endpoint.url, **PRICES})
        command = [sys.executable, "-m", "taulong", "run", shifts_file, "--name", str(tmp_path / "run"), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(Path(taulong.__file__).parents[1])}
        running = subprocess.Popen(
            [*command, "--agent-llm-args", options, "--executor", executor],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while len(endpoint.requests) < 25 and running.poll() is None:
            time.sleep(0.01)
        running.kill()
        running.wait()
        time.sleep(0.5)
        config = RunConfig(
            shifts_file, ("llm",), ("notebook",), agent_llm="openai/tested", agent_llm_args=json.loads(options)
        )
        folder = execute_runs(config, tmp_path / "run")
        assert folder.account.scored == 16
        # an answer under way when the process was killed reached nobody: two workers, two answers at most
        largest = max(endpoint.answers)
        assert endpoint.tokens - 2 * largest <= folder.account.spending.tokens <= endpoint.tokens


# --- interrupts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_a_signal_stops_the_work_and_drops_no_case_that_has_ended(
    config, tmp_path, monkeypatch, capsys, number, executor
):
    whole, ended = cases.run_case, []

    def run_case(*arguments):
        outcome = whole(*arguments)
        ended.append(outcome.record["case_id"])
        if len(ended) == 5:
            os.kill(os.getpid(), number)
        return outcome

    expected = results(execute_runs(config, tmp_path / "whole"))
    capsys.readouterr()
    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        patch.setattr(cases, "run_case", run_case)
        with pytest.raises(Interrupted) as interrupt:
            execute_runs(config, tmp_path / "run", 3 if executor == "threads" else 1, executor=executor)
    assert interrupt.value.exit_code == 128 + number
    assert signal.getsignal(number) is before
    assert len(RunFolder(tmp_path / "run").records()) == len(ended) < 32
    said = capsys.readouterr().err
    assert said.startswith(f"taulong: {signal.Signals(number).name}: stopping; waits for ")
    assert "under way (learner " in said
    assert results(execute_runs(config, tmp_path / "run")) == expected


def test_a_second_signal_drops_a_case_in_this_thread(config, tmp_path, monkeypatch, capsys):
    started = time.monotonic()

    def hang(*_):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        time.sleep(60)

    monkeypatch.setattr(cases, "run_case", hang)
    with pytest.raises(Interrupted):
        execute_runs(config, tmp_path / "run", executor="serial")
    assert time.monotonic() - started < 30
    assert "again: what is under way is dropped, what has ended is kept" in capsys.readouterr().err


def test_a_signal_that_is_ignored_stays_so_and_other_threads_hear_none():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_requests() as stopping:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stopping.asked is None
    finally:
        signal.signal(signal.SIGHUP, before)
    heard = []

    def elsewhere():
        with stop_requests():
            heard.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert heard == [signal.getsignal(signal.SIGTERM)]


def test_a_silent_model_is_given_up_by_name(shifts, shifts_file, tmp_path, capsys):
    """The account's reasons stay words: the truncated, the filtered and the failed are told apart."""
    kinds = [say(None, finish_reason="length"), say("x", finish_reason="content_filter")]
    with Endpoint(fault=lambda number, _: kinds[number % 2]) as endpoint:
        account = execute_runs(on_model(shifts_file, endpoint), tmp_path / "run", executor="serial").account
    assert account.failures == {"truncated": 1, "content_policy": 1}
