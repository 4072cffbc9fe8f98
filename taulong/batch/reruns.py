"""Reruns: every notebook at full size into one folder named by what was asked, with the committed notebooks untouched.

A rerun works in ``data/reruns/<digest>/``: its kernels find their data and figures below that folder (TAULONG_WORK), so the
parameters are names and hold no path. The digest is of the steps, the notebooks' code and the versions; running the same again
must therefore give the same bytes, and a rerun says so or names the files that differ.
"""

import argparse
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taulong import __version__
from taulong.batch.reproduction import AGENTS, CAP_AGENTS, CAPS, MODES, cap_name
from taulong.errors import DataError
from taulong.paths import ROOT, atomic_write, shown

RERUNS = ROOT / "data" / "reruns"
FORMAT = "taulong-rerun-1"

# In order: each notebook reads what those before it wrote.
STEPS = (
    ("00_tour", {"num_shifts": 8}),
    ("10_generate_shifts", {"shifts": "full", "num_shifts": 24}),
    ("20_execute_runs", {"shifts": "full", "run": "full", "agents": list(AGENTS), "memory_modes": list(MODES)}),
    *(step for cap in CAPS for step in (
        ("10_generate_shifts", {"shifts": cap_name(cap, "full"), "num_shifts": 24, "notebook_cap": cap}),
        ("20_execute_runs", {"shifts": cap_name(cap, "full"), "run": cap_name(cap, "full"), "agents": list(CAP_AGENTS),
                             "memory_modes": ["none", "notebook"]}),
    )),
    ("30_audit_reward_basis", {"tasks": "base"}),
    ("40_memory_value", {"run": "full", "cap_runs": [cap_name(cap, "full") for cap in CAPS]}),
    ("50_regrade_runs", {}),
)  # fmt: skip


@dataclass(frozen=True)
class Rerun:
    """What came of a rerun.

    Attributes:
        folder: where everything is.
        files: digest of every result, by path below the folder.
        changed: results that differ from those of an earlier rerun of the same; empty where there was none.
        first: whether there was none.
    """

    folder: Path
    files: dict[str, str]
    changed: tuple[str, ...]
    first: bool


def rerun(steps: Sequence[tuple[str, dict[str, Any]]] = STEPS, root: str | Path = RERUNS) -> Rerun:
    """Run notebooks in order into a folder named by what is run, and return what came of it.

    Args:
        steps: (notebook, parameters), in order.
        root: where rerun folders are.

    Raises:
        NotebookError: a notebook is not there or cannot take its parameters (before anything runs), or did not come to its end.
        DataError: the folder holds something else than a rerun.
    """
    from taulong.batch.notebooks import run_notebook
    from taulong.batch.parameters import check_parameters, find_notebook, read_defaults

    planned = [(find_notebook(name), parameters) for name, parameters in steps]
    for path, parameters in planned:
        check_parameters(parameters, read_defaults(path))
    identity = _identity(planned)
    folder = Path(root).resolve() / _digest(json.dumps(identity, sort_keys=True).encode())[:12]
    before = _results(folder)
    with _working_in(folder):
        for number, (path, parameters) in enumerate(planned):
            again = sum(earlier == path for earlier, _ in planned[:number])
            output = folder / "notebooks" / f"{path.stem}{f'-{again + 1}' if again else ''}.ipynb"
            print(f"executed {shown(run_notebook(path, parameters, output))}", flush=True)
    files = {path.relative_to(folder).as_posix(): _digest(path.read_bytes()) for path in _files(folder)}
    changed = tuple(
        sorted(name for name in before.keys() | files.keys() if before.get(name) != files.get(name)) if before else ()
    )
    atomic_write(folder / "manifest.json", json.dumps({"format": FORMAT, **identity, "files": files}, indent=1) + "\n")
    return Rerun(folder, files, changed, not before)


def _identity(planned: list[tuple[Path, dict]]) -> dict:
    """Return what a rerun depends on: steps, the notebooks' code, and the versions of taulong, tau2 and its data."""
    import nbformat

    from taulong.backend import installation

    tau2 = installation()
    steps = [
        {"notebook": path.stem, "parameters": parameters,
         "code": _digest("\0".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code").encode())}
        for path, parameters in planned
    ]  # fmt: skip
    return {"steps": steps, "taulong_version": __version__, "tau2_distribution": tau2.distribution, "tau2_version": tau2.version,
            "tau2_data": tau2.data_digest}  # fmt: skip


def _results(folder: Path) -> dict[str, str]:
    """Return the digests that an earlier rerun wrote down, by file; empty where there was none."""
    path = folder / "manifest.json"
    if not path.exists():
        return {}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise KeyError("format")
        return manifest["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{shown(path)}: not the manifest of a rerun ({error}); remove the folder") from error


def _files(folder: Path) -> Iterator[Path]:
    """Yield the results below a folder, in order; durations differ from run to run and are none."""
    for path in sorted(folder.rglob("*")):
        own = path == folder / "manifest.json"
        if (
            path.is_file()
            and not own
            and path.name != "timings.jsonl"
            and not path.name.endswith((".failed.ipynb", ".part"))
        ):
            yield path


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Let the kernels started meanwhile keep data and figures below a folder."""
    outer = os.environ.get("TAULONG_WORK")
    os.environ["TAULONG_WORK"] = str(folder)
    try:
        yield
    finally:
        if outer is None:
            del os.environ["TAULONG_WORK"]
        else:
            os.environ["TAULONG_WORK"] = outer


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# --- command --------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong rerun``."""
    parser.add_argument("--root", default=RERUNS, help="where rerun folders are (default data/reruns)")


def run(arguments: argparse.Namespace) -> int:
    """Rerun everything, say where it is, and return 0, or 1 where results differ from those of an earlier rerun."""
    done = rerun(root=arguments.root)
    print(f"{len(done.files)} results in {shown(done.folder)}")
    if not done.first:
        print(
            f"differs from the earlier rerun: {', '.join(done.changed)}"
            if done.changed
            else "the same bytes as the earlier rerun"
        )
    return 1 if done.changed else 0
