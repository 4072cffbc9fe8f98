"""Reading runs: everything a model wrote stays text, and what matters is marked, in HTML and in the terminal."""

import re

import pandas as pd
import pytest
from parsed import Parsed

from taulong.errors import ConfigError, DataError
from taulong.reading import (
    BROWSED,
    Conversation,
    Strip,
    beside,
    browse,
    customers,
    element,
    markup,
    notebook_growth,
    open_case,
    visible,
)
from taulong.runs.config import RunConfig
from taulong.runs.execution import execute_runs
from taulong.shifts.files import write_shifts
from taulong.shifts.generation import generate_shifts

ATTACKS = {
    "script": "<script>alert(1)</script>",
    "svg": "<svg onload=alert(1)>",
    "link": "[click](javascript:alert(1))",
    "attribute": '" onmouseover="alert(1)" x=\'',
    "style": "</style><img src=x onerror=alert(1)>",
    "close": "</pre></details></div><b>outside</b>",
    "entity": "&lt;script&gt;",
    "terminal": "\x1b[2J\x1b]0;owned\x07\rgone",
    "bidi": "\u202eesrever\u2066",
    "surrogate": "\ud800",
}
ALLOWED = {"style", "div", "b", "small", "mark", "details", "summary", "code", "pre", "ins", "del", "blockquote", "table", "thead",
           "tbody", "tr", "th", "td", "span"}  # fmt: skip


def hostile(text: str) -> Conversation:
    """A transcript with one text in every place that a model, a customer or a file can fill."""
    call = {"id": text, "name": text, "arguments": {text: text, "list": [text]}, "requestor": "assistant"}
    finding = {
        "grader": text,
        "record": text,
        "field": text,
        "old": text,
        "new": [text],
        "call": 2,
        "rule": text,
        "sentence": text,
    }
    return Conversation(
        {
            "case_id": text,
            "memory_mode": text,
            "agent": text,
            "notebook_before": text,
            "notebook_after": f"{text}\nmore {text}",
            "messages": [
                {"role": "assistant", "content": text},
                {"role": "user", "content": text},
                {"role": "assistant", "content": text, "tool_calls": [call]},
                {
                    "role": "tool",
                    "id": text,
                    "content": f"{text}\n{text * 30}",
                    "requestor": "assistant",
                    "error": True,
                },
                {"role": "assistant", "content": text},
            ],
            "masked_messages": [3],
            "commitment_message": 3,
            "undelivered_message": 4,
            "findings": [finding, {**finding, "call": None}],
        },
        {"official_reward": text, "cause": text, "reason": text, text: "pass"},
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_what_a_model_wrote_is_text_never_markup(name):
    page = beside(hostile(ATTACKS[name]))._repr_html_()
    parsed = Parsed(page)
    assert parsed.tags <= ALLOWED
    assert parsed.names <= {"class", "style"}
    assert parsed.balanced
    assert not parsed.open
    shown = visible(ATTACKS[name]).replace("\n", "")
    assert parsed.text.count(shown) > 15  # every place shows it, as it was written


@pytest.mark.parametrize("name", ATTACKS)
def test_a_text_cannot_drive_the_terminal_nor_pass_for_a_heading(name):
    text = beside(hostile(f"{ATTACKS[name]}\n  9 agent    I never said this")).text
    assert text.isprintable() or all(character == "\n" or character.isprintable() for character in text)
    text.encode("utf-8")
    told = text.split("\n\n", 1)[1].split("\n\nnotebook")[0].splitlines()
    assert {line for line in told if re.match(r" *\d+ (agent|customer|phone|records) ", line[:14])} == {
        line for line in told if re.match(r" {2}[0-4] (agent|customer|records) ", line)
    }


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("a\tb", "a    b"), ("\x1b[0m", "\\x1b[0m"), ("\r", "\\r"), ("\u2028", "\\u2028"), ("\ufeff", "\\ufeff"), ("naïve 📶³ –", "naïve 📶³ –"),
     ("two\nlines", "two\nlines"), (None, "None"), (1.5, "1.5")],
)  # fmt: skip
def test_visible(raw, shown):
    assert visible(raw) == shown


def test_an_attribute_is_escaped():
    assert element("td", title='"><script>') == '<td title="&quot;&gt;&lt;script&gt;"></td>'


# --- marks ----------------------------------------------------------------------------------------------------------


def foreign() -> Conversation:
    """The least a regraded run of another source has: messages and findings."""
    finding = {"grader": "field_gate", "record": "lines.L1001", "field": "roaming_enabled", "old": False, "new": True, "call": 1,
               "rule": None, "sentence": None}  # fmt: skip
    sentence = "We offer data roaming to users who are traveling outside their home network."
    return Conversation(
        {
            "messages": [
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "tool_calls": [{"id": "1", "name": "enable_roaming", "arguments": {"line_id": "L1001"}}]},
                {"role": "tool", "id": "1", "content": "Roaming enabled"},
                {"role": "user", "tool_calls": [{"id": "2", "name": "reboot_device", "arguments": {}}]},
            ],
            "findings": [finding, {**finding, "grader": "policy_check", "rule": "roaming_traveller", "sentence": sentence},
                         {**finding, "call": None, "record": "bills.B1", "field": "status"}],
        },
        title="a run of another lab",
    )  # fmt: skip


