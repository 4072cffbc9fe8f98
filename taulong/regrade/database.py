"""Verdicts on runs of domains other than telecom: the reward without its judge, and target, frame and form of the state."""

from dataclasses import dataclass

from taulong import backend
from taulong.audit.domain_runs import Gold, Run, begin, build_gold, needs_judge, reward
from taulong.audit.target_frame import judge_state
from taulong.backend import AssistantMessage, Message, SimulationRun, Task, ToolMessage, UserMessage
from taulong.domains.state import changes

JUDGED = "NL_ASSERTION"


@dataclass(frozen=True)
class Replayed:
    """A recorded run, played again.

    Attributes:
        run: the environment at its end, and the recorded messages.
        mismatches: tool answers that differ from the recorded ones.
    """

    run: Run
    mismatches: int


def replay(task: Task, domain: str, messages: list[Message]) -> Replayed:
    """Return a recorded run, its calls made again in the task's initial state."""
    environment, mismatches, answered = begin(task, domain), 0, []
    recorded = {message.id: message for message in messages if isinstance(message, ToolMessage)}
    for message in messages:
        for asked in (isinstance(message, AssistantMessage | UserMessage) and message.tool_calls) or ():
            answer = environment.get_response(asked)
            answered.append(not answer.error)
            before = recorded.get(asked.id)
            mismatches += before is not None and (before.content, before.error) != (answer.content, answer.error)
    return Replayed(Run(environment, messages, tuple(answered)), mismatches)


def database_verdicts(simulation: SimulationRun, task: Task, domain: str, golds: dict[str, Gold]) -> dict:
    """Return the columns of a regraded row that a database domain fills.

    ``official_reward`` is recomputed but for a judge's part, which is the recorded one and marked so in ``components``; it is
    None where the file has none. ``strict_stock`` is tau2's database check, ``target``, ``frame`` and ``form`` are what the
    gate says, ``gated_reward`` the official one where target and frame hold. The policy check has no rules for these domains.
    """
    if task.id not in golds:
        golds[task.id] = build_gold(task, domain)
    gold, replayed = golds[task.id], replay(task, domain, simulation.messages)
    reasons = [f"the policy check has no rules for {domain}"]
    if replayed.mismatches:
        void = f"void: {replayed.mismatches} replayed answers differ from the recorded ones"
        return {"replay_mismatches": replayed.mismatches, "reason": f"{void}; {reasons[0]}"}
    parts = judge_state(gold, changes(replayed.run.environment))
    stopped = simulation.termination_reason in (
        backend.TerminationReason.AGENT_STOP,
        backend.TerminationReason.USER_STOP,
    )
    found = reward(gold, replayed.run)
    components = {part.value: value for part, value in (found.reward_breakdown or {}).items()}
    official: float | None = found.reward if stopped else 0.0
    told = "; ".join(f"{name} {value:g}" for name, value in components.items())
    if needs_judge(task) and official:
        judged = _recorded_judge(simulation)
        official = None if judged is None else official * judged
        told += f"; {JUDGED} {'not in the file' if judged is None else f'{judged:g} (recorded)'}"
        reasons += ["a judge decides, and the file does not say what it said"] if judged is None else []
    recorded = simulation.reward_info and simulation.reward_info.reward
    if None not in (official, recorded) and official != recorded:
        reasons.append(f"recorded {recorded}, recomputed {official}")
    return {
        "official_reward": official,
        "strict_stock": _word(found.db_check is not None and found.db_check.db_match),
        "field_gate": _word(parts.frame),
        "target": _word(parts.target),
        "frame": _word(parts.frame),
        "form": _word(parts.form),
        "gated_reward": None if official is None else official * parts.passed,
        "fields": ";".join(change.path for change in (*parts.verdict.outside, *parts.verdict.target)),
        "components": told if stopped else f"none computed: the run ended by {simulation.termination_reason.value}",
        "replay_mismatches": 0,
        "reason": "; ".join(reasons),
    }


def _recorded_judge(simulation: SimulationRun) -> float | None:
    """Return what the file says a judge gave, None where it says nothing."""
    given = simulation.reward_info and simulation.reward_info.reward_breakdown
    values = {getattr(part, "value", part): value for part, value in (given or {}).items()}
    return values.get(JUDGED)


def _word(holds: bool) -> str:
    return "pass" if holds else "fail"
