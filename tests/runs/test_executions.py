"""Runs that are spread, limited, interrupted, killed and resumed: the same bytes, and no spending forgotten."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from endpoint import CONTEXT_WINDOW, Endpoint, scripted_sides

import taulong
from taulong.cases import case as cases
from taulong.cases import grading, models
from taulong.cases.case import run_case
from taulong.draws import Draws
from taulong.errors import ConfigError, DataError, RunError
from taulong.runs import execution as runs
from taulong.runs.accounts import Account, Spending
from taulong.runs.config import RunConfig
from taulong.runs.estimate import estimate_run
from taulong.runs.execution import execute_runs
from taulong.runs.folder import RunFolder
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts

CANARY = "canary-7f3a9c51d2e84b06"
PRICES = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
RESULTS = ("records.jsonl", "transcripts.jsonl")


@pytest.fixture(scope="module")
def shifts():
    return generate_shifts(num_shifts=2)


@pytest.fixture(scope="module")
def shifts_file(shifts, tmp_path_factory):
    return str(write_shifts(shifts, tmp_path_factory.mktemp("shifts") / "two.jsonl"))


@pytest.fixture(scope="module")
def scripted(shifts_file):
    return RunConfig(shifts_file, ("learner", "guesser"), ("none", "notebook"))


@pytest.fixture(scope="module")
def expected(scripted, tmp_path_factory):
    return results(execute_runs(scripted, tmp_path_factory.mktemp("runs") / "serial"))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setattr(models, "sleep", lambda seconds: None)


def results(folder):
    return [(folder.path / name).read_bytes() for name in RESULTS]


def on_model(shifts_file, endpoint, modes=("notebook",), **arguments):
    return RunConfig(
        shifts_file,
        ("llm",),
        modes,
        agent_llm="openai/tested",
        agent_llm_args={"base_url": endpoint.url, "timeout": 20, **arguments},
    )


# --- spread -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spread",
    [
        {"executor": "threads", "workers": 3},
        {"executor": "processes", "workers": 2},
        {"executor": "serial", "workers": 5},
        pytest.param({"executor": "cluster", "workers": 3}, marks=pytest.mark.slow),
    ],
    ids=lambda spread: spread["executor"],
)
def test_results_do_not_depend_on_the_executor(scripted, expected, tmp_path, spread):
    if spread["executor"] == "cluster":
        pytest.importorskip("distributed", reason="needs taulong[cluster]")
    folder = execute_runs(scripted, tmp_path / "run", **spread)
    assert results(folder) == expected
    assert not (folder.path / "journal.jsonl").exists()


def test_a_models_results_do_not_depend_on_the_executor(shifts, shifts_file, tmp_path):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        config = on_model(shifts_file, endpoint)
        serial = execute_runs(config, tmp_path / "serial", executor="serial")
        threads = execute_runs(config, tmp_path / "threads")
    assert results(serial) == results(threads)
    assert len(serial.records()) == 16


@pytest.mark.parametrize(
    ("spread", "at_once"),
    [({}, 16), ({"executor": "cluster"}, 16), ({"executor": "serial"}, 1), ({"scheduler": "tcp://there:1"}, None)],
    ids=["threads", "cluster", "serial", "scheduler"],
)
def test_how_many_units_of_a_model_are_under_way(shifts, shifts_file, tmp_path, monkeypatch, spread, at_once):
    asked = []

    @contextmanager
    def executor(kind, workers, scheduler, ledger):
        asked.append(workers)
        with ThreadPoolExecutor(4) as pool:
            yield pool, 4

    monkeypatch.setattr(runs, "new_executor", executor)
    with Endpoint(scripted_sides(shifts)) as endpoint:
        execute_runs(on_model(shifts_file, endpoint), tmp_path / "run", max_cases=1, **spread)
    assert asked == [at_once]


def test_what_all_threads_ask_for_is_found_before_there_are_threads():
    found = "import taulong.cases.case, taulong.shifts.causes as c; print(len(c.recurring_causes.kept))"
    shown = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "1"


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes_and_survives_a_killed_worker(scripted, expected, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs taulong[cluster]")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, env={"PYTHONPATH": package()}
        ) as cluster,
        ThreadPoolExecutor(1) as pool,
        distributed.Client(cluster) as client,
    ):
        running = pool.submit(execute_runs, scripted, tmp_path / "run", scheduler=cluster.scheduler_address)
        while (
            not (tmp_path / "run" / "journal.jsonl").exists() or not (tmp_path / "run" / "journal.jsonl").stat().st_size
        ):
            assert not running.done() or running.result()
            time.sleep(0.02)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        folder = running.result(timeout=120)
    assert results(folder) == expected


@contextmanager
def at_work(tmp_path, executor, num_shifts=4):
    """Give the endpoint and the process of ``taulong run``, in a session of its own, once its first case has ended."""
    if executor == "cluster":
        pytest.importorskip("distributed", reason="needs taulong[cluster]")
    shifts = generate_shifts(num_shifts=num_shifts)
    path = write_shifts(shifts, tmp_path / "four.jsonl")
    with Endpoint(scripted_sides(shifts), latency=0.1) as endpoint:
        arguments = ["--agents", "llm", "--agent-llm", "openai/tested", "--memory-modes", "notebook", "--workers", "4"]
        spread = ["--agent-llm-args", json.dumps({"base_url": endpoint.url}), "--executor", executor]
        running = subprocess.Popen(
            [sys.executable, "-m", "taulong", "run", path, "--name", tmp_path / "run", *arguments, *spread],
            env={**os.environ, "PYTHONPATH": package()},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        journal = tmp_path / "run" / "journal.jsonl"
        while not journal.exists() or not journal.stat().st_size:
            assert running.poll() is None
            time.sleep(0.02)
        yield endpoint, running
        running.kill()


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", "cluster"])
def test_ctrl_c_does_not_reach_worker_processes_and_what_they_have_under_way_is_kept(tmp_path, executor):
    with at_work(tmp_path, executor) as (_, running):
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=60) == 130
    records = RunFolder(tmp_path / "run").records()
    assert 4 <= len(records) < 32
    assert set(records["outcome"]) == {"scored"}
    assert not (tmp_path / "run" / "journal.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads", "processes", "cluster"])
def test_a_second_ctrl_c_drops_what_is_under_way_and_keeps_what_has_ended(tmp_path, executor):
    with at_work(tmp_path, executor) as (endpoint, running):
        endpoint.latency = 300.0
        time.sleep(1)
        os.killpg(running.pid, signal.SIGINT)
        time.sleep(2)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=40) == 130
    records = RunFolder(tmp_path / "run").records()
    assert 1 <= len(records) < 32
    assert set(records["outcome"]) == {"scored"}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_worker_processes_end_with_the_one_that_was_killed(tmp_path):
    def session(leader):
        return [stat for stat in map(stat_of, Path("/proc").glob("[0-9]*")) if stat and int(stat[3]) == leader]

    with at_work(tmp_path, "processes") as (endpoint, running):
        endpoint.latency = 300.0
        assert len(session(running.pid)) > 4
        running.kill()
        running.wait()
        deadline = time.monotonic() + 20
        while session(running.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert session(running.pid) == []


def stat_of(process):
    """Return what follows the name in a process's stat (its state, parent, group, session, ...); [] for one that is gone."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def package():
    return str(Path(taulong.__file__).parents[1])


