"""The policy rules: their sentences, and their judgements at known states."""

import copy
import datetime

import pytest

from taulong.backend import database_contents, policy, telecom_tasks
from taulong.graders.delta import Field
from taulong.graders.policy import CONDUCT, RULES, WRITES, Caller, Write, caller_of, conduct, contract_ended, judge

JOHN = Caller("555-123-2002", abroad=False)
SARAH = Caller("555-123-2004", abroad=False)
SERVED = {"customer_id": "C1001", "line_id": "L1002"}


def write(name, state=None, requestor="assistant", changed=(), **arguments):
    return Write(name, arguments, requestor, state or copy.deepcopy(database_contents()), frozenset(changed))


def broken(written, caller=JOHN, solo_mode=False):
    return {rule.id for rule in judge(written, caller, solo_mode).broken}


def changed_state(table, key, value, **fields):
    state = copy.deepcopy(database_contents())
    next(row for row in state[table] if row[key] == value).update(fields)
    return state


@pytest.mark.parametrize("policy_type", ["manual", "workflow"])
@pytest.mark.parametrize("solo_mode", [False, True])
def test_every_sentence_is_in_the_installed_policy(policy_type, solo_mode):
    text = policy(policy_type, solo_mode)[1]
    for rule in (*RULES, *CONDUCT):
        if solo_mode or not rule.solo_only:
            assert rule.words(solo_mode) in text, rule.id


def test_solo_sentences_are_given_only_where_the_policies_differ():
    plain = policy("manual", False)[1]
    for rule in (*RULES, *CONDUCT):
        assert (rule.sentence in plain) != rule.solo_only, rule.id


def test_rule_ids_are_unique():
    assert len({rule.id for rule in (*RULES, *CONDUCT)}) == len(RULES) + len(CONDUCT)


def test_a_rule_is_marked_as_inferred_where_its_sentence_does_not_speak_of_the_write():
    inferred = {rule.id: set(rule.inferred) for rule in (*RULES, *CONDUCT) if rule.inferred}
    assert inferred == {
        "caller_line": {"suspend_line", "resume_line", "enable_roaming", "disable_roaming"},  # it speaks of refuelling
        "caller_account": set(WRITES),
        "may_refuel_agreed": {"refuel_data"},
    }


def test_suspension_needs_grounds():
    assert broken(write("suspend_line", **SERVED)) == {"suspension_grounds"}
    ended = changed_state("lines", "line_id", "L1002", contract_end_date=datetime.date(2025, 1, 31))
    assert judge(write("suspend_line", ended, **SERVED), JOHN).licensed
    overdue = write("suspend_line", customer_id="C1002", line_id="L1004")
    assert judge(overdue, SARAH).licensed  # B1005 is overdue
    assert broken(overdue, JOHN) == {"caller_line", "caller_account"}


def test_resumption_needs_paid_bills_and_a_running_contract():
    suspended = changed_state("lines", "line_id", "L1002", status="Suspended")
    assert judge(write("resume_line", suspended, **SERVED), JOHN).licensed
    for status in ("Overdue", "Awaiting Payment"):
        owing = copy.deepcopy(suspended)
        next(bill for bill in owing["bills"] if bill["bill_id"] == "B1002")["status"] = status
        assert broken(write("resume_line", owing, **SERVED)) == {"resume_paid"}
    ended = changed_state("lines", "line_id", "L1002", status="Suspended", contract_end_date=datetime.date(2025, 1, 31))
    assert broken(write("resume_line", ended, **SERVED)) == {"resume_contract"}
    assert broken(write("resume_line", customer_id="C1001", line_id="L1003")) == {"caller_line"}


@pytest.mark.parametrize(
    ("bill_id", "rules"),
    [
        ("B1001", {"payment_overdue"}),
        ("B1002", {"payment_overdue"}),
        ("B1003", {"payment_overdue"}),
    ],
)
def test_a_payment_request_needs_an_overdue_bill(bill_id, rules):
    assert broken(write("send_payment_request", customer_id="C1001", bill_id=bill_id)) == rules


def test_one_payment_request_at_a_time():
    state = changed_state("bills", "bill_id", "B1004", status="Awaiting Payment")
    request = write("send_payment_request", state, customer_id="C1002", bill_id="B1005")
    assert broken(request, SARAH) == {"payment_single"}
    assert judge(write("send_payment_request", customer_id="C1002", bill_id="B1005"), SARAH).licensed


