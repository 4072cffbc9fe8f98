"""The questions a report asks of a run, each a list of estimates; and their table, with p values adjusted over all."""

import dataclasses
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import optimize

from taulong.errors import ConfigError
from taulong.memory.names import second_pass
from taulong.value.metrics import REWARDS, agents_with
from taulong.value.statistics.estimates import (
    MAX_DROPPED,
    Estimate,
    agree,
    agreement,
    contrast,
    estimate_of,
    weighted_estimate,
)
from taulong.value.statistics.intervals import fieller, ratio_interval, weighted_interval
from taulong.value.statistics.pairs import Arm, Pairs, counted, difference_name, matched
from taulong.value.statistics.signs import in_order

PRIMARY = "notebook"  # minus none on testing cases by the official reward: what the suite is for


def memory_contrasts(
    table: pd.DataFrame, metric: str = "official_reward", level: float = 0.95, max_dropped: float = MAX_DROPPED,
    seed: int = 0, primary: str = PRIMARY,
) -> list[Estimate]:  # fmt: skip
    """Return the contrasts of the memory question: every mode of every agent against its own none.

    On testing cases, where memory can help, then on lookalikes, where it can mislead; a second pass over testing cases has
    no lookalikes. An agent that was not run without memory has no contrast. ``primary - none`` on testing cases by the
    official reward is of family ``primary``, all others are ``secondary``.
    """
    table = table[table["agent"].isin(agents_with(table, "none"))]
    arms = [Arm(*arm) for arm in table[["agent", "memory_mode"]].drop_duplicates().itertuples(index=False)]
    present = set(table["population"])
    found = []
    for population in ("testing", "lookalike"):
        for arm in arms:
            if arm.memory_mode == "none" or population not in present:
                continue
            if population == "lookalike" and second_pass(arm.memory_mode):
                continue
            one = contrast(table, arm, Arm(arm.agent, "none"), metric, population, level, max_dropped, seed)
            first = (arm.memory_mode, population, metric) == (primary, "testing", "official_reward")
            found.append(dataclasses.replace(one, family="primary" if first else "secondary"))
    return found


def reward_contrasts(
    table: pd.DataFrame, mode: str = PRIMARY, population: str | None = "testing", level: float = 0.95,
    max_dropped: float = MAX_DROPPED, seed: int = 0,
) -> list[Estimate]:  # fmt: skip
    """Return what a mode is worth against none under the official reward, under the gated one, and their difference.

    Three estimates an agent; the first is one of :func:`memory_contrasts`, the others are ``secondary``. The difference is
    taken case by case, over the cases that have both rewards in both arms: how much of the memory value the gate does not
    grant.
    """
    found: list[Estimate] = []
    if population is not None and population not in set(table["population"]):
        return found
    for agent in agents_with(table, mode, "none"):
        arms = ((agent, mode), (agent, "none"))
        official, gated = (matched(table, arms, reward, population) for reward in REWARDS)
        for pairs in (official, gated, _gap(official, gated)):
            estimate = weighted_estimate(difference_name(*arms), pairs, (1, -1), level, max_dropped, seed)
            first = pairs is official and (mode, population) == (PRIMARY, "testing")
            family = "primary" if first else "secondary"
            found.append(dataclasses.replace(estimate, family=family, agent=agent, memory_mode=mode, baseline="none"))
    return found


def _gap(official: Pairs, gated: Pairs) -> Pairs:
    """Return what the gate takes of each arm's official reward, case by case: within 0 and 1, as it only takes."""
    dropped = {arm: max(lost, gated.dropped[arm]) for arm, lost in official.dropped.items()}
    return Pairs(
        "official - gated", official.population, official.cases, official.wide - gated.wide,
        (official.least - gated.most).clip(lower=0), official.most - gated.least, dropped,
        official.bounded and gated.bounded,
    )  # fmt: skip


def interactions(
    table: pd.DataFrame, mode: str = PRIMARY, metric: str = "official_reward", population: str | None = "testing",
    level: float = 0.95, max_dropped: float = MAX_DROPPED, seed: int = 0,
) -> list[Estimate]:  # fmt: skip
    """Return for every two agents how much more a mode is worth to the first than to the second, on the same cases."""
    found = []
    for one, other in combinations(agents_with(table, mode, "none"), 2):
        arms = ((one, mode), (one, "none"), (other, mode), (other, "none"))
        pairs = matched(table, arms, metric, population)
        name = f"({mode} - none) of {one} - of {other}"
        found.append(weighted_estimate(name, pairs, (1, -1, -1, 1), level, max_dropped, seed))
    return found


