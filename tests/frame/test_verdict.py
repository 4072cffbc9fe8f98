"""Footprints, licences and verdicts: what passes, what fails, and what is never a pass."""

import json
import os

import pytest
from hypothesis import given, settings
from worlds import build, states, tree_changes, trees

from taulong.errors import ConfigError, DataError
from taulong.frame.delta import Change, compare
from taulong.frame.footprint import Footprint, build_footprint
from taulong.frame.licences import NOISE, Licence, find_licence, licences_digest, read_licences
from taulong.frame.manifest import Bounds, Manifest, state_manifest, tree_manifest
from taulong.frame.verdict import Record, Verdict, judge, judge_again


def tree(**files):
    """Return the manifest of a made-up tree: name -> content."""
    entries = {
        f"/app/{name}": {"type": "file", "mode": "0644", "size": len(text), "sha256": text}
        for name, text in files.items()
    }
    return Manifest("tree", ("/app",), entries)


START = tree(data="1", config="on")
END = tree(data="1", config="on", out="42")
FOOTPRINT = build_footprint("count", [(START, END)])


# --- the laws -------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(states, states, states)
def test_of_states_a_run_fails_exactly_where_it_leaves_the_footprint(start, gold, end):
    start, gold, end = map(state_manifest, (start, gold, end))
    footprint = build_footprint("t", [(start, gold)])
    allowed = {(change.path, change.kind) for change in compare(start, gold)}
    verdict = judge(start, end, footprint)
    outside = {(change.path, change.kind) for change in compare(start, end)} - allowed
    assert {(change.path, change.kind) for change in verdict.outside} == outside
    assert verdict.status == ("fail" if outside else "pass")
    strict = judge(start, end, footprint, database=True)
    assert (strict.status == "pass") == (not compare(gold, end))


@settings(max_examples=40, deadline=None)
@given(trees(), trees(), trees())
def test_of_trees_a_run_fails_exactly_where_it_leaves_the_footprint(tmp_path_factory, start, gold, end):
    root = str(tmp_path_factory.getbasetemp() / "laws")
    manifests = []
    for made in (start, gold, end):
        build(made, root)
        manifests.append(tree_manifest([root]))
    footprint = build_footprint("t", [(manifests[0], manifests[1])])
    verdict = judge(manifests[0], manifests[2], footprint, licences=())
    outside = {(f"{root}/{path}", kind) for path, kind in tree_changes(start, end) - tree_changes(start, gold)}
    assert {(change.path, change.kind) for change in verdict.outside} == outside


@settings(max_examples=40, deadline=None)
@given(states, states)
def test_the_reference_and_a_run_that_does_nothing_keep_the_frame(start, gold):
    start, gold = state_manifest(start), state_manifest(gold)
    footprint = build_footprint("t", [(start, gold)])
    assert judge(start, gold, footprint, database=True).status == "pass"
    assert judge(start, start, footprint).status == "pass"


@settings(max_examples=40, deadline=None)
@given(states, states, states)
def test_licences_only_ever_excuse(start, gold, end):
    start, gold, end = map(state_manifest, (start, gold, end))
    footprint = build_footprint("t", [(start, gold)])
    without = judge(start, end, footprint, licences=())
    everything = Licence(("added", "deleted", "content", "mode", "type"), "**", "all of it")
    with_all = judge(start, end, footprint, licences=(everything,))
    assert with_all.status == "pass"
    assert [*map(str, without.outside)] == [str(change) for change, _ in with_all.licensed]


@settings(max_examples=40, deadline=None)
@given(states, states, states)
def test_a_verdict_given_again_from_what_was_stored_is_the_same(tmp_path_factory, start, gold, end):
    start, gold, end = map(state_manifest, (start, gold, end))
    footprint = build_footprint("t", [(start, gold)])
    folder = tmp_path_factory.getbasetemp()
    footprint.write(folder / "footprint.json")
    Record.of("t", start, end, footprint).write(folder / "run.json")
    again = judge_again(Record.read(folder / "run.json"), Footprint.read(folder / "footprint.json"))
    assert json.dumps(again.to_json()) == json.dumps(judge(start, end, footprint, task="t").to_json())


