"""What a set of shifts has in common, and which seeds it may use."""

from dataclasses import dataclass, fields
from typing import ClassVar

from taulong.errors import ConfigError, check_integer, check_name, near

SPLITS = {"train": 0, "eval": 1_000_000}
SPLIT_SIZE = 1_000_000
POPULATIONS = ("teaching", "testing", "lookalike")


MARKS = ("none", "model")


@dataclass(frozen=True)
class ShiftConfig:
    """What every shift of a set has in common; validated when built.

    Attributes:
        num_cases: customers a shift.
        incident_fraction: share of them that have the recurring cause (teaching and testing), the rest are lookalikes.
        teaching_count: incidents whose evidence is visible; the other incidents are testing cases.
        patience: agent utterances a customer takes, the opening greeting not counted.
        max_steps: tau2's step limit of one case.
        notebook_cap: characters the notebook holds.
        mark: by what an agent can tell incidents from lookalikes before any evidence: ``none``, as published, or
            ``model``, a phone model that the incidents have in common and no lookalike has.
        masked_lookalikes: lookalikes are masked like testing cases, so that an earlier fix must be withheld by the mark.
        teaching_first: a shift opens with a teaching case, so that none comes before any teaching.
        changes: how often the recurring cause changes inside a shift; a new teaching case stands at each change.
        fleets: phone models that mark incidents, each with a cause of its own.

    Raises:
        ConfigError: a field is outside its range; the message names every such field, its value and the accepted range.
    """

    num_cases: int = 8
    incident_fraction: float = 0.75
    teaching_count: int = 2
    patience: int = 9
    max_steps: int = 40
    notebook_cap: int = 2000
    mark: str = "none"
    masked_lookalikes: bool = False
    teaching_first: bool = True
    changes: int = 0
    fleets: int = 1

    RANGES: ClassVar[dict[str, tuple[int, int]]] = {
        "num_cases": (2, 100),
        "incident_fraction": (0, 1),
        "teaching_count": (0, 99),
        "patience": (1, 100),
        "max_steps": (2, 1000),
        "notebook_cap": (0, 100_000),
        "changes": (0, 24),
        "fleets": (1, 6),
    }
    FIRST: ClassVar[dict] = {
        "mark": "model"
    }  # what sets written before a field was there were made with, where not the default

    def __post_init__(self):
        problems = self._out_of_range() or self._unfit()
        if problems:
            raise ConfigError("; ".join(problems))

    def _out_of_range(self) -> list[str]:
        problems = []
        for name, (low, high) in self.RANGES.items():
            value, kinds = getattr(self, name), (int, float) if name == "incident_fraction" else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
                kind = "a number" if float in kinds else "an integer"
                problems.append(f"{name}: {value!r} is not {kind} from {low} to {high}")
        for name in ("masked_lookalikes", "teaching_first"):
            if not isinstance(getattr(self, name), bool):
                problems.append(f"{name}: {getattr(self, name)!r} is not true or false")
        if self.mark not in MARKS:
            problems.append(f"mark: {self.mark!r} is not one of {', '.join(MARKS)}; {near(self.mark, MARKS)}")
        return problems

    def _unfit(self) -> list[str]:
        """Return what each field says that does not go with the others."""
        problems = []
        if self.num_incidents < 2 and self.teaching_count > 0:
            problems.append(
                f"incident_fraction: {self.incident_fraction} of num_cases {self.num_cases} gives {self.num_incidents} "
                "incident(s); at least 2 are needed, one to teach and one to test"
            )
        elif not self.least_teaching <= self.teaching_count <= self.num_incidents - self.segments:
            why = "leaves no testing case among" if self.teaching_count >= self.num_incidents else "does not go with"
            of = f" ({self.changes} change(s), {self.fleets} fleet(s))" if self.changes or self.fleets > 1 else ""
            problems.append(
                f"teaching_count: {self.teaching_count} {why} the {self.num_incidents} incidents "
                f"(num_cases {self.num_cases} x incident_fraction {self.incident_fraction}){of}; accepted: "
                f"{self.least_teaching} to {self.num_incidents - self.segments}"
            )
        if self.num_cases // self.segments < self.fleets + 1:
            problems.append(
                f"changes: {self.changes} leave(s) {self.num_cases // self.segments} of num_cases {self.num_cases} between two; at least "
                f"{self.fleets + 1} are needed, to teach and to test"
            )
        for name, value in (("masked_lookalikes", self.masked_lookalikes), ("fleets", self.fleets > 1)):
            if value and self.mark == "none":
                problems.append(
                    f"{name}: {getattr(self, name)!r} needs a mark by which phones are told apart; mark: model"
                )
        return problems

    @property
    def factors(self) -> dict[str, str | bool | int]:
        """The factors that are not as in the published design, with their values."""
        names = ("mark", "masked_lookalikes", "teaching_first", "changes", "fleets")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(type(self), name)}

    @property
    def segments(self) -> int:
        """Stretches of a shift between two changes of the recurring cause."""
        return self.changes + 1

    @property
    def least_teaching(self) -> int:
        """Teaching cases that the factors ask for: one a fleet after every change, and before the first if there is any."""
        if not self.changes and (self.fleets == 1 or not self.teaching_count):
            return 0
        return self.fleets * self.segments

    @property
    def num_incidents(self) -> int:
        """Cases with the recurring cause: num_cases x incident_fraction, halves rounded up."""
        return int(self.num_cases * self.incident_fraction + 0.5)

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases of each population."""
        testing = self.num_incidents - self.teaching_count
        return dict(zip(POPULATIONS, (self.teaching_count, testing, self.num_cases - self.num_incidents), strict=True))

    def masks(self, population: str) -> bool:
        """Return whether cases of a population start masked."""
        return population == "testing" or (population == "lookalike" and self.masked_lookalikes)

    @classmethod
    def from_dict(cls, values: dict) -> "ShiftConfig":
        """Return the config of plain values; raises ConfigError for an unknown name, with the near match."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise ConfigError(f"{name}: no such field; {near(name, known)}")
        return cls(**values)

    @classmethod
    def from_written(cls, values: dict) -> "ShiftConfig":
        """Return the config of a file, which may be older than some fields: they then say what such shifts are."""
        older = {name: value for name, value in cls.FIRST.items() if name not in values}
        return cls.from_dict({**values, **older})


def shift_seeds(split: str, num_shifts: int, seed_offset: int = 0) -> range:
    """Return the seeds of a set of shifts; raises ConfigError as :func:`generate_shifts` does."""
    check_name("split", split, SPLITS)
    check_integer("num_shifts", num_shifts, 1, SPLIT_SIZE)
    check_integer("seed_offset", seed_offset, 0)
    if seed_offset + num_shifts > SPLIT_SIZE:
        raise ConfigError(
            f"seed_offset: {seed_offset} + num_shifts {num_shifts} leaves the {split} split, which holds {SPLIT_SIZE:,} seeds; "
            f"accepted: seed_offset 0 to {SPLIT_SIZE - num_shifts:,}"
        )
    start = SPLITS[split] + seed_offset
    return range(start, start + num_shifts)
