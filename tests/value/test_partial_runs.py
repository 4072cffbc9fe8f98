"""Whatever part of a run is there, every table and figure of it can be made, and what is missing is counted."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synthetic import CAUSES, make_records

import taulong.value as value

WHOLE = make_records(agents=("learner", "meddler"), num_shifts=3)
PLANNED = WHOLE.drop_duplicates("case_id")[
    ["shift_id", "case_id", "split", "seed", "position", "population", "cause", "recurring_cause", "teaching_seen"]
].merge(WHOLE[["agent", "memory_mode"]].drop_duplicates(), how="cross")
ROOT = Path(__file__).parents[2]


def report(table):
    """Make every table and figure of a run."""
    declared = value.memory_contrasts(table) + value.reward_contrasts(table)
    pairs = (
        (value.curve_table(table), value.plot_curves), (value.reward_table(table), value.plot_rewards),
        (value.estimates_table(declared), value.plot_forest), (value.lookalike_table(table), value.plot_lookalikes),
        (value.evidence_table(table, CAUSES), value.plot_evidence), (value.headline_table(table), value.plot_headline),
        (value.cap_table([table.assign(notebook_cap=2000)]), value.plot_caps),
    )  # fmt: skip
    figures = [plot(rows) for rows, plot in pairs]
    value.case_metrics(table), value.shift_rewards(table), value.suspect_cases(table), value.missing_shifts(table)
    for agent in value.agents_with(table, "none", "notebook", "oracle"):
        str(value.headroom_share(table, agent))
        str(value.learning_slope(table, (agent, "notebook"), (agent, "none")))
        str(value.equivalence(table, (agent, "notebook"), (agent, "none"), 0.1))
    [str(found) for found in value.interactions(table)]
    return figures


@st.composite
def subsets(draw):
    """Draw part of a run: rows of any number, some of them unscored, perhaps an arm or a shift missing."""
    kept = draw(st.sets(st.integers(0, len(WHOLE) - 1), max_size=len(WHOLE)) | st.just(set(range(len(WHOLE)))))
    records = WHOLE.loc[sorted(kept)]
    for column in draw(st.sets(st.sampled_from(["agent", "memory_mode", "shift_id", "population"]), max_size=1)):
        records = records[records[column] != draw(st.sampled_from(sorted(WHOLE[column].unique())))]
    records = records.reset_index(drop=True)
    unscored = draw(st.sampled_from(["none", "some", "all"]))
    lost = {"none": records.index < 0, "some": records.index % 3 == 0, "all": records.index >= 0}[unscored]
    records.loc[lost, ["official_reward", "gated_reward"]] = None
    records.loc[lost, "outcome"] = "unscored"
    return records


@given(subsets(), st.booleans())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_table_and_figure_takes_any_part_of_a_run(records, planned):
    before = records.copy()
    table = value.with_owed(records, PLANNED if planned else None)
    assert records.equals(before)
    figures = report(table)
    assert all(figure.caption for figure in figures)
    if planned:
        assert len(table) == len(PLANNED)


def test_a_run_of_which_nothing_is_there_is_all_owed():
    table = value.with_owed(WHOLE.iloc[:0], PLANNED)
    assert (table["outcome"] == "owed").all()
    assert len(report(table)) == 7


DRAW = """
import sys; sys.path.insert(0, "tests")
import hashlib, io, tempfile, pathlib
from test_partial_runs import WHOLE, CAUSES, report
import taulong.value as value
with tempfile.TemporaryDirectory() as folder:
    for at, figure in enumerate(report(value.with_owed(WHOLE))):
        paths = value.save_figure(figure, WHOLE[:0], pathlib.Path(folder) / str(at))
        print(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths))
"""


@pytest.mark.slow
def test_figures_are_the_same_bytes_in_ten_processes():
    code = DRAW.replace('"tests"', f'"{ROOT / "tests"}"').replace(
        "import hashlib", 'sys.path.insert(0, "tests/value"); import hashlib'
    )
    drawn = {
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for _ in range(10)
    }
    assert len(drawn) == 1
