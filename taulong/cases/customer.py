"""The scripted customer: a tau2 user without a model that does what it is asked on the phone and reports the answers.

It knows the user scenario of its task and the customer's tools, and nothing that decides the reward. What an agent asks
for is read by :mod:`taulong.cases.requests`; what the phone answers is quoted word for word, and nothing else is claimed.
"""

import re
from copy import deepcopy
from dataclasses import dataclass, field

from taulong import backend
from taulong.cases.requests import PLAIN, SENTENCE, MissingArgument, requested_calls
from taulong.once import once

FIRST_PERSON = (
    (r"\byou (?=mobile data)", "my "),
    (r"\byou are\b", "I am"),
    (r"\byou were\b", "I was"),
    (r"\byour\b", "my"),
    (r"\byourself\b", "myself"),
    (r"\b(to|for|with|at|of|from|by|sent|asks|gives|tells) you\b", r"\1 me"),
    (r"\byou\b", "I"),
)
SOLVED = (  # (the complaint speaks of, tool that verifies, answer that settles it)
    ("mms", "can_send_mms", re.compile(r"\bcan send MMS")),
    ("speed", "run_speed_test", re.compile(r"\(Excellent\)")),
    ("no service", "check_status_bar", re.compile("\U0001f4f6")),
)
TRANSFERRED = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT"
GIVEN_UP = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|not able to) (?:resolve|solve|fix|help|assist)"
    r"|\bnothing (?:more|else|further)\b|\bgood ?bye\b|\bhave a (?:\w+ )?(?:day|evening|weekend)\b|\btake care\b"
    r"|\bclos\w+ (?:the|this|your) (?:case|ticket)\b"
)
OFFER = re.compile(
    r"\b(?:would you like|do you want|shall i|should i|may i|are you (?:ready|ok|okay|willing)|do you (?:agree|accept)"
    r"|is (?:that|this|it) (?:ok|okay|all right|alright|fine))\b"
)
ASKED = re.compile(r"\?|\b(?:provide|share|give|tell|confirm|need|let me know|please)\b")
QUESTIONS = (  # (what the agent asks for, word of the known facts that answers it, name when the facts are silent)
    (re.compile(r"\b(?:date of birth|birth ?date|birthday|dob)\b"), "birth|born", "date of birth"),
    (
        re.compile(r"\b(?:customer id|account (?:number|id)|e-?mail|(?:home|billing|postal) address)\b"),
        None,
        "customer id or address",
    ),
    (
        re.compile(
            r"\b(?:phone number|your (?:full |first |last )?(?:name|number)|identify you|your identity|your account"
            r"|who (?:are you|am i))\b"
        ),
        "phone number",
        "phone number",
    ),
    (
        re.compile(r"\b(?:abroad|travel(?:l?ing)?|where (?:are|you)|location|at home|which country|outside)\b"),
        "currently",
        "location",
    ),
)


def first_person(text: str) -> str:
    """Return a scenario's second person as the customer says it: "You are at home" becomes "I am at home"."""
    for pattern, said in FIRST_PERSON:
        text = re.sub(pattern, said, text, flags=re.I)
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda match: match[1] + match[2].upper(), text.strip())


@dataclass
class CustomerState:
    """One conversation: what is still to be done, what is to be said next, what was seen so far.

    Attributes:
        greeted: the complaint was made.
        calls: tool calls made so far, which number their ids ("customer-1", ...).
        pending: calls asked for and not made yet.
        running: call id -> wording of a call whose answer is awaited.
        lines: lines of the next message to the agent.
        solved: the last verification says that the problem is gone.
    """

    greeted: bool = False
    calls: int = 0
    pending: list[tuple[str, dict]] = field(default_factory=list)
    running: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    solved: bool = False


@once
def _terms(task_instructions: str) -> str:
    """Return what the customer is willing to agree to; cached, since a shift's customers have the same instructions."""
    return first_person(" ".join(re.findall(r"[^.\n]*\bwilling to\b[^.\n]*(?:\.\d[^.\n]*)?\.", task_instructions)))


