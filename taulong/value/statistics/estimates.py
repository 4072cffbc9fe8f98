"""What memory is worth, with intervals that hold: contrasts paired by case on matched seeds and clustered by shift.

The unit of replication is the shift. Every estimate here first reduces each shift to one number (the mean of its paired
differences, or their slope) and then treats those numbers as the sample: the estimand is the mean over shifts, each
shift weighing the same however many of its pairs survive (with equal cluster sizes that is also the mean over cases).
Rewards and shares lie within 0 and 1, and their intervals know it
(:func:`taulong.value.statistics.intervals.bounded_interval`, ``weighted_interval``): they have width also where all shifts agree; any other metric has Student's t with C - 1 degrees of freedom on the C shift numbers, and
none where they agree. taulong.value.coverage measures how often each covers. The p value tests that a shift's difference is as
likely with either sign, whatever its size; the interval makes room for what no shift has shown yet, so that p may be below
.05 where the interval still touches 0.

All functions take the table of taulong.value.metrics.with_owed, so that an owed or unscored case is a dropped pair and is
counted.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from taulong.errors import ConfigError
from taulong.value.statistics.intervals import bounded_interval, cluster_interval, weighted_interval
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
        low, high: limits of the interval at ``level``; ``interval`` says which it is: ``bounded``, ``t`` or ``ratio``.
        p: two-sided sign-flip p value against zero; ``p_method`` is ``exact`` or says how many flips were drawn.
        shifts, cases: clusters and pairs that entered.
        planned: pairs that should have entered.
        dropped: for each arm, how many of its planned cases have no score.
        descriptive: fewer than 6 shifts: look, do not conclude.
        at_least, at_most: the value if every missing score were the worst, or the best, for it; None unless the metric
            lies within 0 and 1.
        family: ``primary``, ``secondary`` (adjusted for together by :func:`estimates_table`) or ``exploratory``.
        agent, memory_mode, baseline: of what; empty where it is of several.
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
    interval: str = ""
    at_least: float | None = None
    at_most: float | None = None
    family: str = "exploratory"
    agent: str = ""
    memory_mode: str = ""
    baseline: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}, {self.population}: no number ({self.note})"
        text = f"{self.name}, {self.population}: {self.value:+.3f}"
        if self.low is not None:
            text += f" [{self.low:+.3f}, {self.high:+.3f}] {100 * self.level:g} %"
            text += f" t({self.shifts - 1})" if self.interval == "t" else ""
        text += f", {counted(self.shifts, 'shift')}, {self.cases} of {self.planned} "
        text += "pairs" if len(self.dropped) > 1 else "cases"
        if self.cases < self.planned and self.at_least is not None:
            text += f" ({self.at_least:+.3f} to {self.at_most:+.3f} whatever the others are)"
        if self.p is not None and self.p_method is not None:
            text += f", {p_text(self.p, self.p_method)} ({self.p_method})"
        return text + (", descriptive" if self.descriptive else "") + (f" ({self.note})" if self.note else "")

    def numbers(self) -> dict[str, float | int | None]:
        """Return what a metrics file says of it: value, low, high, p, shifts, cases."""
        fields = ("value", "low", "high", "p", "shifts", "cases")
        return {field: getattr(self, field) for field in fields}


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
    found = weighted_estimate(difference_name(arm, baseline), pairs, (1, -1), level, max_dropped, seed)
    same = arm[0] == baseline[0]
    return dataclasses.replace(
        found, agent=arm[0] if same else "", memory_mode=arm[1], baseline=baseline[1] if same else str(Arm(*baseline))
    )


def arm_mean(
    table: pd.DataFrame, arm: tuple[str, str], metric: str = "official_reward", population: str | None = "testing",
    level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return the mean of a metric in one arm, clustered by shift (no p value: zero is no hypothesis about it)."""
    pairs = matched(table, (arm,), metric, population)
    found = weighted_estimate(str(Arm(*arm)), pairs, (1,), level, max_dropped, None)
    return dataclasses.replace(found, agent=arm[0], memory_mode=arm[1])


