"""Figures: the numbers they are drawn from, what the caption says, and that any table can be drawn. Never pixels."""

import matplotlib
import matplotlib.text
import numpy as np
import pandas as pd
import pytest
from synthetic import CAUSES, make_records, pair_table

from taulong.value import (
    AGENT_COLOURS,
    FIXED_MODES,
    MODES,
    MixedRecords,
    agent_styles,
    bounded_interval,
    cap_table,
    case_metrics,
    contrast,
    curve_table,
    estimates_table,
    evidence_table,
    headline_table,
    lookalike_table,
    memory_contrasts,
    mode_styles,
    plot_caps,
    plot_curves,
    plot_evidence,
    plot_forest,
    plot_headline,
    plot_lookalikes,
    plot_placement,
    plot_rewards,
    reward_table,
    save_figure,
    suspect_cases,
    with_owed,
)  # fmt: skip

AGENTS = ("learner", "guesser", "parrot", "transferrer", "meddler")


@pytest.fixture(scope="module")
def table():
    return with_owed(make_records(agents=AGENTS, num_shifts=8))


def contrasts(table):
    return estimates_table(memory_contrasts(table))


def caps(table):
    return cap_table(table.assign(notebook_cap=cap) for cap in (0, 500, 2000))


FIGURES = {
    "curves": (curve_table, plot_curves),
    "forest": (contrasts, plot_forest),
    "caps": (caps, plot_caps),
    "rewards": (reward_table, plot_rewards),
    "evidence": (lambda table: evidence_table(table, CAUSES), plot_evidence),
    "lookalikes": (lookalike_table, plot_lookalikes),
}


def test_the_curve_holds_the_accuracies_of_the_records(table):
    curve = curve_table(table).set_index(["agent", "memory_mode", "axis", "x"])
    testing = table[table["population"] == "testing"]
    for axis in ("position", "teaching_seen"):
        for key, rows in testing.groupby(["agent", "memory_mode", axis]):
            point = curve.loc[(*key[:2], axis, key[2])]
            assert point["value"] == rows["official_reward"].mean()
            assert (point["cases"], point["shifts"]) == (len(rows), rows["shift_id"].nunique())
            assert point["low"] <= point["value"] <= point["high"]


def test_the_interval_of_a_point_counts_shifts_not_cases():
    # Two teaching cases seen: a shift with three testing cases, two with one.
    records = pair_table([[1, 1, 1], [1], [0]]).assign(teaching_seen=2)
    point = curve_table(records).set_index(["memory_mode", "axis"]).loc[("notebook", "teaching_seen")]
    assert (point["value"], point["cases"], point["shifts"]) == (0.8, 5, 3)
    assert (point["low"], point["high"]) == bounded_interval(
        np.array([1.0, 1.0, 0.0]), 0.0, 1.0, 0.95, np.array([3, 1, 1])
    )


def test_points_that_all_shifts_agree_on_have_an_interval():
    curve = curve_table(with_owed(make_records(num_shifts=1)))
    assert curve["low"].lt(curve["high"]).all()
    assert curve["high"].le(1).all()
    assert curve["low"].ge(0).all()


def test_a_curve_compares_the_same_cases_in_every_mode():
    records = make_records(num_shifts=3)
    lost = (records["case_id"] == "eval-1000000/2") & (records["memory_mode"] == "oracle")
    curve = curve_table(with_owed(records[~lost]))
    at_two = curve[(curve["axis"] == "position") & (curve["x"] == 2)]
    assert at_two["cases"].tolist() == [2, 2, 2]
    assert set(curve["dropped"]) == {1}
    assert set(curve["partial"]) == {"PARTIAL: 71 of 72 planned cases scored"}


