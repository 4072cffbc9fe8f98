"""``taulong frame audit``: of Harbor tasks, what the reference, nothing, and each accident beside the reference are paid.

The reference is run first, more than once, for the footprint; then once framed, then nothing, then once for each
accident. Every run is a Harbor trial of its own.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from taulong.errors import DataError
from taulong.frame.footprint import Footprint, build_footprint, write_footprints
from taulong.frame.manifest import Manifest
from taulong.harness.accidents import ACCIDENTS
from taulong.progress import progress_bar

FOLDER_ENVIRONMENT = "taulong.harness.folder:FolderEnvironment"
DOES = ("reference", "nop", *ACCIDENTS)


@dataclass(frozen=True)
class AuditedRun:
    """One run of one task.

    Attributes:
        harness, task: where and what.
        does: ``reference``, ``nop`` or an accident after the reference.
        reward: what the harness pays; None where it could not say.
        frame: ``pass``, ``fail`` or ``not_evaluated``; ``void`` where the accident found nothing to happen to.
        outside: how many changes are outside the frame.
        reason: what the frame says, or what went wrong.
    """

    harness: str
    task: str
    does: str
    reward: float | None
    frame: str
    outside: int = 0
    reason: str | None = None

    def row(self) -> dict:
        """Return it as a row of a table."""
        return asdict(self)


def find_tasks(places: Sequence[str | Path]) -> list[Path]:
    """Return the folders of Harbor tasks in or below these places, sorted.

    Raises:
        DataError: a place does not exist, or holds no task.
    """
    found: list[Path] = []
    for place in map(Path, places):
        if not place.is_dir():
            raise DataError(f"{place}: is no folder")
        here = sorted({file.parent for file in place.rglob("task.toml") if (file.parent / "instruction.md").is_file()})
        if not here:
            raise DataError(f"{place}: holds no Harbor task, a folder with task.toml and instruction.md")
        found += here
    return found


def fetched(source: str, into: Path) -> Path:
    """Return the folder of a public repository of tasks, cloned where it is missing; ``URL#FOLDER`` is a part of it.

    Raises:
        DataError: git cannot clone it, or the repository has no such folder.
    """
    url, _, part = source.partition("#")
    target = into / url.rstrip("/").removesuffix(".git").rpartition("/")[2]
    if not target.exists():
        into.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["git", "clone", "--quiet", "--depth", "1", "--", url, str(target)], capture_output=True, text=True
        )
        if done.returncode:
            shutil.rmtree(target, ignore_errors=True)
            raise DataError(f"{url}: cannot be cloned: {' '.join(done.stderr.split())}")
    if not (target / part).is_dir():
        raise DataError(f"{url}: has no folder {part!r}")
    return target / part


async def audit_task(
    task: Path, folder: Path, environment: dict[str, Any], runs: int = 2, roots: Sequence[str] = ("/app", "/root")
) -> tuple[list[AuditedRun], Footprint | None]:
    """Return every run of a task and its footprint, None where the reference has none; trials are kept in a folder."""
    trials = Trials(task, folder, environment, list(roots))
    try:
        footprint = await trials.footprint(runs)
    except DataError as error:
        return [AuditedRun("harbor", task.name, "reference", trials.reward, "not_evaluated", 0, str(error))], None
    write_footprints({footprint.task: footprint}, folder / "footprint.json")
    spared = [path for path, kinds in footprint.changes.items() if "deleted" not in kinds]
    return [await trials.run(does, folder / "footprint.json", spared) for does in DOES], footprint


class Trials:
    """The trials of one task, one after the other."""

    def __init__(self, task: Path, folder: Path, environment: dict[str, Any], roots: list[str]):
        self.task, self.folder, self.environment, self.roots = task, folder, environment, roots
        self.reward: float | None = None

    async def footprint(self, runs: int) -> Footprint:
        """Return the footprint of so many runs of the reference; raises DataError where it has none."""
        from harbor.models.task.task import Task

        pairs = []
        for number in range(runs):
            result, agent_dir = await self.trial(f"measure-{number}", {"inner": "oracle"}, None)
            self.reward = ((result.verifier_result and result.verifier_result.rewards) or {}).get("reward")
            if result.exception_info is not None:
                raise DataError(f"the reference ended in an error: {self._said(result.exception_info)}")
            if not self.reward:
                raise DataError(f"the reference is paid {self.reward} by the task's own tests")
            stored = json.loads((agent_dir / "frame.json").read_text(encoding="utf-8"))
            for key in ("start", "end"):
                if "why" in stored[key]:
                    raise DataError(stored[key]["why"])
            pairs.append(tuple(Manifest.from_json(stored[key]["manifest"]) for key in ("start", "end")))
        return build_footprint(Task(self.task).name, pairs)

    async def run(self, does: str, footprints: Path, spared: Sequence[str]) -> AuditedRun:
        """Return what one run is paid and what the frame says."""
        options: dict[str, Any] = {"inner": "nop" if does == "nop" else "oracle"}
        if does in ACCIDENTS:
            options |= {"accident": does, "spared": list(spared)}
        result, agent_dir = await self.trial(does, options, footprints)
        rewards = (result.verifier_result and result.verifier_result.rewards) or {}
        if not (agent_dir / "frame-verdict.json").is_file():
            why = self._said(result.exception_info) if result.exception_info else "no verdict was stored"
            return AuditedRun("harbor", self.task.name, does, rewards.get("reward"), "not_evaluated", 0, why)
        verdict = json.loads((agent_dir / "frame-verdict.json").read_text(encoding="utf-8"))
        note = agent_dir / "accident.txt"
        if note.is_file() and note.read_text().startswith("void"):
            return AuditedRun("harbor", self.task.name, does, None, "void", 0, "nothing it could happen to")
        return AuditedRun(
            "harbor", self.task.name, does, rewards.get("reward"), verdict["status"], len(verdict["outside"]),
            verdict["reason"],
        )  # fmt: skip

    def _said(self, error: Any) -> str:
        """Return an error of Harbor's in one line, without the folders of this machine."""
        text = f"{error.exception_type}: {error.exception_message}".splitlines()[0]
        for folder in (self.folder, self.task, self.folder.resolve(), self.task.resolve()):
            text = text.replace(f"{folder}/", "")
        return text

    async def trial(self, name: str, options: dict[str, Any], footprints: Path | None) -> tuple[Any, Path]:
        """Run one trial and return Harbor's result and the trial's agent folder."""
        from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig, VerifierConfig
        from harbor.trial.trial import Trial

        shutil.rmtree(self.folder / name, ignore_errors=True)
        config = TrialConfig(
            task=TaskConfig(path=self.task),
            trial_name=name,
            trials_dir=self.folder,
            agent=AgentConfig(import_path="taulong.harness.harbor:FramedAgent", kwargs={"roots": self.roots} | options),
            environment=EnvironmentConfig(**self.environment),
            verifier=VerifierConfig(
                import_path="taulong.harness.harbor:FramedVerifier",
                kwargs={"footprints": str(footprints)} if footprints else {},
            ),
        )
        trial = await Trial.create(config)
        return await trial.run(), self.folder / name / "agent"


def audit_tasks(
    tasks: Sequence[Path], folder: Path, environment: dict[str, Any], runs: int = 2
) -> tuple[list[AuditedRun], dict[str, Footprint]]:
    """Return the runs of many tasks, in order, and the footprints by task."""
    rows: list[AuditedRun] = []
    footprints: dict[str, Footprint] = {}
    with progress_bar(len(tasks), unit="task") as bar:
        for task in tasks:
            found, footprint = asyncio.run(audit_task(task, folder / task.name, environment, runs))
            rows += found
            if footprint is not None:
                footprints[footprint.task] = footprint
            bar.update()
    return rows, footprints


def no_namespaces() -> str | None:
    """Return why commands cannot be run here, or None: a machine may not let its users make namespaces."""
    if sys.platform != "linux":
        return f"an environment in a folder needs Linux namespaces; this is {sys.platform}"
    if shutil.which("unshare") is None:
        return "an environment in a folder needs unshare, of util-linux"
    command = "unshare --user --map-root-user --mount --pid --fork true"
    return None if os.system(f"{command} 2>/dev/null") == 0 else "this machine does not let its users make namespaces"