def weighted_estimate(
    name: str, pairs: Pairs, weights: Sequence[float], level: float, max_dropped: float, seed: int | None
) -> Estimate:  # fmt: skip
    """Return the estimate of a weighted sum of the arms' scores, and between what it lies whatever is missing.

    ``seed`` is that of the sign flips; None where no p value is wanted.
    """
    given = np.array(weights, float)
    by_shift = pairs.by_shift
    found = estimate_of(name, by_shift.dot(given).to_numpy(), pairs, level, max_dropped, seed)
    if not pairs.bounded:
        return found
    if found.value is not None and found.shifts > 1:
        shares = by_shift.to_numpy()
        alone = len(given) == 1
        limits = bounded_interval(shares[:, 0], 0.0, 1.0, level) if alone else weighted_interval(shares, given, level)
        found = dataclasses.replace(found, low=float(limits[0]), high=float(limits[1]), interval="bounded")
    worst, best = pairs.least.copy(), pairs.most.copy()
    for at in np.flatnonzero(given < 0):
        worst[at], best[at] = pairs.most[at], pairs.least[at]
    shift_of = pairs.cases["shift_id"]
    at_least, at_most = (
        float(pd.Series(end.dot(given)).groupby(shift_of).mean().to_numpy(float).mean()) for end in (worst, best)
    )
    return dataclasses.replace(found, at_least=at_least, at_most=at_most)


def estimate_of(
    name: str, means: np.ndarray, pairs: Pairs, level: float, max_dropped: float, seed: int | None,
    reach: tuple[float, float] | None = None,
) -> Estimate:  # fmt: skip
    """Return the estimate of a mean over shift numbers, or the reason why there is none.

    Args:
        seed: of the sign flips; None where no p value is wanted.
        reach: what a shift's number can be at least and at most; None where it has no bounds.
    """
    if not 0 < level < 1 or not 0 <= max_dropped < 1:
        raise ConfigError(f"level: {level!r}, max_dropped: {max_dropped!r}; accepted: within (0, 1), within [0, 1)")
    shifts = len(means)
    value = low = high = p = method = None
    interval, notes = "", [refusal(pairs, max_dropped, shifts)]
    if not notes[0]:
        value = float(np.mean(means))
        if lost := pairs.cases["shift_id"].nunique() - pairs.shift_of.nunique():
            notes.append(f"{counted(lost, 'shift')} without a pair left out")
    if value is not None and shifts == 1:
        notes.append("1 shift: no interval")
    elif value is not None:
        p, method = (None, None) if seed is None else sign_flip_p(means, seed)
        if agree(means):
            notes.append(agreement(shifts, level))
        if reach:
            interval, (low, high) = "bounded", map(float, bounded_interval(means, *reach, level))
        elif not agree(means):
            interval, (low, high) = "t", map(float, cluster_interval(means, level))
    return Estimate(
        name, pairs.metric, pairs.population, value, low, high, level, p, method, shifts, len(pairs.kept),
        len(pairs.cases), pairs.dropped, shifts < DESCRIPTIVE_BELOW, "; ".join(filter(None, notes)), interval,
    )  # fmt: skip


def refusal(pairs: Pairs, max_dropped: float, shifts: int) -> str:
    """Return why pairs give no number: too large a share of them was dropped; nothing where they do."""
    planned, cases = len(pairs.cases), len(pairs.kept)
    if planned - cases <= max_dropped * planned and shifts:
        return ""
    by_arm = ", ".join(f"{arm} {count}" for arm, count in pairs.dropped.items())
    return f"{planned - cases} of {planned} pairs dropped (no score: {by_arm}); at most {max_dropped:.0%} accepted"


def agree(means: np.ndarray) -> bool:
    """Return whether numbers differ by rounding at most."""
    return float(np.ptp(means)) <= 1e-9


def agreement(shifts: int, level: float) -> str:
    """Return what can be said when all shifts agree: how large, at the level, the share of shifts that do not can be."""
    most = 100 * (1 - (1 - level) ** (1 / shifts))
    return f"all {shifts} shifts agree; at most {most:.0f} % differ ({100 * level:g} %)"