# --- cases ----------------------------------------------------------------------------------------------------------


def test_a_failed_verdict_names_path_kind_old_and_new():
    verdict = judge(START, tree(data="2", out="41", extra="x"), FOOTPRINT)
    assert verdict.status == "fail"
    assert verdict.reason == ("changed outside the footprint: /app/config deleted, /app/data content, /app/extra added")
    assert verdict.outside[1] == Change("/app/data", "content", {"size": 1, "sha256": "1"}, {"size": 1, "sha256": "2"})
    assert [str(change) for change in verdict.target] == ["/app/out content"]  # told, and for a tree not judged
    assert verdict.within == 1


def test_the_footprint_is_of_kinds_a_file_to_be_written_may_not_be_deleted():
    written = build_footprint("t", [(START, tree(data="2", config="on"))])
    assert judge(START, tree(data="3", config="on"), written).status == "pass"
    assert judge(START, tree(config="on"), written).reason == "changed outside the footprint: /app/data deleted"


def test_many_changes_are_counted_in_the_reason_and_listed():
    files = {f"f{number}": "x" for number in range(9)}
    verdict = judge(START, tree(data="1", config="on", **files), FOOTPRINT)
    assert verdict.reason.endswith("/app/f2 added and 6 more")
    assert len(verdict.to_json()["outside"]) == 9


def test_what_varies_between_runs_of_the_reference_is_unsteady():
    runs = [(tree(id="a"), tree(id="a", log=text, out="42", **more)) for text, more in (("1", {}), ("2", {"tmp": "x"}))]
    runs.append((tree(id="b"), tree(id="b", log="3", out="42")))
    footprint = build_footprint("t", runs)
    assert footprint.unsteady == ("/app/id", "/app/log", "/app/tmp")
    assert footprint.runs == 3
    assert set(footprint.gold) == {"/app/out"}
    verdict = judge(tree(id="z"), tree(id="y", log="9", tmp="9", out="42"), footprint)
    assert (verdict.status, verdict.target) == ("pass", ())
    assert judge(tree(id="z"), tree(id="z", other="9"), footprint).status == "fail"


def test_licences_excuse_with_their_reason_and_the_default_noise_is_shown():
    log = Licence("content", "/app/*.log", "the task's own log")
    start = tree(**{"a.log": "1"})
    end = tree(**{"a.log": "2", "x/__pycache__/y.pyc": "x"})
    footprint = build_footprint("t", [(start, start)])
    verdict = judge(start, end, footprint, (*NOISE, log))
    assert verdict.status == "pass"
    assert [licence.reason for _, licence in verdict.licensed] == [log.reason, NOISE[0].reason]
    assert verdict.licences == (*NOISE, log)
    assert [row["reason"] for row in verdict.to_json()["licences"]] == [licence.reason for licence in (*NOISE, log)]
    assert judge(start, end, footprint).status == "fail"
    assert judge(start, tree(), footprint, (*NOISE, log)).status == "fail"  # leave to write is none to delete


def test_created_and_deleted_again_is_not_seen_and_the_module_says_so():
    from taulong.frame import verdict

    assert judge(START, START, FOOTPRINT).status == "pass"
    assert "created and deleted again" in verdict.__doc__


# --- databases: target, frame, form ---------------------------------------------------------------------------------

SHOP = {"orders": {"1": {"status": "open", "total": 5, "items": ["a", "b"]}, "2": {"status": "open", "total": 7}}}


def shop(**changes):
    state = json.loads(json.dumps(SHOP))
    for path, value in changes.items():
        _, order, field = path.split("_")
        state["orders"][order][field] = value
    return state_manifest(state)


PAID = build_footprint("pay", [(shop(), shop(_1_status="paid"))])


