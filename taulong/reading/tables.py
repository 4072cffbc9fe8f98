"""Tables: every table of a notebook, a report and a page has this one look; and tables from which a case is chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from taulong.errors import ConfigError
from taulong.reading.markup import LINES, Markup, Shown, element, is_given, visible, wrapped
from taulong.reading.words import NOTHING, interval, number, of, p_value

if TYPE_CHECKING:
    import pandas as pd

    from taulong.shifts.stream import Shift

SIGNED = ("difference", "gain", "loss", "slope")
"""Columns whose interval is one of a difference, so that signs are written."""
DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"  # of footnotes
LONG = 60  # characters of a text that in a terminal stands below its row and not in a column


@dataclass(frozen=True, repr=False, eq=False)
class Table(Shown):
    """A table of texts, none of them cut.

    Attributes:
        columns: their names.
        rows: a text (or anything with one, or markup) for each column.
        numbers: columns that hold numbers, by index: set to the right.
        notes: footnotes, below the table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple, ...]
    numbers: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    def _html(self) -> Markup:
        head = element("tr", *(self._cell("th", at, name, scope="col") for at, name in enumerate(self.columns)))
        body = [
            element(
                "tr",
                self._cell("th", 0, row[0], scope="row"),
                *(self._cell("td", at, value) for at, value in enumerate(row[1:], 1)),
            )
            for row in self.rows
        ]
        table = element("table", element("thead", head), element("tbody", *body))
        return element("div", table, *(element("small", note, kind="foot") for note in self.notes), kind=" sheet")

    def _cell(self, tag: str, at: int, value: Any, **attributes: str) -> Markup:
        """Return a cell; its alignment is inline, because a notebook that was not run yet loses its style sheets."""
        text = value if isinstance(value, Markup) else str(value)
        if at in self.numbers:
            return element(tag, text, kind="number", style="text-align: right", **attributes)
        kept = f"{LINES}; " if "\n" in str(value) else ""
        return element(tag, text, kind="text", style=f"{kept}text-align: left", **attributes)

    @property
    def text(self) -> str:
        """The table in columns; where a text is long, the rows one below the other with a line for each text."""
        cells = [[visible(value) for value in row] for row in self.rows]
        if any(len(cell) > LONG or "\n" in cell for row in cells for cell in row):
            lines = ["\n".join(self._block(row)) for row in self.rows]
        else:
            rows = [[visible(name) for name in self.columns], *cells]
            widths = [max(len(row[at]) for row in rows) for at in range(len(self.columns))]
            lines = [
                "  ".join(self._set(row[at], widths[at], at) for at in range(len(widths))).rstrip() for row in rows
            ]
        return "\n".join([*lines, *map(visible, self.notes)])

    def _set(self, cell: str, width: int, at: int) -> str:
        return cell.rjust(width) if at in self.numbers else cell.ljust(width)

    def _block(self, row: tuple) -> list[str]:
        """Return a row's lines."""
        named = zip(self.columns[1:], row[1:], strict=True)
        told = [line for name, value in named if str(value) for line in wrapped(f"  {name}: ", str(value), 110)]
        return [visible(row[0]), *told]


def as_table(frame: "pd.DataFrame | pd.Series", notes: Iterable[str] = ()) -> Table:
    """Return a frame in the one look: no row numbers, names to the left, numbers to the right, notes below.

    A named index becomes the first columns. Agents and memory modes stand in the order of every figure. ``value``, ``low``
    and ``high`` (or ``gain``, ``gain_low``, ``gain_high``) become one column, ``cases`` and ``planned`` "32 of 32", a column
    called ``p`` or ``p_...`` reads "< .001", a truth "yes" or "no", nothing "–"; a column ``note`` becomes footnotes. Columns
    of texts that are all empty are left out.

    Args:
        frame: a table of results, or a series.
        notes: further notes.
    """
    import pandas as pd

    frame = _in_order(frame.to_frame() if isinstance(frame, pd.Series) else frame)
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame.columns = [" ".join(map(str, name)).strip() if isinstance(name, tuple) else str(name) for name in frame]
    frame, said = _footnotes(_joined(frame.copy()))
    frame = frame[
        [name for name in frame if frame[name].dtype.kind in "iufb" or not frame[name].fillna("").eq("").all()]
    ]
    cells = [_texts(str(name), frame[name]) for name in frame]
    numbers = frozenset(at for at, texts in enumerate(cells) if _is_number(texts))
    heads = tuple(str(name).replace("_", " ") for name in frame)
    return Table(heads, tuple(zip(*cells, strict=True)), numbers, (*said, *notes))