def learning_slope(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], metric: str = "official_reward",
    population: str | None = "testing", over: str = "position", level: float = 0.95, max_dropped: float = MAX_DROPPED,
    seed: int = 0,
) -> Estimate:  # fmt: skip
    """Return by how much the paired difference grows per unit of ``over`` (position, evidence_seen) within a shift.

    Each shift gives one least-squares slope of its differences; shifts in which ``over`` does not vary have none and
    are left out, which the note counts. The slope of differences of shares has bounds, given where a shift's cases lie.
    """
    pairs = matched(table, (arm, baseline), metric, population)
    x = pairs.cases.loc[pairs.kept.index, over].astype(float)
    centred = x - x.groupby(pairs.shift_of).transform("mean")
    products = {"xy": centred * (pairs.kept[0] - pairs.kept[1]), "xx": centred**2, "steep": centred.abs()}
    sums = pd.DataFrame(products).groupby(pairs.shift_of).sum()
    sloping = sums[sums["xx"] > 0]
    steepest = float((sloping["steep"] / sloping["xx"]).max()) if len(sloping) else 0.0
    reach = (-steepest, steepest) if pairs.bounded else None
    name = f"{difference_name(arm, baseline)}, slope over {over}"
    slopes = (sloping["xy"] / sloping["xx"]).to_numpy()
    found = estimate_of(name, slopes, pairs, level, max_dropped, seed, reach)
    flat = len(sums) - len(sloping)
    left_out = f"{counted(flat, 'shift')} without variation in {over} left out" if flat else ""
    note = "; ".join(filter(None, (found.note, left_out)))
    agent = arm[0] if arm[0] == baseline[0] else ""
    return dataclasses.replace(found, note=note, agent=agent, memory_mode=arm[1], baseline=baseline[1])


