"""The scripted customer: what it understands, what it says, and a whole conversation under tau2's orchestrator."""

from copy import deepcopy
from inspect import signature

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taulong import backend
from taulong.cases.customer import CustomerState, ScriptedCustomer, first_person
from taulong.cases.requests import TOOLS, MissingArgument, Request, requested_calls

MODE_THEN_SET = ["check_network_mode_preference", "set_network_mode_preference"]
PREFERRED = {"mode": "4g_5g_preferred"}
MESSAGING = {"app_name": "messaging"}
STORAGE = {"app_name": "messaging", "permission": "storage"}
INTERNET = {"apn_settings": {"apn_name": "internet"}}

PARAPHRASES = {  # tool -> (arguments, wordings)
    "check_status_bar": (
        {},
        ["could you look at the status bar?", "What icons do you see?", "Please check how many signal bars you have."],
    ),
    "check_network_status": (
        {},
        [
            "Please check your network status.",
            "Is airplane mode on?",
            "Could you confirm whether mobile data is enabled?",
        ],
    ),
    "check_network_mode_preference": (
        {},
        [
            "what network mode is your phone set to?",
            "Please check your preferred network type.",
            "Tell me your network mode preference.",
        ],
    ),
    "set_network_mode_preference": (
        PREFERRED,
        [
            'set_network_mode_preference(mode="4g_5g_preferred")',
            "Please set your network mode to 4G/5G preferred.",
            "Could you change it from 2G only to 4G/5G preferred?",
        ],
    ),
    "run_speed_test": (
        {},
        [
            "Please run a speed test.",
            "Could you test your internet speed?",
            "do another speed test please, I mean: run the speed test",
        ],
    ),
    "toggle_airplane_mode": (
        {},
        ["Please turn Airplane Mode off.", "switch off flight mode", "Disable airplane mode."],
    ),
    "check_sim_status": (
        {},
        [
            "Please check your SIM card.",
            "What is the status of your SIM?",
            "Let's check whether the SIM card is active.",
        ],
    ),
    "reseat_sim_card": (
        {},
        ["remove and re-insert your SIM card", "Please reseat the SIM.", "I suggest reseating your SIM card."],
    ),
    "toggle_data": ({}, ["Please turn on mobile data.", "enable cellular data", "Could you switch your data off?"]),
    "toggle_roaming": ({}, ["Please turn on data roaming.", "Enable roaming on your phone.", "Toggle data roaming."]),
    "check_data_restriction_status": (
        {},
        ["Is Data Saver on?", "Check for data restrictions.", "Please see whether data saver mode is enabled."],
    ),
    "toggle_data_saver_mode": (
        {},
        ["Turn off data saver.", "Please disable Data Saver mode.", "switch data-saver off"],
    ),
    "check_apn_settings": (
        {},
        ["Please check your APN settings.", "What do your access point names say?", "Is the MMSC URL set?"],
    ),
    "set_apn_settings": (
        INTERNET,
        [
            "set_apn_settings(apn_settings={'apn_name': 'internet'})",
            "Please set the APN name to internet.",
            "Change your APN: apn_name = internet",
        ],
    ),
    "reset_apn_settings": (
        {},
        [
            "reset the APN settings",
            "Please restore your APN settings to default.",
            "Please reset the Access Point Names.",
        ],
    ),
    "check_wifi_status": (
        {},
        ["Is your Wi-Fi connected?", "Please check the WiFi.", "Tell me your Wi\u2011Fi status."],
    ),
    "toggle_wifi": ({}, ["Turn off Wi-Fi.", "Please turn your wifi on.", "disable Wi-Fi please"]),
    "check_wifi_calling_status": (
        {},
        ["Is Wi-Fi Calling on?", "Please check whether WiFi calling is enabled.", "Can you check Wi-Fi calling?"],
    ),
    "toggle_wifi_calling": (
        {},
        [
            "turn Wi-Fi Calling off",
            "Please disable **Wi\u2011Fi Calling**.",
            "Wi-Fi Calling can interfere with MMS. Please turn it off.",
        ],
    ),
    "check_vpn_status": (
        {},
        ["Are you using a VPN?", "Please check your VPN.", "Tell me whether the VPN is connected."],
    ),
    "connect_vpn": ({}, ["Please connect to your VPN.", "turn on the VPN", "Enable your VPN."]),
    "disconnect_vpn": ({}, ["Please disconnect your VPN.", "turn off your VPN", "Turn the VPN off."]),
    "check_installed_apps": (
        {},
        ["Which apps are installed?", "Show me the list of apps.", "Please check the installed apps."],
    ),
    "check_app_status": (
        MESSAGING,
        [
            "check the status of the messaging app",
            "Please check the app status of your messaging app.",
            'check_app_status("messaging")',
        ],
    ),
    "check_app_permissions": (
        MESSAGING,
        [
            "what permissions does your messaging app have?",
            'check_app_permissions(app_name="messaging")',
            "Please check that your Messages app has the storage permission.",
        ],
    ),
    "grant_app_permission": (
        STORAGE,
        [
            "let your messaging app use storage",
            'grant_app_permission("messaging", "storage")',
            "Please grant the storage permission to your messaging app.",
        ],
    ),
    "can_send_mms": ({}, ["try sending a picture message", "Please send an MMS.", "Let me know if MMS works now."]),
    "reboot_device": (
        {},
        [
            "please restart your phone",
            "Reboot your device.",
            "turn your phone off and on again",
            "Please don't forget to restart your phone.",
        ],
    ),
    "check_payment_request": (
        {},
        [
            "Please check your payment request.",
            "Do you see a payment request?",
            "Let me know if the payment request arrived.",
        ],
    ),
    "make_payment": ({}, ["Please make the payment.", "Could you pay the bill?", "accept the payment request"]),
}


