"""Cases per second of this package against a build that uses tau2 the plain way, side by side in one process.

    python tests/benchmarks/benchmark_cases.py [number of shifts]

Both run the same cases with the same scripted agent, customer, mask and notebook through tau2's orchestrator
and evaluator. The plain way is what tau2's ``run_task`` does for every case: ``get_environment`` (which parses
two TOML files and reads the policy), the tool models of agent and customer built for their prompts, and two
environments more for the evaluator. Ours is timed twice: with the official reward alone, as the plain way, and
as runs do it, with every other verdict too. The rewards must be identical. Prints the numbers and writes them
to data/audit/benchmark_cases.json.
"""

import gc
import json
import sys
import time
from functools import partial

from taulong import backend
from taulong.backend import Task
from taulong.cases import environment as cases
from taulong.cases import orchestrator
from taulong.cases.agents import AGENTS, ScriptedAgent
from taulong.cases.customer import ScriptedCustomer
from taulong.cases.environment import CaseEnvironment, MemoryTools
from taulong.cases.remembering import MemoryAtWork, Remembered
from taulong.draws import Streams
from taulong.memory.modes import first_memory
from taulong.paths import AUDIT, atomic_write
from taulong.runs.units import Unit, run_unit
from taulong.shifts.generation import generate_shifts

PLAIN_ENVIRONMENT = backend.registry.get_env_constructor("telecom")


def plain_environment(case, memory, solo_mode=False):
    """Return a case's environment, made from tau2's ``get_environment``."""
    base = PLAIN_ENVIRONMENT()
    contents = base.tools.db.model_dump()
    database = backend.TelecomDB.model_validate(
        {table: contents[table] + case.records.get(table, []) for table in contents}
    )
    own = memory.tools if isinstance(memory, MemoryAtWork) else {}
    tools = MemoryTools(database, own) if own else backend.TelecomTools(database)
    return CaseEnvironment(base.domain_name, base.policy, tools, base.user_tools, case.masked, memory)


def converse(shift, case, memory, environment, orchestrator, **more):
    """Run one conversation and return the orchestrator."""
    task = Task.model_validate(case.task)
    tools, _ = environment.get_tools(), environment.get_user_tools()
    agent = ScriptedAgent(
        tools,
        environment.policy + environment.memory.section,
        environment.memory.shown,
        Streams("agent", shift.split, shift.seed, case.position, 0),
        AGENTS["learner"],
    )
    conversation = orchestrator(
        **more,
        domain="telecom",
        agent=agent,
        user=ScriptedCustomer(task.user_scenario),
        environment=environment,
        task=task,
        max_steps=shift.config.max_steps,
    )
    return task, conversation, conversation.run().messages


def plain(shift):
    """Return the rewards of a shift, the plain way."""
    memory, rewards = first_memory("notebook", shift), []
    for case in shift.cases:
        at_work = MemoryAtWork(memory)
        environment = plain_environment(case, at_work)
        task, _, messages = converse(shift, case, memory, environment, backend.Orchestrator)
        replayed = Remembered(at_work.tools, messages)
        rewards.append(backend.official_reward(task, messages, partial(plain_environment, case, replayed)).reward)
        at_work.keep()
        memory = at_work.memory
    return rewards


def official_alone(shift):
    """Return the rewards of a shift, our way, without the other graders."""
    memory, rewards = first_memory("notebook", shift), []
    for case in shift.cases:
        at_work = MemoryAtWork(memory)
        task, environment = Task.model_validate(case.task), cases.new_case_environment(case, at_work)
        agent = ScriptedAgent(
            [],
            environment.policy + environment.memory.section,
            environment.memory.shown,
            Streams("agent", shift.split, shift.seed, case.position, 0),
            AGENTS["learner"],
        )
        conversation = orchestrator.CaseOrchestrator(
            shift.config.patience,
            domain="telecom",
            agent=agent,
            user=ScriptedCustomer(task.user_scenario),
            environment=environment,
            task=task,
            max_steps=shift.config.max_steps,
        )
        conversation.run()
        messages = conversation.get_trajectory()
        replayed = Remembered(at_work.tools, messages)
        rewards.append(
            backend.official_reward(task, messages, partial(cases.new_case_environment, case, replayed)).reward
        )
        at_work.keep()
        memory = at_work.memory
    return rewards


def as_run(shift):
    """Return the rewards of a shift, as a run makes them: every verdict, record and transcript."""
    return [row["record"]["official_reward"] for row in run_unit(Unit(shift, "notebook", "learner"))]


WAYS = {"plain": plain, "official_alone": official_alone, "as_run": as_run}


def main(num_shifts: int = 12) -> dict:
    """Return what was measured: milliseconds of CPU a case by way, and the ratios."""
    shifts = generate_shifts(num_shifts=num_shifts)
    for way in WAYS.values():  # what is loaded once is not timed
        way(shifts[0])
    spent, rewards = dict.fromkeys(WAYS, 0.0), {name: [] for name in WAYS}
    for shift in shifts:  # taken in turns, so that a busy machine is busy for all
        for name, way in WAYS.items():
            gc.collect()
            started = time.process_time()
            rewards[name] += way(shift)
            spent[name] += time.process_time() - started
    assert rewards["plain"] == rewards["official_alone"] == rewards["as_run"], "the rewards differ"
    count = len(rewards["plain"])
    milliseconds = {name: round(1000 * seconds / count, 2) for name, seconds in spent.items()}
    return {
        "cases": count,
        "reward_total": sum(rewards["plain"]),
        "milliseconds_a_case": milliseconds,
        "ratio_official_alone": round(spent["plain"] / spent["official_alone"], 2),
        "ratio_as_run": round(spent["plain"] / spent["as_run"], 2),
        "tau2": backend.installation().version,
    }


if __name__ == "__main__":
    measured = main(*map(int, sys.argv[1:]))
    atomic_write(AUDIT / "benchmark_cases.json", json.dumps(measured, indent=1) + "\n")
    print(json.dumps(measured, indent=1))
