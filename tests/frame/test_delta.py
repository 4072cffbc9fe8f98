"""The delta finds exactly what differs, in states, trees and SQLite files."""

import copy
import datetime
import enum
import json
import os
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import build, states, tree_changes, trees

from taulong.errors import DataError
from taulong.frame.delta import Change, compare, same, shown, spelled_otherwise
from taulong.frame.manifest import Manifest, sqlite_manifest, state_manifest, tree_manifest


def pointer(path):
    """Return the JSON pointer (RFC 6901) of a list of keys."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)


def entries(state, path=()):
    """Return pointer -> value (of a dict: what it is alone), which is what the delta is defined on."""
    found = {pointer(path): dict if isinstance(state, dict) else state}
    for key, value in state.items() if isinstance(state, dict) else ():
        found |= entries(value, (*path, key))
    return found


def expected(first, second):
    """Return the (path, kind) in which two states differ."""
    first, second = entries(first), entries(second)
    changes = {(path, "added") for path in second.keys() - first.keys()}
    changes |= {(path, "deleted") for path in first.keys() - second.keys()}
    for path in first.keys() & second.keys():
        old, new = first[path], second[path]
        if (old is dict) != (new is dict):
            changes.add((path, "type"))
        elif old is not dict and not same(old, new):
            changes.add((path, "content"))
    return changes


def found(first, second):
    return {(change.path, change.kind) for change in compare(state_manifest(first), state_manifest(second))}


@settings(max_examples=40, deadline=None)
@given(states, states)
def test_of_two_states_it_finds_exactly_what_differs(first, second):
    assert found(first, second) == expected(first, second)


@settings(max_examples=40, deadline=None)
@given(states, st.data())
def test_one_value_changed_anywhere_is_the_one_change_found(state, data):
    paths = [path for path, value in entries(state).items() if value is not dict]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    other, place = copy.deepcopy(state), None
    keys = [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:]]
    place = other
    for key in keys[:-1]:
        place = place[key]
    old = place[keys[-1]]
    place[keys[-1]] = new = data.draw(st.sampled_from(["otherwise", 10**30 + 1]).filter(lambda new: not same(old, new)))
    [change] = compare(state_manifest(state), state_manifest(other))
    assert (change.path, change.kind) == (path, "content")
    assert same(change.old, old)
    assert same(change.new, new)


@settings(max_examples=40, deadline=None)
@given(states)
def test_a_state_equals_itself_copied_stored_and_packed(state):
    manifest = state_manifest(state)
    assert not compare(manifest, state_manifest(copy.deepcopy(state)))
    stored = Manifest.from_json(json.loads(json.dumps(manifest.to_json())))
    assert not compare(manifest, stored)
    assert not compare(manifest, Manifest.unpacked("a banner\n" + manifest.packed() + "\nbye"))
    assert stored.digest() == manifest.digest()


@settings(max_examples=60, deadline=None)
@given(trees(), trees())
def test_of_two_trees_it_finds_exactly_what_differs(tmp_path_factory, first, second):
    root = str(tmp_path_factory.getbasetemp() / "tree")
    manifests = []
    for tree in (first, second):
        build(tree, root)
        manifests.append(tree_manifest([root]))
        assert manifests[-1].problems == ()
    delta = compare(*manifests)
    assert {(change.path, change.kind) for change in delta} == {
        (f"{root}/{path}", kind) for path, kind in tree_changes(first, second)
    }
    assert not compare(manifests[1], Manifest.from_json(json.loads(json.dumps(manifests[1].to_json()))))


records = st.lists(
    st.tuples(st.integers(0, 5), st.text(max_size=3), st.none() | st.integers(-9, 9)),
    max_size=6,
    unique_by=lambda row: row[0],
)


@settings(max_examples=40, deadline=None)
@given(records, records)
def test_of_two_databases_it_finds_exactly_what_differs(tmp_path_factory, first, second):
    manifests = []
    for rows in (first, second):
        path = tmp_path_factory.getbasetemp() / "some.sqlite"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute("create table t (id integer primary key, name text, n integer)")
        connection.executemany("insert into t values (?, ?, ?)", rows)
        connection.commit()
        connection.close()
        manifests.append(sqlite_manifest(path))
        assert manifests[-1].problems == ()
    one, two = ({row[0]: dict(zip(("id", "name", "n"), row, strict=True)) for row in rows} for rows in (first, second))
    wanted = set()
    for key in one.keys() | two.keys():
        if key in one and key in two:
            wanted |= {(f"/t/{key}/{name}", "content") for name in one[key] if not same(one[key][name], two[key][name])}
        else:
            kind = "added" if key in two else "deleted"
            wanted |= {(f"/t/{key}", kind)} | {(f"/t/{key}/{name}", kind) for name in ("id", "name", "n")}
    assert {(change.path, change.kind) for change in compare(*manifests)} == wanted


# --- records, order, spelling ---------------------------------------------------------------------------------------

KEYS = {"/lines": "line_id"}


@given(st.permutations([{"line_id": f"L{number}", "status": number} for number in range(4)]))
def test_records_are_matched_by_key_and_their_order_is_form(lines):
    ordered = {"lines": sorted(lines, key=lambda line: line["line_id"])}
    manifests = state_manifest(ordered, KEYS), state_manifest({"lines": lines}, KEYS)
    assert not compare(*manifests)
    assert spelled_otherwise(*manifests) == (() if lines == ordered["lines"] else ("/lines",))


def test_a_new_record_is_added_and_no_matter_of_form():
    one, two = [{"line_id": "L1", "s": 1}], [{"line_id": "L0", "s": 1}, {"line_id": "L1", "s": 1}]
    manifests = state_manifest({"lines": one}, KEYS), state_manifest({"lines": two}, KEYS)
    assert [str(change) for change in compare(*manifests)] == [
        "/lines/L0 added", "/lines/L0/line_id added", "/lines/L0/s added",
    ]  # fmt: skip
    assert spelled_otherwise(*manifests) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, 2.0),
        ("2 GB", "2.0 GB"),
        ([1, 2.0], [2, 1.0]),
        ([{"a": 1}, {"b": [3, 4]}], [{"b": [4, 3.0]}, {"a": 1.0}]),
        (0.1 + 0.2, 0.3),
        ((1, 2), [2, 1]),
        (datetime.date(2025, 2, 1), "2025-02-01"),
        (enum.Enum("Status", {"ON": "on"}).ON, "on"),
    ],
)
def test_equal_by_value(one, other):
    assert same(one, other)
    assert not compare(state_manifest({"x": one}), state_manifest({"x": other}))


def test_what_is_spelled_otherwise_is_form():
    one = {"a": ["x", "y"], "b": "2 GB", "c": 1, "d": 3}
    two = {"d": 4, "a": ["y", "x"], "b": "2.0 GB", "c": 1}
    assert spelled_otherwise(state_manifest(one), state_manifest(two)) == ("/a", "/b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (2**53, 2**53 + 1),
        ("1.0.0", "1.0"),
        ([1], [1, 1]),
        ([("a", 1)], {"a": 1}),
        ([[["a", 1]]], [{"a": 1}]),
        (None, "None"),
        (float("nan"), "nan"),
        (float("inf"), float("-inf")),
        ("555-2002", "555-2020"),
    ],
)
def test_unequal_by_value(one, other):
    assert not same(one, other)
    assert same(one, copy.deepcopy(one))
    assert same(other, copy.deepcopy(other))


# --- what cannot be read, or not compared ---------------------------------------------------------------------------


class _Loop(dict):
    def __init__(self):
        super().__init__()
        self["me"] = [self]


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"lines": [{"line_id": "L1"}, {"id": 2}]}, ("/lines", "unreadable: record 1 has no line_id")),
        ({"lines": [{"line_id": 1}, {"line_id": 1}]}, ("/lines", "unreadable: two records have the line_id 1")),
        ({"a": {3: 1}}, ("/a", "unreadable: the key 3 is no text")),
        ({"a": {1, 2}}, ("/a", "unreadable: a value of type set cannot be compared: {1, 2}")),
        ({"a": [object]}, ("/a", "unreadable: a value of type type cannot be compared: <class 'object'>")),
    ],
)
def test_what_is_not_like_json_is_a_problem_that_says_where(state, problem):
    assert state_manifest(state, KEYS).problems == (problem,)


def test_a_state_that_contains_itself_is_a_problem():
    state = {}
    state["me"] = {"again": state}
    [(path, why)] = state_manifest(state).problems
    assert path == "/me/again"
    assert why == "unreadable: it contains itself"
    [(path, why)] = state_manifest({"a": _Loop()["me"]}).problems
    assert path == "/a"
    assert why.startswith("unreadable: ")


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (state_manifest({}, name="another"), "roots"),
        (Manifest("tree", ("state",), {}), "kind"),
        (Manifest("state", ("state",), {}, (), ("*",)), "without"),
    ],
)
def test_manifests_of_other_things_are_not_compared(other, name):
    with pytest.raises(DataError, match=f"manifests of different {name}"):
        compare(state_manifest({}), other)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/a b/ü", "/a b/ü"),
        ("/new\nline", "/new\\nline"),
        ("/back\\slash", "/back\\\\slash"),
        (os.fsdecode(b"/\xff\xfe"), "/\\xff\\xfe"),
        ("/\u202egnp.exe", "/\\u202egnp.exe"),
    ],
)
def test_paths_are_printed_on_one_line_and_told_apart(path, text):
    assert shown(path) == text
    assert str(Change(path, "added", None, None)) == f"{text} added"


@given(st.text(), st.text())
def test_two_paths_are_never_printed_alike(one, other):
    assert (shown(one) == shown(other)) == (one == other)
