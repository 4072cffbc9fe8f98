"""The audit of framed Inspect tasks: reference, nothing, and each accident, of every sample."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval

from taulong.errors import DataError, check_name
from taulong.frame.footprint import Footprint, write_footprints
from taulong.harness.accidents import ACCIDENTS
from taulong.harness.audit import AuditedRun
from taulong.harness.file_tasks import framed_errors, framed_records
from taulong.harness.inspect import footprints_from_log

FILE_TASKS: Mapping[str, Callable[..., Task]] = {"records": framed_records, "errors": framed_errors}
NAMES = (*FILE_TASKS, "telecom")


def audit_inspect(name: str, folder: Path, limit: int | None = None) -> tuple[list[AuditedRun], dict[str, Footprint]]:
    """Return every run of a framed task, played without a model, and the footprints by sample.

    Args:
        name: ``records``, ``errors`` or ``telecom``, inspect-evals' port with all its samples.
        folder: for the logs.
        limit: how many samples.

    Raises:
        DataError: the reference has no footprint, or a run did not end well.
    """
    check_name("task", name, NAMES)
    make, accidents = _task(name)
    log = _played(make(does="reference"), folder, limit)
    footprints = footprints_from_log(log)
    write_footprints(footprints, folder / f"{name}.json")
    rows = []
    for does in ("reference", "nop", *accidents):
        log = _played(make(does=does, reference=str(folder / f"{name}.json")), folder, limit)
        rows += [_row(name, does, sample) for sample in sorted(log.samples, key=lambda sample: str(sample.id))]
    return rows, footprints


def _task(name: str) -> tuple[Callable[..., Task], Mapping[str, Any]]:
    if name in FILE_TASKS:
        return FILE_TASKS[name], ACCIDENTS
    from taulong.harness.tau2_port import ACCIDENTS as WRITES
    from taulong.harness.tau2_port import framed_telecom

    return framed_telecom, WRITES


def _played(task: Task, folder: Path, limit: int | None):
    os.environ.setdefault("INSPECT_DISPLAY", "none")
    [log] = eval(task, model="mockllm/model", log_dir=str(folder / "logs"), limit=limit, fail_on_error=False)
    if log.status != "success" or not log.samples:
        raise DataError(f"{task.name}: ended as {log.status}: {log.error.message if log.error else 'no samples'}")
    return log


def _row(name: str, does: str, sample) -> AuditedRun:
    from inspect_ai.scorer import value_to_float

    harness, place = "inspect", f"{name}/{sample.id}"
    if sample.error:
        message = sample.error.message
        if "void: " in message:
            return AuditedRun(harness, place, does, None, "void", 0, "nothing it could happen to")
        return AuditedRun(harness, place, does, None, "not_evaluated", 0, message)
    scores = dict(sample.scores)
    frame = scores.pop("frame")
    [own] = scores.values()
    status = frame.metadata["status"]
    return AuditedRun(
        harness, place, does, value_to_float()(own.value), status, len(frame.metadata["outside"]), frame.explanation
    )
