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
        masked: whether the evidence is masked until the commitment.
        recurring_cause: what is broken on incidents of its fleet at this place; on a lookalike, what it looks like.
        fleet: number of its fleet, from 0.
        regime: how often the recurring cause has changed before.
    """

    case_id: str
    position: int
    population: str
    cause: str
    records: dict[str, list[dict]]
    task: dict
    masked: bool
    recurring_cause: str
    fleet: int = 0
    regime: int = 0

    @property
    def phone_model(self) -> str:
        """Model of the phone that the customer calls about."""
        number = self.records["customers"][0]["phone_number"]
        calling = next(line["device_id"] for line in self.records["lines"] if line["phone_number"] == number)
        return next(device["model"] for device in self.records["devices"] if device["device_id"] == calling)


@dataclass(frozen=True)
class Shift:
    """An ordered stream of cases.

    Attributes:
        shift_id: ``<split>-<seed>``.
        split: ``train`` or ``eval``.
        seed: generates everything in the shift.
        regimes: the recurring cause of each fleet, before the first change and after each; one fleet and no change by
            default, so one cause.
        changed_at: position of the first case after each change.
        marks: phone model of each fleet's incidents, which no lookalike has; empty where nothing marks incidents.
        config: the set's configuration.
        cases: in order.
    """

    shift_id: str
    split: str
    seed: int
    regimes: tuple[tuple[str, ...], ...]
    changed_at: tuple[int, ...]
    marks: tuple[str, ...]
    config: ShiftConfig
    cases: tuple[Case, ...]

    @property
    def recurring_cause(self) -> str:
        """The cause that the shift begins with, of its first fleet."""
        return self.regimes[0][0]

    @property
    def phone_model(self) -> str | None:
        """The first fleet's mark, or None where nothing marks incidents."""
        return self.marks[0] if self.marks else None

    def causes_at(self, position: int) -> dict[str | None, str]:
        """Return the recurring causes in force at a position, by the phone model that marks them (None: nothing does)."""
        regime = sum(changed <= position for changed in self.changed_at)
        return dict(zip(self.marks or (None,), self.regimes[regime], strict=True))

    def teaching_before(self, case: Case) -> list[Case]:
        """Return the teaching cases before a case that show the cause in force for it."""
        return [
            earlier
            for earlier in self.cases[: case.position - 1]
            if earlier.population == "teaching" and (earlier.fleet, earlier.regime) == (case.fleet, case.regime)
        ]

    def teaching_seen(self, position: int) -> int:
        """Return how many teaching cases before a position show the cause in force there."""
        return len(self.teaching_before(self.cases[position - 1]))

    def teaching_distance(self, position: int) -> int | None:
        """Return how many cases ago the last of them was (1: the case before), or None where there is none."""
        before = self.teaching_before(self.cases[position - 1])
        return position - before[-1].position if before else None

    def to_json(self) -> str:
        """Return the shift as one line of JSON (its config is the manifest's)."""
        return json.dumps({**asdict(self), "config": None}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str, config: ShiftConfig) -> "Shift":
        """Return the shift of one line written by :meth:`to_json`, of this version or of the first."""
        row = json.loads(line)
        if "phone_model" in row:  # the first version: one cause and one mark a shift
            cause, mark = row.pop("recurring_cause"), row.pop("phone_model")
            row |= {"regimes": [[cause]], "changed_at": [], "marks": [mark]}
            row["cases"] = [
                {**case, "masked": config.masks(case["population"]), "recurring_cause": cause} for case in row["cases"]
            ]
        return cls(
            **{
                **row,
                "regimes": tuple(map(tuple, row["regimes"])),
                "changed_at": tuple(row["changed_at"]),
                "marks": tuple(row["marks"]),
                "config": config,
                "cases": tuple(Case(**case) for case in row["cases"]),
            }
        )


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
            "recurring_cause": case.recurring_cause,
            "fleet": case.fleet,
            "regime": case.regime,
            "teaching_seen": shift.teaching_seen(case.position),
            "teaching_distance": shift.teaching_distance(case.position),
            "customer": case.records["customers"][0]["full_name"],
            "phone_number": case.records["customers"][0]["phone_number"],
        }
        for shift in shifts
        for case in shift.cases
    )
