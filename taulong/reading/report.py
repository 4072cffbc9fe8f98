"""``taulong report``: what memory was worth in runs, as one HTML file to send: answer, figures, tables, conversations."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from taulong.errors import ConfigError, check_integer
from taulong.paths import OUTPUTS, atomic_write, located
from taulong.reading.answers import Answer, memory_answer
from taulong.reading.markup import Markup, element
from taulong.reading.packed import Packed, pack
from taulong.reading.page import cases_box, folded, page, picture, plain
from taulong.reading.tables import Table, as_table
from taulong.reading.unmasked import Unmasked
from taulong.reading.words import NOTHING, interval, listed, number, of, p_value

if TYPE_CHECKING:
    import pandas as pd

    from taulong.runs.folder import RunFolder
    from taulong.value.statistics.estimates import Estimate

ESTIMATE = ("name", "population", "value", "low", "high", "level")
"""Columns of a table of estimates that say what it is and how sure."""
ROOM = 3_000_000
"""Characters that the conversations of all runs of a report take together, so that it stays below 5 MB."""
MAIN = ("none", "notebook", "oracle")
"""Memory modes of the two figures on the first screen; the others are further down."""


@dataclass(frozen=True)
class ReportConfig:
    """What ``40_memory_value`` and ``taulong report`` say of a run, checked before anything is read.

    Attributes:
        run: a run folder below data/runs.
        cap_runs: run folders that differ from it in the notebook cap alone.
        level: of every interval, within (0, 1).
        seed: of drawn sign flips, at least 0.
        max_dropped: share of pairs that may lack a score before a contrast is refused, within [0, 1).
        difference: of accuracy, that a larger run should detect, within (0, 1].
        allow_partial: whether a run that is not complete is reported.

    Raises ConfigError naming the field, its value and what is accepted.
    """

    run: str
    cap_runs: tuple[str, ...] = ()
    level: float = 0.95
    seed: int = 0
    max_dropped: float = 0.1
    difference: float = 0.1
    allow_partial: bool = False

    def __post_init__(self) -> None:
        check_integer("seed", self.seed, 0)
        for field in ("level", "max_dropped", "difference"):
            if isinstance(value := getattr(self, field), bool) or not isinstance(value, int | float):
                raise ConfigError(f"{field}: {value!r} is not a number")
        names = [self.run, *self.cap_runs]
        for field, good, accepted in (
            ("run", bool(self.run), "the name of a run folder"),
            ("cap_runs", len(set(names)) == len(names), "other runs than run, each once"),
            ("level", 0 < self.level < 1, "within (0, 1)"),
            ("max_dropped", 0 <= self.max_dropped < 1, "within [0, 1)"),
            ("difference", 0 < self.difference <= 1, "within (0, 1]"),
        ):
            if not good:
                raise ConfigError(f"{field}: {getattr(self, field)!r}; accepted: {accepted}")


@dataclass(frozen=True)
class Reported:
    """A run, and those that differ from it in the notebook's cap alone, with what is said of them.

    Attributes:
        folder: the run.
        table: its records and what it owes.
        caps: tables of the runs with other caps.
        config: how it is reported.
    """

    folder: "RunFolder"
    table: "pd.DataFrame"
    config: ReportConfig
    caps: tuple["pd.DataFrame", ...] = ()

    @cached_property
    def partial(self) -> str:
        """What a title must say about completeness."""
        from taulong.value.metrics import require_complete

        return require_complete(self.table, self.config.allow_partial)

    @cached_property
    def contrasts(self) -> "list[Estimate]":
        """Every memory mode of every agent against its own none."""
        from taulong.value.statistics.questions import memory_contrasts

        config = self.config
        return memory_contrasts(self.table, level=config.level, max_dropped=config.max_dropped, seed=config.seed)

    @cached_property
    def rewarded(self) -> "list[Estimate]":
        """What the notebook is worth under either reward."""
        from taulong.value.statistics.questions import reward_contrasts

        if not {"none", "notebook"} <= set(self.table["memory_mode"]):
            return []
        config = self.config
        return reward_contrasts(self.table, level=config.level, max_dropped=config.max_dropped, seed=config.seed)

    @property
    def answer(self) -> Answer:
        """What memory was worth, how sure, and what the reward missed."""
        return memory_answer(self.table, self.contrasts, self.rewarded)


def write_report(
    names: Sequence[str], output: Path | None = None, allow_partial: bool = False, **settings: float
) -> Path:
    """Write one HTML file about runs and return its path.

    Args:
        names: run folders; one that differs from an earlier one in the notebook's cap alone is a point of its cap sweep.
        output: the file; default ``data/notebooks/RUN/report.html``.
        allow_partial: report runs that are not complete, and say so in the title.
        **settings: as in :class:`ReportConfig`.

    Raises:
        DataError: there is no such run, or its shifts are gone; with the near match.
        IncompleteRecords: a run is not complete.
    """
    runs = _together([(name, ReportConfig(name, allow_partial=allow_partial, **settings)) for name in names])
    for run_ in runs:
        _ = run_.partial  # a run that is not complete is refused before anything is drawn
    name = runs[0].folder.path.name
    output = output or OUTPUTS / name / "report.html"
    atomic_write(output, report_page(runs))
    return output


def _together(wanted: Iterable[tuple[str, ReportConfig]]) -> list[Reported]:
    """Return the runs, each with those that are the same but for the cap."""
    from taulong.runs.folder import RunFolder
    from taulong.value.metrics import VERSION_FIELDS, read_table

    found: dict[tuple, Reported] = {}
    seen: set[Path] = set()
    for name, config in wanted:
        folder = RunFolder.open(name)
        if folder.path.resolve() in seen:
            raise ConfigError(f"runs: {name} is given twice; accepted: each once")
        seen.add(folder.path.resolve())
        table = read_table(name)
        alike = tuple(str(table[column].dropna().unique()) for column in VERSION_FIELDS if column in table)
        first = found.get(alike)
        cap = int(table["notebook_cap"].iloc[0])
        if first is None or cap in {int(other["notebook_cap"].iloc[0]) for other in (first.table, *first.caps)}:
            found[(*alike, name) if first else alike] = Reported(folder, table, config)
        else:
            found[alike] = Reported(first.folder, first.table, first.config, (*first.caps, table))
    return list(found.values())


def report_page(runs: Sequence[Reported]) -> str:
    """Return the page: for each run its answer, two figures and one table, then what unfolds; the cases are the first run's."""
    first = runs[0]
    packed = _conversations(first)
    names = listed(run_.folder.path.name for run_ in runs)
    title = f"What memory was worth: {names}" + (f" ({first.partial})" if first.partial and len(runs) == 1 else "")
    parts: list[str] = [plain("h1", title)]
    for number_, run_ in enumerate(runs):
        parts += _first_screen(run_, packed if run_ is first else None, len(runs) > 1)
        parts += [_section(*section) for section in _sections(run_)]
        if number_ == 0:
            parts.append(_cases(packed, first))
    return page(f"TauLong: {names}" + (f" ({first.partial})" if first.partial else ""), *parts, packed=packed)


