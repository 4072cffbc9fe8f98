"""Answers: every number of a sentence is one of the results, and another result is another sentence."""

import re

import pytest
from synthetic import make_records, pair_table

from taulong.reading import (
    audit_answer,
    memory_answer,
    regrade_answer,
    runs_answer,
    shifts_answer,
    tour_answer,
)
from taulong.value import contrast, memory_contrasts, reward_contrasts, with_owed


def answered(records):
    table = with_owed(records)
    return memory_answer(table, memory_contrasts(table), reward_contrasts(table))


def test_memory_is_worth_what_the_contrast_says():
    records = make_records(("learner", "guesser"), num_shifts=12)
    (contrast,) = [
        one
        for one in memory_contrasts(with_owed(records))
        if one.name == "learner: notebook - none" and one.population == "testing"
    ]
    text = answered(records).text
    assert f"+{contrast.value:.2f} [+{contrast.low:.2f}, +{contrast.high:.2f}] for learner (p < .001)" in " ".join(
        text.split()
    )
    assert "95 % interval over 12 shifts" in text
    assert "no difference is shown for guesser" in " ".join(text.split())
    assert "say nothing of a model" in " ".join(text.split())


@pytest.mark.parametrize("values", [[[1], [1], [1]], [[-1], [-1], [-1]]])
def test_where_all_shifts_agree_that_is_said(values):
    table = with_owed(pair_table(values, base=0.0 if values[0][0] > 0 else 1.0))
    worth = contrast(table, ("learner", "notebook"), ("learner", "none"))
    text = " ".join(memory_answer(table, [worth], []).text.split())
    assert f"t changed in every shift alike for learner, by {'+1.00' if values[0][0] > 0 else '−1.00'}" in text
    assert "too few shifts" in text


def test_what_the_gate_does_not_grant_is_counted_and_named():
    records = make_records(("learner", "meddler"), num_shifts=8)
    paid = int(((records["official_reward"] == 1) & (records["gated_reward"] == 0)).sum())
    solved = int((records["official_reward"] == 1).sum())
    assert f"{paid} of {solved} solved cases (meddler: {paid})" in " ".join(answered(records).text.split())
    honest = answered(records[records["agent"] == "learner"])
    assert "missed nothing that a gate objects to" in " ".join(honest.text.split())


def test_a_misleading_note_costs_on_lookalikes():
    text = " ".join(answered(make_records(("parrot",), num_shifts=8)).text.split())
    assert "On lookalikes, where the note misleads, it changed accuracy by −1.00 [−1.00, " in text


def test_an_agent_without_a_notebook_has_no_memory_value():
    assert "no memory value" in answered(make_records(modes=("none", "oracle"), num_shifts=3)).text


def test_an_owed_case_is_said():
    assert "1 of 288 planned cases have no score" in " ".join(
        answered(make_records(num_shifts=12).iloc[:-1]).text.split()
    )


METRICS = {
    "planned": 100, "scored": 90, "solved": 80, "cases_nobody_solved": 3, "endings": {"transfer": 20, "customer_stop": 70},
    "official_1_gated_0": {"meddler": 7, "learner": 0},
}  # fmt: skip


def test_a_run_in_words():
    text = " ".join(runs_answer(METRICS).text.split())
    for words in ("90 of 100 planned cases", "the other 10 have no score", "70 ended by customer stop and 20 ended by transfer", "7 of 80 solved cases",
                  "(meddler: 7)", "3 cases nobody solved"):  # fmt: skip
        assert words in text
    assert "other" not in runs_answer({**METRICS, "scored": 100}).sentences[0]


def test_shifts_in_words():
    metrics = {"shifts": 4, "cases": 32, "populations": {"teaching": 8, "testing": 16, "lookalike": 8}, "different_complaints": 1,
               "recurring_causes": {"a": 1, "b": 3}, "leaks": {"cause": 0, "corrective tool": 0}}  # fmt: skip
    text = " ".join(shifts_answer(metrics).text.split())
    assert "none of the 32 cases shows any of cause and corrective tool" in text
    told = " ".join(shifts_answer({**metrics, "leaks": {"cause": 5, "corrective tool": 0}}).text.split())
    assert "5 cases show their cause: the cause is given away" in told


def test_the_audit_in_words():
    metrics = {
        "failed": {f"{grader}, {kind}": 11 * at + len(kind) for at, grader in enumerate(("official", "scope_gate", "policy_check")) for kind in ("unlicensed", "benign")},
        "runs": {"unlicensed": 1000, "benign": 50, "undone": 77}, "reference_rejected_by": {"stock gold": 1688, "tasks": 2285, "synced gold": 0},
        "mutated_tasks": 20,
    }  # fmt: skip
    text = " ".join(audit_answer(metrics).text.split())
    assert "stock gold rejects 1,688 of 2,285 correct runs" in text
    assert "fails 10; the scope gate fails 21 and the policy check 32" in text


def test_regraded_runs_and_the_tour_in_words():
    counts = {"rows": 9, "graded": 8, "void": 1, "official_as_recorded": 8, "reward_1": 6, "scope_gate_fails": 3, "out_of_scope": 2, "forbidden": 1,
              "excused": 2, "policy_check_fails": 4, "policy_check_fails_on_conduct_alone": 1}  # fmt: skip
    assert "Of 6 runs with official reward 1 the scope gate fails 3: 2 changed" in " ".join(
        regrade_answer(counts).text.split()
    )
    metrics = {"testing_accuracy": {"none": 0.25, "notebook": 1.0, "oracle": 1.0}, "shift_reward": {"none": 5.0, "notebook": 8.0, "oracle": 8.0},
               "meddled_official_reward": 1.0, "meddled_gated_reward": 0.0}  # fmt: skip
    text = " ".join(tour_answer(metrics).text.split())
    assert "25 % without memory, 100 % with a notebook" in text
    assert "the gated reward of the same case is 0.0" in text


def test_an_answer_is_html_and_text_that_say_the_same():
    answer = runs_answer(METRICS)
    page = re.sub(r"<style>.*</style>|<[^>]+>", " ", answer._repr_html_(), flags=re.S)
    assert " ".join(page.split()) == " ".join(answer.text.split())
