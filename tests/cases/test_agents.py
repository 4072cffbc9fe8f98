"""Agents of one's own, the control modes, and agents whose truth is known."""

import textwrap

import pytest

from taulong.cases.agents import AGENTS, check_agent
from taulong.errors import ConfigError
from taulong.memory.modes import CONVERSATION, MEMORY_MODES, fix_note
from taulong.runs.config import RunConfig
from taulong.runs.units import Unit, run_unit
from taulong.shifts.causes import recurring_causes
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts
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
    assert MODES == MEMORY_MODES


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


def test_placebo_is_the_oracles_note_with_the_fix_of_another_shift():
    for shift in generate_shifts(num_shifts=4):
        rows = run_unit(Unit(shift, "placebo", "learner"))
        others = {fix_note(shift.phone_model, cause) for cause in recurring_causes() if cause != shift.recurring_cause}
        assert {row["transcript"]["notebook_before"] for row in rows} <= others
        assert {record["official_reward"] for record in masked(rows)} == {0.0}
        assert {record["notebook_writes"] for record in records(rows)} == {0}


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
            if message.get("content")
        ]
        assert all(text in shown for text in said)
    assert rows[-1]["record"]["notebook_length_before"] > shift.config.notebook_cap
    assert {record["official_reward"] for record in masked(rows)} == {1.0}


def test_the_second_pass_runs_the_testing_cases_again_on_the_final_notebook_read_only():
    (shift,) = generate_shifts(num_shifts=1)
    rows = run_unit(Unit(shift, "notebook", "forgetful", second_pass=True))
    first, second = rows[: len(shift.cases)], rows[len(shift.cases) :]
    final = first[-1]["transcript"]["notebook_after"]
    assert {record["memory_mode"] for record in records(second)} == {"frozen"}
    assert [record["position"] for record in records(second)] == [record["position"] for record in masked(first)]
    assert (
        {row["transcript"]["notebook_before"] for row in second}
        == {row["transcript"]["notebook_after"] for row in second}
        == {final}
    )
    assert not any("write_notebook" in str(row["transcript"]["messages"]) for row in second)
    resumed = run_unit(Unit(shift, "notebook", "forgetful", second_pass=True), rows[:10])
    assert records(resumed) == records(rows[10:])


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
        ("placebo", 0.3 / 3),
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
