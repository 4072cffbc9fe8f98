"""Files as they come: folders, other layouts, damage, texts that drive terminals, tasks that are not the installed ones."""

import csv
import gzip
import io
import json

import pytest

from taulong.cli import main
from taulong.regrade.command import csv_text, safe
from taulong.regrade.demonstration import write_demonstration
from taulong.regrade.regrading import conversation, regrade, summary


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    file = write_demonstration(tmp_path_factory.mktemp("runs") / "demonstration.json")
    whole = json.loads(file.read_text())
    return whole | {"simulations": whole["simulations"][:3]}


@pytest.fixture(scope="module")
def verdicts(contents, tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "plain.json"
    path.write_text(json.dumps(contents))
    return regrade([path])


def renamed(contents, mark):
    return contents | {"simulations": [run | {"id": f"{mark}-{run['id']}"} for run in contents["simulations"]]}


def test_a_folder_of_result_files_is_all_of_them_each_named(contents, tmp_path):
    for mark in "ab":
        (tmp_path / f"{mark}.json").write_text(json.dumps(renamed(contents, mark)))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "results.json").write_text(json.dumps(renamed(contents, "c")))
    (tmp_path / "notes.txt").write_text("not a result file")
    found = regrade([tmp_path])
    assert found["file"].tolist() == ["a.json"] * 3 + ["b.json"] * 3 + ["c/results.json"] * 3
    assert summary(found)["graded"] == 9
    assert conversation([tmp_path], "b-idle").text


def test_a_folder_without_any_says_so(tmp_path):
    (row,) = regrade([tmp_path]).to_dict("records")
    assert "holds no tau2 result file" in row["reason"]


def test_what_an_index_lists_and_nobody_finds_is_a_row_with_its_reason(contents, tmp_path, capsys):
    runs = contents["simulations"]
    index = [{"id": run["id"], "task_id": run["task_id"], "trial": run["trial"]} for run in runs]
    head = {name: value for name, value in contents.items() if name != "simulations"}
    (tmp_path / "results.json").write_text(json.dumps(head | {"simulation_index": index}))
    (tmp_path / "simulations").mkdir()
    for run in runs[:-1]:
        (tmp_path / "simulations" / f"{run['id']}.json").write_text(json.dumps(run))
    found = regrade([tmp_path]).set_index("simulation_id")
    missing = found.loc[runs[-1]["id"]]
    assert len(found) == len(runs)
    assert f"simulations/{runs[-1]['id']}.json is missing" in missing["reason"]
    assert missing["scope_gate"] == "not_evaluated"
    assert missing["task_id"] == runs[-1]["task_id"]
    assert summary(found)["graded"] == len(runs) - 1
    assert main(["regrade", str(tmp_path), "--format", "csv"]) == 1
    assert "is missing" in capsys.readouterr().out


def test_a_file_with_no_runs_says_so(contents, tmp_path):
    (tmp_path / "empty.json").write_text(json.dumps(contents | {"simulations": []}))
    assert regrade([tmp_path / "empty.json"])["reason"].tolist() == ["empty.json holds no runs"]


