"""Models as agent or customer, over real HTTP: what they are asked, what becomes of odd answers, and of failures."""

import json
import logging
import subprocess
import sys
import time

import endpoint as endpoint_module
import pytest
from endpoint import CONTEXT_WINDOW, Endpoint, Fault, rate_limit, say, scripted_sides

from taulong import backend
from taulong.cases import case as cases
from taulong.cases import grading, models
from taulong.cases.answers import DEEPEST
from taulong.cases.case import run_case
from taulong.cases.failures import ModelFailure
from taulong.cases.models import ATTEMPTS, Model, ModelCalls, case_seed
from taulong.cases.remembering import MemoryAtWork
from taulong.errors import ConfigError
from taulong.graders.speech import without_reasoning
from taulong.keys import refuse_keys, scrub, without_keys
from taulong.memory.modes import first_memory
from taulong.runs.config import RunConfig
from taulong.runs.units import Unit, run_unit
from taulong.shifts.generation import generate_shifts

CANARY = "canary-7f3a9c51d2e84b06"
GIVE_UP = say("I am sorry, I cannot help you with this. Goodbye.")


@pytest.fixture(scope="module")
def shift():
    return generate_shifts()[0]


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The waits between attempts, which take no time here."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    taken = []
    monkeypatch.setattr(models, "sleep", taken.append)
    return taken


def model(endpoint, name="openai/tested", **arguments):
    return Model(name, {"base_url": endpoint.url, "timeout": 20, **arguments})


def first_case(shift, endpoint, mode="none", side="agent", **arguments):
    """Return the run of a shift's first case with a model on one side."""
    sides = {"agent": "learner", "user": "scripted", side: model(endpoint, **arguments)}
    return run_case(shift, shift.cases[0], first_memory(mode, shift), sides["agent"], user=sides["user"])


def told(run, role="assistant"):
    return [message for message in run.transcript["messages"] if message["role"] == role]


# --- what a model is asked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sides", ["agent", "user", "agent user"])
def test_a_model_that_says_what_the_scripted_side_says_gets_the_same_results(shift, sides):
    with Endpoint(scripted_sides([shift])) as endpoint:
        played = {"agent": "learner", "user": "scripted"} | {side: model(endpoint) for side in sides.split()}
        rows = run_unit(Unit(shift, "notebook", played["agent"], 0, played["user"]))
        calls = len(endpoint.requests)
    scripted = run_unit(Unit(shift, "notebook", "learner"))
    own = {"agent", "user", "agent_tokens", "user_tokens", "unpriced_calls"}
    for row, expected in zip(rows, scripted, strict=True):
        assert row["transcript"]["messages"] == expected["transcript"]["messages"]
        assert {name for name, value in row["record"].items() if value != expected["record"][name]} <= own
        for side in ("agent", "user"):
            assert (row["record"][f"{side}_tokens"] > 0) == (side in sides)
            assert row["record"][side] == str(played[side])
    assert calls == sum(row["record"]["unpriced_calls"] for row in rows) > 8 * 5


def test_seeds_are_the_cases_own_and_the_same_in_every_mode(shift):
    asked = {}
    for mode in ("none", "oracle"):
        with Endpoint(scripted_sides([shift])) as endpoint:
            run_unit(Unit(shift, mode, model(endpoint), 0, model(endpoint)))
            asked[mode] = {request["seed"] for request in endpoint.requests}
    wanted = {
        case_seed(side, "eval", shift.seed, case.position, 0) for side in ("agent", "user") for case in shift.cases
    }
    assert asked["none"] == asked["oracle"] == wanted
    assert len(wanted) == 16
    assert case_seed("agent", "eval", shift.seed, 1, 0) != case_seed("agent", "eval", shift.seed, 1, 1)


def test_the_agent_sees_policy_and_notebook_and_its_own_tools_alone(shift):
    with Endpoint(scripted_sides([shift])) as endpoint:
        run = run_case(shift, shift.cases[0], first_memory("notebook", shift), model(endpoint), log_prompts=True)
        request = endpoint.requests[0]
    names = {tool["function"]["name"] for tool in request["tools"]}
    environment = cases.new_case_environment(shift.cases[0], MemoryAtWork(first_memory("notebook", shift)))
    assert request["tools"] == [tool.openai_schema for tool in environment.get_tools()]
    assert "write_notebook" in names
    assert "toggle_wifi_calling" not in names
    system = request["messages"][0]["content"]
    assert environment.policy.strip() in system
    assert "<notebook>" in system
    assert shift.cases[0].cause not in system
    assert json.loads(run.transcript["agent_prompt_text"])[0] == system
    assert not {"tools", "prompt"} & set(run.record)


