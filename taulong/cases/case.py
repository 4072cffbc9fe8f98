"""One case: a fresh conversation in a fresh environment, run by tau2's orchestrator and scored by tau2's evaluator."""

import json
import re
import time
from dataclasses import asdict, dataclass, replace
from functools import partial

from taulong import __version__, backend
from taulong.backend import Orchestrator, Role, Task, TerminationReason
from taulong.cases.agents import new_agent
from taulong.cases.customer import ScriptedCustomer
from taulong.cases.environment import MASKED_ANSWERS, CaseEnvironment, NotebookTools, customer_tool_types
from taulong.cases.failures import BrokenMessage, ModelFailure
from taulong.cases.models import Model, ModelCalls, case_seed
from taulong.graders.verdicts import GRADER_VERSION, GRADERS, grade
from taulong.keys import scrub
from taulong.memory.modes import Memory
from taulong.shifts.causes import corrective_tools, recurring_causes
from taulong.shifts.generation import Case, Shift

ENDINGS = (
    "customer_stop",
    "agent_stop",
    "transfer",
    "patience",
    "steps",
    "errors",
    "agent_error",
    "user_error",
    "infrastructure",
)
_ENDING_OF = {
    TerminationReason.USER_STOP: "customer_stop",
    TerminationReason.AGENT_STOP: "agent_stop",
    TerminationReason.MAX_STEPS: "steps",
    TerminationReason.TOO_MANY_ERRORS: "errors",
    TerminationReason.AGENT_ERROR: "agent_error",
    TerminationReason.USER_ERROR: "user_error",
}


# Found once, at import: of threads that ask for the first time together, functools.cache has every one find it.
for _find in (corrective_tools, customer_tool_types, backend.installation):
    _find()

GRADING = "grading"
"""How the reason begins of a case whose conversation is whole and whose grading failed."""
CONSENT = re.compile(r"\s*(?:yes|yeah|yep|sure|ok|okay|of course|please|go ahead|i (?:agree|accept|confirm))\b", re.I)


class CaseOrchestrator(Orchestrator):
    """tau2's orchestrator with patience: the customer takes so many agent utterances after the greeting, and no more.

    Tool calls, of either side, are free. The utterance that would be one too many is not delivered and the case ends.

    Args:
        patience: utterances the customer takes.
        **arguments: as for tau2's orchestrator.
    """

    def __init__(self, patience: int, **arguments):
        super().__init__(**arguments)
        self.patience = patience
        self.utterances = -1  # the greeting is the first delivery and does not count
        self.out_of_patience = False
        for participant, ending in ((self.agent, "agent_error"), (self.user, "user_error")):
            participant.generate_next_message = partial(_generate, participant.generate_next_message, ending)

    def step(self) -> None:
        """Do tau2's step, unless it would deliver one utterance too many."""
        if self.from_role == Role.AGENT and self.to_role == Role.USER:
            if self.utterances == self.patience:
                self.done = self.out_of_patience = True
                self.termination_reason = TerminationReason.USER_STOP
                return
            self.utterances += 1
        super().step()

    def get_trajectory(self) -> list:
        """Return the messages as they came; tau2's copies them twice and sorts by the clock, which may be set back."""
        return list(self.trajectory)


def _generate(generate, ending: str, message, state):
    try:
        reply, state = generate(message, state)
        if not reply.tool_calls:
            reply.tool_calls = None  # tau2 takes an empty list for a tool call and then finds no answer to it
            if not reply.has_text_content():
                raise BrokenMessage("a message with neither text nor tool calls")
    except BrokenMessage as error:
        error.ending = ending
        raise
    return reply, state


@dataclass(frozen=True)
class CaseRun:
    """What came of a case.

    Attributes:
        record: one flat row, see the README's table of columns.
        transcript: the conversation and the notebook before and after.
        seconds: wall time; kept apart, so that records are the same from run to run.
        notebook: the notebook's text after the case (None in mode ``none``).
        retries: model calls that were made again; kept apart likewise.
    """

    record: dict
    transcript: dict
    seconds: float
    notebook: str | None
    retries: int = 0


def new_case_environment(case: Case, memory: Memory, solo_mode: bool = False) -> CaseEnvironment:
    """Return the fresh environment of a case; what tau2's evaluator is given as its constructor."""
    domain, policy = backend.policy()
    database = backend.database_with(case.records)
    tools = NotebookTools(database, memory.text, memory.cap) if memory.writable else backend.TelecomTools(database)
    return CaseEnvironment(
        domain, policy, tools, backend.TelecomUserTools(backend.new_user_database()), case.population == "testing"
    )


