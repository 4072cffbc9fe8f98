"""``taulong view``: a run as a page to browse from the disk: every case to filter and sort, every conversation to read."""

import argparse
from pathlib import Path

from taulong.paths import OUTPUTS, atomic_write, located
from taulong.reading.markup import element
from taulong.reading.packed import pack
from taulong.reading.page import cases_box, page, plain
from taulong.reading.unmasked import Unmasked
from taulong.reading.words import number

FILES = "cases"
"""The folder beside the page with the conversations, which it loads when one is asked for."""


def write_view(name: str | Path, output: Path | None = None) -> Path:
    """Write the page of a run, and beside it the files with its conversations; return the page's path.

    It needs no server and no network. What is chosen stands in its address, which can be sent: ``index.html#case=...``.

    Args:
        name: a run folder.
        output: folder of the page; default ``data/notebooks/RUN/view``.

    Raises:
        DataError: there is no such run; with the near match.
    """
    from taulong.runs.folder import RunFolder

    folder = RunFolder.open(name)
    output = output or OUTPUTS / folder.path.name / "view"
    packed = pack(folder.rows().values(), Unmasked(folder), folder=FILES)
    packed.write_chunks(output)
    manifest = folder.manifest
    facts = (
        f"{number(len(packed.rows))} of {number(manifest['planned_cases'])} planned cases, shifts {manifest['shifts']}"
    )
    heading = [plain("h1", f"Run {folder.path.name}"), element("p", facts)]
    atomic_write(output / "index.html", page(f"TauLong: {folder.path.name}", *heading, cases_box(), packed=packed))
    return output / "index.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong view``."""
    parser.add_argument("run_name", metavar="RUN", help="a run folder below data/runs, or its path")
    parser.add_argument("--output", metavar="FOLDER", help="where the page goes (default: data/notebooks/RUN/view)")


def run(arguments: argparse.Namespace) -> int:
    """Write the page and say where it is."""
    print(located(write_view(arguments.run_name, Path(arguments.output) if arguments.output else None)))
    return 0
