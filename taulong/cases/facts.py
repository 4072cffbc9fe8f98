"""What a record takes from a conversation: errors, masked answers, the commitment, how the customer left."""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from taulong import backend
from taulong.backend import Message
from taulong.cases.environment import MASKED_ANSWERS, CaseEnvironment, customer_tool_types
from taulong.shifts.causes import corrective_tools, fixed_sign, signs

CONSENT = re.compile(r"\s*(?:yes|yeah|yep|sure|ok|okay|of course|please|go ahead|i (?:agree|accept|confirm))\b", re.I)


@dataclass(frozen=True)
class Facts:
    """What happened in a conversation, seen by one pass over its messages.

    Attributes:
        tool_errors, ownership_errors: failed calls of the agent; those for tools that are the customer's are the latter.
        masked: indices of the masked answers.
        truncated: indices of the messages that a model's limit of tokens cut.
        commitment: index of the answer to the commitment, or None.
        transferred: the agent called the tool that transfers.
        ended_on_consent: see :func:`ended_on_consent`.
        evidence_shown: the phone has shown its cause, see :func:`taulong.shifts.causes.signs`, or that the fix works.
    """

    tool_errors: int
    ownership_errors: int
    masked: list[int]
    truncated: list[int]
    commitment: int | None
    transferred: bool
    ended_on_consent: bool
    evidence_shown: bool


def facts_of(environment: CaseEnvironment, messages: Sequence[Message], cause: str) -> Facts:
    """Return the facts of a conversation in an environment, on a phone with this cause."""
    asked: deque[str] = deque()  # answers come in the order of the calls; ids of scripts and models may repeat
    masked: list[int] = []
    truncated: list[int] = []
    commitment, transferred, errors = None, False, {"tool_errors": 0, "ownership_errors": 0}
    evidence_shown = False
    own_tools = type(environment.tools)
    for index, message in enumerate(messages):
        if message.role != "tool":
            asked = deque(call.name for call in message.tool_calls or ())
            if (message.raw_data or {}).get("finish_reason") == "length":
                truncated.append(index)
            continue
        name = asked.popleft() if asked else ""
        if message.requestor == "assistant":
            not_its_own = name in customer_tool_types() and not hasattr(own_tools, name)
            errors["ownership_errors" if not_its_own else "tool_errors"] += message.error
            transferred |= name == "transfer_to_human_agents" and not message.error
        elif environment.masked and message.content in MASKED_ANSWERS:
            masked.append(index)
        else:
            evidence_shown |= (name, message.content) in signs()[cause] or (name, message.content) == fixed_sign()
            if environment.masked and commitment is None and name in corrective_tools() and not message.error:
                commitment = index
    return Facts(
        **errors,
        masked=masked,
        truncated=truncated,
        commitment=commitment,
        transferred=transferred,
        ended_on_consent=ended_on_consent(messages),
        evidence_shown=evidence_shown,
    )


def ended_on_consent(messages: Sequence[Message]) -> bool:
    """Return whether the customer agreed to a question and ended the conversation in one message.

    tau2 ends at the stop token, whatever the text before it: the agent never acts on such a "Yes, please".
    """
    last = messages[-1] if messages else None
    if last is None or last.role != "user" or last.tool_calls or backend.STOP not in (last.content or ""):
        return False
    asked = next((m.content for m in reversed(messages) if m.role == "assistant" and not m.tool_calls), "")
    return "?" in asked and CONSENT.match(last.content) is not None
