"""Models as agent or customer: tau2's own classes, with every call retried where that can help, counted and scrubbed.

tau2's ``LLMAgent`` and ``UserSimulator`` are used unchanged. Between them and LiteLLM stands one function, through
which all their calls go (:func:`_complete`): it knows by a context variable which side of which case is calling.
"""

import hashlib
import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import sleep

import tenacity

from taulong import backend
from taulong.cases.answers import SURROGATE, counted_tokens, distinct_ids, json_object
from taulong.cases.failures import (
    BrokenMessage,
    ModelFailure,
    NoChoices,
    can_pass,
    check_finish,
    failure_label,
    has_unreadable_call,
    retry_after,
    unsendable,
    was_answered,
)
from taulong.cases.wire import bounded
from taulong.draws import Draws
from taulong.errors import ConfigError
from taulong.graders.speech import without_reasoning
from taulong.keys import refuse_keys, unsendable_keys, without_keys

ATTEMPTS = 8
LONGEST_BACKOFF = 60.0
LONGEST_RETRY_AFTER = 600.0
TIMEOUT = 600.0
DEADLINE = 3 * TIMEOUT
"""Seconds that one attempt may take as a whole, whatever drips; ``timeout`` is the wait for the next bytes."""
OURS = ("model", "messages", "tools", "tool_choice", "seed", "stream", "n", "num_retries", "max_retries")


@dataclass(frozen=True)
class Model:
    """A model behind an endpoint, and how it is called; validated when built.

    Attributes:
        name: as LiteLLM names it, ``openai/gpt-4.1``; what records call the side that it plays.
        arguments: of every call: ``base_url``, ``temperature``, ``timeout`` (seconds to wait for bytes, default 600),
            ``deadline`` (seconds of a whole attempt, default 1,800), ...
        key: to the endpoint, for a program that is handed one at run time; shown and written nowhere.

    Raises:
        ConfigError: an argument that looks like a key (they come from the environment only), or one that is the
            suite's: seeds are derived for every case, retries are :class:`ModelCalls`'.
    """

    name: str
    arguments: dict = field(default_factory=dict)
    key: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            raise ConfigError(
                f"llm: {self.name!r} is not the name of a model; accepted: a LiteLLM name such as openai/gpt-4.1"
            )
        if not isinstance(self.arguments, dict):
            raise ConfigError(f"llm_args: {type(self.arguments).__name__} is not a dict of arguments")
        refuse_keys("llm", self.name)
        refuse_keys("llm_args", self.arguments)
        for name in OURS:
            if name in self.arguments:
                raise ConfigError(f"llm_args.{name}: is set by the suite; leave it out")
        deadline = self.arguments.get("deadline", DEADLINE)
        if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline > 0:
            raise ConfigError(f"llm_args.deadline: {deadline!r} is not a number of seconds above 0")
        try:
            json.dumps(self.arguments, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"llm_args: not plain data ({error})") from error

    def __str__(self) -> str:
        return self.name

    def check_key(self) -> None:
        """Raise ConfigError when the provider's key in the environment cannot be sent in a header; names the variable."""
        try:
            provider = backend.litellm.get_llm_provider(self.name, api_base=self.arguments.get("base_url"))[1]
        except Exception:  # LiteLLM's own, at the first call, says which provider it does not know
            return
        name = f"{provider.upper()}_API_KEY"
        if self.key is None and (fault := unsendable_keys().get(name)):
            raise ConfigError(f"{name}: {fault}; set it again, without that")


def case_seed(side: str, split: str, seed: int, position: int, trial: int) -> int:
    """Return the seed that goes to the model of a case's ``agent``, ``user`` or ``memory``; the same in every memory mode."""
    return Draws(f"{side} model", split, seed, position, trial).below(2**31)


_calling: ContextVar["ModelCalls | None"] = ContextVar("calling", default=None)


