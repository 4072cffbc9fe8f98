"""The questions a report asks of a run, each a list of estimates; and their table, with p values adjusted by family."""

import dataclasses

import pandas as pd

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
from taulong.value.statistics.intervals import fieller
from taulong.value.statistics.pairs import Arm, Pairs, counted, difference_name, matched
from taulong.value.statistics.signs import holm


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
        if arm.memory_mode != "none" and not (population == "lookalike" and second_pass(arm.memory_mode))
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
            estimate = weighted_estimate(difference_name(*arms), pairs, weights, level, max_dropped, seed)
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
    name = f"{difference_name(arm, baseline)}, slope over {over}"
    found = estimate_of(name, slopes.to_numpy(), pairs, level, max_dropped, seed)
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
    whole = estimate_of(name, differences[:, 1], pairs, level, max_dropped, 0)
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
    if agree(differences[:, 0] - ratio * differences[:, 1]):
        return dataclasses.replace(blank, value=ratio, note=agreement(whole.shifts, level))
    return dataclasses.replace(blank, value=ratio, low=low, high=high, note="Fieller's interval")


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
