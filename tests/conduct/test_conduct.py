"""Rules over the sequence: the attacks with the verdict wanted, what is no breach, the sentences and the real runs."""

import os
from pathlib import Path

import pandas as pd
import pytest

from taulong.audit.order import LINE, OFFER, courteous, played
from taulong.audit.scripts import call, gold_calls
from taulong.backend import AssistantMessage, telecom_tasks
from taulong.conduct import rules, sentences
from taulong.conduct.check import Observation, checks, conduct_check, privacy_check
from taulong.conduct.rules import ORDER_RULES, TRANSFER_WORDS
from taulong.conduct.sentences import MAIN, Sentence, entry_of, policy_sentences, sentences_of, sentences_table
from taulong.graders.policy import CONDUCT, RULES
from taulong.graders.reference import build_reference
from taulong.graders.replay import replay
from taulong.paths import AUDIT, ROOT
from taulong.regrade.regrading import regrade

TRAJECTORIES = Path(os.environ.get("TAULONG_TRAJECTORIES", ROOT.parent / "shared" / "trajectories"))


def task_with(name, without=()):
    return next(
        task
        for task in telecom_tasks("full")
        if name in (names := [gold.name for gold in gold_calls(task)]) and not set(without) & set(names)
    )


REFUEL = task_with("refuel_data", without=("enable_roaming",))
ROAMING = task_with("enable_roaming", without=("refuel_data",))
PAYMENT = task_with("resume_line")
TRANSFERRED = task_with("transfer_to_human_agents")


def observed(task, script, solo=False):
    messages, _ = played(task, script)
    if solo:
        messages = [message for message in messages if isinstance(message, AssistantMessage)]
    run, reference = replay(task, messages), build_reference(task)
    return [finding for verdict in checks(run, reference).values() for finding in verdict.findings]


def broken(task, script):
    return [finding.rule for finding in observed(task, script)]


@pytest.mark.parametrize("task", [REFUEL, ROAMING, PAYMENT, TRANSFERRED], ids=lambda task: task.id[:30])
def test_a_courteous_run_breaks_nothing(task):
    assert observed(task, courteous(task)) == []


def consent(*words):
    """Return the refuel task's courteous script with other words in the place of offer and consent."""
    script = courteous(REFUEL)
    place = script.index(OFFER)
    return [*script[:place], *words, *script[place + 2 :]]


YES, SAID = ("user", "Yes, please add 2 GB."), ("assistant", "I can add 2 GB for $4.00. Shall I?")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), ["amount_asked", "price_said"]),
        ((("assistant", "How much data do you want?"), ("user", "2 GB, please.")), ["price_said"]),
        ((SAID, YES), []),
        ((SAID, ("user", "No thanks.")), ["price_agreed"]),
        ((SAID, ("user", "I don't want to pay for that.")), ["price_agreed"]),
        ((SAID, ("user", "What is a gigabyte?")), ["price_agreed"]),
        ((SAID, ("user", "No."), ("assistant", "It is $4.00 for 2 GB."), ("user", "Okay, go ahead.")), []),
        ((SAID, YES, ("user", "Wait, no thanks, I do not want it.")), ["price_agreed"]),
        ((SAID, ("user", "I'm not interested in changing my plan, but I am willing to add 2 GB.")), []),
        ((SAID, ("user", "No problem, go ahead.")), []),
        ((("assistant", "<think>It is $4.00 for 2 GB.</think>Let us see."), YES), ["price_said"]),
    ],
)
def test_a_refuel_needs_an_amount_a_price_and_a_yes(words, wanted):
    assert broken(REFUEL, consent(*words)) == wanted


def test_what_rests_on_words_is_marked_with_message_and_span():
    script = consent(SAID, ("user", "Well, no thanks."))
    (finding,) = observed(REFUEL, script)
    assert isinstance(finding, Observation)
    assert finding.heuristic
    messages, _ = played(REFUEL, script)
    start, end = finding.span
    assert messages[finding.message].content[start:end] == "no thank"
    assert messages[finding.call].tool_calls[0].name == "refuel_data"
    assert finding.evidence == f"{finding.call} (words in {finding.message}, {start}:{end})"


