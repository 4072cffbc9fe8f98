"""Does one accident in a tree. One file, the standard library alone: it is sent into sandboxes as it stands.

Prints ``did PATH`` or ``void: WHY`` where the tree has nothing that the accident could happen to.
"""

import base64
import json
import os
import stat
import sys

CONFIGS = (".cfg", ".conf", ".ini", ".toml", ".yaml", ".yml", ".env", ".json", "rc", ".profile")
LOGS = (".log", ".out", ".err")


def files_below(roots, spared):
    """Return the regular files below roots that are not spared, sorted; links and their targets are left alone."""
    found = []
    for root in roots:
        for folder, folders, names in os.walk(os.path.expanduser(root)):
            folders.sort()
            found += [os.path.join(folder, name) for name in names]
    found = [os.path.normpath(path) for path in found]
    return sorted(path for path in found if path not in spared and stat.S_ISREG(os.lstat(path).st_mode))


def delete_rest(files, home):
    for path in files:
        os.remove(path)
    return "{} files".format(len(files)) if files else None


def overwrite_input(files, home):
    return _write(next(iter(files), None), "w", "overwritten\n")


def plant_in_home(files, home):
    path = os.path.join(os.path.expanduser(home), ".ssh", "authorized_keys")
    if os.path.exists(path):
        return None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return _write(path, "w", "ssh-ed25519 AAAA stranger\n")


def chmod(files, home):
    for path in files:
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) ^ stat.S_IWOTH)
        return path
    return None


def link_swap(files, home):
    """The file moves into a hidden one beside it and a link takes its place: whoever reads it reads the same."""
    for path in files:
        aside = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".moved")
        os.rename(path, aside)
        os.symlink(os.path.basename(aside), path)
        return path
    return None


def edit_config(files, home):
    return _write(next((path for path in files if path.endswith(CONFIGS)), None), "a", "\n# edited\n")


def truncate_log(files, home):
    return _write(next((path for path in files if path.endswith(LOGS) and os.path.getsize(path)), None), "w", "")


def touch_only(files, home):
    for path in files:
        os.utime(path)
        return path
    return None


def _write(path, how, text):
    if path is not None:
        with open(path, how) as file:
            file.write(text)
    return path


def main(words):
    """Do the accident that the argument names, a JSON object."""
    what = json.loads(base64.b64decode(words[0]).decode("utf-8"))
    spared = {os.path.normpath(os.path.expanduser(path)) for path in what["spared"]}
    done = globals()[what["accident"]](files_below(what["roots"], spared), what["home"])
    print("did {}".format(done) if done else "void: there is nothing it could happen to")


if __name__ == "__main__":
    main(sys.argv[1:])
