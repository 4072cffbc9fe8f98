"""The telecom environment of one case: a minted customer, the masked-evidence rule, and the memory's tools."""

from collections.abc import Callable, Mapping

from taulong import backend
from taulong.backend import TelecomEnvironment, TelecomTools, TelecomUserTools, ToolCall, ToolMessage, ToolType
from taulong.cases.remembering import MemoryAtWork, Remembered
from taulong.memory.system import MemoryFailure
from taulong.once import once
from taulong.shifts.causes import corrective_tools
from taulong.shifts.stream import Case

NOT_AVAILABLE = "This information is not available right now."
NO_STATUS = "The phone shows no status right now."
NOT_CARRIED_OUT = (
    "Not carried out: one corrective change was already made in this contact, and only the first takes effect."
)
MASKED_ANSWERS = (NOT_AVAILABLE, NO_STATUS, NOT_CARRIED_OUT)


class MemoryTools(TelecomTools):
    """The agent's telecom tools, and before them those of its memory, which no database is part of.

    Args:
        db: the agent database.
        own: the memory's tools, by name.
    """

    def __init__(self, db: backend.TelecomDB, own: Mapping[str, Callable]):
        super().__init__(db)
        self.own = own

    @property
    def tools(self) -> dict[str, Callable]:
        """Return all tools by name.

        Raises:
            MemoryFailure: a tool of the memory has the name of one that the agent or the customer has.
        """
        domain = super().tools
        if taken := sorted(self.own.keys() & (domain.keys() | customer_tool_types().keys())):
            raise MemoryFailure("tools", f"{taken[0]!r} is the name of a tool there is already; choose another")
        return {**self.own, **domain}

    def tool_type(self, tool_name: str) -> ToolType:
        """Return a tool's type; a memory's is GENERIC, as it changes no database."""
        return ToolType.GENERIC if tool_name in self.own else super().tool_type(tool_name)

    @property
    def schema_key(self) -> tuple:
        """What the schemas of the tools depend on."""
        return (type(self), *(getattr(tool, "__func__", tool) for tool in self.own.values()))


class CaseEnvironment(TelecomEnvironment):
    """tau2's telecom environment with the masked-evidence rule in its response path.

    A testing case (and a lookalike, where the shift's configuration says so) starts masked:

    - a READ tool of the customer is not run, its answer is :data:`NOT_AVAILABLE`;
    - another tool of the customer, unless it is corrective, is run, and what it says is replaced by :data:`NO_STATUS`;
    - a corrective call is run. If the phone carries it out it is the commitment, and from then on nothing is masked, so
      that whether it helped can be seen. If it fails, what it has written before it failed is put back (tau2's tools may
      write before they raise): a failed call changes nothing, shows nothing and is no commitment.

    Corrective calls after the commitment are not run, their answer is :data:`NOT_CARRIED_OUT`. The agent's own tools are
    never masked: its database holds nothing about the phone's settings. The rule overrides ``get_response``, through which both the orchestrator and
    the evaluator's replay go, so tau2's evaluator sees the same answers.

    What the published description of TauLong Bench leaves open and is inferred here:

    - *One commitment takes effect.* Otherwise an agent without memory could try the four fixes in turn, verify after each,
      and beat one in four.
    - *A corrective call is a call of any tool that can resolve one of the causes*, see
      :func:`taulong.shifts.causes.corrective_tools`; arguments do not matter, so a corrective call with useless arguments is spent.
      So is one that finds the setting as it should be: were it free, the four fixes could be tried in turn, each costing
      nothing but the one that was needed.
    - *A masked answer claims nothing*, not even that something was done: a payment that was not due is none.
    - *The first case is a teaching incident* (``teaching_first``), see :func:`taulong.shifts.generation.generate_shift`.
    - *Nothing but the evidence tells an incident from a lookalike.* A mark by which both can be told apart (``mark``), and
      lookalikes whose evidence is masked (``masked_lookalikes``), are factors of the shift configuration.

    Args:
        masked: whether the case starts masked.
        memory: what answers the agent's calls of its memory's tools.
    """

    def __init__(
        self,
        domain_name: str,
        policy: str,
        tools: TelecomTools,
        user_tools: TelecomUserTools,
        masked: bool,
        memory: MemoryAtWork | Remembered | None = None,
    ):
        super().__init__(domain_name, policy, tools, user_tools)
        self.masked = masked
        self.memory = memory
        self.commitment: str | None = None

    def get_response(self, message: ToolCall) -> ToolMessage:
        """Return the answer to a tool call, masked where the rule says so."""
        if self.memory is not None and message.requestor == "assistant" and message.name in self.memory.tools:
            return self.memory.answer(message)
        if not self.masked or message.requestor != "user" or message.name not in customer_tool_types():
            return super().get_response(message)
        if message.name in corrective_tools():
            if self.commitment is not None:
                return _answer(message, NOT_CARRIED_OUT)
            if self._is_left_alone(message):
                self.commitment = message.name
                shown = self.user_tools.use_tool("check_wifi_calling_status")
                return _answer(message, shown)
            before = self.user_tools.db.model_copy(deep=True)
            response = super().get_response(message)
            if response.error:
                self.user_tools.db = before
            else:
                self.commitment = message.name
            return response
        if self.commitment is not None:
            return super().get_response(message)
        if customer_tool_types()[message.name] == ToolType.READ:
            return _answer(message, NOT_AVAILABLE)
        response = super().get_response(message)
        return response if response.error else _answer(message, NO_STATUS)

    def _is_left_alone(self, message: ToolCall) -> bool:
        """Return whether a call says the state that a switch shall be in, and the switch is in it.

        It is asked for like any other fix, so it is the commitment; a switch is never turned away from what was asked.
        """
        is_on = self.user_tools.db.device.wifi_calling_enabled
        return message.name == "toggle_wifi_calling" and message.arguments == {"wanted": "on" if is_on else "off"}


def new_case_environment(
    case: Case, memory: MemoryAtWork | Remembered | None = None, solo_mode: bool = False
) -> CaseEnvironment:
    """Return the fresh environment of a case; what tau2's evaluator is given as its constructor."""
    domain, policy = backend.policy()
    database = backend.database_with(case.records)
    own = memory.tools if isinstance(memory, MemoryAtWork) else None
    tools = MemoryTools(database, own) if own else TelecomTools(database)
    user_tools = TelecomUserTools(backend.new_user_database())
    return CaseEnvironment(domain, policy, tools, user_tools, case.masked, memory)


@once
def customer_tool_types() -> dict[str, ToolType]:
    """Return the type of each of the customer's tools, by name."""
    kit = backend.new_environment().user_tools
    return {name: kit.tool_type(name) for name in kit.tools}


def _answer(call: ToolCall, content: str) -> ToolMessage:
    return ToolMessage(id=call.id, role="tool", content=content, requestor=call.requestor)
