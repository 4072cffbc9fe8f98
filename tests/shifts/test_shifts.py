"""Shifts: what a configuration may say, what stays the same, and that nothing but evidence tells the cause."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cache

import pytest
from conversations import block, calls_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from taulong import backend, draws
from taulong.backend import Task
from taulong.cli import main
from taulong.errors import ConfigError, DataError
from taulong.paths import ROOT
from taulong.shifts import command, files
from taulong.shifts.causes import recurring_causes
from taulong.shifts.configuration import POPULATIONS, ShiftConfig, shift_seeds
from taulong.shifts.files import export_tasks, read_manifest, read_shifts, shift_paths, write_shifts
from taulong.shifts.generation import generate_shift, generate_shifts
from taulong.shifts.identity import age, phone_models
from taulong.shifts.stream import shift_table


@cache
def many():
    """Return 400 eval shifts; shared, never changed."""
    return tuple(generate_shifts(num_shifts=400))


def digest(generated):
    return hashlib.sha256("\n".join(shift.to_json() for shift in generated).encode()).hexdigest()


# --- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("num_cases", 1, "2 to 100"),
        ("num_cases", 101, "2 to 100"),
        ("num_cases", 8.0, "an integer"),
        ("num_cases", True, "an integer"),
        ("num_cases", "8", "an integer"),
        ("num_cases", None, "an integer"),
        ("incident_fraction", 1.01, "0 to 1"),
        ("incident_fraction", -0.1, "0 to 1"),
        ("incident_fraction", float("nan"), "0 to 1"),
        ("incident_fraction", "0.5", "a number"),
        ("incident_fraction", True, "a number"),
        ("incident_fraction", 0.1, "at least 2"),
        ("teaching_count", -1, "0 to 99"),
        ("teaching_count", 6, "0 to 5"),
        ("mark", "modle", "did you mean 'model'"),
        ("masked_lookalikes", 1, "true or false"),
        ("masked_lookalikes", True, "mark: model"),
        ("teaching_first", "yes", "true or false"),
        ("changes", -1, "0 to 24"),
        ("changes", 5, "at least 2"),
        ("fleets", 7, "1 to 6"),
        ("fleets", 2, "mark: model"),
        ("patience", 0, "1 to 100"),
        ("patience", 9.5, "an integer"),
        ("max_steps", 1, "2 to 1000"),
        ("notebook_cap", -1, "0 to 100000"),
        ("notebook_cap", float("inf"), "an integer"),
    ],
)
def test_a_bad_field_is_named_with_its_value_and_the_accepted_range(field, value, accepted):
    with pytest.raises(ConfigError) as error:
        ShiftConfig(**{field: value})
    for part in (field, str(value).strip("'"), accepted):
        assert part in str(error.value)


def test_every_bad_field_is_named_at_once():
    with pytest.raises(ConfigError, match=r"num_cases.*patience.*notebook_cap"):
        ShiftConfig(num_cases=0, patience=0, notebook_cap=-1)


def test_every_field_has_a_range():
    checked_apart = {"mark", "masked_lookalikes", "teaching_first"}
    assert set(ShiftConfig.RANGES) == {field.name for field in fields(ShiftConfig)} - checked_apart
    with pytest.raises(ConfigError, match="patience"):
        ShiftConfig.from_dict({"patiense": 3})


def test_the_default_is_two_teaching_four_testing_two_lookalikes():
    assert ShiftConfig().counts == {"teaching": 2, "testing": 4, "lookalike": 2}


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 40))
def test_an_accepted_configuration_has_something_to_teach_and_to_test(num_cases, fraction, teaching):
    try:
        config = ShiftConfig(num_cases=num_cases, incident_fraction=fraction, teaching_count=teaching)
    except ConfigError:
        return
    assert sum(config.counts.values()) == num_cases
    assert config.counts["teaching"] == teaching
    assert config.counts["testing"] >= 1
    assert config.counts["teaching"] >= 0
    assert config.counts["lookalike"] >= 0
    assert abs(config.num_incidents - num_cases * fraction) <= 0.5 + 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "evil"}, "did you mean 'eval'"),
        ({"num_shifts": 0}, "num_shifts: 0"),
        ({"num_shifts": 1.0}, "num_shifts: 1.0"),
        ({"seed_offset": -1}, "seed_offset: -1"),
        ({"seed_offset": 1_000_000}, "0 to 999,999"),
        ({"seed_offset": 999_999, "num_shifts": 2}, "0 to 999,998"),
        ({"split": "train", "num_shifts": 1_000_001}, "num_shifts"),
    ],
)
def test_seeds_that_leave_their_split_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        generate_shifts(**arguments)


def test_splits_are_disjoint_and_their_last_seed_is_in_them():
    assert shift_seeds("train", 1_000_000)[-1] < shift_seeds("eval", 1)[0]
    assert generate_shifts(split="eval", seed_offset=999_999)[0].shift_id == "eval-1999999"
    ids = [
        {
            case.records["customers"][0]["customer_id"]
            for shift in generate_shifts(split=split, num_shifts=20)
            for case in shift.cases
        }
        for split in ("train", "eval")
    ]
    assert not ids[0] & ids[1]


# --- what stays the same ----------------------------------------------------------------------------------------------


def test_more_shifts_never_change_earlier_ones_and_an_offset_only_moves():
    assert generate_shifts(num_shifts=12)[:4] == list(block())
    assert generate_shifts(num_shifts=3, seed_offset=1) == list(block()[1:4])


def test_one_thread_and_eight_give_the_same_bytes():
    seeds = shift_seeds("train", 24)
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(lambda seed: generate_shift(ShiftConfig(), "train", seed), reversed(seeds)))[::-1]
    assert digest(threaded) == digest(generate_shifts(split="train", num_shifts=24))


def test_another_process_with_another_hash_seed_gives_the_same_bytes():
    code = (
        "import hashlib; from taulong.shifts.generation import generate_shifts\n"
        "print(hashlib.sha256('\\n'.join(s.to_json() for s in generate_shifts(num_shifts=4)).encode()).hexdigest())"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    other = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert other.stdout.strip() == digest(block())


def test_the_configuration_changes_nothing_it_does_not_speak_of():
    other = generate_shifts(ShiftConfig(patience=3, max_steps=10, notebook_cap=0), num_shifts=4)
    assert [shift.cases for shift in other] == [shift.cases for shift in block()]


# --- what is in a shift -----------------------------------------------------------------------------------------------


def test_counts_and_causes():
    for shift in many():
        assert Counter(case.population for case in shift.cases) == shift.config.counts
        for case in shift.cases:
            assert (case.cause == shift.recurring_cause) == (case.population != "lookalike")


def test_causes_are_balanced_in_blocks_each_in_an_order_of_its_own():
    recurring = [shift.recurring_cause for shift in many()]
    orders = {tuple(recurring[start : start + 4]) for start in range(0, 400, 4)}
    assert all(sorted(order) == sorted(recurring_causes()) for order in orders)
    assert len(orders) > 18  # of 24; 100 blocks miss six or more with a probability below 1e-4


@pytest.mark.parametrize(
    "config",
    [
        ShiftConfig(),
        ShiftConfig(num_cases=2, incident_fraction=1, teaching_count=1),
        ShiftConfig(num_cases=12, incident_fraction=0.5, teaching_count=1),
    ],
    ids=["default", "smallest", "one to teach"],
)
def test_a_teaching_case_precedes_every_testing_case(config):
    for shift in generate_shifts(config, num_shifts=40):
        assert all(shift.teaching_seen(case.position) >= 1 for case in shift.cases if case.population == "testing")
        assert [case.position for case in shift.cases] == list(range(1, config.num_cases + 1))


def test_placement_varies():
    assert len({tuple(case.population for case in shift.cases) for shift in many()}) > 50


def all_ids(case):
    keys = {"customers": "customer_id", "lines": "line_id", "devices": "device_id", "bills": "bill_id"}
    return [row[key] for table, key in keys.items() for row in case.records[table]] + [
        line["phone_number"] for line in case.records["lines"]
    ]


def test_ids_and_phone_numbers_occur_once_in_a_shift_and_never_in_the_shipped_database():
    shipped = json.dumps(backend.new_database().model_dump(mode="json"))
    for shift in many():
        held = [name for case in shift.cases for name in all_ids(case)]
        assert len(set(held)) == len(held)
        assert not [name for name in held if f'"{name}"' in shipped]


def test_a_collision_of_ids_is_drawn_again(monkeypatch):
    monkeypatch.setattr(draws.Draws, "digits", lambda self, count: str(self.below(60)).zfill(count))
    held = [name for case in generate_shift(ShiftConfig(), "eval", 1_000_000).cases for name in all_ids(case)]
    assert len(set(held)) == len(held)


def test_persona_and_record_agree():
    assert backend.get_today().isoformat() == "2025-02-25"
    assert (age("1980-02-25"), age("1980-02-26")) == (45, 44)
    for shift in many():
        for case in shift.cases:
            (record,), lines = case.records["customers"], case.records["lines"]
            year, month, day = map(int, record["date_of_birth"].split("-"))
            years = 2025 - year - ((month, day) > (2, 25))
            where = record["address"]
            scenario = case.task["user_scenario"]
            assert f"You are {years} years old and live in {where['city']}, {where['state']}." in scenario["persona"]
            known = scenario["instructions"]["known_info"]
            assert f"You are {record['full_name']} with phone number {record['phone_number']}." in known
            assert record["phone_number"] in [line["phone_number"] for line in lines]
            assert set(record["line_ids"]) == {line["line_id"] for line in lines}
            assert {line["device_id"] for line in lines} == {device["device_id"] for device in case.records["devices"]}
            assert set(record["bill_ids"]) == {bill["bill_id"] for bill in case.records["bills"]}
            assert {bill["customer_id"] for bill in case.records["bills"]} == {record["customer_id"]}
            told = json.dumps(case.task)
            assert not [word for word in ("John Smith", "555-123-2002", "C1001") if word in told]


def test_city_and_state_are_one_place():
    states = {}
    for shift in many():
        for case in shift.cases:
            where = case.records["customers"][0]["address"]
            states.setdefault(where["city"], set()).add((where["state"], where["zip_code"]))
    assert all(len(found) == 1 for found in states.values())
    assert len(states) > 10


def test_every_case_is_a_task_whose_customer_the_database_accepts():
    shipped = backend.database_contents()
    for case in block()[0].cases:
        task = Task.model_validate(case.task)
        assert task.id == case.case_id
        backend.new_database({table: shipped[table] + case.records.get(table, []) for table in shipped})


def test_two_replays_of_a_refuel_give_equal_databases():
    for case in block()[1].cases:
        assert [bill["status"] for bill in case.records["bills"]].count("Draft") == 1
        contents = []
        for _ in range(2):
            shipped = backend.database_contents()
            database = backend.new_database({table: shipped[table] + case.records.get(table, []) for table in shipped})
            environment = backend.new_environment(database=database)
            account = environment.tools.get_customer_by_phone(case.records["customers"][0]["phone_number"])
            for line_id in account.line_ids:
                environment.tools.refuel_data(account.customer_id, line_id, 1.0)
            contents.append(database.model_dump())
        assert contents[0] == contents[1]
        assert len(contents[0]["bills"]) == len(shipped["bills"]) + 3


# --- nothing tells the cause ------------------------------------------------------------------------------------------


def told(case):
    """Return what a customer simulator and a reader of the ticket see, without the person."""
    record = case.records["customers"][0]
    task = {**case.task, "id": None, "initial_state": None, "evaluation_criteria": None}
    text = json.dumps(task, ensure_ascii=False) + str(Task.model_validate(case.task).user_scenario)
    text = text.replace(json.dumps(task["user_scenario"]["persona"])[1:-1], "PERSONA").replace(
        task["user_scenario"]["persona"], "PERSONA"
    )
    return text.replace(record["full_name"], "NAME").replace(record["phone_number"], "NUMBER")


def test_what_the_customer_is_told_is_the_same_for_every_cause_but_for_the_person():
    assert len({told(case) for shift in many() for case in shift.cases}) == 1


def test_personas_differ_in_age_and_place_alone():
    forms = set()
    for shift in many()[:100]:
        for case in shift.cases:
            where = case.records["customers"][0]["address"]
            persona = case.task["user_scenario"]["persona"].replace(f"{where['city']}, {where['state']}", "PLACE")
            forms.add(persona.replace(str(age(case.records["customers"][0]["date_of_birth"])), "AGE"))
    assert len(forms) == 1


def visible(shift, case):
    """Return, by name, what an agent could see of a case before the evidence, in few classes each."""
    record, records = case.records["customers"][0], case.records
    own = next(line for line in records["lines"] if line["phone_number"] == record["phone_number"])
    other = next(line for line in records["lines"] if line is not own)
    device = {device["device_id"]: device for device in records["devices"]}
    place, first, last = record["address"], *record["full_name"].split(" ")
    fields = {
        "first name": first,
        "last name": last,
        "initials": first[0] + last[0],
        "city": place["city"],
        "state": place["state"],
        "house": int(place["street"].split()[0]) // 200,
        "street": place["street"].split(" ", 1)[1],
        "age": age(record["date_of_birth"]) // 10,
        "month of birth": record["date_of_birth"][5:7],
        "day": record["date_of_birth"][8:],
        "exchange": record["phone_number"][4],
        "phone model": device[own["device_id"]]["model"],
        "other model": device[other["device_id"]]["model"],
        "plan": own["plan_id"],
        "other plan": other["plan_id"],
        "place of the line": record["line_ids"].index(own["line_id"]),
        "data used": int(own["data_used_gb"]),
        "contract": own["contract_end_date"][:4],
        "card": record["payment_methods"][0]["account_number_last_4"][0],
        "created": record["created_at"][:10],
        "due": records["bills"][1]["total_due"],
        "position": case.position,
        "seed parity": shift.seed % 2,
    }
    fields |= {
        f"last digit of {key}": fields_of[key][-1]
        for key, fields_of in (
            ("customer_id", record),
            ("phone_number", record),
            ("line_id", own),
            ("device_id", own),
            ("bill_id", records["bills"][0]),
        )
    }
    fields |= {f"population at {place.position}": place.population for place in shift.cases[1:]}
    return fields


@pytest.mark.parametrize("population", ["teaching", "testing", "lookalike"])
def test_the_cause_cannot_be_told_from_anything_shown_before_the_evidence(population):
    # One case a shift, so that the observations are independent; the seeds are fixed, so the outcome is.
    observed = []
    for shift in many():
        case = next(case for case in shift.cases if case.population == population)
        observed.append((case.cause, visible(shift, case)))
    fields = observed[0][1].keys()
    p_values = {}
    for field in fields:
        counts = Counter((cause, values[field]) for cause, values in observed)
        seen = sorted({value for _, value in counts}, key=str)
        if len(seen) > 1:
            table = [[counts[cause, value] for value in seen] for cause in recurring_causes()]
            p_values[field] = chi2_contingency(table).pvalue
    assert len(p_values) >= 30
    worst = min(p_values, key=p_values.get)
    assert p_values[worst] * len(p_values) > 0.01, (worst, p_values[worst])


def test_the_test_above_sees_a_cause_that_shows():
    causes = [shift.recurring_cause for shift in many()]
    model = [
        phone_models()[sorted(recurring_causes()).index(cause)] if shift.seed % 3 == 0 else shift.cases[0].phone_model
        for cause, shift in zip(causes, many(), strict=True)
    ]
    counts = Counter(zip(causes, model, strict=True))
    table = [[counts[cause, name] for name in phone_models()] for cause in recurring_causes()]
    assert chi2_contingency(table).pvalue < 1e-6


def test_every_customer_of_a_shift_says_the_same():
    for shift in many()[:100]:
        assert len({case.task["user_scenario"]["instructions"]["reason_for_call"] for case in shift.cases}) == 1


def test_by_default_a_phone_model_tells_no_population():
    counts = Counter((case.population, case.phone_model) for shift in many() for case in shift.cases)
    table = [[counts[population, model] for model in phone_models()] for population in POPULATIONS]
    assert chi2_contingency(table).pvalue > 0.01
    assert {shift.phone_model for shift in many()} == {None}


def test_lookalike_causes_are_balanced_in_blocks_and_differ_within_a_shift():
    for first in range(0, 40, 4):
        shifts = many()[first : first + 4]
        lookalikes = [[case.cause for case in shift.cases if case.population == "lookalike"] for shift in shifts]
        assert all(len(set(causes)) == len(causes) for causes in lookalikes)
        assert Counter(cause for causes in lookalikes for cause in causes) == dict.fromkeys(recurring_causes(), 2)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    return write_shifts(block(), tmp_path / "set.jsonl")


def test_a_set_reads_back_as_it_was_and_writes_the_same_bytes(written, tmp_path):
    assert read_shifts(written) == list(block())
    again = write_shifts(read_shifts(written), tmp_path / "again.jsonl")
    assert again.read_bytes() == written.read_bytes()
    assert shift_paths(again)[1].read_bytes() == shift_paths(written)[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.jsonl",
        "again.manifest.json",
        "set.jsonl",
        "set.manifest.json",
    ]


def test_the_manifest_says_what_made_the_set(written):
    manifest = read_manifest(written)
    assert (manifest["config"], manifest["split"], manifest["num_shifts"]) == (ShiftConfig(), "eval", 4)
    assert manifest["tau2_data"] == backend.installation().data_digest


def lines(path):
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def edited(text):
    place = text.index('"position":3') + len('"position":')
    return text[:place] + "4" + text[place + 1 :]


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda rows: rows[:-1], 4),
        (lambda rows: [], 1),
        (lambda rows: [*rows[:-1], rows[-1][:1000]], 4),
        (lambda rows: [*rows[:-1], rows[-1][:-2]], 4),
        (lambda rows: [rows[0], edited(rows[1]), *rows[2:]], 2),
        (lambda rows: [*rows, rows[0]], 5),
        (lambda rows: [*rows, "\n"], 5),
        (lambda rows: ["{}\n", *rows], 1),
        (lambda rows: [rows[1], rows[0], *rows[2:]], 1),
        (lambda rows: ["not json\n"], 1),
        (lambda rows: [rows[0], *rows[2:]], 2),
    ],
    ids=[
        "truncated",
        "empty",
        "cut",
        "last brace",
        "edited",
        "appended",
        "blank line",
        "prepended",
        "swapped",
        "foreign",
        "missing",
    ],
)
def test_a_damaged_file_names_the_line_and_the_remedy(written, damage, line):
    written.write_text("".join(damage(lines(written))), encoding="utf-8")
    with pytest.raises(DataError, match=rf"set\.jsonl, line {line}: .*taulong generate"):
        read_shifts(written)


@pytest.mark.parametrize(
    "edit",
    [
        lambda manifest: {**manifest, "config": {**manifest["config"], "patience": 12}},
        lambda manifest: {**manifest, "split": "train"},
        lambda manifest: {**manifest, "num_shifts": 3},
        lambda manifest: {**manifest, "lines": manifest["lines"][:3]},
        lambda manifest: {"cells": []},
        lambda manifest: [],
        lambda manifest: {**manifest, "format": "other"},
        lambda manifest: {**manifest, "config": {"patiense": 1}},
    ],
    ids=["config", "split", "count", "lines", "foreign", "list", "format", "field"],
)
def test_an_edited_manifest_is_refused(written, edit):
    path = shift_paths(written)[1]
    path.write_text(json.dumps(edit(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    with pytest.raises(DataError, match=r"set\.manifest\.json: .*taulong generate"):
        read_shifts(written)


def test_a_missing_manifest_or_file_names_it_and_the_near_match(written):
    with pytest.raises(DataError, match=r"sett\.jsonl: .*did you mean 'set'.*taulong generate"):
        read_shifts(written.with_name("sett.jsonl"))
    shift_paths(written)[1].unlink()
    with pytest.raises(DataError, match=r"set\.manifest\.json: no such file.*taulong generate"):
        read_shifts(written)


def test_a_set_of_other_tau2_data_is_refused(written, monkeypatch):
    other = replace(backend.installation(), data_digest="0123456789ab")
    monkeypatch.setattr(backend, "installation", lambda: other)
    with pytest.raises(DataError, match=r"set\.jsonl: made with tau2 data .*0123456789ab.*taulong generate"):
        read_shifts(written)


def test_an_empty_set_is_not_written(tmp_path):
    with pytest.raises(DataError, match="empty"):
        write_shifts([], tmp_path / "set.jsonl")


def test_an_exported_shift_is_graded_by_stock_tau2(tmp_path):
    path = export_tasks(block()[0], tmp_path)
    tasks = backend.load_tasks(str(path))
    assert [task.id for task in tasks] == [case.case_id for case in block()[0].cases]
    stock = backend.registry.get_env_constructor("telecom")

    def environment(solo_mode=False):
        return stock(db=backend.TelecomDB.load(str(tmp_path / "db.json")), solo_mode=solo_mode)

    for task in tasks:
        run, messages = environment(), []
        run.set_state(None, task.initial_state.initialization_actions, [])
        for number, call in enumerate(calls_of(task.evaluation_criteria.actions)):
            call = call.model_copy(update={"id": f"call-{number}"})
            messages += [backend.UserMessage(role="user", tool_calls=[call]), run.get_response(call)]
        assert backend.official_reward(task, messages, environment).reward == 1.0
        assert backend.official_reward(task, [], environment).reward == 0.0


def test_a_table_of_shifts_has_a_row_a_case():
    table = shift_table(block())
    assert len(table) == 32
    assert table["population"].value_counts().to_dict() == {"testing": 16, "teaching": 8, "lookalike": 8}
    assert (table.query("position == 1")["teaching_seen"] == 0).all()
    assert table["case_id"].is_unique


@pytest.mark.parametrize("name", ["", "../x", "sub/x"])
def test_what_is_no_name_of_a_set_is_refused(name):
    with pytest.raises(
        ConfigError, match=r"is no name; accepted: a name, for data/shifts, or a path that ends in .jsonl"
    ):
        shift_paths(name)


def test_a_set_that_is_not_there_says_how_to_make_it():
    with pytest.raises(
        DataError, match=r"smoek.jsonl: no such file of shifts; did you mean 'smoke', or make them with: taulong"
    ):
        read_manifest("smoek")


def test_a_set_that_runs_were_made_of_is_replaced_only_when_that_is_said(tmp_path, monkeypatch, capsys):
    from taulong.runs.config import RunConfig
    from taulong.runs.execution import execute_runs

    monkeypatch.setattr(files, "SHIFTS", tmp_path / "shifts")
    monkeypatch.setattr(command, "RUNS", tmp_path / "runs")
    generate = ["generate", "--name", "mine", "--num-shifts", "1"]
    assert main(generate) == 0
    assert main([*generate, "--patience", "8"]) == 0  # no run was made of it yet
    execute_runs(RunConfig("mine", memory_modes=("none",)), tmp_path / "runs" / "pilot", progress=False, max_cases=1)
    assert main([*generate, "--patience", "8"]) == 0  # the same again
    capsys.readouterr()
    held = (tmp_path / "shifts" / "mine.jsonl").read_bytes()
    assert main(generate) == 2
    assert "'mine' is another set of shifts, which pilot ran" in capsys.readouterr().err
    assert (tmp_path / "shifts" / "mine.jsonl").read_bytes() == held
    assert main([*generate, "--replace"]) == 0