def _first_screen(run_: Reported, packed: Packed | None, several: bool) -> list[str]:
    """Return what is seen before anything is scrolled: the answer, two figures, one table."""
    from taulong.value.figures.curves import curve_table, plot_curves
    from taulong.value.figures.rewards import plot_rewards, reward_table

    main = run_.table[run_.table["memory_mode"].isin(MAIN)]
    main = run_.table if main.empty else main
    figures = [
        picture(plot_curves(curve_table(main, level=run_.config.level, max_dropped=run_.config.max_dropped))),
        picture(
            plot_rewards(
                reward_table(
                    main[main["memory_mode"].ne("oracle")], level=run_.config.level, max_dropped=run_.config.max_dropped
                )
            )
        ),
    ]
    heading = [plain("h2", run_.folder.path.name + (f" ({run_.partial})" if run_.partial else ""))] if several else []
    answer = plain("div", run_.answer._html(), kind="answer")
    return [*heading, answer, plain("div", *figures, kind="figures"), _value_table(run_, linked=packed is not None)]


def _value_table(run_: Reported, linked: bool) -> Markup:
    """Return the table of the first screen: solved testing cases by arm, what the notebook changed, what the gate grants."""
    modes = [mode for mode in dict.fromkeys(run_.table["memory_mode"]) if mode in MAIN]
    worth = {one.name.rsplit(": ", 1)[0]: one for one in run_.contrasts
             if one.population == "testing" and one.name.endswith(": notebook - none")}  # fmt: skip
    gated = {one.name.rsplit(": ", 1)[0]: one for one in run_.rewarded if one.metric == "gated_reward"}
    heads = [
        "agent",
        *(f"solved with {mode}" for mode in modes),
        "notebook \u2212 none",
        "p",
        "the same, gated reward",
        "lookalikes solved with notebook",
    ]
    rows = []
    for agent in dict.fromkeys(run_.table["agent"]):
        cells = [_cell(run_, agent, mode, "testing", linked) for mode in modes]
        one, other = worth.get(agent), gated.get(agent)
        cells.append(interval(one.value, one.low, one.high, True) if one else NOTHING)
        cells.append(p_value(one.p) if one else NOTHING)
        cells.append(interval(other.value, other.low, other.high, True) if other else NOTHING)
        cells.append(_cell(run_, agent, "notebook", "lookalike", linked))
        rows.append((agent, *cells))
    shifts = run_.table["shift_id"].nunique()
    note = (
        f"Testing cases: the evidence is masked until the one fix is made; a guess is right one time in four. Intervals "
        f"{100 * run_.config.level:g} %, clustered over {shifts} shifts; p by sign flips, not adjusted here. Click a count to read its cases."
    )
    return Table(tuple(heads), tuple(rows), frozenset(range(1, len(heads))), (note,))._html()


