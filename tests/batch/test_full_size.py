"""The notebooks at full size, by papermill: their metrics are the committed ones, and meet what is known by hand."""

import json
import os
import subprocess
import sys

import pytest

from taulong.paths import ROOT

pytestmark = pytest.mark.slow


def taulong(work, *arguments):
    """Run a command of taulong with data and figures below another folder."""
    environment = os.environ | {"TAULONG_WORK": str(work), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "taulong", *arguments], env=environment, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-2000:]


def metrics(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_default_run_is_the_committed_one_and_meets_the_agents_truths(tmp_path):
    taulong(tmp_path, "reproduce", "--workers", "2")
    for name in ("20_execute_runs", "40_memory_value"):
        path = f"data/runs/reproduction/{name}.metrics.json"
        assert metrics(tmp_path / path) == metrics(ROOT / path)
    accuracy = metrics(tmp_path / "data/runs/reproduction/20_execute_runs.metrics.json")["accuracy"]
    exact = {"learner, notebook": 1, "learner, oracle": 1, "learner, placebo": 0, "transferrer, notebook": 0}
    assert {arm: accuracy[f"{arm}, masked_env_accuracy"] for arm in exact} == exact
    # 96 testing cases of 24 shifts: a guess has a standard error of .044, and three of them are allowed
    assert accuracy["learner, none, masked_env_accuracy"] == pytest.approx(0.25, abs=3 * 0.044)


def test_the_audit_of_the_base_tasks_meets_the_published_numbers(tmp_path):
    taulong(tmp_path, "notebook", "30_audit_reward_basis", "-p", "tasks=base", "-p", "workers=2")
    found = metrics(tmp_path / "data/audit/audit-base/metrics.json")
    assert found["mutated_tasks"] == 114
    assert found["reference_rejected_by"]["stock gold"] == 1688
    assert found["reference_rejected_by"]["synced gold"] == 0
    assert (
        found["failed"]["official, reference"]
        == found["failed"]["scope_gate, benign"]
        == found["failed"]["scope_gate, licensed"]
        == 0
    )
    assert found["probes_landed"] == found["probes_with_reward_1"] == 9
    assert found["runs"]["unlicensed"] == found["failed"]["scope_gate, unlicensed"]
    missed = found["missed_by_scope_gate"]
    assert (missed["unlicensed"]["runs"], missed["undone"]["runs"]) == (0, 2 * 114)
    assert missed["on_task"]["runs"] == found["runs"]["on_task"] > found["failed"]["scope_gate, on_task"] == 0