def phone_tools():
    return backend.TelecomUserTools(backend.new_user_database()).tools


def test_the_tables_cover_every_tool_of_the_installed_phone():
    assert set(TOOLS) == set(PARAPHRASES) == set(phone_tools())


@pytest.mark.parametrize("tool", sorted(PARAPHRASES))
def test_every_tool_is_understood_by_name_and_in_plain_words(tool):
    arguments, wordings = PARAPHRASES[tool]
    assert len(wordings) >= 3
    assert list(arguments) == list(signature(phone_tools()[tool]).parameters)
    for wording in wordings:
        assert requested_calls(wording) == ((tool, arguments),), wording
    for literal in (f"Please use {tool}().", f"Run `{tool}`, please."):
        expected = (tool, {}) if not arguments else MissingArgument(tool, next(iter(arguments)))
        assert requested_calls(literal) == (expected,), literal


@pytest.mark.parametrize(
    "text",
    [
        "Don't reboot yet.",
        "You don't need to restart the phone.",
        "Never turn off Wi-Fi Calling.",
        "I see that Wi-Fi calling is on",
        "I have reset the APN settings on our side.",
        "I can guide you through restarting it.",
        "Thank you for turning off airplane mode.",
        "Great job resetting the APN settings and rebooting your phone.",
        "Your APN settings will reset at reboot.",
        "This will reset your APN settings.",
        "toggle_wifi_calling has turned it off.",
        "Since you've enabled mobile data, turned off Wi-Fi Calling, reset your APN settings, and restarted, let me think.",
        "Your network mode is set to 2G only.",
        "I don't see an app called that.",
        "Hi! How can I help you today?",
        "",
    ],
)
def test_a_mention_is_not_a_request(text):
    assert requested_calls(text) == ()


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Please check the status bar without restarting your phone.", ["check_status_bar"]),
        ("Don't restart yet, just check the SIM card.", ["check_sim_status"]),
        ("If Wi-Fi Calling is on, turn it off.", ["toggle_wifi_calling"]),
        ("Check your network mode, and if it is 2G, change it to 4G/5G preferred.", MODE_THEN_SET),
        ("Turn data roaming on if it is off.", ["toggle_roaming"]),
        ("Please restart your phone if you haven't already.", ["reboot_device"]),
        ("If that doesn't work, restart your phone.", []),
        ("Make sure that data roaming is on.", ["toggle_roaming"]),
    ],
)
def test_negations_change_nothing_and_conditions_are_looked_at(text, tools):
    assert [call[0] for call in requested_calls(text)] == tools


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        (
            "Please reset the APN settings, then reboot your phone, and try sending an MMS again.",
            ["reset_apn_settings", "reboot_device", "can_send_mms"],
        ),
        (
            "Turn on mobile data and data roaming, then run a speed test.",
            ["toggle_data", "toggle_roaming", "run_speed_test"],
        ),
        ("Turn off Wi-Fi Calling and turn on mobile data.", ["toggle_wifi_calling", "toggle_data"]),
        (
            "Please check:\n- APN settings\n- SIM card\n- Wi-Fi Calling",
            ["check_apn_settings", "check_sim_status", "check_wifi_calling_status"],
        ),
        ("Run check_sim_status() and check_apn_settings().", ["check_sim_status", "check_apn_settings"]),
        (
            "Run a speed test, restart your phone, and run a speed test again.",
            ["run_speed_test", "reboot_device", "run_speed_test"],
        ),
        ("Toggle airplane mode on and off again.", ["toggle_airplane_mode"] * 2),
        ("Turn airplane mode on, wait 10 seconds, then turn it off.", ["toggle_airplane_mode"] * 2),
        (
            "Please turn off Wi-Fi Calling.\n1. Open the settings.\n2. Toggle Wi-Fi Calling to OFF.",
            ["toggle_wifi_calling"],
        ),
    ],
)
def test_several_requests_keep_their_order_and_steps_are_not_done_twice(text, tools):
    assert [call[0] for call in requested_calls(text)] == tools


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Set your network mode to LTE only.", [("set_network_mode_preference", {"mode": "4g_only"})]),
        ("Set your network mode to 3G only.", [("set_network_mode_preference", {"mode": "3g_only"})]),
        ("set_network_mode_preference('2g_only')", [("set_network_mode_preference", {"mode": "2g_only"})]),
        ('set_network_mode_preference(mode="6g")', [("set_network_mode_preference", {"mode": "6g"})]),
        ("Change your network mode preference.", [MissingArgument("set_network_mode_preference", "mode")]),
        ("Please change your network mode. Choose 4G/5G preferred.", [("set_network_mode_preference", PREFERRED)]),
        ("Grant the storage permission.", [MissingArgument("grant_app_permission", "app_name")]),
        ("Give the messaging app the permission it needs.", [MissingArgument("grant_app_permission", "permission")]),
        (
            "Allow the storage and SMS permissions for your messaging app.",
            [
                ("grant_app_permission", STORAGE),
                ("grant_app_permission", {"app_name": "messaging", "permission": "sms"}),
            ],
        ),
        (
            "Please let the browser app use storage.",
            [("grant_app_permission", {"app_name": "browser", "permission": "storage"})],
        ),
        (
            "Please set the MMSC URL to http://mms.Carrier.com/Mms and the MMS port to 8080.",
            [("set_apn_settings", {"apn_settings": {"mmsc_url": "http://mms.Carrier.com/Mms", "mms_port": 8080}})],
        ),
    ],
)
def test_arguments_are_read_from_the_wording_or_asked_for(text, calls):
    assert requested_calls(text) == tuple(calls)