def _cell(run_: Reported, agent: str, mode: str, population: str, linked: bool) -> Markup | str:
    """Return how many cases of an arm and population were solved, as a link to them."""
    from taulong.value.metrics import scores, solved

    table = run_.table
    cases = table[(table["agent"] == agent) & (table["memory_mode"] == mode) & (table["population"] == population)]
    if cases.empty:
        return NOTHING
    text = of(int(solved(scores(cases, "official_reward")).sum()), len(cases))
    if not linked:
        return text
    where = urlencode({"agent": agent, "memory_mode": mode, "population": population, "open": 1})
    return element("a", text, href=f"#{where}")


def _section(title: str, text: str, *shown) -> Markup:
    """Return a section that unfolds, with its figures and tables."""
    parts = [picture(each) if hasattr(each, "savefig") else each._html() for each in shown]
    return folded(title, element("p", text), *parts)


def _sections(run_: Reported) -> "list[tuple]":
    """Return the evidence and the detail, as (title, text, figures and tables)."""
    from taulong.shifts.causes import recurring_causes
    from taulong.value.figures.caps import cap_table, plot_caps
    from taulong.value.figures.curves import curve_table, plot_curves
    from taulong.value.figures.evidence import evidence_table, plot_evidence
    from taulong.value.figures.forest import plot_forest
    from taulong.value.figures.lookalikes import lookalike_table, plot_lookalikes
    from taulong.value.figures.rewards import plot_rewards, reward_table
    from taulong.value.metrics import shift_rewards
    from taulong.value.statistics.questions import estimates_table

    table, level = run_.table, run_.config.level
    limits = {"level": level, "max_dropped": run_.config.max_dropped}
    declared = [*run_.contrasts, *(one for one in run_.rewarded if one.family == "secondary")]
    forest = estimates_table(declared)
    both = reward_table(table, **limits)
    found = [
        (
            "Every memory mode against none",
            "Paired by case, clustered by shift. notebook - none on testing cases is primary, one an agent; p is adjusted over all contrasts declared.",
            plot_forest(forest),
            as_table(forest[[*ESTIMATE, "p_adjusted", "family", "descriptive", "shifts", "cases", "planned", "note"]]),
        ),
        (
            "All memory modes over a shift",
            "Accuracy on testing cases by teaching cases seen and by position.",
            plot_curves(curve_table(table, **limits)),
        ),
        (
            "Official against gated, every memory mode",
            "The gated reward is 0 where a run changed what neither the reference nor the policy allows.",
            plot_rewards(both),
            *([as_table(estimates_table(run_.rewarded)[["name", "metric", *ESTIMATE[2:], "shifts", "cases", "planned", "note"]])] if run_.rewarded else []),
        ),
        ("Accuracy by population", "Solved of planned cases, by the official reward and by the gated one.", _accuracy(table)),
        ("The reward of a shift", "The sum over its cases; a shift that is not wholly scored has none.",
         as_table(shift_rewards(table).groupby(["agent", "memory_mode"], sort=False)["value"].agg(mean="mean", lowest="min", highest="max", shifts="count"))),
        ("How cases end", "An ending is its own value and never folded into the reward.", endings_table(table)),
    ]  # fmt: skip
    if "notebook" in set(table["memory_mode"]):
        tools = {name: cause.corrective_tool for name, cause in recurring_causes().items()}
        stages = evidence_table(table, tools, max_dropped=run_.config.max_dropped)
        counts = stages.pivot_table(index="agent", columns="stage", values="cases", aggfunc="first", sort=False)
        found.append(("Where evidence is lost", "From the teaching case to the fix there are four steps, and each can fail.",
                      plot_evidence(stages), as_table(counts)))  # fmt: skip
        cost = lookalike_table(table, **limits)
        found.append(("What memory costs on lookalikes", "The complaint of the recurring incident with another cause, in plain sight.",
                      plot_lookalikes(cost), as_table(cost)))  # fmt: skip
    if run_.caps:
        caps = cap_table([table, *run_.caps], **limits)
        values = caps.pivot_table(index="agent", columns="notebook_cap", values="value", sort=False)
        found.append(
            (
                "Memory value against the notebook's cap",
                "Runs that differ in the cap alone.",
                plot_caps(caps),
                as_table(values),
            )
        )
    found.append(("Versions, counts, and how to run this again", _again(run_), _identity(run_)))
    return found


