"""The README's numbers are those that code has written, its commands exist, and its links lead somewhere."""

import json
import re

import pandas as pd
import pytest

from taulong.audit.tables import markdown_table
from taulong.batch.reproduction import results_table
from taulong.batch.sweeps import read_sweep
from taulong.cli import COMMANDS
from taulong.paths import NOTEBOOKS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "block",
    [
        results_table,
        lambda: (ROOT / "data/audit/coverage.md").read_text(encoding="utf-8").strip(),
        lambda: (ROOT / "data/audit/point_coverage.md").read_text(encoding="utf-8").strip(),
        lambda: markdown_table(pd.read_csv(ROOT / "data/audit/audit-full/graders.csv")),
    ],
    ids=["default run", "coverage", "coverage of points", "audit"],
)
def test_a_table_of_the_readme_is_the_one_that_code_makes(block):
    assert block() in README


@pytest.mark.parametrize("name", ["benchmark_cases", "benchmark_audit"])
def test_the_speeds_of_the_readme_are_those_measured(name):
    measured = json.loads((ROOT / f"data/audit/{name}.json").read_text(encoding="utf-8"))
    said = [
        value
        for key, value in leaves(measured)
        if key.startswith(("ratio", "milliseconds", "full_matrix", "identical"))
    ]
    assert said
    assert [value for value in said if not re.search(rf"(?<![\d.,]){value:,}(?![\d.])", README)] == []


def test_what_the_readme_says_of_the_audit_is_in_its_metrics():
    found = json.loads((ROOT / "data/audit/audit-full/metrics.json").read_text(encoding="utf-8"))
    operators = pd.read_csv(ROOT / "data/audit/audit-full/matrix.csv").set_index(["operator", "class"])
    suspended, roaming = (
        operators.loc[(name, "undone")] for name in ("suspend_and_resume", "disable_and_enable_roaming")
    )
    on_task, unseen = found["missed_by_scope_gate"]["on_task"], found["missed_by_official_scope_gate_and_policy_check"]
    kept = on_task["runs"] - on_task["failed_by_official"]
    text = " ".join(README.split())
    assert f"{kept} runs, which suspend the line" in text
    assert f"The other {on_task['failed_by_official']:,} break the task" in text
    assert (
        operators.loc[[("suspend_served_line", "on_task"), ("all:suspend_line", "on_task")], "policy_check"].sum()
        == kept
    )
    assert suspended["policy_check"] == suspended["runs"]
    assert f"all {suspended['runs']:,} runs that suspend another line" in text
    assert f"Of {roaming['runs']:,} that disable roaming" in text
    assert f"fails the {roaming['policy_check']} of callers at home" in text
    assert unseen == {"disable_and_enable_roaming": roaming["runs"] - roaming["policy_check"]}
    assert f"The {unseen['disable_and_enable_roaming']:,} of travellers pass" in text
    assert f"The full matrix of {found['members']:,} members, {found['runs_graded']:,} of them graded" in text


def leaves(measured, name=""):
    """Yield (dotted name, value) of everything in nested dicts."""
    for key, value in measured.items():
        yield from leaves(value, f"{name}{key}.") if isinstance(value, dict) else [(f"{name}{key}", value)]


def test_every_command_and_every_notebook_is_in_the_readme():
    assert [name for name in COMMANDS if f"`taulong {name}" not in README] == []
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


def test_the_readmes_sweep_is_one_that_can_be_run(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL)[1])
    name, points = read_sweep(path)
    assert name == "trials"
    assert len(points) == 4