def test_prompts_are_digests_unless_asked_for(shift):
    with Endpoint(scripted_sides([shift])) as endpoint:
        plain = [first_case(shift, endpoint, mode).transcript for mode in ("none", "none", "oracle")]
    digests = [transcript["agent_prompt"] for transcript in plain]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 16
    assert not any("prompt_text" in name for transcript in plain for name in transcript)
    assert "You are a customer service agent" not in json.dumps(plain)


def test_tool_schemas_are_made_once_for_a_toolkit(shift):
    environment = cases.new_case_environment(shift.cases[0], MemoryAtWork(first_memory("notebook", shift)))
    other = cases.new_case_environment(shift.cases[1], MemoryAtWork(first_memory("notebook", shift)))
    assert models.tool_schemas(environment.tools) is models.tool_schemas(other.tools)
    assert models.tool_schemas(environment.tools) is not models.tool_schemas(environment.user_tools)


# --- odd answers ------------------------------------------------------------------------------------------------------


def test_text_beside_a_tool_call_is_not_delivered(shift):
    number = next(line["phone_number"] for line in shift.cases[0].records["lines"])
    with Endpoint(
        faults=[say("Let me see.", ("get_customer_by_phone", json.dumps({"phone_number": number})))],
        fault=lambda *_: GIVE_UP,
    ) as endpoint:
        run = first_case(shift, endpoint)
    asked, answered = run.transcript["messages"][2:4]
    assert asked["content"] == "Let me see."
    assert answered["role"] == "tool"
    assert not answered["error"]
    assert run.record["utterances"] == 1
    assert run.record["outcome"] == "scored"


@pytest.mark.parametrize(
    ("side", "ending", "outcome"), [("agent", "agent_error", "scored"), ("user", "user_error", "unscored")]
)
@pytest.mark.parametrize(
    "answer",
    [
        say(None),
        say("  "),
        say("<think>Nothing to say.</think>"),
        say(None, ("get_customer_by_phone", '{"phone_number": ')),
        say(None, ("get_customer_by_phone", '["555"]')),
        say(None, ("get_customer_by_phone", '{"phone_number": NaN}')),
        say(None, ("get_customer_by_phone", '{"phone_number": [-1e400]}')),
        say(None, ("get_customer_by_phone", f'{{"phone_number": {"[" * 900}{"]" * 900}}}')),
        say(None, tool_calls=[{"id": "call-1", "type": "custom", "custom": {"name": "x", "input": "y"}}]),
        say(None, tool_calls=[{"id": "1", "type": "function", "function": {"arguments": "{}"}}]),
        say(None, ("", "{}")),
    ],
    ids=["none", "blank", "reasoning", "cut", "list", "nan", "infinity", "deep", "custom", "no name", "empty name"],
)
def test_a_message_that_cannot_be_delivered_ends_the_case_as_its_senders_error(shift, side, ending, outcome, answer):
    with Endpoint(faults=[answer]) as endpoint:
        run = first_case(shift, endpoint, side=side)
    assert (run.record["ending"], run.record["outcome"]) == (ending, outcome)
    assert run.record["official_reward"] == (0.0 if outcome == "scored" else None)
    assert len(endpoint.requests) == 1
    assert run.record[f"{side}_tokens"] > 0
    assert run.record["unpriced_calls"] == 1


@pytest.mark.parametrize(
    "call",
    [
        {"function": {"name": "get_details_by_id", "arguments": f'{{"id": {"[" * 3000}{"]" * 3000}}}'}},
        {"function": {"name": "get_details_by_id", "arguments": f'{{"id": {"9" * 5000}}}'}},
        {"function": {"name": "get_details_by_id", "arguments": [1]}},
        {"function": None},
        {},
        "get_details_by_id",
    ],
    ids=["deep", "long integer", "arguments as a list", "null function", "no function", "a text"],
)
def test_a_call_that_litellm_cannot_read_is_its_senders_error_and_not_asked_for_again(shift, call):
    call = {"id": "1", "type": "function", **call} if isinstance(call, dict) else call
    with Endpoint(faults=[say(None, tool_calls=[call])]) as endpoint:
        run = first_case(shift, endpoint)
    assert (run.record["ending"], run.record["outcome"]) == ("agent_error", "scored")
    assert len(endpoint.requests) == run.record["unpriced_calls"] == 1
    assert run.retries == 0


def test_arguments_may_be_as_deep_as_records_can_hold(shift):
    levels = DEEPEST  # of lists, in the object
    for depth, ending in ((levels, "customer_stop"), (levels + 1, "agent_error")):
        deep = say(None, ("get_details_by_id", f'{{"id": {"[" * depth}{"]" * depth}}}'))
        with Endpoint(faults=[deep], fault=lambda *_: GIVE_UP) as endpoint:
            assert first_case(shift, endpoint).record["ending"] == ending


