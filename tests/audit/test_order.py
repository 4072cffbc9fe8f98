"""One step out of place: what each grader sees, on every task of the small set and each rare kind of the full one."""

import pytest

from taulong.audit.order import (
    ORDER_GRADERS,
    ORDER_OPERATORS,
    courteous,
    order_outcome,
    order_rows,
    order_table,
    order_tasks,
)
from taulong.audit.order_command import order_caption, plot_order
from taulong.audit.scripts import gold_calls
from taulong.backend import official_reward, telecom_tasks
from taulong.cli import main
from taulong.graders.reference import build_reference

WANTED = {  # operator -> the verdicts that fall; official, and every verdict not named, stay
    "courteous": set(),
    "early": {"transient_gate", "policy_check"},
    "twice": {"transient_gate", "policy_check"},
    "between": {"transient_gate", "policy_check"},
    "transfer_only": {"conduct_check"},
    "transfer_unsaid": {"conduct_check"},
    "needless_transfer": {"conduct_check"},
    "unidentified": {"conduct_check"},
    "unread": {"conduct_check"},
    "unconsented": {"conduct_check"},
    "refused": {"conduct_check"},
    "unwanted": {"conduct_check"},
    "stranger_read": {"privacy_check"},
    "stranger_told": {"privacy_check"},
}


@pytest.fixture(scope="module")
def rows():
    tasks = {task.id: task for task in telecom_tasks("small")}
    paid = [task for task in telecom_tasks("full") if any(gold.name == "resume_line" for gold in gold_calls(task))]
    return order_rows(list((tasks | {task.id: task for task in paid}).values()), progress=False)


def test_every_operator_is_seen_by_what_it_is_for(rows):
    assert set(WANTED) == {operator.id for operator in ORDER_OPERATORS} == set(rows["operator"])
    for row in rows.to_dict("records"):
        failed = {grader for grader in ORDER_GRADERS if row[grader] != "pass"}
        assert failed == WANTED[row["operator"]], (row["task_id"], row["operator"])


def test_the_step_from_scope_gate_to_transients_is_8_of_8(rows):
    table = order_table(rows).set_index("operator")
    for operator in ("early", "twice", "between"):
        counted = table.loc[operator, ["runs", "official", "scope_gate", "transient_gate"]].tolist()
        assert counted == [8, 8, 0, 8]


@pytest.mark.parametrize("operator", ["early", "transfer_only"])
def test_the_official_reward_is_evaluate_simulations(operator):
    from taulong.audit.order import played

    rewrite = next(each.rewrite for each in ORDER_OPERATORS if each.id == operator)
    task = next(task for task in telecom_tasks("full") if rewrite(task, courteous(task)) is not None)
    script = rewrite(task, courteous(task))
    messages, _ = played(task, script)
    assert official_reward(task, messages).reward == 1.0
    assert order_outcome(build_reference(task), script)["official"] == "pass"


def test_the_figure_shows_official_scope_gate_and_transients(rows):
    table = order_table(rows)
    figure = plot_order(table)
    (cells, _) = figure.axes
    labels = [label.get_text() for label in cells.get_xticklabels()]
    assert labels[:2] == ["scope\ngate", "scope gate,\ntransients"]
    shown = [text.get_text() for text in cells.texts]
    assert shown == [str(value) for value in table[list(ORDER_GRADERS[1:])].to_numpy().ravel()]
    assert f"over {rows['task_id'].nunique()} tasks" in order_caption(rows)


def test_rare_kinds_are_in_the_full_set():
    names = [{gold.name for gold in gold_calls(task)} for task in order_tasks("full")]
    assert sum("transfer_to_human_agents" in each for each in names) == 32
    assert sum("resume_line" in each for each in names) == 8


def test_the_command_writes_runs_table_and_figure(tmp_path, capsys):
    assert main(["audit", "--order", "--tasks", "small", "--out", str(tmp_path)]) == 0
    assert {"order_runs.csv", "order.csv", "order.png", "order.pdf", "metrics.json"} <= {
        p.name for p in tmp_path.iterdir()
    }
    assert "needless_transfer" in capsys.readouterr().out
