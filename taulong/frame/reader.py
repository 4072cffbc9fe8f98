"""Reads a file tree or a SQLite file into a manifest. One file, the standard library alone, for any python3 from 3.6 on.

It is imported here and sent, as it stands, into sandboxes (``python3 - WHAT < reader.py``), so that a manifest read
inside a container and one read outside are the same. It changes nothing: links are not followed, what is neither file,
folder nor link is not opened, and a database is read from a copy. It ends by itself when a bound is reached, because a
harness that gives up on a command often leaves its process running.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
import zlib

FORMAT = "taulong-frame/1"
BOUNDS = {  # how much is read at most
    "seconds": 60.0,
    "entries": 200000,
    "bytes": 2000000000,
}
VIRTUAL = ("/proc/**", "/sys/**", "/dev/**")
"""File systems of the kernel, never read."""
MARK = "taulong-frame:"
_CHUNK = 1 << 20


class OverBounds(Exception):
    """Reading took more time, entries or bytes than it may."""


class _Meter:
    """Counts what is read against the bounds."""

    def __init__(self, bounds):
        self.bounds = dict(BOUNDS, **(bounds or {}))
        self.end = time.monotonic() + self.bounds["seconds"]
        self.entries = self.bytes = 0

    def count(self, entries=0, size=0):
        self.entries += entries
        self.bytes += size
        for what, used in (("entries", self.entries), ("bytes", self.bytes)):
            if used > self.bounds[what]:
                raise OverBounds(f"more than {self.bounds[what]} {what}")
        if time.monotonic() > self.end:
            raise OverBounds("more than {} seconds".format(self.bounds["seconds"]))


def glob_pattern(glob):
    """Return the compiled pattern of a glob in which ``**`` alone crosses ``/``; ``*``, ``?`` and ``[...]`` do not.

    ``**/`` also stands for no folder at all, and ``folder/**`` for the folder itself too.
    """
    out, place = [], 0
    while place < len(glob):
        if glob.startswith("/**", place) and place + 3 == len(glob):
            out.append("(?:/.*)?")
            place += 3
        elif glob.startswith("**/", place) and (place == 0 or glob[place - 1] == "/"):
            out.append("(?:.*/)?")
            place += 3
        elif glob.startswith("**", place):
            out.append(".*")
            place += 2
        elif glob[place] == "*":
            out.append("[^/]*")
            place += 1
        elif glob[place] == "?":
            out.append("[^/]")
            place += 1
        elif (
            glob[place] == "[" and "]" in glob[place + 3 if glob[place + 1 : place + 2] in ("!", "^") else place + 2 :]
        ):
            signs, place = _signs(glob, place + 1)
            out.append(signs)
        else:
            out.append(re.escape(glob[place]))
            place += 1
    return re.compile("".join(out), re.DOTALL)


def _signs(glob, place):
    """Return the pattern of a set of signs that begins here, and where the glob goes on."""
    no = glob[place] in "!^"
    place += no
    close = glob.index("]", place + 1)
    out = []
    while place < close:
        last = place + 2 if glob[place + 1] == "-" and place + 2 < close and glob[place] <= glob[place + 2] else place
        out.append(re.escape(glob[place]) + ("-" + re.escape(glob[last]) if last > place else ""))
        place = last + 1
    return "(?!/)[" + "^" * no + "".join(out) + "]", close + 1