class ScriptedCustomer(backend.BaseUser):
    """A deterministic tau2 user without a model; one instance serves any number of conversations.

    Args:
        scenario: a task's ``user_scenario``, or its ``instructions``.
    """

    def __init__(self, scenario):
        instructions = getattr(scenario, "instructions", scenario)
        super().__init__(instructions=str(scenario))
        self.complaint = first_person(instructions.reason_for_call)
        self.facts = re.split(r"(?<=\.)\s+", first_person(instructions.known_info or ""))
        subject = self.complaint.lower()
        self.verification = next((row[1:] for row in SOLVED if row[0] in subject), (None, None))
        self.terms = _terms(instructions.task_instructions or "")

    def get_init_state(self, message_history=None) -> CustomerState:
        """Return the state at the start of a conversation, or after the given messages."""
        state = CustomerState()
        for message in message_history or ():
            if isinstance(message, backend.UserMessage):
                state.greeted = True
                for call in message.tool_calls or ():
                    state.calls += 1
                    state.running[call.id] = _wording(call.name, call.arguments)
            elif isinstance(message, backend.ToolMessage):
                self._note(message, state)
        state.lines.clear()
        return state

    def set_seed(self, seed: int) -> None:
        """Do nothing: the customer draws no random numbers."""

    @classmethod
    def is_stop(cls, message) -> bool:
        """Return whether a message of the customer ends the conversation."""
        return bool(message.content) and (backend.STOP in message.content or backend.TRANSFER in message.content)

    def generate_next_message(self, message, state: CustomerState):
        """Return (the customer's next message, state): one tool call, or a text that reports all answers."""
        if isinstance(message, backend.MultiToolMessage):
            for answer in message.tool_messages:
                self._note(answer, state)
        elif isinstance(message, backend.ToolMessage):
            self._note(message, state)
        else:
            self._listen(message.content or "", state)
        if state.pending:
            tool, arguments = state.pending.pop(0)
            state.calls += 1
            call = backend.ToolCall(
                id=f"customer-{state.calls}", name=tool, arguments=deepcopy(arguments), requestor="user"
            )
            state.running[call.id] = _wording(tool, arguments)
            return backend.UserMessage(role="user", tool_calls=[call], cost=0.0), state
        said, state.lines = "\n".join(state.lines), []
        return backend.UserMessage(role="user", content=said, cost=0.0), state

    def _listen(self, text: str, state: CustomerState) -> None:
        if TRANSFERRED in text:
            state.lines.append(backend.TRANSFER)
            return
        lowered = text.translate(PLAIN).lower()
        requests = requested_calls(text)
        state.pending = [request for request in requests if not isinstance(request, MissingArgument)]
        missing = [f"Which {r.argument} should I use for {r.tool}?" for r in requests if isinstance(r, MissingArgument)]
        answers = self._answers(lowered)
        if not state.greeted:
            state.greeted = True
            state.lines.append(self.complaint)
        elif not requests and not answers:
            if state.solved:
                state.lines.append(f"No, that is all, thank you for your help. Goodbye. {backend.STOP}")
            elif GIVEN_UP.search(lowered):
                state.lines.append(f"I understand that you cannot solve my problem. Goodbye. {backend.STOP}")
            elif OFFER.search(lowered):
                about_terms = self.terms and re.search(r"\b(?:plan|data|refuel\w*|gb)\b", lowered)
                state.lines.append(self.terms if about_terms else "Yes, please go ahead.")
            else:
                state.lines.append(f"I am sorry, I do not understand what I should do. {self.complaint}")
        state.lines += answers + missing

    def _answers(self, lowered: str) -> list[str]:
        """Return the customer's answers to questions about the person, from the known facts alone."""
        answers: list[str] = []
        for sentence in SENTENCE.split(lowered):
            if not ASKED.search(sentence):
                continue
            for question, fact, name in QUESTIONS:
                if question.search(sentence):
                    known = [said for said in self.facts if fact and re.search(fact, said)]
                    answers += known or [f"I do not have my {name} at hand."]
        return list(dict.fromkeys(answers))

    def _note(self, answer, state: CustomerState) -> None:
        """Add a tool's answer, word for word, to what is said next."""
        call = state.running.pop(answer.id, "a tool")
        content = answer.content or ""
        state.lines.append(f"I ran {call}, but it failed: {content}" if answer.error else f"I ran {call}: {content}")
        tool, settles = self.verification
        if tool and call == tool:
            state.solved = not answer.error and bool(settles.search(content))
            if state.solved:
                state.lines.append("Thank you, my problem is solved.")


def _wording(tool: str, arguments: dict) -> str:
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})" if arguments else tool
