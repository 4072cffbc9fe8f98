"""``taulong frame``: footprints from runs of the reference, the audit of tasks, verdicts on stored runs."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taulong.errors import ConfigError, DataError
from taulong.frame.footprint import Footprint, build_footprint, read_footprints, write_footprints
from taulong.frame.licences import NOISE, Licence, read_licences
from taulong.frame.verdict import Record, Verdict, judge_again
from taulong.paths import FRAME, located


@dataclass(frozen=True)
class StoredRun:
    """A run as a harness, or this package, has stored it.

    Attributes:
        task: its name.
        place: file or folder it comes from.
        record: the manifests.
        why: why a manifest is missing, or None.
    """

    task: str
    place: Path
    record: Record
    why: str | None = None


def stored_runs(place: Path) -> list[StoredRun]:
    """Return the runs in an Inspect log, a folder of Harbor trials, a stored run, or a folder of any of these.

    Raises:
        DataError: there is none.
    """
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    found: list[StoredRun] = []
    for file in files:
        if file.suffix == ".eval":
            found += _of_log(file)
        elif file.name == "frame-run.json" or (file == place and file.suffix == ".json"):
            record = Record.read(file)
            found.append(StoredRun(record.task, file, record))
    if not found:
        raise DataError(f"{place}: holds no framed run: an Inspect log, Harbor trials, or a stored run")
    return found


def _of_log(file: Path) -> list[StoredRun]:
    from taulong.harness.inspect import runs_of_log

    return [StoredRun(record.task, file, record, why) for record, why in runs_of_log(file)]


def footprints_of(runs: Sequence[StoredRun]) -> dict[str, Footprint]:
    """Return the footprint of every task from stored runs of its reference.

    Raises:
        DataError: a run lacks a manifest.
    """
    pairs: dict[str, list] = {}
    for run in runs:
        if run.record.start is None or run.record.end is None:
            raise DataError(
                f"{run.place}: {run.task}: a manifest of the reference is missing: {run.why or 'not stored'}"
            )
        pairs.setdefault(run.task, []).append((run.record.start, run.record.end))
    return {task: build_footprint(task, found) for task, found in pairs.items()}


def verdicts_on(
    runs: Sequence[StoredRun],
    footprints: dict[str, Footprint],
    licences: Sequence[Licence] = NOISE,
    accept_changed: bool = False,
) -> list[tuple[StoredRun, Verdict]]:
    """Return the verdict on every stored run, given again."""
    found = []
    for run in runs:
        verdict = judge_again(run.record, footprints.get(run.task), licences, accept_changed)
        if run.why and verdict.status == "not_evaluated":
            verdict = Verdict("not_evaluated", run.why, licences=tuple(licences))
        found.append((run, verdict))
    return found


# --- command line ---------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong frame``."""
    what = parser.add_subparsers(metavar="footprint|audit|verdict", required=True, dest="what")
    footprint = what.add_parser(
        "footprint", help="measure footprints from runs of the reference, as Inspect or Harbor stored them"
    )
    footprint.add_argument(
        "runs", nargs="+", type=Path, metavar="LOG", help="Inspect log, folder of Harbor trials, or stored run"
    )
    footprint.add_argument("--out", type=Path, required=True, metavar="FILE", help="file of footprints")
    verdict = what.add_parser("verdict", help="judge stored runs again")
    verdict.add_argument("runs", nargs="+", type=Path, metavar="LOG", help="as for footprint")
    verdict.add_argument("--reference", type=Path, metavar="FILE", help="file of footprints")
    verdict.add_argument("--licensed", type=Path, metavar="FILE", help="file of licences")
    verdict.add_argument(
        "--accept-changed",
        action="store_true",
        help="judge by another reference or licences than at the time of the run",
    )
    verdict.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    audit = what.add_parser("audit", help="what reference, nothing and accidents are paid, and what the frame says")
    audit.add_argument(
        "tasks", nargs="+", metavar="TASKS",
        help="folder of Harbor tasks, URL of a git repository of them (URL#FOLDER), or inspect:records, inspect:errors, "
        "inspect:telecom",
    )  # fmt: skip
    audit.add_argument("--name", default="audit", help="folder below data/frame (default: audit)")
    audit.add_argument(
        "--environment",
        default=None,
        metavar="TYPE",
        help="Harbor's, such as docker (default: a plain folder, no isolation)",
    )
    audit.add_argument("--runs", type=int, default=2, help="runs of the reference for its footprint (default: 2)")
    audit.add_argument("--limit", type=int, default=None, help="samples of an Inspect task (default: all)")


def run(arguments: argparse.Namespace) -> int:
    """Run what was asked for; return 0, or 1 where a verdict is not a pass."""
    return {"footprint": _footprint, "verdict": _verdict, "audit": _audit}[arguments.what](arguments)


def _footprint(arguments: argparse.Namespace) -> int:
    footprints = footprints_of([run for place in arguments.runs for run in stored_runs(place)])
    write_footprints(footprints, arguments.out)
    for task, footprint in footprints.items():
        unsteady = f", {len(footprint.unsteady)} unsteady" if footprint.unsteady else ""
        print(f"{task}: {len(footprint.changes)} paths in {footprint.runs} runs{unsteady}")
    print(f"footprints in {located(arguments.out)}")
    return 0


def _verdict(arguments: argparse.Namespace) -> int:
    footprints = read_footprints(arguments.reference) if arguments.reference else {}
    licences = (*NOISE, *read_licences(arguments.licensed)) if arguments.licensed else NOISE
    runs = [run for place in arguments.runs for run in stored_runs(place)]
    found = verdicts_on(runs, footprints, licences, arguments.accept_changed)
    if arguments.format == "json":
        rows = [{"task": run.task, "run": located(run.place)} | verdict.to_json() for run, verdict in found]
        print(json.dumps(rows, indent=1))
    else:
        for run, verdict in found:
            print(f"{verdict.status:13} {run.task}" + (f": {verdict.reason}" if verdict.reason else ""))
    return 0 if all(verdict.status == "pass" for _, verdict in found) else 1


def _audit(arguments: argparse.Namespace) -> int:
    from taulong.harness.audit import FOLDER_ENVIRONMENT, audit_tasks, fetched, find_tasks, no_namespaces
    from taulong.harness.tables import summary, write_tables

    if arguments.runs < 1:
        raise ConfigError(f"runs: {arguments.runs} is no number of runs, accepted: 1 or more")
    folder = FRAME / arguments.name
    places: list[Path] = []
    rows = []
    for text in arguments.tasks:
        if text.startswith("inspect:"):
            from taulong.harness.inspect_audit import audit_inspect

            rows += audit_inspect(text.removeprefix("inspect:"), folder / "trials" / "inspect", arguments.limit)[0]
        else:
            places.append(fetched(text, folder / "trials" / "fetched") if "://" in text else Path(text))
    if places:
        environment = {"type": arguments.environment} if arguments.environment else {"import_path": FOLDER_ENVIRONMENT}
        if not arguments.environment and (why := no_namespaces()):
            raise ConfigError(f"{why}; name an environment of Harbor's, such as --environment docker")
        tasks = find_tasks(places)
        rows += audit_tasks(tasks, folder / "trials" / "harbor", environment, arguments.runs)[0]
    write_tables(rows, folder)
    print(summary([row.row() for row in rows]).to_string(index=False))
    print(f"tables in {located(folder)}")
    return 0
