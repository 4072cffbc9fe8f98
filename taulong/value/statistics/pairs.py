"""The cases that arms share, side by side: what every estimate is made of."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from taulong.errors import DataError, check_name
from taulong.value.metrics import ARM_FIELDS, require_one_version, scores


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
    chosen = of_population(table, population)
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


def difference_name(arm: tuple[str, str], baseline: tuple[str, str]) -> str:
    if arm[0] == baseline[0]:
        return f"{arm[0]}: {arm[1]} - {baseline[1]}"
    return f"{Arm(*arm)} - {Arm(*baseline)}"


def of_population(table: pd.DataFrame, population: str | None) -> pd.DataFrame:
    if population is None:
        return table
    check_name("population", population, sorted(table["population"].unique()))
    return table[table["population"] == population]


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: ``1 shift``, ``2 shifts``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
