"""A shift at a glance: one strip of cells for each agent and memory mode."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from taulong.errors import DataError
from taulong.reading.markup import OUTCOMES, SIGNS, Markup, Shown, element, is_given, visible

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class Strip(Shown):
    """A shift as strips of cells, one strip for each agent and memory mode: population, outcome, commitment.

    Attributes:
        records: the shift's rows of a table of records.
        num_cases: customers of the shift; without it, the last position there is. A case without a row is owed.

    Raises:
        DataError: the records are not those of one shift.
    """

    records: "pd.DataFrame"
    num_cases: int | None = None

    def __post_init__(self):
        shifts = list(self.records["shift_id"].unique())
        if len(shifts) != 1:
            raise DataError(f"records: {len(shifts)} shifts; a strip shows one: records[records['shift_id'] == ...]")

    @cached_property
    def rows(self) -> dict[str, list[dict]]:
        """The cells by arm: outcome, reward, commitment, and whether a gate objects, one a position."""
        count = self.num_cases or int(self.records["position"].max())
        rows: dict[str, list[dict]] = {}
        several = self.records["trial"].nunique() > 1 if "trial" in self.records else False
        for record in self.records.to_dict("records"):
            arm = f"{record['agent']}, {record['memory_mode']}" + (f", trial {record['trial']}" if several else "")
            cells = rows.setdefault(arm, [{"outcome": "owed"} for _ in range(count)])
            cells[record["position"] - 1] = _cell(record)
        return rows

    @cached_property
    def populations(self) -> list[str]:
        """The population at each position; empty where no arm has come so far."""
        known = dict(zip(self.records["position"], self.records["population"], strict=True))
        return [known.get(position, "") for position in range(1, len(next(iter(self.rows.values()))) + 1)]

    @property
    def _name(self) -> str:
        first = self.records.iloc[0]
        return f"{first['shift_id']}, recurring cause {first['recurring_cause']}"

    def _html(self) -> Markup:
        heads = [
            element("th", f"{position} ", population, scope="col")
            for position, population in enumerate(self.populations, 1)
        ]
        body = [
            element("tr", element("th", arm, scope="row"), *map(_cell_html, cells)) for arm, cells in self.rows.items()
        ]
        legend = element(
            "small",
            *(part for name in OUTCOMES for part in (_key(name), " ")),
            "reward in figures; ! a gate objects; the tool named is the commitment of a testing case",
        )
        table = element("table", element("thead", element("tr", element("th", ""), *heads)), element("tbody", *body))
        return element("div", element("div", self._name, kind="title"), table, legend, kind="")

    @property
    def text(self) -> str:
        """The strips as lines of fixed width."""
        room = max(map(len, self.rows)) + 2
        lines = [visible(self._name), " " * room + "".join(f"{population:<12}" for population in self.populations)]
        for arm, cells in self.rows.items():
            lines.append(f"{arm:<{room}}" + "".join(f"{_cell_text(cell):<12}" for cell in cells))
            if any(cell.get("commitment") for cell in cells):
                lines.append(" " * room + "".join(f"{(cell.get('commitment') or '')[:11]:<12}" for cell in cells))
        return "\n".join(
            line.rstrip() for line in [*lines, "✓ solved  ✗ not solved  ? unscored  – owed  ! a gate objects"]
        )


def outcome_of(record: Mapping) -> str:
    """Return what came of a case in a word: solved, not solved, unscored or owed."""
    if record["outcome"] != "scored" or not is_given(record["official_reward"]):
        return "owed" if record["outcome"] == "owed" else "unscored"
    return "solved" if record["official_reward"] >= 1 else "not solved"


def _cell(record: Mapping) -> dict:
    outcome, reward = outcome_of(record), record["official_reward"]
    return {
        "outcome": outcome,
        "reward": f"{reward:g}" if outcome in ("solved", "not solved") else None,
        "commitment": record["commitment"] if is_given(record["commitment"]) else None,
        "gate": record["scope_gate"] == "fail",
    }


def _cell_text(cell: Mapping) -> str:
    return " ".join(filter(None, (SIGNS[cell["outcome"]], cell.get("reward"), "!" if cell.get("gate") else "")))


def _cell_html(cell: Mapping) -> Markup:
    commitment = cell.get("commitment")
    return element(
        "td",
        element("b", _cell_text(cell)),
        commitment and element("div", commitment.replace("_", " ")),
        kind=f"turn {cell['outcome'].replace(' ', '-')}",
        title=cell["outcome"],
        style=_edge(cell["outcome"]),
    )


def _key(outcome: str) -> Markup:
    return element(
        "span", f" {SIGNS[outcome]} {outcome} ", kind=f"turn {outcome.replace(' ', '-')}", style=_edge(outcome)
    )


def _edge(outcome: str) -> str:
    return f"border-left: 4px {'dashed' if outcome == 'owed' else 'solid'} {OUTCOMES[outcome]}"
