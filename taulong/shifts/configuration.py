"""What a set of shifts has in common, and which seeds it may use."""

from dataclasses import dataclass, fields
from typing import ClassVar

from taulong.errors import ConfigError, check_integer, check_name, near

SPLITS = {"train": 0, "eval": 1_000_000}
SPLIT_SIZE = 1_000_000
POPULATIONS = ("teaching", "testing", "lookalike")


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

    Raises:
        ConfigError: a field is outside its range; the message names every such field, its value and the accepted range.
    """

    num_cases: int = 8
    incident_fraction: float = 0.75
    teaching_count: int = 2
    patience: int = 9
    max_steps: int = 40
    notebook_cap: int = 2000

    RANGES: ClassVar[dict[str, tuple[int, int]]] = {
        "num_cases": (2, 100),
        "incident_fraction": (0, 1),
        "teaching_count": (1, 99),
        "patience": (1, 100),
        "max_steps": (2, 1000),
        "notebook_cap": (0, 100_000),
    }

    def __post_init__(self):
        problems = []
        for name, (low, high) in self.RANGES.items():
            value, kinds = getattr(self, name), (int, float) if name == "incident_fraction" else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
                kind = "a number" if float in kinds else "an integer"
                problems.append(f"{name}: {value!r} is not {kind} from {low} to {high}")
        if not problems and not self.teaching_count < self.num_incidents:
            problems.append(
                f"teaching_count: {self.teaching_count} leaves no testing case among the {self.num_incidents} incidents "
                f"(num_cases {self.num_cases} x incident_fraction {self.incident_fraction}); accepted: 1 to "
                f"{self.num_incidents - 1}"
                if self.num_incidents > 1
                else f"incident_fraction: {self.incident_fraction} of num_cases {self.num_cases} gives {self.num_incidents} "
                "incident(s); at least 2 are needed, one to teach and one to test"
            )
        if problems:
            raise ConfigError("; ".join(problems))

    @property
    def num_incidents(self) -> int:
        """Cases with the recurring cause: num_cases x incident_fraction, halves rounded up."""
        return int(self.num_cases * self.incident_fraction + 0.5)

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases of each population."""
        testing = self.num_incidents - self.teaching_count
        return dict(zip(POPULATIONS, (self.teaching_count, testing, self.num_cases - self.num_incidents), strict=True))

    @classmethod
    def from_dict(cls, values: dict) -> "ShiftConfig":
        """Return the config of plain values; raises ConfigError for an unknown name, with the near match."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise ConfigError(f"{name}: no such field; {near(name, known)}")
        return cls(**values)


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
