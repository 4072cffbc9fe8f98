"""Agents on board: one small policy with traits, run by tau2's orchestrator; no model and no key.

To add one, name its traits in :data:`AGENTS`. An agent of your own is a class in a module of yours, named
``module:Class`` wherever an agent is named: see :func:`new_agent`.
"""

import inspect
import json
import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from taulong.backend import AssistantMessage, BaseAgent, MultiToolMessage, ToolCall
from taulong.cases.remembering import Shown
from taulong.classes import named_class, source_digest
from taulong.draws import Streams
from taulong.errors import ConfigError, check_name
from taulong.memory.controls import fix_note
from taulong.memory.transcript import CONVERSATION

TRANSFER_NOTICE = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."


@dataclass(frozen=True)
class Traits:
    """What sets one scripted agent apart from another.

    Attributes:
        uses_notebook: reads the notebook and writes what it diagnosed.
        diagnoses: looks at the evidence even when a note is at hand.
        transfers_when_masked: hands the customer to a human agent when the evidence is masked.
        meddles: adds one write that nobody asked for: roaming on the caller's other line.
        forgetful: probability that a note is written, and that it is read, as another fix.
        by_model: keeps a note for each phone model, replaced when that model shows another cause; else one note, the
            first, for every phone.
        relearns: where its note has failed, looks at the phone and replaces the note.
    """

    uses_notebook: bool = True
    diagnoses: bool = True
    transfers_when_masked: bool = False
    meddles: bool = False
    forgetful: float = 0.0
    by_model: bool = False
    relearns: bool = False


AGENTS = {
    "learner": Traits(relearns=True),
    "guesser": Traits(uses_notebook=False),
    "parrot": Traits(diagnoses=False),
    "transferrer": Traits(transfers_when_masked=True),
    "meddler": Traits(meddles=True, relearns=True),
    "forgetful": Traits(forgetful=0.3),
    "selective": Traits(by_model=True, relearns=True),
}


def check_agent(name: str) -> str:
    """Return the name of an agent.

    Raises:
        ConfigError: there is none of that name (with the near match), or a class of one's own cannot be called as an agent.
    """
    if ":" in str(name):
        try:
            inspect.signature(_own_class(name)).bind([], "", None, Streams())
        except TypeError as error:
            raise ConfigError(
                f"agents: {name!r} cannot be called with (tools, domain_policy, memory, draws): {error}"
            ) from error
        return name
    return check_name("agents", name, [*AGENTS, "llm"])


def new_agent(name: str, tools: list, domain_policy: str, memory: Shown, draws: Streams) -> BaseAgent:
    """Return the agent of a case.

    A class named ``module:Class`` is called with the same arguments as :class:`ScriptedAgent`, but for its traits, and gives
    a tau2 agent. The module is looked for where Python looks, and in the current folder.
    """
    if name in AGENTS:
        return ScriptedAgent(tools, domain_policy, memory, draws, AGENTS[name])
    return _own_class(name)(tools, domain_policy, memory, draws)


def _own_class(name: str) -> type:
    return named_class("agents", name, "class of a tau2 agent")


def agent_sources(names: Iterable[str]) -> dict[str, str]:
    """Return 12 hex digits over the source file of each agent of one's own: a changed agent is another run."""
    return {name: source_digest(_own_class(name)) for name in names if ":" in name}


@dataclass(frozen=True)
class Remedy:
    """What the technical-support manual says of one cause: how it shows, and what to ask the customer to do."""

    cause: str
    tool: str
    sign: re.Pattern
    request: str


REMEDIES = (
    Remedy(
        "bad_network_preference",
        "set_network_mode_preference",
        re.compile(r"Network Mode Preference: 2g_only"),
        "Please set your network mode preference to 4g_5g_preferred.",
    ),
    Remedy(
        "bad_wifi_calling",
        "toggle_wifi_calling",
        re.compile(r"Wi-Fi Calling is currently turned ON"),
        "Please turn Wi-Fi Calling off.",
    ),
    Remedy(
        "break_apn_mms_setting",
        "reset_apn_settings",
        re.compile(r"MMSC URL \(for picture messages\): Not Set"),
        "Please reset your APN settings and then restart your phone.",
    ),
    Remedy(
        "break_app_storage_permission",
        "grant_app_permission",
        re.compile(r"App 'messaging' (?:has permission for: (?!.*\bstorage\b)|currently has no permissions)"),
        "Please grant the messaging app the storage permission.",
    ),
)
DIAGNOSIS = (
    "Please check your network mode preference. Then check your Wi-Fi Calling status. Then check your APN settings. "
    "Then check the permissions of your messaging app. Tell me what each of them shows."
)
VERIFICATION = "After that, please check whether you can send an MMS."
PHONE_NUMBER = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
Turns = Generator[AssistantMessage, str, None]


