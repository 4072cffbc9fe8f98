"""Tables of texts, and tables of records from which a case is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taulong.errors import ConfigError
from taulong.reading.markup import LINES, Markup, Shown, element, visible, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from taulong.shifts.stream import Shift


@dataclass(frozen=True, repr=False, eq=False)
class Table(Shown):
    """A table of texts, none of them cut.

    Attributes:
        columns: their names.
        rows: a text (or anything with one) for each column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple, ...]

    def _html(self) -> Markup:
        head = element("tr", *(element("th", name, scope="col") for name in self.columns))
        body = [
            element(
                "tr",
                element("th", str(row[0]), scope="row"),
                *(element("td", str(value), kind="text", style=f"{LINES}; text-align: left") for value in row[1:]),
            )
            for row in self.rows
        ]
        return element("div", element("table", element("thead", head), element("tbody", *body)), kind="")

    @property
    def text(self) -> str:
        """The rows one below the other, a line for each text that is not empty."""
        blocks = [
            [
                line
                for name, value in zip(self.columns[1:], row[1:], strict=True)
                if str(value)
                for line in wrapped(f"  {name}: ", str(value), 110)
            ]
            for row in self.rows
        ]
        return "\n".join("\n".join([visible(row[0]), *block]) for row, block in zip(self.rows, blocks, strict=True))


BROWSED = (
    "case_id",
    "population",
    "agent",
    "memory_mode",
    "official_reward",
    "scope_gate",
    "commitment",
    "ending",
    "outcome",
)


def browse(records: "pd.DataFrame", interactive: bool = False, columns: Sequence[str] = BROWSED):
    """Return records as a table from which a case or a run is chosen; a case is opened with :func:`open_case`.

    Plain, it is a pandas table: the same bytes at every run, and what committed notebooks show. Interactive, it is an
    itables table to sort, filter and search, with its script inside (no server, no network), for a live JupyterLab.

    Args:
        records: a table of records, or of regraded runs (then with ``columns``), filtered as you like.
        interactive: whether it can be sorted and filtered in place; it is then displayed, and None comes back.
        columns: columns to show, in order; those that are not there are left out, and the first there is the index.

    Raises:
        ConfigError: an interactive table is asked for and itables is not installed.
    """
    import pandas as pd

    table = records[[name for name in columns if name in records.columns]]
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    table = table.assign(**{str(name): table[name].fillna("") for name in texts}).set_index(table.columns[0])
    if not interactive:
        return table
    try:
        import itables
    except ModuleNotFoundError as error:
        raise ConfigError(
            "interactive: True needs itables (pip install itables); accepted without it: False"
        ) from error
    itables.init_notebook_mode(all_interactive=False, connected=False)
    itables.show(table, column_filters="header", display_logo_when_loading=False, maxBytes=0)
    return None


def customers(shift: "Shift") -> "pd.DataFrame":
    """Return a shift's customers as a table, one a row in order: who calls, with which phone, and what is broken."""
    import pandas as pd

    rows = []
    for case in shift.cases:
        customer = case.records["customers"][0]
        line = next(line for line in case.records["lines"] if line["phone_number"] == customer["phone_number"])
        device = next(device for device in case.records["devices"] if device["device_id"] == line["device_id"])
        rows.append(
            {
                "position": case.position,
                "customer": customer["full_name"],
                "phone number": customer["phone_number"],
                "phone": device["model"],
                "population": case.population,
                "cause": case.cause,
            }
        )
    return pd.DataFrame(rows).set_index("position")
