"""A shift as data: an ordered stream of cases, and all of them as a table."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from taulong.shifts.configuration import ShiftConfig


@dataclass(frozen=True)
class Case:
    """One customer's contact.

    Attributes:
        case_id: ``<shift id>/<position>``; says nothing about population or cause.
        position: 1-based place in the shift.
        population: ``teaching``, ``testing`` or ``lookalike``.
        cause: the setting that is wrong on the phone.
        records: the customer's rows for the agent database, by table.
        task: the case as plain data of a tau2 ``Task``.
    """

    case_id: str
    position: int
    population: str
    cause: str
    records: dict[str, list[dict]]
    task: dict


@dataclass(frozen=True)
class Shift:
    """An ordered stream of cases.

    Attributes:
        shift_id: ``<split>-<seed>``.
        split: ``train`` or ``eval``.
        seed: generates everything in the shift.
        recurring_cause: shared by its teaching and testing incidents.
        phone_model: the model of every incident's phone, and of no lookalike's: what an agent can tell them apart by.
        config: the set's configuration.
        cases: in order.
    """

    shift_id: str
    split: str
    seed: int
    recurring_cause: str
    phone_model: str
    config: ShiftConfig
    cases: tuple[Case, ...]

    def teaching_seen(self, position: int) -> int:
        """Return how many teaching cases come before a position."""
        return sum(case.population == "teaching" for case in self.cases[: position - 1])

    def to_json(self) -> str:
        """Return the shift as one line of JSON (its config is the manifest's)."""
        return json.dumps({**asdict(self), "config": None}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str, config: ShiftConfig) -> "Shift":
        """Return the shift of one line written by :meth:`to_json`."""
        row = json.loads(line)
        cases = tuple(Case(**case) for case in row.pop("cases"))
        return cls(**{**row, "config": config, "cases": cases})


def shift_table(shifts: Iterable[Shift]):
    """Return a table of cases: one row a case, columns as in the records."""
    import pandas as pd

    return pd.DataFrame(
        {
            "shift_id": shift.shift_id,
            "case_id": case.case_id,
            "split": shift.split,
            "seed": shift.seed,
            "position": case.position,
            "population": case.population,
            "cause": case.cause,
            "recurring_cause": shift.recurring_cause,
            "teaching_seen": shift.teaching_seen(case.position),
            "customer": case.records["customers"][0]["full_name"],
            "phone_number": case.records["customers"][0]["phone_number"],
        }
        for shift in shifts
        for case in shift.cases
    )