def _accuracy(table: "pd.DataFrame") -> Table:
    from taulong.value.metrics import case_metrics

    metrics = case_metrics(table)
    index = ["agent", "memory_mode", "reward"]
    return as_table(
        metrics.pivot_table(index=index, columns="metric", values="count", aggfunc="first", sort=False).fillna("")
    )


def endings_table(table: "pd.DataFrame") -> Table:
    """Return how many cases of each arm ended in which way; a case that is owed has not ended."""
    import pandas as pd

    endings = table["ending"].where(table["outcome"] != "owed").fillna("owed")
    return as_table(pd.crosstab([table["agent"], table["memory_mode"]], endings))


def _again(run_: Reported) -> str:
    name, manifest = run_.folder.path.name, run_.folder.manifest
    return (
        f"`taulong run {manifest['shifts']} --name {name}` with the agents and memory modes below completes or repeats the run; "
        f"`taulong report {name}` writes this page; `taulong view {name}` a page with every conversation; "
        f"`taulong notebook 40_memory_value -p run={name}` the analysis with its code."
    )


def _identity(run_: Reported) -> Table:
    """Return what was run with which versions, and how much of it there is."""
    manifest, table = run_.folder.manifest, run_.table
    counts = {name: number(int((table["outcome"] == name).sum())) for name in ("scored", "unscored", "owed")}
    rows = [(name.replace("_", " "), _plain(value)) for name, value in {**manifest, **counts}.items()]
    return Table(("field", "value"), tuple(rows))


def _plain(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items()) or NOTHING
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _conversations(run_: Reported) -> Packed:
    """Return the run's cases with as many conversations as there is room for, those that were not solved first."""
    rows = {_key(row["record"]): row for row in run_.folder.rows().values()}
    every = [rows.get(_key(record), {"record": record}) for record in run_.table.to_dict("records")]
    missing = (
        "This conversation is not in the file, which would be too large with all of them; "
        f"'taulong view {run_.folder.path.name}' writes a page with every one."
    )
    return pack(every, Unmasked(run_.folder), ROOM, missing=missing)


def _key(record: dict) -> tuple:
    return record["agent"], record["memory_mode"], record.get("trial"), record["case_id"]


def _cases(packed: Packed, run_: Reported) -> Markup:
    held = len(packed.rows) - packed.left_out
    text = f"{of(held, len(packed.rows))} conversations of {run_.folder.path.name} are in this file."
    return folded("Cases and conversations", element("p", text), cases_box(), screen=True, name="cases")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong report``."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="run folders below data/runs, or paths; those that differ in the cap alone make its sweep",
    )
    parser.add_argument("--output", metavar="FILE", help="the HTML file (default: data/notebooks/RUN/report.html)")
    parser.add_argument("--level", type=float, default=0.95, help="of every interval (default 0.95)")
    parser.add_argument(
        "--allow-partial", action="store_true", help="report a run that is not complete, and say so in the title"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the page and say where it is."""
    output = Path(arguments.output) if arguments.output else None
    print(located(write_report(arguments.runs, output, arguments.allow_partial, level=arguments.level)))
    return 0