# --- what it says -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task():
    return next(t for t in backend.telecom_tasks() if t.id == "[mms_issue]bad_wifi_calling[PERSONA:Easy]")


@pytest.fixture
def customer(task):
    return ScriptedCustomer(task.user_scenario)


def say(customer, state, text):
    return customer.generate_next_message(backend.AssistantMessage(role="assistant", content=text), state)[0]


def answer(customer, state, call, content, error=False):
    message = backend.ToolMessage(id=call.id, role="tool", content=content, requestor="user", error=error)
    return customer.generate_next_message(message, state)[0]


def started(customer) -> CustomerState:
    state = customer.get_init_state()
    say(customer, state, "Hi! How can I help you today?")
    return state


def test_it_opens_with_the_complaint_in_the_first_person(customer):
    said = say(customer, customer.get_init_state(), "Hi! How can I help you today?")
    assert said.content == (
        "I am unable to send MMS messages using my messaging app for the past few hours. "
        "I want to fix it and successfully send an MMS message."
    )


REASONS = sorted({task.user_scenario.instructions.reason_for_call for task in backend.telecom_tasks()})


@pytest.mark.parametrize("reason", REASONS)
def test_every_complaint_of_the_benchmark_speaks_in_the_first_person(reason):
    said = first_person(reason)
    assert said.startswith(("I am ", "My "))
    assert "you" not in said.lower()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("May I have your name and phone number?", "I am John Smith with phone number 555-123-2002."),
        ("What is your date of birth?", "I do not have my date of birth at hand."),
        ("Are you currently abroad?", "I am currently at home in the United States."),
        (
            "Is it okay if I refuel 2 GB of data?",
            "I am willing to refuel 2.0 GB of data if necessary, but I do not want to change my mobile data plan.",
        ),
        ("Shall I look into your line?", "Yes, please go ahead."),
        ("Which mode? Change your network mode.", "Which mode should I use for set_network_mode_preference?"),
        ("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.", "###TRANSFER###"),
        (
            "I am sorry, there is nothing more I can do.",
            "I understand that you cannot solve my problem. Goodbye. ###STOP###",
        ),
    ],
)
def test_it_answers_questions_from_what_it_knows(customer, question, said):
    assert say(customer, started(customer), question).content == said


