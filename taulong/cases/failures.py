"""Why a model's call failed: what can pass and is tried again, what it is called in a record, what may have cost."""

import re
from collections.abc import Iterator

import httpx
import openai

from taulong.keys import scrub

# What LiteLLM's errors tell of its own: paths of this machine, and pieces of an odd answer, which may cut a key.
INSIDES = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+|input_value=.*?, (?=input_type=)", re.S)
FAILED = ("error", "network_error")
"""Reasons to finish that are the provider's failure."""
LABELS = (  # the first that fits; LiteLLM's classes, by name
    ("ContextWindowExceededError", "context_window"),
    ("ContentPolicyViolationError", "content_policy"),
    ("RateLimitError", "rate_limit"),
    ("Timeout", "timeout"),
    ("APIConnectionError", "connection"),
    ("AuthenticationError", "authentication"),
    ("PermissionDeniedError", "authentication"),
    ("NotFoundError", "not_found"),
    ("Filtered", "content_policy"),
    ("NoChoices", "empty_choices"),
)


class BrokenMessage(RuntimeError):
    """A participant's message that cannot be delivered; the case ends as that participant's error."""

    ending: str


class ModelFailure(RuntimeError):
    """A model did not answer: ``label`` says why in a word; the text holds no key."""

    ending: str

    def __init__(self, label: str, error: Exception, key: str | None = None):
        self.label = label
        super().__init__(f"{label}: {' '.join(scrub(INSIDES.sub('', str(error)), key).split())[:300]}")


class NoChoices(RuntimeError):
    """The endpoint answered without a message."""


class ProviderError(RuntimeError):
    """An answer that says that the provider failed; ``status_code`` as of an HTTP error."""

    def __init__(self, error: object):
        code = str(error.get("code")) if isinstance(error, dict) else ""
        self.status_code = int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
        super().__init__(f"in place of an answer: {error}")


class Filtered(RuntimeError):
    """The provider's filter took the answer."""


def check_finish(choice) -> None:
    """Raise what an answer says of its own failure: :class:`ProviderError`, or :class:`Filtered`.

    LiteLLM rewrites the reasons ``error`` and ``network_error`` to ``stop`` and keeps what came beside them.
    """
    beside = getattr(choice, "provider_specific_fields", None) or {}
    error = beside.get("error") or getattr(choice, "error", None)
    if error or beside.get("native_finish_reason") in FAILED:
        raise ProviderError(error or beside["native_finish_reason"])
    if choice.finish_reason == "content_filter":
        raise Filtered("the provider's filter took the answer")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those beneath it."""
    while error is not None:
        yield error
        error = error.__context__


def was_answered(error: BaseException) -> bool:
    """Return whether a failed call had an answer, which may cost: neither a refusal nor a lost connection.

    LiteLLM gives an answer that it cannot read the status 500; what is beneath it tells it from an endpoint's own.
    """
    status = status_code(error)
    refused = (status is not None and status < 500) or lacks_key(error) or unsendable(error)
    return not refused and not any(isinstance(cause, httpx.HTTPError) for cause in _causes(error))


def status_code(error: BaseException) -> int | None:
    """Return the HTTP status of a failure, if it has one; a server may write it, or a word, into an answer's ``error``."""
    status = str(getattr(error, "status_code", None))
    return int(status) if status.isdecimal() else None


def has_unreadable_call(error: BaseException) -> bool:
    """Return whether LiteLLM failed at an answer for a tool call in it: of no function, or with arguments it cannot read.

    It quotes its own traceback; the two functions are those that read a tool call.
    """
    text = str(error)
    return "Invalid response object" in text and (
        "in chat_completion_tool_call_from_dict" in text
        or "in handle_invalid_parallel_tool_calls" in text
        or any(
            isinstance(cause, RecursionError) or "integer string conversion" in str(cause) for cause in _causes(error)
        )
    )


def unsendable(error: BaseException) -> bool:
    """Return whether a key cannot be sent: it ends with a newline, or holds a sign such as a curly quote."""
    return any(
        isinstance(cause, UnicodeEncodeError) or "Illegal header value" in str(cause) for cause in _causes(error)
    )


def lacks_key(error: BaseException) -> bool:
    """Return whether no key was found in the environment, which LiteLLM gives the status 500."""
    return any(type(cause) is openai.OpenAIError for cause in _causes(error))


def can_pass(error: BaseException) -> bool:
    """Return whether a failed call may succeed when it is made again."""
    if has_unreadable_call(error) or lacks_key(error) or unsendable(error):
        return False
    status = status_code(error)
    return isinstance(error, NoChoices) or (status is not None and (status in (408, 409, 425, 429) or status >= 500))


def failure_label(error: BaseException) -> str:
    """Return in a word why a call failed, e.g. ``rate_limit``, ``context_window``, ``bad_request``."""
    ancestors = {kind.__name__ for kind in type(error).__mro__}
    for name, label in LABELS:
        if name in ancestors:
            return label
    if lacks_key(error) or unsendable(error):
        return "authentication"
    status = status_code(error)
    if status is None:
        return type(error).__name__
    if "Connection error" in str(error):  # LiteLLM gives a refused or reset connection the status 500
        return "connection"
    if status == 429:
        return "rate_limit"
    return "server_error" if status >= 500 else "bad_request"


def retry_after(error: BaseException | None) -> float:
    """Return the seconds an endpoint asks to wait; 0 when it does not (or gives a date)."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(float(headers.get("retry-after", 0)), 0.0)
    except ValueError:
        return 0.0
