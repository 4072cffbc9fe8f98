"""The frame in Harbor: an agent that takes a manifest before and after any other agent, and a verifier that judges.

Harbor's hooks are given no environment, so the manifests are taken by a wrapping agent, ``FramedAgent``, around any
agent by name or import path, oracle and nop included. ``FramedVerifier`` runs the task's own tests untouched and adds
``frame`` (1 kept, 0 not), ``frame_evaluated`` and ``gated`` to its rewards; what cannot be evaluated gets no ``gated``
above 0. The run is stored as ``frame.json`` in the trial's agent folder, the verdict beside it as ``frame-verdict.json``.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    from harbor.agents.base import BaseAgent
    from harbor.agents.factory import AgentFactory
    from harbor.environments.base import BaseEnvironment
    from harbor.models.agent.context import AgentContext
    from harbor.models.agent.name import AgentName
    from harbor.models.trial.config import AgentConfig, TrialConfig
    from harbor.models.trial.paths import TrialPaths
    from harbor.models.verifier.result import VerifierResult
    from harbor.verifier.verifier import Verifier
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "Harbor is not installed: pip install 'taulong[harbor]', on Python 3.12 or newer", name=missing.name
    ) from None

from taulong.errors import DataError
from taulong.frame.footprint import Footprint, read_footprints
from taulong.frame.licences import NOISE, Licence, read_licences
from taulong.frame.manifest import Bounds, Manifest, check_globs, check_roots, shell_command
from taulong.frame.verdict import Record, Verdict, judge_again
from taulong.harness.accidents import accident_line
from taulong.paths import atomic_write

RUN, VERDICT = "frame.json", "frame-verdict.json"
ROOTS = ("/app", "/root")
GRACE = 15
"""Seconds an environment is given beyond the reader's own bound."""


class FramedAgent(BaseAgent):
    """Any agent, with a manifest at handoff and one when it has ended, however it ended.

    Args:
        inner: the agent, by Harbor's name for it or ``module:Class``; its own options are the remaining keywords.
        roots: folders that make up the frame.
        without: globs of paths that are not read.
        seconds: how long one manifest may take.
        accident: an accident that happens when the inner agent is done, for audits.
        spared: paths that the accident leaves alone.
        home: the folder that counts as the home in an accident.
    """

    def __init__(
        self,
        logs_dir: Path,
        inner: str = "oracle",
        roots: Sequence[str] = ROOTS,
        without: Sequence[str] = (),
        seconds: float = Bounds().seconds,
        accident: str | None = None,
        spared: Sequence[str] = (),
        home: str = "/root",
        **options: Any,
    ):
        self.roots = check_roots([roots] if isinstance(roots, str) else roots)
        self.without, self.bounds = check_globs(without), Bounds(seconds=float(seconds))
        self.accident = accident and accident_line(accident, self.roots, home, spared)
        model, logger = options.pop("model_name", None), options.pop("logger", None)
        environment = options.pop("extra_env", None) or {}
        super().__init__(logs_dir, model, logger, extra_env=environment)
        self._config = AgentConfig(name=inner, model_name=model, env=environment, kwargs=options)
        self.inner: BaseAgent | None = None
        if inner != AgentName.ORACLE.value:
            self._make_inner()
        self._name = inner

    def _make_inner(self, **more: Any) -> BaseAgent:
        self.inner = AgentFactory.create_agent_from_config(
            self._config, Path(self.logs_dir), logger=self.logger, **more
        )
        self.capabilities = self.inner.capabilities
        return self.inner

    @staticmethod
    def name() -> str:
        """The name in results."""
        return "framed"

    def version(self) -> str:
        """Return the inner agent's name, and its version where it is known by now."""
        return f"{self._name} {self.inner.version() or ''}".strip() if self.inner else self._name

    async def setup(self, environment: BaseEnvironment) -> None:
        """Set up the inner agent, before the handoff: what it installs for itself is no change of the run."""
        # The oracle is given its task, which the trial's configuration names once it is written.
        inner = self.inner or self._make_inner(**_task_options(TrialPaths(Path(self.logs_dir).parent)))
        inner.session_id, inner.context_id = self.session_id, self.context_id
        await inner.setup(environment)

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Take the manifest, run the inner agent, take the other manifest and store both."""
        start = await self._manifest(environment, "handoff")
        try:
            assert self.inner is not None, "setup comes before run"
            await self.inner.run(instruction, environment, context)
            if self.accident is not None:
                await self._have_accident(environment)
        finally:
            # Harbor cancels an agent whose time is over; the end is read all the same.
            end = asyncio.ensure_future(self._manifest(environment, "grading"))
            try:
                await asyncio.shield(end)
            except asyncio.CancelledError:
                await end
                raise
            finally:
                stored = {"format": "taulong-trial/1", "start": start, "end": end.result()}
                atomic_write(Path(self.logs_dir) / RUN, json.dumps(stored) + "\n")

    async def _have_accident(self, environment: BaseEnvironment) -> None:
        done = await environment.exec(str(self.accident), user="root")
        if done.return_code:
            raise DataError(f"the accident did not happen: {done.stderr}")
        atomic_write(Path(self.logs_dir) / "accident.txt", done.stdout or "")

    async def _manifest(self, environment: BaseEnvironment, when: str) -> dict:
        """Return {"manifest": ...}, or {"why": ...} where there is none."""
        command = shell_command(self.roots, without=self.without, bounds=self.bounds)
        try:
            done = await environment.exec(command, timeout_sec=int(self.bounds.seconds) + GRACE, user="root")
            said = (done.stdout or "") + ("\n" + (done.stderr or "") if done.return_code else "")
            return {"manifest": Manifest.unpacked(said, when).to_json()}
        except Exception as error:  # whatever an environment raises is why there is no manifest
            return {"why": str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"}


def _task_options(trial: TrialPaths) -> dict:
    """Return what the oracle is given by Harbor when it is run by name: its task, from the trial's own configuration."""
    config = TrialConfig.model_validate_json(trial.config_path.read_text(encoding="utf-8"))
    return {"task_dir": config.task.get_local_path(), "trial_paths": trial}


