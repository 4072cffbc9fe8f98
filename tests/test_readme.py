"""The README's numbers are those that code has written, its commands exist, and its links lead somewhere."""

import re

from taulong.batch.reproduction import results_table
from taulong.cli import COMMANDS
from taulong.paths import NOTEBOOKS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_the_readme_is_the_one_that_code_makes():
    assert results_table() in README


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_every_notebook_is_in_the_readme():
    assert [path.stem for path in NOTEBOOKS.glob("*.ipynb") if f"`{path.stem}`" not in README] == []


def test_every_command_of_the_readme_exists():
    assert set(re.findall(r"`taulong (\w+)", README)) <= set(COMMANDS)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", README)) <= targets


def test_every_file_the_readme_names_is_there():
    named = re.findall(r"\]\((?!http)([^)#]+)\)", README) + re.findall(
        r"`((?:tests|data/audit|figures|notebooks)/[\w./-]+\.\w+)`", README
    )
    assert [name for name in named if not (ROOT / name).exists()] == []
