"""The frame in Inspect: a manifest at handoff, one at scoring, and a score ``frame`` beside the task's own.

:func:`framed` attaches it to any task without editing it. The verdict and every path are in the score's metadata. Both
manifests are kept in the sample's store, so a log can be scored again with ``inspect score LOG --scorer taulong/frame``.
With ``sandbox="local"`` nothing is isolated: what others do in the same folders is read too.
"""

import inspect as python_inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    from inspect_ai import Task, task_with
    from inspect_ai.log import EvalLog, EvalSample, read_eval_log
    from inspect_ai.scorer import Metric, Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, chain, solver
    from inspect_ai.util import registry_info, sandbox, store
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("Inspect is not installed: pip install 'taulong[inspect]'", name=missing.name) from None

from taulong.errors import ConfigError, DataError, near
from taulong.frame.footprint import Footprint, build_footprint, read_footprints
from taulong.frame.licences import NOISE, Licence, licences_digest, read_licences
from taulong.frame.manifest import Bounds, Manifest, check_globs, check_roots, read_command, state_manifest
from taulong.frame.verdict import Record, Verdict, judge_again

START, END, GIVEN = "taulong_frame_start", "taulong_frame_end", "taulong_frame_given"
"""Where the sample's store keeps the two packed manifests, or why there is none (``!`` before the reason), and what the
run was judged by."""
BOUNDS = Bounds()
GRACE = 15
"""Seconds a sandbox is given beyond the reader's own bound, which ends it without leaving a process behind."""

StateReader = Callable[[TaskState], Any]
Reference = str | os.PathLike | Mapping[str, Footprint] | None


def framed(
    task: Task,
    roots: Sequence[str] | None = None,
    state: StateReader | None = None,
    keys: Mapping[str, str] | None = None,
    after: str | int | None = None,
    reference: Reference = None,
    licensed: str | os.PathLike | Sequence[Licence] = (),
    gate: bool = False,
    without: Sequence[str] = (),
    bounds: Bounds = BOUNDS,
    cluster: str | None = None,
    database: bool = False,
) -> Task:
    """Return the task with a frame around it (the same object, as ``task_with`` gives it back).

    Args:
        task: any task.
        roots: folders of the sample's sandbox that make up the frame.
        state: or a function, which may be async, from the task state to a JSON-like state; one of the two.
        keys: for ``state``: glob of a list's path -> key field of its records.
        after: name or number of the step of the task's solver after which the agent takes over. Default: before the
            solver, after the task's own setup. A task that fills its state in its solver needs this.
        reference: footprints by sample id, or the file of them that ``taulong frame footprint`` writes.
        licensed: licences beside the default noise, or a file of them.
        gate: multiply the task's own scores by the verdict; not evaluated leaves them unscored, never a pass.
        without: globs of paths that are not read.
        bounds: of the reading.
        cluster: key of the sample metadata by which the standard error is clustered.
        database: whether the fields of the footprint must also end as the reference leaves them.

    Raises:
        ConfigError: neither or both of roots and state, no such step, gate without a scorer.
        DataError: a file of footprints or licences that cannot be read.
    """
    if (roots is None) == (state is None):
        raise ConfigError("framed: name either roots, the folders of a sandbox, or state, a function")
    if gate and not task.scorer:
        raise ConfigError("framed: gate=True multiplies the task's own scores, and it has no scorer")
    taken = _taker(check_roots(roots) if roots is not None else None, state, keys, tuple(check_globs(without)), bounds)
    step = _handoff(taken)
    own = list(task.scorer or ())
    if gate:
        own = [_gated(one) for one in own]
    # First, because a scorer may write or delete files where it looks.
    scorers = [_frame(reference, licensed, database, cluster, taken), *own]
    if after is None:
        return task_with(task, setup=[*([task.setup] if task.setup else []), step], scorer=scorers)
    return task_with(task, solver=_inserted(task.solver, step, after), scorer=scorers)


def _inserted(main: Any, step: Solver, after: str | int) -> Solver:
    steps = list(chain(main))  # type: ignore[call-overload]
    names = [registry_info(one).name.rpartition("/")[2] for one in steps]
    if isinstance(after, str):
        if after not in names:
            raise ConfigError(f"after: the task's solver has no step {after!r}; {near(after, names)}")
        after = names.index(after)
    if not 0 <= after < len(steps):
        raise ConfigError(f"after: {after} is no step of {len(steps)}: {', '.join(names)}")
    return chain([*steps[: after + 1], step, *steps[after + 1 :]])