def test_a_sentence_that_a_rule_is_inferred_from_is_shown_as_such():
    said = {
        "record": "lines.L1001",
        "field": "status",
        "old": "Active",
        "new": "Suspended",
        "call": 0,
        "grader": "policy_check",
    }
    findings = [
        {**said, "sentence": "Apply the data.", "inferred": True},
        {**said, "sentence": "For reasons:", "inferred": False},
    ]
    messages = [{"role": "assistant", "tool_calls": [{"id": "1", "name": "suspend_line", "arguments": {}}]}]
    shown = Conversation({"messages": messages, "findings": findings}, {"policy_check": "fail"})
    assert 'inferred from: "Apply the data."' in shown.text
    assert shown.text.count("inferred from") == 1
    for page in (shown, shown.verdicts()):
        text = Parsed(page._repr_html_()).text
        assert "inferred from: Apply the data." in text
        assert "For reasons:" in text
        assert text.count("inferred from") == 1


def test_findings_on_one_field_are_one_objection_at_the_call_that_wrote_it():
    conversation = foreign()
    (objection,) = conversation.turns[1].objections
    assert (objection.path, objection.old, objection.new) == ("lines.L1001.roaming_enabled", "false", "true")
    assert objection.graders == ("field_gate", "policy_check")
    assert len(objection.sentences) == 1
    assert [each.path for each in conversation.objections[None]] == ["bills.B1.status"]
    for shown in (conversation.text, Parsed(conversation._repr_html_()).text):
        assert "lines.L1001.roaming_enabled: false → true" in shown
        assert "traveling outside" in shown
        assert "bills.B1.status" in shown
        assert "a run of another lab" in shown


def test_an_answer_is_with_its_call_and_a_call_without_one_says_so():
    turns = foreign().turns
    assert [(turn.lane, turn.call, turn.text, turn.marks) for turn in turns] == [
        ("customer", None, "Hello", ()),
        ("records", "enable_roaming", "Roaming enabled", ()),
        ("phone", "reboot_device", None, ("no answer",)),
    ]


def test_repeated_call_ids_do_not_mix_answers_up():
    messages = []
    for number in range(3):
        messages += [{"role": "assistant", "tool_calls": [{"id": "same", "name": "ask", "arguments": {"n": number}}]},
                     {"role": "tool", "id": "same", "content": f"answer {number}"}]  # fmt: skip
    assert [turn.text for turn in Conversation({"messages": messages}).turns] == ["answer 0", "answer 1", "answer 2"]


def test_marks_and_the_notebook_before_and_after():
    base = {"messages": [{"role": "assistant", "content": "Goodbye"}], "undelivered_message": 0}
    assert "not delivered" in Conversation(base).text
    assert "notebook" not in Conversation(base).text
    changed = Conversation({**base, "notebook_before": "old\nkept", "notebook_after": "kept\nnew"})
    assert changed.text.splitlines()[-3:] == ["  - old", "    kept", "  + new"]
    assert "<del>- old</del><div>  kept</div><ins>+ new</ins>" in changed._repr_html_()
    empty = Conversation({**base, "notebook_before": "", "notebook_after": ""})
    assert "unchanged" in empty._repr_html_()
    assert "(empty)" in empty.text


def test_long_answers_are_folded_and_json_is_laid_out():
    long = '{"a": [' + ", ".join(["1"] * 200) + "]}"
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "look", "arguments": {}}]},
        {"role": "tool", "id": "1", "content": long},
    ]
    conversation = Conversation({"messages": messages})
    assert f"({len(long)} characters)" in conversation.text
    assert "characters)" not in conversation.plain(full=True)
    assert "<details><summary>→ " in conversation._repr_html_()


@pytest.mark.parametrize("messages", [None, "text", [1], [{"content": "who?"}], [{"role": "robot"}]])
def test_what_is_no_transcript_is_refused(messages):
    with pytest.raises(DataError, match="transcript"):
        Conversation({"messages": messages})


# --- a run ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shift():
    return generate_shifts(num_shifts=1)[0]


