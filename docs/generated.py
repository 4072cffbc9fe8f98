"""What the documentation shows and nobody types: tables from the committed data, the command line, the API, the notebooks."""

import argparse
import importlib
import json
import os
import pkgutil
import re
import shutil
from pathlib import Path

import pandas as pd

import taulong
from taulong.audit.tables import markdown_table
from taulong.batch.reproduction import results_table
from taulong.cases.record import columns_table
from taulong.cli import command_parsers
from taulong.conduct.sentences import sentences_table
from taulong.paths import AUDIT, FIGURES, NOTEBOOKS

DOCS = Path(__file__).resolve().parent
PAGES = DOCS / "generated"
GRAMMAR = {"taulong.cases.grammar", "taulong.cases.requests"}  # whose patterns would be read as markup


def write() -> None:
    """Write every generated page below docs/generated, afresh."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for folder in ("tables", "api", "notebooks", "figures"):
        (PAGES / folder).mkdir(parents=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        shutil.copy(path, PAGES / "notebooks" / path.name)
    for path in (*sorted(FIGURES.glob("*/*.png")), *sorted(AUDIT.glob("*/*.png"))):
        shutil.copy(path, PAGES / "figures" / f"{path.parent.name}-{path.name}")
    for name, text in tables().items():
        (PAGES / "tables" / f"{name}.md").write_text(text.strip() + "\n", encoding="utf-8")
    (PAGES / "commands.md").write_text(commands(), encoding="utf-8")
    write_api()


def tables() -> dict[str, str]:
    """Return the tables that pages include, as Markdown, by name."""
    kept = {path.stem: path.read_text(encoding="utf-8") for path in sorted(AUDIT.glob("*.md"))}
    return {
        **kept,
        "columns": columns_table(),
        "policy_sentences": sentences_table(),
        "default_run": results_table(),
        **{
            name: pd.read_csv(AUDIT / "domains-full" / f"{name}.csv")
            .drop(columns="caption", errors="ignore")
            .round(3)
            .to_markdown(index=False)
            for name in ("directions", "idle", "operators")
        },
        "audit": markdown_table(pd.read_csv(AUDIT / "audit-full" / "graders.csv")),
    }


def commands() -> str:
    """Return the reference of the command line, from the parsers themselves."""
    os.environ["COLUMNS"] = "100"
    parts = ["# The command line"]
    for name, parser in command_parsers():
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parts.append(f"## taulong {name}\n\n```text\n{parser.format_help().strip()}\n```")
    return "\n\n".join(parts) + "\n"


def write_api() -> None:
    """Write a page a package, with each of its modules, and the page that lists them."""
    packages = {"taulong": [name for _, name, is_package in pkgutil.iter_modules(taulong.__path__) if not is_package]}
    for _, name, is_package in pkgutil.iter_modules(taulong.__path__):
        if is_package:
            package = importlib.import_module(f"taulong.{name}")
            packages[f"taulong.{name}"] = [
                module for _, module, inner in pkgutil.iter_modules(package.__path__) if not inner
            ]
    for package, modules in packages.items():
        lines = [f"# {package}", f"```{{automodule}} {package}\n:no-members:\n```"]
        for module in modules:
            if not module.startswith("__") and f"{package}.{module}" not in GRAMMAR:
                lines += [f"## {package}.{module}", f"```{{automodule}} {package}.{module}\n```"]
        (PAGES / "api" / f"{package}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    listed = "\n".join(sorted(packages))
    (PAGES / "api" / "index.md").write_text(
        "# The Python interface\n\nWhat is public is imported from its package, as in `from taulong.runs import RunConfig`.\n\n"
        f"```{{toctree}}\n{listed}\n```\n",
        encoding="utf-8",
    )


def numbers() -> dict[str, str]:
    """Return the numbers that prose quotes, by the name a page writes between double braces."""
    found = json.loads((AUDIT / "audit-full" / "metrics.json").read_text(encoding="utf-8"))
    on_task = found["missed_by_scope_gate"]["on_task"]
    found["on_task_kept"] = on_task["runs"] - on_task["failed_by_official"]
    matrix = pd.read_csv(AUDIT / "audit-full" / "matrix.csv").set_index(["operator", "class"])
    for operator in ("suspend_and_resume", "disable_and_enable_roaming"):
        row = matrix.loc[(operator, "undone")]
        found[operator] = {name: int(row[name]) for name in ("runs", "policy_check")}
    speeds = {
        f"{name}_{key}": value
        for name in ("benchmark_cases", "benchmark_audit", "benchmark_domains")
        for key, value in _leaves(json.loads((AUDIT / f"{name}.json").read_text(encoding="utf-8")))
    }
    return {
        re.sub(r"\W+", "_", key): f"{value:,}" if isinstance(value, int | float) else str(value)
        for key, value in (*((f"audit_{key}", value) for key, value in _leaves(found)), *speeds.items())
    }


def _leaves(nested: dict, above: str = ""):
    for key, value in nested.items():
        name = f"{above}{key}"
        yield from _leaves(value, f"{name}.") if isinstance(value, dict) else [(name, value)]
