"""One case: a fresh conversation in a fresh environment, run by tau2's orchestrator and scored by tau2's evaluator."""

import time
from dataclasses import asdict, dataclass
from functools import partial

from taulong import __version__, backend
from taulong.agents import AGENTS, ScriptedAgent
from taulong.backend import Orchestrator, Role, Task, TerminationReason
from taulong.causes import corrective_tools, recurring_causes
from taulong.customer import ScriptedCustomer
from taulong.draws import Draws
from taulong.environment import MASKED_ANSWERS, CaseEnvironment, NotebookTools
from taulong.graders import GRADER_VERSION, GRADERS, grade
from taulong.memory import Memory
from taulong.shifts import Case, Shift

ENDINGS = (
    "customer_stop", "agent_stop", "transfer", "patience", "steps", "errors", "agent_error", "user_error", "infrastructure",
)
_ENDING_OF = {
    TerminationReason.USER_STOP: "customer_stop",
    TerminationReason.AGENT_STOP: "agent_stop",
    TerminationReason.MAX_STEPS: "steps",
    TerminationReason.TOO_MANY_ERRORS: "errors",
    TerminationReason.AGENT_ERROR: "agent_error",
    TerminationReason.USER_ERROR: "user_error",
}


class EmptyMessage(RuntimeError):
    """A participant sent neither text nor a tool call; ``ending`` says which one."""

    def __init__(self, ending: str):
        super().__init__("a message with neither text nor tool calls")
        self.ending = ending


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
    reply, state = generate(message, state)
    if not reply.tool_calls:
        reply.tool_calls = None  # tau2 takes an empty list for a tool call and then finds no answer to it
        if not reply.has_text_content():
            raise EmptyMessage(ending)
    return reply, state


@dataclass(frozen=True)
class CaseRun:
    """What came of a case.

    Attributes:
        record: one flat row, see the README's table of columns.
        transcript: the conversation and the notebook before and after.
        seconds: wall time; kept apart, so that records are the same from run to run.
        notebook: the notebook's text after the case (None in mode ``none``).
    """

    record: dict
    transcript: dict
    seconds: float
    notebook: str | None


def new_case_environment(case: Case, memory: Memory, solo_mode: bool = False) -> CaseEnvironment:
    """Return the fresh environment of a case; what tau2's evaluator is given as its constructor."""
    domain, policy = backend.policy()
    shipped = backend.database_contents()
    database = backend.new_database({table: shipped[table] + case.records.get(table, []) for table in shipped})
    tools = NotebookTools(database, memory.text, memory.cap) if memory.writable else backend.TelecomTools(database)
    return CaseEnvironment(
        domain, policy, tools, backend.TelecomUserTools(backend.new_user_database()), case.population == "testing"
    )


