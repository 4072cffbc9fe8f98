"""Measure a scripted run of a database domain against the stock way, side by side: same runs, same rewards.

Writes data/audit/benchmark_domains.json. Run: python tests/benchmarks/benchmark_domains.py
"""

import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from taulong import backend  # noqa: E402
from taulong.audit.directions import domain_tasks  # noqa: E402
from taulong.audit.domain_runs import build_gold, play_run, reference_steps, reward, without_judge  # noqa: E402
from taulong.audit.scripts import play_in  # noqa: E402
from taulong.backend import SimulationRun, TerminationReason, ToolCall  # noqa: E402

TASKS = 12


def stock(task, domain, steps) -> float:
    """Play a run in tau2's own environment and return what evaluate_simulation says of it."""
    environment = backend.domain_environment(domain)
    messages = play_in(environment, [step for step in steps if isinstance(step, ToolCall)])
    messages += [backend.AssistantMessage(role="assistant", content=step) for step in steps if isinstance(step, str)]
    run = SimulationRun(
        id="stock", task_id=task.id, start_time="", end_time="", duration=0.0,
        termination_reason=TerminationReason.USER_STOP, messages=messages,
    )  # fmt: skip
    return backend.simulation_reward(run, without_judge(task), solo_mode=False, domain=domain).reward


def main() -> None:
    """Time both ways on the same runs, processor time, and write the ratio of each domain."""
    found = {}
    for domain in ("airline", "retail"):
        runs = [(task, steps) for task in domain_tasks(domain)[:TASKS] for steps in ([], reference_steps(task))]
        golds = {task.id: build_gold(task, domain) for task, _ in runs}
        begun = time.process_time()
        ours = [reward(golds[task.id], play_run(task, domain, steps)).reward for task, steps in runs]
        middle = time.process_time()
        theirs = [stock(task, domain, steps) for task, steps in runs]
        ended = time.process_time()
        each, plain = (middle - begun) / len(runs), (ended - middle) / len(runs)
        found[domain] = {
            "runs": len(runs),
            "equal_rewards": sum(one == other for one, other in zip(ours, theirs, strict=True)),
            "milliseconds_a_run": round(each * 1000, 2),
            "milliseconds_a_run_stock": round(plain * 1000, 1),
            "ratio": round(plain / each, 1),
        }
    path = ROOT / "data" / "audit" / "benchmark_domains.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