def test_half_a_surrogate_pair_is_replaced_wherever_it_stands(shift):
    noted = say("Hi \ud83d.", ("write_notebook", '{"text": "MMS \\ud83d, \\ud83d\\ude00", "\\ude00": ["\\ude00"]}'))
    noted.message["tool_calls"][0]["id"] = "call-\ud83d"
    plain = say(None, ("write_notebook", '{"text": "MMS \\ud83d"}'), ("no_tool_\ud83d", "{}"))
    with Endpoint(faults=[noted, plain], fault=lambda *_: GIVE_UP) as endpoint:
        rows = run_unit(Unit(shift, "notebook", model(endpoint)))
    assert [row["record"]["outcome"] for row in rows] == ["scored"] * 8
    json.dumps(rows, ensure_ascii=False).encode()
    said = [message for message in rows[0]["transcript"]["messages"] if message["role"] == "assistant"]
    assert said[1]["content"] == "Hi \ufffd."
    assert said[1]["tool_calls"][0]["id"] == "call-\ufffd"
    assert said[1]["tool_calls"][0]["arguments"] == {"text": "MMS \ufffd, \U0001f600", "\ufffd": ["\ufffd"]}
    assert rows[1]["transcript"]["notebook_before"] == "MMS \ufffd"
    assert said[2]["tool_calls"][1]["name"] == "no_tool_\ufffd"


def test_a_prompt_with_half_a_surrogate_pair_has_a_digest():
    calls = ModelCalls(Model("openai/tested"), 1)
    calls.prompt = "a notebook of an own agent: \ud83d"
    assert len(calls.digest) == 16


@pytest.mark.parametrize("sent", [{"model": None}, {}], ids=["null", "missing"])
def test_an_answer_without_a_models_name_is_one(shift, sent, monkeypatch):
    complete = endpoint_module._completion

    def nameless(*arguments):
        answer = json.loads(complete(*arguments))
        del answer["model"]
        return json.dumps(answer | sent).encode()

    monkeypatch.setattr(endpoint_module, "_completion", nameless)
    with Endpoint(fault=lambda *_: GIVE_UP) as endpoint:
        assert first_case(shift, endpoint).record["ending"] == "customer_stop"


@pytest.mark.parametrize("role", ["user", "tool", None])
def test_an_answer_is_the_assistants_whatever_role_it_says(shift, role):
    with Endpoint(fault=lambda *_: say(GIVE_UP.message["content"], role=role)) as endpoint:
        run = first_case(shift, endpoint)
    assert told(run)[1]["content"] == GIVE_UP.message["content"]
    assert run.record["outcome"] == "scored"


