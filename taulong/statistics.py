"""What memory is worth, with intervals that hold: contrasts paired by case on matched seeds and clustered by shift.

The unit of replication is the shift. Every estimate here first reduces each shift to one number (the mean of its paired
differences, or their slope) and then treats those numbers as the sample: the estimand is the mean over shifts, each
shift weighing the same however many of its pairs survive (with equal cluster sizes that is also the mean over cases).
The interval is Student's t with C - 1 degrees of freedom on the C shift numbers; taulong.coverage measures how often it
covers.

All functions take the table of taulong.metrics.with_owed, so that an owed or unscored case is a dropped pair and is
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
from taulong.metrics import ARM_FIELDS, agents_with, require_one_version, scores, solved

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

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}, {self.population}: no number ({self.note})"
        text = f"{self.name}, {self.population}: {self.value:+.3f}"
        if self.low is not None:
            text += f" [{self.low:+.3f}, {self.high:+.3f}] {100 * self.level:g} % t({self.shifts - 1})"
        text += f", {self.shifts} shifts, {self.cases} of {self.planned} pairs"
        text += f", p = {self.p:.2g} ({self.p_method})" if self.p is not None else ""
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
    difference = pairs.kept[0] - pairs.kept[1]
    means = difference.groupby(pairs.shift_of).mean()
    return _estimate(_difference_name(arm, baseline), means.to_numpy(), pairs, level, max_dropped, seed)


def arm_mean(
    table: pd.DataFrame, arm: tuple[str, str], metric: str = "official_reward", population: str | None = "testing",
    level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return the mean of a metric in one arm, clustered by shift (no p value: zero is no hypothesis about it)."""
    pairs = matched(table, (arm,), metric, population)
    means = pairs.kept[0].groupby(pairs.shift_of).mean()
    found = _estimate(str(Arm(*arm)), means.to_numpy(), pairs, level, max_dropped, 0)
    return dataclasses.replace(found, p=None, p_method=None)


def memory_contrasts(
    table: pd.DataFrame, metric: str = "official_reward", level: float = 0.95, max_dropped: float = MAX_DROPPED,
    seed: int = 0,
) -> list[Estimate]:  # fmt: skip
    """Return the contrasts of the memory question: every mode of every agent against its own none.

    On testing cases, where memory can help, then on lookalikes, where it can mislead; the frozen second pass has no
    lookalikes. An agent that was not run without memory has no contrast.
    """
    table = table[table["agent"].isin(agents_with(table, "none"))]
    arms = [Arm(*arm) for arm in table[["agent", "memory_mode"]].drop_duplicates().itertuples(index=False)]
    return [
        contrast(table, arm, Arm(arm.agent, "none"), metric, population, level, max_dropped, seed)
        for population in ("testing", "lookalike") for arm in arms
        if arm.memory_mode != "none" and (population, arm.memory_mode) != ("lookalike", "frozen")
    ]  # fmt: skip


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
    note = "; ".join(filter(None, (found.note, f"{flat} shifts without variation in {over} left out" if flat else "")))
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
    blank = dataclasses.replace(whole, value=None, low=None, high=None, p=None, p_method=None)
    if whole.value is None or whole.shifts < 2:
        return dataclasses.replace(blank, note=whole.note)
    if whole.low <= 0:
        reach = f"the headroom oracle - none is {whole.value:+.3f} [{whole.low:+.3f}, {whole.high:+.3f}]"
        why = "it covers 0" if whole.high >= 0 else "the oracle does worse"
        return dataclasses.replace(blank, note=f"{reach}: {why}")
    ratio, low, high = fieller(differences[:, 0], differences[:, 1], level)
    return dataclasses.replace(blank, value=ratio, low=low, high=high)


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
    """Return declared contrasts as a table, in their order, with Holm's adjusted p over all of them in ``p_holm``."""
    columns = [field.name for field in dataclasses.fields(Estimate)]
    table = pd.DataFrame([dataclasses.asdict(found) for found in estimates], columns=columns)
    table["dropped"] = [", ".join(f"{arm} {count}" for arm, count in found.dropped.items()) for found in estimates]
    table = table.astype(dict.fromkeys(("value", "low", "high", "level", "p"), float))
    table = table.astype({"shifts": int, "cases": int, "planned": int, "descriptive": bool})
    table.insert(table.columns.get_loc("p") + 1, "p_holm", np.array(holm([found.p for found in estimates]), float))
    return table