def test_the_gap_between_the_rewards_is_what_the_gate_fails(table):
    gaps = reward_table(table).pivot_table(
        index=["agent", "memory_mode"], columns="reward", values="value", aggfunc="sum"
    )
    difference = (gaps["official_reward"] - gaps["gated_reward"]).groupby("agent").sum()
    assert difference["learner"] == difference["parrot"] == 0
    assert gaps.xs("meddler")["gated_reward"].eq(0).all()
    assert difference["meddler"] > 0


def test_cases_without_a_gated_reward_leave_both_lines():
    records = make_records(num_shifts=3)
    records.loc[(records["case_id"] == "eval-1000000/2") & (records["memory_mode"] == "none"), "gated_reward"] = None
    rows = reward_table(with_owed(records))
    at_two = rows[(rows["memory_mode"] == "none") & (rows["axis"] == "position") & (rows["x"] == 2)]
    assert at_two[["reward", "cases", "dropped"]].values.tolist() == [["official_reward", 2, 1], ["gated_reward", 2, 1]]


def test_memory_value_against_the_cap_is_the_contrast(table):
    row = caps(table).query("agent == 'learner' and notebook_cap == 500").iloc[0]
    found = contrast(table, ("learner", "notebook"), ("learner", "none"))
    assert (row["value"], row["low"], row["high"], row["cases"]) == (found.value, found.low, found.high, 32)


def test_a_sweep_over_caps_may_differ_in_nothing_else(table):
    first = table.assign(notebook_cap=0)
    with pytest.raises(MixedRecords, match="shift_config differs"):
        cap_table([first, table.assign(notebook_cap=500, shift_config="other")])
    with pytest.raises(MixedRecords, match="2 runs have 1 caps"):
        cap_table([first, first])


def stages(table, agent):
    rows = evidence_table(table, CAUSES)
    return rows[rows["agent"] == agent].set_index("stage")["cases"].to_dict()


def test_evidence_is_followed_from_written_to_resolved(table):
    everything = dict.fromkeys(("written", "kept", "applied", "resolved"), 32)
    assert stages(table, "learner") == everything
    assert stages(table, "transferrer") == {**everything, "applied": 0, "resolved": 0}
    guesser = stages(table, "guesser")
    assert guesser["kept"] == 32 > guesser["applied"] == guesser["resolved"] > 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"notebook_writes": 0}, [0, 0, 0, 0]),
        ({"fix_in_notebook": False}, [8, 0, 0, 0]),
        ({"commitment": None}, [8, 8, 0, 0]),
        ({"commitment": "reboot_device", "official_reward": 0.0}, [8, 8, 0, 0]),
        ({"commitment": "set_apn_settings"}, [8, 8, 8, 8]),
        ({"official_reward": 0.0}, [8, 8, 8, 0]),
    ],
)
def test_each_stage_reads_its_field(change, expected):
    records = make_records(modes=("notebook",), num_shifts=2)
    for field, value in change.items():
        records[field] = value
    rows = evidence_table(with_owed(records), CAUSES)
    assert rows["cases"].tolist() == expected
    assert rows["outside"].unique() == [8 if "official_reward" not in change and expected[-1] == 0 else 0]


def test_a_note_written_in_the_case_itself_comes_too_late():
    records = make_records(modes=("notebook",), num_shifts=1)
    records["notebook_writes"] = (records["position"] == 8).astype(int)
    assert evidence_table(with_owed(records), CAUSES)["cases"].tolist() == [0] * 4


def test_a_cause_without_a_tool_is_refused(table):
    with pytest.raises(ValueError, match="corrective_tools: none for bad_wifi_calling"):
        evidence_table(table, {cause: tool for cause, tool in CAUSES.items() if cause != "bad_wifi_calling"})


