"""One case: a fresh conversation in a fresh environment, run by tau2's orchestrator and scored by tau2's evaluator."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from taulong import __version__, backend
from taulong.backend import Task
from taulong.cases.agents import new_agent
from taulong.cases.customer import ScriptedCustomer
from taulong.cases.environment import CaseEnvironment, customer_tool_types, new_case_environment
from taulong.cases.facts import Facts, facts_of
from taulong.cases.grading import goes_on, grade_again, graded
from taulong.cases.models import Model, ModelCalls, case_seed
from taulong.cases.notes import tells_fix
from taulong.cases.orchestrator import CaseOrchestrator
from taulong.cases.record import SIDES, CaseRecord
from taulong.cases.remembering import MEMORY_AFTER, MemoryAtWork, with_query
from taulong.cases.standin import stand_in
from taulong.draws import Streams
from taulong.graders.verdicts import GRADER_VERSION
from taulong.memory.modes import Memory
from taulong.memory.names import is_held_out
from taulong.shifts.causes import causes_by_tool, corrective_tools, fixed_sign, signs
from taulong.shifts.stream import Case, Shift

# Found once, at import: of threads that ask for the first time together, functools.cache has every one find it.
for _find in (corrective_tools, signs, fixed_sign, customer_tool_types, backend.installation):
    _find()

MOVING = {"timestamp", "turn_idx", "cost", "usage", "raw_data", "generation_time_seconds"}


@dataclass(frozen=True)
class CaseRun:
    """What came of a case.

    Attributes:
        record: one flat row, see :class:`taulong.cases.record.CaseRecord`.
        transcript: the conversation and the notebook before and after.
        seconds: wall time; kept apart, so that records are the same from run to run.
        memory: what crosses to the next case.
        memory_seconds: wall time of the memory, likewise apart.
        retries: model calls that were made again; kept apart likewise.
    """

    record: dict
    transcript: dict
    seconds: float
    memory: Memory
    memory_seconds: float = 0.0
    retries: int = 0


@dataclass(frozen=True)
class _Stage:
    """What a case is run with: the arguments of :func:`run_case` and what is built of them."""

    shift: Shift
    case: Case
    memory: MemoryAtWork
    agent: str | Model
    trial: int
    user: str | Model
    environment: CaseEnvironment
    orchestrator: CaseOrchestrator
    calls: dict[str, ModelCalls]

    @property
    def names(self) -> dict:
        """Which case it is, of which arm: what record and transcript have in common."""
        return {
            "shift_id": self.shift.shift_id,
            "case_id": self.case.case_id,
            "trial": self.trial,
            "position": self.case.position,
            "memory_mode": self.memory.memory.mode,
            "agent": str(self.agent),
            "user": str(self.user),
        }


def run_case(
    shift: Shift,
    case: Case,
    memory: Memory,
    agent: str | Model,
    trial: int = 0,
    user: str | Model = "scripted",
    log_prompts: bool = False,
    memory_llm: Model | None = None,
    note: Callable[[int, float, int], None] = lambda *_: None,
) -> CaseRun:
    """Return the record and transcript of one case.

    A message that cannot be delivered ends the case as that participant's error. Any other exception is a failure of the
    infrastructure or of the memory: the case is ``unscored`` with the exception as its reason, never a zero.

    Args:
        shift, case: what is run.
        memory: at the start of the case.
        agent: name of an agent on board, or a model.
        trial: number of the trial; changes the draws of a scripted agent and the seeds of a model.
        user: ``scripted``, or a model.
        log_prompts: put the models' system prompts and tools into the transcript, not only their digests.
        memory_llm: the model that the memory asks (default: the agent's own; of a scripted agent, its stand-in).
        note: called with the (tokens, dollars, unpriced calls) of every model call before its answer is used.
    """
    started = time.perf_counter()
    stage = _stage(shift, case, memory, agent, trial, user, memory_llm, note)
    failed = stage.memory.failure
    ending, failure = (
        ("infrastructure", failed) if failed else stage.orchestrator.converse(lambda: stage.memory.is_long)
    )
    messages = stage.orchestrator.get_trajectory()
    plain = [_plain(message) for message in messages]
    facts = facts_of(stage.environment, messages, case.cause)
    if failure is None:
        failure = stage.memory.take_in(plain)
    record, findings = _record(stage, facts, ending, failure), []
    if failure is None:
        record, found = graded(record, case, list(stage.memory.tools), messages)
        findings = found or []
    return CaseRun(
        record.row(),
        _transcript(stage, facts, memory, plain, findings, log_prompts),
        time.perf_counter() - started,
        stage.memory.memory,
        stage.memory.seconds,
        sum(side.retries for side in stage.calls.values()),
    )


def finish_again(
    case: Case,
    memory: Memory,
    record: dict,
    transcript: dict,
    agent: str | Model,
    memory_llm: Model | None = None,
) -> tuple[dict, dict]:
    """Return the record and transcript of a whole conversation whose memory or grading failed: nothing is said again.

    Args:
        case: the case.
        memory: at its start.
        record, transcript: as they were written.
        agent, memory_llm: as for :func:`run_case`.
    """
    if not goes_on(record):
        where = (record["split"], record["seed"], _place(case, record["held_out"]), record["trial"])
        asked = _memory_calls(agent, memory_llm, where)
        state = transcript["memory_after"]
        at_work = MemoryAtWork(replace(memory, state=state), asked.ask if asked else stand_in)
        failure = at_work.failure or at_work.take_in(transcript["messages"])
        record = {
            **record,
            "memory_items": at_work.items,
            "notebook_length_after": len(at_work.contents or ""),
            "memory_tokens": record["memory_tokens"] + (asked.tokens if asked else 0),
            "memory_cost": record["memory_cost"] + (asked.cost if asked else 0.0),
            "unpriced_calls": record["unpriced_calls"] + (asked.unpriced_calls if asked else 0),
        }
        if failure is not None:
            return {**record, "reason": failure if not at_work.failure else f"{MEMORY_AFTER}: {failure}"}, transcript
        transcript = {**transcript, "memory_after": at_work.memory.state, "notebook_after": at_work.contents}
    return grade_again(case, record, transcript)


def _place(case: Case, held_out: bool) -> int | str:
    """Return what the draws of a case are keyed by: its position; a held-out customer's are its own."""
    return f"held out {case.position}" if held_out else case.position


def _memory_calls(
    agent: str | Model, memory_llm: Model | None, where: tuple, note: Callable = lambda *_: None
) -> ModelCalls | None:
    """Return the calls of the model that a memory asks; None where the agent is scripted and no model is named."""
    model = memory_llm or (agent if isinstance(agent, Model) else None)
    return ModelCalls(model, case_seed("memory", *where), note) if model else None


def _stage(
    shift: Shift,
    case: Case,
    memory: Memory,
    agent: str | Model,
    trial: int,
    user: str | Model,
    memory_llm: Model | None,
    note: Callable,
) -> _Stage:
    """Build environment, participants, memory and orchestrator of a case."""
    task = Task.model_validate(case.task)
    where = (shift.split, shift.seed, _place(case, is_held_out(memory.mode)), trial)
    calls = {
        side: ModelCalls(model, case_seed(side, *where), note)
        for side, model in (("agent", agent), ("user", user))
        if isinstance(model, Model)
    }
    if (asked := _memory_calls(agent, memory_llm, where, note)) is not None:
        calls["memory"] = asked
    at_work = MemoryAtWork(memory, asked.ask if asked else stand_in)
    environment = new_case_environment(case, at_work)
    policy = environment.policy + at_work.section
    player = (
        calls["agent"].agent(environment.tools, policy)
        if "agent" in calls
        else new_agent(
            agent, environment.get_tools() if ":" in agent else [], policy, at_work.shown, Streams("agent", *where)
        )
    )
    orchestrator = CaseOrchestrator(
        shift.config.patience,
        domain=environment.domain_name,
        agent=with_query(player, at_work, environment.policy) if at_work.wants_query else player,
        user=calls["user"].customer(environment.user_tools, task)
        if "user" in calls
        else ScriptedCustomer(task.user_scenario, environment),
        environment=environment,
        task=task,
        max_steps=shift.config.max_steps,
    )
    return _Stage(shift, case, at_work, agent, trial, user, environment, orchestrator, calls)


def _record(stage: _Stage, facts: Facts, ending: str, failure: str | None) -> CaseRecord:
    """Return the record of a conversation, without verdicts."""
    shift, case, memory, tau2 = stage.shift, stage.case, stage.memory, backend.installation()
    text = memory.shown.text
    return CaseRecord(
        **stage.names,
        split=shift.split,
        seed=shift.seed,
        population=case.population,
        cause=case.cause,
        recurring_cause=case.recurring_cause,
        fleet=case.fleet,
        regime=case.regime,
        held_out=is_held_out(memory.memory.mode),
        teaching_seen=shift.teaching_seen(case.position),
        teaching_distance=shift.teaching_distance(case.position),
        transferred=facts.transferred or ending == "transfer",
        ending=ending,
        ended_on_consent=facts.ended_on_consent,
        utterances=max(stage.orchestrator.utterances, 0),
        steps=stage.orchestrator.step_count,
        tool_errors=facts.tool_errors,
        ownership_errors=facts.ownership_errors,
        commitment=stage.environment.commitment,
        stale=_is_stale(shift, case, stage.environment.commitment),
        evidence_shown=facts.evidence_shown,
        fix_in_notebook=None if text is None else tells_fix(text, case.recurring_cause, case.phone_model),
        notebook_length_before=len(text or ""),
        notebook_length_after=len(memory.contents or ""),
        notebook_writes=memory.writes,
        notebook_refusals=memory.refusals,
        memory_items=memory.items,
        **{
            f"{side}_{what}": getattr(stage.calls[side], what) if side in stage.calls else nothing
            for side in SIDES
            for what, nothing in (("tokens", 0), ("cost", 0.0), ("truncated", 0))
        },
        unpriced_calls=sum(side.unpriced_calls for side in stage.calls.values()),
        outcome="scored" if failure is None else "unscored",
        reason=failure,
        taulong_version=__version__,
        grader_version=GRADER_VERSION,
        tau2_distribution=tau2.distribution,
        tau2_version=tau2.version,
        tau2_data=tau2.data_digest,
    )


def _is_stale(shift: Shift, case: Case, commitment: str | None) -> bool | None:
    """Return whether a commitment is the fix of an earlier regime; None where there is none, or nothing is masked."""
    if not (case.masked and case.regime):
        return None
    cause = causes_by_tool().get(commitment or "")
    return cause != case.recurring_cause and cause in {causes[case.fleet] for causes in shift.regimes[: case.regime]}


def _transcript(
    stage: _Stage, facts: Facts, before: Memory, messages: list[dict], findings: list[dict], log_prompts: bool
) -> dict:
    """Return the conversation as it is kept: messages, memory before and after, what is remarkable by index of the message."""
    return {
        **stage.names,
        "notebook_before": stage.memory.shown.text,
        "notebook_after": stage.memory.contents,
        "memory_before": before.digest,
        "memory_after": stage.memory.memory.state,
        "memory_tools": list(stage.memory.tools),
        "messages": messages,
        "masked_messages": facts.masked,
        **({"truncated_messages": facts.truncated} if facts.truncated else {}),
        "commitment_message": facts.commitment,
        "undelivered_message": len(messages) - 1 if stage.orchestrator.out_of_patience else None,
        "findings": findings,
        **{f"{name}_prompt": side.digest for name, side in stage.calls.items()},
        **{f"{name}_prompt_text": side.prompt for name, side in stage.calls.items() if log_prompts},
    }


def _plain(message) -> dict:
    """Return a message as plain data without what moves from run to run."""
    return message.model_dump(exclude_none=True, exclude=MOVING)
