"""The benchmark as an environment of verifiers, over real HTTP: the library, its interception, LiteLLM and tau2.

The library's command exits 0 whatever has become of its rollouts, so what it wrote is read.
"""

import asyncio
import itertools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed: run by make test-bench")

import taulong_bench_v1  # noqa: E402
from endpoint import CONTEXT_WINDOW, Endpoint, Fault, rate_limit, scripted_sides  # noqa: E402

from taulong import bench, cli, models, runs, shifts  # noqa: E402
from taulong.bench.taskset import BenchConfig, ShiftTaskset  # noqa: E402
from taulong.bench.traces import import_traces, read_rollouts, read_traces  # noqa: E402
from taulong.errors import DataError  # noqa: E402
from taulong.runs.config import RunConfig  # noqa: E402
from taulong.runs.execution import execute_runs  # noqa: E402
from taulong.shifts.configuration import ShiftConfig  # noqa: E402
from taulong.shifts.files import write_shifts  # noqa: E402
from taulong.shifts.generation import generate_shifts  # noqa: E402
from taulong.value.metrics import case_metrics, read_table, require_complete, shift_rewards  # noqa: E402

NAME = "qwen/qwen3-30b-a3b-instruct-2507"
SMALL = {"split": "eval", "num_shifts": 1, "num_cases": 4}
SHORT = {"num_cases": 2, "incident_fraction": 1.0, "teaching_count": 1, "patience": 1}
GIVE_UP = {"role": "assistant", "content": "I am sorry, I cannot help you with this. Goodbye."}
DENIED = Fault("status", 401, "Incorrect API key provided")
WHERE = """
import sys
from verifiers.v1.cli.eval.main import main
try:
    main(["taulong-bench-v1", "--help"])
except SystemExit:
    pass
print("\\nloaded:", *sorted({"tau2", "pandas", "litellm"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def served():
    with Endpoint(scripted_sides(generate_shifts(ShiftConfig(num_cases=4), num_shifts=2), trials=2)) as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Where data/ is; waits between attempts take no time."""
    monkeypatch.setattr(models, "sleep", lambda seconds: None)
    monkeypatch.setattr(runs, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(shifts, "SHIFTS", tmp_path / "shifts")
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-is-needed")
    return tmp_path


def evaluate(url, folder, num_rollouts=1, timeout=None, **taskset):
    """Run rollouts as ``eval`` does and return the traces that it wrote, as plain data."""
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.configs.eval import EvalConfig

    config = EvalConfig.model_validate(
        {
            "taskset": {"id": "taulong-bench-v1", **taskset},
            "model": NAME,
            "client": {"type": "eval", "base_url": url},
            "rich": False,
            "push": False,
            "output_dir": folder,
            "num_rollouts": num_rollouts,
            "timeout": {"rollout": timeout},
        }
    )
    asyncio.run(run_eval(vf.Environment(config), config))
    return [json.loads(line) for line in (folder / "traces.jsonl").read_text().splitlines()]


def records(trace):
    return [row["record"] for row in trace["info"]["cases"]]


# --- what the library finds -------------------------------------------------------------------------------------------


def test_the_library_finds_the_taskset_and_its_harness():
    from verifiers.v1.loaders import default_harness_id, taskset_class, taskset_config_type

    assert taskset_class("taulong-bench-v1") is ShiftTaskset
    assert default_harness_id("taulong-bench-v1") == "taulong-bench-v1"
    assert taskset_config_type("taulong-bench-v1") is BenchConfig
    assert taulong_bench_v1.__all__ == ["ShiftHarness", "ShiftTaskset"]


def test_help_is_answered_without_tau2():
    done = subprocess.run(
        [sys.executable, "-c", WHERE], capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"}, check=True
    )
    assert done.stdout.endswith("\nloaded:\n")
    for field in BenchConfig.model_fields.keys() - vf.TasksetConfig.model_fields.keys():
        assert f"--taskset.{field.replace('_', '-')} " in done.stdout


def test_the_fields_are_those_of_a_shift_and_train_is_the_default():
    config = BenchConfig()
    assert config.split == "train"
    assert config.shift_config() == ShiftConfig()
    assert config.user_llm is None


@pytest.mark.parametrize(("fields", "message"), [
    ({"memory_mode": "notbook"}, "memory_mode: 'notbook' is not one of .*did you mean 'notebook'"),
    ({"memory_mode": "frozen"}, "memory_mode: 'frozen' is a second pass"),
    ({"memory_args": {"size": 3}}, "memory_args.notebook: .*unexpected|memory_args.notebook: .*too many|memory_args.notebook: got"),
    ({"split": "evl"}, "split: 'evl' .*did you mean 'eval'"),
    ({"num_shifts": 0}, "num_shifts: 0 is not an integer from 1"),
    ({"seed_offset": -1}, "seed_offset: -1"),
    ({"seed_offset": 999_999, "num_shifts": 2}, "seed_offset: 999999 .*leaves the train split"),
    ({"num_cases": 1}, "num_cases: 1 is not an integer from 2"),
    ({"teaching_count": 6}, "teaching_count: 6 leaves no testing case"),
    ({"incident_fraction": 1.5}, "incident_fraction: 1.5"),
    ({"patience": 0, "max_steps": 1, "notebook_cap": -1}, "patience: 0 .*max_steps: 1 .*notebook_cap: -1"),
    ({"user_llm": " "}, "llm: ' ' is not the name of a model"),
    ({"user_llm": "openai/x", "user_base_url": "https://me:word@host/v1"}, "base_url: .*looks like a key"),
    ({"user_base_url": "http://127.0.0.1:1/v1"}, "user_base_url: .* is of no model"),
])  # fmt: skip
def test_a_bad_value_is_refused_by_name_before_anything_runs(fields, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        BenchConfig(**fields)


def test_a_task_is_a_shift_and_says_nothing_of_its_cause():
    tasks = list(ShiftTaskset(BenchConfig(id="taulong-bench-v1", split="eval", num_shifts=3, seed_offset=5)).load())
    assert [task.data.name for task in tasks] == ["eval-1000005", "eval-1000006", "eval-1000007"]
    assert [task.data.idx for task in tasks] == [0, 1, 2]
    causes = {cause for shift in generate_shifts(num_shifts=4) for cause in [shift.recurring_cause]}
    assert len(causes) == 4
    assert not any(cause in task.data.model_dump_json() for task in tasks for cause in causes)


# --- rollouts ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rolled(served, tmp_path_factory):
    """The traces of one rollout of a shift in each of three modes, and the outputs folder that they are in."""
    outputs = tmp_path_factory.mktemp("outputs")
    return outputs, {
        mode: evaluate(served.url, outputs / mode, **SMALL, memory_mode=mode) for mode in ("none", "notebook", "oracle")
    }


def test_rollouts_have_the_records_and_transcripts_of_the_suites_own_runs(served, rolled, place):
    write_shifts(generate_shifts(ShiftConfig(num_cases=4)), "own")
    own = execute_runs(
        RunConfig("own", ("llm",), agent_llm=f"openai/{NAME}", agent_llm_args={"base_url": served.url}), "own"
    )
    ours = import_traces(rolled[0], "mine")
    for name in ("records.jsonl", "transcripts.jsonl"):
        assert (ours.path / name).read_bytes() == (own.path / name).read_bytes()
    different = {field for field, value in own.manifest.items() if ours.manifest.get(field) != value}
    assert different == {"shifts", "agent_llm_args"}  # where the endpoint is; the set has the same digest
    assert (shifts.SHIFTS / "mine.jsonl").read_bytes() == (shifts.SHIFTS / "own.jsonl").read_bytes()


def test_rewards_and_metrics_are_those_of_the_tables(rolled, place):
    import_traces(rolled[0], "mine")
    table = read_table("mine")
    rewards = shift_rewards(table).set_index("memory_mode")["value"]
    shares = case_metrics(table).set_index(["memory_mode", "metric", "reward"])["value"]
    for mode, [trace] in rolled[1].items():
        [shift] = [table[table["memory_mode"] == mode]]
        assert trace["errors"] == []
        assert trace["stop_condition"] == "agent_completed"
        assert trace["rewards"] == {"official_reward": rewards[mode]}
        accuracies = ("masked_env_accuracy", "teaching_env_accuracy", "lookalike_env_accuracy")
        assert trace["metrics"] == {
            **{name: shares[mode, name, "official_reward"] for name in accuracies},
            "masked_transfer_rate": shares[mode, "masked_transfer_rate", "either"],
            "gated_reward": shift["gated_reward"].sum(),
            "steps": shift["steps"].sum(),
            "utterances": shift["utterances"].sum(),
            "tool_errors": shift["tool_errors"].sum(),
            "notebook_length": shift["notebook_length_after"].iloc[-1],
        }
    assert rewards["oracle"] == rewards["notebook"] == 4


def test_rollouts_of_one_shift_are_trials_of_their_own(served, place):
    traces = evaluate(served.url, place / "outputs", num_rollouts=2, **SMALL, memory_mode="notebook")
    assert sorted({record["trial"] for trace in traces for record in records(trace)}) == [0, 1]
    folder = import_traces(place / "outputs", "mine")
    assert folder.manifest["trials"] == 2
    assert require_complete(read_table("mine")) == ""


def test_workers_of_a_pool_take_trials_of_their_own(place, monkeypatch):
    monkeypatch.setattr(bench.multiprocessing, "parent_process", lambda: "the pool")
    with Endpoint(fault=lambda *_: Fault("message", message=GIVE_UP)) as endpoint:
        traces = evaluate(endpoint.url, place / "outputs", num_rollouts=3, num_shifts=1, memory_mode="none", **SHORT)
        asked = len({request["seed"] for request in endpoint.requests})
    assert {record["trial"] for trace in traces for record in records(trace)} == {int(t["id"][:8], 16) for t in traces}
    assert asked == 6  # three rollouts of two cases
    assert set(read_traces(place / "outputs")["trial"]) == {0, 1, 2}


class Gathering(Endpoint):
    """Answers none of the first 64 calls until all of them have come, and every call that the agent gives up."""

    def __init__(self):
        super().__init__()
        self.came, self.all_here = itertools.count(), threading.Barrier(64)

    def next_message(self, request):
        if next(self.came) < 64:
            self.all_here.wait(60)
        return GIVE_UP


def test_sixty_four_rollouts_are_under_way_at_once(place):
    with Gathering() as endpoint:
        traces = evaluate(
            endpoint.url, place / "outputs", num_rollouts=16, split="train", num_shifts=4, memory_mode="none", **SHORT
        )
        assert not endpoint.all_here.broken
    assert len(traces) == 64
    assert {(len(records(trace)), trace["rewards"]["official_reward"], len(trace["errors"])) for trace in traces} == {
        (2, 0.0, 0)
    }


def test_a_modelled_customer_has_its_own_endpoint(served, place):
    with Endpoint(scripted_sides(generate_shifts(ShiftConfig(num_cases=4)))) as customers:
        fields = SMALL | {"user_llm": "openai/customer", "user_base_url": customers.url}
        [trace] = evaluate(served.url, place / "outputs", memory_mode="oracle", **fields)
        asked = {request["model"] for request in customers.requests}
    assert trace["rewards"] == {"official_reward": 4.0}
    assert asked == {"customer"}
    assert {record["user"] for record in records(trace)} == {"openai/customer"}
    folder = import_traces(place / "outputs", "mine")
    assert (folder.manifest["user"], folder.manifest["user_llm"]) == ("llm", "openai/customer")


def test_the_key_of_a_rollout_is_written_nowhere(served, place, monkeypatch):
    keys, run_shift = [], bench.run_shift
    monkeypatch.setattr(bench, "run_shift", lambda *arguments: keys.append(arguments[4]) or run_shift(*arguments))
    evaluate(served.url, place / "outputs", **SMALL)
    import_traces(place / "outputs", "mine")
    [key] = keys
    assert len(key) > 16
    written = [path for path in place.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [path for path in written if key in path.read_text()]


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failure_that_passes_is_no_failure(served, place):
    faults = [None, rate_limit(), Fault("status", 503), None]
    with Endpoint(served.sides, faults=faults) as endpoint:
        [trace] = evaluate(endpoint.url, place / "outputs", **SMALL, memory_mode="oracle")
    assert trace["errors"] == []
    assert trace["rewards"] == {"official_reward": 4.0}


@pytest.mark.parametrize(("fault", "error", "said"), [
    (DENIED, "ProviderError", "Incorrect API key"),
    (CONTEXT_WINDOW, "TaskError", "context_length"),
    (Fault("status", 500), "ProviderError", "the server had an error"),
])  # fmt: skip
def test_an_infrastructure_failure_is_an_error_of_the_rollout_and_no_zero(served, place, fault, error, said):
    with Endpoint(served.sides, fault=lambda number, _: fault if number > 12 else None) as endpoint:
        [trace] = evaluate(endpoint.url, place / "outputs", **SMALL, memory_mode="notebook")
    assert trace["rewards"] == {}
    assert [found["type"] for found in trace["errors"]] == [error]
    assert said in trace["errors"][0]["message"]
    first, *_, last = records(trace)
    assert (first["outcome"], last["outcome"]) == ("scored", "unscored")
    assert len(records(trace)) < 4
    assert import_traces(place / "outputs", "mine").manifest["planned_cases"] == 4
    assert list(read_table("mine")["outcome"]) == [record["outcome"] for record in records(trace)] + ["owed"] * (
        4 - len(records(trace))
    )


def test_a_rollout_that_runs_out_of_time_is_an_error_too(served, place):
    with Endpoint(served.sides, latency=0.4) as endpoint:
        [trace] = evaluate(endpoint.url, place / "outputs", timeout=0.6, **SMALL)
    assert trace["stop_condition"] == "harness_timeout"
    assert trace["rewards"] == {}
    assert "of 4 cases were run (harness_timeout)" in trace["errors"][0]["message"]


def test_a_case_that_cannot_be_graded_makes_no_reward(served, place, monkeypatch):
    from taulong.cases import grading

    def broken(*_):
        raise RuntimeError("no grader today")

    monkeypatch.setattr(grading, "grade", broken)
    [trace] = evaluate(served.url, place / "outputs", **SMALL)
    assert trace["rewards"] == {}
    assert "grading: RuntimeError: no grader today" in trace["errors"][0]["message"]


# --- reading what the library wrote -----------------------------------------------------------------------------------


def test_records_are_read_from_the_layout_of_episodes_too(rolled, place):
    folder = place / "later" / "eval"
    folder.mkdir(parents=True)
    [trace] = rolled[1]["oracle"]
    agent = {"config": {"model": trace["agent"]["model"]}}
    (folder / "traces.jsonl").write_text(json.dumps({"id": "1", "traces": [trace | {"agent": agent}]}) + "\n")
    [rollout] = read_rollouts(place / "later")
    assert (rollout.agent, rollout.rows) == (f"openai/{NAME}", trace["info"]["cases"])
    assert list(read_traces(place / "later")["case_id"]) == [record["case_id"] for record in records(trace)]


def test_what_is_no_output_of_the_benchmark_is_refused(place):
    other = place / "outputs" / "other"
    other.mkdir(parents=True)
    with pytest.raises(DataError, match="outputs: no rollout of taulong-bench-v1"):
        read_traces(place / "outputs")
    (other / "traces.jsonl").write_text(json.dumps({"task": {"type": "Gsm8kTask", "data": {}}}) + "\n")
    with pytest.raises(DataError, match="outputs: no rollout of taulong-bench-v1"):
        read_traces(place / "outputs")
    (other / "traces.jsonl").write_text('{"task": {"type": "ShiftTask"')
    with pytest.raises(DataError, match=r"other/traces.jsonl, line 1: not JSON, or cut short"):
        read_traces(place / "outputs")
    (other / "traces.jsonl").write_text(json.dumps({"task": {"type": "ShiftTask"}}) + "\n")
    with pytest.raises(DataError, match=r"other/traces.jsonl, line 1: not a trace of verifiers"):
        read_traces(place / "outputs")


def test_rollouts_that_do_not_fit_together_are_refused(rolled, place):
    [trace] = rolled[1]["none"]
    for name, change in (("a", {}), ("b", {"shift_config": {"num_cases": 5}})):
        (place / name).mkdir()
        task = trace["task"] | {"data": trace["task"]["data"] | change}
        (place / name / "traces.jsonl").write_text(json.dumps(trace | {"task": task}) + "\n")
    with pytest.raises(DataError, match=r"b: shift_config is .*5.* there and .* in a; import them apart"):
        import_traces(place, "mine")
    trace["info"]["cases"][0]["record"] |= {"tau2_data": "0123"}
    (place / "b" / "traces.jsonl").write_text(json.dumps(trace) + "\n")
    with pytest.raises(DataError, match="b: was run with tau2 data 0123; installed is "):
        import_traces(place, "mine")
    assert not (place / "runs").exists()
    assert not (place / "shifts").exists()


def test_a_taken_name_is_refused(rolled, place):
    write_shifts(generate_shifts(num_shifts=2), "others")
    with pytest.raises(DataError, match="'others' is that of another set of shifts"):
        import_traces(rolled[0], "others")
    import_traces(rolled[0], "mine")
    with pytest.raises(DataError, match="'mine' is that of a run already"):
        import_traces(rolled[0], "mine")


def test_the_command_says_what_the_rollouts_come_to(rolled, place, capsys):
    assert cli.main(["import", str(rolled[0]), "--name", "mine"]) == 0
    assert capsys.readouterr().out.startswith("12 of 12 planned cases scored, 0 unscored, 0 owed, reward ")


# --- the published command --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_published_command_works_as_it_is_published(place):
    command = (f"eval taulong-bench-v1 -m {NAME} -n 1 -r 1 --rich false "
               "--taskset.num_shifts 1 --taskset.split eval --taskset.memory_mode notebook")  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with Endpoint(scripted_sides(generate_shifts())) as endpoint:
        done = subprocess.run(
            [str(Path(sys.executable).parent / "eval"), *command.split()[1:]], cwd=place, capture_output=True,
            text=True, env=environment | {"PRIME_INFERENCE_URL": endpoint.url})  # fmt: skip
    assert done.returncode == 0, done.stderr
    [path] = (place / "outputs").rglob("traces.jsonl")
    assert path.parent.parent.name == f"taulong-bench-v1--{NAME.replace('/', '--')}--taulong-bench-v1"
    [trace] = [json.loads(line) for line in path.read_text().splitlines()]
    assert trace["errors"] == []
    assert trace["rewards"] == {"official_reward": 8.0}
