"""``taulong regrade``: every verdict on finished tau2 runs, one row a run.

The official reward is recomputed with tau2's ``evaluate_simulation``; mode and policy come from the file. A run that
cannot be graded keeps its row, with ``not_evaluated`` and the reason, and the others are graded all the same.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from taulong.errors import ConfigError, DataError
from taulong.paths import AUDIT, ROOT
from taulong.progress import progress_bar

if TYPE_CHECKING:
    from taulong.reading.conversation import Conversation

COLUMNS = (
    "file",
    "simulation_id",
    "task_id",
    "trial",
    "domain",
    "solo_mode",
    "ending",
    "official_reward",
    "recorded_reward",
    "strict_stock",
    "strict_synced",
    "record_gate",
    "field_gate",
    "policy_check",
    "policy_grounds",
    "scope_gate",
    "transient_gate",
    "target",
    "frame",
    "form",
    "gated_reward",
    "fields",
    "user_fields",
    "calls",
    "rules",
    "excused",
    "reading",
    "components",
    "replay_mismatches",
    "reason",
)
OUT_OF_SCOPE_RULES = {"caller_line", "caller_account", None}
"""Scope gate findings under these rules touch what nobody asked for; any other rule forbids the write itself."""


@dataclass(frozen=True)
class RegradeConfig:
    """What is regraded, and where its table goes.

    Attributes:
        files: tau2 result files or folders of runs, absolute or from the project's root.
        name: folder below data/audit.

    Raises:
        ConfigError: a file that does not exist, or a name that is none.
    """

    files: tuple[str, ...] = ()
    name: str = "regrade"

    def __post_init__(self):
        if not self.name or Path(self.name).name != self.name:
            raise ConfigError(f"name: {self.name!r} is not the name of a folder below data/audit")
        for file, path in zip(self.files, self.paths, strict=True):
            if not path.exists():
                raise ConfigError(f"files: {file!r} does not exist")

    @property
    def paths(self) -> list[Path]:
        """The files, from the project's root."""
        return [ROOT / file for file in self.files]

    @property
    def out(self) -> Path:
        """The folder of the results."""
        return AUDIT / self.name


def regrade(paths: Iterable, progress: bool = True) -> pd.DataFrame:
    """Return one row a run of the given tau2 result files, with the columns of ``COLUMNS``.

    ``fields`` are the agent-database fields outside the reference's footprint, ``calls`` the message indices of their
    last writers, ``rules`` the policy rules that were broken, ``policy_grounds`` what a failed policy check rests on: a
    ``write``, ``conduct`` (a tool call that was not made alone) or both, ``excused`` the fields the scope gate excuses,
    ``reading`` is ``out_of_scope``, ``forbidden`` or ``licensed`` where fields differ, ``reason`` says why something
    was not evaluated, and where the recomputed reward is not the recorded one. A file that cannot be read is one row.
    """
    from taulong.regrade.results import read_results

    paths, rows = list(paths), []
    with progress_bar(len(paths), unit="file", show=progress) as bar:
        for path in paths:
            try:
                file = read_results(path)
            except DataError as error:
                rows.append(_empty(Path(path).name, reason=str(error)))
            else:
                references: dict = {}
                rows += [_row(file, run, references) for run in file.runs]
            bar.update()
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"trial": "Int64", "replay_mismatches": "Int64"})


def _empty(file: str, **known) -> dict:
    from taulong.graders.gates import GRADERS

    return dict.fromkeys(COLUMNS) | {"file": file} | dict.fromkeys(GRADERS, "not_evaluated") | known


def _row(file, run: dict, references: dict) -> dict:
    run = run if isinstance(run, dict) else {"damage": f"a run is {type(run).__name__}, not an object"}
    reward_info, trial = run.get("reward_info"), run.get("trial")
    row = _empty(
        file.name,
        simulation_id=run.get("id"),
        task_id=run.get("task_id"),
        trial=trial if type(trial) is int and abs(trial) < 2**63 else None,
        domain=file.domain,
        solo_mode=file.solo_mode,
        ending=run.get("termination_reason"),
        recorded_reward=reward_info.get("reward") if isinstance(reward_info, dict) else None,
    )
    try:
        return row | _verdicts(file, run, references)
    except DataError as error:
        return row | {"reason": str(error)}
    except Exception as error:  # a file's task can make tau2 raise anything; the other runs are graded all the same
        first = (str(error).splitlines() or [""])[0]
        return row | {"reason": f"cannot be graded: {type(error).__name__}: {first}"}


