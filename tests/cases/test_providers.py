"""A provider's failure is not the model's zero: errors inside answers, filters, cut answers, odd ids, answers without end."""

import json
import time
import tracemalloc

import pytest
from endpoint import Endpoint, Fault, say, scripted_sides

from taulong.cases import models
from taulong.cases.case import run_case
from taulong.cases.models import ATTEMPTS, Model
from taulong.cases.wire import LARGEST
from taulong.errors import ConfigError
from taulong.keys import refuse_keys, scrub, unsendable_keys
from taulong.memory.modes import first_memory
from taulong.runs.units import Unit, run_unit
from taulong.shifts.generation import generate_shifts

KEY = "canary-7f3a9c51d2e84b06"
GIVE_UP = say("I am sorry, I cannot help you with this. Goodbye.")
BROKEN = {"error": {"code": 502, "message": "upstream went away"}}


@pytest.fixture(scope="module")
def shift():
    return generate_shifts(num_shifts=1)[0]


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    waited = []
    monkeypatch.setattr(models, "sleep", waited.append)
    return waited


def first_case(shift, endpoint, mode="none", side="agent", **arguments):
    model = Model("openai/tested", {"base_url": endpoint.url, "timeout": 20, **arguments})
    sides = {"agent": "learner", "user": "scripted", side: model}
    return run_case(shift, shift.cases[0], first_memory(mode, shift), sides["agent"], user=sides["user"])


@pytest.mark.parametrize(
    "answer",
    [
        say("Hel", finish_reason="error", choice=BROKEN),
        say(None, finish_reason="error", choice=BROKEN),
        say("Hello there.", choice=BROKEN),
        say("Hel", finish_reason="error"),
        say(None, finish_reason="network_error"),
        say(None, ("get_details_by_id", '{"id"'), finish_reason="error", choice=BROKEN),
    ],
    ids=["partial", "empty", "beside a whole one", "without a code", "network", "in a tool call"],
)
def test_an_error_inside_an_answer_is_the_providers_and_tried_again(shift, waits, answer):
    with Endpoint(scripted_sides([shift])) as endpoint:
        expected = first_case(shift, endpoint)
    with Endpoint(scripted_sides([shift]), faults=[None, answer, answer]) as endpoint:
        run = first_case(shift, endpoint)
        calls = len(endpoint.requests)
    assert run.transcript == expected.transcript
    assert run.record["official_reward"] == expected.record["official_reward"] == 1.0
    assert run.retries == len(waits) == 2
    assert run.record["unpriced_calls"] == calls  # what was wasted is counted
    assert run.record["agent_tokens"] > expected.record["agent_tokens"]


def test_an_error_inside_every_answer_leaves_the_case_unscored(shift):
    with Endpoint(fault=lambda *_: say("Hel", finish_reason="error", choice=BROKEN)) as endpoint:
        run = first_case(shift, endpoint)
    assert len(endpoint.requests) == ATTEMPTS == run.retries + 1
    assert (run.record["outcome"], run.record["official_reward"]) == ("unscored", None)
    assert run.record["reason"].startswith("server_error: ")
    assert "upstream went away" in run.record["reason"]


@pytest.mark.parametrize(("code", "label", "attempts"), [(429, "rate_limit", ATTEMPTS), (400, "bad_request", 1)])
def test_an_error_inside_an_answer_is_told_by_its_code(shift, code, label, attempts):
    with Endpoint(fault=lambda *_: say("", choice={"error": {"code": code, "message": "no"}})) as endpoint:
        run = first_case(shift, endpoint)
    assert run.record["reason"].startswith(f"{label}: ")
    assert len(endpoint.requests) == attempts