def test_a_missing_file_is_one_line_and_exit_code_2(tmp_path, capsys):
    assert main(["regrade", str(tmp_path / "nowhere.json")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "nowhere.json does not exist" in told.err


def test_the_same_run_twice_is_graded_once_and_another_of_its_id_is_named(contents, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(contents))
    other = json.loads(json.dumps(contents))
    other["simulations"][0]["seed"] = 5
    (tmp_path / "b.json").write_text(json.dumps(other))
    found = regrade([tmp_path])
    again = found[found["file"] == "b.json"]
    assert again["reason"].iloc[0] == "a.json has another run of this id"
    assert again["reason"].iloc[1:].tolist() == ["the same run as in a.json: not graded again"] * 2
    assert summary(found)["graded"] == 4
    assert summary(found)["reward_1"] == summary(regrade([tmp_path / "a.json"]))["reward_1"] + 1


def lines(items):
    return "\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n"


FORMS = {
    "a.json.gz": lambda contents: gzip.compress(json.dumps(contents).encode()),
    "compressed.json": lambda contents: gzip.compress(json.dumps(contents).encode()),
    "mark.json": lambda contents: b"\xef\xbb\xbf" + json.dumps(contents).encode(),
    "headed.jsonl": lambda contents: lines([contents | {"simulations": []}, *contents["simulations"]]).encode(),
    "bare.jsonl": lambda contents: lines(contents["simulations"]).encode(),
    "bare.jsonl.gz": lambda contents: gzip.compress(lines(contents["simulations"]).encode()),
    "list.json": lambda contents: json.dumps(contents["simulations"]).encode(),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_file_reads_alike(name, contents, verdicts, tmp_path):
    (tmp_path / name).write_bytes(FORMS[name](contents))
    assert regrade([tmp_path / name]).drop(columns="file").equals(verdicts.drop(columns="file"))


def test_lines_end_at_a_line_feed_alone_and_a_damaged_one_is_its_own_row(contents, tmp_path):
    runs = json.loads(json.dumps(contents["simulations"]))
    runs[0]["messages"][1]["content"] += "\u2028\u2029\x85"
    text = lines(runs).replace(lines(runs[1:2]), '{"id": 1e999}\n' + "[" * 100_000 + "\n")
    (tmp_path / "runs.jsonl").write_text(text, encoding="utf-8")
    found = regrade([tmp_path / "runs.jsonl"])
    assert found["scope_gate"].tolist() == ["pass", "not_evaluated", "not_evaluated", "fail"]
    assert "no finite number" in found["reason"].iloc[1]
    assert "line 2" in found["reason"].iloc[1]
    assert "nest too deeply" in found["reason"].iloc[2]


HOSTILE = {
    "trial": lambda run: run.update(trial=10**30),
    "reward": lambda run: run["reward_info"].update(reward=10**400),
    "id": lambda run: run.update(id=["a", {"b": 1}]),
    "ending": lambda run: run.update(termination_reason={"a": 1}),
    "run": lambda run: run.clear(),
    "messages": lambda run: run.update(messages=[[]]),
    "answer": lambda run: run["messages"].append({"role": "tool", "id": "x", "content": "[" * 100_000}),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_one_hostile_value_leaves_the_other_rows(name, form, contents, verdicts, tmp_path, capsys):
    damaged = json.loads(json.dumps(contents))
    HOSTILE[name](damaged["simulations"][0])
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    found = regrade([tmp_path / "damaged.json"])
    assert found["scope_gate"].iloc[1:].tolist() == verdicts["scope_gate"].iloc[1:].tolist()
    assert main(["regrade", str(tmp_path / "damaged.json"), "--format", form]) in (0, 1)
    assert capsys.readouterr().out


def test_a_file_of_nothing_but_brackets_is_one_row(contents, tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000)
    (tmp_path / "b.json").write_text(json.dumps(contents))
    assert regrade([tmp_path])["file"].tolist() == ["a.json", *["b.json"] * 3]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_characters_that_drive_a_terminal_are_shown_and_not_sent(form, contents, tmp_path, capsys):
    hostile = json.loads(json.dumps(contents))
    hostile["simulations"][0].update(id="\x1b[2J\u202egnp", task_id="\x9b31m\nnone")
    (tmp_path / "a.json").write_text(json.dumps(hostile))
    main(["regrade", str(tmp_path / "a.json"), "--format", form])
    told = capsys.readouterr().out
    assert not set(told) & set("\x1b\x9b\u202e\r")
    assert "x1b[2J" in told or "u001b[2J" in told


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t="])
def test_no_cell_of_the_csv_is_a_formula(start, verdicts):
    table = verdicts.assign(simulation_id=f'{start}HYPERLINK("x")')
    rows = list(csv.DictReader(io.StringIO(csv_text(table))))
    assert all(row["simulation_id"].startswith("'") for row in rows)
    for row in rows:
        assert not [cell for cell in row.values() if cell.lstrip().startswith(("=", "+", "-", "@"))]
    assert safe(table)["official_reward"].tolist() == table["official_reward"].tolist()


def tampered(contents):
    changed = json.loads(json.dumps(contents))
    for task in changed["tasks"]:
        task["evaluation_criteria"]["env_assertions"] = []
        task["evaluation_criteria"]["reward_basis"] = ["ENV_ASSERTION"]
    changed["info"]["environment_info"]["policy"] = "Do as you like."
    for run in changed["simulations"]:
        run["reward_info"]["reward"] = 1.0
    return changed


def test_verdicts_are_of_the_installed_task_and_a_tampered_one_is_named(contents, verdicts, tmp_path, capsys):
    (tmp_path / "a.json").write_text(json.dumps(tampered(contents)))
    found = regrade([tmp_path / "a.json"])
    assert found["official_reward"].tolist() == verdicts["official_reward"].tolist() == [1.0, 0.0, 1.0]
    assert found["scope_gate"].tolist() == verdicts["scope_gate"].tolist()
    assert found["other_task_reward"].tolist() == [1.0, 1.0, 1.0]
    where = "differs from the installed one in evaluation_criteria.env_assertions: graded by the installed one"
    assert found["reason"].str.contains(where, regex=False).all()
    assert found["reason"].str.contains("the file's policy differs").all()
    assert "recorded 1.0, recomputed 0.0" in found["reason"].iloc[1]
    trusted = regrade([tmp_path / "a.json"], trust_tasks=True)
    assert trusted["official_reward"].tolist() == [1.0, 1.0, 1.0]
    assert trusted["other_task_reward"].tolist() == [1.0, 0.0, 1.0]
    assert trusted["reason"].str.contains("graded by the file's").all()
    main(["regrade", str(tmp_path / "a.json"), "--trust-tasks", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert [(row["official_reward"], row["other_task_reward"]) for row in rows] == [(1.0, 1.0), (1.0, 0.0), (1.0, 1.0)]


def test_an_equal_task_is_not_spoken_of(verdicts):
    assert verdicts["reason"].isna().all()
    assert verdicts["other_task_reward"].isna().all()


def test_a_task_that_tau2_does_not_have_is_the_files_own(contents, verdicts, tmp_path):
    own = json.loads(json.dumps(contents))
    for item in (*own["tasks"], *own["simulations"]):
        key = "task_id" if "task_id" in item else "id"
        item[key] = f"mine-{item[key]}"
    (tmp_path / "a.json").write_text(json.dumps(own))
    found = regrade([tmp_path / "a.json"])
    assert found["official_reward"].tolist() == verdicts["official_reward"].tolist()
    assert found["reason"].str.contains("the file's own").all()


def test_what_is_left_changed_on_the_phone_is_shown(contents, tmp_path, capsys):
    (tmp_path / "a.json").write_text(json.dumps(contents))
    phone = regrade([tmp_path / "a.json"]).set_index("simulation_id").loc["idle", "user_fields"]
    assert "airplane_mode" in phone
    assert "airplane_mode" in conversation([tmp_path / "a.json"], "idle").text
    main(["regrade", str(tmp_path / "a.json")])
    told = capsys.readouterr().out
    assert "user_fields" in told
    assert "gated_reward" in told
    assert "simulation_id" in told
