"""Runs without a model: a list of tool calls made into the trajectory that tau2 would have recorded."""

from collections.abc import Callable, Iterable

from taulong.backend import Action, AssistantMessage, Environment, Message, Task, ToolCall, UserMessage, new_environment
from taulong.graders.reference import start


def call(name: str, requestor: str = "assistant", /, **arguments) -> ToolCall:
    """Return a tool call; its id is given when it is played."""
    return ToolCall(id="", name=name, arguments=arguments, requestor=requestor)


def gold_calls(task: Task) -> list[ToolCall]:
    """Return the task's gold actions as tool calls."""
    return [from_action(action) for action in task.evaluation_criteria.actions or ()]


def from_action(action: Action) -> ToolCall:
    """Return a gold action as a tool call."""
    return call(action.name, action.requestor, **action.arguments)


def play(
    task: Task,
    calls: Iterable[ToolCall],
    environment_constructor: Callable[..., Environment] = new_environment,
    solo_mode: bool = False,
) -> list[Message]:
    """Return the trajectory of these calls, one a message, with the answers an environment gives. Nobody speaks."""
    return play_in(start(task, environment_constructor, solo_mode), calls)


def play_in(environment: Environment, calls: Iterable[ToolCall], first: int = 0) -> list[Message]:
    """Return the trajectory of these calls in an environment, which they change; ``first`` starts their numbering."""
    messages: list[Message] = []
    for number, asked in enumerate(calls, first):
        asked = asked.model_copy(update={"id": f"call_{number}"})
        kind = UserMessage if asked.requestor == "user" else AssistantMessage
        messages.append(kind(role=asked.requestor, tool_calls=[asked], timestamp=None))
        messages.append(environment.get_response(asked).model_copy(update={"timestamp": None}))
    return messages
