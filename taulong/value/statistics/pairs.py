"""The cases that arms share, side by side: what every estimate is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd
from pandas.api.types import is_bool_dtype

from taulong.errors import DataError, check_name
from taulong.value.metrics import ARM_FIELDS, REWARDS, require_one_version, scores


class Arm(NamedTuple):
    """One agent under one memory mode."""

    agent: str
    memory_mode: str

    def __str__(self) -> str:
        return f"{self.agent}/{self.memory_mode}"


@dataclass(frozen=True)
class Pairs:
    """The cases some arms share, side by side.

    Attributes:
        metric, population: which column, over which cases (``all``: no population chosen).
        cases: the planned cases by case id.
        wide: their scores, one column an arm (0, 1, ...), missing where a case, or a trial of it, has none.
        least, most: the same with 0, or 1, for each score that is missing; of a case of several trials only the missing
            ones differ.
        dropped: for each arm, how many planned cases have no score.
        bounded: whether the metric lies within 0 and 1: a reward, or a yes and no.
    """

    metric: str
    population: str
    cases: pd.DataFrame
    wide: pd.DataFrame
    least: pd.DataFrame
    most: pd.DataFrame
    dropped: dict[str, int]
    bounded: bool

    @property
    def kept(self) -> pd.DataFrame:
        """The cases that every arm has a score for."""
        return self.wide.dropna()

    @property
    def shift_of(self) -> pd.Series:
        """The shift of each kept case."""
        return self.cases.loc[self.kept.index, "shift_id"]

    @property
    def by_shift(self) -> pd.DataFrame:
        """The mean of each shift's kept cases, one column an arm."""
        return self.kept.groupby(self.shift_of).mean()


def matched(table: pd.DataFrame, arms: Sequence[tuple[str, str]], metric: str, population: str | None) -> Pairs:
    """Return the cases of some arms side by side; a case of several trials has their mean, if all are scored."""
    require_one_version(table)
    chosen = of_population(table, population)
    chosen = chosen.assign(_score=scores(chosen, metric))
    known = sorted({str(Arm(*arm)) for arm in zip(table["agent"], table["memory_mode"], strict=True)})
    found: dict[str, list[pd.Series]] = {"wide": [], "least": [], "most": []}
    for arm in arms:
        check_name("arm", str(Arm(*arm)), known)
        rows = chosen[(chosen["agent"] == arm[0]) & (chosen["memory_mode"] == arm[1])]
        if rows.duplicated([*(field for field in ARM_FIELDS if field in rows), "case_id"]).any():
            raise DataError(f"arm: {Arm(*arm)} has a case more than once")
        case_id = rows["case_id"]
        found["wide"].append(rows["_score"].groupby(case_id).mean(skipna=False))
        for name, end in (("least", 0.0), ("most", 1.0)):
            found[name].append(rows["_score"].fillna(end).groupby(case_id).mean())
    side = {name: pd.concat(columns, axis=1, keys=range(len(arms))).sort_index() for name, columns in found.items()}
    side["least"], side["most"] = side["least"].fillna(0.0), side["most"].fillna(1.0)
    cases = chosen.drop_duplicates("case_id").set_index("case_id").loc[side["wide"].index]
    dropped = {str(Arm(*arm)): int(side["wide"][at].isna().sum()) for at, arm in enumerate(arms)}
    inside = chosen["_score"].dropna().between(0, 1).all()
    bounded = bool(inside) and (metric in REWARDS or is_bool_dtype(table[metric].dropna().infer_objects()))
    return Pairs(metric, population or "all", cases, **side, dropped=dropped, bounded=bounded)


def difference_name(arm: tuple[str, str], baseline: tuple[str, str]) -> str:
    """Return how a difference of two arms is called: the agent once where it is the same."""
    if arm[0] == baseline[0]:
        return f"{arm[0]}: {arm[1]} - {baseline[1]}"
    return f"{Arm(*arm)} - {Arm(*baseline)}"


def of_population(table: pd.DataFrame, population: str | None) -> pd.DataFrame:
    """Return the rows of a population (all of them for None), which must be one the table has."""
    if population is None:
        return table
    check_name("population", population, sorted(table["population"].unique()))
    return table[table["population"] == population]


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: ``1 shift``, ``2 shifts``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
