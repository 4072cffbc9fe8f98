"""Where what stands in a shift: factors of the configuration, and sets of shifts of the first version."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taulong.errors import ConfigError
from taulong.shifts.configuration import SPLITS, ShiftConfig
from taulong.shifts.files import read_manifest, read_shifts, write_shifts
from taulong.shifts.generation import generate_shift, generate_shifts
from taulong.shifts.identity import phone_models
from taulong.shifts.placement import changed_at, place

FIRST = SPLITS["eval"]


@st.composite
def configs(draw):
    """Configurations, accepted or not, of every combination of factors."""
    marked = draw(st.booleans())
    return {
        "num_cases": draw(st.integers(2, 60)),
        "incident_fraction": draw(st.sampled_from([0.5, 0.75, 1])),
        "teaching_count": draw(st.integers(0, 12)),
        "mark": "model" if marked else "none",
        "masked_lookalikes": marked and draw(st.booleans()),
        "teaching_first": draw(st.booleans()),
        "changes": draw(st.integers(0, 4)),
        "fleets": draw(st.integers(1, 3)) if marked else 1,
    }


@settings(max_examples=300, deadline=None)
@given(configs(), st.integers(0, 5000))
def test_a_placement_has_what_its_configuration_says(values, seed):
    try:
        config = ShiftConfig(**values)
    except ConfigError:
        return
    places = place(config, "eval", FIRST + seed)
    changes = changed_at(config, "eval", FIRST + seed)
    assert Counter(at.population for at in places) == Counter(config.counts)
    assert [at.regime for at in places] == [
        sum(change <= position for change in changes) for position in range(1, config.num_cases + 1)
    ]
    assert len(changes) == config.changes
    assert all(places[change - 1].population == "teaching" for change in changes)
    for regime in range(config.segments):
        stretch = [at for at in places if at.regime == regime]
        assert "testing" in [at.population for at in stretch]
        if regime or (config.teaching_first and config.teaching_count):
            taught = set()
            for at in stretch:
                taught |= {at.fleet} if at.population == "teaching" else set()
                assert at.population != "testing" or at.fleet in taught
    if config.teaching_first and config.teaching_count:
        assert places[0].population == "teaching"


def test_changes_stand_at_every_position_equally_often_and_bring_another_cause():
    config = ShiftConfig(changes=1)
    shifts = generate_shifts(config, num_shifts=60)
    positions = Counter(shift.changed_at for shift in shifts)
    assert len(positions) == 3
    assert len(set(positions.values())) == 1
    for shift in shifts:
        (before,), (after,) = shift.regimes
        assert before != after
        for case in shift.cases:
            assert case.recurring_cause == (before if case.position < shift.changed_at[0] else after)
            assert (case.cause == case.recurring_cause) == (case.population != "lookalike")
            assert shift.causes_at(case.position) == {None: case.recurring_cause}
    for block in (shifts[at : at + 4] for at in range(0, 60, 4)):
        assert len({shift.regimes[1] for shift in block}) == 4


def test_what_is_taught_counts_for_its_fleet_and_regime_alone():
    config = ShiftConfig(100, teaching_count=24, mark="model", fleets=3, changes=2)
    shift = generate_shift(config, "eval", FIRST)
    assert len(shift.cases) == 100
    assert len(set(shift.marks)) == 3
    for case in shift.cases:
        marks = shift.causes_at(case.position)
        if case.population == "lookalike":
            assert case.phone_model not in marks
        else:
            assert marks[case.phone_model] == case.cause == case.recurring_cause
            assert case.phone_model == shift.marks[case.fleet]
        taught = [
            other.position
            for other in shift.cases[: case.position - 1]
            if other.population == "teaching" and (other.fleet, other.regime) == (case.fleet, case.regime)
        ]
        assert shift.teaching_seen(case.position) == len(taught)
        assert shift.teaching_distance(case.position) == (case.position - taught[-1] if taught else None)


def test_a_mark_is_shared_by_the_incidents_alone_and_says_nothing_of_the_cause():
    shifts = generate_shifts(ShiftConfig(mark="model"), num_shifts=400)
    for shift in shifts[:40]:
        models = {case.phone_model for case in shift.cases if case.population != "lookalike"}
        assert models == {shift.phone_model}
        assert shift.phone_model not in {case.phone_model for case in shift.cases if case.population == "lookalike"}
    counts = Counter((shift.recurring_cause, shift.phone_model) for shift in shifts)
    assert len(counts) == 4 * len(phone_models())


def test_without_teaching_first_cases_come_before_any_teaching():
    shifts = generate_shifts(ShiftConfig(teaching_first=False), num_shifts=40)
    assert 0 < sum(shift.cases[0].population == "teaching" for shift in shifts) < 40
    assert any(
        case.population == "testing" and not shift.teaching_seen(case.position)
        for shift in shifts
        for case in shift.cases
    )


def test_a_shift_may_teach_nothing():
    (shift,) = generate_shifts(ShiftConfig(teaching_count=0))
    assert Counter(case.population for case in shift.cases) == {"testing": 6, "lookalike": 2}
    assert shift.teaching_distance(8) is None


@pytest.mark.parametrize(
    "factor",
    [{"mark": "model"}, {"teaching_first": False}, {"changes": 1}, {"teaching_count": 0}],
    ids=lambda factor: next(iter(factor)),
)
def test_a_factor_is_part_of_the_identity_of_a_set_and_reads_back(factor, tmp_path):
    shifts = generate_shifts(ShiftConfig(**factor), num_shifts=2)
    path = write_shifts(shifts, tmp_path / "set.jsonl")
    plain = write_shifts(generate_shifts(num_shifts=2), tmp_path / "plain.jsonl")
    assert read_shifts(path) == shifts
    assert read_manifest(path)["digest"] != read_manifest(plain)["digest"]
    assert read_manifest(path)["config"] == ShiftConfig(**factor)


def test_the_published_design_has_no_factor():
    assert ShiftConfig().factors == {}
    assert ShiftConfig(mark="model", changes=1).factors == {"mark": "model", "changes": 1}


def as_first_version(path: Path) -> None:
    """Rewrite a set of marked shifts as version 0.1 wrote it."""
    from taulong.shifts.files import _digest

    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row |= {"recurring_cause": row.pop("regimes")[0][0], "phone_model": row.pop("marks")[0]}
        del row["changed_at"]
        for case in row["cases"]:
            for name in ("masked", "recurring_cause", "fleet", "regime"):
                del case[name]
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    manifest_path = path.with_suffix(".manifest.json")
    manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    for name in ("mark", "masked_lookalikes", "teaching_first", "changes", "fleets"):
        del manifest["config"][name]
    manifest |= {"format": "taulong-shifts-1", "lines": [_digest(line) for line in lines]}
    del manifest["digest"]
    manifest_path.write_text(json.dumps({**manifest, "digest": _digest(json.dumps(manifest))}), encoding="utf-8")


def test_a_set_of_the_first_version_reads_as_what_it_was(tmp_path):
    shifts = generate_shifts(ShiftConfig(mark="model"), num_shifts=4)
    path = write_shifts(shifts, tmp_path / "old.jsonl")
    as_first_version(path)
    held = read_shifts(path)
    assert held == shifts
    assert read_manifest(path)["config"].factors == {"mark": "model"}
    assert asdict(held[0])["cases"][0]["masked"] is False