def test_never_more_units_at_once_than_workers_and_a_units_cases_in_order(shifts_file, tmp_path, monkeypatch):
    active, seen = set(), []

    def watched(shift, case, memory, agent, *arguments):
        unit = (shift.seed, memory.mode)
        active.add(unit)
        seen.append((len(active), unit, case.position))
        outcome = run_case(shift, case, memory, agent, *arguments)
        if case.position == len(shift.cases):
            active.remove(unit)
        return outcome

    monkeypatch.setattr(cases, "run_case", watched)
    execute_runs(RunConfig(shifts_file, ("learner",), ("none", "oracle")), tmp_path / "run", 3, executor="threads")
    assert max(count for count, _, _ in seen) <= 3
    for unit in {unit for _, unit, _ in seen}:
        assert [position for _, other, position in seen if other == unit] == list(range(1, 9))


def test_a_dead_worker_process_is_said_and_what_ended_is_kept(scripted, expected, tmp_path, monkeypatch):
    config = RunConfig(scripted.shifts, ("learner",), ("none",))
    monkeypatch.setattr(runs, "run_step", die_at_the_third)
    with pytest.raises(RunError, match="a worker process died"):
        execute_runs(config, tmp_path / "run", 1, executor="processes")
    assert [row["record"]["position"] for row in RunFolder(tmp_path / "run").rows().values()] == [1, 2]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "no-address"])
