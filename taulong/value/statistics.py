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
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special, stats

from taulong.errors import ConfigError, DataError, check_name
from taulong.value.metrics import ARM_FIELDS, REWARDS, agents_with, require_one_version, scores, solved

MAX_DROPPED = 0.1  # share of planned pairs that may be missing before an estimate is refused
DESCRIPTIVE_BELOW = 6  # an exact sign-flip test of fewer shifts cannot reach p < .05
EXACT_UP_TO = 16  # shifts: 2**16 patterns of signs are enumerated
DRAWN_FLIPS = 99_999  # patterns drawn above that


class Arm(NamedTuple):
    """One agent under one memory mode."""

    agent: str
    memory_mode: str

    def __str__(self) -> str:
        return f"{self.agent}/{self.memory_mode}"


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
    return _weighted(_difference_name(arm, baseline), pairs, (1, -1), level, max_dropped, seed)


def arm_mean(
    table: pd.DataFrame, arm: tuple[str, str], metric: str = "official_reward", population: str | None = "testing",
    level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return the mean of a metric in one arm, clustered by shift (no p value: zero is no hypothesis about it)."""
    pairs = matched(table, (arm,), metric, population)
    found = _weighted(str(Arm(*arm)), pairs, (1,), level, max_dropped, 0)
    return dataclasses.replace(found, p=None, p_method=None)


def memory_contrasts(
    table: pd.DataFrame, metric: str = "official_reward", level: float = 0.95, max_dropped: float = MAX_DROPPED,
    seed: int = 0,
) -> list[Estimate]:  # fmt: skip
    """Return the contrasts of the memory question: every mode of every agent against its own none.

    On testing cases, where memory can help, then on lookalikes, where it can mislead; the frozen second pass has no
    lookalikes. An agent that was not run without memory has no contrast. A mode and a population are a question, asked of
    every agent: a family, over which :func:`estimates_table` adjusts p values.
    """
    table = table[table["agent"].isin(agents_with(table, "none"))]
    arms = [Arm(*arm) for arm in table[["agent", "memory_mode"]].drop_duplicates().itertuples(index=False)]
    return [
        dataclasses.replace(
            contrast(table, arm, Arm(arm.agent, "none"), metric, population, level, max_dropped, seed),
            family=f"{arm.memory_mode} - none, {population}",
        )
        for population in ("testing", "lookalike") for arm in arms
        if arm.memory_mode != "none" and (population, arm.memory_mode) != ("lookalike", "frozen")
    ]  # fmt: skip


def reward_contrasts(
    table: pd.DataFrame, mode: str = "notebook", population: str | None = "testing", level: float = 0.95,
    max_dropped: float = MAX_DROPPED, seed: int = 0,
) -> list[Estimate]:  # fmt: skip
    """Return what a mode is worth against none under the official reward, under the gated one, and their difference.

    Three estimates an agent, each kind a family of its own. The difference is taken case by case, over the cases that have
    both rewards in both arms: how much of the memory value the gate does not grant.
    """
    found = []
    for agent in agents_with(table, mode, "none"):
        arms = ((agent, mode), (agent, "none"))
        official, gated = (matched(table, arms, reward, population) for reward in REWARDS)
        both = Pairs(
            "official - gated", official.population, official.cases, pd.concat([official.wide, gated.wide], axis=1, keys=REWARDS)
            .set_axis(range(4), axis=1), {arm: max(lost, gated.dropped[arm]) for arm, lost in official.dropped.items()},
        )  # fmt: skip
        for pairs, weights in ((official, (1, -1)), (gated, (1, -1)), (both, (1, -1, -1, 1))):
            estimate = _weighted(_difference_name(*arms), pairs, weights, level, max_dropped, seed)
            found.append(dataclasses.replace(estimate, family=f"{mode} - none, {pairs.metric}"))
    return found


def learning_slope(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], metric: str = "official_reward",
    population: str | None = "testing", over: str = "position", level: float = 0.95, max_dropped: float = MAX_DROPPED,
    seed: int = 0,
) -> Estimate:  # fmt: skip
    """Return by how much the paired difference grows per unit of ``over`` (position or teaching_seen) within a shift.

    Each shift gives one least-squares slope of its differences; shifts in which ``over`` does not vary have none and
    are left out, which the note counts.
    """
    pairs = matched(table, (arm, baseline), metric, population)
    frame = pd.DataFrame({"x": pairs.cases.loc[pairs.kept.index, over].astype(float)})
    frame["y"] = pairs.kept[0] - pairs.kept[1]
    centred = frame["x"] - frame.groupby(pairs.shift_of)["x"].transform("mean")
    sums = pd.DataFrame({"xy": centred * frame["y"], "xx": centred**2}).groupby(pairs.shift_of).sum()
    slopes = (sums["xy"] / sums["xx"])[sums["xx"] > 0]
    name = f"{_difference_name(arm, baseline)}, slope over {over}"
    found = _estimate(name, slopes.to_numpy(), pairs, level, max_dropped, seed)
    flat = len(sums) - len(slopes)
    note = "; ".join(
        filter(None, (found.note, f"{counted(flat, 'shift')} without variation in {over} left out" if flat else ""))
    )
    return dataclasses.replace(found, note=note)


def headroom_share(
    table: pd.DataFrame, agent: str, mode: str = "notebook", metric: str = "official_reward",
    population: str | None = "testing", level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return the share of the oracle's headroom a mode reaches, (mode - none) / (oracle - none), by Fieller.

    Both differences are taken case by case and averaged by shift; the interval is the set of ratios that a t test with
    C - 1 degrees of freedom on ``(mode - none) - ratio * (oracle - none)`` does not reject (Fieller 1954). Refused,
    with value None, where the interval of the headroom covers 0: a ratio to nothing has no bounds.
    """
    name = f"{agent}: ({mode} - none) / (oracle - none)"
    pairs = matched(table, ((agent, mode), (agent, "oracle"), (agent, "none")), metric, population)
    differences = pairs.kept[[0, 1]].sub(pairs.kept[2], axis=0).groupby(pairs.shift_of).mean().to_numpy()
    whole = _estimate(name, differences[:, 1], pairs, level, max_dropped, 0)
    blank = dataclasses.replace(whole, value=None, low=None, high=None, p=None, p_method=None, note="")
    if whole.value is None or whole.shifts < 2:
        return dataclasses.replace(blank, note=whole.note)
    low, high = (whole.value, whole.value) if whole.low is None else (whole.low, whole.high)
    if low <= 0:
        reach = f"the headroom oracle - none is {whole.value:+.3f}"
        if whole.low is None:
            return dataclasses.replace(blank, note=f"{reach} in every shift")
        why = "it covers 0" if high >= 0 else "the oracle does worse"
        return dataclasses.replace(blank, note=f"{reach} [{low:+.3f}, {high:+.3f}]: {why}")
    ratio, low, high = fieller(differences[:, 0], differences[:, 1], level)
    if _agree(differences[:, 0] - ratio * differences[:, 1]):
        return dataclasses.replace(blank, value=ratio, note=_agreement(whole.shifts, level))
    return dataclasses.replace(blank, value=ratio, low=low, high=high, note="Fieller's interval")


def fieller(numerator: np.ndarray, denominator: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Return (ratio of means, low, high) of paired cluster means, by Fieller's theorem with t(C-1).

    Raises DataError where the denominator's own interval covers 0, so that the set of ratios is unbounded.
    """
    count = len(numerator)
    top, bottom = float(np.mean(numerator)), float(np.mean(denominator))
    quantile = stats.t.ppf((1 + level) / 2, count - 1) ** 2 / count
    spread = np.cov(numerator, denominator)
    a = bottom**2 - quantile * spread[1, 1]
    if a <= 0:
        raise DataError("the interval of the denominator covers 0: the ratio has no bounded interval")
    b = top * bottom - quantile * spread[0, 1]
    c = top**2 - quantile * spread[0, 0]
    root = math.sqrt(max(b**2 - a * c, 0.0))  # not negative while a > 0, but for rounding
    return top / bottom, float((b - root) / a), float((b + root) / a)


def cluster_interval(means: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of Student's t interval with C - 1 degrees of freedom, C cluster means along the last axis."""
    means = np.asarray(means, float)
    half = stats.t.ppf((1 + level) / 2, means.shape[-1] - 1) * stats.sem(means, axis=-1)
    return means.mean(axis=-1) - half, means.mean(axis=-1) + half


def share_interval(value: float, count: float, level: float = 0.95) -> tuple[float, float]:
    """Return the limits of Wilson's score interval (1927) for a share ``value`` of ``count`` clusters, within [0, 1].

    A cluster may hold several cases: a mean of shares with a given expectation varies at most as much as a yes or no
    with the same expectation, so that the interval is then wide rather than narrow. It has width also where all agree.
    """
    squared = stats.norm.ppf((1 + level) / 2) ** 2 / count
    centre, spread = (value + squared / 2) / (1 + squared), value * (1 - value) / count + squared / (4 * count)
    half = math.sqrt(squared * count * spread) / (1 + squared)
    return max(0.0, centre - half), min(1.0, centre + half)


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: ``1 shift``, ``2 shifts``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def p_text(p: float, method: str, adjusted: float | None = None) -> str:
    """Return a p value (or what it was adjusted to) in words, ``p <=`` where it is the smallest that drawn flips give."""
    smallest = method.startswith(str(DRAWN_FLIPS)) and p * (DRAWN_FLIPS + 1) < 1.5
    return f"p {'≤' if smallest else '='} {p if adjusted is None else adjusted:.2g}"


def sign_flip_p(means: np.ndarray, seed: int = 0) -> tuple[float, str]:
    """Return the two-sided p value of the mean against sign flips of the cluster means, and how it was found.

    The hypothesis is that each cluster's difference is as likely with either sign. Up to 16 clusters every pattern of
    signs is enumerated and p is exact; above, 99,999 patterns are drawn and p is (1 + as extreme) / 100,000, so that it
    is valid and at least 1e-5. scipy's permutation_test gives the same numbers at a hundred times the cost.
    """
    count = len(means)
    if count <= EXACT_UP_TO:
        signs = np.arange(2**count)[:, None] >> np.arange(count) & 1
        method, added = "exact sign flip", 0
    else:
        signs = np.random.default_rng(seed).integers(0, 2, (DRAWN_FLIPS, count), dtype=np.int8)
        method, added = f"{DRAWN_FLIPS} sign flips, seed {seed}", 1
    total = np.abs((2.0 * signs - 1) @ means)
    observed = abs(np.sum(means)) - 1e-9 * np.abs(means).sum()  # equal sums differ by rounding
    return float((np.sum(total >= observed) + added) / (len(signs) + added)), method


def pass_hat_k(
    table: pd.DataFrame, k: int, metric: str = "official_reward", population: str | None = None
) -> pd.DataFrame:  # fmt: skip
    """Return pass^k of every arm: the chance that k trials of a case all succeed, averaged over cases.

    The estimator is the unbiased C(successes, k) / C(trials, k) per case (Yao et al. 2024, tau-bench), trials being the
    rows of a case in an arm (column ``trial``). Columns: agent, memory_mode, k, value, cases, trials (smallest).

    Raises DataError where a case has fewer than k scored trials, naming it: n >= k is not negotiable.
    """
    if k < 1:
        raise ConfigError(f"k: {k!r}; accepted: an integer of at least 1")
    chosen = _population(table, population)
    rewards = scores(chosen, metric)
    keys = [chosen[field] for field in ("agent", "memory_mode", "case_id")]
    trials = rewards.groupby(keys, sort=False).count()
    won = solved(rewards).groupby(keys, sort=False).sum()
    if (short := trials[trials < k]).size:
        agent, mode, case = short.index[0]
        more = f"; so do {len(short) - 1} more" if len(short) > 1 else ""
        raise DataError(f"pass^{k} needs {k} scored trials a case; {case} ({agent}, {mode}) has {short.iloc[0]}{more}")
    frame = pd.DataFrame({"value": special.binom(won, k) / special.binom(trials, k), "trials": trials})
    arms = frame.groupby(level=["agent", "memory_mode"], sort=False)
    result = arms.agg(value=("value", "mean"), cases=("value", "size"), trials=("trials", "min"))
    return result.reset_index().assign(k=k)


def fewest_trials(table: pd.DataFrame, population: str | None = None) -> int:
    """Return the number of scored trials that every case of every arm has: pass^k can be given up to this k."""
    chosen = _population(table, population)
    scored = (chosen["outcome"] == "scored").groupby([chosen[field] for field in ("agent", "memory_mode", "case_id")])
    return int(scored.sum().min())


def holm(p_values: list[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm's step-down method (Holm 1979), in the order given.

    A declared contrast without a p value stays None and still counts in the family.
    """
    family, adjusted, largest = len(p_values), [None] * len(p_values), 0.0
    tested = sorted((at for at, p in enumerate(p_values) if p is not None), key=lambda at: p_values[at])
    for rank, at in enumerate(tested):
        largest = max(largest, min(1.0, (family - rank) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def estimates_table(estimates: list[Estimate]) -> pd.DataFrame:
    """Return declared contrasts as a table, in their order, with Holm's adjusted p over each family in ``p_holm``.

    A contrast whose family is too large for its shifts, so that no adjusted p below 1 - level is possible, is descriptive.
    """
    columns = [field.name for field in dataclasses.fields(Estimate)]
    table = pd.DataFrame([dataclasses.asdict(found) for found in estimates], columns=columns)
    table["dropped"] = [", ".join(f"{arm} {count}" for arm, count in found.dropped.items()) for found in estimates]
    table = table.astype(dict.fromkeys(("value", "low", "high", "level", "p", "at_least", "at_most"), float))
    table = table.astype({"shifts": int, "cases": int, "planned": int, "descriptive": bool})
    families = table.groupby("family", sort=False)["p"]
    adjusted = families.transform(lambda p: holm([None if pd.isna(one) else one for one in p]))
    table.insert(table.columns.get_loc("p") + 1, "p_holm", adjusted.astype(float))
    smallest = families.transform("size") * 2.0 ** (1 - table["shifts"])
    table["descriptive"] |= smallest > 1 - table["level"]
    return table


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
    plan, at = Plan(_difference_name(arm, baseline), difference, power, level, tests), 1 - (1 - level) / tests
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


@dataclass(frozen=True)
class Pairs:
    """The cases some arms share, side by side.

    Attributes:
        metric, population: which column, over which cases (``all``: no population chosen).
        cases: the planned cases by case id.
        wide: their scores, one column an arm (0, 1, ...), missing where a case has none.
        dropped: for each arm, how many planned cases have no score.
    """

    metric: str
    population: str
    cases: pd.DataFrame
    wide: pd.DataFrame
    dropped: dict[str, int]

    @property
    def kept(self) -> pd.DataFrame:
        """The cases that every arm has a score for."""
        return self.wide.dropna()

    @property
    def shift_of(self) -> pd.Series:
        """The shift of each kept case."""
        return self.cases.loc[self.kept.index, "shift_id"]


def matched(table: pd.DataFrame, arms: tuple, metric: str, population: str | None) -> Pairs:
    """Return the cases of some arms side by side; a case of several trials has their mean, if all are scored."""
    require_one_version(table)
    chosen = _population(table, population)
    chosen = chosen.assign(_score=scores(chosen, metric))
    known = sorted({str(Arm(*arm)) for arm in zip(table["agent"], table["memory_mode"], strict=False)})
    columns = []
    for arm in arms:
        check_name("arm", str(Arm(*arm)), known)
        rows = chosen[(chosen["agent"] == arm[0]) & (chosen["memory_mode"] == arm[1])]
        if rows.duplicated([*(field for field in ARM_FIELDS if field in rows), "case_id"]).any():
            raise DataError(f"arm: {Arm(*arm)} has a case more than once")
        columns.append(rows.groupby("case_id")["_score"].mean(skipna=False))
    wide = pd.concat(columns, axis=1, keys=range(len(arms))).sort_index()
    cases = chosen.drop_duplicates("case_id").set_index("case_id").loc[wide.index]
    dropped = {str(Arm(*arm)): int(wide[at].isna().sum()) for at, arm in enumerate(arms)}
    return Pairs(metric, population or "all", cases, wide, dropped)


def _difference_name(arm: tuple[str, str], baseline: tuple[str, str]) -> str:
    if arm[0] == baseline[0]:
        return f"{arm[0]}: {arm[1]} - {baseline[1]}"
    return f"{Arm(*arm)} - {Arm(*baseline)}"


def _population(table: pd.DataFrame, population: str | None) -> pd.DataFrame:
    if population is None:
        return table
    check_name("population", population, sorted(table["population"].unique()))
    return table[table["population"] == population]


def _weighted(
    name: str, pairs: Pairs, weights: tuple[int, ...], level: float, max_dropped: float, seed: int
) -> Estimate:  # fmt: skip
    """Return the estimate of a weighted sum of the arms' scores, and between what it lies whatever is missing."""
    means = (pairs.kept @ weights).groupby(pairs.shift_of).mean()
    found = _estimate(name, means.to_numpy(), pairs, level, max_dropped, seed)
    if ((pairs.wide < 0) | (pairs.wide > 1)).any(axis=None):
        return found
    against = np.array(weights) < 0
    ends = [
        float((pairs.wide.fillna(dict(enumerate(np.where(against, 1 - end, end)))) @ weights)
              .groupby(pairs.cases["shift_id"]).mean().mean())
        for end in (0.0, 1.0)
    ]  # fmt: skip
    return dataclasses.replace(found, at_least=ends[0], at_most=ends[1])


def _agree(means: np.ndarray) -> bool:
    """Return whether numbers differ by rounding at most."""
    return float(np.ptp(means)) <= 1e-9


def _agreement(shifts: int, level: float) -> str:
    """Return what can be said when all shifts agree: how large, at the level, the share of shifts that do not can be."""
    most = 100 * (1 - (1 - level) ** (1 / shifts))
    return f"all {shifts} shifts agree; at most {most:.0f} % differ ({100 * level:g} %)"


def _estimate(name: str, means: np.ndarray, pairs: Pairs, level: float, max_dropped: float, seed: int) -> Estimate:
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
        if _agree(means):
            notes.append(_agreement(shifts, level))
        else:
            low, high = map(float, cluster_interval(means, level))
    if value is not None and (lost := pairs.cases["shift_id"].nunique() - pairs.shift_of.nunique()):
        notes.append(f"{counted(lost, 'shift')} without a pair left out")
    return Estimate(
        name, pairs.metric, pairs.population, value, low, high, level, p, method, shifts, cases, planned, pairs.dropped,
        shifts < DESCRIPTIVE_BELOW, "; ".join(notes),
    )  # fmt: skip


def _candidates(limit: int = 1_000_000):
    """Yield numbers of shifts from 2 up: each one to 1,000, then in steps of a thousandth."""
    count = 2
    while count <= limit:
        yield count
        count += max(1, count // 1000)
