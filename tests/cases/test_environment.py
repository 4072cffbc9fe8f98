"""The masked-evidence rule, tool by tool, and what it makes of guessing."""

import itertools

import pytest
from conversations import (
    EMPTY_NOTEBOOK,
    NO_MEMORY,
    agent,
    calls_of,
    case_of,
    converse,
    customer,
    environment_of,
    official,
    phone,
    reward_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from taulong.backend import Task, ToolType
from taulong.cases.environment import NO_STATUS, NOT_AVAILABLE, NOT_CARRIED_OUT, customer_tool_types
from taulong.shifts.causes import corrective_tools, recurring_causes, routine_resets
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.generation import generate_shifts

CAUSES = list(recurring_causes())
ARGUMENTS = {
    "check_app_status": {"app_name": "messaging"},
    "check_app_permissions": {"app_name": "messaging"},
    "set_network_mode_preference": {"mode": "4g_5g_preferred"},
    "set_apn_settings": {"apn_settings": {}},
    "grant_app_permission": {"app_name": "messaging", "permission": "storage"},
}
READS = sorted(tool for tool, kind in customer_tool_types().items() if kind == ToolType.READ)
OTHERS = sorted(
    tool for tool, kind in customer_tool_types().items() if kind != ToolType.READ and tool not in corrective_tools()
)
CORRECTIVE = sorted(corrective_tools())


def call_of(tool):
    return customer(tool, **ARGUMENTS.get(tool, {}))


def fix(cause):
    return calls_of(recurring_causes()[cause].fix)


def twins(cause):
    """Return a masked environment and an unmasked one that are otherwise equal."""
    masked, plain = environment_of(case_of(cause)), environment_of(case_of(cause))
    plain.masked = False
    return masked, plain


@pytest.mark.parametrize("tool", READS)
def test_a_read_is_masked_before_the_commitment_and_visible_after(tool):
    masked, plain = twins("bad_wifi_calling")
    before = phone(masked)
    answer = masked.get_response(call_of(tool))
    assert (answer.content, answer.error) == (NOT_AVAILABLE, False)
    assert phone(masked) == before
    for environment in (masked, plain):
        environment.get_response(call_of("toggle_wifi_calling"))
    answer = masked.get_response(call_of(tool))
    assert answer.content == plain.get_response(call_of(tool)).content != NOT_AVAILABLE


def test_a_masked_read_says_the_same_whatever_it_is_asked():
    masked, _ = twins("bad_wifi_calling")
    answers = [
        masked.get_response(customer(tool, **arguments))
        for tool in READS
        for arguments in ({}, {"app_name": 3}, {"x": 1})
    ]
    assert {(answer.content, answer.error) for answer in answers} == {(NOT_AVAILABLE, False)}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("tool", OTHERS)
def test_every_other_tool_runs_unseen(tool, cause):
    masked, plain = twins(cause)
    hidden, seen = masked.get_response(call_of(tool)), plain.get_response(call_of(tool))
    assert phone(masked) == phone(plain)
    assert masked.commitment is None
    assert hidden.content == (seen.content if seen.error else NO_STATUS)
    assert "Status Bar" not in hidden.content


@pytest.mark.parametrize("tool", OTHERS)
def test_what_a_masked_phone_answers_is_the_same_for_every_cause(tool):
    assert len({environment_of(case_of(cause)).get_response(call_of(tool)).content for cause in CAUSES}) == 1


@pytest.mark.parametrize("tool", CORRECTIVE)
def test_the_first_corrective_call_runs_commits_and_lifts_the_mask(tool):
    masked, plain = twins("break_apn_mms_setting")
    answer = masked.get_response(call_of(tool))
    assert answer.content == plain.get_response(call_of(tool)).content
    assert phone(masked) == phone(plain)
    assert masked.commitment == tool
    assert masked.get_response(customer("can_send_mms")).content == plain.get_response(customer("can_send_mms")).content


@pytest.mark.parametrize(("first", "later"), list(itertools.product(CORRECTIVE, repeat=2)))
def test_later_corrective_calls_do_not_run_and_say_so(first, later):
    masked, _ = twins("break_app_storage_permission")
    masked.get_response(call_of(first))
    before = phone(masked)
    answer = masked.get_response(call_of(later))
    assert (answer.content, phone(masked), masked.commitment) == (NOT_CARRIED_OUT, before, first)


@pytest.mark.parametrize("tool", sorted(routine_resets()))
def test_a_routine_reset_is_no_commitment(tool):
    masked, _ = twins("bad_wifi_calling")
    masked.get_response(call_of(tool))
    assert masked.commitment is None
    assert masked.get_response(customer("check_status_bar")).content == NOT_AVAILABLE


@pytest.mark.parametrize(
    "call",
    [
        customer("set_network_mode_preference"),
        customer("set_network_mode_preference", mode="4g_only", speed=1),
        customer("set_network_mode_preference", mode=4),
        customer("set_network_mode_preference", mode=["4g_5g_preferred"]),
        customer("set_apn_settings", apn_settings={"apn_name": "none"}),
        customer("set_apn_settings", apn_settings="internet"),
        customer("grant_app_permission", app_name="messaging"),
        customer("grant_app_permission", app_name="messaging", permission=None),
        customer("toggle_wifi_calling", on=False),
        customer("reset_apn_settings", tool_name="reboot_device"),
    ],
    ids=lambda call: f"{call.name}-{'-'.join(map(str, call.arguments.values()))}",
)
def test_a_corrective_call_that_fails_is_undone_no_commitment_and_shows_nothing(call):
    answers = set()
    for cause in CAUSES:
        masked, _ = twins(cause)
        before = phone(masked)
        answer = masked.get_response(call)
        assert answer.error
        assert phone(masked) == before
        assert masked.commitment is None
        assert masked.get_response(customer("can_send_mms")).content == NOT_AVAILABLE
        answers.add(answer.content)
    assert len(answers) == 1


def test_a_corrective_call_with_useless_arguments_is_spent():
    useless = customer("set_network_mode_preference", mode="6g")
    assert reward_of(case_of("bad_network_preference"), [useless, *fix("bad_network_preference")]) == 0.0


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 9),
    st.text(max_size=4),
    st.sampled_from(
        ["4g_5g_preferred", "4g_only", "2g_only", "messaging", "storage", "browser", "internet", "working"]
    ),
    st.lists(st.sampled_from(["4g_5g_preferred", "storage", "internet", 4]), max_size=2),
    st.dictionaries(
        st.sampled_from(["apn_name", "mmsc_url", "mms_proxy", "reset_at_reboot"]),
        st.sampled_from(["internet", "broken", "http://mms.carrier.com/mms/wapenc", None, True, 4]),
        max_size=3,
    ),
)