def test_a_scheduler_that_cannot_be_reached_is_said(scripted, tmp_path, address):
    pytest.importorskip("distributed", reason="needs taulong[cluster]")
    import dask

    said = pytest.raises(ConfigError, match=f"scheduler: '{address}' cannot be reached")
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}), said:
        execute_runs(scripted, tmp_path / "run", scheduler=address)


def test_a_lost_scheduler_is_said_and_what_ended_is_kept(scripted, tmp_path, monkeypatch):
    class Lost(Executor):
        count = 0

        def submit(self, call, *arguments):
            self.count += 1
            future = Future()
            if self.count > 2:
                future.cancel()  # as distributed does when it gives the scheduler up
                future.set_running_or_notify_cancel()
            else:
                future.set_result(call(*arguments))
            return future

    monkeypatch.setattr(runs, "new_executor", lambda *_: nullcontext((Lost(), 4)))
    with pytest.raises(RunError, match="run: the scheduler was lost; every case that ended is kept"):
        execute_runs(scripted, tmp_path / "run")
    assert len(RunFolder(tmp_path / "run").records()) == 2


def die_at_the_third(unit, step, memory, *_):
    if step == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return runs.run_step(unit, step, memory)  # in the worker, where it is not patched


# --- failures and resumption ------------------------------------------------------------------------------------------


def test_a_failed_case_is_no_zero_and_its_shift_is_incomplete_until_resumed(shifts, shifts_file, tmp_path, capsys):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        config = on_model(shifts_file, endpoint, **PRICES)
        whole = execute_runs(config, tmp_path / "whole", executor="serial")
        endpoint.requests.clear()
        endpoint.fault = lambda number, request: CONTEXT_WINDOW if number > 30 else None
        cut = execute_runs(config, tmp_path / "cut", executor="serial")
        records = cut.records()
        assert list(records["outcome"]).count("unscored") == 2  # one a shift, and nothing after it
        assert records.loc[records["outcome"] == "unscored", "official_reward"].isna().all()
        line = str(cut.account)
        assert f"{cut.account.scored} of 16 planned cases scored, 2 unscored (2 context_window), " in line
        spent = cut.account.spending
        lost = [row["record"] for row in cut.rows().values() if row["record"]["outcome"] == "unscored"]
        endpoint.fault = lambda *_: None
        endpoint.requests.clear()
        resumed = execute_runs(config, tmp_path / "cut")
    assert results(resumed) == results(whole)
    wasted = Spending.of_record(lost[0]) + Spending.of_record(lost[1])
    total = resumed.account.spending
    assert wasted.tokens > 0
    assert total.tokens == whole.account.spending.tokens + wasted.tokens
    assert total.cost == pytest.approx(1e-6 * total.tokens)
    assert spent.tokens < total.tokens
    assert execute_runs(config, tmp_path / "cut").account.spending.tokens == total.tokens  # read back from the folder
    assert capsys.readouterr().err == ""


def test_seven_failures_and_one_success_are_one_of_eight():
    records = [
        {
            "agent_tokens": 1,
            "user_tokens": 0,
            "agent_cost": 0.0,
            "user_cost": 0.0,
            "unpriced_calls": 0,
            "reason": "timeout: x",
            "outcome": "unscored",
            "official_reward": None,
        }
    ] * 7
    records.append({**records[0], "outcome": "scored", "reason": None, "official_reward": 1.0})
    text = str(Account(8, [{"record": record} for record in records]))
    assert text.startswith("1 of 8 planned cases scored, 7 unscored (7 timeout), 0 owed, reward 1")
    assert "100" not in text


def test_a_failed_grading_is_made_up_for_without_a_call(shifts, shifts_file, tmp_path, monkeypatch):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        config = on_model(shifts_file, endpoint)
        whole = execute_runs(config, tmp_path / "whole")
        with monkeypatch.context() as broken:
            broken.setattr(grading, "grade", lambda *_: 1 / 0)
            ungraded = execute_runs(config, tmp_path / "run")
        assert ungraded.account.scored == 0
        assert ungraded.account.failures == {"grading": 16}
        endpoint.requests.clear()
        assert results(execute_runs(config, tmp_path / "run")) == results(whole)
        assert endpoint.requests == []


