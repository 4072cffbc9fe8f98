"""Metrics, counts and guards, on tables whose totals are known."""

import numpy as np
import pandas as pd
import pytest
from synthetic import make_records

from taulong.errors import DataError
from taulong.runs.config import RunConfig
from taulong.runs.execution import execute_runs
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts
from taulong.value import (
    IncompleteRecords,
    MixedRecords,
    case_metrics,
    missing_shifts,
    read_table,
    require_complete,
    shift_rewards,
    suspect_cases,
    with_owed,
)  # fmt: skip


def _metric(table, agent, mode, metric, reward="official_reward"):
    rows = case_metrics(table).set_index(["agent", "memory_mode", "metric", "reward"])
    return rows.loc[(agent, mode, metric, reward)]


def test_scripted_agents_have_their_known_accuracies():
    table = with_owed(make_records(agents=("learner", "parrot", "transferrer", "meddler"), num_shifts=4))
    assert _metric(table, "learner", "notebook", "masked_env_accuracy")["count"] == "16 of 16"
    assert _metric(table, "learner", "oracle", "lookalike_env_accuracy")["value"] == 1
    assert _metric(table, "parrot", "notebook", "lookalike_env_accuracy")["value"] == 0
    assert _metric(table, "parrot", "none", "lookalike_env_accuracy")["value"] == 1
    assert _metric(table, "transferrer", "notebook", "masked_transfer_rate", "either")["value"] == 1
    assert _metric(table, "learner", "notebook", "masked_transfer_rate", "either")["value"] == 0
    assert _metric(table, "meddler", "none", "teaching_env_accuracy")["value"] == 1
    assert _metric(table, "meddler", "none", "teaching_env_accuracy", "gated_reward")["value"] == 0


def test_one_success_and_seven_failures_of_the_infrastructure_are_never_all():
    records = make_records(modes=("oracle",), num_shifts=2)
    records = records[records["population"] == "testing"].reset_index(drop=True)
    lost = records.index > 0
    records.loc[lost, "outcome"] = "unscored"
    records.loc[lost, ["official_reward", "gated_reward"]] = None
    found = _metric(records, "learner", "oracle", "masked_env_accuracy")
    assert found["count"] == "1 of 8, 1 scored"
    assert np.isnan(found["value"])
    assert (found["low"], found["high"]) == (1 / 8, 1)


def test_a_gate_that_was_not_evaluated_is_no_score():
    records = make_records(modes=("oracle",), num_shifts=1)
    records.loc[records["position"] == 2, "gated_reward"] = None
    assert _metric(records, "learner", "oracle", "masked_env_accuracy")["count"] == "4 of 4"
    gated = _metric(records, "learner", "oracle", "masked_env_accuracy", "gated_reward")
    assert gated["count"] == "3 of 4, 3 scored"
    assert np.isnan(gated["value"])


def test_a_score_on_an_unscored_row_does_not_count():
    records = make_records(modes=("oracle",), num_shifts=1)
    records.loc[records["position"] == 2, "outcome"] = "unscored"
    assert _metric(records, "learner", "oracle", "masked_env_accuracy")["count"] == "3 of 4, 3 scored"


def test_the_reward_of_a_shift_is_the_sum_and_a_hole_is_no_sum():
    records = make_records(modes=("oracle",), num_shifts=3)
    table = with_owed(records[~((records["seed"] == 1_000_001) & (records["position"] == 5))])
    rewards = shift_rewards(table).set_index("shift_id")
    assert rewards["value"].dropna().tolist() == [8, 8]
    assert np.isnan(rewards.loc["eval-1000001", "value"])
    assert rewards["count"].tolist() == ["8 of 8 scored", "7 of 8 scored", "8 of 8 scored"]


def test_a_position_no_arm_has_is_owed_by_all():
    records = make_records(modes=("none", "oracle"), num_shifts=2)
    table = with_owed(records[records["case_id"] != "eval-1000000/5"])
    owed = table[table["outcome"] == "owed"]
    assert owed[["memory_mode", "case_id", "population"]].values.tolist() == [
        ["none", "eval-1000000/5", "unknown"], ["oracle", "eval-1000000/5", "unknown"],
    ]  # fmt: skip
    assert with_owed(table.drop(columns=[])).equals(table)  # nothing more is owed