@pytest.mark.parametrize("side", ["agent", "user"])
@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "guardrail_intervened"])
def test_what_a_filter_took_is_unscored_and_not_asked_for_again(shift, waits, side, reason):
    with Endpoint(fault=lambda *_: say("I cannot", finish_reason=reason)) as endpoint:
        run = first_case(shift, endpoint, side=side)
    assert len(endpoint.requests) == 1
    assert waits == []
    assert run.record["outcome"] == "unscored"
    assert run.record["reason"].startswith("content_policy: ")


@pytest.mark.parametrize("side", ["agent", "user"])
@pytest.mark.parametrize(
    "answer",
    [
        say(None, finish_reason="length"),
        say("<think>Let me see, the customer", finish_reason="length"),
        say(None, ("get_details_by_id", '{"id": "L10'), finish_reason="length"),
    ],
    ids=["nothing", "reasoning alone", "inside a tool call"],
)
def test_an_answer_cut_off_to_nothing_is_unscored(shift, side, answer):
    with Endpoint(faults=[answer]) as endpoint:
        run = first_case(shift, endpoint, side=side)
    assert len(endpoint.requests) == 1
    assert (run.record["outcome"], run.record["ending"]) == ("unscored", "infrastructure")
    assert run.record["reason"].startswith("truncated: ")
    assert run.record[f"{side}_truncated"] == 1


