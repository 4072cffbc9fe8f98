"""The gate for database domains, on the frame's core: target, frame and form of what a run left."""

from dataclasses import dataclass

from taulong.audit.domain_runs import Gold
from taulong.domains.state import shipped
from taulong.frame.footprint import build_footprint
from taulong.frame.manifest import Manifest, state_manifest
from taulong.frame.verdict import Verdict, judge


@dataclass(frozen=True)
class Parts:
    """What the gate says of a run.

    Attributes:
        target: whether the fields that the reference wrote end as the reference leaves them, canonically.
        frame: whether nothing else differs.
        form: whether order and spelling are the reference's too; never part of the verdict.
        verdict: the whole verdict, with paths and values.
    """

    target: bool
    frame: bool
    form: bool
    verdict: Verdict

    @property
    def passed(self) -> bool:
        """Target and frame."""
        return self.verdict.status == "pass"


def judge_state(gold: Gold, changed: dict) -> Parts:
    """Return what the gate says of a run that left these changes (:func:`taulong.domains.state.changes`).

    Only records that the reference or the run has touched are looked at: the others are as shipped on both sides.
    """
    paths = sorted(gold.initial.keys() | gold.changes.keys() | changed.keys())
    kept = {path: shipped(gold.domain, *path.split("/", 1)) for path in paths}
    start, reference, end = (_manifest(gold, {**kept, **after}) for after in (gold.initial, gold.changes, changed))
    footprint = build_footprint(gold.task.id, [(start, reference)])
    verdict = judge(start, end, footprint, licences=(), task=gold.task.id, database=True)
    return Parts(not verdict.target, not verdict.outside, not verdict.form, verdict)


def _manifest(gold: Gold, records: dict) -> Manifest:
    state: dict[str, dict] = {}
    for path, record in records.items():
        table, key = path.split("/", 1)
        if record is not None:
            state.setdefault(table, {})[key] = record
        else:
            state.setdefault(table, {})
    return state_manifest(state, name=gold.domain)
