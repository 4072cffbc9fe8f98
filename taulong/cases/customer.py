"""The scripted customer: a tau2 user without a model that does what it is asked on the phone and reports the answers.

It knows the user scenario of its task and the customer's tools, and nothing that decides the reward. What an agent asks
for is read by :mod:`taulong.cases.requests`; what the phone answers is quoted word for word, and nothing else is claimed.
"""

import re
from copy import deepcopy
from dataclasses import dataclass, field, replace

from taulong import backend
from taulong.cases.environment import MASKED_ANSWERS, NOT_CARRIED_OUT
from taulong.cases.grammar import PHONE, PLAIN, SENTENCE
from taulong.cases.requests import Heard, Request, hear
from taulong.once import once
from taulong.shifts.causes import corrective_tools

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
SHOWS_NOTHING = "The phone shows no status right now."
TRANSFERRED = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT"
OVER = re.compile(  # said plainly: it is over, or nothing can be done
    r"\b(?:nothing (?:more|else|further)(?: that)? (?:i|we) can|good ?bye\b|have a (?:\w+ )?(?:day|evening|weekend|night)\b"
    r"|(?:i am|i'm|we are|we're|i was) (?:unable|not able) to (?:resolve|solve|fix) (?:your|this|the)|(?:i|we) (?:cannot|can't) (?:resolve|solve|fix) (?:your|this|the|it)\b"
    r"|(?:i|we)(?:'ll| will|'m going to| am going to)? (?:now )?clos\w+ (?:the|this|your) (?:case|ticket))(?![^.!?]*\bbut\b)"
)
SOLVED_ASKED = re.compile(r"\banything else\b|\bfurther (?:help|assistance|questions)\b|\bother (?:questions|issues)\b")
OFFER = re.compile(
    r"\b(?:would you like|do you want|shall i|should i|may i|are you (?:ready|ok|okay|willing|comfortable|happy)|do you (?:agree|accept)"
    r"|is (?:that|this|it) (?:ok|okay|all right|alright|fine))\b"
)
CHOICE = re.compile(r"\b(?:prefer|rather|which (?:one|option|of))\b|\bor (?!not\b|any|if\b|run into|need)")
TRANSFER_OFFERED = re.compile(
    r"\b(?:transfer|connect|pass|hand|escalat)\w*\b.{0,40}\b(?:agent|specialist|team|colleague|human|representative|support)"
)
STEPS_TO_SCREEN = re.compile(  # instructions that change nothing by themselves
    r"\b(?:open|go|head|navigate|scroll|swipe|find|tap|press|locate|visit|hit|click|look|pull|hold|wait|choose|select|pick|launch|enter|try|help|follow"
    r"|start|begin|continue|proceed|stay|let|keep|give|reply|call|contact|reach|remember|check|confirm|tell|report|work|walk|move|take|get|do|know|see)\b"
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
            r"\b(?:phone number|(?:the|which|what) number\b|number (?:on|in) (?:the line|digits)|your (?:full |first |last )?(?:name|number)|identify you|your identity|your account"
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
        pending: requests to be carried out.
        running: call id -> (request, wording) of a call whose answer is awaited.
        waiting: a request that depends on the answer to the running call.
        asked: call id -> the clause that asked for the call.
        offered: what the agent offered last, for a later "please go ahead".
        lines: lines of the next message to the agent.
        solved: the last verification says that the problem is gone.
        not_understood: messages of the agent that were not understood.
    """

    greeted: bool = False
    calls: int = 0
    pending: list[Request] = field(default_factory=list)
    running: dict[str, tuple[Request, str]] = field(default_factory=dict)
    waiting: Request | None = None
    asked: dict[str, str] = field(default_factory=dict)
    offered: tuple[Request, ...] = ()
    lines: list[str] = field(default_factory=list)
    solved: bool = False
    not_understood: int = 0


@once
def _terms(task_instructions: str) -> str:
    """Return what the customer is willing to agree to; cached, since a shift's customers have the same instructions."""
    return first_person(" ".join(re.findall(r"[^.\n]*\bwilling to\b[^.\n]*(?:\.\d[^.\n]*)?\.", task_instructions)))


class ScriptedCustomer(backend.BaseUser):
    """A deterministic tau2 user without a model; one instance serves any number of conversations.

    Args:
        scenario: a task's ``user_scenario``, or its ``instructions``.
        environment: the one that holds the phone, whose switches the customer sees; without it the customer looks with a
            tool before it turns a switch.
    """

    def __init__(self, scenario, environment=None):
        instructions = getattr(scenario, "instructions", scenario)
        super().__init__(instructions=str(scenario))
        self.complaint = first_person(instructions.reason_for_call)
        self.facts = re.split(r"(?<=\.)\s+", first_person(instructions.known_info or ""))
        self.environment = environment
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
                    state.running[call.id] = Request(call.name), _wording(call.name, call.arguments)
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
        call = self._next_call(state)
        if call is not None:
            return backend.UserMessage(role="user", tool_calls=[call], cost=0.0), state
        said, state.lines = "\n".join(state.lines), []
        return backend.UserMessage(role="user", content=said, cost=0.0), state

    def _next_call(self, state: CustomerState):
        """Return the next call to be made, or None: conditions and switches are looked at first."""
        if not state.pending:
            return None
        request = state.pending.pop(0)
        tool, arguments, looks = request.tool, request.arguments or {}, False
        if request.when is not None:
            tool, arguments, looks = request.when[0], {}, True
        elif request.wanted is not None:
            on = self._is_on(tool)
            if on is None:
                tool, looks = PHONE[tool][1], True
            elif on is (request.wanted == "on"):
                if self._is_masked() and tool in corrective_tools():
                    arguments = {"wanted": request.wanted}  # left alone, and the one commitment is spent on it
                else:
                    tool = PHONE[tool][1]
        state.waiting = request if looks else None
        state.calls += 1
        call = backend.ToolCall(
            id=f"customer-{state.calls}", name=tool, arguments=deepcopy(arguments), requestor="user"
        )
        state.running[call.id] = request, _wording(tool, arguments)
        state.asked[call.id] = request.clause
        return call

    def _is_on(self, tool: str) -> bool | None:
        """Return whether a switch is on, as a person sees it; None where there is no phone to be seen."""
        if self.environment is None:
            return None
        return bool(getattr(self.environment.user_tools.db.device, PHONE[tool][0]))

    def _is_masked(self) -> bool:
        return getattr(self.environment, "masked", False)

    def _listen(self, text: str, state: CustomerState) -> None:
        if TRANSFERRED in text:
            state.lines.append(backend.TRANSFER)
            return
        lowered = text.translate(PLAIN).lower()
        if not state.greeted:
            state.greeted = True
            state.lines += [self.complaint, *self._answers(lowered)]
            return
        heard = hear(text, state.offered)
        state.offered = heard.offered
        requests = [self._completed(request) for request in heard.requests]
        state.pending = [request for request in requests if not request.missing and request.tool]
        state.lines += self._answers(lowered)
        state.lines += [f"Which {r.missing} should I use for {r.tool}?" for r in requests if r.missing]
        if not state.pending and not state.lines:
            state.lines.append(self._reply(lowered, heard, state))

    def _completed(self, request: Request) -> Request:
        """Return a request with what this customer knows of it: what verifies its complaint, and its own app."""
        if request.tool == "verify":
            return replace(request, tool=self.verification[0] or "check_status_bar")
        if request.missing == "app_name" and "messaging app" in self.complaint.lower():
            known = {"app_name": "messaging", **(request.arguments or {})}
            if request.tool == "grant_app_permission" and "permission" not in known:
                return replace(request, missing="permission")
            return replace(request, arguments=known, missing=None)
        return request

    def _reply(self, lowered: str, heard: Heard, state: CustomerState) -> str:
        """Return what is said to a message that asks for nothing on the phone."""
        if not heard.english:
            state.not_understood += 1
            return "I am sorry, I only understand English."
        offers = heard.in_mood("consent")
        if (state.solved and not offers) or (state.solved and SOLVED_ASKED.search(lowered)):
            return f"No, that is all, thank you for your help. Goodbye. {backend.STOP}"
        if OVER.search(lowered) and not offers and "?" not in lowered:
            return f"I understand that you cannot solve my problem. Goodbye. {backend.STOP}"
        if offers or OFFER.search(lowered):
            if self.terms and re.search(r"\b(?:plan|refuel\w*|gb|charge|cost)\b|\$", lowered):
                return self.terms
            if TRANSFER_OFFERED.search(lowered):
                return "If you cannot fix it from here, then yes, please."
            said = " ".join(offers) or lowered
            return "Whatever you think is best." if CHOICE.search(said) else "Yes, please go ahead."
        if SOLVED_ASKED.search(lowered):
            return f"My problem is not solved yet. {self.complaint}"
        if heard.in_mood("past"):
            return "Not that I know of."
        unknown = [words for words in heard.in_mood("ask") if not STEPS_TO_SCREEN.search(words)]
        if unknown:
            state.not_understood += 1
            return f'I am sorry, I don\'t know what you mean by "{unknown[0].strip(" .!")}". {self.complaint}'
        if "?" in lowered:
            return "I am sorry, I do not know that."
        if heard.in_mood("tell", "thanks", "aside", "later", "plan", "quote", "not", "ask", "look"):
            return "Okay, thank you. What should I do next?"
        state.not_understood += 1
        return f"I am sorry, I do not understand what I should do. {self.complaint}"

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
        """Add a tool's answer, word for word, to what is said next; carry out what waited for it, where it shows the need."""
        request, call = state.running.pop(answer.id, (Request(""), "a tool"))
        content = answer.content or ""
        waiting, state.waiting = state.waiting, None
        unseen = content in MASKED_ANSWERS and content != NOT_CARRIED_OUT
        if waiting is not None and (unseen or self._is_needed(waiting, content)):
            state.pending.insert(0, replace(waiting, when=None, wanted=waiting.wanted if waiting.when else None))
            if unseen or waiting.when is None:
                return
        if unseen and request.wanted is not None:
            state.lines.append(f"I saw to it that {_thing(request.tool)} is {request.wanted}. {SHOWS_NOTHING}")
            return
        state.lines.append(f"I ran {call}, but it failed: {content}" if answer.error else f"I ran {call}: {content}")
        tool, settles = self.verification
        if tool and call == tool:
            state.solved = not answer.error and bool(settles.search(content))
            if state.solved:
                state.lines.append("Thank you, my problem is solved.")

    @staticmethod
    def _is_needed(waiting: Request, content: str) -> bool:
        if waiting.when is not None:
            return waiting.when[1] in content
        return (PHONE[waiting.tool][2] in content) is not (waiting.wanted == "on")


def _thing(tool: str) -> str:
    return tool.removeprefix("toggle_").replace("_", " ").replace("wifi", "Wi-Fi")


def _wording(tool: str, arguments: dict) -> str:
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})" if arguments else tool