def _in_order(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows, and the columns of a pivot, with agents and memory modes in the order of every figure."""
    from taulong.value.metrics import AGENTS, MODES

    orders = {"agent": AGENTS, "memory_mode": MODES}
    if frame.columns.name in orders:
        frame = frame[sorted(frame.columns, key=lambda name: _place(name, orders[frame.columns.name]))]
    keys = []
    for name, order in orders.items():
        if name in frame.index.names:
            values = frame.index.get_level_values(name)
        elif name in frame:
            values = frame[name]
        else:
            continue
        keys.append([_place(value, order) for value in values])
    rows = sorted(range(len(frame)), key=lambda at: [key[at] for key in keys])
    return frame.iloc[rows]


def _place(name: Any, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order), str(name))


def _limits(name: str) -> tuple[str, str]:
    """Return what the columns are called that hold the limits of a column's interval."""
    return ("low", "high") if name == "value" else (f"{name}_low", f"{name}_high")


def _joined(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the frame with each value and its limits in one column, and counts with their whole."""
    level = frame["level"].iloc[0] if "level" in frame and frame["level"].nunique() == 1 else None
    heading = "{} [interval]" if level is None else f"{{}} [{100 * level:g} % interval]"
    frame = frame if level is None else frame.drop(columns="level")
    tested = any(name == "p" or name.startswith("p_") for name in frame)  # against nothing: so it is a difference
    for name in [name for name in frame if set(_limits(name)) <= set(frame)]:
        low, high = _limits(name)
        signs = any(word in name for word in SIGNED) or (name == "value" and tested)
        cells = [interval(*three, signs) for three in zip(frame[name], frame[low], frame[high], strict=True)]
        frame.insert(list(frame).index(name), heading.format(name), cells)
        frame = frame.drop(columns=[name, low, high])
    for part, whole in (("cases", "planned"), ("total", "planned"), ("cases", "total")):
        if {part, whole} <= set(frame):
            frame[part] = [of(*pair) for pair in zip(frame[part], frame[whole], strict=True)]
            frame = frame.drop(columns=whole)
    return frame


def _footnotes(frame: "pd.DataFrame") -> tuple["pd.DataFrame", list[str]]:
    """Return the frame with a sign at the first column of each row that has a note, and the notes."""
    if "note" not in frame:
        return frame, []
    notes = [note for note in dict.fromkeys(frame["note"]) if is_given(note) and note]
    signs = {note: "".join(DIGITS[int(digit)] for digit in str(at)) for at, note in enumerate(notes, 1)}
    marks = [f" {signs[note]}" if note in signs else "" for note in frame["note"]]
    first = frame.columns[0]
    frame = frame.drop(columns="note").assign(
        **{first: [f"{a}{mark}" for a, mark in zip(frame[first], marks, strict=True)]}
    )
    return frame, [f"{sign} {note}" for note, sign in signs.items()]


def _texts(name: str, column: "pd.Series") -> list[str]:
    """Return what stands in the cells of a column."""
    if name == "p" or name.startswith("p_"):
        return [p_value(value) for value in column]
    if column.dtype.kind not in "iufb":
        return [str(value) if is_given(value) else NOTHING for value in column]
    fractions = column.dropna() % 1 != 0 if column.dtype.kind == "f" else []
    return [number(value, 2 if any(fractions) else 0) for value in column]


def _is_number(texts: Iterable[str]) -> bool:
    return all(text == NOTHING or text[:1] in "+\u2212<.-" or text[:1].isdigit() for text in texts)


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

    Plain, it is a table as all are: the same bytes at every run, and what committed notebooks show. Interactive, it is an
    itables table to sort, filter and search, with its script inside (no server, no network), for a live JupyterLab.

    Args:
        records: a table of records, or of regraded runs (then with ``columns``), filtered as you like.
        interactive: whether it can be sorted and filtered in place; it is then displayed, and None comes back.
        columns: columns to show, in order; those that are not there are left out.

    Raises:
        ConfigError: an interactive table is asked for and itables is not installed.
    """
    import pandas as pd

    table = records[[name for name in columns if name in records.columns]]
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    if not interactive:
        return as_table(table)
    table = table.assign(**{str(name): table[name].fillna("") for name in texts}).set_index(table.columns[0])
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
