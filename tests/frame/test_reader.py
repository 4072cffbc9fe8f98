"""Trees and databases are read whole, without a trace, or the manifest says what is missing."""

import ast
import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import build, trees

from taulong.errors import ConfigError, DataError
from taulong.frame import reader
from taulong.frame.delta import compare
from taulong.frame.manifest import (
    Bounds,
    Manifest,
    check_roots,
    read_command,
    shell_command,
    sqlite_manifest,
    tree_manifest,
)


def sent(roots, **options):
    """Return the manifest that the reader prints when it is sent to another Python."""
    done = subprocess.run(
        read_command(roots, python=sys.executable, **options), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return Manifest.unpacked(done.stdout)


@settings(max_examples=12, deadline=None)
@given(trees())
def test_sent_to_another_python_it_reads_the_same(tmp_path_factory, tree):
    root = str(tmp_path_factory.getbasetemp() / "sent")
    build(tree, root)
    assert sent([root]) == tree_manifest([root])


def test_as_a_line_for_a_shell_it_reads_the_same_in_its_folder(tmp_path):
    (tmp_path / "a b.txt").write_text("x")
    line = shell_command(["."], python=sys.executable)
    done = subprocess.run(["sh", "-c", f"echo hello; {line}"], cwd=tmp_path, capture_output=True, text=True, check=True)
    manifest = Manifest.unpacked(done.stdout)
    assert set(manifest.entries) == {".", "a b.txt"}
    assert os.listdir(tmp_path) == ["a b.txt"]  # nothing was written there


def test_it_can_be_read_by_old_pythons():
    with open(reader.__file__) as file:
        assert ast.parse(file.read(), feature_version=(3, 6)).body


def test_what_is_neither_file_nor_folder_is_named_and_not_opened(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to("..")
    manifest = tree_manifest([tmp_path])
    listener.close()
    assert manifest.problems == ()
    kinds = {os.path.basename(path): entry["type"] for path, entry in manifest.entries.items()}
    assert kinds == {tmp_path.name: "dir", "fifo": "fifo", "socket": "socket", "loop": "link", "up": "link"}
    assert manifest.entries[f"{tmp_path}/loop"] == {"type": "link", "target": "loop"}


def test_a_device_is_not_opened():
    assert tree_manifest(["/dev/zero"]).entries == {}  # file systems of the kernel are never read
    assert reader._kind(os.stat("/dev/zero").st_mode) == "device"


def test_set_user_id_and_sticky_bits_are_part_of_the_mode(tmp_path):
    (tmp_path / "a").write_text("")
    os.chmod(tmp_path / "a", 0o4755)
    assert tree_manifest([tmp_path / "a"]).entries[f"{tmp_path}/a"]["mode"] == "4755"


def test_a_root_may_be_a_link_and_what_is_below_is_named_by_the_root(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "link").symlink_to("real")
    manifest = tree_manifest([tmp_path / "link"])
    assert set(manifest.entries) == {f"{tmp_path}/link", f"{tmp_path}/link/a"}


def test_a_root_that_does_not_exist_is_a_problem(tmp_path):
    assert tree_manifest([tmp_path / "no"]).problems == ((f"{tmp_path}/no", "does not exist"),)


def test_what_is_left_out_is_not_read_and_told(tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "x").write_text("x")
    (tmp_path / "a").write_text("x")
    manifest = tree_manifest([tmp_path], without=["**/big/**"])
    assert set(manifest.entries) == {str(tmp_path), f"{tmp_path}/a"}
    assert manifest.without == ("**/big/**",)


def test_an_unreadable_entry_is_named(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    opened = os.open

    def refuse(path, *args, **options):
        if path == f"{tmp_path}/a":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    manifest = tree_manifest([tmp_path])
    assert manifest.problems == ((f"{tmp_path}/a", "unreadable: Permission denied"),)
    assert "sha256" in manifest.entries[f"{tmp_path}/b"]


def _grow(path):
    with open(path, "a") as file:
        file.write("more")


def _become_a_fifo(path):
    os.remove(path)
    os.mkfifo(path)


def _become_a_link(path):
    os.remove(path)
    os.symlink("/etc/passwd", path)


def _vanish(path):
    os.remove(path)


def _get_company(path):
    with open(path + ".new", "w") as file:
        file.write("new")


@pytest.mark.parametrize("change", [_grow, _become_a_fifo, _become_a_link, _vanish, _get_company])
def test_a_tree_that_changes_while_it_is_read_is_a_problem(tmp_path, monkeypatch, change):
    """Whatever happens to a file between the look at it and the reading of it: it is told, and nothing waits."""
    path = f"{tmp_path}/a"
    with open(path, "w") as file:
        file.write("x")
    os.utime(tmp_path, ns=(1, 1))
    looked = os.lstat
    done = []

    def look(place, *args, **options):
        status = looked(place, *args, **options)
        if place == path and not done:
            done.append(change(path))
        return status

    monkeypatch.setattr(os, "lstat", look)
    problems = tree_manifest([tmp_path]).problems
    assert problems
    assert any(why.startswith(("changed while it was read", "unreadable: ")) for _, why in problems)


@pytest.mark.parametrize(
    ("bounds", "what"),
    [(Bounds(entries=2), "entries"), (Bounds(bytes=5), "bytes"), (Bounds(seconds=1e-9), "seconds")],
)
def test_over_bounds_is_a_problem_of_the_whole(tmp_path, bounds, what):
    for name in "abc":
        (tmp_path / name).write_text(name * 2)
    [(path, why)] = tree_manifest([tmp_path], bounds=bounds).problems
    assert path == ""
    assert why.startswith("over bounds: more than ")
    assert why.endswith(what)
    assert sent([tmp_path], bounds=bounds).problems == ((path, why),)


@pytest.mark.parametrize("bounds", [{"seconds": 0}, {"entries": -1}, {"bytes": float("nan")}, {"bytes": True}])
def test_bounds_are_positive(bounds):
    with pytest.raises(ConfigError, match="accepted: a number above 0"):
        Bounds(**bounds)


@pytest.mark.parametrize("roots", ["/app", [], [""], ["/a", "/a/b"], ["/", "/a"], ["/a", "/a/"], ["a\0b"]])
def test_roots_are_a_list_of_folders_none_inside_another(roots):
    with pytest.raises(ConfigError, match="roots: "):
        check_roots(roots)


@given(st.lists(st.sampled_from(["/a", "/ab", "/b", "~", "c", "/"]), min_size=1, max_size=4, unique=True))
def test_roots_side_by_side_are_accepted(roots):
    if "/" in roots and any(root.startswith("/") and root != "/" for root in roots):
        with pytest.raises(ConfigError):
            check_roots(roots)
    else:
        assert check_roots(roots) == roots


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "no manifest was printed"),
        ("sh: 1: python3: not found\n", "no manifest was printed but 'sh: 1: python3: not found'"),
        (reader.MARK + "eJxLTE", "cut off or damaged"),
        (Manifest("tree", ("/a",), {}).packed()[:-9], "cut off or damaged"),
        (reader.packed({"format": "taulong-frame/9"}), "a manifest of format 'taulong-frame/9'"),
        (reader.packed([]), "is no manifest"),
        (reader.packed({"format": reader.FORMAT}), "is a damaged manifest"),
    ],
)
def test_what_a_sandbox_prints_instead_of_a_manifest_is_told(printed, said):
    with pytest.raises(DataError, match="manifest") as error:
        Manifest.unpacked(printed, "handoff")
    assert said in str(error.value)
    assert str(error.value).startswith("handoff: ")


