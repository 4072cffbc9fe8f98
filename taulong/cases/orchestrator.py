"""The conversation of one case: tau2's orchestrator with a customer whose patience is counted, and how it ended."""

from collections.abc import Callable
from functools import partial

from taulong import backend
from taulong.backend import Orchestrator, Role, TerminationReason
from taulong.cases.failures import BrokenMessage, ModelFailure
from taulong.cases.remembering import MEMORY
from taulong.keys import scrub
from taulong.memory.system import MemoryFailure

TERMINATIONS = {  # ending of a case -> what tau2 calls it
    "customer_stop": TerminationReason.USER_STOP,
    "agent_stop": TerminationReason.AGENT_STOP,
    "transfer": TerminationReason.USER_STOP,
    "patience": TerminationReason.USER_STOP,
    "steps": TerminationReason.MAX_STEPS,
    "errors": TerminationReason.TOO_MANY_ERRORS,
    "agent_error": TerminationReason.AGENT_ERROR,
    "memory_overflow": TerminationReason.AGENT_ERROR,
    "user_error": TerminationReason.USER_ERROR,
    "infrastructure": None,
}
ENDINGS = tuple(TERMINATIONS)
_ENDING_OF = {reason: ending for ending, reason in reversed(TERMINATIONS.items()) if reason}  # the first of several


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

    def converse(self, long_memory: Callable[[], bool] = lambda: False) -> tuple[str, str | None]:
        """Hold the conversation and return (one of :data:`ENDINGS`, why the case cannot be scored or None).

        A message that cannot be delivered ends the case as that participant's error; the agent's is its own failure, the
        customer's is nobody's. Any other exception is a failure of the infrastructure, never a zero: but for one, when the
        agent's model cannot take a prompt whose memory is longer than the notebook's cap. That is the memory's failure.

        Args:
            long_memory: says whether the agent was shown more than the notebook's cap.
        """
        try:
            self.run()
        except BrokenMessage as error:
            ending = error.ending
        except ModelFailure as error:
            if long_memory() and error.label == "context_window" and error.ending == "agent_error":
                return "memory_overflow", None
            return "infrastructure", str(error)
        except MemoryFailure as error:
            return "infrastructure", f"{MEMORY}: {error}"
        except Exception as error:
            # The agent stopped in a message with a tool call: tau2 refuses to wrap up, but the conversation is over, and
            # graded without the call.
            if not (self.done and self.to_role == Role.ENV):
                return "infrastructure", scrub(f"{type(error).__name__}: {error}")
            ending = self._ending()
        else:
            ending = self._ending()
        return ending, "the customer simulator sent an empty or malformed message" if ending == "user_error" else None

    def _ending(self) -> str:
        if self.out_of_patience:
            return "patience"
        ending = _ENDING_OF[TerminationReason(self.termination_reason)]
        if ending == "customer_stop" and backend.TRANSFER in (self.message.content or ""):
            return "transfer"
        return ending


def _generate(generate, ending: str, message, state):
    try:
        reply, state = generate(message, state)
        if not reply.tool_calls:
            reply.tool_calls = None  # tau2 takes an empty list for a tool call and then finds no answer to it
            if not reply.has_text_content():
                raise BrokenMessage("a message with neither text nor tool calls")
    except (BrokenMessage, ModelFailure) as error:
        error.ending = ending
        raise
    return reply, state
