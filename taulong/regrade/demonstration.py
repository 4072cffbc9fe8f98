"""A small tau2 result file of scripted runs, one for each thing a regrading can find; made without a model."""

import json
from pathlib import Path

from taulong import backend
from taulong.audit.scripts import call, gold_calls, play
from taulong.backend import AssistantMessage, SimulationRun, Task, TerminationReason, ToolCall, UserMessage
from taulong.paths import atomic_write

OTHER = {"customer_id": "C1001", "line_id": "L1001"}
SERVED = {"customer_id": "C1001", "line_id": "L1002"}
PAID = (
    call("send_payment_request", customer_id="C1001", bill_id="B1234321"),
    call("make_payment", "user"),
    call("resume_line", **SERVED),
)

PLAIN = "[service_issue]airplane_mode_on[PERSONA:None]"
REFUEL = "[mobile_data_issue]data_usage_exceeded[PERSONA:Easy]"
OVERDUE = "[service_issue]lock_sim_card_pin|overdue_bill_suspension[PERSONA:Easy]"
ENDED = "[service_issue]contract_end_suspension|lock_sim_card_pin[PERSONA:Hard]"

RUNS: tuple[tuple[str, str, tuple[ToolCall, ...] | None, tuple[ToolCall, ...]], ...] = (
    # name, task, calls before the reference, calls after it
    ("reference", PLAIN, (), ()),
    ("idle", PLAIN, None, ()),
    ("roaming-on-another-line", PLAIN, (), (call("enable_roaming", **OTHER),)),
    ("draft-bill", REFUEL, (), (call("send_payment_request", customer_id="C1001", bill_id="B1003"),)),
    (
        "suspended-and-resumed",
        PLAIN,
        (),
        (call("suspend_line", **OTHER, reason="by mistake"), call("resume_line", **OTHER)),
    ),
    ("licensed-payment", OVERDUE, PAID, ()),
    ("ended-contract", ENDED, PAID, ()),
)


def demonstration_runs() -> list[SimulationRun]:
    """Return the scripted runs, each with its official reward recorded; the last one is cut off by a step limit."""
    tasks = {task.id: task for task in backend.telecom_tasks("full")}
    runs = [_run(name, tasks[task_id], before, after) for name, task_id, before, after in RUNS]
    cut = runs[2].model_copy(
        update={"id": "cut-off", "termination_reason": TerminationReason.MAX_STEPS, "messages": runs[2].messages[:-1]}
    )
    return [*runs, _scored(cut, tasks[cut.task_id])]


def _run(name: str, task: Task, before: tuple[ToolCall, ...] | None, after: tuple[ToolCall, ...]) -> SimulationRun:
    calls = [] if before is None else [*before, *gold_calls(task), *after]
    opening = [
        AssistantMessage(role="assistant", content="Hi! How can I help you today?", timestamp=None),
        UserMessage(role="user", content=task.user_scenario.instructions.reason_for_call, timestamp=None),
    ]
    closing = UserMessage(role="user", content=f"That is all. {backend.STOP}", timestamp=None)
    run = SimulationRun(
        id=name,
        task_id=task.id,
        timestamp="",
        start_time="",
        end_time="",
        duration=0.0,
        trial=0,
        termination_reason=TerminationReason.USER_STOP,
        messages=[*opening, *play(task, calls), closing],
    )
    return _scored(run, task)


def _scored(run: SimulationRun, task: Task) -> SimulationRun:
    return run.model_copy(update={"reward_info": backend.simulation_reward(run, task, solo_mode=False)})


def write_demonstration(path: str | Path) -> Path:
    """Write the runs as a tau2 result file (single-file layout) and return its path; same tau2, same bytes."""
    runs = demonstration_runs()
    used = {run.task_id for run in runs}
    contents = {
        "timestamp": "",
        "info": {
            "git_commit": "",
            "num_trials": 1,
            "max_steps": 200,
            "max_errors": 10,
            "user_info": {"implementation": "scripted"},
            "agent_info": {"implementation": "scripted"},
            "environment_info": {"domain_name": "telecom", "policy": backend.policy()[1]},
        },
        "tasks": [_plain(task) for task in backend.telecom_tasks("full") if task.id in used],
        "simulations": [_plain(run) for run in runs],
    }
    atomic_write(path, json.dumps(contents, indent=1, allow_nan=False) + "\n")
    return Path(path)


def _plain(model) -> dict:
    return model.model_dump(mode="json", exclude_none=True)
