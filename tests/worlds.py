"""Random states and trees for the tests of the frame, and changes of them."""

import os
import shutil

from hypothesis import strategies as st

names = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5)
values = st.recursive(
    scalars | st.lists(scalars, max_size=3), lambda below: st.dictionaries(names, below, max_size=4), max_leaves=15
)
states = st.dictionaries(names, values, max_size=5)

file_names = st.sampled_from(
    ["a", "b.txt", "ü", "new\nline", "back\\slash", " ", "-rf", "*", "[x]", "~", os.fsdecode(b"\xff\xfe"), "c.pyc"]
)
folders = st.lists(file_names, max_size=2).map("/".join)


@st.composite
def trees(draw):
    """Return a tree as {relative path: ("file", content, mode) | ("link", target) | ("dir", mode)}."""
    tree = {}
    for _ in range(draw(st.integers(0, 6))):
        parts = draw(st.lists(file_names, min_size=1, max_size=3))
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        if all(tree.get(path, ("dir",))[0] == "dir" for path in above):
            tree |= {path: ("dir", 0o755) for path in above if path not in tree}
            tree.setdefault("/".join(parts), draw(leaves))
    return tree


leaves = (
    st.tuples(st.just("file"), st.binary(max_size=4), st.sampled_from([0o644, 0o600, 0o755]))
    | st.tuples(st.just("link"), st.sampled_from(["a", "b.txt", "nowhere", ".", "/etc/passwd"]))
    | st.tuples(st.just("dir"), st.sampled_from([0o755, 0o700]))
)


def build(tree, root):
    """Make the tree below a folder, anew."""
    shutil.rmtree(root, ignore_errors=True)
    os.mkdir(root)
    os.chmod(root, 0o755)
    for path, (kind, what, *mode) in sorted(tree.items()):
        place = os.path.join(root, path)
        if kind == "dir":
            os.mkdir(place)
            os.chmod(place, what)
        elif kind == "link":
            os.symlink(what, place)
        else:
            with open(place, "wb") as file:
                file.write(what)
            os.chmod(place, mode[0])


def tree_changes(first, second):
    """Return the set of (path, kind) by which two trees differ, by the definition of the kinds."""
    changes = set()
    for path in first.keys() | second.keys():
        old, new = first.get(path), second.get(path)
        if old is None or new is None:
            changes.add((path, "added" if old is None else "deleted"))
        elif old[0] != new[0]:
            changes.add((path, "type"))
        else:
            if old[0] != "dir" and old[1] != new[1]:
                changes.add((path, "content"))
            if old[0] != "link" and old[-1] != new[-1]:
                changes.add((path, "mode"))
    return changes
