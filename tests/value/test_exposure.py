"""What was visible to an agent before a case, and what a change of the recurring cause leaves of it."""

import pandas as pd
import pytest

from taulong.runs.config import RunConfig
from taulong.runs.execution import execute_runs
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts
from taulong.value.exposure import evidence_seen
from taulong.value.metrics import case_metrics, read_table


def test_only_visible_cases_with_the_own_cause_before_this_one_count():
    table = pd.DataFrame(
        {
            "agent": "a",
            "memory_mode": "notebook",
            "shift_id": ["s"] * 5 + ["t"],
            "position": [1, 2, 3, 4, 5, 2],
            "cause": ["x", "y", "x", "x", "x", "x"],
            "recurring_cause": "x",
            "evidence_shown": [True, True, False, True, None, True],
        }
    )
    assert evidence_seen(table).tolist() == [0, 1, 1, 1, 2, 0]
    shuffled = table.sample(frac=1, random_state=1)
    assert evidence_seen(shuffled).sort_index().tolist() == [0, 1, 1, 1, 2, 0]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr("taulong.shifts.files.SHIFTS", tmp_path)
    write_shifts(generate_shifts(ShiftConfig(mark="model", changes=1), num_shifts=4), "set")
    plan = RunConfig("set", ("parrot", "selective"), ("none", "notebook"))
    return read_table(execute_runs(plan, tmp_path / "run", progress=False).path)


def test_a_stale_rate_is_what_the_agents_scripts_say(table):
    rates = case_metrics(table).query("metric == 'stale_rate'").set_index(["agent", "memory_mode"])["value"]
    assert rates["parrot", "notebook"] == 1.0
    assert rates["selective", "notebook"] == 0.0


def test_what_was_seen_begins_anew_with_the_cause(table):
    first = table[table["position"].eq(1)]
    assert set(first["evidence_seen"]) == {0}
    changed = table[table["regime"].eq(1) & table["population"].eq("teaching")]
    assert (changed["evidence_seen"] <= changed["position"] - 1).all()
    learned = table.query("agent == 'selective' and memory_mode == 'notebook' and population == 'testing'")
    assert (learned["evidence_seen"] >= learned["teaching_seen"]).all()
