"""The frame in Harbor: any agent wrapped, the task's tests untouched, in an environment without docker."""

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("harbor", reason="Harbor is not installed: run by make test-frame")

from harbor.agents.nop import NopAgent

from taulong import cli
from taulong.harness.accidents import ACCIDENTS
from taulong.harness.audit import FOLDER_ENVIRONMENT, Trials, audit_task, find_tasks, no_namespaces
from taulong.harness.folder import FolderEnvironment, instructions

TASKS = Path(__file__).parent / "tasks"
ENVIRONMENT = {"import_path": FOLDER_ENVIRONMENT}
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(no_namespaces() is not None, reason=str(no_namespaces())),
]


class Slow(NopAgent):
    """Deletes a file and then goes on for longer than it may."""

    async def run(self, instruction, environment, context):
        await environment.exec("rm /app/settings.toml")
        await asyncio.sleep(600)


class Broken(NopAgent):
    """Makes a file and breaks down."""

    async def run(self, instruction, environment, context):
        await environment.exec("touch /app/left.txt")
        raise RuntimeError("broke down")


@pytest.mark.parametrize("name", ["set-port", "count-errors", "drop-void"])
def test_reference_and_nop_keep_the_frame_and_accidents_that_leave_a_trace_do_not(name, tmp_path):
    rows, footprint = asyncio.run(audit_task(TASKS / name, tmp_path, ENVIRONMENT))
    assert footprint.runs == 2
    found = {row.does: row for row in rows}
    assert {does: row.frame for does, row in found.items()} == {
        "reference": "pass", "nop": "pass", **{id: "fail" if one.seen else "pass" for id, one in ACCIDENTS.items()}
    }  # fmt: skip
    assert found["reference"].reward == 1
    assert found["nop"].reward == 0
    assert all(found[does].reward == 1 for does in ACCIDENTS if does not in ("overwrite_input", "delete_rest"))
    rewards = json.loads((tmp_path / "plant_in_home" / "result.json").read_text())["verifier_result"]["rewards"]
    assert rewards == {"reward": 1, "frame_evaluated": 1, "frame": 0, "gated": 0}


@pytest.mark.parametrize(("agent", "left"), [("Slow", "/app/settings.toml deleted"), ("Broken", "/app/left.txt added")])
def test_the_end_is_read_also_of_an_agent_that_is_cancelled_or_breaks(tmp_path, agent, left):
    task = tmp_path / "count-errors"
    import shutil

    shutil.copytree(TASKS / "count-errors", task)
    (task / "task.toml").write_text(
        (task / "task.toml").read_text().replace("[agent]\ntimeout_sec = 60", "[agent]\ntimeout_sec = 3")
    )
    trials = Trials(task, tmp_path / "trials", ENVIRONMENT, ["/app", "/root"])
    asyncio.run(trials.footprint(1))
    from taulong.frame.footprint import write_footprints

    footprint = asyncio.run(trials.footprint(1))
    write_footprints({footprint.task: footprint}, tmp_path / "f.json")
    result, agent_dir = asyncio.run(trials.trial("late", {"inner": f"{__name__}:{agent}"}, tmp_path / "f.json"))
    assert result.exception_info is not None
    stored = json.loads((agent_dir / "frame.json").read_text())
    assert "manifest" in stored["end"]
    if (agent_dir / "frame-verdict.json").is_file():
        assert left in json.loads((agent_dir / "frame-verdict.json").read_text())["reason"]


def test_without_a_footprint_or_a_frame_it_is_not_evaluated_and_not_paid(tmp_path):
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig, VerifierConfig
    from harbor.trial.trial import Trial

    trials = Trials(TASKS / "set-port", tmp_path, ENVIRONMENT, ["/app"])
    result, agent_dir = asyncio.run(trials.trial("bare", {"inner": "oracle"}, None))
    assert result.verifier_result.rewards == {"reward": 1, "frame_evaluated": 0, "frame": 0, "gated": 0}
    assert json.loads((agent_dir / "frame-verdict.json").read_text())["reason"] == "no reference"

    async def unframed():
        config = TrialConfig(
            task=TaskConfig(path=TASKS / "set-port"), trial_name="plain", trials_dir=tmp_path,
            agent=AgentConfig(name="oracle"), environment=EnvironmentConfig(**ENVIRONMENT),
            verifier=VerifierConfig(import_path="taulong.harness.harbor:FramedVerifier"),
        )  # fmt: skip
        return await (await Trial.create(config)).run()

    assert asyncio.run(unframed()).verifier_result.rewards["frame_evaluated"] == 0
    verdict = json.loads((tmp_path / "plain" / "agent" / "frame-verdict.json").read_text())
    assert verdict["reason"].startswith("no manifest at handoff: the agent was not framed")


def test_footprint_and_verdict_read_trials(tmp_path, capsys):
    trials = Trials(TASKS / "set-port", tmp_path / "trials", ENVIRONMENT, ["/app"])
    asyncio.run(trials.trial("one", {"inner": "oracle"}, None))
    assert cli.main(["frame", "footprint", str(tmp_path / "trials"), "--out", str(tmp_path / "f.json")]) == 0
    assert cli.main(["frame", "verdict", str(tmp_path / "trials"), "--reference", str(tmp_path / "f.json")]) == 0
    assert "pass          set-port" in capsys.readouterr().out


def test_an_environment_says_that_it_is_none_and_lets_nothing_out(tmp_path):
    assert FolderEnvironment.type() == "folder-no-isolation"
    assert "no isolation" in __import__("taulong.harness.folder", fromlist=["x"]).__doc__
    (tmp_path / "Dockerfile").write_text("# note\nFROM a\nRUN one && \\\n    two\ncopy x y\n")
    assert instructions(tmp_path / "Dockerfile") == [("FROM", "a"), ("RUN", "one &&      two"), ("COPY", "x y")]
    assert len(find_tasks([TASKS])) == 3