def test_a_cut_answer_is_delivered_counted_and_flagged(shift):
    cut = say("I am sorry to hear that. Please", finish_reason="length")
    with Endpoint(faults=[cut, cut], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
    assert run.record["outcome"] == "scored"
    assert (run.record["agent_truncated"], run.record["user_truncated"]) == (2, 0)
    flagged = run.transcript["truncated_messages"]
    assert [run.transcript["messages"][index]["content"] for index in flagged] == [cut.message["content"]] * 2
    with Endpoint(fault=lambda *_: GIVE_UP) as endpoint:
        whole = first_case(shift, endpoint)
    assert whole.record["agent_truncated"] == 0
    assert "truncated_messages" not in whole.transcript


def calls_of(ids, number, own_id):
    named = [
        ("get_customer_by_phone", {"phone_number": number}),
        ("get_details_by_id", {"id": own_id}),
        ("no_tool", {}),
    ]
    return [
        {"id": given, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for given, (name, arguments) in zip(ids, named, strict=True)
    ]


@pytest.mark.parametrize(
    "ids",
    [(1, 2, 3), ("", "", ""), (None, None, None), ("call", "call", "call"), ("call-2", "", "call-2"), (0, "0", 7)],
    ids=str,
)
def test_ids_of_any_kind_are_texts_that_differ_and_answers_go_with_their_calls(shift, ids):
    line = shift.cases[0].records["lines"][0]
    calls = calls_of(ids, line["phone_number"], line["line_id"])
    with Endpoint(faults=[say(None, tool_calls=calls)], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
        sent = endpoint.requests[1]["messages"]
    asked, *answers = run.transcript["messages"][2:6]
    given = [call["id"] for call in asked["tool_calls"]]
    assert all(isinstance(each, str) and each for each in given)
    assert len(set(given)) == 3
    assert [answer["id"] for answer in answers] == given
    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == given
    assert [bool(answer["error"]) for answer in answers] == [False, False, True]
    assert run.record["tool_errors"] == 1
    assert run.record["outcome"] == "scored"


def test_equal_ids_in_one_message_do_not_mix_up_what_is_recorded(shift):
    # One fails of each kind, and one is the transfer: by their ids all three would be the last.
    calls = [("transfer_to_human_agents", '{"summary": "MMS"}'), ("toggle_wifi_calling", "{}"), ("no_tool", "{}")]
    same = [{"id": "x", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    with Endpoint(faults=[say(None, tool_calls=same)], fault=lambda *_: GIVE_UP) as endpoint:
        run = first_case(shift, endpoint)
    assert run.record["transferred"]
    assert (run.record["tool_errors"], run.record["ownership_errors"]) == (1, 1)


@pytest.mark.parametrize("kind", ["drip", "headers", "continue"])
def test_an_answer_without_an_end_meets_the_deadline_of_its_call(shift, waits, kind):
    with Endpoint(scripted_sides([shift]), faults=[Fault(kind)]) as endpoint:
        started = time.monotonic()
        run = first_case(shift, endpoint, deadline=0.5)
        seconds = time.monotonic() - started
    assert run.record["outcome"] == "scored"
    assert run.retries == len(waits) == 1
    assert seconds < 15  # the wait for bytes alone is 20


def test_a_deadline_is_no_argument_of_the_endpoints(shift):
    with Endpoint(fault=lambda *_: GIVE_UP) as endpoint:
        first_case(shift, endpoint, deadline=30)
        assert not any("deadline" in request for request in endpoint.requests)
    for wrong in (0, -1, "soon", True, float("nan")):
        with pytest.raises(ConfigError, match="deadline"):
            Model("openai/tested", {"deadline": wrong})


def test_an_answer_that_unpacks_without_bound_is_let_go(shift):
    with Endpoint(faults=[Fault("bomb")], fault=lambda *_: GIVE_UP) as endpoint:
        tracemalloc.start()
        run = first_case(shift, endpoint)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 5 * LARGEST
    assert run.retries == 1
    assert run.record["outcome"] == "scored"


@pytest.mark.parametrize(
    ("key", "said"),
    [(f"{KEY}\n", "ends with a blank or a newline"), (f"‘{KEY}’", "left single quotation mark"), (f" {KEY}", "begins")],
)
def test_a_key_that_cannot_be_sent_fails_at_once_with_its_name(shift, waits, monkeypatch, key, said):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    assert said in unsendable_keys()["OPENAI_API_KEY"]
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as refused:
        Model("openai/tested").check_key()
    assert KEY not in str(refused.value)
    with Endpoint() as endpoint:
        run = first_case(shift, endpoint)
        if key == f" {KEY}":  # a header may begin with a blank
            return
        assert endpoint.requests == []
    assert waits == []
    assert run.record["reason"].startswith("authentication: OPENAI_API_KEY: ")
    assert KEY not in run.record["reason"]
    assert run.record["unpriced_calls"] == 0


def test_a_good_key_and_a_model_of_no_known_provider_are_let_through():
    Model("openai/tested").check_key()
    Model("nobody-knows-it").check_key()


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/v1?pass=abcdef123456",
        "https://example.org/v1?X-Amz-Signature=abcdef123456",
        "https://example.org/v1#key=abcdef123456",
        "https://example.org/v1?a=1&X-Amz-Credential=abcdef123456",
    ],
)
def test_keys_in_addresses_are_refused_and_scrubbed(url):
    with pytest.raises(ConfigError, match="looks like a key"):
        refuse_keys("base_url", url)
    assert "=" not in scrub(url).rpartition("[key]")[0][-1:]
    assert "[key]" in scrub(url)


def test_a_key_with_backslashes_is_found_as_it_is_quoted(monkeypatch):
    key = 'back\\slash"and-quote'
    monkeypatch.setenv("MY_API_KEY", key)
    for text in (key, repr(key), json.dumps(key), repr([key])):
        assert "slash" not in scrub(text)


def test_a_unit_of_odd_answers_loses_no_score(shift):
    """Half of all answers fail in some way of a provider's; the unit's results are those of the other half."""
    odd = [say("Hel", finish_reason="error", choice=BROKEN), Fault("status", 503), say(None, finish_reason="error")]
    with Endpoint(scripted_sides([shift]), fault=lambda n, _: odd[n // 2 % 3] if n % 2 else None) as endpoint:
        rows = run_unit(Unit(shift, "notebook", Model("openai/tested", {"base_url": endpoint.url})))
    plain = run_unit(Unit(shift, "notebook", "learner"))
    assert [row["record"]["official_reward"] for row in rows] == [row["record"]["official_reward"] for row in plain]