# --- manifests ------------------------------------------------------------------------------------------------------

Taker = Callable[[TaskState], Any]


def _taker(roots, state, keys, without, bounds) -> Taker:
    async def take(task_state: TaskState) -> Manifest:
        if state is not None:
            contents = state(task_state)
            if python_inspect.isawaitable(contents):
                contents = await contents
            return contents if isinstance(contents, Manifest) else state_manifest(contents, keys)
        command = read_command(roots, without=without, bounds=bounds)
        done = await sandbox().exec(command, timeout=int(bounds.seconds) + GRACE, timeout_retry=False)
        return Manifest.unpacked(done.stdout if done.success else done.stdout + "\n" + done.stderr)

    return take


async def _taken(take: Taker, task_state: TaskState) -> str:
    """Return the packed manifest, or ``!`` and why there is none: a sandbox may be gone, full, or without python3."""
    try:
        return (await take(task_state)).packed()
    except DataError as error:
        return f"!{error}"
    except Exception as error:  # whatever a sandbox or a task's own reader of its state raises
        return f"!{type(error).__name__}: {error}"


@solver
def handoff(
    roots: list[str] | None = None, without: list[str] | None = None, seconds: float = BOUNDS.seconds
) -> Solver:
    """A solver that takes the manifest at handoff, for a chain that is written by hand."""
    return _handoff(_taker(check_roots(roots or ["."]), None, None, tuple(without or ()), Bounds(seconds=seconds)))


def _handoff(take: Taker) -> Solver:
    @solver(name="taulong/handoff")
    def taulong_handoff() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            store().set(START, await _taken(take, state))
            return state

        return solve

    return taulong_handoff()


def _stored(key: str) -> tuple[Manifest | None, str | None]:
    """Return the manifest that the sample's store keeps, or None and why there is none."""
    text = store().get(key)
    if text is None:
        return None, None
    if text.startswith("!"):
        return None, text[1:]
    try:
        return Manifest.unpacked(text, key), None
    except DataError as damaged:
        return None, str(damaged)


# --- the scorer -----------------------------------------------------------------------------------------------------


@scorer(metrics=[mean(), stderr()], name="taulong/frame")
def frame(
    reference: str | None = None, licensed: str | None = None, database: bool = False, accept_changed: bool = False
) -> Scorer:
    """The score ``frame`` from the manifests a log keeps: 1 kept, 0 left, unscored where it was not evaluated.

    Args:
        reference: file of footprints.
        licensed: file of licences.
        database: whether the footprint's fields must also end as the reference leaves them.
        accept_changed: judge under a reference and licences other than those the run was judged by.
    """
    return _scoring(_footprints(reference), _licences(licensed), database, None, accept_changed)


def _frame(reference: Reference, licensed, database: bool, cluster: str | None, take: Taker) -> Scorer:
    metrics: list[Metric] = [mean(), stderr(cluster=cluster)]
    footprints, licences = _footprints(reference), _licences(licensed)

    @scorer(metrics=metrics, name="frame")
    def taulong_frame() -> Scorer:
        return _scoring(footprints, licences, database, take, False)

    return taulong_frame()


def _scoring(footprints, licences, database: bool, take: Taker | None, accept_changed: bool) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        if take is not None:
            left = await _taken(take, state)
            if not left.startswith("!") or store().get(END) is None:  # a log that is scored again has no sandbox
                store().set(END, left)
        sample = str(state.sample_id)
        (start, no_start), (end, no_end) = _stored(START), _stored(END)
        footprint = footprints.get(sample)
        if store().get(GIVEN) is None:
            now = Record.of(sample, start, end, footprint, licences, database)
            store().set(GIVEN, {"footprint": now.footprint, "licences": now.licences})
        record = Record(sample, start, end, **store().get(GIVEN), database=database)
        verdict = judge_again(record, footprint, licences, accept_changed)
        whys = {when: why for when, why in (("handoff", no_start), ("grading", no_end)) if why}
        if verdict.status == "not_evaluated" and whys:
            reason = "; ".join(f"no manifest at {when}: {why}" for when, why in whys.items())
            verdict = Verdict("not_evaluated", reason, licences=licences)
        return score_of(verdict)

    return score


def score_of(verdict: Verdict) -> Score:
    """Return a verdict as a score: 1, 0 or unscored; the reason as explanation, everything else as metadata."""
    found = verdict.to_json()
    if verdict.status == "not_evaluated":
        return Score.unscored(reason="not_evaluated", explanation=verdict.reason, metadata=found)
    return Score(
        value=float(verdict.status == "pass"), answer=verdict.status, explanation=verdict.reason, metadata=found
    )


