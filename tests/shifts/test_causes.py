"""The recurring causes and what fixes them: derived, held against the facts, judged by tau2's own evaluator."""

import itertools
from pathlib import Path

import pytest
from conversations import calls_of, case_of, customer, reward_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taulong import backend
from taulong.backend import ToolType
from taulong.cases.environment import customer_tool_types
from taulong.shifts import causes
from taulong.shifts.causes import corrective_tools, recurring_causes, resolves, routine_resets

FACTS = {
    "bad_network_preference": "set_network_mode_preference",
    "bad_wifi_calling": "toggle_wifi_calling",
    "break_apn_mms_setting": "reset_apn_settings",
    "break_app_storage_permission": "grant_app_permission",
}
WRITES = sorted(name for name, kind in customer_tool_types().items() if kind == ToolType.WRITE)
PLAUSIBLE = {
    "set_network_mode_preference": [
        {"mode": mode} for mode in ("4g_5g_preferred", "4g_only", "3g_only", "2g_only", "6g")
    ],
    "set_apn_settings": [
        {"apn_settings": settings}
        for settings in (
            {},
            {"apn_name": "internet"},
            {"mmsc_url": "http://mms.carrier.com/mms/wapenc"},
            {"mmsc_url": None},
            {"reset_at_reboot": True},
            {"apn_name": "none"},
        )
    ],
    "grant_app_permission": [
        {"app_name": app, "permission": permission}
        for app in ("messaging", "browser", "none")
        for permission in ("storage", "sms", "phone", "Storage")
    ],
}


def variants(tool):
    return [customer(tool, **arguments) for arguments in PLAUSIBLE.get(tool, [{}])]


def test_derived_causes_tools_and_resets_are_those_of_the_facts():
    assert {name: cause.corrective_tool for name, cause in recurring_causes().items()} == FACTS
    assert routine_resets() == {"reboot_device", "toggle_airplane_mode", "reseat_sim_card"}
    assert [action.name for action in recurring_causes()["break_apn_mms_setting"].fix] == [
        "reset_apn_settings",
        "reboot_device",
    ]
    assert all(len(cause.fix) == 1 for name, cause in recurring_causes().items() if name != "break_apn_mms_setting")


def test_every_tool_with_arguments_is_tried_with_some():
    with_arguments = {tool for tool in WRITES if backend.tool_schema(tool, customer=True)["parameters"].get("required")}
    assert with_arguments == set(PLAUSIBLE)


def test_the_fifth_committing_tool_is_a_second_way_to_the_same_fix():
    assert corrective_tools() == {*FACTS.values(), "set_apn_settings"}
    resolved = [
        name
        for name, cause in recurring_causes().items()
        if resolves(cause, [customer("set_apn_settings", apn_settings={})])
    ]
    assert resolved == ["break_apn_mms_setting"]


def test_causes_share_ticket_reason_and_assertion():
    tasks = [cause.task for cause in recurring_causes().values()]
    assert len({task.user_scenario.instructions.model_dump_json() for task in tasks}) == 1
    assert len({task.ticket for task in tasks}) == 1
    criteria = [[(a.func_name, a.arguments) for a in task.evaluation_criteria.env_assertions] for task in tasks]
    assert criteria == [[("assert_can_send_mms", {"expected_status": True})]] * 4


@pytest.mark.parametrize("population", ["testing", "teaching"])
def test_each_fix_resolves_its_own_cause_and_no_other(population):
    matrix = {
        (fixed, broken): reward_of(case_of(broken, population), calls_of(recurring_causes()[fixed].fix))
        for fixed in FACTS
        for broken in FACTS
    }
    assert matrix == {(fixed, broken): float(fixed == broken) for fixed in FACTS for broken in FACTS}


@pytest.mark.parametrize("cause", FACTS)
def test_no_tool_that_is_not_corrective_resolves_a_masked_case(cause):
    case = case_of(cause)
    harmless = [call for tool in WRITES if tool not in corrective_tools() for call in variants(tool)]
    assert len(harmless) >= 10
    for pair in itertools.product(harmless, repeat=2):
        assert reward_of(case, pair) == 0.0, pair
    assert reward_of(case, [*harmless, *harmless]) == 0.0  # toggled and put back


@pytest.mark.parametrize("cause", FACTS)
def test_a_corrective_tool_with_any_arguments_resolves_at_most_its_own_cause(cause):
    own = {FACTS[cause]} | ({"set_apn_settings"} if cause == "break_apn_mms_setting" else set())
    solving = {
        call.name
        for tool in corrective_tools()
        for call in variants(tool)
        if reward_of(case_of(cause), [call, customer("reboot_device")]) == 1.0
    }
    assert solving == own


ANY_CALL = st.sampled_from([call for tool in WRITES for call in variants(tool)])


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cause=st.sampled_from(list(FACTS)), calls=st.lists(ANY_CALL, max_size=10))
def test_a_masked_case_is_resolved_by_its_first_corrective_call_or_not_at_all(cause, calls):
    # Undoing what was switched off on the way is no fix; so the phone is looked at as if only the fix had been made.
    if reward_of(case_of(cause), calls) == 1.0:
        first = next(call for call in calls if call.name in corrective_tools())
        assert resolves(recurring_causes()[cause], [first])


def test_names_are_not_typed_into_the_derivation():
    source = Path(causes.__file__).read_text(encoding="utf-8").split('"""', 2)[2]  # without the module's own words
    assert not [name for name in FACTS if f'"{name}"' in source]
    assert not [tool for tool in FACTS.values() if f'"{tool}"' in source]
