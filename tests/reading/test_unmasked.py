"""What was masked: shown as masked, and beside it what it would have said."""

import json

import pytest
from parsed import Parsed

from taulong.reading import Conversation, Unmasked, open_case
from taulong.runs import RunConfig, execute_runs
from taulong.shifts import generate_shifts, write_shifts

SAYS = {  # cause -> what the phone would have shown of it
    "bad_network_preference": "2g_only",
    "bad_wifi_calling": "Wi-Fi Calling is currently turned ON",
    "break_apn_mms_setting": "Not Set",
    "break_app_storage_permission": "permission for: sms, phone",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    write_shifts(generate_shifts(num_shifts=4), root / "shifts.jsonl")
    return execute_runs(
        RunConfig(str(root / "shifts.jsonl"), ("learner", "guesser"), ("none", "notebook")), root / "run"
    )


@pytest.fixture
def here(folder, monkeypatch):
    """The run, with its shifts where runs of the project have theirs."""
    monkeypatch.setattr("taulong.shifts.files.SHIFTS", folder.path.parent)
    return folder


def test_every_masked_answer_before_the_commitment_has_its_own_words(here):
    unmasked, causes = Unmasked(here), set()
    for row in here.rows().values():
        told, transcript = unmasked.answers(row["transcript"]), row["transcript"]
        end = transcript["commitment_message"]
        masked = [at for at in transcript["masked_messages"] if end is None or at < end]
        assert list(told) == masked
        assert all(told[at] != transcript["messages"][at]["content"] for at in masked)
        if masked:
            assert SAYS[row["record"]["cause"]] in " ".join(told.values())
            causes.add(row["record"]["cause"])
    assert causes == set(SAYS)  # every cause recurs in one of four shifts


def test_an_answer_that_was_not_masked_is_the_same_when_played_again(here):
    """The phone behind the mask is the one the agent met: what it was told elsewhere, it would be told again."""
    unmasked = Unmasked(here)
    for row in here.rows().values():
        transcript = row["transcript"]
        end = transcript["commitment_message"]
        shown = [at for at, message in enumerate(transcript["messages"][:end]) if message["role"] == "tool"
                 and at not in transcript["masked_messages"] and "otebook" not in message["content"]]  # fmt: skip
        told = unmasked.answers({**transcript, "masked_messages": shown})
        assert {at: json.loads(json.dumps(text)) for at, text in told.items()} == {
            at: transcript["messages"][at]["content"] for at in shown
        }


def test_a_masked_answer_is_shown_as_masked_and_what_it_hides_is_folded(here):
    record = next(row["record"] for row in here.rows().values() if row["record"]["population"] == "testing")
    case = open_case(here, record["case_id"], record["agent"], record["memory_mode"])
    page, masked = case._repr_html_(), len([turn for turn in case.turns if turn.unmasked])
    assert masked > 0
    assert page.count("for the researcher: what it would have said") == masked
    assert page.count("taulong-hidden") >= masked
    assert SAYS[record["cause"]] not in case.text
    assert SAYS[record["cause"]] in case.plain(full=True)
    text = Parsed(page).text
    assert "This information is not available right now." in text
    assert SAYS[record["cause"]] in text


def test_without_its_shifts_nothing_is_said_of_what_was_masked(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("taulong.shifts.files.SHIFTS", tmp_path)
    row = next(row for row in folder.rows().values() if row["transcript"]["masked_messages"])
    assert Unmasked(folder).answers(row["transcript"]) == {}


def test_the_commitment_shows_its_arguments_and_the_rewards_are_badges():
    call = {"id": "1", "name": "grant_app_permission", "arguments": {"app_name": "messaging", "permission": "storage"}}
    messages = [{"role": "user", "tool_calls": [call]}, {"role": "tool", "id": "1", "content": "Granted"}]
    record = {"official_reward": 1.0, "gated_reward": 0.0, "ending": "customer_stop", "scope_gate": "fail", "policy_check": "pass",
              "strict_stock": "not_evaluated", "transferred": False}  # fmt: skip
    page = Conversation(
        {"messages": messages, "commitment_message": 1, "user_fields": ["device.apn"]}, record
    )._repr_html_()
    assert "<b>grant_app_permission(app_name=messaging, permission=storage)</b>" in page
    text = Parsed(page).text
    for words in ("✓ official 1.0", "✗ gated 0.0", "ended by customer stop", "✗ scope gate: fail", "✓ policy check: pass",
                  "? strict stock: not evaluated", "changed on the phone (observed, never gated) device.apn"):  # fmt: skip
        assert words in text
    assert "handed to a human" not in text
    assert 'class="taulong-badge taulong-solved"' in page
    assert 'class="taulong-badge taulong-not-solved"' in page
