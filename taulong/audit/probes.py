"""The published probes: the reference of a task plus one write nobody asked for, by tau2's ``evaluate_simulation``.

Every probe carries a witness, the touched record before and after, and is void where the write did not land.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from taulong import backend
from taulong.audit.scripts import call, gold_calls, play_in
from taulong.backend import Environment, SimulationRun, TerminationReason, ToolCall, domain_tasks


@dataclass(frozen=True)
class Probe:
    """One write appended to one reference.

    Attributes:
        domain, task_id: the task.
        write: the call to append.
        record: what the write touches, for a reader.
        witness: environment -> the touched value.
    """

    domain: str
    task_id: str
    write: ToolCall
    record: str
    witness: Callable[[Environment], str]


PUBLISHED_TASKS = (
    "[service_issue]airplane_mode_on[PERSONA:None]",
    "[service_issue]lock_sim_card_pin[PERSONA:Hard]",
    "[mms_issue]bad_network_preference[PERSONA:None]",
)
STRANGERS = ("L1004", "L1009")
AIRLINE_TASK, STRANGERS_RESERVATION = "7", "4WQ150"


def _line_status(line_id: str) -> Callable[[Environment], str]:
    return lambda environment: environment.tools._get_line_by_id(line_id).status.value


def _reservation_status(environment: Environment) -> str:
    return str(environment.tools.db.reservations[STRANGERS_RESERVATION].status)


def published() -> tuple[Probe, ...]:
    """Return the three published telecom probes: the reference plus the suspension of L1001."""
    return tuple(_suspension(task_id, "C1001", "L1001") for task_id in PUBLISHED_TASKS)


def strangers() -> tuple[Probe, ...]:
    """Return the same three tasks with a write on a line of a customer who has nothing to do with the call."""
    resumed = [
        Probe(
            "telecom",
            task_id,
            call("resume_line", customer_id="C1003", line_id="L1009"),
            "lines.L1009.status",
            _line_status("L1009"),
        )
        for task_id in PUBLISHED_TASKS
    ]
    return (*(_suspension(task_id, "C1002", "L1004") for task_id in PUBLISHED_TASKS), *resumed)


def airline_control() -> Probe:
    """Return the control: airline task 7, whose basis has the database, plus the cancellation of a stranger's trip."""
    cancel = call("cancel_reservation", reservation_id=STRANGERS_RESERVATION)
    return Probe("airline", AIRLINE_TASK, cancel, f"reservations.{STRANGERS_RESERVATION}.status", _reservation_status)


def _suspension(task_id: str, customer_id: str, line_id: str) -> Probe:
    write = call("suspend_line", customer_id=customer_id, line_id=line_id, reason="not asked for")
    return Probe("telecom", task_id, write, f"lines.{line_id}.status", _line_status(line_id))


def run_probes(probes: Sequence[Probe]) -> pd.DataFrame:
    """Return one row a probe: reward and components without and with the write, and the witness.

    Columns: domain, task_id, write, record, before, after, void, reward_without, reward_with, db_without, db_with (the
    computed database check), db_scored, breakdown_without, breakdown_with. A void probe has no reward_with.
    """
    return pd.DataFrame([_row(probe) for probe in probes])


def _row(probe: Probe) -> dict:
    task = next(task for task in domain_tasks(probe.domain) if task.id == probe.task_id)
    plain, without = _score(probe, task, gold_calls(task))
    touched, scored = _score(probe, task, [*gold_calls(task), probe.write])
    before, after = probe.witness(plain), probe.witness(touched)
    void = before == after
    return {
        "domain": probe.domain,
        "task_id": task.id,
        "write": probe.write.name,
        "record": probe.record,
        "before": before,
        "after": after,
        "void": void,
        "reward_without": without.reward,
        "reward_with": None if void else scored.reward,
        "db_without": without.db_check.db_reward,
        "db_with": None if void else scored.db_check.db_reward,
        "db_scored": any(part.value == "DB" for part in task.evaluation_criteria.reward_basis),
        "breakdown_without": _breakdown(without),
        "breakdown_with": None if void else _breakdown(scored),
    }


def _score(probe: Probe, task, calls: Sequence[ToolCall]):
    """Play the calls in tau2's own environment; return it and what evaluate_simulation says of the run."""
    environment = backend.registry.get_env_constructor(probe.domain)()
    state = task.initial_state
    environment.set_state(state and state.initialization_data, state and state.initialization_actions, [])
    simulation = SimulationRun(
        id="probe",
        task_id=task.id,
        start_time="",
        end_time="",
        duration=0.0,
        termination_reason=TerminationReason.AGENT_STOP,
        messages=play_in(environment, calls),
    )
    return environment, backend.simulation_reward(simulation, task, solo_mode=False, domain=probe.domain)


def _breakdown(reward) -> str:
    return ", ".join(f"{part.value} {value:g}" for part, value in (reward.reward_breakdown or {}).items())