def _footprints(reference: Reference) -> Mapping[str, Footprint]:
    if reference is None:
        return {}
    return reference if isinstance(reference, Mapping) else read_footprints(Path(reference))


def _licences(licensed: str | os.PathLike | Sequence[Licence] | None) -> tuple[Licence, ...]:
    if isinstance(licensed, (str, os.PathLike)):
        return (*NOISE, *read_licences(licensed))
    return (*NOISE, *(licensed or ()))


# --- the gate -------------------------------------------------------------------------------------------------------


def _gated(own: Scorer) -> Scorer:
    """Return a task's scorer with its value multiplied by the verdict of the frame, under its name and metrics."""
    info = registry_info(own)

    @scorer(metrics=info.metadata["metrics"], name=info.name)
    def gated_scorer() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score | None:
            given = await own(state, target)
            if given is None:
                return None
            verdict = (state.scores or {})["frame"]
            metadata = {**(given.metadata or {}), "ungated": given.value}
            if verdict.answer == "pass":
                return given.model_copy(update={"metadata": metadata})
            if verdict.answer is None:
                why = f"the frame was not evaluated: {verdict.explanation}"
                return Score.unscored(reason="not_evaluated", answer=given.answer, explanation=why, metadata=metadata)
            return given.model_copy(
                update={
                    "value": nothing(given.value),
                    "explanation": f"{verdict.explanation}\n\n{given.explanation or ''}".strip(),
                    "metadata": metadata,
                }
            )

        return score

    return gated_scorer()


def nothing(value: Any) -> Any:
    """Return the value of a score that is worth nothing, in the form of this one."""
    if isinstance(value, dict):
        return {name: nothing(below) for name, below in value.items()}
    if isinstance(value, list):
        return [nothing(below) for below in value]
    return "I" if isinstance(value, str) else type(value)(0)


# --- footprints -----------------------------------------------------------------------------------------------------


def footprints_from_log(
    log: EvalLog, solved: Callable[[Mapping[str, Score]], bool] | None = None
) -> dict[str, Footprint]:
    """Return the footprint of every sample from a log of the reference; its epochs are the runs.

    Args:
        log: of a framed task whose solver was the reference.
        solved: whether the task's own scores say that a run of the reference is right. Default: all scores but
            ``frame`` are above 0.

    Raises:
        DataError: a sample ended in an error, was not solved, or has no two manifests.
    """
    runs: dict[str, list[tuple[Manifest, Manifest]]] = {}
    for sample in log.samples or ():
        name = str(sample.id)
        if sample.error:
            raise DataError(f"{name}: the reference ended in an error: {sample.error.message}")
        scores = {key: score for key, score in (sample.scores or {}).items() if key != "frame"}
        if not (solved or _all_above_0)(scores):
            said = ", ".join(f"{key} {score.value}" for key, score in scores.items())
            raise DataError(f"{name}: the reference is not right by the task's own scores: {said or 'none'}")
        record, why = _record(sample)
        if record.start is None or record.end is None:
            raise DataError(f"{name}: {why}")
        runs.setdefault(name, []).append((record.start, record.end))
    return {name: build_footprint(name, pairs) for name, pairs in runs.items()}


def runs_of_log(path: Path) -> list[tuple[Record, str | None]]:
    """Return every sample's run from a log file, and why a manifest of it is missing."""
    return [_record(sample) for sample in read_eval_log(str(path)).samples or ()]


def _record(sample: EvalSample) -> tuple[Record, str | None]:
    found: dict[str, Manifest | None] = {START: None, END: None}
    whys = []
    for key, when in ((START, "handoff"), (END, "grading")):
        text = sample.store.get(key, "!none in the log")
        if text.startswith("!"):
            whys.append(f"no manifest at {when}: {text[1:]}")
        else:
            found[key] = Manifest.unpacked(text, f"{sample.id}: {key}")
    given = sample.store.get(GIVEN) or {"footprint": None, "licences": licences_digest(NOISE)}
    return Record(str(sample.id), found[START], found[END], **given), "; ".join(whys) or None


def _all_above_0(scores: Mapping[str, Score]) -> bool:
    from inspect_ai.scorer import value_to_float

    to_float = value_to_float()
    return bool(scores) and all(to_float(score.value) > 0 for score in scores.values())