def test_words_beside_the_call_come_too_late():
    script = consent()
    messages, _ = played(REFUEL, script)
    place = next(
        i for i, m in enumerate(messages) if getattr(m, "tool_calls", None) and m.tool_calls[0].name == "refuel_data"
    )
    messages[place] = messages[place].model_copy(update={"content": "That is 2 GB for $4.00."})
    run, reference = replay(REFUEL, messages), build_reference(REFUEL)
    assert [finding.rule for finding in conduct_check(run, reference).findings] == ["amount_asked", "price_said"]


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        ("I do not want you to enable roaming.", True),
        ("Please don't turn on data roaming!", True),
        ("Can it be done without roaming?", True),
        ("Keep my roaming off.", True),
        ("I don't have roaming enabled, it seems.", False),
        ("It says: no roaming enabled. Is that it?", False),
        ("I don't know. Please enable roaming.", False),
        ("I do not want to wait. Turn on roaming, please.", False),
    ],
)
def test_roaming_against_the_customers_wish(words, unwanted):
    script = courteous(ROAMING)
    place = next(i for i, item in enumerate(script) if getattr(item, "name", "") == "enable_roaming")
    found = broken(ROAMING, [*script[:place], ("user", words), *script[place:]])
    assert found == ["roaming_wanted"] * unwanted


def without(task, *names):
    return [item for item in courteous(task) if getattr(item, "name", "") not in names]


@pytest.mark.parametrize(
    ("task", "left_out", "wanted"),
    [
        (REFUEL, ["get_customer_by_phone"], {"identified"}),
        (ROAMING, ["get_details_by_id"], {"roaming_read"}),
        (REFUEL, ["get_details_by_id"], {"usage_read"}),
        (PAYMENT, ["get_bills_for_customer"], {"bill_read"}),
        (PAYMENT, ["get_details_by_id"], {"contract_read", "paid_read"}),
    ],
)
def test_what_was_not_looked_at_is_named(task, left_out, wanted):
    assert set(broken(task, without(task, *left_out))) == wanted


def test_another_read_of_the_same_record_serves():
    usage = call("get_data_usage", customer_id="C1001", line_id="L1002")
    script = without(REFUEL, "get_details_by_id")
    assert broken(REFUEL, [*script[:3], usage, *script[3:]]) == []
    by_name = call("get_customer_by_name", full_name="John Smith", dob="1985-06-15")
    assert broken(REFUEL, [by_name, *without(REFUEL, "get_customer_by_phone")]) == []


def test_a_read_that_failed_or_came_late_is_none():
    failed = call("get_customer_by_phone", phone_number="000")
    assert "identified" in broken(REFUEL, [failed, *without(REFUEL, "get_customer_by_phone")])
    late = [*without(REFUEL, "get_customer_by_phone"), call("get_customer_by_id", customer_id="C1001")]
    assert broken(REFUEL, late) == ["identified"]


def test_transfers_are_tried_for_needed_and_announced():
    announced, transfer = ("assistant", TRANSFER_WORDS), call("transfer_to_human_agents", summary="x")
    assert broken(TRANSFERRED, [transfer, announced]) == ["transfer_tried"]
    customer = call("get_customer_by_phone", phone_number="555-123-2002")
    assert broken(TRANSFERRED, [customer, transfer, announced]) == ["transfer_tried"]
    assert broken(TRANSFERRED, [call("check_sim_status", "user"), transfer, announced]) == []
    line = call("get_details_by_id", id="L1002")
    assert broken(TRANSFERRED, [customer, line, transfer]) == ["transfer_said"]
    spoken = ("assistant", "You are being transferred to a human agent, please hold on!")
    assert broken(TRANSFERRED, [customer, line, transfer, spoken]) == []
    assert broken(REFUEL, [*courteous(REFUEL), transfer, announced]) == ["transfer_needed"]


