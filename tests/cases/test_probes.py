"""What agents with one piece of knowledge score: exactly what they know."""

from functools import cache

import pandas as pd
import pytest

from taulong.draws import Draws
from taulong.runs.units import Unit, run_unit
from taulong.shifts.causes import recurring_causes
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.generation import generate_shifts

DEFAULT = ShiftConfig()
MARKED = ShiftConfig(mark="model")
SELECTIVE = ShiftConfig(mark="model", masked_lookalikes=True)


@cache
def ran(agent, mode="notebook", config=DEFAULT):
    """Return the records of an agent over eight shifts."""
    rows = [row for shift in generate_shifts(config, num_shifts=8) for row in run_unit(Unit(shift, mode, agent))]
    return pd.DataFrame([row["record"] for row in rows])


def rewards(agent, population="testing", **more):
    records = ran(agent, **more)
    return records[records["population"] == population]["official_reward"]


def test_a_mark_that_nobody_needs_makes_lookalikes_cost_nothing():
    for agent in ("probes:Markless", "selective"):
        assert set(rewards(agent, config=MARKED)) == {1.0}
        assert set(rewards(agent, "lookalike", config=MARKED)) == {1.0}
    assert set(rewards("probes:MarkOnly", config=MARKED)) == {1.0}


def test_masked_lookalikes_ask_for_the_mark():
    assert set(rewards("probes:Markless", config=SELECTIVE)) == {1.0}
    assert set(rewards("probes:Markless", "lookalike", config=SELECTIVE)) == {0.0}
    assert set(rewards("selective", config=SELECTIVE)) == {1.0}
    assert list(rewards("selective", "lookalike", config=SELECTIVE)) == list(
        rewards("guesser", "lookalike", config=SELECTIVE)
    )
    assert 0 < rewards("selective", "lookalike", config=SELECTIVE).mean() < 1


def test_without_a_mark_the_phone_model_is_worth_nothing():
    assert set(rewards("probes:Markless")) == {1.0}
    records = ran("probes:MarkOnly")
    testing = records[records["population"] == "testing"]
    assert testing["official_reward"].mean() < 0.6


def test_plain_words_are_kept_and_a_list_of_all_fixes_is_not():
    words, all_four = ran("probes:Words"), ran("probes:AllFour")
    testing = words[words["population"] == "testing"]
    assert testing["fix_in_notebook"].eq(True).all()
    assert testing["official_reward"].eq(1).all()
    testing = all_four[all_four["population"] == "testing"]
    assert testing["fix_in_notebook"].eq(False).all()
    assert list(testing["official_reward"]) == list(rewards("guesser"))


def test_an_agent_cannot_generate_its_shift_from_what_it_is_handed():
    assert list(rewards("probes:Cheat")) == list(rewards("guesser"))


def test_the_cheat_would_see_a_seed_that_is_handed_over(monkeypatch):
    monkeypatch.setattr("taulong.cases.case.Streams", lambda role, *where: _Told(where))
    rows = [row for shift in generate_shifts(num_shifts=4) for row in run_unit(Unit(shift, "none", "probes:Cheat"))]
    assert {row["record"]["official_reward"] for row in rows} == {1.0}


class _Told:
    """Draws that carry the case they are of."""

    def __init__(self, where):
        self.where = where

    def stream(self, role):
        return Draws(role, *self.where)


def test_what_failures_teach_is_what_an_agent_that_ignores_teaching_learns():
    guesses, expected = ran("guesser"), []
    for _, shift in guesses[guesses["population"] == "testing"].groupby("shift_id", sort=False):
        knows = False
        for reward in shift["official_reward"]:
            expected.append(1.0 if knows else reward)
            knows |= reward == 0
    assert list(rewards("probes:FromFailure")) == expected
    assert sum(expected) / len(expected) > 0.5


def test_rote_transfers_nothing_to_another_customer():
    assert list(rewards("probes:Rote")) == list(rewards("guesser"))


@pytest.mark.parametrize(("agent", "stale"), [("parrot", 1.0), ("selective", 0.0)])
def test_after_a_change_a_parrot_applies_the_old_fix_and_a_selective_learner_the_new(agent, stale):
    records = ran(agent, config=ShiftConfig(mark="model", changes=1))
    after = records[(records["population"] == "testing") & (records["regime"] == 1)]
    assert set(after["stale"]) == {bool(stale)}
    assert set(after["official_reward"]) == {1.0 - stale}
    assert records.query("regime == 0")["stale"].isna().all()


def test_a_learner_without_a_mark_recovers_after_the_first_failure():
    records = ran("learner", config=ShiftConfig(changes=1))
    after = records[(records["population"] == "testing") & (records["regime"] == 1)]
    for _, shift in after.groupby("shift_id"):
        assert list(shift["official_reward"]) == [0.0] + [1.0] * (len(shift) - 1)
        assert list(shift["stale"]) == [True] + [False] * (len(shift) - 1)


def test_fleets_ask_for_a_note_each():
    config = ShiftConfig(24, teaching_count=6, mark="model", fleets=3)
    assert set(rewards("selective", config=config)) == {1.0}
    assert rewards("learner", config=config).mean() < 0.6


def test_chance_by_enumeration_is_a_quarter():
    """Each of the four fixes solves the testing cases of the one shift in four whose cause it fixes."""
    causes = [
        case.cause for shift in generate_shifts(num_shifts=8) for case in shift.cases if case.population == "testing"
    ]
    assert {cause: causes.count(cause) / len(causes) for cause in recurring_causes()} == dict.fromkeys(
        recurring_causes(), 0.25
    )
