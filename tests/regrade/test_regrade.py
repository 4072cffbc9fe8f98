"""Regrading of tau2 result files: rows, layouts, damage, and the real runs where they are at hand."""

import csv
import json
import os
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from taulong.audit.scripts import call, play
from taulong.cli import main
from taulong.errors import ConfigError, DataError
from taulong.paths import NOTEBOOKS, ROOT
from taulong.regrade.demonstration import demonstration_runs, write_demonstration
from taulong.regrade.regrading import COLUMNS, RegradeConfig, conversation, regrade, summary, summary_line
from taulong.regrade.results import read_results

TRAJECTORIES = Path(os.environ.get("TAULONG_TRAJECTORIES", ROOT.parent / "shared" / "trajectories"))
REQUIRED = (
    "file",
    "simulation_id",
    "task_id",
    "official_reward",
    "recorded_reward",
    "strict_stock",
    "strict_synced",
    "record_gate",
    "field_gate",
    "policy_check",
    "scope_gate",
    "fields",
    "rules",
    "replay_mismatches",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_demonstration(tmp_path_factory.mktemp("runs") / "demonstration.json")


@pytest.fixture(scope="module")
def table(file):
    return regrade([file]).set_index("simulation_id")


def altered(file, path, change):
    contents = json.loads(file.read_text())
    change(contents)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(contents))
    return path


def test_the_demonstration_is_the_same_bytes_every_time(file, tmp_path):
    assert write_demonstration(tmp_path / "again.json").read_bytes() == file.read_bytes()


def test_the_official_reward_is_the_recorded_one(table):
    assert len(table) == 8
    assert (table["official_reward"] == table["recorded_reward"]).all()
    assert (table["replay_mismatches"] == 0).all()


@pytest.mark.parametrize(
    ("run", "reward", "field", "record", "policy", "scope", "reading"),
    [
        ("reference", 1.0, "pass", "pass", "pass", "pass", ""),
        ("idle", 0.0, "pass", "pass", "pass", "pass", ""),
        ("roaming-on-another-line", 1.0, "fail", "fail", "fail", "fail", "out_of_scope"),
        ("draft-bill", 1.0, "fail", "pass", "fail", "fail", "forbidden"),
        ("suspended-and-resumed", 1.0, "pass", "pass", "fail", "pass", ""),
        ("licensed-payment", 1.0, "fail", "fail", "pass", "pass", "licensed"),
        ("ended-contract", 1.0, "fail", "fail", "fail", "fail", "forbidden"),
        ("cut-off", 0.0, "fail", "fail", "fail", "fail", "out_of_scope"),
    ],
)
def test_verdicts(table, run, reward, field, record, policy, scope, reading):
    row = table.loc[run]
    assert row["official_reward"] == reward
    assert [row["field_gate"], row["record_gate"], row["policy_check"], row["scope_gate"]] == [
        field,
        record,
        policy,
        scope,
    ]
    assert row["reading"] == reading


def test_fields_calls_and_rules_are_named(table):
    row = table.loc["draft-bill"]
    assert (row["fields"], row["rules"]) == ("bills.B1003.status", "payment_overdue")
    assert row["calls"] == str(len(demonstration_runs()[3].messages) - 3)
    assert (
        table.loc["ended-contract", "excused"] == "bills.B1234321.status"
    )  # the payment was licensed, the resumption not
    assert table.loc["reference", "components"].startswith("DB: match (not in basis)")
    assert "max_steps" in table.loc["cut-off", "components"]


def test_what_a_failed_policy_check_rests_on_is_named_and_counted(file, tmp_path, table):
    assert table["policy_grounds"].eq("write").equals(table["policy_check"] == "fail")
    assert summary(table)["policy_check_fails"] == 4
    assert summary(table)["policy_check_fails_on_conduct_alone"] == 0

    def speak(contents):  # text beside a read, and beside a write that the policy forbids
        read = {"id": "r", "name": "get_details_by_id", "arguments": {"id": "C1001"}, "requestor": "assistant"}
        (answer,) = play(demonstration_task, [call("get_details_by_id", id="C1001")])[1:]
        first, third = (contents["simulations"][place]["messages"] for place in (0, 2))
        first[2:2] = [
            {"role": "assistant", "content": "One moment.", "tool_calls": [read]},
            {"role": "tool", "id": "r", "content": answer.content, "requestor": "assistant"},
        ]
        next(m for m in third if m["role"] == "assistant" and m.get("tool_calls"))["content"] = "One moment."

    demonstration_task = read_results(file).task(table["task_id"].iloc[0]).task
    found = regrade([altered(file, tmp_path / "spoken.json", speak)])
    assert found["policy_grounds"].iloc[[0, 2]].tolist() == ["conduct", "conduct;write"]
    assert found["policy_check"].iloc[0] == "fail"
    assert found["scope_gate"].iloc[0] == "pass"
    counts = summary(found)
    assert (counts["policy_check_fails"], counts["policy_check_fails_on_conduct_alone"]) == (5, 1)
    assert "policy check fails: 5 of these (on conduct alone: 1)" in summary_line(counts)