def test_the_parrot_pays_on_lookalikes_and_the_learner_does_not(table):
    rows = lookalike_table(table).set_index(["agent", "memory_mode"])
    assert rows.loc[("parrot", "notebook"), "loss"] == 1
    assert rows.loc[("learner", "notebook"), "loss"] == 0
    assert rows.loc[("learner", "oracle"), "gain"] == rows.loc[("learner", "notebook"), "gain"] > 0.5
    assert set(rows.index.get_level_values("memory_mode")) == {"notebook", "oracle"}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_its_csv_alone(name, tmp_path):
    compute, plot = FIGURES[name]
    rows = compute(with_owed(make_records(agents=("learner", "parrot"), num_shifts=4)))
    paths = save_figure(plot(rows), rows, tmp_path / "first")
    again = pd.read_csv(paths[2], keep_default_na=True)
    figure = plot(again)
    assert figure.caption == plot(rows).caption
    assert [path.name for path in save_figure(figure, again, tmp_path / "second")] == [
        "second.png",
        "second.pdf",
        "second.csv",
    ]
    for path in paths:
        assert path.read_bytes() == (tmp_path / f"second{path.suffix}").read_bytes(), path.suffix
    assert b"CreationDate" not in paths[1].read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_captions_say_what_the_intervals_are(name, table):
    compute, plot = FIGURES[name]
    caption = " ".join(plot(compute(table)).caption.replace("\u00a0", " ").split())
    assert "8 shifts" in caption
    if name == "evidence":
        assert "no interval" in caption
        assert "n = 32 cases" in caption
    else:
        assert "95 %" in caption
        assert "clustered by shift" in caption


SMALL = {
    "one shift": dict(num_shifts=1),
    "two shifts": dict(num_shifts=2),
    "an unknown agent": dict(agents=("gpt-9", "learner"), num_shifts=2),
    "no oracle": dict(modes=("none", "notebook"), num_shifts=3),
    "all modes": dict(modes=MODES, num_shifts=3),
}


@pytest.mark.parametrize("shape", SMALL)
@pytest.mark.parametrize("name", FIGURES)
def test_small_and_odd_tables_can_be_drawn(name, shape, tmp_path):
    compute, plot = FIGURES[name]
    rows = compute(with_owed(make_records(**SMALL[shape])))
    plot(rows).draw_without_rendering()


@pytest.mark.parametrize("name", FIGURES)
def test_equal_values_can_be_drawn(name):
    compute, plot = FIGURES[name]
    records = make_records(num_shifts=3).assign(official_reward=1.0, gated_reward=1.0)
    plot(compute(with_owed(records))).draw_without_rendering()


@pytest.mark.parametrize("name", FIGURES)
def test_a_partial_table_is_drawn_with_a_title_that_says_so(name):
    compute, plot = FIGURES[name]
    figure = plot(compute(with_owed(make_records(num_shifts=8).drop(index=[1, 2]))))
    texts = [figure.get_suptitle(), *(legend.get_title().get_text() for legend in figure.legends)]
    # Where evidence is lost shows the notebook arm, which is complete here.
    assert any(text.startswith("PARTIAL") for text in texts) is (name != "evidence")


def test_modes_keep_their_order_and_colour(table):
    legend = plot_curves(curve_table(table)).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["none", "notebook", "oracle"]
    assert [line.get_color() for line in legend.get_lines()] == [
        FIXED_MODES[mode]["color"] for mode in ("none", "notebook", "oracle")
    ]


@pytest.mark.parametrize("count", [1, 3, 6, 9, 20])
def test_no_two_names_look_alike_whatever_is_present(count):
    agents = ["learner", *(f"maker/model-{at}" for at in range(count))]
    modes = [*MODES, *(f"mine:Mode{at}" for at in range(count))]
    for names, styles in ((agents, agent_styles(agents)), (modes, mode_styles(modes))):
        assert list(styles) == names
        assert len({style["color"] for style in styles.values()}) == len(names)
    assert agent_styles(agents)["learner"]["color"] == AGENT_COLOURS[0]
    assert {mode: mode_styles(modes)[mode] for mode in FIXED_MODES} == FIXED_MODES