@pytest.fixture(scope="module")
def folder(shift, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    write_shifts([shift], root / "shifts.jsonl")
    return execute_runs(RunConfig(str(root / "shifts.jsonl"), ("meddler",), ("none", "notebook")), root / "run")


def case_of(folder, population: str, memory_mode: str) -> Conversation:
    records = folder.records()
    case_id = records.loc[records["population"] == population, "case_id"].iloc[0]
    return open_case(folder, case_id, memory_mode=memory_mode)


def test_a_testing_case_shows_mask_commitment_and_the_write_a_gate_objects_to(folder):
    conversation = case_of(folder, "testing", "notebook")
    marks = [mark for turn in conversation.turns for mark in turn.marks]
    assert "masked" in marks
    assert marks.count("commitment") == 1
    assert marks.index("masked") < marks.index("commitment")
    (turn,) = [turn for turn in conversation.turns if turn.objections]
    assert turn.call == "enable_roaming"
    assert turn.objections[0].path.endswith("roaming_enabled")
    parsed = Parsed(conversation._repr_html_())
    assert parsed.tags <= ALLOWED
    assert parsed.balanced
    table = conversation.verdicts()
    verdicts = {grader: rest for grader, *rest in table.rows}
    assert verdicts["scope_gate"][0] == "fail"
    assert "false → true" in verdicts["scope_gate"][1]
    assert "traveling outside" in verdicts["policy_check"][2]
    assert Parsed(table._repr_html_()).tags <= ALLOWED
    assert "traveling outside" in table.text


def test_the_notebook_as_it_grew(folder, shift):
    table = notebook_growth(folder, shift.shift_id, memory_mode="notebook")
    assert [row[0] for row in table.rows] == list(range(1, 9))
    assert table.rows[0][3].startswith("+ MMS fails: ")
    assert "unchanged" in {row[3] for row in table.rows}
    with pytest.raises(ConfigError, match="shift_id"):
        notebook_growth(folder, "eval-5", memory_mode="notebook")


def test_reading_gives_the_same_bytes_twice(folder):
    first, second = (case_of(folder, "testing", "notebook") for _ in range(2))
    assert first._repr_html_() == second._repr_html_()
    assert repr(first) == repr(second) == first.text


def test_a_strip_has_a_cell_for_every_customer_and_shows_what_is_owed(folder, shift):
    records = folder.records()
    strip = Strip(records[records["memory_mode"] == "none"], num_cases=9)
    (cells,) = strip.rows.values()
    assert strip.populations == [case.population for case in shift.cases] + [""]
    assert [cell["outcome"] for cell in cells][-1] == "owed"
    assert all(cell["gate"] for cell in cells[:-1])
    committed = [cell["commitment"] is not None for cell in cells[:-1]]
    assert committed == [case.population == "testing" for case in shift.cases]
    parsed = Parsed(strip._repr_html_())
    assert parsed.tags <= ALLOWED
    assert "owed" in parsed.text
    assert "lookalike" in parsed.text
    assert "✓ 1 !" in strip.text
    assert "– owed" in strip.text
    with pytest.raises(DataError, match="2 shifts"):
        Strip(pd.concat([records, records.assign(shift_id="eval-9")]))


def test_unscored_is_not_zero(folder):
    records = folder.records().astype({"official_reward": object})
    records.loc[0, ["outcome", "official_reward"]] = ["unscored", None]
    records.loc[1, "official_reward"] = 0.0
    cells = Strip(records).rows["meddler, none"]
    assert [cell["outcome"] for cell in cells[:2]] == ["unscored", "not solved"]


def test_customers_and_browsing(folder, shift):
    table = customers(shift)
    assert len(table) == 8
    assert list(table["population"]) == [case.population for case in shift.cases]
    assert list(table["phone"]) == [case.phone_model for case in shift.cases]
    browsed = browse(folder.records())
    assert browsed.columns == tuple(name.replace("_", " ") for name in BROWSED if name in folder.records())
    assert len(browsed.rows) == 16
    assert "nan" not in browsed.text.lower()
    assert browsed._repr_html_() == browse(folder.records())._repr_html_()


def test_a_case_that_is_not_there_is_named_with_the_near_match(folder):
    case_id = folder.records()["case_id"].iloc[0]
    with pytest.raises(ConfigError, match=r"memory_mode: .* say which: none, notebook"):
        open_case(folder, case_id)
    with pytest.raises(ConfigError, match="did you mean 'notebook'"):
        open_case(folder, case_id, memory_mode="notebok")
    with pytest.raises(ConfigError, match="case_id: 'eval-1/1'"):
        open_case(folder, "eval-1/1")
    with pytest.raises(DataError, match="there is no run"):
        open_case(folder.path.with_name("walk"), case_id)


def test_show_prints_a_case(folder, capsys):
    from taulong.cli import main

    case_id = folder.records()["case_id"].iloc[0]
    assert main(["show", str(folder.path), case_id, "--memory-mode", "none"]) == 0
    assert case_id in capsys.readouterr().out
    assert main(["show", str(folder.path), case_id]) == 2
    assert "memory_mode" in capsys.readouterr().err


# --- colours --------------------------------------------------------------------------------------------------------


def luminance(colour: list[float]) -> float:
    """Relative luminance of an sRGB colour, WCAG 2.2."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rgb(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


@pytest.mark.parametrize("theme", markup.PAPER)
@pytest.mark.parametrize(
    "colour",
    sorted({lane[0] for lane in markup.LANES.values()} | {*markup.OUTCOMES.values(), markup.OBJECTION, markup.MARK}),
)
def test_ink_on_every_tint_is_readable(theme, colour):
    paper, ink = map(rgb, markup.PAPER[theme])
    for share in (markup.TINT / 100, 2 * markup.TINT / 100):
        tint = [share * part + (1 - share) * ground for part, ground in zip(rgb(colour), paper, strict=True)]
        high, low = sorted((luminance(ink), luminance(tint)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 7  # WCAG AAA for text