def test_what_it_does_not_understand_it_says_and_restates_the_problem(customer):
    state = started(customer)
    for _ in range(2):
        said = say(customer, state, "Please defenestrate the frobnicator.")
        assert 'I don\'t know what you mean by "please defenestrate the frobnicator"' in said.content
        assert "I am unable to send MMS" in said.content
    assert state.not_understood == 2


def test_answers_are_quoted_word_for_word_and_errors_called_errors(customer):
    state = started(customer)
    settings_shown = "Current APN Name: internet\nMMSC URL (for picture messages): Not Set"
    first = say(customer, state, "Please check your APN settings and turn off Wi-Fi Calling.").tool_calls[0]
    look = answer(customer, state, first, settings_shown).tool_calls[0]
    second = answer(customer, state, look, "Wi-Fi Calling is currently turned ON.").tool_calls[0]
    said = answer(customer, state, second, "Error: no such switch", error=True).content
    assert (first.id, second.id, first.requestor) == ("customer-1", "customer-3", "user")
    assert said == (
        f"I ran check_apn_settings: {settings_shown}\nI ran toggle_wifi_calling, but it failed: Error: no such switch"
    )


def test_several_answers_in_one_message_are_all_reported(customer):
    state = started(customer)
    state.running = {id: (Request(tool), tool) for id, tool in (("a", "check_sim_status"), ("b", "check_vpn_status"))}
    answers = [backend.ToolMessage(id=i, role="tool", content=f"answer {i}", requestor="user") for i in "ab"]
    said, _ = customer.generate_next_message(backend.MultiToolMessage(role="tool", tool_messages=answers), state)
    assert said.content == "I ran check_sim_status: answer a\nI ran check_vpn_status: answer b"


def test_it_thanks_when_the_fix_is_verified_and_leaves_when_nothing_more_is_asked(customer):
    state = started(customer)
    call = say(customer, state, "Please try sending an MMS.").tool_calls[0]
    said = answer(customer, state, call, "Your messaging app cannot send MMS messages.")
    assert "Thank you" not in said.content
    call = say(customer, state, "Please try sending an MMS.").tool_calls[0]
    said = answer(customer, state, call, "Your messaging app can send MMS messages.")
    assert said.content.endswith("Thank you, my problem is solved.")
    assert not customer.is_stop(said)
    call = say(customer, state, "Good. Please run a speed test as well.").tool_calls[0]
    assert call.name == "run_speed_test"
    answer(customer, state, call, "Speed Test Result: 275.00 Mbps (Excellent). Connection is very fast.")
    said = say(customer, state, "Wonderful! Is there anything else I can help you with?")
    assert customer.is_stop(said)
    assert backend.UserSimulator.is_stop(said)


