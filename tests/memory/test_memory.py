"""What an agent is shown of earlier cases, what it may keep, and that no answer key is in it."""

import json
from dataclasses import replace

import pytest
from conversations import (
    EMPTY_NOTEBOOK,
    agent,
    agent_does,
    asks,
    block,
    case_of,
    converse,
    environment_of,
    says,
    shift_of,
)

from taulong.backend import Task
from taulong.cases import agents
from taulong.cases import case as cases
from taulong.cases.agents import ScriptedAgent
from taulong.cases.remembering import MemoryAtWork
from taulong.errors import ConfigError
from taulong.memory.controls import fix_note
from taulong.memory.modes import first_memory
from taulong.memory.names import MEMORY_MODES, second_pass
from taulong.runs.units import Unit, run_unit
from taulong.shifts.causes import corrective_tools, recurring_causes


def prompts(shift, monkeypatch, mode, agent_name="learner"):
    """Run a shift and return (case id, what its agent was given, what its customer was given) a case."""
    seen = []

    class Agent(ScriptedAgent):
        def __init__(self, tools, domain_policy, *more, **options):
            seen.append([domain_policy])
            super().__init__(tools, domain_policy, *more, **options)

    class Customer(cases.ScriptedCustomer):
        def __init__(self, scenario, *more, **options):
            seen[-1].append(str(scenario))
            super().__init__(scenario, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(agents, "ScriptedAgent", Agent)
        patch.setattr(cases, "ScriptedCustomer", Customer)
        run_unit(Unit(shift, mode, agent_name, 0))
    return [(case.case_id, *texts) for case, texts in zip(shift.cases, seen, strict=True)]


def test_an_unknown_memory_mode_names_the_near_match():
    with pytest.raises(ConfigError, match=r"memory_mode: 'notebok'.*did you mean 'notebook'"):
        first_memory("notebok", block()[0])


def test_the_modes_differ_in_text_and_in_what_may_be_written():
    shift = shift_of("break_apn_mms_setting")
    none, notebook, oracle = (MemoryAtWork(first_memory(mode, shift)) for mode in ("none", "notebook", "oracle"))
    assert (none.shown.text, none.shown.writable, none.section) == (None, False, "")
    assert (notebook.shown.text, notebook.shown.writable) == ("", True)
    assert "(empty)" in notebook.section
    assert "at most 2000 characters" in notebook.section
    assert not oracle.shown.writable
    assert oracle.shown.text == "MMS fails: fixed by reset_apn_settings() then reboot_device()"
    assert oracle.shown.text in oracle.section
    assert "write_notebook" not in oracle.section


@pytest.mark.parametrize("length", [2000, 2001, 10_000])
def test_a_text_over_the_cap_is_refused_with_length_and_cap_and_the_old_text_stays(length):
    case = case_of("bad_wifi_calling")
    environment = environment_of(case, EMPTY_NOTEBOOK)
    calls = [agent("write_notebook", text="old"), agent("write_notebook", text="\u00e9" * length)]
    _, (kept, answer) = converse(case, calls, EMPTY_NOTEBOOK, environment)
    assert kept.content == "Notebook replaced (3 of 2000 characters)."
    assert not answer.error
    if length <= 2000:
        assert environment.memory.system.text == "\u00e9" * length
        assert (environment.memory.writes, environment.memory.refusals) == (2, 0)
    else:
        assert str(length) in answer.content
        assert "2000" in answer.content
        assert environment.memory.system.text == "old"
        assert (environment.memory.writes, environment.memory.refusals) == (1, 1)


@pytest.mark.parametrize("mode", ["none", "oracle"])
def test_without_a_writable_notebook_there_is_no_tool_for_it(mode):
    shift = block()[0]
    environment = environment_of(shift.cases[0], first_memory(mode, shift))
    assert "write_notebook" not in environment.tools.tools
    assert environment.get_response(agent("write_notebook", text="x")).error


def test_the_notebook_crosses_cases_and_nothing_else_does(monkeypatch):
    shift = block()[0]
    heard = []

    def dialogue(self):
        heard.append(self.memory.text)
        yield None
        yield asks(agent("write_notebook", text=f"{self.memory.text}x"))
        yield says("I cannot help. Goodbye.")

    agent_does(monkeypatch, dialogue)
    rows = run_unit(Unit(shift, "notebook", "learner", 0))
    assert heard == ["x" * seen for seen in range(8)]
    assert [row["record"]["notebook_length_after"] for row in rows] == list(range(1, 9))
    assert [row["transcript"]["notebook_before"] for row in rows] == heard


def test_a_read_only_memory_is_the_same_in_every_case(monkeypatch):
    shift = block()[0]
    rows = run_unit(Unit(shift, "oracle", "learner", 0))
    note = fix_note(shift.phone_model, shift.recurring_cause)
    assert {row["transcript"]["notebook_after"] for row in rows} == {note}
    assert {(row["record"]["notebook_writes"], row["record"]["fix_in_notebook"]) for row in rows} == {(0, True)}


def gold(shift, case):
    """Return what must not be told: names of the answer key that no policy or tool description has."""
    task = Task.model_validate(case.task)
    criteria = task.evaluation_criteria
    words = {
        case.population,
        "teaching case",
        "testing case",
        "lookalike",
        "recurring",
        shift.shift_id,
        case.case_id,
        "official_reward",
    }
    words |= set(recurring_causes()) | {action.action_id for action in criteria.actions} - corrective_tools()
    words |= {assertion.func_name for assertion in criteria.env_assertions} | {
        "evaluation_criteria",
        "reward_basis",
        '2g_only"',
    }
    return {word for word in words if word}


@pytest.mark.parametrize("mode", ["none", "notebook"])
@pytest.mark.parametrize("cause", list(recurring_causes()))
def test_no_gold_field_reaches_a_prompt_or_the_customer(mode, cause, monkeypatch):
    shift = shift_of(cause)
    for case, (_, policy, scenario) in zip(shift.cases, prompts(shift, monkeypatch, mode, "guesser"), strict=True):
        for word in gold(shift, case):
            assert word not in policy, word
            assert word not in scenario, word
        section = policy.rsplit("<notebook>", 1)[1] if mode == "notebook" else ""
        assert not [tool for tool in corrective_tools() if tool in section + scenario]


@pytest.mark.parametrize("mode", [mode for mode in MEMORY_MODES if not second_pass(mode)])
def test_planted_sentinels_stay_out_of_every_prompt(mode, monkeypatch):
    """Every gold field of a shift is replaced by a word that occurs nowhere else; no prompt may have it."""
    shift = shift_of("bad_wifi_calling")
    planted = []
    for case in shift.cases:
        task = json.loads(json.dumps(case.task))
        task["id"] = "SENTINEL-id"
        task["description"]["purpose"] = "SENTINEL-purpose"
        for action in task["evaluation_criteria"]["actions"]:
            action["action_id"] = "SENTINEL-action"
        for assertion in task["evaluation_criteria"]["env_assertions"]:
            assertion["message"] = "SENTINEL-assertion"
        planted.append(replace(case, case_id="SENTINEL-case", task=task))
    shift = replace(shift, shift_id="SENTINEL-shift", cases=tuple(planted))
    for _, *texts in prompts(shift, monkeypatch, mode):
        assert not [text for text in texts if "SENTINEL" in text]


def test_the_oracles_prompt_differs_from_none_by_its_section_alone(monkeypatch):
    shift = block()[0]
    none, oracle = (prompts(shift, monkeypatch, mode) for mode in ("none", "oracle"))
    for (_, plain, told), (_, policy, also_told) in zip(none, oracle, strict=True):
        assert policy == plain + MemoryAtWork(first_memory("oracle", shift)).section
        assert told == also_told


def test_in_none_permuting_two_cases_leaves_every_prompt_as_it_was(monkeypatch):
    shift = block()[0]
    swapped = list(shift.cases)
    swapped[1], swapped[6] = swapped[6], swapped[1]
    assert sorted(prompts(shift, monkeypatch, "none")) == sorted(
        prompts(replace(shift, cases=tuple(swapped)), monkeypatch, "none")
    )


def test_a_canary_in_one_shifts_notebook_never_appears_in_anothers_transcripts(monkeypatch):
    def dialogue(self):
        yield None
        yield asks(agent("write_notebook", text=f"{self.memory.text}CANARY-{shift_id} "))
        yield says(f"My notebook says: {self.memory.text} Goodbye.")
        yield says("Goodbye, I cannot help.")

    agent_does(monkeypatch, dialogue)
    transcripts = {}
    for shift_id, shift in enumerate(block()):
        transcripts[shift_id] = json.dumps(
            [row["transcript"] for row in run_unit(Unit(shift, "notebook", "learner", 0))]
        )
    for shift_id, text in transcripts.items():
        assert f"CANARY-{shift_id}" in text
        assert not [other for other in transcripts if other != shift_id and f"CANARY-{other}" in text]


def test_what_a_learner_notes_is_what_the_oracle_is_given():
    for shift in block():
        rows = run_unit(Unit(shift, "notebook", "learner", 0))
        oracle = first_memory("oracle", shift).system().contents()
        assert rows[0]["transcript"]["notebook_after"] == oracle
        assert all(oracle in row["transcript"]["notebook_after"] for row in rows)


def test_the_oracle_fits_the_default_cap():
    longest = max(fix_note(shift.phone_model, cause) for shift in block() for cause in recurring_causes())
    assert len(longest) < 200
