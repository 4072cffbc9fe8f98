"""The reference of a task: where its gold actions lead when both databases are kept in step, as they are in a run.

The gold environment of tau2's evaluator is made by ``make_tool_call`` alone, without ``sync_tools``, while a run is
synced after every call; so its database check rejects most perfect runs. Here both golds are built, ours synced.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from taulong.backend import Environment, Task, new_environment
from taulong.graders.delta import Field, compare, known_bills

Hashes = tuple[str, str]
"""(hash of the agent database, hash of the user database), as tau2 computes them."""


@dataclass(frozen=True)
class Reference:
    """What a task's gold actions do to the databases; build it once a task with :func:`build_reference`.

    Attributes:
        task: the task.
        initial: plain contents of the agent database before the conversation.
        user_initial: plain contents of the user database before the conversation.
        final: plain contents of the agent database after the synced gold actions.
        user_final: plain contents of the user database after them.
        footprint: the fields that ``final`` changed from ``initial``.
        known: the bill ids of ``initial``.
        stock: database hashes of tau2's unsynced gold environment.
        synced: database hashes of the synced one.
        error: why the reference cannot be trusted (a gold action failed), or None.
    """

    task: Task
    initial: dict
    user_initial: dict
    final: dict
    user_final: dict
    footprint: frozenset[Field]
    known: frozenset[str]
    stock: Hashes
    synced: Hashes
    error: str | None = None


def hashes(environment: Environment) -> Hashes:
    """Return tau2's hashes of the agent and the user database."""
    return environment.get_db_hash(), environment.get_user_db_hash()


def start(task: Task, environment_constructor: Callable[..., Environment], solo_mode: bool = False) -> Environment:
    """Return a new environment brought to the task's initial state.

    tau2's ``set_state`` ends with one more ``sync_tools``; it is left out here, because everything before it has synced
    already and it raises where the caller's phone is no line's phone, a state whose writes we still want to see.
    """
    environment = environment_constructor(solo_mode=solo_mode)
    state = task.initial_state
    if state is not None and state.initialization_data is not None:
        environment.set_state(state.initialization_data, None, [])
    for call in (state and state.initialization_actions) or ():
        environment.run_env_function_call(call)
    if state is not None and state.message_history:
        environment.set_state(None, None, state.message_history)
    return environment


def build_reference(task: Task, environment_constructor: Callable[..., Environment] = new_environment) -> Reference:
    """Return the task's reference, replayed in environments that the constructor makes.

    The gold environments are not in solo mode, as in tau2's evaluator: gold actions name their requestor.
    """
    stock, synced = start(task, environment_constructor), start(task, environment_constructor)
    initial, user_initial = synced.tools.db.model_dump(), synced.user_tools.db.model_dump()
    error = None
    for action in (task.evaluation_criteria and task.evaluation_criteria.actions) or ():
        error = _act(stock, action) or error
        error = _act(synced, action) or error
        with contextlib.suppress(
            ValueError
        ):  # the caller's phone is no line's phone: the write has landed all the same
            synced.sync_tools()
    final, known = synced.tools.db.model_dump(), known_bills(initial)
    return Reference(
        task,
        initial,
        user_initial,
        final,
        synced.user_tools.db.model_dump(),
        frozenset(compare(initial, final, known)),
        known,
        hashes(stock),
        hashes(synced),
        error,
    )


def _act(environment: Environment, action) -> str | None:
    try:
        environment.make_tool_call(action.name, requestor=action.requestor, **action.arguments)
    except Exception as error:  # tools raise anything; tau2's evaluator logs it and goes on, we keep the sentence
        return f"gold action {action.name}({action.arguments}) failed: {error}"
    return None
