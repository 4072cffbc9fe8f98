"""The wheel holds what is committed, notebooks too, and works in an empty folder without a checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from taulong.paths import ROOT

PLACES = {"taulong/bench/taulong_bench_v1/": "taulong_bench_v1/", "notebooks/": "taulong/batch/shipped/"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("taulong", "notebooks"):
        shutil.copytree(
            ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    build = f"from setuptools import build_meta; print(build_meta.build_wheel({str(tree)!r}))"
    done = subprocess.run([sys.executable, "-c", build], cwd=tree, capture_output=True, text=True, check=True)
    return tree / done.stdout.splitlines()[-1]


def test_the_wheel_holds_the_sources_and_the_notebooks(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = [
        path.relative_to(ROOT).as_posix()
        for pattern in ("taulong/**/*.py", "taulong/reading/*.css", "taulong/reading/*.js", "notebooks/*.ipynb")
        for path in ROOT.glob(pattern)
        if ".ipynb_checkpoints" not in path.parts
    ]
    moved = {
        next((there + name.removeprefix(here) for here, there in PLACES.items() if name.startswith(here)), name)
        for name in listed
    }
    assert names == moved


def test_a_notebook_runs_from_the_wheel_into_the_current_folder(wheel, tmp_path):
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    zipfile.ZipFile(wheel).extractall(site)
    environment = {name: value for name, value in os.environ.items() if name != "TAULONG_WORK"}
    environment["PYTHONPATH"] = str(site)
    for command in (
        ["generate", "--name", "mine", "--num-shifts", "2"],
        ["notebook", "10_generate_shifts", "-p", "shifts=mine", "-p", "num_shifts=2"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "taulong", *command],
            cwd=work, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    made = {path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file()}
    assert {"data/shifts/mine.jsonl", "data/notebooks/10_generate_shifts.ipynb", "figures/mine/placement.png"} <= made
    assert not list(Path(site, "taulong").rglob("data"))