def run_case(
    shift: Shift,
    case: Case,
    memory: Memory,
    agent: str | Model,
    trial: int = 0,
    user: str | Model = "scripted",
    log_prompts: bool = False,
) -> CaseRun:
    """Return the record and transcript of one case.

    A message that cannot be delivered ends the case as that participant's error. Any other exception is an
    infrastructure failure: the case is ``unscored`` with the exception as its reason, never a zero.

    Args:
        shift, case: what is run.
        memory: at the start of the case.
        agent: name of an agent on board, or a model.
        trial: number of the trial; changes the draws of a scripted agent and the seeds of a model.
        user: ``scripted``, or a model.
        log_prompts: put the models' system prompts and tools into the transcript, not only their digests.
    """
    started = time.perf_counter()
    task = Task.model_validate(case.task)
    environment = new_case_environment(case, memory)
    where = (shift.split, shift.seed, case.position, trial)
    calls = {
        side: ModelCalls(model, case_seed(side, *where))
        for side, model in (("agent", agent), ("user", user))
        if isinstance(model, Model)
    }
    policy = environment.policy + memory.section
    orchestrator = CaseOrchestrator(
        shift.config.patience,
        domain=environment.domain_name,
        agent=calls["agent"].agent(environment.tools, policy)
        if "agent" in calls
        else new_agent(agent, environment.get_tools() if ":" in agent else [], policy, memory, where),
        user=calls["user"].customer(environment.user_tools, task)
        if "user" in calls
        else ScriptedCustomer(task.user_scenario),
        environment=environment,
        task=task,
        max_steps=shift.config.max_steps,
    )
    failure = None
    try:
        orchestrator.run()
        ending = _ending(orchestrator)
    except BrokenMessage as error:
        ending = error.ending
    except ModelFailure as error:
        ending, failure = "infrastructure", str(error)
    except Exception as error:
        if (
            orchestrator.done and orchestrator.to_role == Role.ENV
        ):  # the agent stopped in a message with a tool call: tau2
            ending = _ending(
                orchestrator
            )  # refuses to wrap up, but the conversation is over, and graded without the call
        else:
            ending, failure = "infrastructure", scrub(f"{type(error).__name__}: {error}")
    if ending == "user_error":
        failure = "the customer simulator sent an empty or malformed message"
    messages = orchestrator.get_trajectory()
    facts = _facts(environment, orchestrator, messages, memory)
    tau2 = backend.installation()
    identity = {"shift_id": shift.shift_id, "case_id": case.case_id}
    arm = {"memory_mode": memory.mode, "agent": str(agent), "user": str(user)}
    record = {
        **identity,
        "split": shift.split,
        "seed": shift.seed,
        "trial": trial,
        "position": case.position,
        "population": case.population,
        "cause": case.cause,
        "recurring_cause": shift.recurring_cause,
        "teaching_seen": shift.teaching_seen(case.position),
        **arm,
        **_UNGRADED,
        "transferred": facts["transferred"] or ending == "transfer",
        "ending": ending,
        "ended_on_consent": facts["ended_on_consent"],
        "utterances": max(orchestrator.utterances, 0),
        "steps": orchestrator.step_count,
        "tool_errors": facts["tool_errors"],
        "ownership_errors": facts["ownership_errors"],
        "commitment": environment.commitment,
        "fix_in_notebook": None
        if memory.text is None
        else recurring_causes()[shift.recurring_cause].corrective_tool in memory.text,
        "notebook_length_before": len(memory.text or ""),
        "notebook_length_after": len(facts["notebook"] or ""),
        "notebook_writes": facts["writes"],
        "notebook_refusals": facts["refusals"],
        **{f"{side}_tokens": calls[side].tokens if side in calls else 0 for side in ("agent", "user")},
        **{f"{side}_cost": calls[side].cost if side in calls else 0.0 for side in ("agent", "user")},
        "unpriced_calls": sum(side.unpriced_calls for side in calls.values()),
        "outcome": "scored" if failure is None else "unscored",
        "reason": failure,
        "taulong_version": __version__,
        "grader_version": GRADER_VERSION,
        "tau2_distribution": tau2.distribution,
        "tau2_version": tau2.version,
        "tau2_data": tau2.data_digest,
    }
    transcript = {
        **identity,
        "trial": trial,
        "position": case.position,
        **arm,
        "notebook_before": memory.text,
        "notebook_after": facts["notebook"],
        "messages": [_plain(message) for message in messages],
        "masked_messages": facts["masked"],
        "commitment_message": facts["commitment"],
        "undelivered_message": len(messages) - 1 if orchestrator.out_of_patience else None,
        "findings": [],
        **{f"{name}_prompt": side.digest for name, side in calls.items()},
        **{f"{name}_prompt_text": side.prompt for name, side in calls.items() if log_prompts},
    }
    if failure is None:
        _grade(record, transcript, case, memory, messages)
    return CaseRun(
        record,
        transcript,
        time.perf_counter() - started,
        facts["notebook"],
        sum(side.retries for side in calls.values()),
    )


