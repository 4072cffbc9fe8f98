"""Agents that know the right fix and differ in what they say: each scores what its memory is worth, for every cause."""

import pytest

from taulong.cases.agents import REMEDIES, VERIFICATION, ScriptedAgent, Traits
from taulong.runs.units import Unit, run_unit
from taulong.shifts.causes import recurring_causes
from taulong.shifts.generation import generate_shifts

FIRST = {
    "plain": "",
    "ensure": "Please make sure that Airplane Mode is off and mobile data is on.",
    "data_on": "Please turn on mobile data.",
    "take_care": "Thank you, I found your account. I'll take care of this.",
    "consent": "There are a few things we can try. Would you prefer to start with turning off Wi-Fi Calling, or should we "
    "first reset your APN settings?",
    "other_customer": "I have seen this before: another customer had to turn off Wi-Fi Calling. Is your phone doing anything "
    "unusual?",
    "reads_notes": 'My notes say: "On this phone, reset the APN settings and turn off Wi-Fi Calling." Let me think.',
    "who_set_it": "Who set your network mode to 2G?",
}
LETS = {
    "set_network_mode_preference": "Let's set your network mode to 4G/5G preferred.",
    "toggle_wifi_calling": "Let's turn off Wi-Fi Calling.",
    "reset_apn_settings": "Let's reset your APN settings and then restart your phone.",
    "grant_app_permission": "Let's grant your messaging app the storage permission.",
}
EXPLAINED = {
    "reset_apn_settings": "Since the issue persists, let's reset your APN settings to ensure there are no hidden configuration "
    "issues. After resetting, you'll need to restart your phone for the changes to take effect.\n\nPlease reset your APN "
    "settings to default, then restart your phone. Once your phone is back on, try sending an MMS message again."
}
WERE_YOU_ABLE = {
    "set_network_mode_preference": "Were you able to set your network mode to 4G/5G preferred? ",
    "toggle_wifi_calling": "Were you able to turn off Wi-Fi Calling? ",
    "reset_apn_settings": "Were you able to reset your APN settings and restart your phone? ",
    "grant_app_permission": "Were you able to grant your messaging app the storage permission? ",
}
PROBES = [*FIRST, "lets", "explained", "were_you_able"]


class Probe(ScriptedAgent):
    """Asks for the number, looks the case's own fix up in its table, and asks for it in the words of a probe."""

    def __init__(self, *arguments, name="plain", tool=""):
        super().__init__(*arguments, Traits())
        self.name, self.tool = name, tool

    def dialogue(self):
        complaint = yield None
        said = yield self.say("I am sorry to hear that. Which phone number are you calling about?")
        yield from self._caller(f"{said} {complaint}")
        if FIRST.get(self.name):
            yield self.say(FIRST[self.name])
        request = next(remedy.request for remedy in REMEDIES if remedy.tool == self.tool)
        words = {"lets": LETS, "explained": EXPLAINED}.get(self.name, {}).get(self.tool, request)
        yield self.say(f"{words} {VERIFICATION}" if words is not EXPLAINED.get(self.tool) else words)
        if self.name == "were_you_able":
            yield self.say(WERE_YOU_ABLE[self.tool] + "If so, please try sending a picture message.")
        while True:
            yield self.say("I am glad that it works now. Goodbye.")


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_that_knows_the_fix_solves_every_case_of_every_cause(name, monkeypatch):
    """The fix of each case is handed to the probe; what it says around it must not matter."""
    lost = []
    for shift in generate_shifts(num_shifts=4):
        cases = iter(shift.cases)

        def probe(agent, agent_tools, policy, memory, case, cases=cases):
            tool = recurring_causes()[next(cases).cause].corrective_tool
            return Probe(agent_tools, policy, memory, case, name=name, tool=tool)

        monkeypatch.setattr("taulong.cases.case.new_agent", probe)
        for row in run_unit(Unit(shift, "none", "learner")):
            record = row["record"]
            if record["official_reward"] != 1.0:
                lost.append((record["population"], record["cause"]))
    assert lost == []
