"""Shifts: ordered streams of telecom customers generated from one seed, the unit of replication."""

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import ClassVar, get_type_hints

from taulong import __version__
from taulong.draws import Draws
from taulong.errors import ConfigError, DataError, check_integer, check_name, near
from taulong.paths import RUNS, SHIFTS, atomic_write, located

SPLITS = {"train": 0, "eval": 1_000_000}
SPLIT_SIZE = 1_000_000
POPULATIONS = ("teaching", "testing", "lookalike")


@dataclass(frozen=True)
class ShiftConfig:
    """What every shift of a set has in common; validated when built.

    Attributes:
        num_cases: customers a shift.
        incident_fraction: share of them that have the recurring cause (teaching and testing), the rest are lookalikes.
        teaching_count: incidents whose evidence is visible; the other incidents are testing cases.
        patience: agent utterances a customer takes, the opening greeting not counted.
        max_steps: tau2's step limit of one case.
        notebook_cap: characters the notebook holds.

    Raises:
        ConfigError: a field is outside its range; the message names every such field, its value and the accepted range.
    """

    num_cases: int = 8
    incident_fraction: float = 0.75
    teaching_count: int = 2
    patience: int = 9
    max_steps: int = 40
    notebook_cap: int = 2000

    RANGES: ClassVar[dict[str, tuple[int, int]]] = {
        "num_cases": (2, 100),
        "incident_fraction": (0, 1),
        "teaching_count": (1, 99),
        "patience": (1, 100),
        "max_steps": (2, 1000),
        "notebook_cap": (0, 100_000),
    }

    def __post_init__(self):
        problems = []
        for name, (low, high) in self.RANGES.items():
            value, kinds = getattr(self, name), (int, float) if name == "incident_fraction" else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
                kind = "a number" if float in kinds else "an integer"
                problems.append(f"{name}: {value!r} is not {kind} from {low} to {high}")
        if not problems and not self.teaching_count < self.num_incidents:
            problems.append(
                f"teaching_count: {self.teaching_count} leaves no testing case among the {self.num_incidents} incidents "
                f"(num_cases {self.num_cases} x incident_fraction {self.incident_fraction}); accepted: 1 to "
                f"{self.num_incidents - 1}"
                if self.num_incidents > 1
                else f"incident_fraction: {self.incident_fraction} of num_cases {self.num_cases} gives {self.num_incidents} "
                "incident(s); at least 2 are needed, one to teach and one to test"
            )
        if problems:
            raise ConfigError("; ".join(problems))

    @property
    def num_incidents(self) -> int:
        """Cases with the recurring cause: num_cases x incident_fraction, halves rounded up."""
        return int(self.num_cases * self.incident_fraction + 0.5)

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases of each population."""
        testing = self.num_incidents - self.teaching_count
        return dict(zip(POPULATIONS, (self.teaching_count, testing, self.num_cases - self.num_incidents), strict=True))

    @classmethod
    def from_dict(cls, values: dict) -> "ShiftConfig":
        """Return the config of plain values; raises ConfigError for an unknown name, with the near match."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise ConfigError(f"{name}: no such field; {near(name, known)}")
        return cls(**values)


@dataclass(frozen=True)
class Case:
    """One customer's contact.

    Attributes:
        case_id: ``<shift id>/<position>``; says nothing about population or cause.
        position: 1-based place in the shift.
        population: ``teaching``, ``testing`` or ``lookalike``.
        cause: the setting that is wrong on the phone.
        records: the customer's rows for the agent database, by table.
        task: the case as plain data of a tau2 ``Task``.
    """

    case_id: str
    position: int
    population: str
    cause: str
    records: dict[str, list[dict]]
    task: dict


@dataclass(frozen=True)
class Shift:
    """An ordered stream of cases.

    Attributes:
        shift_id: ``<split>-<seed>``.
        split: ``train`` or ``eval``.
        seed: generates everything in the shift.
        recurring_cause: shared by its teaching and testing incidents.
        phone_model: the model of every incident's phone, and of no lookalike's: what an agent can tell them apart by.
        config: the set's configuration.
        cases: in order.
    """

    shift_id: str
    split: str
    seed: int
    recurring_cause: str
    phone_model: str
    config: ShiftConfig
    cases: tuple[Case, ...]

    def teaching_seen(self, position: int) -> int:
        """Return how many teaching cases come before a position."""
        return sum(case.population == "teaching" for case in self.cases[: position - 1])

    def to_json(self) -> str:
        """Return the shift as one line of JSON (its config is the manifest's)."""
        return json.dumps({**asdict(self), "config": None}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str, config: ShiftConfig) -> "Shift":
        """Return the shift of one line written by :meth:`to_json`."""
        row = json.loads(line)
        cases = tuple(Case(**case) for case in row.pop("cases"))
        return cls(**{**row, "config": config, "cases": cases})