_UNGRADED = dict.fromkeys(("official_reward", *GRADERS, "gated_reward"))


def _grade(record: dict, transcript: dict, case: Case, memory: Memory, messages: list) -> None:
    """Put what the graders say of a whole conversation into its record and transcript."""
    try:
        grades = grade(Task.model_validate(case.task), messages, partial(new_case_environment, case, memory))
    except Exception as error:
        record.update(_UNGRADED, outcome="unscored", reason=scrub(f"{GRADING}: {type(error).__name__}: {error}"))
        return
    statuses = {name: verdict.status for name, verdict in grades.verdicts.items()}
    record.update(
        official_reward=grades.official_reward,
        **statuses,
        gated_reward=grades.gated_reward,
        outcome="scored" if grades.official_reason is None else "unscored",
        reason=None,
    )
    if grades.official_reason is not None:
        record["reason"] = f"{GRADING}: {grades.official_reason}"
    findings = json.dumps([asdict(finding) for finding in grades.findings])
    transcript["findings"] = json.loads(findings, parse_constant=str)  # sums of large numbers are infinite: "Infinity"


def is_whole(record: dict) -> bool:
    """Return whether a case's conversation came to its end: then a missing score is the grading's fault alone."""
    return record["outcome"] == "scored" or (record["reason"] or "").startswith(GRADING + ":")


def grade_again(case: Case, memory: Memory, record: dict, transcript: dict) -> tuple[dict, dict]:
    """Return the record and transcript of a whole conversation, graded from the transcript: nothing is run again.

    Args:
        case: the case.
        memory: its memory; the text is taken from the transcript.
        record, transcript: as they were written.
    """
    record, transcript = dict(record), dict(transcript)
    kinds = {"assistant": backend.AssistantMessage, "user": backend.UserMessage, "tool": backend.ToolMessage}
    messages = [kinds[message["role"]].model_validate(message) for message in transcript["messages"]]
    _grade(record, transcript, case, replace(memory, text=transcript["notebook_before"]), messages)
    return record, transcript


def _ending(orchestrator: CaseOrchestrator) -> str:
    if orchestrator.out_of_patience:
        return "patience"
    ending = _ENDING_OF[TerminationReason(orchestrator.termination_reason)]
    if ending == "customer_stop" and backend.TRANSFER in (orchestrator.message.content or ""):
        return "transfer"
    return ending


def _facts(environment: CaseEnvironment, orchestrator: CaseOrchestrator, messages: list, memory: Memory) -> dict:
    """Return what the records take from the conversation, by one pass over its messages."""
    names: dict[str, str] = {}  # ids are unique within a message, but not every model's in a conversation
    masked, commitment, transferred, errors = [], None, False, {"tool_errors": 0, "ownership_errors": 0}
    own_tools = type(environment.tools)
    for index, message in enumerate(messages):
        if message.role != "tool":
            names.update({call.id: call.name for call in message.tool_calls or ()})
            continue
        name = names.get(message.id, "")
        if message.requestor == "assistant":
            not_its_own = name in customer_tool_types() and not hasattr(own_tools, name)
            errors["ownership_errors" if not_its_own else "tool_errors"] += message.error
            transferred |= name == "transfer_to_human_agents" and not message.error
        elif environment.masked and message.content in MASKED_ANSWERS:
            masked.append(index)
        elif environment.masked and commitment is None and name in corrective_tools() and not message.error:
            commitment = index
    tools = environment.tools
    return {
        **errors,
        "masked": masked,
        "commitment": commitment,
        "transferred": transferred,
        "ended_on_consent": _ended_on_consent(messages),
        "notebook": tools.notebook if memory.writable else memory.text,
        "writes": getattr(tools, "writes", 0),
        "refusals": getattr(tools, "refusals", 0),
    }


def _ended_on_consent(messages: list) -> bool:
    """Return whether the customer agreed to a question and ended the conversation in one message.

    tau2 ends at the stop token, whatever the text before it: the agent never acts on such a "Yes, please".
    """
    last = messages[-1] if messages else None
    if last is None or last.role != "user" or last.tool_calls or backend.STOP not in (last.content or ""):
        return False
    asked = next((m.content for m in reversed(messages) if m.role == "assistant" and not m.tool_calls), "")
    return "?" in asked and CONSENT.match(last.content) is not None


MOVING = {"timestamp", "turn_idx", "cost", "usage", "raw_data", "generation_time_seconds"}


def _plain(message) -> dict:
    """Return a message as plain data without what moves from run to run."""
    return message.model_dump(exclude_none=True, exclude=MOVING)