ODD = ("_mine:Agent", "a $x$ b", "$", "openai/gpt-4.1-mini-2025-04-14", "openai/gpt-4.1-2025-04-14")


@pytest.mark.parametrize("name", FIGURES)
def test_names_of_any_kind_are_drawn_as_they_are(name, tmp_path):
    compute, plot = FIGURES[name]
    rows = compute(with_owed(make_records(agents=ODD, modes=("none", "notebook", "_my:Mode"), num_shifts=6)))
    figure = plot(rows)
    save_figure(figure, rows, tmp_path / name)
    texts = [text for text in figure.findobj(matplotlib.text.Text) if text.get_text()]
    assert not any(text.get_parse_math() for text in texts)
    said = "".join(text.get_text() for text in texts).replace("\n", "").replace(" ", "")
    assert [agent for agent in ODD if agent.replace(" ", "") not in said] == []


def test_the_headline_takes_the_agent_that_learns_most_and_the_one_the_gate_fails_most(table):
    rows = headline_table(table)
    assert rows.groupby("panel")["agent"].unique().map(list).to_dict() == {"memory": ["learner"], "reward": ["meddler"]}
    texts = [text.get_text() for panel in plot_headline(rows).axes for text in panel.texts]
    assert {"told the fix 1.00", "with a notebook 1.00", "gated reward 0.00"} <= set(texts)
    assert plot_headline(headline_table(table[table["memory_mode"] == "oracle"])).caption.startswith("No agent")
    with pytest.raises(ValueError, match="did you mean 'learner'"):
        headline_table(table, learns="lerner")


def test_the_placement_shows_every_case():
    cases = make_records(modes=("none",), num_shifts=3)
    figure = plot_placement(cases)
    letters = [text.get_text() for text in figure.axes[0].texts]
    assert letters == list("TELETELE" * 3)


def test_figures_are_white_whatever_the_theme(table):
    with matplotlib.rc_context({"figure.facecolor": "black", "axes.facecolor": "black", "text.color": "white"}):
        figure = plot_caps(caps(table))
    assert np.allclose(figure.get_facecolor(), 1)
    assert np.allclose(figure.axes[0].get_facecolor(), 1)


def owed_arm(records, mode):
    """Return the table of a partial run that owes every case of a mode."""
    keys = ["shift_id", "case_id", "position", "population", "recurring_cause", "teaching_seen", "agent", "memory_mode"]
    return with_owed(records[records["memory_mode"] != mode], records[keys])


WITHOUT = {
    "none alone": lambda: with_owed(make_records(modes=("none",), num_shifts=2)),
    "notebook alone": lambda: with_owed(make_records(modes=("notebook",), num_shifts=2)),
    "no notebook": lambda: with_owed(make_records(modes=("none", "oracle"), num_shifts=2)),
    "notebook owed": lambda: owed_arm(make_records(modes=("none", "notebook"), num_shifts=2), "notebook"),
    "none owed": lambda: owed_arm(make_records(modes=("none", "notebook"), num_shifts=2), "none"),
}
EMPTY = {
    "none alone": {"forest", "caps", "evidence", "lookalikes"},
    "notebook alone": {"forest", "caps", "lookalikes"},
    "no notebook": {"caps", "evidence"},
    "notebook owed": {"curves", "forest", "caps", "evidence", "lookalikes"},
    "none owed": {"curves", "forest", "caps", "lookalikes"},
}


@pytest.mark.parametrize("shape", WITHOUT)
@pytest.mark.parametrize("name", FIGURES)
def test_a_run_without_an_arm_gives_a_table_with_its_columns_and_a_figure_that_says_so(name, shape, table):
    compute, plot = FIGURES[name]
    rows = compute(WITHOUT[shape]())
    assert list(rows) == list(compute(table))
    nothing = rows.empty or bool(rows.get("value", rows.get("share", rows.get("gain"))).isna().all())
    assert nothing is (name in EMPTY[shape])
    figure = plot(rows)
    figure.draw_without_rendering()
    said = {text.get_text() for text in figure.axes[0].texts}
    assert not nothing or said & {"no cases", "nothing to draw"}
    assert figure.caption


