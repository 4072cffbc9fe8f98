"""Throughput of the mutation matrix beside plain evaluation: ``python tests/benchmarks/benchmark_audit.py``.

Side by side, in one process: a sample of mutated runs graded by all graders from the branch of their task, and the
same runs built whole in tau2's own environment and given once to tau2's ``evaluate_simulation``. Then the verdicts of
the sample are compared, run by run, with plain grading. ``--full`` times the whole matrix over all tasks.
"""

import argparse
import json
import os
import random
import time

from taulong import backend
from taulong.audit.mutations import matrix_rows, mutate, operators
from taulong.audit.scripts import gold_calls, play
from taulong.backend import SimulationRun, TerminationReason, telecom_tasks
from taulong.graders.gates import GRADERS
from taulong.graders.verdicts import grade
from taulong.paths import AUDIT, atomic_write


def sample(tasks, known, wanted, seed):
    """Return the graded rows of whole tasks until enough landed, their member numbers, and the seconds it took."""
    rows, began, cpu = [], time.perf_counter(), time.process_time()
    for task in tasks:
        places = {}
        for row in mutate(task, known):
            places[row[1]] = places.get(row[1], -1) + 1
            rows.append((task, row, places[row[1]]))
        if sum(row[4] != "void" for _, row, _ in rows) >= 4 * wanted:
            break
    spent = time.perf_counter() - began, time.process_time() - cpu
    landed = [entry for entry in rows if entry[1][4] != "void"]
    return random.Random(seed).sample(landed, min(wanted, len(landed))), len(landed), spent


def run_of(task, operator, number, constructor):
    """Return a member's whole run, built from the task's start."""
    calls = operator.rewrite(task) if operator.rewrite else [*gold_calls(task), *operator.members[number]]
    return SimulationRun(
        id="x",
        task_id=task.id,
        start_time="",
        end_time="",
        duration=0.0,
        messages=play(task, calls, constructor),
        termination_reason=TerminationReason.USER_STOP,
    )


def main():
    """Print runs per second of both ways, their ratio, and how many verdicts of the sample agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500, help="size of the sample (default 500)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="time the whole matrix too")
    arguments = parser.parse_args()
    known = {operator.id: operator for operator in operators()}
    tasks = list(telecom_tasks("full"))
    random.Random(arguments.seed).shuffle(tasks)
    mutate(tasks[0], list(known.values()))  # warm
    chosen, landed, (wall, cpu_branches) = sample(tasks, list(known.values()), arguments.runs, arguments.seed)
    print(
        f"from branches, all graders: {landed / wall:8.1f} runs/s  ({1e3 * cpu_branches / landed:.2f} ms of processor time each)"
    )
    stock = backend.registry.get_env_constructor("telecom")
    began, cpu, officials = time.perf_counter(), time.process_time(), []
    for task, row, number in chosen:
        run = run_of(task, known[row[1]], number, stock)
        officials.append(backend.simulation_reward(run, task, solo_mode=False).reward)
    plain, plain_cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"built and evaluated once:   {len(chosen) / plain:8.1f} runs/s  ({1e3 * plain_cpu / len(chosen):.2f} ms)")
    measured = {
        "runs": len(chosen),
        "milliseconds_a_run": {
            "branches": round(1e3 * cpu_branches / landed, 2),
            "plain": round(1e3 * plain_cpu / len(chosen), 2),
        },
        "ratio": round(landed / wall * plain / len(chosen), 1),
    }
    print(f"ratio: {measured['ratio']}")
    agree = 0
    for (task, row, number), official in zip(chosen, officials, strict=True):
        verdicts = grade(task, run_of(task, known[row[1]], number, backend.new_environment).messages).verdicts
        expected = ("pass" if official == 1.0 else "fail", *(verdicts[grader].status for grader in GRADERS))
        agree += row[5:] == expected
    print(f"identical verdicts: {agree} of {len(chosen)}")
    if arguments.full:
        began = time.perf_counter()
        rows = matrix_rows(telecom_tasks("full"), progress=True)
        graded = int((rows["class"] != "void").sum())
        measured["full_matrix"] = {
            "members": len(rows), "graded": graded,
            "seconds": round(time.perf_counter() - began), "processes": os.cpu_count(),
        }  # fmt: skip
        print(
            f"full matrix: {len(rows)} members of {len(known)} operators, {graded} graded, in {time.perf_counter() - began:.0f} s "
            f"with {os.cpu_count()} processes"
        )
    measured["identical_verdicts"] = agree
    atomic_write(AUDIT / "benchmark_audit.json", json.dumps(measured, indent=1) + "\n")
    return 0 if agree == len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main())
