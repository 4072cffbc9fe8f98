"""Cases of a run, opened by name; ``taulong show`` prints one."""

import argparse
import sys

from taulong.errors import ConfigError, DataError, near
from taulong.reading.conversation import Conversation
from taulong.reading.tables import Table


def open_case(
    run, case_id: str, agent: str | None = None, memory_mode: str | None = None, trial: int = 0
) -> Conversation:
    """Return one case of a run, to be read.

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
    rows = _rows(run)
    if not rows:
        raise DataError(
            f"run: {run} has no transcripts here (they are not committed); make them with 'taulong run' or 20_execute_runs"
        )
    wanted = {"case_id": case_id, "agent": agent, "memory_mode": memory_mode, "trial": trial}
    for field, value in wanted.items():
        known = list(dict.fromkeys(row["record"][field] for row in rows))
        if value is None and len(known) > 1:
            raise ConfigError(f"{field}: {case_id} ran with several; say which: {', '.join(map(str, known))}")
        if value is not None and value not in known:
            raise ConfigError(f"{field}: {value!r} is not in the run; {near(str(value), known)}")
        rows = [row for row in rows if value is None or row["record"][field] == value]
    return Conversation(rows[0]["transcript"], rows[0]["record"])


def _rows(run) -> list[dict]:
    from taulong.runs.folder import RunFolder

    folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
    return list(folder.rows().values())


def notebook_growth(
    run, shift_id: str, agent: str | None = None, memory_mode: str | None = None, trial: int = 0
) -> Table:
    """Return a shift's notebook as it grew: for every case what was added (+) to it and what was dropped (-).

    Arguments and errors as for :func:`open_case`.
    """
    rows = []
    for case_id in dict.fromkeys(
        row["record"]["case_id"] for row in _rows(run) if row["record"]["shift_id"] == shift_id
    ):
        case = open_case(run, case_id, agent, memory_mode, trial)
        record = case.record or {}
        changed = "\n".join(line for line in case.notebook_lines or () if line[0] in "+-")
        rows.append(
            (
                record["position"],
                record["population"],
                record["notebook_length_after"],
                changed or "unchanged",
            )
        )
    if not rows:
        raise ConfigError(
            f"shift_id: {shift_id!r} is not in the run; {near(shift_id, {row['record']['shift_id'] for row in _rows(run)})}"
        )
    return Table(("position", "population", "characters after", "what changed"), tuple(rows))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong show``."""
    parser.add_argument("run_name", metavar="RUN", help="a run folder below data/runs, or its path")
    parser.add_argument("case_id", metavar="CASE", help="a case, as SHIFT/POSITION: eval-1000000/4")
    parser.add_argument("--agent", help="needed where several agents ran the case")
    parser.add_argument("--memory-mode", help="needed where it ran under several memory modes")
    parser.add_argument("--trial", type=int, default=0, help="which of several runs (default 0)")
    parser.add_argument("--full", action="store_true", help="show answers whole")


def run(arguments: argparse.Namespace) -> int:
    """Print a case as text, with control characters shown as codes; return 0."""
    import shutil

    case = open_case(arguments.run_name, arguments.case_id, arguments.agent, arguments.memory_mode, arguments.trial)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no arrow still shows the rest
    print(case.plain(shutil.get_terminal_size((110, 24)).columns, arguments.full))
    return 0
