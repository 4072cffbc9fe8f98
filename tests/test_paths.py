"""Where things are, and writing without half files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taulong import paths
from taulong.paths import ROOT, atomic_write, find_root, located, shown

PYPROJECT = '[project]\nname = "taulong"\n'


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "a checkout with spaces"
    (root / "notebooks").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT)
    return root


def test_the_checkout_of_the_package_is_the_root_whatever_the_current_folder(checkout, tmp_path):
    (checkout / "taulong").mkdir()
    for start in (checkout, checkout / "notebooks", tmp_path):
        assert find_root(checkout / "taulong", start) == checkout


def test_an_installed_package_works_on_the_checkout_around_the_current_folder(checkout, tmp_path):
    installed = tmp_path / "site-packages" / "taulong"
    for start in (checkout, checkout / "notebooks"):
        assert find_root(installed, start) == checkout
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert find_root(installed, elsewhere) == elsewhere


def test_another_project_around_the_current_folder_is_not_the_root(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    (tmp_path / "notebooks").mkdir()
    assert find_root(tmp_path / "site-packages" / "taulong", tmp_path / "notebooks") == tmp_path / "notebooks"


@pytest.mark.parametrize("folder", [".", "tests", ".."])
def test_constants_do_not_depend_on_the_current_folder(folder):
    code = "from taulong import paths; print(paths.ROOT); print(paths.RUNS)"
    lines = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
        capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert lines == [str(ROOT), str(ROOT / "data" / "runs")]


def test_shown_paths_are_never_absolute(tmp_path):
    assert shown(paths.FIGURES / "40_memory_value.png") == "figures/40_memory_value.png"
    assert shown(tmp_path / "metrics.json") == "metrics.json"


def test_a_command_says_where_a_file_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert located("out/report.html") == "out/report.html"
    assert located(tmp_path.parent / "report.html") == str(tmp_path.parent / "report.html")


def test_atomic_write_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "new" / "records.jsonl"
    atomic_write(path, "ä\r\n")
    assert path.read_bytes() == "ä\r\n".encode()
    atomic_write(path, b"\x00", fsync=True)
    assert path.read_bytes() == b"\x00"
    assert os.listdir(path.parent) == ["records.jsonl"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "metrics.json"
    atomic_write(path, "old")
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        atomic_write(path, "new", fsync=True)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["metrics.json"]


def test_the_mode_is_that_of_any_new_file(tmp_path):
    Path(tmp_path / "plain").write_text("")
    atomic_write(tmp_path / "atomic", "")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode
