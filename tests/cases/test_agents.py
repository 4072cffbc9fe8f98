"""Agents of one's own, the control modes, and agents whose truth is known."""

import textwrap

import pytest

from taulong.cases.agents import AGENTS, check_agent
from taulong.errors import ConfigError
from taulong.memory.controls import fix_note
from taulong.memory.modes import first_memory
from taulong.memory.names import MEMORY_MODES
from taulong.memory.transcript import CONVERSATION
from taulong.runs.config import RunConfig
from taulong.runs.units import Unit, run_unit
from taulong.shifts.causes import recurring_causes
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts, held_out_cases
from taulong.shifts.identity import ids_of
from taulong.value.metrics import AGENTS as ORDER
from taulong.value.metrics import MODES

OWN = """
    from taulong.cases.agents import REMEDIES, VERIFICATION, ScriptedAgent

    class Stubborn(ScriptedAgent):
        def dialogue(self):
            yield None
            yield self.say(f"{REMEDIES[1].request} {VERIFICATION}")
            while True:
                yield self.say("Goodbye.")
"""


def records(rows):
    return [row["record"] for row in rows]


def masked(rows):
    return [record for record in records(rows) if record["population"] == "testing"]


def test_tables_keep_the_order_of_the_agents_and_modes_there_are():
    assert tuple(ORDER) == tuple(AGENTS)
    assert set(MEMORY_MODES) <= set(MODES)


def test_an_agent_of_ones_own_is_named_by_module_and_class(tmp_path, monkeypatch):
    (tmp_path / "my_agents.py").write_text(textwrap.dedent(OWN))
    monkeypatch.chdir(tmp_path)
    (shift,) = generate_shifts(num_shifts=1)
    wanted = [float(case.cause == "bad_wifi_calling") for case in shift.cases]
    rows = records(run_unit(Unit(shift, "none", check_agent("my_agents:Stubborn"))))
    assert [row["official_reward"] for row in rows] == wanted
    assert {row["agent"] for row in rows} == {"my_agents:Stubborn"}


@pytest.mark.parametrize("name", ["nowhere:Agent", "taulong.cases.agents:Nobody", "lerner", ":Agent"])
def test_an_agent_that_is_not_there_is_refused_by_name(name):
    with pytest.raises(ConfigError, match=f"agents: '{name}'"):
        check_agent(name)


def lookalike_causes(shift):
    return {case.cause for case in shift.cases if case.population == "lookalike"}


def test_misleading_is_the_oracles_note_with_a_fix_that_is_right_for_no_case_of_the_shift():
    for shift in generate_shifts(num_shifts=12):
        rows = run_unit(Unit(shift, "misleading", "learner"))
        (note,) = {row["transcript"]["notebook_before"] for row in rows}
        (cause,) = [cause for cause in recurring_causes() if note == fix_note(None, cause)]
        assert cause not in {shift.recurring_cause} | lookalike_causes(shift)
        assert {record["official_reward"] for record in masked(rows)} == {0.0}
        assert {record["notebook_writes"] for record in records(rows)} == {0}


def test_the_other_controls_are_as_long_as_the_oracles_note_or_like_it_and_never_right():
    guesses = []
    for shift in generate_shifts(num_shifts=4):
        oracle, irrelevant, stale = (
            run_unit(Unit(shift, mode, "learner"))[0]["transcript"]["notebook_before"]
            for mode in ("oracle", "irrelevant", "stale")
        )
        assert len(irrelevant) == len(oracle)
        assert not any(cause.corrective_tool in irrelevant for cause in recurring_causes().values())
        others = {fix_note(None, cause) for cause in recurring_causes() if cause != shift.recurring_cause}
        assert stale in others
        guesses.append([records(run_unit(Unit(shift, mode, "learner"))) for mode in ("none", "irrelevant")])
    scores = [[[row["official_reward"] for row in rows] for rows in pair] for pair in guesses]
    assert all(none == irrelevant for none, irrelevant in scores)  # it tells nothing, so nothing changes


def test_the_old_name_of_a_mode_is_accepted():
    (shift,) = generate_shifts(num_shifts=1)
    assert RunConfig("shifts", memory_modes=("none", "placebo")).memory_modes == ("none", "misleading")
    assert first_memory("placebo", shift) == first_memory("misleading", shift)