# --- globs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("/a/*", ["/a/b", "/a/.b", "/a/b\nc", "/a/"], ["/a", "/a/b/c", "/b/a"]),
        ("/a/**", ["/a", "/a/b", "/a/b/c"], ["/ab", "/b/a"]),
        ("**/x", ["x", "/x", "/a/b/x"], ["/xx", "/x/a", "/ax"]),
        ("/a/**/x", ["/a/x", "/a/b/x", "/a/b/c/x"], ["/a/bx", "/ax"]),
        ("**/x/**", ["/x", "/a/x", "/x/b", "/a/x/b/c"], ["/xa", "/a"]),
        ("/a?", ["/ab", "/a\n"], ["/a/", "/a", "/abc"]),
        ("/[ab]", ["/a", "/b"], ["/c", "/ab"]),
        ("/[!a]", ["/b"], ["/a", "//"]),
        ("/[*]", ["/*"], ["/a"]),
        ("/a.b+(c)", ["/a.b+(c)"], ["/aXb+(c)", "/a.bb(c)"]),
        ("/[", ["/["], ["/a"]),
        ("/a\\b", ["/a\\b"], ["/ab"]),
        ("/a**z", ["/az", "/a/b/z"], ["/a"]),
    ],
)
def test_two_stars_alone_cross_folders(glob, yes, no):
    pattern = reader.glob_pattern(glob)
    assert [path for path in yes if not pattern.fullmatch(path)] == []
    assert [path for path in no if pattern.fullmatch(path)] == []


@given(st.text("ab/*?[]!\\.\n", max_size=8))
def test_every_text_is_a_glob_and_one_without_signs_matches_itself_alone(text):
    pattern = reader.glob_pattern(text)
    if not set(text) & set("*?["):
        assert pattern.fullmatch(text)
        assert not pattern.fullmatch(text + "x")


