"""What was imported from a module of version 0.1 can still be, and is the same thing."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from taulong.moved import MOVED

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted(MOVED))
def test_a_module_of_the_first_version_is_its_package(name):
    with pytest.warns(DeprecationWarning, match=MOVED[name].replace(".", r"\.")):
        module = importlib.import_module(name)
    assert module is importlib.import_module(MOVED[name])
    sys.modules.pop(name)


def test_every_public_name_of_a_package_is_there_and_none_is_listed_twice():
    for init in sorted((ROOT / "taulong").glob("*/__init__.py")):
        package = importlib.import_module(f"taulong.{init.parent.name}")
        names = list(package.__all__)
        assert len(names) == len(set(names)), init
        if init.parent.name not in ("bench", "harness"):  # which need verifiers, Inspect and Harbor
            assert [name for name in names if not hasattr(package, name)] == [], init


def test_a_package_says_in_ten_lines_what_it_answers():
    for init in sorted((ROOT / "taulong").glob("*/__init__.py")):
        words = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8")))
        assert 2 <= len(words.splitlines()) <= 10, init
        assert "?" in words.splitlines()[0], f"{init}: which question?"


def test_importing_a_package_does_not_import_tau2():
    names = ", ".join(f"taulong.{init.parent.name}" for init in sorted((ROOT / "taulong").glob("*/__init__.py")))
    code = f"import sys, {names}; sys.exit('tau2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