def test_transcript_shows_every_earlier_conversation_uncut_and_says_how_long_it_is():
    (shift,) = generate_shifts(num_shifts=1)
    rows = run_unit(Unit(shift, "transcript", "learner"))
    for number, row in enumerate(rows):
        shown = row["transcript"]["notebook_before"]
        assert shown.count(CONVERSATION) == number
        assert row["record"]["notebook_length_before"] == len(shown)
        said = [
            message["content"]
            for earlier in rows[:number]
            for message in earlier["transcript"]["messages"]
            if message.get("content") and message.get("requestor") != "user"
        ]
        assert all(text in shown for text in said)
    assert rows[-1]["record"]["notebook_length_before"] > shift.config.notebook_cap
    assert {record["official_reward"] for record in masked(rows)} == {1.0}


@pytest.mark.parametrize("kind", ["frozen", "frozen_same"])
def test_the_second_pass_runs_testing_cases_on_the_final_notebook_read_only(kind):
    (shift,) = generate_shifts(num_shifts=1)
    unit = Unit(shift, "notebook", "forgetful", second_passes=(kind,))
    rows = run_unit(unit)
    first, second = rows[: len(shift.cases)], rows[len(shift.cases) :]
    final = first[-1]["transcript"]["notebook_after"]
    assert {record["memory_mode"] for record in records(second)} == {kind}
    assert [record["position"] for record in records(second)] == [record["position"] for record in masked(first)]
    assert [record["case_id"] for record in records(second)] == [record["case_id"] for record in masked(first)]
    assert {record["held_out"] for record in records(second)} == {kind == "frozen"}
    assert (
        {row["transcript"]["notebook_before"] for row in second}
        == {row["transcript"]["notebook_after"] for row in second}
        == {final}
    )
    assert not any("write_notebook" in str(row["transcript"]["messages"]) for row in second)
    resumed = run_unit(unit, rows[:10])
    assert records(resumed) == records(rows[10:])


def test_held_out_customers_are_new_and_have_the_same_trouble():
    for shift in generate_shifts(num_shifts=4):
        testing = [case for case in shift.cases if case.population == "testing"]
        held_out = held_out_cases(shift)
        ids = [value for case in (*shift.cases, *held_out) for value in ids_of(case.records)]
        assert len(set(ids)) == len(ids)
        assert [(case.position, case.cause) for case in held_out] == [(case.position, case.cause) for case in testing]


def test_an_agent_that_learns_customers_by_heart_gains_nothing_from_a_frozen_notebook():
    by_mode = {"notebook": [], "frozen": [], "frozen_same": []}
    for shift in generate_shifts(num_shifts=16):
        unit = Unit(shift, "notebook", "probes:Rote", second_passes=("frozen", "frozen_same"))
        for record in records(run_unit(unit)):
            if record["population"] == "testing":
                by_mode[record["memory_mode"]].append(record["official_reward"])
    means = {mode: sum(scores) / len(scores) for mode, scores in by_mode.items()}
    assert abs(means["notebook"] - 0.25) < 3 * (0.25 * 0.75 / 64) ** 0.5
    assert abs(means["frozen"] - 0.25) < 3 * (0.25 * 0.75 / 64) ** 0.5
    assert means["frozen_same"] > 0.8  # it meets customers whose fix it has noted


def test_the_second_pass_needs_the_first(tmp_path):
    shifts = str(write_shifts(generate_shifts(num_shifts=1), tmp_path / "shifts.jsonl"))
    with pytest.raises(ConfigError, match=r"'frozen' is a second pass .* needs 'notebook'"):
        RunConfig(shifts, memory_modes=("none", "frozen"))


@pytest.mark.parametrize(
    ("mode", "truth"),
    [
        ("none", 0.25),
        ("notebook", 0.7 * 0.7 + 0.3 * 0.3 / 3),
        ("oracle", 0.7),
        ("misleading", 0.3 / 3),
        ("transcript", 0.7),
    ],
)
def test_the_forgetful_agents_truth_is_met(mode, truth):
    """It writes, and reads, another fix than it means three times in ten: the truths follow by hand."""
    means = []
    for shift in generate_shifts(num_shifts=32):
        scores = [record["official_reward"] for record in masked(run_unit(Unit(shift, mode, "forgetful")))]
        means.append(sum(scores) / len(scores))
    mean = sum(means) / len(means)
    error = (sum((value - mean) ** 2 for value in means) / (len(means) - 1) / len(means)) ** 0.5
    assert abs(mean - truth) < 3 * error
