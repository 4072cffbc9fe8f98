"""The cases of a run as a page holds them: a row each to filter and sort by, and their conversations packed."""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taulong.paths import atomic_write
from taulong.reading.conversation import Conversation
from taulong.reading.markup import Markup, is_given
from taulong.reading.strip import outcome_of
from taulong.reading.unmasked import Unmasked

COLUMNS = (
    "case_id", "agent", "memory_mode", "trial", "population", "result", "gated_reward", "policy_check", "ending", "commitment",
)  # fmt: skip
FILTERS = ("agent", "memory_mode", "population", "result", "gated_reward", "policy_check", "ending")
CHUNK = 40  # conversations that are unpacked together


@dataclass(frozen=True)
class Packed:
    """Cases of a run, packed.

    Attributes:
        rows: for each case a value for each of :data:`COLUMNS`.
        places: for each case where its conversation is, as (chunk, place in it); None where it was left out.
        chunks: conversations as escaped HTML: a JSON list, gzip, base64.
        folder: where chunks are that are not in the page itself; empty: they are in the page.
        missing: what is said of a conversation that was left out.
    """

    rows: tuple[tuple, ...]
    places: tuple[tuple[int, int] | None, ...]
    chunks: tuple[str, ...]
    folder: str = ""
    missing: str = ""

    @property
    def left_out(self) -> int:
        """How many cases have no conversation here."""
        return sum(place is None for place in self.places)

    def html(self) -> Markup:
        """Return the data blocks of the page."""
        index = {
            "columns": COLUMNS,
            "rows": self.rows,
            "places": self.places,
            "filters": FILTERS,
            "folder": self.folder,
            "missing": self.missing,
        }
        text = json.dumps(index, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        blocks = [f'<script type="application/json" id="taulong-cases">{text}</script>']
        if not self.folder:
            blocks += [
                f'<script type="application/gzip" id="taulong-chunk-{number}">{chunk}</script>'
                for number, chunk in enumerate(self.chunks)
            ]
        return Markup("\n".join(blocks))

    def write_chunks(self, parent: Path) -> None:
        """Write the chunks beside the page, one script each, which a page from a disk may load."""
        for number, chunk in enumerate(self.chunks):
            atomic_write(parent / self.folder / f"{number}.js", f'taulongChunk({number}, "{chunk}");\n')


def pack(
    rows: Iterable[Mapping[str, Any]],
    unmasked: Unmasked | None = None,
    room: int | None = None,
    folder: str = "",
    missing: str = "",
) -> Packed:
    """Return cases packed, in order.

    Args:
        rows: ``record`` and ``transcript`` of each case; a case that is owed or has no transcript has a record alone.
        unmasked: says what masked answers would have said.
        room: characters that the chunks may take together; of each arm and population the first that was not solved
            comes first, then its others, and what has no room is left out.
        folder, missing: as in :class:`Packed`.
    """
    rows = list(rows)
    places: list[tuple[int, int] | None] = [None] * len(rows)
    chunks: list[str] = []
    told = [at for at in _by_interest(rows, room is not None) if rows[at].get("transcript")]
    for start in range(0, len(told), CHUNK):
        chosen = told[start : start + CHUNK]
        chunk = _packed([_page(rows[at], unmasked) for at in chosen])
        if room is not None and sum(map(len, chunks)) + len(chunk) > room:
            break
        for number, at in enumerate(chosen):
            places[at] = len(chunks), number
        chunks.append(chunk)
    return Packed(tuple(_row(row["record"]) for row in rows), tuple(places), tuple(chunks), folder, missing)


def _by_interest(rows: Sequence[Mapping], sort: bool) -> list[int]:
    """Return the cases by number; sorted, the first of every arm and population come first, those not solved before others."""
    if not sort:
        return list(range(len(rows)))
    cells: dict[tuple, list[int]] = {}
    for at, row in enumerate(rows):
        record = row["record"]
        cells.setdefault((record["agent"], record["memory_mode"], record["population"]), []).append(at)
    ranks = {}
    for members in cells.values():
        ordered = sorted(members, key=lambda at: outcome_of(rows[at]["record"]) == "solved")
        ranks |= {at: rank for rank, at in enumerate(ordered)}
    return sorted(range(len(rows)), key=lambda at: (ranks[at], at))


def _page(row: Mapping, unmasked: Unmasked | None) -> str:
    transcript = row["transcript"]
    told = unmasked.answers(transcript) if unmasked else {}
    return Conversation(transcript, row["record"], unmasked=told)._html()


def _row(record: Mapping[str, Any]) -> tuple:
    values = {**record, "result": outcome_of(record)}
    return tuple(values[name] if is_given(values.get(name)) else None for name in COLUMNS)


def _packed(pages: list[str]) -> str:
    return base64.b64encode(gzip.compress(json.dumps(pages).encode(), 9, mtime=0)).decode()