def headroom_share(
    table: pd.DataFrame, agent: str, mode: str = PRIMARY, metric: str = "official_reward",
    population: str | None = "testing", level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return the share of the oracle's headroom a mode reaches, (mode - none) / (oracle - none).

    Both differences are taken case by case and averaged by shift. Refused, with value None, where the interval of the
    headroom covers 0: a ratio to nothing has no bounds.

    Raises ConfigError for a metric that does not lie within 0 and 1.
    """
    name = f"{agent}: ({mode} - none) / (oracle - none)"
    pairs = matched(table, ((agent, mode), (agent, "oracle"), (agent, "none")), metric, population)
    if not pairs.bounded:
        raise ConfigError(f"metric: {metric!r}; accepted: one within 0 and 1, a reward or a yes and no")
    whole = weighted_estimate(name, pairs, (0, 1, -1), level, max_dropped, None)
    whole = dataclasses.replace(whole, agent=agent, memory_mode=mode, baseline="none")
    blank = dataclasses.replace(whole, value=None, low=None, high=None, note="", interval="")
    if whole.value is None or whole.low is None or whole.high is None:
        return dataclasses.replace(blank, note=whole.note)
    if whole.low <= 0:
        reach = f"the headroom oracle - none is {whole.value:+.3f} [{whole.low:+.3f}, {whole.high:+.3f}]"
        why = "it covers 0" if whole.high >= 0 else "the oracle does worse"
        return dataclasses.replace(blank, note=f"{reach}: {why}")
    shares = pairs.by_shift.to_numpy()
    mode_mean, oracle_mean, none_mean = shares.mean(axis=0)
    ratio = float((mode_mean - none_mean) / (oracle_mean - none_mean))
    low, high = ratio_interval(shares, level)
    apart = shares @ np.array([1.0, -ratio, ratio - 1.0])
    note = agreement(whole.shifts, level) if agree(apart) else ""
    return dataclasses.replace(blank, value=ratio, low=low, high=high, note=note, interval="ratio")


def value_per_thousand_tokens(
    table: pd.DataFrame, agent: str, mode: str = PRIMARY, metric: str = "official_reward",
    population: str | None = "testing", level: float = 0.95, max_dropped: float = MAX_DROPPED,
) -> Estimate:  # fmt: skip
    """Return what a mode gains against none for each thousand tokens that the agent reads and writes more by it, a case.

    A mean over shifts of gains over the mean of extra tokens, with Fieller's interval. Refused where the interval of the
    extra tokens covers 0 (scripted agents use none): then there is no price to divide by.
    """
    name = f"{agent}: {mode} - none, per thousand tokens"
    arms = ((agent, mode), (agent, "none"))
    pairs = matched(table, arms, metric, population)
    spent = matched(
        table.assign(agent_tokens=table["agent_tokens"].astype(float) / 1000), arms, "agent_tokens", population
    )
    both = pairs.kept.index.intersection(spent.kept.index)
    gain, extra = (
        (kept[0] - kept[1]).loc[both].groupby(pairs.cases.loc[both, "shift_id"]).mean().to_numpy()
        for kept in (pairs.kept, spent.kept)
    )
    whole = estimate_of(name, extra, pairs, level, max_dropped, None)
    whole = dataclasses.replace(whole, agent=agent, memory_mode=mode, baseline="none")
    blank = dataclasses.replace(whole, value=None, low=None, high=None, interval="")
    if whole.value is None or whole.shifts < 2:
        return blank
    low, high = (whole.value if limit is None else limit for limit in (whole.low, whole.high))
    if low <= 1e-9 and high >= -1e-9:
        spread = "" if whole.low is None else f" [{low:+.2f}, {high:+.2f}]"
        return dataclasses.replace(blank, note=f"{mode} takes {whole.value:+.2f}{spread} thousand tokens a case more")
    ratio, low, high = fieller(gain, extra, level)
    return dataclasses.replace(blank, value=ratio, low=low, high=high, note="", interval="ratio")


@dataclass(frozen=True)
class Equivalence:
    """Whether two arms are equal but for less than a margin.

    Attributes:
        difference: the estimate it is about.
        margin: what counts as no difference.
        level: 1 - level is the chance of calling arms equivalent that differ by the margin.
        p: the larger p value of the two one-sided tests; None where there is no estimate.
        low, high: limits of the interval at ``2 level - 1``, which lies within the margins where p is below 1 - level.
    """

    difference: Estimate
    margin: float
    level: float
    p: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def equivalent(self) -> bool:
        """Whether both tests reject a difference of the margin or more."""
        return self.p is not None and self.p <= 1 - self.level

    def __str__(self) -> str:
        found = self.difference
        if self.p is None:
            return f"{found.name}, {found.population}: no number ({found.note})"
        said = "equivalent" if self.equivalent else "not shown equivalent"
        return (
            f"{found.name}, {found.population}: {said} within {self.margin:g} "
            f"({found.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}] {100 * (2 * self.level - 1):g} %, "
            f"p = {self.p:.2g} by two one-sided tests, {counted(found.shifts, 'shift')})"
        )


def equivalence(
    table: pd.DataFrame, arm: tuple[str, str], baseline: tuple[str, str], margin: float,
    metric: str = "official_reward", population: str | None = "lookalike", level: float = 0.95,
    max_dropped: float = MAX_DROPPED,
) -> Equivalence:  # fmt: skip
    """Return whether ``arm - baseline`` is shown to lie within ``margin`` of 0, by two one-sided tests (Schuirmann 1987).

    The tests are those that the interval of the difference inverts: p is the smallest chance at which the interval at
    1 - 2 p lies within the margins. That no difference was found is no sign of equivalence; that both margins are rejected is.

    Raises ConfigError for a margin or level outside (0, 1), or a metric that does not lie within 0 and 1.
    """
    if not 0 < margin < 1 or not 0.5 < level < 1:
        raise ConfigError(f"margin: {margin!r}, level: {level!r}; accepted: within (0, 1), within (0.5, 1)")
    found = contrast(table, arm, baseline, metric, population, level, max_dropped)
    pairs = matched(table, (arm, baseline), metric, population)
    if not pairs.bounded:
        raise ConfigError(f"metric: {metric!r}; accepted: one within 0 and 1, a reward or a yes and no")
    if found.value is None or found.shifts < 2:
        return Equivalence(found, margin, level)
    shares = pairs.by_shift.to_numpy()

    def outside(chance: float) -> float:
        low, high = weighted_interval(shares, (1, -1), 1 - 2 * chance)
        return max(float(high) - margin, -margin - float(low))

    ends = (1e-6, 0.4999)
    p = (
        ends[0]
        if outside(ends[0]) <= 0
        else 1.0
        if outside(ends[1]) > 0
        else optimize.brentq(outside, *ends, xtol=1e-6)
    )
    low, high = map(float, weighted_interval(shares, (1, -1), 2 * level - 1))
    return Equivalence(found, margin, level, p, low, high)


def estimates_table(estimates: list[Estimate]) -> pd.DataFrame:
    """Return declared contrasts as a table, in their order, with p adjusted over all of them in ``p_adjusted``.

    The primary contrasts come first and the others of an agent after its own (see
    :func:`taulong.value.statistics.signs.in_order`); exploratory ones are not adjusted and have none. A contrast whose
    shifts are too few for any adjusted p below 1 - level is descriptive.
    """
    columns = [field.name for field in dataclasses.fields(Estimate)]
    table = pd.DataFrame([dataclasses.asdict(found) for found in estimates], columns=columns)
    table["dropped"] = [", ".join(f"{arm} {count}" for arm, count in found.dropped.items()) for found in estimates]
    table = table.astype(dict.fromkeys(("value", "low", "high", "level", "p", "at_least", "at_most"), float))
    table = table.astype({"shifts": int, "cases": int, "planned": int, "descriptive": bool})
    declared = [at for at, found in enumerate(estimates) if found.family != "exploratory"]
    agents = [estimates[at].agent for at in declared]
    first = [estimates[at].family == "primary" for at in declared]
    adjusted = pd.Series(float("nan"), index=table.index)
    adjusted.loc[declared] = pd.Series(
        in_order([estimates[at].p for at in declared], agents, first), index=declared, dtype=float
    )
    table.insert(columns.index("p") + 1, "p_adjusted", adjusted)
    smallest = [None if estimates[at].p is None else 2.0 ** (1 - estimates[at].shifts) for at in declared]
    reachable = pd.Series(in_order(smallest, agents, first), index=declared, dtype=float)
    table["descriptive"] |= reachable.reindex(table.index).gt(1 - table["level"])
    return table