def escaped(key):
    """Return a key as one segment of a JSON pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")


# --- trees ----------------------------------------------------------------------------------------------------------


def read_tree(roots, without=(), bounds=None):
    """Return the manifest of folders, as plain JSON types.

    Args:
        roots: folders or files; a path in the manifest begins with its root as it is written here (``~`` and relative
            ones are looked up where this runs), except that paths below ``.`` have no prefix.
        without: globs of paths that are not read at all.
        bounds: any of seconds, entries and bytes, in place of ``BOUNDS``.

    Entries are ``{"type": "file", "mode", "size", "sha256"}``, ``{"type": "link", "target"}``, ``{"type": "dir",
    "mode"}``, or ``{"type": "fifo" | "socket" | "device", "mode"}``. Names that are not UTF-8 keep their bytes as
    surrogates. Problems are ``[path, why]``; where there are some, the manifest may not be whole.
    """
    found = {"format": FORMAT, "kind": "tree", "roots": list(roots), "without": list(without)}
    walk = _Walk(tuple(without) + VIRTUAL, bounds)
    try:
        for root in roots:
            walk.root(root)
        walk.look_again()
    except OverBounds as over:
        walk.problems.append(["", f"over bounds: {over}"])
    return dict(found, entries=dict(sorted(walk.entries.items())), problems=walk.problems)


class _Walk:
    def __init__(self, without, bounds):
        self.skipped = [glob_pattern(glob) for glob in without]
        self.meter = _Meter(bounds)
        self.entries, self.problems, self.folders = {}, [], []

    def root(self, root):
        place = os.path.expanduser(root)
        if not os.path.lexists(place):
            self.problems.append([root, "does not exist"])
            return
        if os.path.isdir(place) and os.path.islink(place):  # a root itself may be reached over a link
            place = os.path.realpath(place)
        todo = [(root.rstrip("/") or "/", place)]
        while todo:
            name, place = todo.pop()
            todo += self.entry(name, place)

    def entry(self, name, place):
        """Note one entry and return what is below it, as (name, place)."""
        if name in self.entries or any(pattern.fullmatch(name) for pattern in self.skipped):
            return []
        self.meter.count(entries=1)
        try:
            seen = os.lstat(place)
        except FileNotFoundError:
            self.problems.append([name, "changed while it was read: it is gone"])
            return []
        except OSError as error:
            self.problems.append([name, f"unreadable: {error.strerror}"])
            return []
        entry, below = {"type": _kind(seen.st_mode)}, []
        if entry["type"] != "link":
            entry["mode"] = f"{stat.S_IMODE(seen.st_mode):04o}"
        self.entries[name] = entry
        try:
            if entry["type"] == "link":
                entry["target"] = os.readlink(place)
            elif entry["type"] == "file":
                entry["size"], entry["sha256"] = self.content(name, place, seen)
            elif entry["type"] == "dir":
                self.folders.append((name, place, seen.st_mtime_ns))
                prefix = "" if name == "." else name.rstrip("/") + "/"
                below = [(prefix + child, os.path.join(place, child)) for child in os.listdir(place)]
        except OSError as error:
            self.problems.append([name, f"unreadable: {error.strerror}"])
        return below

    def content(self, name, place, seen):
        """Return size and sha256 of a file, which must be the one that was looked at and stay as it was."""
        digest, size = hashlib.sha256(), 0
        # Not followed and not waited for: between the look and the opening it may have become a link or a FIFO.
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb", buffering=0) as file:
            opened = os.fstat(handle)
            while stat.S_ISREG(opened.st_mode):
                part = file.read(_CHUNK)
                if not part:
                    break
                size += len(part)
                digest.update(part)
                self.meter.count(size=len(part))
            after = os.fstat(handle)
        if _stamp(seen) != _stamp(opened) or _stamp(opened) != _stamp(after):
            self.problems.append([name, "changed while it was read"])
        return size, digest.hexdigest()

    def look_again(self):
        """Note every folder that has gained or lost entries since it was listed."""
        for name, place, then in self.folders:
            self.meter.count()
            try:
                same = os.lstat(place).st_mtime_ns == then
            except OSError:
                same = False
            if not same:
                self.problems.append([name, "changed while it was read"])


def _kind(mode):
    for kind, test in (("file", stat.S_ISREG), ("dir", stat.S_ISDIR), ("link", stat.S_ISLNK), ("fifo", stat.S_ISFIFO)):
        if test(mode):
            return kind
    return "socket" if stat.S_ISSOCK(mode) else "device"


def _stamp(status):
    return stat.S_IFMT(status.st_mode), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


# --- SQLite ---------------------------------------------------------------------------------------------------------


def read_sqlite(path, bounds=None):
    """Return the manifest of a SQLite file: a value for every ``/table/key/column``, as plain JSON types.

    The key is the primary key, several columns as a JSON list, or else the rowid. A table's entry holds its SQL; other
    objects of the schema are ``/(schema)/name``. What is still in the write-ahead log counts. A blob is its size and
    sha256.
    """
    meter, entries, problems = _Meter(bounds), {}, []
    try:
        with _copied(os.path.expanduser(path), meter) as copy:
            connection = sqlite3.connect(copy)
            try:
                connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                _read_tables(connection, entries, problems, meter)
            finally:
                connection.close()
    except OverBounds as over:
        problems.append(["", f"over bounds: {over}"])
    except FileNotFoundError:
        problems.append([path, "does not exist"])
    except OSError as error:
        problems.append([path, f"unreadable: {error.strerror}"])
    except sqlite3.Error as error:
        problems.append([path, f"unreadable: {error}"])
    found = {"format": FORMAT, "kind": "sqlite", "roots": [path], "without": []}
    return dict(found, entries=dict(sorted(entries.items())), problems=problems)


class _copied:
    """A context: the database file and its journals, copied into a folder of their own."""

    def __init__(self, path, meter):
        self.path, self.meter = path, meter

    def __enter__(self):
        before = os.stat(self.path)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(0, "is no file")
        self.meter.count(size=before.st_size)
        self.folder = tempfile.mkdtemp()
        try:
            copy = os.path.join(self.folder, "database")
            shutil.copyfile(self.path, copy)
            for end in ("-wal", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(self.path + end, copy + end)
            if _stamp(os.stat(self.path)) != _stamp(before):
                raise OSError(0, "changed while it was read")
        except BaseException:
            self.__exit__()
            raise
        return copy

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def _read_tables(connection, entries, problems, meter):
    schema = connection.execute("select type, name, sql from sqlite_master order by type, name").fetchall()
    for kind, name, sql in schema:
        if name.startswith("sqlite_"):  # its own tables: counters, statistics, indexes of keys
            continue
        meter.count(entries=1)
        if kind != "table":
            entries["/(schema)/" + escaped(name)] = {"type": "value", "value": sql}
            continue
        entries["/" + escaped(name)] = {"type": "table", "value": sql}
        quoted = '"' + name.replace('"', '""') + '"'
        info = connection.execute(f"pragma table_info({quoted})").fetchall()
        keys = [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]]
        taken = {row[1].lower() for row in info}
        rowid = next((word for word in ("rowid", "_rowid_", "oid") if word not in taken), "rowid")
        rows = connection.execute("select {}* from {}".format("" if keys else rowid + ", ", quoted))
        columns = [column[0] for column in rows.description][0 if keys else 1 :]
        for row in rows:
            values = dict(zip(columns, row if keys else row[1:]))
            key = [_plain(values[column]) for column in keys] if keys else [row[0]]
            key = key[0] if len(key) == 1 else key
            prefix = f"/{escaped(name)}/{escaped(key if isinstance(key, str) else json.dumps(key))}"
            if prefix in entries:
                problems.append([prefix, "two rows have this key"])
            entries[prefix] = {"type": "object"}
            meter.count(entries=len(values))
            for column, value in values.items():
                entries[prefix + "/" + escaped(column)] = {"type": "value", "value": _plain(value)}


def _plain(value):
    if isinstance(value, bytes):
        return {"blob": hashlib.sha256(value).hexdigest(), "size": len(value)}
    return value


# --- across a pipe --------------------------------------------------------------------------------------------------


def packed(manifest):
    """Return a manifest as one line of ASCII, marked so that it is found among what else a shell prints."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode("ascii")
    return MARK + base64.b64encode(zlib.compress(text, 6)).decode("ascii")


def main(words):
    """Read what the arguments say, a JSON object, and print its packed manifest."""
    what = json.loads(base64.b64decode(words[0]).decode("utf-8"))
    if what["kind"] == "tree":
        manifest = read_tree(what["roots"], what.get("without", ()), what.get("bounds"))
    else:
        manifest = read_sqlite(what["roots"][0], what.get("bounds"))
    print(packed(manifest))


if __name__ == "__main__":
    main(sys.argv[1:])
