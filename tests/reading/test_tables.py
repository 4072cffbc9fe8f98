"""The one look of tables: order, numbers in words, footnotes; and that nothing of a value is lost or becomes markup."""

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import make_records

from taulong.reading import as_table, interval, listed, number, of, p_phrase, p_value, signed
from taulong.value import (
    case_metrics,
    estimates_table,
    lookalike_table,
    memory_contrasts,
    with_owed,
)


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0009, "< .001"), (0.001, ".001"), (0.0234, ".023"), (0.0999, ".100"), (0.25, ".25"), (1.0, "1.00"), (None, "–"), (np.nan, "–")],
)  # fmt: skip
def test_p_values_read_as_in_journals(p, text):
    assert p_value(p) == text


def test_a_p_value_in_a_sentence():
    assert (p_phrase(0.0001), p_phrase(0.03)) == ("p < .001", "p = .030")


@pytest.mark.parametrize(
    ("told", "text"),
    [(of(7, 32), "7 of 32"), (of(np.float64(1688), np.int64(2285)), "1,688 of 2,285"), (of(1.5, 4), "1.50 of 4"),
     (number(None), "–"), (number(np.bool_(True)), "yes"), (number(1234), "1,234"), (number(-0.001), "0.00"), (number(-0.5), "−0.50"),
     (signed(0.004), "0.00"), (signed(-0.5), "−0.50"), (interval(0.75, 0.5, 1.0), "0.75 [0.50, 1.00]"),
     (interval(0.75, None, None, True), "+0.75"), (interval(None, None, None), "–"), (interval(-1.0, -1.5, 0.0, True), "−1.00 [−1.50, 0.00]"),
     (listed("abc"), "a, b and c"), (listed(["a"]), "a"), (listed([]), "none"), (listed("ab", "or"), "a or b")],
)  # fmt: skip
def test_numbers_in_words(told, text):
    assert told == text


@given(st.floats(-2, 2))
def test_a_difference_never_shows_the_sign_of_nothing(value):
    text = signed(value)
    assert text == "0.00" or text[0] == ("+" if value > 0 else "−")
    assert abs(float(text.replace("−", "-")) - value) <= 0.0051


@given(st.randoms(use_true_random=False))
def test_agents_and_modes_stand_in_one_order_however_they_came(generator):
    rows = [(agent, mode) for agent in ("zed", "parrot", "learner", "alice") for mode in ("oracle", "notebook", "none")]
    generator.shuffle(rows)
    frame = pd.DataFrame(rows, columns=["agent", "memory_mode"]).assign(cases=1)
    table = as_table(frame)
    agents = list(dict.fromkeys(row[0] for row in table.rows))
    assert agents == ["learner", "parrot", "alice", "zed"]
    assert [row[1] for row in table.rows[:3]] == ["none", "notebook", "oracle"]
    wide = as_table(frame.pivot_table(index="agent", columns="memory_mode", values="cases", sort=False))
    assert wide.columns == ("agent", "none", "notebook", "oracle")
    assert [row[0] for row in wide.rows] == agents


def test_results_in_the_one_look():
    table = with_owed(make_records(("parrot", "learner"), num_shifts=8))
    metrics = case_metrics(table)
    metrics = metrics[metrics["reward"] != "gated_reward"]
    shown = as_table(
        metrics.pivot_table(
            index=["agent", "memory_mode"], columns="metric", values="count", aggfunc="first", sort=False
        )
    )
    assert shown.columns[:3] == ("agent", "memory mode", "masked env accuracy")
    assert shown.rows[1] == ("learner", "notebook", "32 of 32", "16 of 16", "16 of 16", "0 of 32")
    forest = as_table(
        estimates_table(memory_contrasts(table))[
            ["name", "value", "low", "high", "level", "p_adjusted", "cases", "planned", "note"]
        ]
    )
    assert forest.columns == ("name", "value [95 % interval]", "p adjusted", "cases")
    assert forest.rows[0][1].startswith("+")
    assert "[+" in forest.rows[0][1]
    assert forest.rows[0][3] == "32 of 32"
    agreeing = [row for row in forest.rows if row[0].endswith("¹")]
    assert agreeing
    assert forest.notes == ("¹ all 8 shifts agree; at most 31 % differ (95 %)",)
    cost = as_table(lookalike_table(table))
    assert "partial" not in cost.columns  # nothing stands in it
    assert cost.columns[2:4] == ("gain [95 % interval]", "loss [95 % interval]")


def test_every_value_of_a_frame_is_shown_and_no_row_number():
    generator = random.Random(0)
    frame = pd.DataFrame(
        {"case_id": [f"eval-{at}/1" for at in range(40)], "seed": [generator.randrange(10**6) for _ in range(40)]},
        index=range(900, 940),
    )
    shown = as_table(frame)
    assert shown.columns == ("case id", "seed")
    assert [row[1] for row in shown.rows] == [f"{seed:,}" for seed in frame["seed"]]
    page = shown._repr_html_()
    assert not {*map(str, frame.index)} & {cell for row in shown.rows for cell in row}
    assert page.count("text-align: right") == 41  # the seeds and their head
    assert '<th style="text-align: left" scope="row" class="taulong-text">eval-0/1</th>' in page


def test_a_hostile_value_stays_text():
    page = as_table(pd.DataFrame({"<b>": ["</td><script>alert(1)</script>"], "note": ["<img src=x>"]}))._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page


def test_text_of_a_table_is_in_columns_and_a_long_one_in_blocks():
    short = as_table(pd.DataFrame({"agent": ["learner"], "cases": [7]})).text
    assert short.splitlines() == ["agent    cases", "learner      7"]
    long = as_table(pd.DataFrame({"agent": ["learner"], "said": ["word " * 40]})).text
    assert long.splitlines()[0] == "learner"
    assert all(line.startswith("  ") for line in long.splitlines()[1:])