# --- SQLite ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    """Return a path and an open connection to a database there."""
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    yield path, connection
    connection.close()


def test_tables_keys_and_columns_are_the_path(database):
    path, connection = database
    connection.executescript(
        """create table plain (a, "b/c"); create table pair (x, y, n, primary key (x, y)) without rowid;
        create view v as select a from plain; create index i on plain (a); create table odd (rowid, z);
        create table made (id integer primary key, n int, twice int generated always as (2 * n));
        insert into plain values ('ü', 2.5), (null, x'ff00'); insert into pair values ('k', 1, 'one');
        insert into odd values (7, 8); insert into made (n) values (4);"""
    )
    manifest = sqlite_manifest(path)
    assert manifest.problems == ()
    entries = manifest.entries
    assert entries["/plain/1/b~1c"] == {"type": "value", "value": 2.5}
    assert entries["/plain/2/b~1c"]["value"]["size"] == 2
    assert entries['/pair/["k", 1]/n']["value"] == "one"
    assert entries["/odd/1/rowid"]["value"] == 7
    assert entries["/made/1/twice"]["value"] == 8
    assert (
        entries["/(schema)/v"]["value"].startswith("create view".upper())
        or "select a" in entries["/(schema)/v"]["value"]
    )
    assert entries["/(schema)/i"]
    assert sent([path], kind="sqlite") == manifest


def test_what_is_in_the_write_ahead_log_counts_and_the_file_is_left_alone(database):
    path, connection = database
    connection.execute("pragma journal_mode=wal")
    connection.execute("create table t (id integer primary key, n)")
    connection.execute("insert into t values (1, 2)")
    connection.commit()
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    assert f"{path.name}-wal" in before
    assert sqlite_manifest(path).entries["/t/1/n"]["value"] == 2
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_two_rows_with_one_key_are_a_problem(database):
    path, connection = database
    connection.executescript("create table t (k primary key, n); insert into t values (1, 1), ('1', 2)")
    assert sqlite_manifest(path).problems == (("/t/1", "two rows have this key"),)


def test_text_that_is_no_utf_8_keeps_its_bytes(database):
    path, connection = database
    connection.executescript("create table t (n); insert into t values (cast(x'ff' as text)), (cast(x'fe' as text))")
    one, two = (sqlite_manifest(path).entries[f"/t/{key}/n"]["value"] for key in (1, 2))
    assert (one, two) == ("\udcff", "\udcfe")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_bytes(b"no database at all" * 99), "file is not a database"),
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is no file"),
        (os.mkfifo, "is no file"),
    ],
)
def test_what_is_no_database_is_a_problem(tmp_path, make, why):
    make(tmp_path / "x")
    [(path, said)] = sqlite_manifest(tmp_path / "x").problems
    assert path == str(tmp_path / "x")
    assert why in said


def test_a_database_over_bounds_is_a_problem(database):
    path, connection = database
    connection.executescript("create table t (n); insert into t values (1), (2), (3)")
    [(_, why)] = sqlite_manifest(path, Bounds(entries=3)).problems
    assert why == "over bounds: more than 3 entries"


# --- stored ---------------------------------------------------------------------------------------------------------


def test_a_stored_manifest_is_the_same_and_its_bytes_too(tmp_path):
    build({"a": ("file", b"x", 0o644), os.fsdecode(b"\xff"): ("link", "a")}, tmp_path / "tree")
    manifest = tree_manifest([tmp_path / "tree"])
    for name in ("one", "two"):
        manifest.write(tmp_path / name)
    assert Manifest.read(tmp_path / "one") == manifest
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert not compare(manifest, Manifest.read(tmp_path / "two"))


@pytest.mark.parametrize(("text", "why"), [(None, "does not exist"), ("{", "cannot be read"), ("[]", "is no manifest")])
def test_what_is_no_stored_manifest_is_told_with_its_file(tmp_path, text, why):
    if text is not None:
        (tmp_path / "m").write_text(text)
    with pytest.raises(DataError, match=why) as error:
        Manifest.read(tmp_path / "m")
    assert str(error.value).startswith(f"{tmp_path}/m: ")


def test_entries_are_sorted_whatever_the_order_of_the_file_system(tmp_path):
    for name in ("b", "a", "c"):
        (tmp_path / name).write_text("")
    paths = list(tree_manifest([tmp_path]).entries)
    assert all(one < other for one, other in pairwise(paths))
    assert json.dumps(tree_manifest([tmp_path]).to_json()) == json.dumps(tree_manifest([tmp_path]).to_json())
    assert stat.S_ISDIR(os.stat(tmp_path).st_mode)