@dataclass(frozen=True)
class Plan:
    """How many shifts detect a difference, and from what.

    Attributes:
        name: the contrast planned for.
        difference, wanted: the difference to detect, and the power wanted for it.
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
            f"(between {self.between:.3f}, within {self.within:.3f}; {cost})"
        )


def plan_shifts(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], difference: float, power: float = 0.8,
    level: float = 0.95, metric: str = "official_reward", population: str | None = "testing",
    cases_per_shift: float | None = None, cost_per_shift: float | None = None,
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

    Raises:
        ConfigError: a difference of 0, a power outside (0, 1), or unknown arms, as for :func:`contrast`.
    """
    if difference == 0 or not 0 < power < 1:
        raise ConfigError(f"difference: {difference!r}, power: {power!r}; accepted: not 0, and within (0, 1)")
    plan = Plan(_difference_name(arm, baseline), difference, power, level)
    pairs = matched(table, (arm, baseline), metric, population)
    if (shifts := pairs.shift_of.nunique()) < 2:
        return dataclasses.replace(plan, note=f"the pilot has {shifts} shifts, at least 2 are needed")
    between, within, size = variance_components(pairs.kept[0] - pairs.kept[1], pairs.shift_of)
    size = cases_per_shift or size
    price = _pilot_cost(table, (arm, baseline)) if cost_per_shift is None else cost_per_shift
    plan = dataclasses.replace(plan, between=between, within=within, cases_per_shift=size, cost_per_shift=price)
    if (deviation := math.sqrt(between + within / size)) == 0:
        return dataclasses.replace(plan, note="the pilot's differences do not vary")
    effect = difference / deviation
    if (needed := next((count for count in _candidates() if t_power(effect, count, level) >= power), None)) is None:
        return dataclasses.replace(plan, note="a million shifts are not enough")
    cost = None if price is None else needed * price
    return dataclasses.replace(plan, shifts=needed, power=t_power(effect, needed, level), cost=cost)


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


def shift_draws(count: int, draws: int, seed: int) -> np.ndarray:
    """Return ``draws`` bootstrap samples of ``count`` shifts as multiplicities, shape (draws, count).

    One matrix serves all arms of a figure: arms that ran the same shifts must be resampled together.
    """
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)


@dataclass(frozen=True)
class Pairs:
    """The cases some arms share, side by side.

    Attributes:
        metric, population: which column, over which cases (``all``: no population chosen).
        cases: the planned cases by case id.
        kept: one column an arm (0, 1, ...), only the cases every arm has a score for.
        shift_of: the shift of each kept case.
        dropped: for each arm, how many planned cases have no score.
    """

    metric: str
    population: str
    cases: pd.DataFrame
    kept: pd.DataFrame
    shift_of: pd.Series
    dropped: dict[str, int]


def matched(table: pd.DataFrame, arms: tuple, metric: str, population: str | None) -> Pairs:
    """Return the cases of some arms side by side; a case of several trials has their mean, if all are scored."""
    require_one_version(table)
    chosen = _population(table, population)
    chosen = chosen.assign(_score=scores(chosen, metric))
    known = sorted({str(Arm(*arm)) for arm in zip(table["agent"], table["memory_mode"])})
    columns = []
    for arm in arms:
        check_name("arm", str(Arm(*arm)), known)
        rows = chosen[(chosen["agent"] == arm[0]) & (chosen["memory_mode"] == arm[1])]
        if rows.duplicated([*(field for field in ARM_FIELDS if field in rows), "case_id"]).any():
            raise DataError(f"arm: {Arm(*arm)} has a case more than once")
        columns.append(rows.groupby("case_id")["_score"].mean(skipna=False))
    wide = pd.concat(columns, axis=1, keys=range(len(arms))).sort_index()
    cases = chosen.drop_duplicates("case_id").set_index("case_id").loc[wide.index]
    kept = wide.dropna()
    dropped = {str(Arm(*arm)): int(wide[at].isna().sum()) for at, arm in enumerate(arms)}
    return Pairs(metric, population or "all", cases, kept, cases.loc[kept.index, "shift_id"], dropped)


def _difference_name(arm: tuple[str, str], baseline: tuple[str, str]) -> str:
    if arm[0] == baseline[0]:
        return f"{arm[0]}: {arm[1]} - {baseline[1]}"
    return f"{Arm(*arm)} - {Arm(*baseline)}"


def _population(table: pd.DataFrame, population: str | None) -> pd.DataFrame:
    if population is None:
        return table
    check_name("population", population, sorted(table["population"].unique()))
    return table[table["population"] == population]


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
        low, high = map(float, cluster_interval(means, level))
        p, method = sign_flip_p(means, seed)
        if low == high:
            notes.append("no variation between shifts: an interval without width is silent about shifts not drawn")
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