def test_another_configuration_is_refused_with_the_difference(shifts_file, tmp_path):
    with Endpoint() as endpoint:
        execute_runs(on_model(shifts_file, endpoint), tmp_path / "run", max_cases=0)
        with pytest.raises(DataError, match=r"agent_llm_args is .* there and .*'temperature': 1"):
            execute_runs(on_model(shifts_file, endpoint, temperature=1), tmp_path / "run")
        execute_runs(on_model(shifts_file, endpoint, timeout=7), tmp_path / "run", max_cases=0)  # changes no question


def test_two_processes_do_not_execute_one_run(shifts_file, tmp_path):
    config = RunConfig(shifts_file, ("learner",), ("none",))
    folder = execute_runs(config, tmp_path / "run", max_cases=0)
    with folder.journal(folder.manifest), pytest.raises(RunError, match="another process"):
        execute_runs(config, tmp_path / "run", max_cases=0)
    assert len(execute_runs(config, tmp_path / "run", max_cases=1).records()) == 1


def test_an_interrupt_keeps_the_cases_under_way(scripted, expected, tmp_path, monkeypatch):
    count = []

    def interrupted(account, row, replaced=None):
        count.append(row)
        if len(count) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Account, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            execute_runs(scripted, tmp_path / "run", 2, executor="threads")
    assert len(RunFolder(tmp_path / "run").records()) == len(count) >= 5
    assert results(execute_runs(scripted, tmp_path / "run")) == expected


# --- limits and the dry run -------------------------------------------------------------------------------------------


def test_max_cases_stops_before_the_next_case_and_finds_shifts_complete(scripted, expected, tmp_path):
    folder = execute_runs(scripted, tmp_path / "run", max_cases=8)
    assert folder.account.stopped == "max_cases 8 reached"
    assert list(folder.records()["position"]) == list(range(1, 9))
    assert len(execute_runs(scripted, tmp_path / "run", 3, executor="threads", max_cases=5).records()) == 13
    done = execute_runs(scripted, tmp_path / "run", max_cases=51)
    assert results(done) == expected
    assert done.account.stopped is None


def test_max_cost_stops_before_the_next_case_over_all_sessions(shifts, shifts_file, tmp_path):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        config = on_model(shifts_file, endpoint, **PRICES)
        first = execute_runs(config, tmp_path / "run", executor="serial", max_cost=1e-9)
        assert len(first.records()) == 1
        assert first.account.stopped == "max_cost 1e-09 reached"
        calls = len(endpoint.requests)
        execute_runs(config, tmp_path / "run", max_cost=1e-9)
        assert len(endpoint.requests) == calls
        unpriced = execute_runs(on_model(shifts_file, endpoint), tmp_path / "unpriced", 1, max_cost=5.0)
    assert len(unpriced.records()) == 1
    assert "have no price; go on without it" in unpriced.account.stopped


@pytest.mark.parametrize(
    "limits", [{"max_cases": -1}, {"max_cost": "5"}, {"max_cost": float("nan")}, {"executor": "thread"}, {"workers": 0}]
)
def test_limits_are_checked_first(scripted, tmp_path, limits):
    with pytest.raises(ConfigError, match=next(iter(limits))):
        execute_runs(scripted, tmp_path / "run", **limits)
    assert not (tmp_path / "run").exists()


def test_spending_in_words():
    assert str(Spending(1200, 0.41, 3)) == "1,200 tokens, $0.41 + 3 unpriced"
    assert str(Spending(1200, 0.41)) == "1,200 tokens, $0.41"


def test_a_dry_run_runs_nothing_and_learns_from_what_is_done(shifts, shifts_file, tmp_path):
    with Endpoint(scripted_sides(shifts)) as endpoint:
        config = on_model(shifts_file, endpoint)
        guess = estimate_run(config, tmp_path / "run")
        assert (guess.planned, guess.done) == (16, 0)
        assert endpoint.requests == []
        assert not (tmp_path / "run").exists()
        half = execute_runs(config, tmp_path / "run", executor="serial", max_cases=8)
        calls, tokens = len(endpoint.requests), half.account.spending.tokens
        rest = estimate_run(config, tmp_path / "run")
        with pytest.raises(DataError, match="run: holds 8 cases of a model"):
            estimate_run(config, tmp_path / "run", fresh=True)
        afresh = estimate_run(config, tmp_path / "run", replace="run")
        other = replace(config, trials=2)
        with pytest.raises(DataError, match="trials is 1 there and 2 here"):
            estimate_run(other, tmp_path / "run")
        assert estimate_run(other, tmp_path / "run", replace="run").planned == 32
    assert (rest.planned, rest.done) == (16, 8)
    assert rest.tokens == tokens
    assert (afresh.done, afresh.calls) == (0, guess.calls)
    assert rest.calls == calls
    assert 0.5 < guess.calls / (2 * calls) < 2
    assert str(rest).startswith("16 cases planned, 8 done, 8 owed: about ")
    scripted = estimate_run(RunConfig(shifts_file, ("learner",)), tmp_path / "other")
    assert (scripted.calls, scripted.tokens) == (0, 0)