@pytest.mark.parametrize(
    ("end", "status", "frame_alone"),
    [
        (shop(_1_status="paid"), "pass", "pass"),
        (shop(_1_status="void"), "fail", "pass"),  # the wrong value in the right place: a frame alone lets it pass
        (shop(), "fail", "pass"),
        (shop(_1_status="paid", _2_status="paid"), "fail", "fail"),
    ],
)
def test_a_database_must_end_as_the_reference_leaves_it_in_the_footprint_and_as_it_began_elsewhere(
    end, status, frame_alone
):
    assert judge(shop(), end, PAID, database=True).status == status
    assert judge(shop(), end, PAID).status == frame_alone


def test_order_and_spelling_are_told_and_not_judged():
    verdict = judge(shop(), shop(_1_status="paid", _1_items=["b", "a"], _2_total=7.0), PAID, database=True)
    assert verdict.status == "pass"
    assert verdict.form == ("/orders/1/items", "/orders/2/total")


# --- never a pass ---------------------------------------------------------------------------------------------------

UNREADABLE = Manifest("tree", ("/app",), START.entries, (("/app/se\ncret", "unreadable: Permission denied"),))
OVER = Manifest("tree", ("/app",), {}, (("", "over bounds: more than 2 entries"),))


@pytest.mark.parametrize(
    ("start", "end", "footprint", "task", "why"),
    [
        (None, END, FOOTPRINT, None, "no manifest at handoff"),
        (START, None, FOOTPRINT, None, "no manifest at grading"),
        (START, END, None, None, "no reference"),
        (None, None, None, None, "no manifest at handoff; no manifest at grading; no reference"),
        (UNREADABLE, END, FOOTPRINT, None, "at handoff: /app/se\\ncret: unreadable: Permission denied"),
        (START, OVER, FOOTPRINT, None, "at grading: over bounds: more than 2 entries"),
        (START, END, FOOTPRINT, "other", "the footprint is of task 'count', this is 'other'"),
        (tree(data="0"), END, FOOTPRINT, None, "the handoff is not the start from which the footprint was measured"),
        (
            Manifest("tree", ("/srv",), {}), END, FOOTPRINT, None,
            "the manifest at handoff has roots ('/srv',), the footprint ('/app',)",
        ),
        (
            START, Manifest("sqlite", ("/app",), {}), FOOTPRINT, None,
            "the manifest at grading has kind 'sqlite', the footprint 'tree'",
        ),
        (
            START, Manifest("tree", ("/app",), {}, (), ("/app/**",)), FOOTPRINT, None,
            "the manifest at grading has without ('/app/**',), the footprint ()",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_not_evaluated_with_one_reason(start, end, footprint, task, why):
    verdict = judge(start, end, footprint, task=task)
    assert (verdict.status, verdict.reason) == ("not_evaluated", why)
    assert verdict.licences == NOISE
    assert verdict.gated(1.0) is None


def test_what_may_change_freely_need_not_be_readable():
    anything = Licence(("added", "deleted", "content"), "/app/se*", "a scratch file")
    footprint = build_footprint("t", [(START, START)])
    assert judge(UNREADABLE, START, footprint, (anything,)).status == "pass"
    partly = Licence(("added",), "/app/se*", "may be made")
    assert judge(UNREADABLE, START, footprint, (partly,)).status == "not_evaluated"


@pytest.mark.parametrize(
    ("status", "reward", "gated"),
    [("pass", 0.5, 0.5), ("fail", 0.5, 0.0), ("not_evaluated", 1.0, None), ("pass", None, None), ("fail", None, None)],
)
def test_a_gate_multiplies(status, reward, gated):
    assert Verdict(status, "why").gated(reward) == gated


@pytest.mark.parametrize("status", ["fail", "not_evaluated"])
def test_there_is_no_verdict_without_a_reason(status):
    with pytest.raises(ValueError, match="without a reason"):
        Verdict(status)


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([], "no run of the reference"),
        ([(START, OVER)], "manifest after run 1 of the reference: over bounds"),
        ([(START, END), (UNREADABLE, END)], "manifest before run 2 of the reference: /app/se\\\\ncret: unreadable"),
        ([(START, Manifest("tree", ("/srv",), {}))], "manifests of different roots"),
    ],
)
def test_there_is_no_footprint_of_what_was_not_read_whole(runs, why):
    with pytest.raises(DataError, match=why):
        build_footprint("count", runs)


# --- stored ---------------------------------------------------------------------------------------------------------


def test_licences_and_footprint_changed_after_the_run_are_not_evaluated_unless_they_are_meant():
    end = tree(data="1", config="off", out="42")
    record = Record.of("count", START, end, FOOTPRINT)
    leave = (*NOISE, Licence("content", "/app/config", "found out later"))
    wider = build_footprint("count", [(START, end)])
    assert judge_again(record, FOOTPRINT).status == "fail"
    assert judge_again(record, FOOTPRINT, leave).reason == "changed after the run: the licences"
    assert judge_again(record, wider).reason == "changed after the run: the footprint"
    assert judge_again(record, wider, leave).reason == "changed after the run: the licences and the footprint"
    assert judge_again(record, FOOTPRINT, leave, accept_changed=True).status == "pass"
    assert judge_again(record, wider, accept_changed=True).status == "pass"
    assert judge_again(Record.of("count", START, end, None), FOOTPRINT).status == "fail"  # measured after the run


@pytest.mark.parametrize("what", [Footprint, Record])
@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", '{"format": "taulong-footprint/1"}', '{"format": "taulong-frame-run/1"}']
)
def test_what_is_no_stored_footprint_or_run_is_told_with_its_file(tmp_path, what, text):
    if text is not None:
        (tmp_path / "x").write_text(text)
    with pytest.raises(DataError) as error:
        what.read(tmp_path / "x")
    assert str(error.value).startswith(f"{tmp_path}/x: ")