def _verdicts(file, run: dict, references: dict) -> dict:
    from taulong.backend import environment_maker, simulation_reward
    from taulong.graders.delta import observe
    from taulong.graders.gates import excused, grade_run
    from taulong.graders.official import components
    from taulong.graders.reference import build_reference
    from taulong.graders.replay import replay

    simulation = file.simulation(run)
    task, ending = file.task(simulation.task_id), run["termination_reason"]
    if not file.domain.startswith("telecom"):
        from taulong.regrade.database import database_verdicts

        return database_verdicts(simulation, task, file.domain, references)
    constructor = environment_maker(file.policy_type)
    if task.id not in references:
        references[task.id] = build_reference(task, constructor)
    reference = references[task.id]
    replayed = replay(task, simulation.messages, constructor, file.solo_mode)
    verdicts = grade_run(replayed, reference)
    reasons = {verdict.reason for verdict in verdicts.values() if verdict.status == "not_evaluated"}
    if simulation.termination_reason != ending:
        reasons.add(f"ending {ending!r} is unknown to the installed tau2: read as no stop")
    official = None
    if not replayed.void:
        try:
            told = simulation.model_copy(update={"messages": list(replayed.trajectory)})
            official = simulation_reward(told, task, file.solo_mode, file.domain)
        except (ValueError, AssertionError) as refused:
            reasons.add(f"tau2's evaluator refuses the run: {str(refused).splitlines()[0]}")
    scope, policy, transient = verdicts["scope_gate"], verdicts["policy_check"], verdicts["transient_gate"]
    passed = excused(replayed, reference) if scope.status != "not_evaluated" else ()
    reward, recorded = official and official.reward, simulation.reward_info and simulation.reward_info.reward
    if None not in (reward, recorded) and reward != recorded:
        reasons.add(f"recorded {recorded}, recomputed {reward}")
    rules = [finding.rule for finding in (*scope.findings, *policy.findings) if finding.rule]
    grounds = {"conduct" if finding.record is None else "write" for finding in policy.findings}
    return {name: verdict.status for name, verdict in verdicts.items()} | {
        "official_reward": reward,
        "gated_reward": None
        if reward is None or transient.status == "not_evaluated"
        else reward * (transient.status == "pass"),
        "policy_grounds": ";".join(sorted(grounds)),
        "fields": ";".join(finding.path for finding in verdicts["field_gate"].findings),
        "calls": ";".join(str(finding.call) for finding in verdicts["field_gate"].findings),
        "rules": ";".join(dict.fromkeys(rules)),
        "excused": ";".join(map(str, passed)),
        "reading": _reading(scope, passed, "write" in grounds),
        "user_fields": ";".join(observe(reference.user_final, replayed.user_final)),
        "components": official
        and ("; ".join(map(str, components(official, task, reference))) or f"none computed: the run ended by {ending}"),
        "replay_mismatches": replayed.mismatches,
        "reason": "; ".join(sorted(reasons)) or None,
    }


def _reading(scope, passed: Sequence, forbidden: bool) -> str:
    """Name what the scope gate found, in the words of a hand reading of the policy; ``forbidden``: the policy check fails a write."""
    if scope.status == "not_evaluated":
        return ""
    if scope.findings:
        rules = {finding.rule for finding in scope.findings}
        return "out_of_scope" if rules & OUT_OF_SCOPE_RULES else "forbidden"
    if not passed:
        return ""
    return "forbidden" if forbidden else "licensed"