@st.composite
def odd_calls(draw):
    """A call of any of the customer's tools, with arguments that may be odd, missing or too many."""
    tool = draw(st.sampled_from([*sorted(customer_tool_types()), *4 * list(ARGUMENTS)]))
    arguments = {name: draw(ODD | st.just(usual)) for name, usual in ARGUMENTS.get(tool, {}).items()}
    if draw(st.integers(0, 5)) == 0:
        arguments = dict(list(arguments.items())[1:]) or {draw(st.sampled_from(["mode", "tool_name"])): draw(ODD)}
    return customer(tool, **arguments)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(odd_calls(), min_size=1, max_size=5), st.permutations(CAUSES))
def test_no_sequence_of_calls_solves_more_than_one_cause_or_tells_the_causes_apart_before_the_commitment(odd, order):
    calls = [*odd, *(call for cause in order for call in fix(cause))]
    solved, told = 0, set()
    for cause in CAUSES:
        environment, before = environment_of(case_of(cause)), []
        for call in calls:
            answer = environment.get_response(call)
            if environment.commitment is not None:
                break
            before.append((answer.content, answer.error))
        told.add((environment.commitment, *before))
        solved += reward_of(case_of(cause), calls)
    assert solved <= 1
    assert len(told) == 1


def test_a_masked_payment_that_was_not_due_is_not_said_to_be_done():
    masked, plain = twins("bad_wifi_calling")
    assert plain.get_response(customer("make_payment")).content == "You do not have a payment request."
    assert masked.get_response(customer("make_payment")).content == "The phone shows no status right now."


def test_a_masked_lookalike_is_masked_like_a_testing_case():
    shifts = generate_shifts(ShiftConfig(mark="model", masked_lookalikes=True), num_shifts=2)
    for case in (case for shift in shifts for case in shift.cases):
        answer = environment_of(case).get_response(customer("can_send_mms")).content
        assert (answer == NOT_AVAILABLE) == (case.population != "teaching")