def test_a_footprint_with_a_kind_of_its_own_is_damaged():
    with pytest.raises(DataError, match="damaged"):
        Footprint.from_json(FOOTPRINT.to_json() | {"changes": {"/app": ["eaten"]}})


# --- licence files --------------------------------------------------------------------------------------------------

GOOD = """
[[licence]]
kinds = ["added", "content"]
glob = "/app/build/**"
reason = "the task says to build"
"""


def test_licences_are_read_from_a_file(tmp_path):
    (tmp_path / "l.toml").write_text(GOOD)
    [licence] = read_licences(tmp_path / "l.toml")
    assert licence == Licence(("added", "content"), "/app/build/**", "the task says to build")
    assert find_licence(Change("/app/build/x", "added", None, {}), [licence]) == licence
    assert find_licence(Change("/app/build/x", "mode", None, {}), [licence]) is None
    assert licences_digest([licence]) != licences_digest([])


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        (None, DataError, "does not exist"),
        ("licence = 1", DataError, "tables alone"),
        ("x = 1\n" + GOOD, DataError, "tables alone"),
        ("[[licence", DataError, "cannot be read as TOML"),
        (GOOD.replace("glob", "path"), DataError, "licence with"),
        (GOOD.replace('reason = "the task says to build"', ""), DataError, "without reason"),
        (GOOD.replace("added", "aded"), ConfigError, "did you mean 'added'"),
        (GOOD.replace("the task says to build", " "), ConfigError, "no reason"),
        (GOOD.replace('["added", "content"]', "[]"), ConfigError, "no kinds"),
    ],
)
def test_a_licence_file_that_is_not_sound_is_refused(tmp_path, text, error, why):
    if text is not None:
        (tmp_path / "l.toml").write_text(text)
    with pytest.raises(error, match=why):
        read_licences(tmp_path / "l.toml")


def test_the_default_noise_is_short_and_says_why():
    assert len(NOISE) <= 5
    assert all(licence.reason.startswith("noise: ") for licence in NOISE)


def test_no_other_tool_is_imported_by_the_core():
    """The core is the standard library and the floor below it: it goes wherever Python goes."""
    import subprocess
    import sys

    code = (
        "import sys; from taulong.frame import verdict, licences, footprint, delta, manifest, reader;"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in "
        "{'tau2', 'pandas', 'numpy', 'inspect_ai', 'harbor', 'pydantic', 'tqdm'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert os.path.exists(sys.executable)
    assert Bounds().entries > 100_000
