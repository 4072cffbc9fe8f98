"""The README's numbers are those that code has written, its commands exist, and its links lead somewhere."""

import re

import pandas as pd
import pytest

from taulong.audit import markdown_table
from taulong.cli import COMMANDS
from taulong.paths import NOTEBOOKS, ROOT
from taulong.reproduction import results_table

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "block",
    [
        results_table,
        lambda: (ROOT / "data/audit/coverage.md").read_text(encoding="utf-8").strip(),
        lambda: markdown_table(pd.read_csv(ROOT / "data/audit/audit-full/graders.csv")),
    ],
    ids=["default run", "coverage", "audit"],
)
def test_a_table_of_the_readme_is_the_one_that_code_makes(block):
    assert block() in README


def test_every_command_and_every_notebook_is_in_the_readme():
    assert [name for name in COMMANDS if f"`taulong {name}" not in README] == []
    assert [path.stem for path in NOTEBOOKS.glob("*.ipynb") if f"`{path.stem}`" not in README] == []


def test_every_command_of_the_readme_exists():
    assert set(re.findall(r"`taulong (\w+)", README)) <= set(COMMANDS)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", README)) <= targets


def test_every_file_the_readme_names_is_there():
    named = re.findall(r"\]\((?!http)([^)#]+)\)", README) + re.findall(r"`((?:tests|data/audit|figures|notebooks)/[\w./-]+\.\w+)`", README)
    assert [name for name in named if not (ROOT / name).exists()] == []