def test_records_of_others_are_a_verdict_of_their_own():
    read = call("get_customer_by_id", customer_id="C1002")
    messages, _ = played(REFUEL, [*courteous(REFUEL), read])
    run, reference = replay(REFUEL, messages), build_reference(REFUEL)
    assert conduct_check(run, reference).status == "pass"
    assert [finding.rule for finding in privacy_check(run, reference).findings] == ["stranger_read"]
    assert broken(REFUEL, [*courteous(REFUEL), ("user", "What about C1002?"), read]) == []
    for record in ("L1004", "B1005", "D1009"):
        assert broken(REFUEL, [*courteous(REFUEL), call("get_details_by_id", id=record)]) == ["stranger_read"], record
    assert broken(REFUEL, [*courteous(REFUEL), call("get_details_by_id", id="L1001")]) == []


def test_the_order_of_a_payment():
    resumed = [call("suspend_line", **LINE, reason="x"), call("resume_line", **LINE)]
    assert broken(PAYMENT, [*courteous(PAYMENT), *resumed]) == []  # the policy check has that
    script = without(PAYMENT, "get_details_by_id")
    line = call("get_details_by_id", id="L1002")
    assert broken(PAYMENT, [*script[:3], line, *script[3:]]) == ["paid_read"]


def test_a_run_that_cannot_be_replayed_is_not_evaluated():
    messages, _ = played(REFUEL, courteous(REFUEL))
    changed = [m.model_copy(update={"content": "x"}) if m.role == "tool" else m for m in messages]
    run, reference = replay(REFUEL, changed), build_reference(REFUEL)
    assert {verdict.status for verdict in checks(run, reference).values()} == {"not_evaluated"}


# --- sentences --------------------------------------------------------------------------------------------------------


def test_every_sentence_of_the_policy_has_an_entry():
    for sentence, documents in policy_sentences().items():
        assert entry_of(sentence, documents) is not None, (sentence, documents)
    assert sentences_table().count("\n") == len(policy_sentences()) + 1


@pytest.mark.parametrize(
    "sentence",
    [
        "You must never tell a customer their PIN.",
        "Always read the plan before a refuel.",
        "Ask for the date of birth.",
    ],
)
@pytest.mark.parametrize("document", [MAIN[0], sentences.TECHNICAL[1]])
def test_a_sentence_without_an_entry_is_red(sentence, document, monkeypatch):
    assert list(sentences_of(f"- {sentence}")) == [sentence]
    monkeypatch.setattr(sentences, "policy_sentences", lambda: {sentence: [document]})
    with pytest.raises(ValueError, match="has no entry"):
        sentences_table()


def test_no_entry_is_stale_and_every_rule_has_one():
    found = policy_sentences()
    assert [entry.text for entry in sentences.SENTENCES if entry.text not in found] == []
    texts = [entry.text for entry in sentences.SENTENCES]
    assert len(texts) == len(set(texts))
    named = {rule for entry in sentences.SENTENCES for rule in entry.rules}
    assert named == {rule.id for rule in (*RULES, *CONDUCT, *ORDER_RULES)}
    with pytest.raises(ValueError, match="neither a rule nor a reason"):
        Sentence("x")


def test_every_rule_rests_on_a_sentence_word_for_word():
    folder = sentences.DATA_DIR / "tau2" / "domains" / "telecom"
    main, solo = ((folder / name).read_text(encoding="utf-8") for name in MAIN)
    for rule in ORDER_RULES:
        assert rule.sentence in main, rule.id
        assert rule.words(solo_mode=True) in solo, rule.id
        assert rule.solo_sentence is not None or rule.sentence in solo, rule.id
    assert rules.TRANSFER_WORDS in main


# --- real runs --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not TRAJECTORIES.is_dir(), reason="the real runs are not at hand")
def test_every_real_run_with_reward_1_that_a_rule_fails_was_read_by_hand():
    table = regrade([TRAJECTORIES], progress=False)
    assert (table["official_reward"] == table["recorded_reward"]).all()
    paid = table[
        (table["official_reward"] == 1.0) & ((table["conduct_check"] == "fail") | (table["privacy_check"] == "fail"))
    ]
    found = {(row.simulation_id, rule) for row in paid.itertuples() for rule in row.conduct_rules.split(";")}
    readings = pd.read_csv(AUDIT / "conduct_readings.csv")
    assert found == set(zip(readings["simulation_id"], readings["rule"], strict=True))
    assert (readings["reading"] == "broken").all()
    assert readings["why"].str.len().min() > 20
