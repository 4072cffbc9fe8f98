"""The report answers by itself: one file that fetches nothing, below 5 MB, with every conversation it has room for."""

import base64
import gzip
import hashlib
import html
import json
import re
import shutil

import pytest

from taulong.errors import ConfigError, DataError
from taulong.paths import NOTEBOOKS
from taulong.reading import Unmasked, pack, report, write_report, write_view
from taulong.runs import RunConfig, RunFolder, execute_runs
from taulong.shifts import ShiftConfig, generate_shifts, write_shifts
from taulong.value import IncompleteRecords

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that differ in the cap of the notebook alone; in the first one message is hostile."""
    root = tmp_path_factory.mktemp("runs")
    patched = pytest.MonkeyPatch()
    patched.setattr("taulong.shifts.files.SHIFTS", root)
    folders = []
    for cap in (2000, 0):
        write_shifts(generate_shifts(ShiftConfig(notebook_cap=cap), num_shifts=2), root / f"cap-{cap}.jsonl")
        config = RunConfig(str(root / f"cap-{cap}.jsonl"), ("learner", "meddler"), ("none", "notebook"))
        folders.append(execute_runs(config, root / f"run-{cap}").path)
    path = folders[0] / "transcripts.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["messages"][0]["content"] = HOSTILE
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    yield folders
    patched.undo()


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    return write_report(list(map(str, runs)), tmp_path_factory.mktemp("out") / "report.html").read_text()


def block(page, name):
    return re.search(rf'<script type="[^"]+" id="{name}">(.*?)</script>', page, re.DOTALL)[1]


def unpacked(chunk):
    return json.loads(gzip.decompress(base64.b64decode(chunk)))


def test_a_report_is_one_file_that_fetches_nothing(page):
    assert [link for link in re.findall(r'(?:src|href)="([^"]+)"', page) if not link.startswith(("data:", "#"))] == []
    assert len(page) < 5_000_000
    assert page.count("<script>") == 1
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_a_report_says_what_memory_was_worth_how_sure_and_what_the_reward_missed(page):
    first = html.unescape(re.sub(r"<[^>]+>", "", page[page.index("<body") : page.index("<details")]))
    for words in (
        "What memory was worth: run-2000",
        "Answer.",
        "meddler",
        "The official reward is 1 and the gated one 0 in",
        "Not shown.",
    ):
        assert words in first
    assert page[: page.index("<details>")].count("data:image/png;base64,") == 2
    for words in (
        "Memory value against the notebook",
        "tau2_data".replace("_", " "),
        "taulong run",
        "taulong view run-2000",
        "shifts digest",
    ):
        assert words in page


def test_every_case_is_listed_and_opens_a_conversation_that_is_text(page, runs):
    index, records = json.loads(block(page, "taulong-cases")), RunFolder.open(runs[0]).records()
    assert len(index["rows"]) == len(records)
    assert None not in index["places"]
    told = {}
    for row, (chunk, number) in zip(index["rows"], index["places"], strict=True):
        told.setdefault(chunk, unpacked(block(page, f"taulong-chunk-{chunk}")))
        assert f'<div class="taulong-title">{row[0]}</div>' in told[chunk][number]
    whole = "".join(text for texts in told.values() for text in texts)
    assert HOSTILE not in whole + page
    assert html.escape(HOSTILE) in whole
    assert "for the researcher: what it would have said" in whole


def test_what_has_no_room_is_left_out_and_said(runs):
    folder = RunFolder.open(runs[0])
    rows = list(folder.rows().values())
    whole = pack(rows, Unmasked(folder))
    assert whole.left_out == 0
    size = sum(map(len, whole.chunks))
    some = pack(rows, room=size * 4 // 5, missing="not here")
    assert 0 < some.left_out < len(rows)
    assert sum(map(len, some.chunks)) <= size * 4 // 5
    held = [row for row, place in zip(some.rows, some.places, strict=True) if place]
    cells = {row[1:3] + row[4:5] for row in some.rows}
    assert {row[1:3] + row[4:5] for row in held} == cells  # each arm and population has one
    assert pack(rows, room=0).left_out == len(rows)


def test_the_same_runs_give_the_same_bytes_and_no_notebook_is_touched(page, runs, tmp_path):
    before = {path: path.read_bytes() for path in NOTEBOOKS.glob("*.ipynb")}
    assert write_report(list(map(str, runs)), tmp_path / "again.html").read_text() == page
    assert {path: path.read_bytes() for path in NOTEBOOKS.glob("*.ipynb")} == before


def test_a_run_that_is_not_complete_is_refused_or_says_so(runs, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(runs[0], part)
    for name in ("records", "transcripts", "timings"):
        lines = (part / f"{name}.jsonl").read_text().splitlines(keepends=True)
        (part / f"{name}.jsonl").write_text("".join(lines[:-8]))
    with pytest.raises(IncompleteRecords):
        write_report([str(part)], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
    page = write_report([str(part)], tmp_path / "report.html", allow_partial=True).read_text()
    assert "PARTIAL: 56 of 64 planned cases scored" in page
    assert "8 of 64 planned cases have no score" in page
    owed = [row for row in json.loads(block(page, "taulong-cases"))["rows"] if "owed" in row]
    assert len(owed) == 8


def test_wrong_runs_are_named(runs, tmp_path):
    with pytest.raises(DataError, match="did you mean 'run-2000'"):
        write_report([str(runs[0].with_name("run-200"))], tmp_path / "r.html")
    with pytest.raises(ConfigError, match="given twice"):
        write_report([str(runs[0]), str(runs[0])], tmp_path / "r.html")
    with pytest.raises(ConfigError, match="level"):
        write_report([str(runs[0])], tmp_path / "r.html", level=95)


def test_runs_of_other_shifts_stand_one_below_the_other(runs, tmp_path):
    write_shifts(generate_shifts(num_shifts=1, seed_offset=40), runs[0].parent / "other.jsonl")
    other = execute_runs(
        RunConfig(str(runs[0].parent / "other.jsonl"), ("learner",), ("none", "notebook")), runs[0].parent / "other"
    )
    found = report._together([(str(path), report.ReportConfig(str(path))) for path in (*runs, other.path)])
    assert [len(each.caps) for each in found] == [1, 0]
    page = write_report([str(runs[0]), str(other.path)], tmp_path / "r.html").read_text()
    assert page.count("Answer. ") == 2
    assert "<h2>other</h2>" in page


def test_the_page_of_a_run_holds_every_case_in_files_beside_it(runs, tmp_path):
    kept = tmp_path / "cases" / "mine.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    page = write_view(runs[0], tmp_path).read_text()
    index = json.loads(block(page, "taulong-cases"))
    assert index["folder"] == "cases"
    for number in {chunk for chunk, _ in index["places"]}:
        text = (tmp_path / "cases" / f"{number}.js").read_text()
        assert unpacked(re.fullmatch(rf'taulongChunk\({number}, "(.*)"\);\n', text)[1])
    assert len(index["rows"]) == 64
    assert kept.read_text() == "mine"


def test_ten_thousand_cases_make_one_small_page(tmp_path):
    record = {"case_id": "eval-1/1", "agent": "learner", "memory_mode": "none", "trial": 0, "population": "testing", "official_reward": 1.0,
              "gated_reward": 1.0, "policy_check": "pass", "ending": "customer_stop", "commitment": None, "outcome": "scored"}  # fmt: skip
    messages = [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"}]
    rows = [
        {
            "record": {**record, "case_id": f"eval-{at}/1"},
            "transcript": {"case_id": f"eval-{at}/1", "messages": messages},
        }
        for at in range(10_000)
    ]
    packed = pack(rows, folder="cases")
    assert len(packed.html()) < 3_000_000
    assert max(map(len, packed.chunks)) < 200_000
    assert len({place for place in packed.places}) == 10_000
