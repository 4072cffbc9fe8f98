"""Rollouts of verifiers become runs: what its files hold is data, of which each fault is one sentence."""

import json
from dataclasses import asdict

import pytest

from taulong.bench.traces import import_traces, read_rollouts
from taulong.errors import ConfigError, DataError
from taulong.runs.folder import run_path
from taulong.runs.units import Unit, run_unit
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.files import shift_paths
from taulong.shifts.generation import generate_shift

SMALL = ShiftConfig(num_cases=2, teaching_count=1, incident_fraction=1.0)


@pytest.fixture(scope="module")
def trace():
    shift = generate_shift(SMALL, "eval", 1_000_000)
    data = {"split": "eval", "seed": shift.seed, "shift_config": asdict(SMALL), "memory_mode": "none"}
    task = {"type": "ShiftTask", "data": data}
    rows = run_unit(Unit(shift, "none", "learner"))
    return {"id": "one", "task": task, "agent": {"model": "m", "sampling": {"t": 0}}, "info": {"cases": rows}}


def written(folder, *traces):
    place = folder / "outputs" / "eval"
    place.mkdir(parents=True, exist_ok=True)
    text = "".join((t if isinstance(t, str) else json.dumps(t, ensure_ascii=False)) + "\n" for t in traces)
    (place / "traces.jsonl").write_text(text, encoding="utf-8")
    return folder / "outputs"


def changed(trace, *path, value):
    copy = json.loads(json.dumps(trace))
    inner = copy
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return copy


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c"])
def test_lines_end_at_a_newline_alone(trace, tmp_path, sign):
    said = changed(trace, "info", "cases", 0, "transcript", "messages", 0, "content", value=f"a{sign}b")
    text = json.dumps(said, ensure_ascii=False).replace("\\u000b", sign).replace("\\f", sign)
    if sign in "\x0b\x0c":
        text = json.dumps(said)
    [rollout] = read_rollouts(written(tmp_path, text))
    assert rollout.rows[0]["transcript"]["messages"][0]["content"] == f"a{sign}b"


def test_a_replay_beside_its_source_is_one_rollout_and_the_whole_one(trace, tmp_path):
    half = changed(trace, "info", "cases", value=trace["info"]["cases"][:1])
    [rollout] = read_rollouts(written(tmp_path, half, trace, half))
    assert len(rollout.rows) == 2
    assert len(read_rollouts(written(tmp_path, trace, trace | {"id": "two"}))) == 2


def test_other_sampling_is_another_agent(trace, tmp_path):
    other = trace | {"id": "two", "agent": {"model": "m", "sampling": {"t": 1}}}
    with pytest.raises(DataError, match="two agents, import them apart"):
        import_traces(written(tmp_path, trace, other), "mine")


@pytest.mark.parametrize("field", ["tau2_data", "grader_version", "taulong_version"])
def test_other_versions_are_refused(trace, tmp_path, field):
    other = changed(trace, "info", "cases", 1, "record", field, value="0")
    with pytest.raises(DataError, match=rf"was run with {field.replace('_', ' ')} 0; installed is "):
        import_traces(written(tmp_path, other), "mine")


CASE = ("info", "cases", 0)
FAULTS = {
    "no task": (("task",), None),
    "task a list": (("task",), []),
    "no data": (("task", "data"), None),
    "seed a text": (("task", "data", "seed"), "x"),
    "seed true": (("task", "data", "seed"), True),
    "config a list": (("task", "data", "shift_config"), [1]),
    "mode a number": (("task", "data", "memory_mode"), 7),
    "no agent": (("agent",), None),
    "agent a text": (("agent",), "m"),
    "model a number": (("agent", "model"), 3),
    "info a list": (("info",), [1]),
    "cases an object": (("info", "cases"), {"a": 1}),
    "case a text": (CASE, "x"),
    "no record": ((*CASE, "record"), None),
    "no transcript": ((*CASE, "transcript"), None),
    "trial a text": ((*CASE, "record", "trial"), "x"),
    "tokens a text": ((*CASE, "record", "agent_tokens"), "many"),
    "messages a text": ((*CASE, "transcript", "messages"), "x"),
    "reward of two": ((*CASE, "record", "official_reward"), 2.0),
    "reward below": ((*CASE, "record", "gated_reward"), -1),
    "reward no number": ((*CASE, "record", "official_reward"), float("nan")),
    "reward infinite": ((*CASE, "record", "official_reward"), float("inf")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_trace_is_one_sentence(trace, tmp_path, name):
    path, value = FAULTS[name]
    with pytest.raises(DataError, match=r"eval/traces\.jsonl, line 2: not a trace of verifiers \(") as refused:
        read_rollouts(written(tmp_path, trace, changed(trace, *path, value=value)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("line", ["[" * 100_000, "7", "null", "[]", '"x"', '{"traces": 7}', '{"traces": [7]}', "{"])
def test_a_line_that_is_no_trace_is_one_sentence(trace, tmp_path, line):
    with pytest.raises(DataError, match=r"eval/traces\.jsonl, line 2: not JSON, or cut short"):
        read_rollouts(written(tmp_path, trace, line))


@pytest.mark.parametrize("name", ["..", ".", "a/..", ""])
def test_what_is_no_name_is_refused_everywhere(trace, tmp_path, name):
    with pytest.raises(ConfigError, match="no name"):
        run_path(name)
    with pytest.raises(ConfigError, match="no name"):
        shift_paths(name)
    with pytest.raises((ConfigError, DataError), match="no name"):
        import_traces(written(tmp_path, trace), name)
