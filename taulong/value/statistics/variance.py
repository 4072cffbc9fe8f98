"""Where the variance of paired differences lies: between shifts, between the cases of a shift, between a case's trials."""

from dataclasses import dataclass

import pandas as pd

from taulong.errors import DataError
from taulong.value.metrics import scores
from taulong.value.statistics.pairs import Arm, of_population


@dataclass(frozen=True)
class VarianceSplit:
    """Components of variance of paired differences; those below 0 are given as 0.

    Attributes:
        shift, case, trial: between shifts, between the cases of a shift, between the trials of a case. ``trial`` is None
            where no case has two: then it is part of ``case``.
        shifts, cases, trials: how many of each.
    """

    name: str
    shift: float
    case: float
    trial: float | None
    shifts: int
    cases: int
    trials: int

    def __str__(self) -> str:
        parts = {"shifts": self.shift, "cases of a shift": self.case, "trials of a case": self.trial}
        total = sum(part for part in parts.values() if part is not None)
        said = ", ".join(
            f"between {what} {part:.3f}" + (f" ({part / total:.0%})" if total else "")
            for what, part in parts.items() if part is not None
        )  # fmt: skip
        return f"{self.name}: variance {said}; {self.shifts} shifts, {self.cases} cases, {self.trials} pairs"


def variance_split(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], metric: str = "official_reward",
    population: str | None = "testing",
) -> VarianceSplit:  # fmt: skip
    """Return the variance components of ``arm - baseline``, shift by shift, case by case and trial by trial.

    Raises DataError below two shifts with a pair.
    """
    chosen = of_population(table, population)
    chosen = chosen.assign(_score=scores(chosen, metric), trial=chosen.get("trial", 0))
    sides = []
    for agent, mode in (arm, baseline):
        rows = chosen[(chosen["agent"] == agent) & (chosen["memory_mode"] == mode)]
        sides.append(rows.set_index(["shift_id", "case_id", "trial"])["_score"])
    differences = (sides[0] - sides[1]).dropna()
    frame = differences.rename("value").reset_index()
    parts = variance_components(frame["value"], frame["shift_id"], frame["case_id"])
    sizes = {field: int(frame[field].nunique()) for field in ("shift_id", "case_id")}
    name = f"{Arm(*arm)} - {Arm(*baseline)}"
    return VarianceSplit(name, *parts, sizes["shift_id"], sizes["case_id"], len(frame))


def variance_components(
    values: pd.Series, shift_of: pd.Series, case_of: pd.Series
) -> tuple[float, float, float | None]:  # fmt: skip
    """Return (between shifts, between cases of a shift, between trials of a case), by nested analysis of variance.

    Sizes may be unequal; a component below 0 is 0. The third is None where no case has two trials: it is then part of the
    second.

    Source: Searle, Casella and McCulloch, Variance Components (1992), chapter 5 (Henderson's method I for nested classes).
    Raises DataError below two shifts.
    """
    by_shift, by_case = values.groupby(shift_of), values.groupby(case_of)
    shifts, cases, count = by_shift.ngroups, by_case.ngroups, len(values)
    if shifts < 2:
        raise DataError(f"variance components need at least 2 shifts; there is {shifts}")
    means = values.mean()
    within = float(((values - by_case.transform("mean")) ** 2).sum())
    between_cases = float(((by_case.transform("mean") - by_shift.transform("mean")) ** 2).sum())
    between_shifts = float(((by_shift.transform("mean") - means) ** 2).sum())
    shift_sizes, case_sizes = by_shift.size(), by_case.size()
    case_shift = shift_of.groupby(case_of).first()
    squares = (case_sizes**2).groupby(
        case_shift
    ).sum() / shift_sizes  # of a shift: sum of squared case sizes over its size
    trial = within / (count - cases) if count > cases else 0.0
    if cases > shifts:
        spread = (count - squares.sum()) / (cases - shifts)
        case = max(0.0, (between_cases / (cases - shifts) - trial) / spread)
    else:
        case = 0.0
    cases_in = (squares.sum() - (case_sizes**2).sum() / count) / (shifts - 1)
    shifts_in = (count - (shift_sizes**2).sum() / count) / (shifts - 1)
    shift = max(0.0, (between_shifts / (shifts - 1) - trial - cases_in * case) / shifts_in)
    return float(shift), float(case), trial if count > cases else None
