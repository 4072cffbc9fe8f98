"""May a run be written where another one is? Nothing that was paid for, or that is another run's, is lost by it."""

import hashlib
from itertools import count
from pathlib import Path

from taulong.errors import ConfigError, DataError
from taulong.runs.folder import RunFolder

VERSIONS = ("taulong_version", "grader_version", "tau2_distribution", "tau2_version", "tau2_data", "agent_sources")
"""Fields of a manifest that say by what software a configuration was run."""


def claim(folder: RunFolder, manifest: dict, fresh: bool = False, replace: str | None = None) -> None:
    """Raise DataError unless a run of this identity may go on, or begin afresh, in a folder; with ``replace``, move aside.

    Going on needs the same identity. Beginning afresh needs the same configuration, by whatever versions, and no case of
    a model in the folder: those were paid for. Anything else takes the run's name, typed once more: then what the folder
    holds is moved to ``NAME.replaced-DIGEST`` beside it.

    Raises:
        ConfigError: ``replace`` is not the run's name.
        DataError: names the first field that differs, or how many cases would be lost, and the remedy.
    """
    name = folder.path.name
    if replace is not None and replace != name:
        raise ConfigError(f"replace: {replace!r} is not the name of the run; type {name!r}")
    if replace is not None and folder.path.exists() and any(folder.path.iterdir()):
        with folder.locked():
            move_aside(folder.path)
        return
    if not (folder.path / "manifest.json").exists():
        return
    held = folder.manifest
    paid = paid_cases(folder)
    differ = [field for field in manifest | held if held.get(field) != manifest.get(field)]
    only_versions = set(differ) <= set(VERSIONS)
    aside = f"choose another name, or move it aside: --replace {name}"
    if differ and not (fresh and only_versions):
        if only_versions and not paid:
            aside += ", or run it afresh: --fresh"
        raise DataError(
            f"{name}: holds a run of another configuration: {differ[0]} is {held.get(differ[0])!r} there and "
            f"{manifest.get(differ[0])!r} here; {aside}"
        )
    if fresh and paid:
        raise DataError(f"{name}: holds {paid} cases of a model, which beginning afresh would lose; {aside}")


def paid_cases(folder: RunFolder) -> int:
    """Return how many cases in a folder were run with a model, or by an agent of one's own, which may call one."""
    from taulong.cases.agents import AGENTS

    manifest = folder.manifest
    scripted = manifest.get("user") == "scripted" and set(manifest.get("agents", ())) <= set(AGENTS)
    return 0 if scripted else folder.account.cases


def move_aside(path: Path) -> Path:
    """Move a file or folder to ``NAME.replaced-DIGEST`` beside it, and return where it is now."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if file.is_file():
            digest.update(file.relative_to(path.parent).as_posix().encode() + b"\0" + file.read_bytes())
    suffix = "".join(path.suffixes) if path.is_file() else ""
    stem = path.name.removesuffix(suffix)
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        target = path.with_name(f"{stem}.replaced-{digest.hexdigest()[:8]}{again}{suffix}")
        if not target.exists():
            return path.rename(target)
    raise AssertionError
