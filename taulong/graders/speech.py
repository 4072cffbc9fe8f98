"""What was said in a conversation: without reasoning, and whether a customer agreed to what was offered."""

import re
from collections.abc import Sequence

from taulong.backend import AssistantMessage, Message, UserMessage

REASONING = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)
"""How models mark reasoning in their text; it is none to the customer."""

_PRICE = re.compile(r"\$ ?\d|\b\d+(?:\.\d+)? ?(?:dollars|usd)\b|\bper (?:gb|gigabyte)\b", re.IGNORECASE)
_YES = re.compile(
    r"\b(?:yes|yeah|yep|sure|ok|okay|please do|go ahead|proceed|agree|agreed|sounds good|that works|that's fine|do it)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|nope|not|don't|do not|rather not|too (?:much|expensive)|wait|hold on)\b", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return a message without its reasoning blocks, also one whose opening tag was part of the prompt.

    LiteLLM takes a leading block out by itself; a message that is cut off inside a block is all reasoning.
    """
    for opening, closing in REASONING:
        while closing in text:
            before, _, after = text.partition(closing)
            text = before.partition(opening)[0] + after if opening in before else after
        text = text.partition(opening)[0]
    return text


def agreed_to(messages: Sequence[Message], amount: float) -> tuple[int, int] | None:
    """Return (the agent's message that offers, the customer's that agrees) to an amount of data at a price, or None.

    A heuristic over words: the agent's last message that says the amount in GB and a price, before which the customer has
    asked or after which nobody has taken it back, and the customer's next words, which say yes and do not say no.
    """
    spelled = f"{amount:g}".replace(".", r"\.")
    said = re.compile(rf"(?<![\d.]){spelled}(?:\.0+)? ?(?:gb|gigabytes?)\b", re.IGNORECASE)
    offer = None
    for index, message in enumerate(messages):
        text = without_reasoning(getattr(message, "content", None) or "")
        if isinstance(message, AssistantMessage) and text.strip():
            offer = index if said.search(text) and _PRICE.search(text) else offer
        elif isinstance(message, UserMessage) and text.strip() and offer is not None:
            if _NO.search(text):
                offer = None
            elif _YES.search(text):
                return offer, index
    return None