def generate_shifts(
    config: ShiftConfig | None = None, split: str = "eval", num_shifts: int = 1, seed_offset: int = 0
) -> list[Shift]:
    """Return the shifts with seeds ``start of split + seed_offset`` onwards.

    A shift depends on its seed and the config alone: asking for more shifts never changes earlier ones. The recurring
    causes are balanced in blocks of four consecutive seeds, each block in its own drawn order.

    Raises:
        ConfigError: unknown split, or seeds that leave it.
    """
    config = config or ShiftConfig()
    return [generate_shift(config, split, seed) for seed in shift_seeds(split, num_shifts, seed_offset)]


def shift_seeds(split: str, num_shifts: int, seed_offset: int = 0) -> range:
    """Return the seeds of a set of shifts; raises ConfigError as :func:`generate_shifts` does."""
    check_name("split", split, SPLITS)
    check_integer("num_shifts", num_shifts, 1, SPLIT_SIZE)
    check_integer("seed_offset", seed_offset, 0)
    if seed_offset + num_shifts > SPLIT_SIZE:
        raise ConfigError(
            f"seed_offset: {seed_offset} + num_shifts {num_shifts} leaves the {split} split, which holds {SPLIT_SIZE:,} seeds; "
            f"accepted: seed_offset 0 to {SPLIT_SIZE - num_shifts:,}"
        )
    start = SPLITS[split] + seed_offset
    return range(start, start + num_shifts)


def generate_shift(config: ShiftConfig, split: str, seed: int) -> Shift:
    """Return the shift of one seed.

    The first case is a teaching incident and the rest is placed at random: so a teaching case precedes every testing
    case, and every lookalike comes when there is something to apply to it wrongly. The incidents have one phone model in common
    (the lookalikes have others); it is drawn apart from the cause and tells nothing about it.
    """
    from taulong.shifts.causes import recurring_causes
    from taulong.shifts.identity import mint_customer, phone_models

    causes = list(recurring_causes())
    block, place = divmod(seed - SPLITS[split], len(causes))
    recurring = Draws("recurring cause", split, block).shuffled(causes)[place]
    model = Draws("phone model", split, seed).choice(phone_models())
    rest = [name for name in POPULATIONS for _ in range(config.counts[name] - (name == "teaching"))]
    placement = ["teaching", *Draws("placement", split, seed).shuffled(rest)]
    cases, taken = [], set()
    for position, population in enumerate(placement, start=1):
        cause, case_model = recurring, model
        if population == "lookalike":
            draws = Draws("lookalike", split, seed, position)
            cause = draws.choice([name for name in causes if name != recurring])
            case_model = draws.choice([name for name in phone_models() if name != model])
        customer = mint_customer(split, seed, position, case_model, taken)
        taken.update(customer.ids)
        case_id = f"{split}-{seed}/{position}"
        cases.append(Case(case_id, position, population, cause, customer.records, _task(case_id, cause, customer)))
    return Shift(f"{split}-{seed}", split, seed, recurring, model, config, tuple(cases))


def _task(case_id: str, cause: str, customer) -> dict:
    """Return the pinned task of a cause, retold for a minted customer, as plain data of a tau2 Task.

    The persona, which in the shipped tasks goes with the cause, is the customer's; the rest of the text is tau2's.
    """
    from taulong.shifts.causes import recurring_causes

    task = recurring_causes()[cause].task
    who = next(
        call for call in task.initial_state.initialization_actions if call.func_name == "set_user_info"
    ).arguments
    text = task.model_dump_json(exclude_none=True)
    for old, new in ((who["name"], customer.name), (who["phone_number"], customer.phone_number)):
        text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    plain = json.loads(text)
    plain["id"] = case_id
    plain["user_scenario"] = {"persona": customer.persona, "instructions": plain["user_scenario"]["instructions"]}
    return plain


# --- files ----------------------------------------------------------------------------------------------------------


def shift_paths(name: str | Path) -> tuple[Path, Path]:
    """Return (JSON Lines file, manifest file) of a set of shifts, by name below data/shifts or by path."""
    path = Path(name)
    if path.suffix != ".jsonl":
        if Path(path.name) != path or not path.name:
            raise ConfigError(
                f"shifts: {str(name)!r} is no name; accepted: a name, for data/shifts, or a path that ends in .jsonl"
            )
        path = SHIFTS / f"{path.name}.jsonl"
    return path, path.with_suffix(".manifest.json")


def write_shifts(shifts: Sequence[Shift], name: str | Path) -> Path:
    """Write a set of shifts as JSON Lines with a manifest beside it and return the file's path.

    The manifest holds config, split, versions, a digest of every line, by which :func:`read_shifts` names a line that was
    changed, and a digest of all that, by which it sees a change of the manifest itself.
    """
    if not shifts:
        raise DataError("shifts: an empty set cannot be written")
    path, manifest_path = shift_paths(name)
    lines = [shift.to_json() for shift in shifts]
    atomic_write(path, "\n".join(lines) + "\n")
    atomic_write(manifest_path, json.dumps(_manifest(shifts, lines), indent=1) + "\n")
    return path


