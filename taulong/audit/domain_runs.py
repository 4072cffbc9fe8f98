"""Scripted runs of any domain: played on copies, and rewarded by tau2's own ``evaluate_simulation``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from taulong import backend
from taulong.audit.scripts import gold_calls, play_in
from taulong.backend import AssistantMessage, Environment, Message, RewardInfo, RewardType, Task, ToolCall
from taulong.domains.state import changes, fresh, state_hash
from taulong.graders.reference import start

Outcome = Literal["1", "0", "judge decides", "void"]
"""What a reward comes to: a judge decides where all else is right and the basis asks one (NL_ASSERTION); void where
tau2's evaluator raises, which no result file would hold a reward of."""


@dataclass(frozen=True)
class Gold:
    """Where a task's gold actions lead.

    Attributes:
        task: the task.
        domain: its domain's name.
        hashes: of the agent's and the user's database, as the stock evaluator reaches them.
        initial: what of the agent's database is not as shipped when the task begins.
        changes: what of the agent's database is not as shipped after the gold calls, made as a run makes them.
        failing: the gold calls that fail, and whether each is a write: ((position, tool, is a write), ...).
    """

    task: Task
    domain: str
    hashes: tuple[str, str]
    initial: dict
    changes: dict
    failing: tuple[tuple[int, str, bool], ...]


@dataclass(frozen=True)
class Run:
    """A scripted run.

    Attributes:
        environment: in the state the run ends in.
        messages: the whole trajectory.
        answered: whether each call was answered without an error, in order.
    """

    environment: Environment
    messages: list[Message]
    answered: tuple[bool, ...]


def begin(task: Task, domain: str) -> Environment:
    """Return a fresh environment of a domain in the task's initial state."""
    return start(task, lambda solo_mode=False: fresh(domain))


def build_gold(task: Task, domain: str) -> Gold:
    """Return where the gold actions lead; its hashes as tau2's evaluator reaches them, never synced."""
    environment, failing = begin(task, domain), []
    for position, action in enumerate((task.evaluation_criteria and task.evaluation_criteria.actions) or ()):
        try:
            environment.make_tool_call(action.name, requestor=action.requestor, **action.arguments)
        except Exception:  # tools raise anything; tau2's evaluator goes on, and so does this
            failing.append((position, action.name, is_write(environment, action.name)))
    hashes = state_hash(environment), environment.get_user_db_hash()
    synced = play_run(task, domain, gold_calls(task)).environment
    return Gold(task, domain, hashes, changes(begin(task, domain)), changes(synced), tuple(failing))


def is_write(environment: Environment, tool: str) -> bool:
    """Return whether a tool of the agent's writes, by tau2's own marks."""
    return environment.tools.has_tool(tool) and environment.tools.tool_type(tool) == backend.ToolType.WRITE


def play_run(task: Task, domain: str, steps: Iterable[ToolCall | str]) -> Run:
    """Return the run of these steps from the task's initial state: calls, and sentences that the agent says."""
    environment = begin(task, domain)
    state = task.initial_state
    messages: list[Message] = list((state and state.message_history) or ())
    answered: list[bool] = []
    for number, step in enumerate(steps):
        if isinstance(step, str):
            messages.append(AssistantMessage(role="assistant", content=step, timestamp=None))
        else:
            played = play_in(environment, [step], number)
            answered.append(not played[-1].error)
            messages += played
    return Run(environment, messages, tuple(answered))


def reward(gold: Gold, run: Run) -> RewardInfo:
    """Return what tau2's ``evaluate_simulation`` says of a run, all components but those that take a judge.

    The evaluator is tau2's; it is handed the state that the run ends in instead of replaying it, and databases that
    are told by what differs from the shipped one.
    """
    environment = run.environment
    environment.get_db_hash = partial(_same, state_hash(environment))
    environment.get_user_db_hash = partial(_same, environment.get_user_db_hash())
    return backend.reached_reward(without_judge(gold.task), run.messages, environment, gold.hashes)


def _same(value):
    return value


def without_judge(task: Task) -> Task:
    """Return the task with a reward basis that no judge is needed for."""
    if not needs_judge(task):
        return task
    assert task.evaluation_criteria is not None
    kept = [part for part in task.evaluation_criteria.reward_basis if part != RewardType.NL_ASSERTION]
    return task.model_copy(
        update={"evaluation_criteria": task.evaluation_criteria.model_copy(update={"reward_basis": kept})}
    )


def needs_judge(task: Task) -> bool:
    """Return whether the task's reward asks a judge: its basis names NL_ASSERTION and there is something to assert."""
    criteria = task.evaluation_criteria
    return bool(criteria and criteria.nl_assertions) and RewardType.NL_ASSERTION in criteria.reward_basis


def outcome(gold: Gold, run: Run) -> Outcome:
    """Return what the official reward of a run comes to; bounds where a judge would be asked, never a guess."""
    try:
        found = reward(gold, run)
    except (ValueError, AssertionError):  # an assertion that raises instead of answering
        return "void"
    if found.reward < 1:
        return "0"
    return "judge decides" if needs_judge(gold.task) else "1"


def reference_steps(task: Task) -> list[ToolCall | str]:
    """Return the reference as steps: the gold calls, then the strings that COMMUNICATE looks for, in one sentence."""
    return [*gold_calls(task), *strings(task)]


def strings(task: Task) -> Sequence[str]:
    """Return one sentence with every string that COMMUNICATE looks for; nothing where it looks for none."""
    wanted = task.evaluation_criteria and task.evaluation_criteria.communicate_info
    return [", ".join(wanted)] if wanted else []
