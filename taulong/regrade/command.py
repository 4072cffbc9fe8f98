"""``taulong regrade``: the table of verdicts on standard output, safe to show and to open in a spreadsheet."""

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from taulong.errors import DataError
from taulong.regrade.regrading import regrade, summary, summary_line

SHOWN = (
    "file",
    "simulation_id",
    "task_id",
    "official_reward",
    "recorded_reward",
    "gated_reward",
    "field_gate",
    "policy_check",
    "policy_grounds",
    "scope_gate",
    "transient_gate",
    "conduct_check",
    "conduct_rules",
    "privacy_check",
    "target",
    "frame",
    "fields",
    "user_fields",
    "rules",
    "replay_mismatches",
    "reason",
)
"""The columns of the table format."""


def safe(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts drive no terminal: control and direction characters are shown as their codes."""
    from taulong.reading.markup import visible

    return table.map(lambda value: visible(value).replace("\n", "\\n") if isinstance(value, str) else value)


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV that a spreadsheet reads as text: a cell that would be a formula begins with an apostrophe."""
    quoted = safe(table).map(
        lambda value: (
            f"'{value}" if isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@")) else value
        )
    )
    return quoted.to_csv(index=False, lineterminator="\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong regrade``."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="tau2 result file, the folder of a tau2 run, or a folder of such files"
    )
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: table")
    parser.add_argument(
        "--trust-tasks",
        action="store_true",
        help="where a file's own task differs from the installed one of the same id, grade by the file's",
    )


def run(args: argparse.Namespace) -> int:
    """Print the table on stdout (the summary goes to stderr unless the format is ``table``).

    Returns:
        0, or 1 if some run has no official reward or no scope gate verdict; it is in the table, with its reason.

    Raises:
        DataError: a file or folder that does not exist.
    """
    for name in args.files:
        if not Path(name).exists():
            raise DataError(f"{name} does not exist; accepted: a tau2 result file, or a folder of one or of several")
    table = regrade(args.files, trust_tasks=args.trust_tasks)
    if args.format == "csv":
        print(csv_text(table), end="")
    elif args.format == "json":
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        print(json.dumps(rows, indent=1, allow_nan=False))
    else:
        shown = safe(table[list(SHOWN)].astype(object).fillna(""))
        print(shown.to_string(index=False, max_colwidth=60))
    counts = summary(table)
    print(summary_line(counts), file=sys.stdout if args.format == "table" else sys.stderr)
    return 0 if counts["graded"] == counts["rows"] else 1