def test_it_goes_on_from_a_message_history(customer):
    state = started(customer)
    asked = customer.generate_next_message(
        backend.AssistantMessage(role="assistant", content="Please check your SIM card."), state
    )[0]
    resumed = customer.get_init_state([backend.UserMessage(role="user", content="I cannot send MMS."), asked])
    said = answer(customer, resumed, asked.tool_calls[0], "Your SIM card is active and working.")
    assert said.content == "I ran check_sim_status: Your SIM card is active and working."
    assert say(customer, resumed, "Please restart your phone.").tool_calls[0].id == "customer-2"


WORDS = sorted({word for _, wordings in PARAPHRASES.values() for text in wordings for word in text.split()})


SENTENCES = st.lists(st.sampled_from([*WORDS, "if", "not", "it", "on", ":", "\n-", "(", ")"])).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), SENTENCES))
@example("set_apn_settings({})")
@example("\u0130\u0130 turn it off \u0130")
@example('grant_app_permission(, "")')
def test_any_text_gives_a_valid_call_or_a_text(text):
    customer = ScriptedCustomer(backend.telecom_tasks("small")[0].user_scenario)
    tools = phone_tools()
    for state in (customer.get_init_state(), started(customer)):
        said = say(customer, state, text)
        said.validate()
        assert bool(said.tool_calls) != bool(said.content)
        for call in said.tool_calls or ():
            signature(tools[call.name]).bind(**call.arguments)


# --- a whole conversation ---------------------------------------------------------------------------------------------


class Caretaker(backend.BaseAgent):
    """A tiny agent: looks, reads the customer's words, fixes what they show, verifies, says goodbye."""

    def get_init_state(self, message_history=None):
        return []

    def set_seed(self, seed):
        pass

    @classmethod
    def is_stop(cls, message):
        return False

    def generate_next_message(self, message, state):
        heard = message.content or ""
        if "Wi-Fi Calling is currently turned ON" in heard:
            text = "Please turn off Wi-Fi Calling, and then try sending a picture message."
        elif "can send MMS" in heard:
            text = "I am glad that it works now. Is there anything else?"
        elif "phone number" in heard:
            text = "Thank you. Is Wi-Fi Calling on?"
        else:
            text = "What is your phone number, please?"
        return backend.AssistantMessage(role="assistant", content=text, cost=0.0), state


def conversation(task, customer):
    orchestrator = backend.Orchestrator(
        domain="telecom",
        agent=Caretaker(tools=[], domain_policy=""),
        user=customer,
        environment=backend.new_environment(),
        task=deepcopy(task),
        max_steps=40,
        seed=1,
    )
    return orchestrator.run()


def test_a_conversation_under_tau2_fixes_the_phone_and_ends_with_the_customer(task, customer):
    runs = [conversation(task, customer) for _ in range(2)]
    assert runs[0].termination_reason == backend.TerminationReason.USER_STOP
    assert backend.official_reward(task, runs[0].messages).reward == 1.0
    said = [[(m.role, m.content, getattr(m, "tool_calls", None)) for m in run.messages] for run in runs]
    assert said[0] == said[1], "the same customer object serves any number of conversations"
    calls = [call for m in runs[0].messages for call in getattr(m, "tool_calls", None) or ()]
    assert [(call.id, call.name) for call in calls] == [
        ("customer-1", "check_wifi_calling_status"),
        ("customer-2", "check_wifi_calling_status"),
        ("customer-3", "toggle_wifi_calling"),
        ("customer-4", "can_send_mms"),
    ]