def test_planned_cases_without_any_row_are_owed():
    records = make_records(modes=("none", "oracle"), num_shifts=3)
    planned = records.drop_duplicates("case_id")[["shift_id", "case_id", "position", "population"]]
    table = with_owed(records[records["seed"] < 1_000_002], planned)
    assert missing_shifts(table).values.tolist() == [
        ["learner", "none", "eval-1000002", 0, 0, 8, 8], ["learner", "oracle", "eval-1000002", 0, 0, 8, 8],
    ]  # fmt: skip
    assert _metric(table, "learner", "oracle", "masked_env_accuracy")["count"] == "8 of 12, 8 scored"


def test_the_frozen_second_pass_is_a_mode_of_its_own_and_owes_testing_cases_only():
    first = make_records(modes=("notebook",), num_shifts=1)
    second = first[first["population"] == "testing"].assign(memory_mode="frozen")
    table = with_owed(pd.concat([first, second.iloc[:3]]))
    assert table["memory_mode"].value_counts().to_dict() == {"notebook": 8, "frozen": 4}
    assert table.loc[table["outcome"] == "owed", "case_id"].tolist() == ["eval-1000000/8"]
    assert set(shift_rewards(table)["memory_mode"]) == {"notebook"}


def test_an_incomplete_table_is_refused_or_says_so():
    complete = with_owed(make_records(num_shifts=2))
    assert require_complete(complete) == ""
    partial = with_owed(make_records(num_shifts=2).drop(index=[0, 1]))
    with pytest.raises(IncompleteRecords, match="learner, none, eval-1000000: 6 of 8 scored"):
        require_complete(partial)
    assert require_complete(partial, allow_partial=True) == "PARTIAL: 46 of 48 planned cases scored"


@pytest.mark.parametrize(
    "field", ["grader_version", "tau2_data", "tau2_version", "taulong_version", "shift_config", "split"]
)
def test_mixed_records_are_refused_with_the_field(field):
    records = make_records(num_shifts=2)
    records.loc[3, field] = "other"
    with pytest.raises(MixedRecords, match=f"{field} differs within one table: .*other"):
        with_owed(records)


def test_two_kinds_of_customer_for_one_agent_are_refused():
    records = make_records(agents=("learner", "guesser"), num_shifts=1)
    records.loc[records["agent"] == "guesser", "user"] = "model"
    with_owed(records)
    records.loc[0, "user"] = "model"
    with pytest.raises(MixedRecords, match="user differs within agent learner: model, scripted"):
        with_owed(records)


def test_a_case_twice_in_an_arm_is_refused_unless_they_are_trials():
    records = make_records(num_shifts=1)
    with pytest.raises(MixedRecords, match="24 cases occur twice in an arm, first eval-1000000/1"):
        with_owed(pd.concat([records, records]))
    trials = pd.concat([records.assign(trial=trial) for trial in (0, 1)])
    assert len(with_owed(trials)) == 48


def test_a_case_nobody_solves_is_suspect():
    records = make_records(agents=("learner", "parrot"), num_shifts=2)
    records.loc[records["case_id"] == "eval-1000001/1", "official_reward"] = 0.0
    records.loc[records["case_id"] == "eval-1000001/2", ["official_reward", "outcome"]] = [None, "unscored"]
    suspects = suspect_cases(with_owed(records))
    assert suspects[["case_id", "population", "scored", "agents"]].values.tolist() == [
        ["eval-1000001/1", "teaching", 6, "learner, parrot"]
    ]


def test_an_unknown_reward_names_the_near_one():
    with pytest.raises(ValueError, match="gated_reward"):
        shift_rewards(with_owed(make_records(num_shifts=1)), "gated_rewards")


def test_rows_in_any_order_give_the_same_table():
    records = make_records(agents=("parrot", "learner"), num_shifts=3).drop(index=5)
    shuffled = records.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(with_owed(records), with_owed(shuffled))


def test_a_run_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no-such-run"):
        read_table("no-such-run")


def test_a_run_whose_shifts_are_elsewhere_says_where_they_belong(tmp_path):
    shifts = write_shifts(generate_shifts(num_shifts=1), tmp_path / "elsewhere.jsonl")
    run = execute_runs(RunConfig(str(shifts), ("learner",), ("none",)), tmp_path / "run", max_cases=1)
    with pytest.raises(DataError, match=r"not in data/shifts; put elsewhere.jsonl and elsewhere.manifest.json there"):
        read_table(run.path)
