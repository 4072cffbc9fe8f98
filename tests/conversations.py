"""Short conversations for the tests: calls in a case's environment, agents and customers that do as told."""

import copy
from functools import cache

from taulong import backend
from taulong.backend import AssistantMessage, Task, ToolCall, UserMessage
from taulong.cases import case as cases
from taulong.cases.agents import ScriptedAgent
from taulong.cases.remembering import MemoryAtWork, Remembered
from taulong.memory.modes import Memory
from taulong.memory.system import ShiftView
from taulong.shifts.generation import generate_shifts

NO_MEMORY = Memory("none", ShiftView(2000, 0))
EMPTY_NOTEBOOK = Memory("notebook", ShiftView(2000, 0), "")


@cache
def block():
    """Return one block of eval shifts: every cause recurs in one of them. Shared: never changed."""
    return tuple(generate_shifts(num_shifts=4))


def shift_of(cause):
    return next(shift for shift in block() if shift.recurring_cause == cause)


def case_of(cause, population="testing"):
    """Return the first case with this cause and population."""
    return next(
        case for shift in block() for case in shift.cases if (case.cause, case.population) == (cause, population)
    )


def customer(name, **arguments):
    return ToolCall(name=name, arguments=arguments, requestor="user")


def agent(name, **arguments):
    return ToolCall(name=name, arguments=arguments, requestor="assistant")


def calls_of(actions):
    """Return reference actions as tool calls."""
    return [ToolCall(name=action.name, arguments=action.arguments, requestor=action.requestor) for action in actions]


def environment_of(case, memory=NO_MEMORY):
    """Return the case's environment in the task's initial state."""
    environment = cases.new_case_environment(case, MemoryAtWork(memory))
    environment.set_state(None, Task.model_validate(case.task).initial_state.initialization_actions, [])
    return environment


def converse(case, calls, memory=NO_MEMORY, environment=None):
    """Return (trajectory of the calls, answers in order)."""
    environment = environment or environment_of(case, memory)
    messages, answers = [], []
    for number, call in enumerate(calls, start=1):
        call = call.model_copy(update={"id": f"call-{number}"})
        kind, role = (UserMessage, "user") if call.requestor == "user" else (AssistantMessage, "assistant")
        answers.append(environment.get_response(call))
        messages += [kind(role=role, tool_calls=[call]), answers[-1]]
    return messages, answers


def official(case, messages, memory=NO_MEMORY):
    """Return the official reward of a trajectory, replayed in the case's own environment class."""
    tools = MemoryAtWork(memory).tools

    def constructor(solo_mode=False):
        return cases.new_case_environment(case, Remembered(tools, messages), solo_mode)

    return backend.official_reward(Task.model_validate(case.task), messages, constructor).reward


def reward_of(case, calls, memory=NO_MEMORY):
    """Return the official reward of the calls."""
    return official(case, converse(case, calls, memory)[0], memory)


def phone(environment):
    """Return the customer's phone as plain data."""
    return copy.deepcopy(environment.user_tools.db.model_dump())


def agent_does(monkeypatch, dialogue):
    """Let agents on board follow ``dialogue(agent)``: a generator that is sent what it hears and yields messages."""
    monkeypatch.setattr(ScriptedAgent, "dialogue", dialogue)


def customer_does(monkeypatch, reply):
    """Let the customer answer with ``reply(message, turn)``."""
    turns = iter(range(1000))
    monkeypatch.setattr(
        cases.ScriptedCustomer,
        "generate_next_message",
        lambda self, message, state: (reply(message, next(turns)), state),
    )


def says(text, **more):
    return AssistantMessage(role="assistant", content=text, **more)


def asks(*calls, content=None):
    calls = [call.model_copy(update={"id": f"agent-{number}"}) for number, call in enumerate(calls)]
    return AssistantMessage(role="assistant", tool_calls=calls, content=content)
