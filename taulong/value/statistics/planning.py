"""How many shifts a larger run needs: simulations of the test that will be used, with what the pilot leaves open."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from taulong.errors import ConfigError
from taulong.value.statistics.pairs import counted, difference_name, matched

DRAWS = 60  # of what the pilot leaves open
RUNS = 200  # simulated for each draw
EXACT_UP_TO = 10  # shifts: all patterns of signs; above, the normal distribution of their sum
LARGEST = 1_024  # shifts
SHARES = np.linspace(0.0025, 0.9975, 80)
ALIKE = np.linspace(0.0, 0.95, 39)  # correlation of the cases of a shift
ALIKE_PRIOR = stats.beta(1, 2).pdf(ALIKE)  # a short pilot says little of it; a third in the mean


@dataclass(frozen=True)
class Plan:
    """How many shifts detect a difference, and from what.

    Attributes:
        name: the contrast planned for.
        difference, wanted: the difference to detect, and the power wanted for it.
        assurance: the chance wanted, over what the pilot leaves open, that the plan has that power.
        level, tests: 1 - level is the chance of any false alarm among so many contrasts.
        shifts: the smallest number of shifts with that assurance; None where there is none, and then ``note`` says why.
        power: the power at that number, averaged over what the pilot leaves open.
        assured: the assurance reached at that number.
        baseline: the share of cases that the pilot solves without.
        cases_per_shift: pairs per shift assumed.
        cost_per_shift, cost: of one shift in both arms, and of all of them; None where it is not known.
    """

    name: str
    difference: float
    wanted: float
    assurance: float
    level: float
    tests: int = 1
    shifts: int | None = None
    power: float | None = None
    assured: float | None = None
    baseline: float | None = None
    cases_per_shift: int | None = None
    cost_per_shift: float | None = None
    cost: float | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.shifts is None:
            return f"{self.name}: no plan ({self.note})"
        cost = "cost unknown" if self.cost is None else f"{self.cost_per_shift:g} a shift, {self.cost:g} in all"
        return (
            f"{self.name}: {self.shifts} shifts detect a difference of {self.difference:g} with power {self.wanted:g} or "
            f"more in {self.assured:.0%} of what the pilot leaves possible (mean power {self.power:.2f}) "
            f"at p < {1 - self.level:.2g}{f'/{self.tests}' if self.tests > 1 else ''} (baseline {self.baseline:.2f}; {cost})"
        )


def plan_shifts(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], difference: float, power: float = 0.8,
    assurance: float = 0.8, level: float = 0.95, metric: str = "official_reward", population: str | None = "testing",
    cases_per_shift: int | None = None, cost_per_shift: float | None = None, tests: int = 1, seed: int = 0,
) -> Plan:  # fmt: skip
    """Return how many shifts the sign-flip test needs to detect a difference of shares, by simulating it.

    A simulated case is solved or not. The chance varies between shifts by a beta distribution; its mean without memory and,
    for each arm, how alike the cases of a shift are (the correlation within a shift) are drawn from what the pilot makes
    likely; the mean of ``arm`` is that of the baseline plus the difference, so that the variance is that at the planned
    effect. Arms are independent given the shift, which costs shifts where they are not. Each draw gives the plan a power;
    the plan is the smallest number of shifts at which at least ``assurance`` of the draws reach the power wanted.

    Args:
        table: the pilot, at least two shifts of both arms.
        difference: of shares, not 0.
        cases_per_shift: pairs per shift; those of the pilot if None.
        cost_per_shift: of both arms together; what the pilot paid if None and all its calls have a price.
        tests: contrasts of the family it will stand in; the test is planned at the level that Holm's method asks of the
            smallest of so many p values.

    Raises:
        ConfigError: a difference of 0 or beyond 1, a power or assurance outside (0, 1), a metric that is not solved or
            not, or unknown arms, as for :func:`contrast`.
    """
    if not 0 < abs(difference) < 1 or not 0 < power < 1 or not 0 < assurance < 1:
        raise ConfigError(
            f"difference: {difference!r}, power: {power!r}, assurance: {assurance!r}; accepted: within (-1, 1) and not 0, "
            "within (0, 1), within (0, 1)"
        )
    plan = Plan(difference_name(arm, baseline), difference, power, assurance, level, tests)
    solved = _solved_by_shift(table, (arm, baseline), metric, population)
    if len(solved) < 2:
        return dataclasses.replace(plan, note=f"the pilot has {counted(len(solved), 'shift')}, at least 2 are needed")
    size = cases_per_shift or round(solved["cases"].mean())
    price = _pilot_cost(table, (arm, baseline)) if cost_per_shift is None else cost_per_shift
    share = float(solved["baseline"].sum() / solved["cases"].sum())
    plan = dataclasses.replace(plan, baseline=share, cases_per_shift=size, cost_per_shift=price)
    if not 0 <= share + difference <= 1:
        return dataclasses.replace(plan, note=f"from a baseline of {share:.2f} no share differs by {difference:g}")
    draws = _draws(solved, difference, seed)
    powers: dict[int, np.ndarray] = {}

    def assured(shifts: int) -> float:
        powers[shifts] = simulated_power(draws, shifts, size, (1 - level) / tests, seed)
        return float(np.mean(powers[shifts] >= power))

    if (needed := _smallest(assured, assurance)) is None:
        return dataclasses.replace(plan, note=f"{LARGEST:,} shifts are not enough")
    cost = None if price is None else needed * price
    reached = powers[needed]
    return dataclasses.replace(
        plan, shifts=needed, power=float(reached.mean()), assured=float(np.mean(reached >= power)), cost=cost
    )


def _solved_by_shift(
    table: pd.DataFrame, arms: Sequence[tuple[str, str]], metric: str, population: str | None
) -> pd.DataFrame:
    """Return for each shift how many cases both arms have, and how many each solved; each trial of a case is one."""
    if "trial" in table:
        table = table.assign(case_id=table["case_id"] + "#" + table["trial"].astype(str))
    pairs = matched(table, arms, metric, population)
    if not pairs.kept.isin((0.0, 1.0)).all(axis=None):
        raise ConfigError(f"metric: {metric!r}; accepted: one that says of each case whether it was solved, 0 or 1")
    by_shift = pairs.kept.groupby(pairs.shift_of)
    return pd.DataFrame({"arm": by_shift[0].sum(), "baseline": by_shift[1].sum(), "cases": by_shift.size()}).astype(int)


def _draws(solved: pd.DataFrame, difference: float, seed: int) -> np.ndarray:
    """Return draws of (share with, its correlation within a shift, share without, its correlation): (DRAWS, 4)."""
    rng = np.random.default_rng([seed, len(solved)])
    _, alike = _posterior(solved["arm"], solved["cases"], rng)
    share, alike_baseline = _posterior(solved["baseline"], solved["cases"], rng)
    share = np.clip(share, max(0.0, -difference), min(1.0, 1 - difference))
    return np.column_stack([share + difference, alike, share, alike_baseline])


def _posterior(solved: pd.Series, cases: pd.Series, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of the mean share and of the correlation within a shift, given what an arm solved of each shift."""
    share, alike = np.meshgrid(SHARES, ALIKE, indexing="ij")
    first, second = _beta(share, alike)
    counts = Counter(zip(solved, cases, strict=True))
    likely = np.log(np.broadcast_to(ALIKE_PRIOR, share.shape))
    for (won, of), times in counts.items():
        likely = likely + times * stats.betabinom.logpmf(won, of, first, second)
    weight = np.exp(likely - likely.max()).ravel()
    at = rng.choice(weight.size, DRAWS, p=weight / weight.sum())
    return share.ravel()[at], alike.ravel()[at]


