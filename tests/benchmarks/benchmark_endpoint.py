"""What the suite costs beside a model: throughput, overhead of a call, aggregation.

Run: python tests/benchmarks/benchmark_endpoint.py

The endpoint plays the scripted agent in a process of its own, on the same cores. A share of the ideal is that of
``shifts at once / latency`` calls a second, while that many shifts are under way; LiteLLM alone, in as many threads, is
what a process of the machine allows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # run from anywhere
os.environ.setdefault("OPENAI_API_KEY", "loopback")

from taulong import backend, cases, runs  # noqa: E402
from taulong.cases.models import tool_schemas  # noqa: E402
from taulong.runs.config import RunConfig  # noqa: E402
from taulong.runs.execution import execute_runs  # noqa: E402
from taulong.runs.folder import RunFolder  # noqa: E402
from taulong.shifts.files import write_shifts  # noqa: E402
from taulong.shifts.generation import generate_shifts  # noqa: E402


class Serving:
    """The endpoint in a process of its own; a context that gives itself.

    Attributes:
        url: its address.
        times: when requests came, known at the end.
    """

    def __init__(self, shifts: Path, latency: float):
        self.command = [sys.executable, str(Path(__file__).parents[1] / "endpoint.py"), str(shifts), str(latency)]
        self.times: list[float] = []

    def __enter__(self) -> "Serving":
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.times = json.loads(self.process.communicate("")[0])

    def rate(self) -> float:
        """Return the calls a second while a fifth to nearly half of them came.

        With twice as many shifts as there are at once, all workers are busy all of that time.
        """
        first, last = len(self.times) // 5, len(self.times) * 9 // 20
        return (last - first) / (self.times[last] - self.times[first])


class Timed:
    """A function that adds up what its calls take, in seconds on the clock and of CPU of the calling threads."""

    def __init__(self, call):
        self.call, self.calls, self.seconds, self.cpu = call, 0, 0.0, 0.0
        self.lock = threading.Lock()

    def __call__(self, *positional, **arguments):
        started, cpu = time.perf_counter(), time.thread_time()
        try:
            return self.call(*positional, **arguments)
        finally:
            took, cpu = time.perf_counter() - started, time.thread_time() - cpu
            with self.lock:
                self.calls += 1
                self.seconds += took
                self.cpu += cpu


def run(url: str, shifts: Path, folder: Path, workers: int, executor: str) -> None:
    """Run all shifts on the endpoint, in mode notebook."""
    config = RunConfig(
        str(shifts), ("llm",), ("notebook",), agent_llm="openai/scripted", agent_llm_args={"base_url": url}
    )
    account = execute_runs(config, folder, workers, progress=False, executor=executor).account
    assert account.scored == account.planned, str(account)


def timed_run(url: str, shifts: Path, folder: Path):
    """Return (seconds, what LiteLLM took, what the cases took, what grading took of it) of a run on the endpoint."""
    in_litellm, in_cases, in_grading = Timed(backend.completion), Timed(runs.run_step), Timed(cases.graded)
    backend.completion, runs.run_step, cases.graded = in_litellm, in_cases, in_grading
    try:
        started = time.perf_counter()
        run(url, shifts, folder, 1, "threads")
        seconds = time.perf_counter() - started
    finally:
        backend.completion, runs.run_step, cases.graded = in_litellm.call, in_cases.call, in_grading.call
    return seconds, in_litellm, in_cases, in_grading


def litellm_calls(url: str, threads: int, calls: int) -> None:
    """Make so many calls of LiteLLM in so many threads, without the suite: the policy, the tools and a greeting."""
    tools = [tool.openai_schema for tool in tool_schemas(backend.new_environment().tools)]
    messages = [{"role": "system", "content": backend.policy()[1]}, {"role": "user", "content": "Hello."}]

    def call(_):
        backend.completion(
            model="openai/scripted", messages=messages, tools=tools, base_url=url, max_retries=0, num_retries=0
        )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(call, range(calls)))


def throughput(folder: Path, at_once: int, latency: float) -> None:
    """Print what share of the ideal so many shifts at once reach in one process, on all cores, and LiteLLM alone."""
    shifts = write_shifts(generate_shifts(num_shifts=2 * at_once), folder / f"shifts-{at_once}-{latency}.jsonl")
    ideal = at_once / latency
    print(f"{at_once} shifts at once, {latency * 1000:.0f} ms a reply, ideal {ideal:.0f} calls a second:")
    for executor in ("threads", "cluster"):
        with Serving(shifts, latency) as serving:
            run(serving.url, shifts, folder / f"{executor}-{at_once}-{latency}", at_once, executor)
        print(f"    executor {executor}: {serving.rate():.0f} ({serving.rate() / ideal:.0%})", flush=True)
    with Serving(shifts, latency) as serving:
        litellm_calls(serving.url, at_once, 30 * at_once)
    print(f"    LiteLLM alone, in one process: {serving.rate():.0f} ({serving.rate() / ideal:.0%})", flush=True)


def overhead(folder: Path) -> None:
    """Print what the suite takes for a call beside LiteLLM, one shift after the other, without latency."""
    shifts = write_shifts(generate_shifts(num_shifts=8), folder / "shifts-overhead.jsonl")
    with Serving(shifts, 0.0) as serving:
        timed_run(serving.url, shifts, folder / "warm")
        seconds, in_litellm, in_cases, in_grading = timed_run(serving.url, shifts, folder / "overhead")
    calls, milliseconds = in_litellm.calls, 1000 / in_litellm.calls
    talking = in_cases.cpu - in_litellm.cpu - in_grading.cpu
    print(
        f"overhead, CPU: {talking * milliseconds:.2f} ms a call in the suite and tau2 (environment, customer, mask), "
        f"{in_litellm.cpu * milliseconds:.2f} in LiteLLM; {in_grading.cpu / in_grading.calls * 1000:.1f} ms a case "
        f"for grading; {calls} calls, "
        f"{in_cases.calls} cases, {(seconds - in_litellm.seconds) * milliseconds:.2f} ms a call "
        "on the clock beside LiteLLM"
    )


def aggregation(folder: Path, num_shifts: int) -> None:
    """Print what it takes to make tables of the records of so many shifts under three memory modes."""
    source = execute_runs(_scripted(folder, 4), folder / "four", progress=False)
    rows = list(source.rows().values())
    target = RunFolder(folder / "many")
    target.path.mkdir()
    with (target.path / "records.jsonl").open("w") as file:
        for block in range(num_shifts // 4):
            for row in rows:
                seed = row["record"]["seed"] + 4 * block
                record = {
                    **row["record"],
                    "seed": seed,
                    "shift_id": f"eval-{seed}",
                    "case_id": f"eval-{seed}/{row['record']['position']}",
                }
                file.write(json.dumps(record) + "\n")
    shown = subprocess.run(
        [sys.executable, "-c", AGGREGATE, str(target.path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    print(f"aggregation: {num_shifts} shifts, {shown.stdout.strip()}")


AGGREGATE = """
import resource, sys, time
started = time.perf_counter()
from pathlib import Path
from taulong.value.metrics import case_metrics, shift_rewards
from taulong.runs.folder import RunFolder
imported = time.perf_counter()
records = RunFolder(Path(sys.argv[1])).records()
tables = [case_metrics(records), shift_rewards(records), shift_rewards(records, "gated_reward")]
seconds, peak = time.perf_counter() - imported, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{len(records)} records to {sum(map(len, tables))} rows of tables in {seconds:.2f} s "
      f"(imports {imported - started:.2f} s), "
      f"{peak:.0f} MB at most")
"""


def _scripted(folder: Path, num_shifts: int) -> RunConfig:
    return RunConfig(
        str(write_shifts(generate_shifts(num_shifts=num_shifts), folder / f"scripted-{num_shifts}.jsonl")), ("learner",)
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.2, 1.0])
    parser.add_argument("--num-shifts", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        aggregation(Path(place), arguments.num_shifts)
        overhead(Path(place))
        for latency in arguments.latency:
            throughput(Path(place), arguments.at_once, latency)
