"""``taulong report``: the executed ``40_memory_value`` of a run as one self-contained HTML file."""

import argparse
from pathlib import Path

from taulong.errors import DataError
from taulong.notebooks import run_notebook
from taulong.paths import OUTPUTS, RUNS, atomic_write, shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong report``."""
    parser.add_argument("run_name", metavar="RUN", help="name of a run folder below data/runs")
    parser.add_argument("--output", metavar="FILE", help="the HTML file (default: data/notebooks/RUN/report.html)")
    parser.add_argument("--allow-partial", action="store_true", help="report a run that is not complete, and say so in the title")


def run(arguments: argparse.Namespace) -> int:
    """Execute the notebook on a run, write the HTML file and say where it is."""
    from taulong.runs import RunFolder

    folder = RunFolder.open(arguments.run_name)
    if folder.path.resolve().parent != RUNS.resolve():
        raise DataError(f"run: {arguments.run_name} is not below {shown(RUNS)}, where the notebook reads; move or copy it there")
    parameters = {"run": folder.path.name, "allow_partial": arguments.allow_partial}
    notebook = run_notebook("40_memory_value", parameters, OUTPUTS / folder.path.name / "40_memory_value.ipynb")
    output = Path(arguments.output) if arguments.output else notebook.with_name("report.html")
    scored, planned = int((folder.records()["outcome"] == "scored").sum()), folder.manifest["planned_cases"]
    partial = "" if scored == planned else f" (PARTIAL: {scored} of {planned} planned cases scored)"
    atomic_write(output, html(notebook, f"TauLong: {folder.path.name}{partial}"))
    print(shown(output))
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