def run_case(shift: Shift, case: Case, memory: Memory, agent: str, trial: int = 0) -> CaseRun:
    """Return the record and transcript of one case.

    An empty message ends the case as that participant's error. Any other exception, also one of the evaluator, is an
    infrastructure failure: the case is ``unscored`` with the exception as its reason, never a zero.
    """
    started = time.perf_counter()
    task = Task.model_validate(case.task)
    environment = new_case_environment(case, memory)
    participant = ScriptedAgent(
        [], environment.policy + memory.section, memory, AGENTS[agent],
        Draws("agent", shift.split, shift.seed, case.position, trial),
    )
    orchestrator = CaseOrchestrator(
        shift.config.patience, domain=environment.domain_name, agent=participant, user=ScriptedCustomer(task.user_scenario),
        environment=environment, task=task, max_steps=shift.config.max_steps,
    )
    failure = None
    try:
        orchestrator.run()
        ending = _ending(orchestrator)
    except EmptyMessage as error:
        ending = error.ending
    except Exception as error:  # whatever broke, the case is unscored and says why
        if orchestrator.done and orchestrator.to_role == Role.ENV:  # the agent stopped in a message with a tool call: tau2
            ending = _ending(orchestrator)  # refuses to wrap up, but the conversation is over, and graded without the call
        else:
            ending, failure = "infrastructure", _said(error)
    if ending == "user_error":
        failure = "the customer simulator sent an empty or malformed message"
    messages = orchestrator.get_trajectory()
    verdicts = dict.fromkeys(("official_reward", *GRADERS, "gated_reward"))
    findings = []
    if failure is None:
        try:
            grades = grade(task, messages, partial(new_case_environment, case, memory))
        except Exception as error:  # e.g. a phone left in a state that tau2's own assertion cannot read
            ending, failure = "infrastructure", f"grading: {_said(error)}"
        else:
            failure = grades.official_reason
            statuses = {name: verdict.status for name, verdict in grades.verdicts.items()}
            verdicts = {"official_reward": grades.official_reward, **statuses, "gated_reward": grades.gated_reward}
            findings = [asdict(finding) for finding in grades.findings]
    facts = _facts(environment, orchestrator, messages, memory)
    tau2 = backend.installation()
    identity = {"shift_id": shift.shift_id, "case_id": case.case_id}
    arm = {"memory_mode": memory.mode, "agent": agent, "user": "scripted"}
    record = {
        **identity, "split": shift.split, "seed": shift.seed, "trial": trial, "position": case.position,
        "population": case.population, "cause": case.cause, "recurring_cause": shift.recurring_cause,
        "teaching_seen": shift.teaching_seen(case.position), **arm, **verdicts,
        "transferred": facts["transferred"] or ending == "transfer", "ending": ending,
        "utterances": max(orchestrator.utterances, 0), "steps": orchestrator.step_count, "tool_errors": facts["tool_errors"],
        "commitment": environment.commitment,
        "fix_in_notebook": None if memory.text is None else recurring_causes()[shift.recurring_cause].corrective_tool in memory.text,
        "notebook_length_before": len(memory.text or ""), "notebook_length_after": len(facts["notebook"] or ""),
        "notebook_writes": facts["writes"], "notebook_refusals": facts["refusals"],
        "agent_tokens": 0, "user_tokens": 0, "agent_cost": 0.0, "user_cost": 0.0, "unpriced_calls": 0,
        "outcome": "scored" if failure is None else "unscored", "reason": failure,
        "taulong_version": __version__, "grader_version": GRADER_VERSION, "tau2_distribution": tau2.distribution,
        "tau2_version": tau2.version, "tau2_data": tau2.data_digest,
    }
    transcript = {
        **identity, "trial": trial, "position": case.position, **arm, "notebook_before": memory.text, "notebook_after": facts["notebook"],
        "messages": [_plain(message) for message in messages], "masked_messages": facts["masked"],
        "commitment_message": facts["commitment"],
        "undelivered_message": len(messages) - 1 if orchestrator.out_of_patience else None, "findings": findings,
    }
    return CaseRun(record, transcript, time.perf_counter() - started, facts["notebook"])


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _ending(orchestrator: CaseOrchestrator) -> str:
    if orchestrator.out_of_patience:
        return "patience"
    ending = _ENDING_OF[TerminationReason(orchestrator.termination_reason)]
    if ending == "customer_stop" and backend.TRANSFER in (orchestrator.message.content or ""):
        return "transfer"
    return ending


def _facts(environment: CaseEnvironment, orchestrator: CaseOrchestrator, messages: list, memory: Memory) -> dict:
    """Return what the records take from the conversation, by one pass over its messages."""
    masked, commitment, transferred, tool_errors = [], None, False, 0
    asked = []  # names of the calls to be answered; paired by place, because a model may use an id twice
    for index, message in enumerate(messages):
        if message.role != "tool":
            asked = [call.name for call in message.tool_calls or ()]
            continue
        name = asked.pop(0)
        if message.requestor == "assistant":
            tool_errors += message.error
            transferred |= name == "transfer_to_human_agents" and not message.error
        elif environment.masked and message.content in MASKED_ANSWERS:
            masked.append(index)
        elif environment.masked and commitment is None and name in corrective_tools() and not message.error:
            commitment = index
    tools = environment.tools
    return {
        "masked": masked, "commitment": commitment, "transferred": transferred, "tool_errors": tool_errors,
        "notebook": tools.notebook if memory.writable else memory.text,
        "writes": getattr(tools, "writes", 0), "refusals": getattr(tools, "refusals", 0),
    }


def _plain(message) -> dict:
    """Return a message as plain data without what moves from run to run."""
    return message.model_dump(exclude_none=True, exclude={"timestamp", "turn_idx", "cost", "usage", "raw_data"})