@pytest.mark.parametrize("shape", WITHOUT)
def test_the_tables_of_the_notebook_pivot_without_an_arm(shape):
    table = WITHOUT[shape]()
    curve_table(table).pivot_table(index=["agent", "x"], columns="memory_mode", values="value", sort=False).round(3)
    caps(table).pivot_table(index="agent", columns="notebook_cap", values="value", sort=False).round(3)
    evidence = evidence_table(table, CAUSES)
    evidence.pivot_table(index="agent", columns="stage", values="cases", aggfunc="first", sort=False)
    assert len(suspect_cases(table)) <= table["case_id"].nunique()
    assert set(case_metrics(table)["memory_mode"]) == set(table["memory_mode"])


def test_a_note_of_another_trial_is_not_evidence():
    first, second = (make_records(modes=("notebook",), num_shifts=2).assign(trial=trial) for trial in (0, 1))
    second["notebook_writes"] = 0
    rows = evidence_table(with_owed(pd.concat([first, second], ignore_index=True)), CAUSES).set_index("stage")
    assert rows.loc["written", ["cases", "total"]].tolist() == [8, 16]


def test_the_forest_takes_the_colours_of_the_agents(table):
    rows = contrasts(table)
    drawn = [line for line in plot_forest(rows).axes[0].lines if line.get_marker() not in ("None", None, "")]
    shown = rows[~(rows["value"].eq(0) & rows["note"].str.startswith("all "))]
    assert len(shown) < len(rows)
    assert [line.get_color() for line in drawn] == [
        AGENT_COLOURS[AGENTS.index(agent)] for agent in sorted(shown["agent"], key=AGENTS.index)
    ]


def test_what_is_0_in_every_shift_is_counted_and_not_drawn(table):
    rows = contrasts(table)
    figure = plot_forest(rows)
    caption = " ".join(figure.caption.replace("\u00a0", " ").split())
    nothing = rows[rows["value"].eq(0) & rows["note"].str.startswith("all ")]
    guesser = nothing["agent"].eq("guesser").sum()
    assert f"Not drawn, being 0 in every shift: {len(nothing)} contrasts (" in caption
    assert f"guesser {guesser}" in caption
    headings = rows.drop(nothing.index)["agent"].nunique()
    assert len(figure.axes[0].get_yticks()) == len(rows) - len(nothing) + headings
    empty = plot_forest(nothing.reset_index(drop=True))
    assert "Not drawn, being 0 in every shift" in empty.caption.replace("\n", " ")


def test_a_figure_without_cases_says_that_the_run_is_partial():
    records = make_records(num_shifts=2)
    curve = curve_table(with_owed(records[records["memory_mode"] == "none"], records))
    assert curve["value"].isna().all()
    assert "8 of 8 pairs dropped" in curve["note"][0]
    assert plot_curves(curve).get_suptitle() == "PARTIAL: 16 of 48 planned cases scored"


def test_contrasts_of_no_family_can_be_drawn_again_from_their_csv(table, tmp_path):
    rows = estimates_table([contrast(table, ("learner", "notebook"), ("learner", "none"))])
    rows.to_csv(tmp_path / "one.csv", index=False)
    assert plot_forest(pd.read_csv(tmp_path / "one.csv")).caption == plot_forest(rows).caption


def test_the_lookalike_figure_counts_both_populations(table):
    caption = " ".join(plot_lookalikes(lookalike_table(table)).caption.replace("\u00a0", " ").split())
    assert "n = 32 testing cases" in caption
    assert "n = 16 lookalikes" in caption


def test_one_cap_is_said_to_be_one(table):
    assert "one cap" in " ".join(plot_caps(cap_table([table.assign(notebook_cap=500)])).caption.split())