@pytest.mark.parametrize(
    ("refueled", "amount", "rules"),
    [
        (0, 2, set()),
        (0, 2.0, set()),
        (1, 1, set()),
        (0, 2.1, {"refuel_cap"}),
        (1, 1.5, {"refuel_cap"}),
        (2, 0.1, {"refuel_cap"}),
    ],
)
def test_refuelling_is_capped(refueled, amount, rules):
    state = changed_state("lines", "line_id", "L1002", data_refueling_gb=refueled)
    assert broken(write("refuel_data", state, **SERVED, gb_amount=amount)) == rules


def test_refuelling_is_licensed_only_for_a_line_that_ran_out():
    assert not judge(write("refuel_data", **SERVED, gb_amount=1), JOHN).licensed
    empty = changed_state("lines", "line_id", "L1002", data_used_gb=15.1)
    assert judge(write("refuel_data", empty, **SERVED, gb_amount=1), JOHN).licensed
    assert broken(write("refuel_data", customer_id="C1001", line_id="L1001", gb_amount=1)) == {"caller_line"}


def test_roaming_is_for_travellers_and_free():
    assert broken(write("enable_roaming", **SERVED)) == {"roaming_traveller"}
    traveller = Caller("555-123-2002", abroad=True)
    assert judge(write("enable_roaming", **SERVED), traveller).licensed
    charged = write("enable_roaming", changed=[Field("bills.B1003", "total_due")], **SERVED)
    assert broken(charged, traveller) == {"roaming_free"}
    assert broken(write("enable_roaming", customer_id="C1001", line_id="L1001"), traveller) == {"caller_line"}


def test_disabling_roaming_on_the_own_line_is_neither_forbidden_nor_licensed():
    judged = judge(write("disable_roaming", **SERVED), JOHN)
    assert judged.broken == ()
    assert not judged.licensed


def test_a_phone_number_of_no_line_places_no_line_write():
    sarah_by_contact = Caller("555-123-1002", abroad=True)  # her contact number, no line's number
    assert broken(write("enable_roaming", customer_id="C1002", line_id="L1004"), sarah_by_contact) == {"caller_line"}
    assert broken(write("send_payment_request", customer_id="C1002", bill_id="B1005"), sarah_by_contact) == set()


def test_the_caller_is_not_bound_by_the_policy():
    judged = judge(write("make_payment", requestor="user"), JOHN)
    assert judged.broken == ()
    assert judged.licensed


def test_in_solo_mode_paying_needs_the_tickets_permission():
    payment = write("make_payment")
    assert broken(payment, JOHN, solo_mode=True) == {"payment_permission"}
    assert judge(payment, Caller("555-123-2002", False, pays=True), solo_mode=True).licensed


def test_the_caller_is_read_from_the_task():
    paying = next(task for task in telecom_tasks("full") if "overdue_bill_suspension" in task.id)
    other = next(
        task for task in telecom_tasks("full") if "airplane_mode_on" in task.id and "suspension" not in task.id
    )
    database = {"surroundings": {"phone_number": "555-123-2002", "is_abroad": True}}
    assert caller_of(database, paying) == Caller("555-123-2002", True, pays=True)
    assert caller_of(database, other) == Caller("555-123-2002", True, pays=False)


@pytest.mark.parametrize(
    ("calls", "text", "solo", "rules"),
    [
        (["refuel_data"], False, False, []),
        (["refuel_data"], True, False, ["not_beside_text"]),
        (["refuel_data"], True, True, []),
        (["get_details_by_id", "refuel_data"], False, False, ["one_call"]),
        (["toggle_data", "refuel_data"], False, True, ["one_call"]),
        (["write_notebook"], True, False, []),
        (["write_notebook", "refuel_data"], False, False, []),
        (["no_such_tool", "refuel_data"], False, False, []),
    ],
)
def test_conduct(calls, text, solo, rules):
    assert [rule.id for rule in conduct(calls, text, solo)] == rules


def test_a_contract_that_ends_today_still_runs():
    today = datetime.date(2025, 2, 25)
    assert not contract_ended({"contract_end_date": today}, today)
    assert contract_ended({"contract_end_date": today - datetime.timedelta(1)}, today)
    assert not contract_ended({"contract_end_date": None}, today)