class FramedVerifier(Verifier):
    """Harbor's verifier, and the frame's verdict beside the task's rewards.

    Args:
        footprints: file of footprints by task name.
        licensed: file of licences.
        accept_changed: judge under others than a run was judged by.
    """

    def __init__(self, *args, footprints: str | None = None, licensed: str | None = None, **options: Any):
        super().__init__(*args, **options)
        self.footprints = read_footprints(footprints) if footprints else {}
        self.licences: tuple[Licence, ...] = (*NOISE, *read_licences(licensed)) if licensed else NOISE

    async def verify(self) -> VerifierResult:
        """Return the task's own rewards with ``frame``, ``frame_evaluated`` and ``gated``."""
        name = self.task.name
        verdict = self._verdict(name, self.footprints.get(name))
        found = await super().verify()
        atomic_write(self.trial_paths.agent_dir / VERDICT, json.dumps(verdict.to_json(), indent=1) + "\n")
        evaluated = verdict.status != "not_evaluated"
        rewards = dict(found.rewards or {})
        rewards["frame_evaluated"] = int(evaluated)
        rewards["frame"] = int(verdict.status == "pass")
        if "reward" in rewards:
            rewards["gated"] = verdict.gated(rewards["reward"]) or 0
        return VerifierResult(rewards=rewards)

    def _verdict(self, name: str, footprint: Footprint | None) -> Verdict:
        try:
            record, why = read_trial(self.trial_paths.agent_dir / RUN, name, footprint, self.licences)
        except DataError as none:
            return Verdict("not_evaluated", str(none), licences=self.licences)
        if why:
            return Verdict("not_evaluated", why, licences=self.licences)
        record.write(self.trial_paths.agent_dir / "frame-run.json")
        return judge_again(record, footprint, self.licences)


def read_trial(
    path: Path, task: str, footprint: Footprint | None, licences: Sequence[Licence]
) -> tuple[Record, str | None]:
    """Return what a framed agent stored of a run, and why a manifest is missing.

    Raises:
        DataError: the run was not framed.
    """
    if not path.is_file():
        raise DataError("no manifest at handoff: the agent was not framed, or did not start")
    stored = json.loads(path.read_text(encoding="utf-8"))
    whys = [
        f"no manifest at {when}: {stored[key]['why']}"
        for key, when in (("start", "handoff"), ("end", "grading"))
        if "why" in stored[key]
    ]
    start, end = (
        Manifest.from_json(stored[key]["manifest"]) if "manifest" in stored[key] else None for key in ("start", "end")
    )
    return Record.of(task, start, end, footprint, licences), "; ".join(whys) or None