def test_a_payment_that_the_agent_makes_in_the_customers_name_is_void(file, tmp_path, table):
    def forge(contents):
        (run,) = (run for run in contents["simulations"] if run["id"] == "licensed-payment")
        (message,) = (
            m
            for m in run["messages"]
            if m["role"] == "user" and m.get("tool_calls") and m["tool_calls"][0]["name"] == "make_payment"
        )
        message["role"] = "assistant"

    found = regrade([altered(file, tmp_path / "forged.json", forge)]).set_index("simulation_id")
    row = found.loc["licensed-payment"]
    assert (row["scope_gate"] == row["policy_check"] == "not_evaluated" and row["official_reward"] is None) or row[
        "official_reward"
    ] != row["official_reward"]
    assert "void: the call of make_payment in message" in row["reason"]
    assert "says it is of the user" in row["reason"]
    assert summary(found)["void"] == 1
    assert summary(table)["void"] == 0
    assert summary(found)["graded"] == 7


def test_a_run_cut_off_by_a_limit_is_gated_and_its_reward_is_apart(table):
    assert table.loc["cut-off", "ending"] == "max_steps"
    assert table.loc["cut-off", "official_reward"] == 0.0 == table.loc["cut-off", "gated_reward"]


def test_a_run_of_the_suite_is_said_to_be_graded_already(tmp_path):
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(DataError, match="is a run of this suite: its records have every verdict already"):
        read_results(tmp_path)


def test_both_layouts_read_alike(file, tmp_path):
    contents = json.loads(file.read_text())
    single = altered(file, tmp_path / "one" / "results.json", lambda contents: None)
    folder = tmp_path / "two"
    altered(file, folder / "results.json", lambda contents: contents.pop("simulations"))
    for run in contents["simulations"]:
        altered(file, folder / "simulations" / f"{run['id']}.json", lambda c, run=run: (c.clear(), c.update(run)))
    first, second = (
        regrade([path]).drop(columns="file").sort_values("simulation_id", ignore_index=True)
        for path in (single, folder)
    )
    assert first.equals(second)
    assert len(first) == 8
    assert regrade([single])["file"].iloc[0] == "one/results.json"