def _beta(share: np.ndarray, alike: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of the beta distribution of a shift's share, given its mean and the correlation within."""
    total = 1 / np.maximum(alike, 1e-3) - 1
    share = np.clip(share, 1e-6, 1 - 1e-6)
    return share * total, (1 - share) * total


def simulated_power(draws: np.ndarray, shifts: int, cases: int, threshold: float, seed: int = 0) -> np.ndarray:
    """Return for each draw the share of simulated runs in which the sign-flip test finds p <= threshold.

    Args:
        draws: (n, 4), as columns the arm's mean share, how alike its cases of a shift are, and both of the baseline.
        cases: of a shift.
    """
    rng = np.random.default_rng([seed, shifts, cases])
    shape = (len(draws), RUNS, shifts)
    solved = []
    for share, alike in (draws[:, :2].T, draws[:, 2:].T):
        first, second = (part[:, None, None] for part in _beta(share, alike))
        solved.append(rng.binomial(cases, rng.beta(first, second, shape)))
    sums = (solved[0] - solved[1]).astype(np.float32)
    return (_p_values(sums) <= threshold).mean(axis=-1)


def _p_values(sums: np.ndarray) -> np.ndarray:
    """Return the sign-flip p values of simulated runs, whole numbers of the shifts along the last axis.

    Exact for few shifts; for more by the normal distribution that the sum of flipped numbers then has, with the correction
    for its steps of 2.
    """
    shifts, observed = sums.shape[-1], np.abs(sums.sum(axis=-1))
    if shifts > EXACT_UP_TO:
        spread = np.sqrt((sums**2).sum(axis=-1))
        above = np.maximum(observed - 1, 0) / np.where(spread > 0, spread, 1)
        return np.where(observed > 0, 2 * stats.norm.sf(above), 1.0)
    flipped = (2 * (np.arange(2**shifts)[:, None] >> np.arange(shifts) & 1) - 1).astype(np.float32).T
    counts = [(np.abs(run @ flipped) >= limit[:, None]).sum(axis=-1) for run, limit in zip(sums, observed, strict=True)]
    return np.stack(counts) / 2**shifts


def _smallest(assured: Callable[[int], float], assurance: float) -> int | None:
    """Return the smallest number of shifts with an assurance, to a 25th, by doubling and halving; None where LARGEST has it not."""
    low, high = 2, 4
    while assured(high) < assurance:
        low, high = high, high * 2
        if high > LARGEST:
            return None
    while high - low > max(1, high // 25):
        middle = (low + high) // 2
        low, high = (low, middle) if assured(middle) >= assurance else (middle, high)
    return high


def _pilot_cost(table: pd.DataFrame, arms: Sequence[tuple[str, str]]) -> float | None:
    """Return what a shift of the pilot cost in these arms together; None where a call has no price."""
    if not {"agent_cost", "user_cost", "unpriced_calls"} <= set(table):
        return None
    total = 0.0
    for agent, mode in arms:
        rows = table[(table["agent"] == agent) & (table["memory_mode"] == mode) & (table["outcome"] != "owed")]
        if rows["unpriced_calls"].sum() or rows.empty:
            return None
        total += rows[["agent_cost", "user_cost"]].to_numpy(float).sum() / rows["shift_id"].nunique()
    return float(total)