def _manifest(shifts: Sequence[Shift], lines: list[str]) -> dict:
    from taulong.backend import installation

    tau2 = installation()
    manifest = {
        "format": "taulong-shifts-1",
        "config": asdict(shifts[0].config),
        "split": shifts[0].split,
        "num_shifts": len(shifts),
        "first_seed": shifts[0].seed,
        "taulong_version": __version__,
        "tau2_distribution": tau2.distribution,
        "tau2_version": tau2.version,
        "tau2_data": tau2.data_digest,
        "lines": [_digest(line) for line in lines],
    }
    return {**manifest, "digest": _digest(json.dumps(manifest))}


def read_manifest(name: str | Path) -> dict:
    """Return the manifest of a set of shifts; raises DataError when it is missing, edited or not one of ours."""
    path, manifest_path = shift_paths(name)
    remedy = "generate the set again with: taulong generate"
    for wanted in (path, manifest_path):
        if not wanted.exists():
            others = sorted(file.stem for file in path.parent.glob("*.jsonl"))
            raise DataError(
                f"{wanted.name}: no such file of shifts; {near(path.stem, others).rstrip('?')}, or make them with: "
                f"taulong generate --name {path.stem}"
            )
    try:
        manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
        digest = manifest.pop("digest")
        if manifest["format"] != "taulong-shifts-1":
            raise KeyError("format")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{manifest_path.name}: not a manifest of shifts ({error}); {remedy}") from error
    if _digest(json.dumps(manifest)) != digest:
        raise DataError(f"{manifest_path.name}: edited since it was written; {remedy}")
    return {**manifest, "config": ShiftConfig.from_dict(manifest["config"]), "digest": digest}


def read_shifts(name: str | Path) -> list[Shift]:
    """Return the shifts of a file, checked line by line against its manifest.

    Raises:
        DataError: the file is truncated, edited, foreign, or of other tau2 data; names the line and the remedy.
    """
    from taulong.backend import installation

    path, _ = shift_paths(name)
    manifest = read_manifest(name)
    remedy = "generate the set again with: taulong generate"
    if manifest["tau2_data"] != installation().data_digest:
        raise DataError(
            f"{path.name}: made with tau2 data {manifest['tau2_data']}, installed is "
            f"{installation().data_digest}; {remedy}"
        )
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    for number, (line, digest) in enumerate(zip(lines, manifest["lines"], strict=False), start=1):
        if _digest(line) != digest:
            last = number == len(lines) and len(lines) <= len(manifest["lines"])
            raise DataError(
                f"{path.name}, line {number}: {'cut short or edited' if last else 'edited'} since it was written; {remedy}"
            )
    if len(lines) != len(manifest["lines"]):
        what = "truncated" if len(lines) < len(manifest["lines"]) else "holds lines that were not written by taulong"
        raise DataError(
            f"{path.name}, line {min(len(lines), len(manifest['lines'])) + 1}: the file {what} "
            f"({len(lines)} of {len(manifest['lines'])} lines); {remedy}"
        )
    return [Shift.from_json(line, manifest["config"]) for line in lines]


def export_tasks(shift: Shift, folder: str | Path) -> Path:
    """Write a shift for use with tau2 alone and return the path of its ``tasks.json``.

    ``tasks.json`` is loaded by tau2's ``load_tasks``. The customers are not in it: tau2 takes a database through the
    environment constructor, so ``db.json`` beside it holds the shipped customers and the shift's, for
    ``get_environment(db=TelecomDB.load(path))``. The mask, the notebook and patience are this package's and not exported.
    """
    from taulong import backend

    folder = Path(folder)
    database = backend.database_with(*(case.records for case in shift.cases))
    atomic_write(folder / "db.json", database.model_dump_json(indent=1) + "\n")
    path = folder / "tasks.json"
    atomic_write(path, json.dumps([case.task for case in shift.cases], indent=1, ensure_ascii=False) + "\n")
    return path


def shift_table(shifts: Iterable[Shift]):
    """Return a table of cases: one row a case, columns as in the records."""
    import pandas as pd

    return pd.DataFrame(
        {
            "shift_id": shift.shift_id,
            "case_id": case.case_id,
            "split": shift.split,
            "seed": shift.seed,
            "position": case.position,
            "population": case.population,
            "cause": case.cause,
            "recurring_cause": shift.recurring_cause,
            "teaching_seen": shift.teaching_seen(case.position),
            "customer": case.records["customers"][0]["full_name"],
            "phone_number": case.records["customers"][0]["phone_number"],
        }
        for shift in shifts
        for case in shift.cases
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- command --------------------------------------------------------------------------------------------------------


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
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=kind,
            default=getattr(ShiftConfig, name),
            help=f"(default {getattr(ShiftConfig, name)})",
        )


def _runs_of_another(shifts: Sequence[Shift], name: str) -> list[str]:
    """Return the runs that ran what is held under a name, if that is not these shifts."""
    try:
        held = read_manifest(name)["digest"]
        ran = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in RUNS.glob("*/manifest.json")}
        used = sorted(run for run, manifest in ran.items() if manifest.get("shifts_digest") == held)
        same = used and held == _manifest(shifts, [shift.to_json() for shift in shifts])["digest"]
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
    return 0