def graded(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a regraded table that have a gate's verdict (scope, or target and frame) and an official reward."""
    judged = (table["scope_gate"] != "not_evaluated") | table["frame"].isin(("pass", "fail"))
    return table[judged & table["official_reward"].notna()]


def summary(table: pd.DataFrame) -> dict[str, int]:
    """Return the counts of a regraded table that a reader asks for first."""
    perfect = table[table["official_reward"] == 1.0]
    failed = perfect[perfect["scope_gate"] == "fail"]
    return {
        "rows": len(table),
        "graded": len(graded(table)),
        "void": int(table["reason"].str.contains("void: ", na=False).sum()),
        "official_as_recorded": int((table["official_reward"] == table["recorded_reward"]).sum()),
        "reward_1": len(perfect),
        "field_gate_fails": int((perfect["field_gate"] == "fail").sum()),
        "policy_check_fails": int((perfect["policy_check"] == "fail").sum()),
        "policy_check_fails_on_conduct_alone": int((perfect["policy_grounds"] == "conduct").sum()),
        "scope_gate_fails": len(failed),
        "out_of_scope": int((failed["reading"] == "out_of_scope").sum()),
        "forbidden": int((failed["reading"] == "forbidden").sum()),
        "excused": int((perfect["reading"] == "licensed").sum()),
        "transient_gate_fails": int(perfect["transient_gate"].isin(["fail"]).sum()),
        "form_alone": int(
            (
                table["strict_stock"].isin(["fail"]) & table["target"].isin(["pass"]) & table["frame"].isin(["pass"])
            ).sum()
        ),
    }


def summary_line(counts: dict[str, int]) -> str:
    """Return the summary as three lines."""
    return (
        "reward 1.0: {reward_1}; of these scope gate fails: {scope_gate_fails} (out of scope {out_of_scope}, forbidden "
        "{forbidden}); excused by policy: {excused}; with what no end state shows: {transient_gate_fails}\npolicy check fails: {policy_check_fails} of these (on conduct "
        "alone: {policy_check_fails_on_conduct_alone})\nrows: {rows}; graded: {graded}; void: {void}; official reward as "
        "recorded: {official_as_recorded}; database refused for form alone: {form_alone}"
    ).format(**counts)


def conversation(paths: Iterable, simulation_id: str) -> "Conversation":
    """Return one run of the given files to be read, with the calls that scope gate and policy check object to marked.

    Raises:
        DataError: no readable file has such a run, or the run is damaged.
    """
    from taulong.backend import environment_maker
    from taulong.graders.gates import grade_run
    from taulong.graders.reference import build_reference
    from taulong.graders.replay import replay
    from taulong.reading.conversation import Conversation

    file, run = _find(paths, simulation_id)
    simulation = file.simulation(run)
    task, constructor = file.task(simulation.task_id), environment_maker(file.policy_type)
    replayed = replay(task, simulation.messages, constructor, file.solo_mode)
    verdicts = grade_run(replayed, build_reference(task, constructor))
    marked = [asdict(finding) for name in ("scope_gate", "policy_check") for finding in verdicts[name].findings]
    messages = [message.model_dump(exclude_none=True) for message in simulation.messages]
    return Conversation({"messages": messages, "findings": marked}, title=simulation_id)


def _find(paths: Iterable, simulation_id: str):
    from taulong.regrade.results import read_results

    for path in paths:
        try:
            file = read_results(path)
        except DataError:
            continue  # the file has its row in the table, with the reason
        for run in file.runs:
            if isinstance(run, dict) and run.get("id") == simulation_id:
                return file, run
    raise DataError(f"no run {simulation_id!r} in {', '.join(Path(path).name for path in paths)}")


# --- command line ---------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong regrade``."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="tau2 result file, or the folder of a tau2 run")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: table")


def run(args: argparse.Namespace) -> int:
    """Print the table on stdout (the summary goes to stderr unless the format is ``table``).

    Returns:
        0, or 1 if some run has no official reward or no scope gate verdict; it is in the table, with its reason.
    """
    table = regrade(args.files)
    if args.format == "csv":
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
    elif args.format == "json":
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        print(json.dumps(rows, indent=1, allow_nan=False))
    else:
        shown = [
            "file",
            "simulation_id",
            "task_id",
            "official_reward",
            "recorded_reward",
            "gated_reward",
            "field_gate",
            "policy_check",
            "policy_grounds",
            "scope_gate",
            "transient_gate",
            "target",
            "frame",
            "fields",
            "rules",
            "replay_mismatches",
            "reason",
        ]
        print(table[shown].astype(object).fillna("").to_string(index=False, max_colwidth=60))
    counts = summary(table)
    print(summary_line(counts), file=sys.stdout if args.format == "table" else sys.stderr)
    return 0 if counts["graded"] == counts["rows"] else 1
