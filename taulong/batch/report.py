"""``taulong report``: the executed ``40_memory_value`` of a run as one self-contained HTML file."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from taulong.batch.notebooks import run_notebook
from taulong.errors import ConfigError, DataError, check_integer
from taulong.paths import OUTPUTS, RUNS, atomic_write, located, shown


@dataclass(frozen=True)
class ReportConfig:
    """What ``40_memory_value`` reports, checked before anything is read.

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong report``."""
    parser.add_argument("run_name", metavar="RUN", help="name of a run folder below data/runs")
    parser.add_argument("--output", metavar="FILE", help="the HTML file (default: data/notebooks/RUN/report.html)")
    parser.add_argument(
        "--allow-partial", action="store_true", help="report a run that is not complete, and say so in the title"
    )


def run(arguments: argparse.Namespace) -> int:
    """Execute the notebook on a run, write the HTML file and say where it is."""
    from taulong.runs.folder import RunFolder

    folder = RunFolder.open(arguments.run_name)
    if folder.path.resolve().parent != RUNS.resolve():
        raise DataError(
            f"run: {arguments.run_name} is not below {shown(RUNS)}, where the notebook reads; move or copy it there"
        )
    parameters = {"run": folder.path.name, "allow_partial": arguments.allow_partial}
    notebook = run_notebook("40_memory_value", parameters, OUTPUTS / folder.path.name / "40_memory_value.ipynb")
    output = Path(arguments.output) if arguments.output else notebook.with_name("report.html")
    scored, planned = int((folder.records()["outcome"] == "scored").sum()), folder.manifest["planned_cases"]
    partial = "" if scored == planned else f" (PARTIAL: {scored} of {planned} planned cases scored)"
    atomic_write(output, html(notebook, f"TauLong: {folder.path.name}{partial}"))
    print(located(output))
    return 0


def html(notebook: Path, title: str) -> str:
    """Return an executed notebook as HTML that needs nothing from the network: figures inside, no script fetched."""
    import nbformat
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name="lab", embed_images=True)
    resources = {"metadata": {"name": title}}
    for name in ("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url"):
        if name in exporter.trait_names():
            setattr(exporter, name, "")
    return exporter.from_notebook_node(nbformat.read(notebook, as_version=4), resources)[0]
