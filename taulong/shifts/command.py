"""``taulong generate``: a set of shifts, written below data/shifts."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, get_origin, get_type_hints

from taulong.errors import ConfigError, DataError
from taulong.paths import RUNS, located
from taulong.shifts.configuration import ShiftConfig
from taulong.shifts.files import export_tasks, read_manifest, set_manifest, write_shifts
from taulong.shifts.generation import generate_shifts
from taulong.shifts.stream import Shift


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong generate``."""
    parser.add_argument(
        "--name", default="shifts", help="name of the set below data/shifts, or a path ending in .jsonl"
    )
    parser.add_argument("--split", default="eval", help="train or eval (default eval)")
    parser.add_argument("--num-shifts", type=int, default=12, help="number of shifts (default 12)")
    parser.add_argument("--seed-offset", type=int, default=0, help="first seed, counted from the start of the split")
    parser.add_argument("--replace", action="store_true", help="replace a set of that name that runs were made of")
    parser.add_argument("--export", metavar="FOLDER", help="also write each shift as tau2 task files below FOLDER")
    for name, kind in get_type_hints(ShiftConfig).items():
        if get_origin(kind) is ClassVar:
            continue
        default = getattr(ShiftConfig, name)
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=_true_or_false if kind is bool else kind,
            default=default,
            help=f"(default {str(default).lower()})",
        )


def _true_or_false(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is not true or false")
    return text == "true"


def _runs_of_another(shifts: Sequence[Shift], name: str) -> list[str]:
    """Return the runs that ran what is held under a name, if that is not these shifts."""
    try:
        held = read_manifest(name)["digest"]
        ran = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in RUNS.glob("*/manifest.json")}
        used = sorted(run for run, manifest in ran.items() if manifest.get("shifts_digest") == held)
        same = used and held == set_manifest(shifts, [shift.to_json() for shift in shifts])["digest"]
        return [] if same else used
    except (DataError, ValueError, AttributeError):
        return []  # what is not there is not lost; what is damaged is said where it is read


def run(arguments: argparse.Namespace) -> int:
    """Generate a set of shifts and say where it is."""
    config = ShiftConfig(**{field.name: getattr(arguments, field.name) for field in fields(ShiftConfig)})
    shifts = generate_shifts(config, arguments.split, arguments.num_shifts, arguments.seed_offset)
    if not arguments.replace and (used := _runs_of_another(shifts, arguments.name)):
        raise ConfigError(
            f"name: {arguments.name!r} is another set of shifts, which {', '.join(used)} ran; choose another name, or "
            "replace it (--replace): these runs can then not be tabulated any more"
        )
    path = write_shifts(shifts, arguments.name)
    for shift in shifts if arguments.export else ():
        export_tasks(shift, Path(arguments.export) / shift.shift_id)
    print(f"{len(shifts)} shift{'s' * (len(shifts) > 1)} of {config.num_cases} cases in {located(path)}")
    if factors := config.factors:
        print(f"not as published: {', '.join(f'{name} {str(value).lower()}' for name, value in factors.items())}")
    return 0