def test_the_agents_tools_are_never_masked():
    masked, plain = twins("bad_wifi_calling")
    number = masked.user_tools.db.surroundings.phone_number
    account = masked.tools.get_customer_by_phone(number)
    calls = [
        agent("get_customer_by_phone", phone_number=number),
        agent("get_details_by_id", id=account.line_ids[0]),
        agent("get_bills_for_customer", customer_id=account.customer_id),
        agent("get_data_usage", customer_id=account.customer_id, line_id=account.line_ids[0]),
        agent("enable_roaming", customer_id=account.customer_id, line_id=account.line_ids[0]),
    ]
    for call in calls:
        answer = masked.get_response(call)
        assert not answer.error
        assert answer.content == plain.get_response(call).content
    assert masked.commitment is None


def test_the_agent_cannot_use_the_customers_tools():
    masked, _ = twins("bad_wifi_calling")
    before = phone(masked)
    assert masked.get_response(agent("toggle_wifi_calling")).error
    assert masked.get_response(agent("can_send_mms")).error
    assert (phone(masked), masked.commitment) == (before, None)


@pytest.mark.parametrize("population", ["teaching", "lookalike"])
def test_teaching_and_lookalike_cases_are_never_masked(population):
    environment = environment_of(case_of("bad_wifi_calling", population))
    assert "ON" in environment.get_response(customer("check_wifi_calling_status")).content
    for _ in range(2):
        assert "Status Bar" in environment.get_response(customer("toggle_wifi_calling")).content
    assert environment.commitment is None


def test_guessing_resolves_one_in_four_exactly():
    rewards = [reward_of(case_of(cause), fix(guess)) for cause in CAUSES for guess in CAUSES]
    assert sum(rewards) / len(rewards) == 0.25


def test_trying_all_four_in_turn_resolves_no_more_than_guessing():
    look = customer("can_send_mms")
    rewards = []
    for cause in CAUSES:
        for order in itertools.permutations(CAUSES):
            tried = [call for guess in order for call in [*fix(guess), look]]
            rewards.append(reward_of(case_of(cause), tried))
    assert sum(rewards) / len(rewards) == 0.25


def test_reading_the_notebook_resolves_all():
    assert [reward_of(case_of(cause), fix(cause)) for cause in CAUSES] == [1.0] * 4


@pytest.mark.parametrize("population", ["testing", "teaching"])
def test_the_official_evaluator_replays_a_case_unchanged_with_the_notebook_tool_in_it(population):
    case = case_of("break_apn_mms_setting", population)
    calls = [
        agent("write_notebook", text="x" * 2001),
        customer("check_apn_settings"),
        customer("toggle_wifi"),
        *fix("break_apn_mms_setting"),
        customer("set_apn_settings", apn_settings={"mmsc_url": None})
        if population == "testing"
        else customer("toggle_wifi"),
        agent("write_notebook", text="reset_apn_settings"),
        customer("can_send_mms"),
    ]
    messages, answers = converse(case, calls, EMPTY_NOTEBOOK)
    assert official(case, messages, EMPTY_NOTEBOOK) == 1.0
    answers[1].content = "Current APN Name: internet"  # a forged answer does not replay
    with pytest.raises(ValueError, match="check_apn_settings"):
        official(case, messages, EMPTY_NOTEBOOK)


def test_the_notebook_is_no_part_of_any_database():
    case = case_of("bad_wifi_calling")
    with_notebook, without = environment_of(case, EMPTY_NOTEBOOK), environment_of(case, NO_MEMORY)
    with_notebook.get_response(agent("write_notebook", text="something"))
    assert with_notebook.get_db_hash() == without.get_db_hash()
    assert without.get_response(agent("write_notebook", text="something")).error


def test_a_notebook_text_that_is_no_text_is_a_tool_error():
    environment = environment_of(case_of("bad_wifi_calling"), EMPTY_NOTEBOOK)
    assert environment.get_response(agent("write_notebook", text=["a"])).error
    assert environment.memory.system.text == ""


def test_environments_of_one_case_share_nothing():
    case = case_of("bad_wifi_calling")
    first, second = environment_of(case), environment_of(case)
    before, records = phone(second), Task.model_validate(case.task).model_dump_json()
    for call in (customer("toggle_data"), *fix("bad_wifi_calling")):
        first.get_response(call)
    first.tools.db.lines[0].roaming_enabled = True
    assert phone(second) == before
    assert second.tools.db.lines[0].roaming_enabled is False
    assert (second.commitment, Task.model_validate(case.task).model_dump_json()) == (None, records)