def test_empty_arguments_are_no_arguments(shift):
    with Endpoint(faults=[say(None, ("transfer_to_human_agents", ""))], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
    assert told(run)[1]["tool_calls"][0]["arguments"] == {}
    assert told(run, "tool")[0]["error"]
    assert run.record["tool_errors"] == 1
    assert run.record["outcome"] == "scored"


def test_several_calls_at_once_are_all_answered_in_order(shift):
    ids = [line["line_id"] for line in shift.cases[0].records["lines"]]
    calls = [("get_details_by_id", json.dumps({"id": each})) for each in ids]
    with Endpoint(faults=[say(None, *calls)], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
        sent = [message for message in endpoint.requests[1]["messages"] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in sent] == [f"call-{number}" for number in range(1, len(ids) + 1)]
    assert all(line_id in message["content"] for line_id, message in zip(ids, sent, strict=True))
    assert len(ids) > 1
    assert run.record["outcome"] == "scored"
    assert run.record["tool_errors"] == 0


@pytest.mark.parametrize(
    ("tool", "counted"), [("no_such_tool", (1, 0)), ("toggle_wifi_calling", (0, 1)), ("write_notebook", (1, 0))]
)
def test_a_tool_that_is_not_the_agents_is_an_error_and_the_customers_is_counted_apart(shift, tool, counted):
    with Endpoint(faults=[say(None, (tool, "{}"))], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
    assert (run.record["tool_errors"], run.record["ownership_errors"]) == counted
    assert told(run, "tool")[0]["error"]
    assert run.record["outcome"] == "scored"
    assert run.record["commitment"] is None


def test_words_that_only_look_like_keys_are_delivered_and_written_as_they_are(shift):
    note = "Reset the bearer settings; basic authentication. See http://a.b, write to m@n, ?key=value, risk-free, sk-iing-holidays-in-winter."
    with Endpoint(
        faults=[say(None, ("write_notebook", json.dumps({"text": note}))), say(note)], fault=lambda *_: GIVE_UP
    ) as endpoint:
        run = first_case(shift, endpoint, "notebook")
    assert run.memory.state == note
    assert told(run)[2]["content"] == note


def test_a_tool_id_used_twice_names_the_later_call(shift):
    transfer = ("transfer_to_human_agents", '{"summary": "MMS"}')
    with Endpoint(
        faults=[say(None, ("no_such_tool", "{}")), say(None, transfer)], fault=lambda *_: GIVE_UP
    ) as endpoint:
        run = first_case(shift, endpoint)  # both calls have the id call-1
    assert run.record["transferred"]
    assert run.record["tool_errors"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        say("<think>I suspect Wi-Fi.</think>Hello there."),
        say("I suspect Wi-Fi.</think>Hello there."),
        say("Hello<think>I suspect Wi-Fi.</think> there."),
        say("Hello there.", reasoning_content="I suspect Wi-Fi."),
        say("Hello there.<thinking>I suspect Wi-Fi."),
    ],
    ids=["leading", "opened in the prompt", "inside", "own field", "cut"],
)
def test_reasoning_is_never_shown_to_the_customer(shift, answer, capsys):
    with Endpoint(scripted_sides([shift]), faults=[None, answer]) as endpoint:
        run = run_case(shift, shift.cases[0], first_memory("none", shift), model(endpoint), user=model(endpoint))
    assert told(run)[1]["content"] == "Hello there."
    assert "suspect" not in json.dumps(
        [run.transcript, run.record, [request["messages"] for request in endpoint.requests]]
    )
    assert capsys.readouterr().out == ""


def test_nothing_is_printed_of_an_answer_that_tau2_doubts(shift, capsys):
    with Endpoint(faults=[say("Great!!!!!! You think>")], fault=lambda *_: GIVE_UP) as endpoint:
        assert told(first_case(shift, endpoint))[1]["content"] == "Great!!!!!! You think>"
    assert capsys.readouterr().out == ""


def test_nothing_is_printed_of_an_answer_that_cannot_be_read():
    call = 'backend.completion(model="openai/x", messages=[{"role": "user", "content": "hi"}], num_retries=0, max_retries=0, base_url='
    with Endpoint(faults=[say([CANARY])]) as endpoint:
        code = f"from taulong import backend\ntry: {call}{endpoint.url!r})\nexcept backend.litellm.InternalServerError: pass"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert endpoint.requests


def test_reasoning_is_taken_out_of_any_place():
    assert without_reasoning("a<think>b</think>c<think>d</think>e") == "ace"
    assert without_reasoning("a < b and c > d") == "a < b and c > d"


def test_a_stop_token_of_the_agent_ends_nothing(shift):
    with Endpoint(faults=[say("We are done. ###STOP###")], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
    assert told(run)[1]["content"] == "We are done. ###STOP###"
    assert run.record["ending"] == "customer_stop"
    assert run.record["utterances"] == 2
    assert not run.record["ended_on_consent"]


@pytest.mark.parametrize(
    ("said", "ending", "on_consent"),
    [
        ("Yes please ###STOP###", "customer_stop", True),
        ("###STOP###", "customer_stop", False),
        ("No, thank you. ###STOP###", "customer_stop", False),
        ("Yes ###TRANSFER###", "transfer", False),
    ],
)
def test_a_customer_who_agrees_and_stops_is_flagged(shift, said, ending, on_consent):
    with Endpoint(faults=[say("MMS fails."), say(said)]) as endpoint:  # the scripted agent asks which number it is
        run = first_case(shift, endpoint, side="user")
    assert run.record["ending"] == ending
    assert run.record["ended_on_consent"] == on_consent
    assert told(run, "user")[-1]["content"] == said


@pytest.mark.parametrize("number", ["five five five", "555-000-0000"], ids=["words", "nobody's"])
def test_the_agent_on_board_asks_a_customer_again_who_gives_no_number_of_a_customers(shift, number):
    line = next(line["phone_number"] for line in shift.cases[0].records["lines"])
    said = [say("MMS fails."), say(f"It is {number}."), say(f"In digits: {line}."), say("###STOP###")]
    with Endpoint(faults=said) as endpoint:
        run = first_case(shift, endpoint, side="user")
    assert run.record["outcome"] == "scored"
    assert "number in digits" in endpoint.requests[2]["messages"][-1]["content"]
    assert "network mode" in told(run)[-1]["content"]


def test_amounts_that_add_up_to_infinity_are_written(shift):
    records = shift.cases[0].records
    customer, line = records["customers"][0]["customer_id"], records["lines"][0]["line_id"]
    amount = {"customer_id": customer, "line_id": line, "gb_amount": 1e308}
    refuel = say(None, ("refuel_data", json.dumps(amount)))
    with Endpoint(faults=[refuel, refuel], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
    assert json.dumps(run.transcript["findings"], allow_nan=False).count("Infinity") > 0 == run.record["tool_errors"]


# --- failures ---------------------------------------------------------------------------------------------------------

PASSING = {
    "rate_limit": rate_limit(),
    "rate_limit with Retry-After": rate_limit(3),
    "server_error": Fault("status", 500),
    "overloaded": Fault("status", 503),
    "connection": Fault("reset"),
    "truncated": Fault("truncated"),
    "empty_choices": Fault("empty_choices"),
    "timeout": Fault("hang"),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_can_pass_is_tried_again(shift, waits, name):
    with Endpoint(scripted_sides([shift])) as endpoint:
        expected = first_case(shift, endpoint)
    with Endpoint(scripted_sides([shift]), faults=[None, PASSING[name], PASSING[name]]) as endpoint:
        run = first_case(shift, endpoint, timeout=0.5 if name == "timeout" else 20)
    assert run.transcript == expected.transcript
    assert run.retries == len(waits) == 2
    if name == "truncated":  # answers that nobody can read may have been paid for
        expected.record["unpriced_calls"] += 2
    if name != "empty_choices":  # which said what it took, and was paid for
        assert run.record == expected.record
    if name == "rate_limit with Retry-After":
        assert waits == [3.0, 3.0]


def test_waits_outlast_a_minutes_window(shift, waits, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(
        models, "sleep", lambda seconds: (waits.append(seconds), clock.__setitem__(0, clock[0] + seconds))
    )
    limited = lambda number, request: rate_limit() if clock[0] < 75 else None  # noqa: E731
    with Endpoint(scripted_sides([shift]), fault=limited) as endpoint:
        run = first_case(shift, endpoint)
    assert run.record["outcome"] == "scored"
    assert clock[0] >= 75
    assert max(waits) <= 60


def test_a_long_retry_after_is_obeyed(shift, waits):
    with Endpoint(scripted_sides([shift]), faults=[rate_limit(95)]) as endpoint:
        assert first_case(shift, endpoint).record["outcome"] == "scored"
    assert waits == [95.0]


def test_a_failure_that_does_not_pass_leaves_the_case_unscored(shift, waits):
    with Endpoint(fault=lambda *_: rate_limit()) as endpoint:
        run = first_case(shift, endpoint)
    assert len(endpoint.requests) == ATTEMPTS == len(waits) + 1
    assert sum(waits) > 60
    record = run.record
    assert (record["outcome"], record["ending"], record["official_reward"]) == ("unscored", "infrastructure", None)
    assert record["reason"].startswith("rate_limit: ")
    assert record["scope_gate"] is None
    assert record["gated_reward"] is None


@pytest.mark.parametrize(
    ("label", "fault"),
    [
        ("context_window", CONTEXT_WINDOW),
        ("bad_request", Fault("status", 400, "no such parameter")),
        ("authentication", Fault("status", 401, "wrong key")),
        ("not_found", Fault("status", 404, "no such model")),
        ("bad_request", Fault("status", 413, "too large")),
        ("bad_request", Fault("status", 422, "cannot be processed")),
    ],
)
def test_what_cannot_pass_is_tried_once(shift, waits, label, fault):
    with Endpoint(fault=lambda *_: fault) as endpoint:
        run = first_case(shift, endpoint)
    assert len(endpoint.requests) == 1
    assert waits == []
    assert run.record["outcome"] == "unscored"
    assert run.record["reason"].startswith(f"{label}: ")


@pytest.mark.parametrize(
    ("code", "label", "attempts"),
    [
        ("429", "rate_limit", ATTEMPTS),
        (502, "server_error", ATTEMPTS),
        ("too_long", "APIError", 1),
        (400, "bad_request", 1),
    ],
)
def test_an_error_in_place_of_an_answer_is_told_by_its_code(shift, monkeypatch, code, label, attempts):
    error = json.dumps({"error": {"message": "it went wrong", "code": code}}).encode()
    monkeypatch.setattr(endpoint_module, "_completion", lambda *_: error)
    with Endpoint() as endpoint:
        run = first_case(shift, endpoint)
    assert run.record["reason"].startswith(f"{label}: ")
    assert len(endpoint.requests) == attempts


def test_a_key_that_is_not_in_the_environment_is_missed_once(shift, monkeypatch, waits):
    monkeypatch.delenv("OPENAI_API_KEY")
    with Endpoint() as endpoint:
        run = first_case(shift, endpoint)
        assert endpoint.requests == []
        assert waits == []
    assert run.record["outcome"] == "unscored"
    assert run.record["reason"].startswith("authentication: ")
    assert run.record["unpriced_calls"] == 0
    assert "OPENAI_API_KEY" in run.record["reason"]


def test_a_parameter_that_a_422_names_is_left_out_once(shift):
    refused = Fault("status", 422, json.dumps({"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}))
    with Endpoint(faults=[refused], fault=lambda *_: GIVE_UP) as endpoint:
        assert first_case(shift, endpoint).record["outcome"] == "scored"
    assert ["seed" in request for request in endpoint.requests] == [True, False]
    with Endpoint(fault=lambda *_: refused) as endpoint:
        run = first_case(shift, endpoint)
    assert len(endpoint.requests) == 2
    assert run.record["reason"].startswith("bad_request: ")


def test_a_unit_stops_at_a_failed_conversation(shift):
    with Endpoint(
        scripted_sides([shift]), fault=lambda number, request: CONTEXT_WINDOW if number > 12 else None
    ) as endpoint:
        rows = run_unit(Unit(shift, "notebook", model(endpoint)))
    assert [row["record"]["outcome"] for row in rows] == ["scored", "unscored"]


def test_a_grader_that_fails_costs_no_conversation(shift, monkeypatch):
    whole = first_case_scripted(shift)
    monkeypatch.setattr(grading, "grade", lambda *_: 1 / 0)
    rows = run_unit(Unit(shift, "notebook", "learner"))
    assert {row["record"]["reason"] for row in rows} == {"grading: ZeroDivisionError: division by zero"}
    assert len(rows) == 8
    assert all(row["record"]["official_reward"] is None for row in rows)
    monkeypatch.undo()
    again = grading.grade_again(shift.cases[0], rows[0]["record"], rows[0]["transcript"])
    assert again == whole


def first_case_scripted(shift):
    run = run_case(shift, shift.cases[0], first_memory("notebook", shift), "learner")
    return run.record, run.transcript


# --- tokens and money -------------------------------------------------------------------------------------------------


def test_a_call_is_unpriced_without_a_price_or_without_token_counts(shift):
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    with Endpoint(scripted_sides([shift])) as endpoint:
        unpriced, priced = first_case(shift, endpoint).record, first_case(shift, endpoint, **prices).record
        known = first_case(shift, endpoint, name="openai/gpt-4.1-mini").record
        calls = len(endpoint.requests) // 3
    assert (unpriced["agent_cost"], unpriced["unpriced_calls"]) == (0.0, calls)
    assert priced["unpriced_calls"] == known["unpriced_calls"] == 0
    assert known["agent_cost"] > 0
    tokens = priced["agent_tokens"]
    assert 1e-6 * tokens < priced["agent_cost"] < 2e-6 * tokens
    assert priced["user_cost"] == 0.0
    silent = Fault("message", message={"role": "assistant", "content": "Goodbye, I cannot help you."}, usage=False)
    with Endpoint(fault=lambda *_: silent) as endpoint:
        record = first_case(shift, endpoint, **prices).record
    assert record["unpriced_calls"] == len(endpoint.requests) > 0 == record["agent_tokens"]


UNREADABLE = {
    "content in parts": say([{"type": "text", "text": "hi"}]),
    "content as a number": say(7),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_an_unpriced_call_each_time(shift, name):
    with Endpoint(fault=lambda *_: UNREADABLE[name]) as endpoint:
        run = first_case(shift, endpoint, input_cost_per_token=1e-6, output_cost_per_token=1e-6)
    assert len(endpoint.requests) == run.record["unpriced_calls"] == ATTEMPTS
    assert run.record["outcome"] == "unscored"
    assert run.record["reason"].startswith("server_error: ")
    assert "Error" in run.record["reason"].partition("Invalid response object")[2]
    assert "site-packages" not in run.record["reason"]


def test_no_piece_of_a_key_is_quoted_of_an_answer_that_cannot_be_read(shift):
    with Endpoint(fault=lambda *_: say([f"{CANARY} {'long ' * 99}"])) as endpoint:  # Pydantic cuts it in the middle
        reason = first_case(shift, endpoint).record["reason"]
    assert "valid string" in reason
    assert CANARY[:10] not in reason


@pytest.mark.parametrize("fault", [Fault("status", status) for status in (400, 408, 429, 500, 504)] + [Fault("reset")])
def test_a_refusal_and_a_lost_connection_are_no_unpriced_calls(shift, fault):
    with Endpoint(fault=lambda *_: fault) as endpoint:
        assert first_case(shift, endpoint).record["unpriced_calls"] == 0


@pytest.mark.parametrize(
    ("usage", "tokens", "priced"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, 15, True),
        ({"prompt_tokens": 10, "completion_tokens": 5}, 15, True),
        ({"prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10}, 10, True),
        ({"prompt_tokens": 10}, 10, False),
        ({"completion_tokens": 5, "total_tokens": 15}, 15, False),
        ({"total_tokens": 15}, 15, False),
        ({"prompt_tokens": -10, "completion_tokens": 5, "total_tokens": 15}, 15, False),
        ({"prompt_tokens": -10, "completion_tokens": -5, "total_tokens": -15}, 0, False),
        ({"prompt_tokens": 10, "completion_tokens": -5, "total_tokens": 5}, 5, False),
        ({}, 0, False),
        (None, 0, False),
    ],
)
def test_a_call_is_priced_when_both_counts_are_there(shift, monkeypatch, usage, tokens, priced):
    complete = endpoint_module._completion
    monkeypatch.setattr(
        endpoint_module,
        "_completion",
        lambda *args: json.dumps(json.loads(complete(*args)) | {"usage": usage}).encode(),
    )
    with Endpoint(fault=lambda *_: GIVE_UP) as endpoint:
        record = first_case(shift, endpoint, input_cost_per_token=1.0, output_cost_per_token=2.0).record
    calls = len(endpoint.requests)
    assert (record["agent_tokens"], record["unpriced_calls"]) == (tokens * calls, 0 if priced else calls)
    assert record["agent_cost"] == (calls * (10 + 2 * (tokens - 10)) if priced else 0)


@pytest.mark.slow
def test_an_idle_connection_is_kept():
    # httpcore may close one that it takes for idle under a call that was just given it (its issue 1110).
    with Endpoint() as endpoint:
        for wait in (0, 5.5):  # seconds; its pool would let go of it after five
            time.sleep(wait)
            calls = ModelCalls(model(endpoint), 1)
            calls.complete(
                model="openai/tested", messages=[{"role": "user", "content": "hi"}], tools=None, **calls.arguments
            )
        assert len(endpoint.requests) == 2
        assert endpoint.connections == 1


@pytest.mark.parametrize(("name", "priced"), [("openai/gpt-4.1-mini", True), ("openai/tested", False)])
def test_tau2s_message_has_the_price_that_litellm_put_on_the_answer(name, priced):
    with Endpoint() as endpoint:
        calls = ModelCalls(model(endpoint, name), 1)
        agent = calls.agent(backend.new_environment().tools, "Help.")
        hello = backend.UserMessage(role="user", content="Hello.")
        message, _ = agent.generate_next_message(hello, agent.get_init_state())
    assert message.cost == calls.cost
    assert (calls.cost > 0) == priced


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"api_key": "x"},
        {"extra_headers": {"x": "y"}},
        {"Authorization": "x"},
        {"extra_body": {"client-secret": "x"}},
        {"access_token": "x"},
        {"aws_secret_access_key": "x"},
        {"base_url": "https://me:word@example.org"},
        {"base_url": "https://example.org/v1?key=abc"},
        {"stop": ["Bearer abcdef123456"]},
        {"user": "sk-abcdef123456"},
        {"metadata": {"note": f"it is {CANARY}"}},
        {"accessToken": "x"},
        {"authToken": "x"},
        {"azureAdToken": "x"},
        {"passphrase": "x"},
        {"base_url": "https://example.org/v1?access_token=abcdef123456"},
        {"base_url": "https://example.org/v1?x=1&subscription-key=abcdef123456"},
        {"base_url": "https://example.org/v1?sig=abcdef123456"},
        {"base_url": "https://example.org/v1/?x=1&code=abcdef123456"},
        {"user": "gsk_abcdef123456"},
        {"user": "xai-abcdef123456"},
        {"user": "nvapi-abcdef123456"},
        {"stop": ["Basic bWU6d29yZA=="]},
        {"stop": ["basic bWFudGFyYXlz"]},
    ],
)
def test_what_looks_like_a_key_is_refused_and_not_repeated(arguments):
    with pytest.raises(ConfigError, match="looks like a key") as refused:
        RunConfig("smoke", ("llm",), agent_llm="openai/tested", agent_llm_args=arguments)
    assert not any(value in str(refused.value) for value in ("abcdef123456", CANARY, "word@"))
    with pytest.raises(ConfigError, match="looks like a key"):
        Model("openai/tested", arguments)


def test_what_does_not_look_like_a_key_is_accepted():
    arguments = {
        "max_tokens": 100,
        "max_completion_tokens": 10,
        "temperature": 0.0,
        "top_logprobs": 2,
        "monkey": "business",
        "base_url": "http://127.0.0.1:8000/v1",
        "api_base": None,
        "input_cost_per_token": 1e-6,
        "maxTokens": 100,
        "inputCostPerToken": 1e-6,
        "stop": ["Basic instructions", "Basic Authentication"],
    }
    refuse_keys("llm_args", arguments)
    assert Model("openai/tested", arguments).arguments == arguments


def test_scrub_replaces_keys_of_the_environment(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "abcdefgh")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "switched-on")
    assert (
        scrub(f"{CANARY}, abcdefgh, switched-on, Bearer xyzxyz123")
        == "[OPENAI_API_KEY], [MY_TOKEN], switched-on, [key]"
    )


def test_what_a_participant_says_loses_real_keys_and_unmistakable_formats_alone():
    said = f"{CANARY}, own-key-of-this, sk-proj-Ab3dEf6hIj9k, ghp_abcdefghijklmnopqrstuvwx, Bearer settings, sk-short"
    assert without_keys(said, "own-key-of-this") == "[OPENAI_API_KEY], [key], [key], [key], Bearer settings, sk-short"


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 401, f"Incorrect API key provided: {CANARY}"),
        Fault("status", 400, f"Bearer {CANARY}"),
        Fault("status", 500, CANARY),
        say(f"My key is {CANARY}."),
        say(None, ("get_details_by_id", json.dumps({"id": CANARY}))),
        say(None, ("get_details_by_id", json.dumps({"id": [{CANARY: CANARY}]}).replace("-", "\\u002d"))),
        say(None, (CANARY, "{}")),
        say(None, tool_calls=[{"id": CANARY, "type": "function", "function": {"name": "x", "arguments": "{}"}}]),
        say(None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "x", "arguments": [CANARY]}}]),
        say([{"type": "text", "text": CANARY}]),
        say(f"Great!!!!!! think> {CANARY}"),
    ],
    ids=[
        "authentication",
        "bad request",
        "server error",
        "text",
        "arguments",
        "escaped",
        "name",
        "id",
        "list",
        "parts",
        "doubted",
    ],
)
def test_no_key_reaches_a_result_or_a_log(shift, fault, capfd, caplog):
    caplog.set_level(logging.INFO)
    with Endpoint(faults=[fault] * ATTEMPTS, fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
        assert CANARY in endpoint.headers[0]["Authorization"]  # it was really in use
    out = capfd.readouterr()
    for text in (json.dumps([run.record, run.transcript]), out.out, out.err, caplog.text):
        assert CANARY not in text


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 401, f"Incorrect API key provided: own-{CANARY}"),
        Fault("status", 500, f"own-{CANARY}"),
        say(f"My key is own-{CANARY}."),
        say(None, ("get_details_by_id", json.dumps({"id": f"own-{CANARY}"}))),
    ],
    ids=["authentication", "server error", "text", "arguments"],
)
def test_a_models_own_key_is_used_and_reaches_no_result_or_log(shift, monkeypatch, fault, capfd, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", "that-of-the-environment")
    caplog.set_level(logging.INFO)
    with Endpoint(faults=[fault] * ATTEMPTS, fault=lambda *_: GIVE_UP) as endpoint:
        tested = Model("openai/tested", {"base_url": endpoint.url, "timeout": 20}, key=f"own-{CANARY}")
        run = run_case(shift, shift.cases[0], first_memory("none", shift), tested)
        assert {headers["Authorization"] for headers in endpoint.headers} == {f"Bearer own-{CANARY}"}
    out = capfd.readouterr()
    for text in (json.dumps([run.record, run.transcript]), out.out, out.err, caplog.text, repr(tested), str(tested)):
        assert CANARY not in text


def test_a_short_key_is_not_taken_out_of_what_is_said(shift):
    with Endpoint(scripted_sides([shift])) as endpoint:
        row = run_case(
            shift,
            shift.cases[0],
            first_memory("none", shift),
            Model("openai/tested", {"base_url": endpoint.url}, key="a"),
        )
        usual = run_case(shift, shift.cases[0], first_memory("none", shift), model(endpoint))
    assert row.transcript == usual.transcript


def test_a_failures_traceback_holds_no_key(shift):
    calls = models.ModelCalls(Model("openai/tested", {"base_url": "http://127.0.0.1:9/v1"}), 1)
    ModelFailure("x", ValueError(CANARY))
    with Endpoint(fault=lambda *_: Fault("status", 401, f"Incorrect API key provided: {CANARY}")) as endpoint:
        calls.arguments["base_url"] = endpoint.url
        with pytest.raises(ModelFailure) as failed:
            calls.complete(
                model="openai/tested", messages=[{"role": "user", "content": "hi"}], tools=None, **calls.arguments
            )
    import traceback

    assert CANARY not in "".join(traceback.format_exception(failed.value))
    assert "OPENAI_API_KEY" in str(failed.value)


# --- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"agents": ("llm",)}, "agent_llm"),
        ({"agent_llm": "openai/x"}, "agent_llm"),
        ({"user": "llm"}, "user_llm"),
        ({"user_llm_args": {"temperature": 0}}, "user_llm"),
        ({"user": "lmm"}, "did you mean 'llm'"),
        ({"agents": ("llm",), "agent_llm": "openai/x", "agent_llm_args": {"seed": 1}}, "llm_args.seed"),
        ({"agents": ("llm",), "agent_llm": "openai/x", "agent_llm_args": {"stop": {1}}}, "not plain data"),
    ],
)
def test_a_config_that_cannot_be_run_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        RunConfig("smoke", **fields)
