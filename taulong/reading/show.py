"""Cases of a run, opened by name; ``taulong show`` prints one."""

import argparse
import sys
from typing import TYPE_CHECKING

from taulong.errors import ConfigError, DataError, near
from taulong.reading.conversation import Conversation
from taulong.reading.tables import Table
from taulong.reading.unmasked import Unmasked

if TYPE_CHECKING:
    from taulong.runs.folder import RunFolder


def open_case(
    run, case_id: str, agent: str | None = None, memory_mode: str | None = None, trial: int = 0
) -> Conversation:
    """Return one case of a run, to be read; what masked answers would have said is with them where the run's shifts are here.

    Args:
        run: a run folder, or its name or path.
        case_id: ``<shift id>/<position>``.
        agent: needed where several agents ran the case.
        memory_mode: needed where it ran under several.
        trial: which of several runs.

    Raises:
        DataError: there is no such run.
        ConfigError: there is no such case, or there are several; names the near match or the choices.
    """
    folder = _folder(run)
    row = _row(folder, list(folder.rows().values()), case_id, agent, memory_mode, trial)
    return Conversation(row["transcript"], row["record"], unmasked=Unmasked(folder).answers(row["transcript"]))


def _folder(run) -> "RunFolder":
    from taulong.runs.folder import RunFolder

    return run if isinstance(run, RunFolder) else RunFolder.open(run)


def _row(
    folder: "RunFolder", rows: list[dict], case_id: str, agent: str | None, memory_mode: str | None, trial: int
) -> dict:
    """Return the row of one case; errors as for :func:`open_case`."""
    if not rows:
        raise DataError(
            f"run: {folder.path.name} has no transcripts here (they are not committed); make them with 'taulong run' or "
            "20_execute_runs"
        )
    wanted = {"case_id": case_id, "agent": agent, "memory_mode": memory_mode, "trial": trial}
    for field, value in wanted.items():
        known = list(dict.fromkeys(row["record"][field] for row in rows))
        if value is None and len(known) > 1:
            raise ConfigError(f"{field}: {case_id} ran with several; say which: {', '.join(map(str, known))}")
        if value is not None and value not in known:
            raise ConfigError(f"{field}: {value!r} is not in the run; {near(str(value), known)}")
        rows = [row for row in rows if value is None or row["record"][field] == value]
    return rows[0]


def notebook_growth(
    run, shift_id: str, agent: str | None = None, memory_mode: str | None = None, trial: int = 0
) -> Table:
    """Return a shift's notebook as it grew: for every case what was added (+) to it and what was dropped (-).

    Arguments and errors as for :func:`open_case`.
    """
    folder = _folder(run)
    every = list(folder.rows().values())
    cases = {row["record"]["case_id"]: row["record"]["shift_id"] for row in every}
    if shift_id not in cases.values():
        raise ConfigError(f"shift_id: {shift_id!r} is not in the run; {near(shift_id, {*cases.values()})}")
    rows = []
    for case_id in [case_id for case_id, shift in cases.items() if shift == shift_id]:
        row = _row(folder, every, case_id, agent, memory_mode, trial)
        record, lines = row["record"], Conversation(row["transcript"], row["record"]).notebook_lines or ()
        changed = "\n".join(line for line in lines if line[0] in "+-") or "unchanged"
        rows.append((record["position"], record["population"], record["notebook_length_after"], changed))
    return Table(("position", "population", "characters after", "what changed"), tuple(rows), frozenset({0, 2}))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong show``."""
    parser.add_argument("run_name", metavar="RUN", help="a run folder below data/runs, or its path")
    parser.add_argument("case_id", metavar="CASE", help="a case, as SHIFT/POSITION: eval-1000000/4")
    parser.add_argument("--agent", help="needed where several agents ran the case")
    parser.add_argument("--memory-mode", help="needed where it ran under several memory modes")
    parser.add_argument("--trial", type=int, default=0, help="which of several runs (default 0)")
    parser.add_argument("--full", action="store_true", help="show answers whole, and what masked ones would have said")


def run(arguments: argparse.Namespace) -> int:
    """Print a case as text, with control characters shown as codes; return 0."""
    import shutil

    case = open_case(arguments.run_name, arguments.case_id, arguments.agent, arguments.memory_mode, arguments.trial)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no arrow still shows the rest
    print(case.plain(shutil.get_terminal_size((110, 24)).columns, arguments.full))
    return 0