# --- real processes ---------------------------------------------------------------------------------------------------


def test_a_batch_log_is_short_and_holds_no_key(shifts, shifts_file, tmp_path):
    with Endpoint(scripted_sides(shifts), fault=lambda number, request: None) as endpoint:
        command = [
            sys.executable,
            "-m",
            "taulong",
            "run",
            shifts_file,
            "--name",
            str(tmp_path / "run"),
            "--agents",
            "llm",
            "--agent-llm",
            "openai/tested",
            "--agent-llm-args",
            json.dumps({"base_url": endpoint.url}),
            "--max-cases",
            "12",
        ]
        ran = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": package()}, timeout=120
        )
        refused = subprocess.run(
            [*command[:-3], '{"api_key": "sk-abcdef123456"}'],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": package()},
            timeout=120,
        )
    assert ran.returncode == 0, ran.stderr
    assert "\r" not in ran.stderr
    assert 1 < len(ran.stderr.splitlines()) <= runs.PROGRESS_LINES + 1
    assert "stopped as asked: max_cases 12 reached\n12 of 48 planned cases scored, 0 unscored, 36 owed" in ran.stdout
    files = [path.read_text() for path in (tmp_path / "run").iterdir()]
    assert len(files) >= 4
    assert not any(CANARY in text for text in [*files, ran.stdout, ran.stderr])
    assert refused.returncode == 2
    assert "looks like a key" in refused.stderr
    assert "abcdef" not in refused.stderr


def kill_and_resume(config, path, times, label):
    """Kill a process that executes a run at drawn moments, so many times; return how many kills met it at work."""
    met = 0
    for number in range(times):
        pid = os.fork()
        if pid == 0:
            try:
                execute_runs(config, path)
            finally:
                os._exit(0)
        journal, deadline = path / "journal.jsonl", time.monotonic() + 60
        while not journal.exists() and time.monotonic() < deadline:  # it is at work from here until the last case
            if os.waitpid(pid, os.WNOHANG) != (0, 0):
                return met
            time.sleep(0.001)
        time.sleep(Draws("kill", label, number).between(0, 60 if number == 0 else 600) / 1000)
        os.kill(pid, signal.SIGKILL)
        met += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        held = RunFolder(path).rows() if path.exists() else {}
        assert all(row["record"]["outcome"] == "scored" for row in held.values())
    return met


def test_a_killed_run_loses_at_most_the_case_in_flight(scripted, expected, tmp_path):
    assert kill_and_resume(scripted, tmp_path / "run", 3, "few") >= 1
    assert results(execute_runs(scripted, tmp_path / "run")) == expected


@pytest.mark.slow
def test_a_run_killed_fifty_times(shifts_file, tmp_path):
    config = RunConfig(shifts_file, ("learner", "guesser", "meddler"), ("none", "notebook", "oracle"))
    whole = execute_runs(config, tmp_path / "whole")
    met = sum(kill_and_resume(config, tmp_path / f"run-{label}", 5, label) for label in range(10))
    assert met >= 25
    for label in range(10):
        assert results(execute_runs(config, tmp_path / f"run-{label}")) == results(whole)


def test_a_torn_last_line_is_owed(scripted, expected, tmp_path):
    execute_runs(scripted, tmp_path / "run", max_cases=9)
    folder = RunFolder(tmp_path / "run")
    rows = list(folder.rows().values())
    for name in (*RESULTS, "timings.jsonl"):
        (folder.path / name).write_text("")
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder.path / "journal.jsonl").write_text(text[:-20])
    assert len(folder.rows()) == 8
    assert results(execute_runs(scripted, tmp_path / "run")) == expected
