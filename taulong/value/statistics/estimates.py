"""What memory is worth, with intervals that hold: contrasts paired by case on matched seeds and clustered by shift.

The unit of replication is the shift. Every estimate here first reduces each shift to one number (the mean of its paired
differences, or their slope) and then treats those numbers as the sample: the estimand is the mean over shifts, each
shift weighing the same however many of its pairs survive (with equal cluster sizes that is also the mean over cases).
The interval is Student's t with C - 1 degrees of freedom on the C shift numbers; taulong.value.coverage measures how often it
covers. Where all shifts agree there is none: a t interval would have no width, however few the shifts.

All functions take the table of taulong.value.metrics.with_owed, so that an owed or unscored case is a dropped pair and is
counted.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd

from taulong.errors import ConfigError
from taulong.value.statistics.intervals import cluster_interval
from taulong.value.statistics.pairs import Arm, Pairs, counted, difference_name, matched
from taulong.value.statistics.signs import p_text, sign_flip_p

MAX_DROPPED = 0.1  # share of planned pairs that may be missing before an estimate is refused
DESCRIPTIVE_BELOW = 6  # an exact sign-flip test of fewer shifts cannot reach p < .05


@dataclass(frozen=True)
class Estimate:
    """One number with its uncertainty; None where it cannot be given, and then ``note`` says why.

    Attributes:
        name: what is estimated.
        metric, population: of which column, over which cases (``all``: no population chosen).
        value: the mean over shifts.
        low, high: limits of the interval at ``level``.
        p: two-sided sign-flip p value against zero; ``p_method`` is ``exact`` or says how many flips were drawn.
        shifts, cases: clusters and pairs that entered.
        planned: pairs that should have entered.
        dropped: for each arm, how many of its planned cases have no score.
        descriptive: fewer than 6 shifts: look, do not conclude.
        at_least, at_most: the value if every missing score were the worst, or the best, for it; None unless the metric
            lies within 0 and 1.
        family: the question it answers with others, over which p values are adjusted.
    """

    name: str
    metric: str
    population: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    p: float | None
    p_method: str | None
    shifts: int
    cases: int
    planned: int
    dropped: dict[str, int]
    descriptive: bool
    note: str
    at_least: float | None = None
    at_most: float | None = None
    family: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}, {self.population}: no number ({self.note})"
        text = f"{self.name}, {self.population}: {self.value:+.3f}"
        if self.low is not None:
            text += f" [{self.low:+.3f}, {self.high:+.3f}] {100 * self.level:g} % t({self.shifts - 1})"
        text += f", {counted(self.shifts, 'shift')}, {self.cases} of {self.planned} "
        text += "pairs" if len(self.dropped) > 1 else "cases"
        if self.cases < self.planned and self.at_least is not None:
            text += f" ({self.at_least:+.3f} to {self.at_most:+.3f} whatever the others are)"
        text += f", {p_text(self.p, self.p_method)} ({self.p_method})" if self.p is not None else ""
        return text + (", descriptive" if self.descriptive else "") + (f" ({self.note})" if self.note else "")


def contrast(
    table: pd.DataFrame,
    arm: tuple[str, str],
    baseline: tuple[str, str],
    metric: str = "official_reward",
    population: str | None = "testing",
    level: float = 0.95,
    max_dropped: float = MAX_DROPPED,
    seed: int = 0,
) -> Estimate:
    """Return the mean difference ``arm - baseline`` of a metric, paired by case and clustered by shift.

    Args:
        arm, baseline: (agent, memory mode).
        metric: a numeric or boolean column.
        population: teaching, testing or lookalike; None for all cases.
        max_dropped: refuse (value None) where a larger share of planned pairs lacks a score on either side.
        seed: for the sign flips, drawn only above 16 shifts.

    Raises:
        ConfigError: unknown arm, metric or population, or a level or share outside (0, 1).
        MixedRecords: rows that may not share a table.
    """
    pairs = matched(table, (arm, baseline), metric, population)
    return weighted_estimate(difference_name(arm, baseline), pairs, (1, -1), level, max_dropped, seed)


def arm_mean(
    table: pd.DataFrame, arm: tuple[str, str], metric: str = "official_reward", population: str | None = "testing",
    level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return the mean of a metric in one arm, clustered by shift (no p value: zero is no hypothesis about it)."""
    pairs = matched(table, (arm,), metric, population)
    found = weighted_estimate(str(Arm(*arm)), pairs, (1,), level, max_dropped, 0)
    return dataclasses.replace(found, p=None, p_method=None)


def weighted_estimate(
    name: str, pairs: Pairs, weights: tuple[int, ...], level: float, max_dropped: float, seed: int
) -> Estimate:  # fmt: skip
    """Return the estimate of a weighted sum of the arms' scores, and between what it lies whatever is missing."""
    means = (pairs.kept @ weights).groupby(pairs.shift_of).mean()
    found = estimate_of(name, means.to_numpy(), pairs, level, max_dropped, seed)
    if ((pairs.wide < 0) | (pairs.wide > 1)).any(axis=None):
        return found
    against = np.array(weights) < 0
    ends = [
        float((pairs.wide.fillna(dict(enumerate(np.where(against, 1 - end, end)))) @ weights)
              .groupby(pairs.cases["shift_id"]).mean().mean())
        for end in (0.0, 1.0)
    ]  # fmt: skip
    return dataclasses.replace(found, at_least=ends[0], at_most=ends[1])


def estimate_of(name: str, means: np.ndarray, pairs: Pairs, level: float, max_dropped: float, seed: int) -> Estimate:
    """Return the estimate of a mean over shift numbers, or the reason why there is none."""
    if not 0 < level < 1 or not 0 <= max_dropped < 1:
        raise ConfigError(f"level: {level!r}, max_dropped: {max_dropped!r}; accepted: within (0, 1), within [0, 1)")
    planned, cases, shifts = len(pairs.cases), len(pairs.kept), len(means)
    value = low = high = p = method = None
    notes = []
    if planned - cases > max_dropped * planned or not shifts:
        by_arm = ", ".join(f"{arm} {count}" for arm, count in pairs.dropped.items())
        limit = f"at most {max_dropped:.0%} accepted"
        notes.append(f"{planned - cases} of {planned} pairs dropped (no score: {by_arm}); {limit}")
    elif shifts == 1:
        value = float(means[0])
        notes.append("1 shift: no interval")
    else:
        value = float(np.mean(means))
        p, method = sign_flip_p(means, seed)
        if agree(means):
            notes.append(agreement(shifts, level))
        else:
            low, high = map(float, cluster_interval(means, level))
    if value is not None and (lost := pairs.cases["shift_id"].nunique() - pairs.shift_of.nunique()):
        notes.append(f"{counted(lost, 'shift')} without a pair left out")
    return Estimate(
        name, pairs.metric, pairs.population, value, low, high, level, p, method, shifts, cases, planned, pairs.dropped,
        shifts < DESCRIPTIVE_BELOW, "; ".join(notes),
    )  # fmt: skip


def agree(means: np.ndarray) -> bool:
    """Return whether numbers differ by rounding at most."""
    return float(np.ptp(means)) <= 1e-9


def agreement(shifts: int, level: float) -> str:
    """Return what can be said when all shifts agree: how large, at the level, the share of shifts that do not can be."""
    most = 100 * (1 - (1 - level) ** (1 / shifts))
    return f"all {shifts} shifts agree; at most {most:.0f} % differ ({100 * level:g} %)"