def test_damage_is_a_row_with_its_reason_and_the_rest_is_graded(file, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text(file.read_text()[:1000])
    other = altered(
        file, tmp_path / "cooking.json", lambda c: c["info"]["environment_info"].update(domain_name="cooking")
    )

    def damage(contents):
        contents["simulations"][0]["task_id"] = contents["simulations"][0]["task_id"].replace("airplane", "airplan")
        contents["simulations"][1]["messages"][0].pop("role")
        contents["simulations"][2]["messages"] = None

    partly = altered(file, tmp_path / "partly.json", damage)
    found = regrade([broken, other, tmp_path / "missing.json", partly, file])
    assert len(found) == 3 + 8 + 8
    again = found["reason"].str.contains("the same run as in partly.json", na=False)
    assert again.tolist() == [False] * 14 + [True] * 5
    assert (found["scope_gate"] == "not_evaluated").sum() == 6 + 5
    reasons = found["reason"].tolist()
    assert "not JSON" in reasons[0]
    assert "'cooking'" in reasons[1]
    assert "cannot be read" in reasons[2]
    assert "unknown task id" in reasons[3]
    assert "did you mean" in reasons[3]
    assert "damaged at messages" in reasons[4]
    assert "no messages" in reasons[5]
    assert found["official_reward"].iloc[:6].isna().all()
    assert summary(found)["graded"] == 8


def test_a_task_that_the_file_lacks_is_taken_from_tau2(file, tmp_path, table):
    bare = altered(file, tmp_path / "bare.json", lambda contents: contents.update(tasks=[]))
    assert regrade([bare])["scope_gate"].tolist() == table["scope_gate"].tolist()


def test_an_ending_that_tau2_does_not_know_is_no_stop(file, tmp_path):
    new = altered(
        file, tmp_path / "new.json", lambda c: c["simulations"][0].update(termination_reason="infrastructure")
    )
    row = regrade([new]).iloc[0]
    assert (row["ending"], row["official_reward"], row["scope_gate"]) == ("infrastructure", 0.0, "pass")
    assert "'infrastructure' is unknown" in row["reason"]
    assert "recorded 1.0, recomputed 0.0" in row["reason"]


def _first(task=None, run=None):
    """Return a change of the first run: of its task, or of the run itself."""

    def change(contents):
        first = contents["simulations"][0]
        if run:
            first.update(run)
        if task:
            task(next(each for each in contents["tasks"] if each["id"] == first["task_id"]))

    return change


BAD_RUNS = {
    "cannot be graded: AttributeError: .*'nope'": _first(
        lambda task: task["initial_state"]["initialization_actions"][0].update(func_name="nope")
    ),
    "cannot be graded: TypeError: .*'zz'": _first(
        lambda task: task["initial_state"]["initialization_actions"][0].update(arguments={"zz": 1})
    ),
    "cannot be graded: ValidationError: [^\n]*$": _first(
        lambda task: task["initial_state"].update(initialization_data={"agent_data": {"lines": "x"}})
    ),
    "cannot be graded: AttributeError": _first(lambda task: task.update(evaluation_criteria=None)),
    "cannot be graded: AttributeError: .*'assert_nope'": _first(
        lambda task: task["evaluation_criteria"]["env_assertions"][0].update(func_name="assert_nope")
    ),
    "damaged at reward_info": _first(run={"reward_info": "x"}),
    "no termination_reason": _first(run={"termination_reason": None}),
    "no messages": _first(run={"messages": []}),
}


@pytest.mark.parametrize("reason", BAD_RUNS)
def test_a_run_that_cannot_be_graded_is_its_own_row_and_no_zero(reason, file, tmp_path, table):
    found = regrade([altered(file, tmp_path / "bad.json", BAD_RUNS[reason])], trust_tasks=True)
    bad = found[found["official_reward"].isna()]
    assert len(found) == 8
    assert bad.index[0] == 0
    assert bad["reason"].str.contains(reason).all()
    assert bad["official_reward"].isna().all()
    assert (bad["scope_gate"] == "not_evaluated").all()
    assert found["recorded_reward"].iloc[0] == 1.0 or reason == "damaged at reward_info"
    whole = found[found["official_reward"].notna()].set_index("simulation_id")
    assert whole["scope_gate"].equals(table.loc[whole.index, "scope_gate"])
    assert summary(found)["graded"] == len(whole) == 8 - len(bad)


def test_a_run_without_an_official_reward_is_not_counted_as_graded(file, tmp_path, capsys):
    other = altered(
        file,
        tmp_path / "other.json",
        _first(lambda task: task["evaluation_criteria"].update(reward_basis=["NL_ASSERTION"])),
    )
    found = regrade([other], trust_tasks=True)
    refused = found["official_reward"].isna()
    assert refused.iloc[0]
    assert found["scope_gate"].iloc[0] == "pass"
    assert found["reason"].str.contains("evaluator refuses").eq(True).equals(refused)
    assert summary(found)["graded"] == 8 - refused.sum()
    assert main(["regrade", str(other), "--trust-tasks"]) == 1
    assert f"graded: {8 - refused.sum()}" in capsys.readouterr().out


def test_one_unreadable_file_leaves_the_counts_whole_numbers(file, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert main(["regrade", str(file), str(broken), "--format", "csv"]) == 1
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["replay_mismatches"] for row in rows] == ["0"] * 8 + [""]
    assert main(["regrade", str(file), str(broken)]) == 1
    assert "broken.json" in capsys.readouterr().out


def test_a_differing_replay_is_void_with_its_count(file, tmp_path):
    def tamper(contents):
        answers = [m for m in contents["simulations"][4]["messages"] if m["role"] == "tool"]
        for answer in answers[:2]:
            answer["content"] = "something else"

    row = regrade([altered(file, tmp_path / "tampered.json", tamper)]).iloc[4]
    assert row["replay_mismatches"] == 2
    assert "void: 2 of 3" in row["reason"]
    assert (row["scope_gate"] == "not_evaluated" and row["official_reward"] is None) or row["official_reward"] != 0


def test_a_file_said_to_be_solo_is_void_where_it_was_not(file, tmp_path):
    solo = altered(
        file, tmp_path / "solo.json", lambda c: c["info"]["agent_info"].update(implementation="llm_agent_solo")
    )
    found = regrade([solo])
    assert found["solo_mode"].all()
    assert found["official_reward"].isna().all()
    assert (found["scope_gate"] == "not_evaluated").all()
    assert found["replay_mismatches"].iloc[0] > 0


def test_the_workflow_policy_comes_from_the_file(file, tmp_path, table):
    flow = altered(
        file, tmp_path / "flow.json", lambda c: c["info"]["environment_info"].update(domain_name="telecom-workflow")
    )
    assert read_results(flow).policy_type == "workflow"
    assert regrade([flow])["official_reward"].tolist() == table["official_reward"].tolist()


def test_a_run_is_shown_with_its_offending_call_marked(file):
    shown = conversation([file], "roaming-on-another-line")
    (turn,) = [turn for turn in shown.turns if any("scope_gate" in str(objection) for objection in turn.objections)]
    assert "enable_roaming" in str(turn)
    assert "L1001" in str(turn.objections)
    assert "enable_roaming" in shown.text
    assert "L1001" in shown._repr_html_()
    with pytest.raises(DataError, match="no run 'nobody'"):
        conversation([file], "nobody")


def test_configuration_is_checked():
    assert RegradeConfig(("README.md",)).paths == [ROOT / "README.md"]
    with pytest.raises(ConfigError, match=r"no_such_file.json"):
        RegradeConfig(("no_such_file.json",))
    with pytest.raises(ConfigError, match="name"):
        RegradeConfig((), "a/b")


# --- command line -----------------------------------------------------------------------------------------------------


def test_csv_has_the_columns_and_the_summary_is_apart(file, capsys):
    assert main(["regrade", str(file), "--format", "csv"]) == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(printed.out.splitlines()))
    assert set(REQUIRED) <= set(rows[0])
    assert list(rows[0]) == list(COLUMNS)
    assert len(rows) == 8
    assert (
        "reward 1.0: 6; of these scope gate fails: 3 (out of scope 1, forbidden 2); excused by policy: 1" in printed.err
    )