def _complete(**arguments):
    """Stand in for LiteLLM's ``completion`` in tau2: a case's calls are its ModelCalls', others are LiteLLM's."""
    calls = _calling.get()
    return calls.complete(**arguments) if calls else backend.completion(**arguments)


backend.route_completions(_complete)


class ModelCalls:
    """The calls to a model by one side of one case.

    Args:
        model: which, and how it is called.
        seed: the case's, see :func:`case_seed`.
        note: called with the (tokens, dollars, unpriced calls) of every attempt before its answer is used.

    Attributes:
        tokens, cost, unpriced_calls: of all calls so far, also of those whose answer could not be used. A call is
            unpriced when LiteLLM has no price for the model, the endpoint does not say how many tokens it took, or
            LiteLLM cannot read the answer.
        retries: calls that were made again.
        truncated: answers that ended at the limit of tokens (``finish_reason: length``).
        prompt: the first system prompt and the tools, as one text; None before the first call.
    """

    def __init__(self, model: Model, seed: int, note: Callable[[int, float, int], None] = lambda *_: None):
        self.arguments = {"timeout": TIMEOUT, **model.arguments, "seed": seed, "num_retries": 0, "max_retries": 0}
        self._deadline = self.arguments.pop("deadline", DEADLINE)
        self.name, self.seed, self._key, self._note = model.name, seed, model.key, note
        self.tokens = self.unpriced_calls = self.retries = self.truncated = 0
        self.cost = 0.0
        self.prompt: str | None = None

    @property
    def digest(self) -> str | None:
        """The first 16 hex digits of the prompt's SHA-256."""
        return self.prompt and hashlib.sha256(self.prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def agent(self, kit: backend.TelecomTools, policy: str) -> backend.LLMAgent:
        """Return tau2's agent, its calls going through here."""
        return self._through_here(backend.LLMAgent(tool_schemas(kit), policy, llm=self.name, llm_args=self.arguments))

    def customer(self, kit: backend.TelecomUserTools, task: backend.Task) -> backend.UserSimulator:
        """Return tau2's simulated customer, its calls going through here."""
        return self._through_here(
            backend.UserSimulator(
                tools=tool_schemas(kit), instructions=str(task.user_scenario), llm=self.name, llm_args=self.arguments
            )
        )

    def ask(self, messages: list[dict]) -> str:
        """Return what the model says to messages, without tools.

        Raises:
            ModelFailure, BrokenMessage: as :meth:`complete`.
        """
        response = self.complete(model=self.name, messages=messages, tools=None, **self.arguments)
        return response.choices[0].message.content or ""

    def _through_here(self, participant):
        participant.generate_next_message = partial(self._generate, participant.generate_next_message)
        return participant

    def _generate(self, generate: Callable, message, state):
        token = _calling.set(self)
        try:
            return generate(message, state)
        finally:
            _calling.reset(token)

    def complete(self, **arguments):
        """Return LiteLLM's answer to a call: without reasoning and keys, and such that tau2 and a record can hold it.

        What can pass (rate limit, timeout, server error, also one inside an answer, connection, an answer without a
        message) is tried again up to eight times; the waits double from one second to a minute, 92 seconds or more in all, so that they outlast a
        minute's window; a longer Retry-After is obeyed. What cannot pass is tried once.

        Raises:
            ModelFailure: no answer; labelled with the reason. ``truncated`` is an answer cut off to nothing that can be
                delivered, ``content_policy`` one that the provider's filter took.
            BrokenMessage: a tool call of no function or without a name, or whose arguments :func:`json_object` refuses.
        """
        if self.prompt is None:
            self.prompt = json.dumps([arguments["messages"][0]["content"], arguments["tools"]], ensure_ascii=False)
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception(can_pass),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            sleep=lambda seconds: sleep(seconds),
            before_sleep=self._count_retry,
            reraise=True,
        )
        try:
            response = attempts(self._attempt, arguments)
        except Exception as error:
            if has_unreadable_call(error):
                raise BrokenMessage("a tool call of no function, or whose arguments cannot be read") from None
            cause = ValueError("; ".join(map(": ".join, unsendable_keys().items()))) if unsendable(error) else error
            raise ModelFailure(failure_label(error), cause, self._key) from None  # its chain would show what was sent
        response.model = response.model or self.name  # tau2 looks for a price by it
        choice = response.choices[0]
        cut = choice.finish_reason == "length"
        self.truncated += cut
        try:
            self._deliverable(choice.message)
            if cut and not choice.message.tool_calls and not (choice.message.content or "").strip():
                raise BrokenMessage("nothing but reasoning, or nothing at all")
        except BrokenMessage as error:
            if cut:
                raise ModelFailure("truncated", ValueError(f"cut off at the limit of tokens: {error}")) from None
            raise
        return response

    def _deliverable(self, message) -> None:
        """Make of a message what tau2 and a record can hold; raises BrokenMessage where it cannot be that."""
        message.role = "assistant"
        if message.content:
            message.content = self._said(without_reasoning(message.content))
        calls = message.tool_calls or ()
        for call, call_id in zip(calls, distinct_ids([call.id for call in calls]), strict=True):
            function = getattr(call, "function", None)
            if function is None:
                raise BrokenMessage("a tool call of no function")
            if not isinstance(function.name, str) or not function.name:
                raise BrokenMessage("a tool call without a name")
            call.id, function.name = self._said(call_id), self._said(function.name)
            function.arguments = json.dumps(self._said(json_object(function.arguments)))

    def _said(self, value):
        """Return plain data with keys, and halves of surrogate pairs, which have no UTF-8, replaced in all its texts."""
        match value:
            case str():
                return without_keys(SURROGATE.sub("\ufffd", value), self._key)
            case dict():
                return {self._said(name): self._said(inner) for name, inner in value.items()}
            case list():
                return [self._said(inner) for inner in value]
        return value

    def _attempt(self, arguments: dict):
        # Here and not among the arguments that tau2 is given: nothing of tau2's holds it.
        try:
            with bounded(self._deadline):
                response = backend.completion(**arguments, **({"api_key": self._key} if self._key else {}))
        except Exception as error:
            if was_answered(error):
                self._spend(0, None)
            raise
        tokens, complete = counted_tokens(response.get("usage"))
        cost = response._hidden_params.get("response_cost")  # documented by LiteLLM under this name
        self._spend(tokens, cost if complete else None)
        if not response.choices:
            raise NoChoices("the endpoint answered without a message")
        check_finish(response.choices[0])
        return response

    def _spend(self, tokens: int, cost: float | None) -> None:
        """Count an attempt, and note it before its answer is used: who is killed then has still paid for it."""
        self.tokens += tokens
        self.cost += cost or 0.0
        self.unpriced_calls += cost is None
        self._note(tokens, cost or 0.0, int(cost is None))

    def _count_retry(self, state: tenacity.RetryCallState) -> None:
        self.retries += 1

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Return the seconds before the next attempt; spread by a quarter, lest workers knock together."""
        attempt = state.attempt_number
        spread = 1 - Draws("retry", self.seed, attempt).below(1000) / 4000
        backoff = spread * min(2.0 ** (attempt - 1), LONGEST_BACKOFF)
        error = state.outcome.exception() if state.outcome else None
        return max(backoff, min(retry_after(error), LONGEST_RETRY_AFTER))


@dataclass(frozen=True)
class ToolSchema:
    """A tool as a model sees it: all that tau2's agent and customer use of a Tool, which takes 2 ms to build."""

    name: str
    openai_schema: dict


_schemas: dict[object, list[ToolSchema]] = {}


def tool_schemas(kit) -> list[ToolSchema]:
    """Return the tools of a toolkit as a model sees them; made once for its class and its memory's tools."""
    key = getattr(kit, "schema_key", type(kit))
    if key not in _schemas:
        _schemas[key] = [ToolSchema(tool.name, tool.openai_schema) for tool in kit.get_tools().values()]
    return _schemas[key]
