"""What a model's answer says, in a form that tau2 and a record can hold."""

import json
import re
from collections.abc import Sequence

from taulong.cases.failures import BrokenMessage

DEEPEST = 100
"""Levels of lists and objects in a tool call's arguments; graders and writers of records recurse into them."""
SURROGATE = re.compile("[\ud800-\udfff]")


def json_object(text: str | None) -> dict:
    """Return the arguments of a tool call; an empty text, which some servers send, stands for none.

    Raises:
        BrokenMessage: not a JSON object, or one with NaN, an infinity, an integer of thousands of digits, or nested
            deeper than :data:`DEEPEST`.
    """
    try:
        arguments = json.loads(text or "{}")
        json.dumps(arguments, allow_nan=False)
    except (ValueError, RecursionError):
        raise BrokenMessage("a tool call whose arguments are not JSON") from None
    if not isinstance(arguments, dict) or _is_deeper(arguments, DEEPEST):
        raise BrokenMessage("a tool call whose arguments are not a JSON object, or too deep a one")
    return arguments


def distinct_ids(ids: Sequence[object]) -> list[str]:
    """Return the ids of a message's tool calls as texts that differ: an empty one is its number, a repeated one has it."""
    seen: dict[str, None] = {}  # in order
    for number, given in enumerate(ids, 1):
        text = f"call-{number}" if given in (None, "") else str(given)
        while text in seen:
            text += f"-{number}"
        seen[text] = None
    return list(seen)


def _is_deeper(value, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deeper(each, levels - 1) for each in inner)


def counted_tokens(usage) -> tuple[int, bool]:
    """Return the tokens that an answer says it took, and whether both of its counts are there to be priced.

    LiteLLM puts 0 for a count that is missing.
    """
    if not usage:
        return 0, False
    prompt, reply, total = usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.total_tokens or 0
    complete = prompt > 0 and (reply > 0 or (reply == 0 and total == prompt))
    return max(total or prompt + reply, 0), complete