class ScriptedAgent(BaseAgent):
    """An agent that follows the manual and differs from its kin by its traits alone.

    It speaks in sentences, calls real tools, and knows of earlier customers only what its memory shows.

    Args:
        tools: as for every tau2 agent (unused: it knows the tools it calls).
        domain_policy: as for every tau2 agent (unused).
        memory: what it is shown of earlier cases, and the names of the tools to write with.
        draws: its draws in this case: the same in every memory mode, and one stream for each thing it draws, so that arms
            on matched seeds guess alike. They do not tell the case, from which all of it could be generated.
        traits: what sets it apart.
    """

    def __init__(self, tools: list, domain_policy: str, memory: Shown, draws: Streams, traits: Traits = Traits()):
        super().__init__(tools=tools, domain_policy=domain_policy)
        self.memory = memory if traits.uses_notebook else Shown()
        self.traits = traits
        self._guesses, self._slips = draws.stream("guess"), draws.stream("forgetting")
        self._calls = 0

    def get_init_state(self, message_history: list | None = None) -> Turns:
        """Return the dialogue, ready for the customer's first message."""
        dialogue = self.dialogue()
        next(dialogue)
        return dialogue

    def generate_next_message(self, message, state: Turns) -> tuple[AssistantMessage, Turns]:
        """Return the agent's next message: a sentence or one tool call."""
        messages = message.tool_messages if isinstance(message, MultiToolMessage) else [message]
        return state.send("\n".join(each.content or "" for each in messages)), state

    def set_seed(self, seed: int) -> None:
        """Do nothing: the draws are keyed by the case."""

    def dialogue(self) -> Turns:
        """Yield the agent's messages; each ``yield`` gives what the customer or the tool answered (the first: None)."""
        complaint = yield None
        said = yield self.say("I am sorry to hear that. Which phone number are you calling about?")
        account, phone_number = yield from self._caller(f"{said} {complaint}")
        phone_model = yield from self._phone_model(account, phone_number)
        noted, diagnosed = self._noted_remedy(phone_model), None
        if self.traits.diagnoses or noted is None:
            report = yield self.say(DIAGNOSIS)
            diagnosed = next((remedy for remedy in REMEDIES if remedy.sign.search(report)), None)
            if diagnosed is None and self.traits.transfers_when_masked:
                yield self.call("transfer_to_human_agents", summary="The phone shows no status; MMS cannot be sent.")
                yield self.say(TRANSFER_NOTICE)
        remedy = diagnosed or noted or self._guesses.choice(REMEDIES)
        report = yield self.say(f"{remedy.request} {VERIFICATION}")
        if self.traits.meddles:
            others = [line_id for line_id in account["line_ids"] if line_id != self._line_id]
            yield self.call("enable_roaming", customer_id=account["customer_id"], line_id=others[0])
        if "can send MMS" not in report:
            if self.traits.relearns and diagnosed is None and remedy is noted and self.memory.writable:
                report = yield self.say(DIAGNOSIS)
                shown = (other for other in REMEDIES if other is not remedy and other.sign.search(report))
                if (other := next(shown, None)) is not None:
                    yield from self._take_note(phone_model, other, replaces=True)
            yield self.say("I am sorry, there is nothing more I can do. Goodbye.")
        if diagnosed is not None and self.memory.writable:
            yield from self._take_note(phone_model, diagnosed)
        while True:
            yield self.say("I am glad that it works now. Goodbye.")

    def _caller(self, said: str) -> Generator[AssistantMessage, str, tuple[dict, str]]:
        """Look up the caller by the phone number, asked for again until it is a customer's, in digits."""
        while True:
            number = PHONE_NUMBER.search(said)
            answer = (yield self.call("get_customer_by_phone", phone_number=number[0])) if number else ""
            if answer.startswith("{"):
                return json.loads(answer), number[0]
            said = yield self.say("I cannot find you by that. Please tell me the number in digits, like 555-000-0000.")

    def _phone_model(self, account: dict, phone_number: str) -> Generator[AssistantMessage, str, str]:
        """Look up the model of the phone on the caller's line."""
        for line_id in account["line_ids"]:
            line = json.loads((yield self.call("get_details_by_id", id=line_id)))
            if line["phone_number"] == phone_number:
                break
        self._line_id = line_id
        device = json.loads((yield self.call("get_details_by_id", id=line["device_id"])))
        return device["model"]

    def _noted_remedy(self, phone_model: str) -> Remedy | None:
        """Return the remedy that the memory has, for a phone model where notes are kept by model.

        A note is a line that names a corrective tool; an earlier conversation shows the evidence itself. The first counts,
        and of a model's the last. An agent that does not diagnose takes anything noted for its own.
        """
        text = self.memory.text or ""
        pieces = text.split(CONVERSATION) if CONVERSATION in text else text.splitlines()
        if self.traits.by_model:
            pieces = [piece for piece in reversed(pieces) if phone_model in piece]
        for piece in pieces:
            for remedy in REMEDIES:
                if remedy.sign.search(piece) or (piece.startswith("MMS fails") and remedy.tool in piece):
                    return self._misremembered(remedy)
        return None

    def _take_note(self, phone_model: str, diagnosed: Remedy, replaces: bool = False) -> Turns:
        """Add the diagnosed fix to the notebook, in the place of an outdated note, unless it is there or does not fit."""
        model = phone_model if self.traits.by_model else None
        note = fix_note(model, self._misremembered(diagnosed).cause)
        lines = (self.memory.text or "").splitlines()
        beginning = note.partition(": ")[0]
        noted = [line for line in lines if line.startswith(f"{beginning}: ")]
        if not noted or ((replaces or model) and note not in noted):
            text = "\n".join([*(line for line in lines if line not in noted), note])
            if len(text) <= self.memory.cap:
                yield self.call("write_notebook", text=text)

    def _misremembered(self, remedy: Remedy) -> Remedy:
        if not self._slips.chance(self.traits.forgetful):
            return remedy
        return self._slips.choice([other for other in REMEDIES if other is not remedy])

    def say(self, text: str) -> AssistantMessage:
        """Return a message to the customer."""
        return AssistantMessage(role="assistant", content=text)

    def call(self, tool: str, **arguments) -> AssistantMessage:
        """Return a message that calls one of the agent's tools."""
        self._calls += 1
        call = ToolCall(id=f"agent-{self._calls}", name=tool, arguments=arguments, requestor="assistant")
        return AssistantMessage(role="assistant", tool_calls=[call])
