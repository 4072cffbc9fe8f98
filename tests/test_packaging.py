"""One source of pins: environment.yml, pyproject.toml, requirements.txt and make do not drift apart."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import taulong
from taulong.paths import ROOT

PYTHONS = [f"3.{minor}" for minor in range(taulong.SUPPORTED_PYTHONS[0][1], taulong.SUPPORTED_PYTHONS[1][1] + 1)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
HELD = ("test", "lint", "docs")  # the extras that requirements.txt holds


def read_pins(name):
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


PINS = read_pins("requirements.txt")
BENCH_PINS = read_pins("requirements-bench.txt")  # installed after the others, and in their stead
FRAME_PINS = read_pins("requirements-frame.txt")  # likewise
BESIDE = {"bench": ("verifiers", BENCH_PINS), "harbor": ("inspect-ai", FRAME_PINS)}


def pins_on(python, pins=PINS):
    """Return name -> pinned version on a Python, refusing a name that is pinned twice."""
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.0"}
    kept = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(environment)]
    names = [canonicalize_name(pin.name) for pin in kept]
    assert len(names) == len(set(names)), (
        f"pinned twice on {python}: {sorted({n for n in names if names.count(n) > 1})}"
    )
    return {name: next(iter(pin.specifier)).version for name, pin in zip(names, kept, strict=True)}


def test_every_requirement_is_one_exact_version_of_the_public_index():
    assert len(PINS) > 150
    for pin in PINS + BENCH_PINS + FRAME_PINS:
        assert re.fullmatch(r"==[0-9][0-9a-z.]*", str(pin.specifier)), pin
        assert pin.url is None


def test_the_supported_pythons_are_the_same_everywhere():
    requires = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(30) if requires.contains(f"3.{minor}.0")] == PYTHONS
    script = (ROOT / ".ci" / "python").read_text()
    assert f'supported="{" ".join(reversed(PYTHONS))}"' in script


@pytest.mark.parametrize("python", PYTHONS)
def test_direct_dependencies_are_pinned_inside_their_range(python):
    pins = pins_on(python)
    extras = PROJECT["optional-dependencies"]
    for requirement in map(Requirement, PROJECT["dependencies"] + extras["test"] + ["setuptools>=77"]):
        name = canonicalize_name(requirement.name)
        assert name in pins, f"{name} is not in requirements.txt for Python {python}"
        assert requirement.specifier.contains(pins[name]), f"{name} {pins[name]} is not {requirement.specifier}"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_of_the_benchmark_add_to_the_others_or_stand_in_for_them(python):
    base, bench = pins_on(python), pins_on(python, BENCH_PINS)
    [verifiers] = map(Requirement, PROJECT["optional-dependencies"]["bench"])
    assert verifiers.specifier.contains(bench["verifiers"])
    assert {name for name in bench if name in base} <= {"websockets"}, "pinned in requirements.txt too"
    assert bench["websockets"] != base.get("websockets"), "one version would do for both"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_of_the_frame_add_to_the_others_or_stand_in_for_them(python):
    base, frame = pins_on(python), pins_on(python, FRAME_PINS)
    for requirement in map(Requirement, [extra for name in ("inspect", "harbor") for extra in EXTRAS[name]]):
        if requirement.marker is None or requirement.marker.evaluate({"python_version": python}):
            assert requirement.specifier.contains(frame[requirement.name]), requirement
        else:
            assert requirement.name not in frame
    assert [name for name in frame if frame[name] == base.get(name)] == [], "one version does for both"


@pytest.mark.parametrize(
    "extras",
    [[*HELD], [*HELD, "bench"], [*HELD, "inspect", "harbor"]],
    ids="-".join,
)
def test_pins_are_complete_and_agree_with_each_other_on_this_python(extras):
    python = ".".join(map(str, sys.version_info[:2]))
    pins = pins_on(python)
    if extras[-1] in BESIDE:
        name, more = BESIDE[extras[-1]]
        if not any(importlib.metadata.Distribution.discover(name=name)):
            pytest.skip(f"{name} is not installed: run by make test-bench or make test-frame")
        pins |= pins_on(python, more)
    texts = PROJECT["dependencies"] + [text for extra in extras for text in EXTRAS[extra]]
    texts += ["inspect-evals"] if "inspect" in extras else []
    wanted = [wanted for wanted in map(Requirement, texts) if wanted.marker is None or wanted.marker.evaluate()]
    todo = [(canonicalize_name(requirement.name), "") for requirement in wanted]
    seen = set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for text in importlib.metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                key = canonicalize_name(needed.name)
                assert key in pins, f"{name} needs {needed}, which requirements.txt does not pin"
                assert needed.specifier.contains(pins[key], prereleases=True), (
                    f"{name} needs {needed}; pinned: {pins[key]}"
                )
                todo += [(key, wanted) for wanted in {"", *needed.extras}]
    assert {name for name, _ in seen} | {"setuptools"} == set(pins), "what nothing needs is pinned"


def test_conda_takes_only_python_from_elsewhere():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    name, version = python.split("=")
    assert name == "python"
    assert version in PYTHONS
    assert pip == "pip"
    assert packages == {"pip": ["-r requirements.txt", "-e ."]}


def test_the_installed_version_is_that_of_the_package():
    if (found := next(importlib.metadata.Distribution.discover(name="taulong"), None)) is None:
        pytest.skip("taulong is on the path but not installed")
    assert found.version == taulong.__version__


# --- .ci/python: which interpreter -----------------------------------------------------------------------------------


@pytest.fixture
def choose(tmp_path):
    """Return a function: what .ci/python answers when only these commands exist (name -> what it does)."""

    def answer(commands, **environment):
        folder = tmp_path / "bin with spaces"
        folder.mkdir()
        for name, body in commands.items():
            (folder / name).write_text(f"#!{shutil.which('sh')}\n{body}\n")
            (folder / name).chmod(0o755)
        return subprocess.run(
            [shutil.which("sh"), str(ROOT / ".ci" / "python")],
            env={"PATH": str(folder), **environment}, capture_output=True, text=True,
        )  # fmt: skip

    return answer


def python(version, has_venv=True):
    """Return a shell script that answers as a Python of this version, of which the path is /opt/VERSION."""
    venv = "exit 0" if has_venv else "exit 1"
    return f"""case "$2" in *version_info*) echo {version} ;; *executable*) echo /opt/{version} ;; *) {venv} ;; esac"""


def test_the_newest_that_starts_is_chosen(choose):
    done = choose(
        {
            "python3.13": "exit 127",
            "python3.12": python("3.12"),
            "python3.11": python("3.11"),
            "python3": python("3.10"),
        }
    )
    assert (done.returncode, done.stdout) == (0, "/opt/3.12\n")


def test_a_command_of_another_version_than_its_name_is_not_taken_for_it(choose):
    done = choose({"python3.13": python("3.11"), "python3.12": python("3.12")})
    assert done.stdout == "/opt/3.12\n"


def test_python3_is_the_last_resort(choose):
    assert choose({"python3": python("3.11")}).stdout == "/opt/3.11\n"


def test_the_variable_comes_first_and_is_final(choose, tmp_path):
    done = choose({"mine": python("3.11"), "old": python("3.9"), "python3.13": python("3.13")}, PYTHON="mine")
    assert done.stdout == "/opt/3.11\n"
    old = tmp_path / "bin with spaces" / "old"
    refused = subprocess.run(
        [str(ROOT / ".ci" / "python")], env={**os.environ, "PYTHON": str(old)}, capture_output=True, text=True
    )
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "PYTHON names an interpreter that cannot be used" in refused.stderr
    assert f"{old}: is Python 3.9" in refused.stderr


def test_what_is_missing_is_named(choose):
    done = choose({"python3.12": python("3.12", has_venv=False), "python3": python("3.14")})
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no suitable Python was found" in done.stderr
    assert "python3.13: not found, or it does not start" in done.stderr
    assert "python3.12: has no venv module (on Debian and Ubuntu: apt install python3.12-venv)" in done.stderr
    assert "python3: is Python 3.14" in done.stderr