def test_json_is_strict(file, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert main(["regrade", str(file), str(broken), "--format", "json"]) == 1
    rows = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert len(rows) == 9
    assert rows[-1]["official_reward"] is None
    assert rows[-1]["reason"]
    assert [row["replay_mismatches"] for row in rows] == [0] * 8 + [None]


def test_the_table_ends_with_the_summary(file, capsys):
    assert main(["regrade", str(file)]) == 0
    assert "reward 1.0: 6" in capsys.readouterr().out


def test_the_notebook_without_a_readable_run_says_why_and_writes_the_metrics(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken.json").write_text("{")
    monkeypatch.setattr("taulong.regrade.regrading.AUDIT", tmp_path)
    names: dict = {}
    with pd.option_context("display.width", 200, "display.max_colwidth", 70):  # the notebook sets options
        for cell in nbformat.read(NOTEBOOKS / "50_regrade_runs.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
            if "parameters" in cell.metadata.get("tags", []):
                names["files"] = [str(tmp_path / "broken.json")]
    assert "no run could be graded:\nbroken.json is not JSON" in capsys.readouterr().out
    metrics = json.loads((tmp_path / "regrade" / "metrics.json").read_text())
    assert (metrics["rows"], metrics["graded"]) == (1, 0)


# --- real runs --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real():
    if not (TRAJECTORIES / "labels.tsv").is_file():
        pytest.skip("the real runs are not at hand: set TAULONG_TRAJECTORIES to their folder")
    with open(TRAJECTORIES / "labels.tsv", encoding="utf-8") as lines:
        labels = list(csv.DictReader(lines, delimiter="\t"))
    return regrade(sorted(TRAJECTORIES.glob("*.json"))), {(row["file"], row["simulation_id"]): row for row in labels}


def test_real_runs_meet_their_labels(real):
    found, labels = real
    assert len(found) == len(labels) == 105
    for row in found.to_dict("records"):
        label = labels[row["file"], row["simulation_id"]]
        assert row["official_reward"] == row["recorded_reward"] == float(label["official_reward"])
        assert row["fields"] == label["fields_outside_footprint"]
        assert str(row["solo_mode"]) == label["solo"]
        assert row["replay_mismatches"] == 0
        if row["official_reward"] == 1.0:
            assert row["reading"] == label["reading"]


def test_real_runs_have_the_known_counts(real):
    counts = summary(real[0])
    assert counts["official_as_recorded"] == 105
    assert counts["void"] == 0
    assert (counts["reward_1"], counts["field_gate_fails"], counts["scope_gate_fails"]) == (64, 10, 8)
    assert "scope gate fails: 8 (out of scope 4, forbidden 4); excused by policy: 2" in summary_line(counts)
    assert int((real[0]["fields"] != "").sum()) == 20
