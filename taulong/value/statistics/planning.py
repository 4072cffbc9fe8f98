"""How many shifts a larger run needs, from a pilot."""

import dataclasses
import math
from dataclasses import dataclass

import pandas as pd
from scipy import stats

from taulong.errors import ConfigError, DataError
from taulong.value.statistics.pairs import counted, difference_name, matched


@dataclass(frozen=True)
class Plan:
    """How many shifts detect a difference, and from what.

    Attributes:
        name: the contrast planned for.
        difference, wanted: the difference to detect, and the power wanted for it.
        level, tests: 1 - level is the chance of any false alarm among so many contrasts.
        shifts: the smallest number of shifts with that power; None where there is none, and then ``note`` says why.
        power: the power reached at that number.
        between, within: variance components of the pilot's paired differences, between shifts and between cases of
            a shift.
        cases_per_shift: pairs per shift assumed.
        cost_per_shift, cost: of one shift in both arms, and of all of them; None where it is not known.
    """

    name: str
    difference: float
    wanted: float
    level: float
    tests: int = 1
    shifts: int | None = None
    power: float | None = None
    between: float | None = None
    within: float | None = None
    cases_per_shift: float | None = None
    cost_per_shift: float | None = None
    cost: float | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.shifts is None:
            return f"{self.name}: no plan ({self.note})"
        cost = "cost unknown" if self.cost is None else f"{self.cost_per_shift:g} a shift, {self.cost:g} in all"
        return (
            f"{self.name}: {self.shifts} shifts detect a difference of {self.difference:g} with power {self.power:.2f} "
            f"at p < {1 - self.level:.2g}{f'/{self.tests}' if self.tests > 1 else ''} (between {self.between:.3f}, within {self.within:.3f}; {cost})"
        )


def plan_shifts(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], difference: float, power: float = 0.8,
    level: float = 0.95, metric: str = "official_reward", population: str | None = "testing",
    cases_per_shift: float | None = None, cost_per_shift: float | None = None, tests: int = 1,
) -> Plan:  # fmt: skip
    """Return how many shifts a two-sided t test needs to detect a difference, from a pilot's variance components.

    The components are those of one-way analysis of variance on the paired differences (between truncated at 0); a shift
    mean then has variance ``between + within / cases_per_shift``, and power comes from the noncentral t distribution. A
    variance estimated from few pilot shifts is itself uncertain: plan above the number.

    Args:
        table: the pilot, at least two shifts of both arms.
        difference: in units of the metric, not 0.
        cases_per_shift: pairs per shift; those of the pilot if None.
        cost_per_shift: of both arms together; what the pilot paid if None and all its calls have a price.
        tests: contrasts of the family it will stand in; the test is planned at the level that Holm's method asks of the
            smallest of so many p values.

    Raises:
        ConfigError: a difference of 0, a power outside (0, 1), or unknown arms, as for :func:`contrast`.
    """
    if difference == 0 or not 0 < power < 1:
        raise ConfigError(f"difference: {difference!r}, power: {power!r}; accepted: not 0, and within (0, 1)")
    plan, at = Plan(difference_name(arm, baseline), difference, power, level, tests), 1 - (1 - level) / tests
    pairs = matched(table, (arm, baseline), metric, population)
    if (shifts := pairs.shift_of.nunique()) < 2:
        return dataclasses.replace(plan, note=f"the pilot has {counted(shifts, 'shift')}, at least 2 are needed")
    between, within, size = variance_components(pairs.kept[0] - pairs.kept[1], pairs.shift_of)
    size = cases_per_shift or size
    price = _pilot_cost(table, (arm, baseline)) if cost_per_shift is None else cost_per_shift
    plan = dataclasses.replace(plan, between=between, within=within, cases_per_shift=size, cost_per_shift=price)
    if (deviation := math.sqrt(between + within / size)) == 0:
        return dataclasses.replace(plan, note="the pilot's differences do not vary")
    effect = difference / deviation
    if (needed := next((count for count in _candidates() if t_power(effect, count, at) >= power), None)) is None:
        return dataclasses.replace(plan, note="a million shifts are not enough")
    cost = None if price is None else needed * price
    return dataclasses.replace(plan, shifts=needed, power=t_power(effect, needed, at), cost=cost)


def _pilot_cost(table: pd.DataFrame, arms: tuple) -> float | None:
    """Return what a shift of the pilot cost in these arms together; None where a call has no price."""
    if not {"agent_cost", "user_cost", "unpriced_calls"} <= set(table):
        return None
    total = 0.0
    for agent, mode in arms:
        rows = table[(table["agent"] == agent) & (table["memory_mode"] == mode) & (table["outcome"] != "owed")]
        if rows["unpriced_calls"].sum():
            return None
        total += rows[["agent_cost", "user_cost"]].to_numpy(float).sum() / rows["shift_id"].nunique()
    return float(total)


def t_power(effect: float, shifts: int, level: float = 0.95) -> float:
    """Return the power of the two-sided t test; ``effect`` is the difference over the shift means' deviation."""
    critical, noncentral = stats.t.ppf((1 + level) / 2, shifts - 1), abs(effect) * math.sqrt(shifts)
    return float(stats.nct.sf(critical, shifts - 1, noncentral) + stats.nct.cdf(-critical, shifts - 1, noncentral))


def variance_components(values: pd.Series, cluster_of: pd.Series) -> tuple[float, float, float]:
    """Return (between, within, effective cluster size) by one-way analysis of variance for unequal sizes.

    Source: Searle, Casella and McCulloch, Variance Components (1992), section 3.6. Raises DataError below two
    clusters.
    """
    groups = values.groupby(cluster_of)
    sizes = groups.size()
    if len(sizes) < 2:
        raise DataError(f"variance components need at least 2 shifts; the pilot has {len(sizes)}")
    inside = float(((values - groups.transform("mean")) ** 2).sum())
    freedom = int(sizes.sum()) - len(sizes)
    within = inside / freedom if freedom else 0.0
    effective = float((sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(sizes) - 1))
    across = float((sizes * (groups.mean() - values.mean()) ** 2).sum()) / (len(sizes) - 1)
    return max(0.0, (across - within) / effective), within, effective


def _candidates(limit: int = 1_000_000):
    """Yield numbers of shifts from 2 up: each one to 1,000, then in steps of a thousandth."""
    count = 2
    while count <= limit:
        yield count
        count += max(1, count // 1000)
