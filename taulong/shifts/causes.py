"""The recurring causes, their corrective tools and the routine resets, derived from the installed tau2.

Nothing here is typed in: the causes are the single-cause picture-message (MMS) tasks of tau2's telecom domain, their fixes
are those tasks' reference actions, and which customer tools count as corrective is found by trying them on each broken
phone and asking the task's own assertion.
"""

from dataclasses import dataclass

from taulong import backend
from taulong.backend import Action, Task, ToolCall, ToolType
from taulong.once import once


@dataclass(frozen=True)
class Cause:
    """What is broken on the phone.

    Attributes:
        name: tau2's name of the cause, e.g. ``bad_wifi_calling``.
        task: the pinned single-cause tau2 task (shared: copy before changing).
        corrective_tool: the customer tool that fixes it.
        fix: the reference actions in order: the corrective call, then a routine reset where the fix needs one.
    """

    name: str
    task: Task
    corrective_tool: str
    fix: tuple[Action, ...]

    @property
    def fix_text(self) -> str:
        """The fix as calls, e.g. ``reset_apn_settings() then reboot_device()``."""
        return " then ".join(_call_text(action) for action in self.fix)


@once
def recurring_causes() -> dict[str, Cause]:
    """Return the recurring causes by name, in tau2's task order.

    A cause qualifies when its task differs from the others of the MMS family in nothing but the broken setting and is fixed
    by one corrective call. Where several causes share a corrective tool, the one whose call the technical-support manual
    gives first stands for it (storage permission before SMS permission), so that one fix never resolves another cause.
    """
    manual = backend.policy()[1]
    by_tool: dict[str, list[Cause]] = {}
    for task in _single_cause_tasks("mms_issue"):
        fix = tuple(task.evaluation_criteria.actions)
        corrective = [action for action in fix if action.name not in routine_resets()]
        if len(corrective) == 1:
            cause = Cause(task.id.split("]")[1].split("[")[0], task, corrective[0].name, fix)
            by_tool.setdefault(cause.corrective_tool, []).append(cause)
    first = [min(causes, key=lambda cause: manual.find(_call_text(cause.fix[0]))) for causes in by_tool.values()]
    return {cause.name: cause for cause in first}


def corrective_tools() -> frozenset[str]:
    """Return every customer tool whose call can resolve a recurring cause: calling one of them is the commitment."""
    return frozenset(causes_by_tool())


@once
def causes_by_tool() -> dict[str, str]:
    """Return the cause that each corrective tool can resolve, by the tool's name.

    These are the causes' own corrective tools and any other WRITE tool that turns out to resolve one (``set_apn_settings``
    writes the setting that ``reset_apn_settings`` restores; left out, it would be a second, unmasked way to the fix).
    """
    found = {cause.corrective_tool: cause.name for cause in recurring_causes().values()}
    for tool in sorted(_customer_write_tools() - set(found) - routine_resets()):
        call = ToolCall(name=tool, arguments=_probe_arguments(tool), requestor="user")
        found.update((tool, cause.name) for cause in recurring_causes().values() if resolves(cause, [call]))
    return found


@once
def signs() -> dict[str, frozenset[tuple[str, str]]]:
    """Return what shows each recurring cause: (tool, answer) of the customer's READ tools that no other cause's phone gives.

    A tool that wants an app's name is asked for each app on the phone.
    """
    kit = backend.new_environment().user_tools
    reads = [name for name in sorted(kit.tools) if kit.tool_type(name) == ToolType.READ]
    answers: dict[str, set[tuple[str, str]]] = {}
    for cause in recurring_causes().values():
        environment = broken_environment(cause.task)
        for tool in reads:
            required = backend.tool_schema(tool, customer=True)["parameters"].get("required", [])
            apps = environment.user_tools.db.device.app_statuses if required == ["app_name"] else {}
            for arguments in [{"app_name": app} for app in apps] if apps else [{}] * (not required):
                answer = environment.get_response(ToolCall(name=tool, arguments=arguments, requestor="user"))
                answers.setdefault(cause.name, set()).add((tool, answer.content))
    return {
        name: frozenset(own.difference(*(others for other, others in answers.items() if other != name)))
        for name, own in answers.items()
    }


@once
def fixed_sign() -> tuple[str, str]:
    """Return (tool, answer) by which the customer sees that picture messages can be sent: no broken phone gives it."""
    call = ToolCall(name="can_send_mms", arguments={}, requestor="user")
    return call.name, backend.new_environment().get_response(call).content


@once
def routine_resets() -> frozenset[str]:
    """Return the customer tools that run anything again and change no setting: reboot, SIM reseat, airplane toggle.

    They are the customer's WRITE tools in tau2's single-cause service tasks that leave every setting of every phone of the
    MMS family as it was when called twice (twice, because a toggle is put back by its second call).
    """
    used = {action.name for task in _single_cause_tasks("service_issue") for action in task.evaluation_criteria.actions}
    return frozenset(tool for tool in used & _customer_write_tools() if _is_reset(tool))


def resolves(cause: Cause, calls: list[ToolCall]) -> bool:
    """Return whether the calls, then a reboot, fulfil the assertion of the cause's task on an unmasked phone."""
    environment = broken_environment(cause.task)
    for call in [*calls, ToolCall(name="reboot_device", arguments={}, requestor="user")]:
        environment.get_response(call)
    return all(
        environment.run_env_assertion(assertion, raise_assertion_error=False)
        for assertion in cause.task.evaluation_criteria.env_assertions
    )


def broken_environment(task: Task) -> backend.TelecomEnvironment:
    """Return a fresh environment in the task's initial state."""
    environment = backend.new_environment()
    environment.set_state(None, task.initial_state.initialization_actions, [])
    return environment


def _single_cause_tasks(family: str) -> list[Task]:
    return [task for task in backend.telecom_tasks() if task.id.startswith(f"[{family}]") and "|" not in task.id]


@once
def _customer_write_tools() -> frozenset[str]:
    kit = backend.new_environment().user_tools
    return frozenset(name for name in kit.tools if kit.tool_type(name) == ToolType.WRITE)


def _is_reset(tool: str) -> bool:
    call = ToolCall(name=tool, arguments={}, requestor="user")
    reboot = ToolCall(name="reboot_device", arguments={}, requestor="user")
    for task in _single_cause_tasks("mms_issue"):
        environment = broken_environment(task)
        environment.get_response(reboot)  # settles the radio state, which the shipped phone database leaves unsearched
        before = environment.user_tools.db.model_dump()
        answers = [environment.get_response(call) for _ in range(2)]
        unchanged = environment.user_tools.db.model_dump() == before
        if not unchanged or any(answer.error or "Status Bar" not in answer.content for answer in answers):
            return False
    return True


def _probe_arguments(tool: str) -> dict:
    """Return arguments to try a tool with: those of a reference action that uses it, else an empty object for each."""
    for task in backend.telecom_tasks():
        for action in task.evaluation_criteria.actions:
            if action.name == tool:
                return action.arguments
    parameters = backend.tool_schema(tool, customer=True)["parameters"]
    return {name: {} for name in parameters.get("required", [])}


def _call_text(action: Action) -> str:
    arguments = ", ".join(f'{name}="{value}"' for name, value in action.arguments.items())
    return f"{action.name}({arguments})"
