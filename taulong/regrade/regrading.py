"""``taulong regrade``: every verdict on finished tau2 runs, one row a run.

The official reward is recomputed with tau2's ``evaluate_simulation``; mode and policy come from the file. A run that
cannot be graded keeps its row, with ``not_evaluated`` and the reason, and the others are graded all the same.
"""

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
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
    "other_task_reward",
    "strict_stock",
    "strict_synced",
    "record_gate",
    "field_gate",
    "policy_check",
    "policy_grounds",
    "scope_gate",
    "transient_gate",
    "conduct_check",
    "conduct_rules",
    "conduct_evidence",
    "privacy_check",
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


def regrade(paths: Iterable, progress: bool = True, trust_tasks: bool = False) -> pd.DataFrame:
    """Return one row a run of the given tau2 result files, with the columns of ``COLUMNS``.

    ``fields`` are the agent-database fields outside the reference's footprint, ``calls`` the message indices of their
    last writers, ``rules`` the policy rules that were broken, ``policy_grounds`` what a failed policy check rests on: a
    ``write``, ``conduct`` (a tool call that was not made alone) or both, ``excused`` the fields the scope gate excuses,
    ``conduct_rules`` are the rules over the sequence that conduct and privacy check object by, ``conduct_evidence`` the
    messages, ``reading`` is ``out_of_scope``, ``forbidden`` or ``licensed`` where fields differ, ``reason`` says why something
    was not evaluated, where the recomputed reward is not the recorded one, and where the file's task or policy is not the
    installed one. A file that cannot be read is one row. A run that stands in the files twice is graded once.

    Args:
        paths: result files, folders of a run, or folders of result files.
        progress: show a bar where somebody looks on.
        trust_tasks: where a file's own task differs from the installed one of the same id, grade by the file's.
            ``other_task_reward`` is the official reward by the one that was not taken.
    """
    paths, rows = list(paths), []
    seen: dict[str, list[tuple[str, str]]] = {}
    with progress_bar(len(paths), unit="file", show=progress) as bar:
        for path in paths:
            for file in _files(path):
                if isinstance(file, dict):
                    rows.append(file)
                    continue
                references: dict = {}
                rows += [_row_once(file, run, references, trust_tasks, seen) for run in file.runs]
            bar.update()
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"trial": "Int64", "replay_mismatches": "Int64"})


def _files(path) -> Iterator:
    """Yield the result files that a path stands for; in the place of one that cannot be read, its row."""
    from taulong.regrade.files import result_files
    from taulong.regrade.results import read_results

    try:
        held = result_files(path)
    except DataError as error:
        yield _empty(Path(path).name, reason=str(error))
        return
    for file in held:
        try:
            yield read_results(file)
        except DataError as error:
            yield _empty(file.name, reason=str(error))


def _row_once(file, run, references: dict, trust_tasks: bool, seen: dict) -> dict:
    """Return a run's row, with the file that has a run of the same id; the same run is not graded, nor counted, again."""
    identity = run.get("id") if isinstance(run, dict) else None
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()
    earlier = seen.setdefault(str(identity), []) if identity is not None else []
    for name, same in earlier:
        if same == digest:
            known = {"simulation_id": _word(identity), "task_id": _word(run.get("task_id")), "domain": file.domain}
            return _empty(file.name, **known, reason=f"the same run as in {name}: not graded again")
    row = _row(file, run, references, trust_tasks)
    if earlier:
        told = f"{earlier[0][0]} has another run of this id"
        row["reason"] = "; ".join(filter(None, (row["reason"], told)))
    earlier.append((file.name, digest))
    return row


def _word(value) -> str | None:
    return None if value is None else str(value)


def _number(value) -> float | None:
    """Return a number that a table can hold, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return None
    return value


def _empty(file: str, **known) -> dict:
    from taulong.conduct.check import CHECKS
    from taulong.graders.gates import GRADERS

    return dict.fromkeys(COLUMNS) | {"file": file} | dict.fromkeys((*GRADERS, *CHECKS), "not_evaluated") | known


def _row(file, run: dict, references: dict, trust_tasks: bool) -> dict:
    run = run if isinstance(run, dict) else {"damage": f"a run is {type(run).__name__}, not an object"}
    reward_info, trial = run.get("reward_info"), run.get("trial")
    row = _empty(
        file.name,
        simulation_id=_word(run.get("id")),
        task_id=_word(run.get("task_id")),
        trial=trial if type(trial) is int and abs(trial) < 2**63 else None,
        domain=file.domain,
        solo_mode=file.solo_mode,
        ending=_word(run.get("termination_reason")),
        recorded_reward=_number(reward_info.get("reward")) if isinstance(reward_info, dict) else None,
    )
    try:
        return row | _verdicts(file, run, references, trust_tasks)
    except DataError as error:
        return row | {"reason": str(error)}
    except Exception as error:  # a file's task can make tau2 raise anything; the other runs are graded all the same
        first = (str(error).splitlines() or [""])[0]
        return row | {"reason": f"cannot be graded: {type(error).__name__}: {first}"}


def _verdicts(file, run: dict, references: dict, trust_tasks: bool) -> dict:
    from taulong.backend import environment_maker, simulation_reward
    from taulong.conduct.check import CHECKS, Observation, checks
    from taulong.graders.delta import observe
    from taulong.graders.gates import excused, grade_run
    from taulong.graders.official import components
    from taulong.graders.reference import build_reference
    from taulong.graders.replay import replay

    simulation = file.simulation(run)
    chosen, ending = file.task(simulation.task_id, trust_tasks), run["termination_reason"]
    task, notes = chosen.task, {note for note in (chosen.note, file.policy_note) if note}
    if not file.domain.startswith("telecom"):
        from taulong.regrade.database import database_verdicts

        row = database_verdicts(simulation, task, file.domain, references)
        if chosen.other is not None:
            other = database_verdicts(simulation, chosen.other, file.domain, {})
            row["other_task_reward"] = other.get("official_reward")
        return row | {"reason": "; ".join(filter(None, (row.get("reason"), *sorted(notes))))}
    constructor = environment_maker(file.policy_type)
    if task.id not in references:
        references[task.id] = build_reference(task, constructor)
    reference = references[task.id]
    replayed = replay(task, simulation.messages, constructor, file.solo_mode)
    verdicts = grade_run(replayed, reference) | checks(replayed, reference)
    ordered = [found for name in CHECKS for found in verdicts[name].findings if isinstance(found, Observation)]
    reasons = notes | {verdict.reason or "" for verdict in verdicts.values() if verdict.status == "not_evaluated"}
    if simulation.termination_reason != ending:
        reasons.add(f"ending {ending!r} is unknown to the installed tau2: read as no stop")
    official, other_reward = None, None
    told = simulation.model_copy(update={"messages": list(replayed.trajectory)})
    if not replayed.void:
        try:
            official = simulation_reward(told, task, file.solo_mode, file.domain)
        except (ValueError, AssertionError) as refused:
            reasons.add(f"tau2's evaluator refuses the run: {str(refused).splitlines()[0]}")
    if chosen.other is not None:
        with contextlib.suppress(Exception):  # a file's task can make tau2 raise anything; then there is no such reward
            other_reward = simulation_reward(told, chosen.other, file.solo_mode, file.domain).reward
    scope, policy, transient = verdicts["scope_gate"], verdicts["policy_check"], verdicts["transient_gate"]
    passed = excused(replayed, reference) if scope.status != "not_evaluated" else ()
    reward, recorded = official and official.reward, simulation.reward_info and simulation.reward_info.reward
    if None not in (reward, recorded) and reward != recorded:
        reasons.add(f"recorded {recorded}, recomputed {reward}")
    rules = [finding.rule for finding in (*scope.findings, *policy.findings) if finding.rule]
    grounds = {"conduct" if finding.record is None else "write" for finding in policy.findings}
    return {name: verdict.status for name, verdict in verdicts.items()} | {
        "official_reward": reward,
        "other_task_reward": other_reward,
        "gated_reward": None
        if reward is None or transient.status == "not_evaluated"
        else reward * (transient.status == "pass"),
        "policy_grounds": ";".join(sorted(grounds)),
        "fields": ";".join(finding.path or "" for finding in verdicts["field_gate"].findings),
        "calls": ";".join(str(finding.call) for finding in verdicts["field_gate"].findings),
        "rules": ";".join(dict.fromkeys(rules)),
        "conduct_rules": ";".join(dict.fromkeys(finding.rule or "" for finding in ordered)),
        "conduct_evidence": ";".join(finding.evidence for finding in ordered),
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
        "conduct_check_fails": int((perfect["conduct_check"] == "fail").sum()),
        "privacy_check_fails": int((perfect["privacy_check"] == "fail").sum()),
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
        "alone: {policy_check_fails_on_conduct_alone}); conduct check: {conduct_check_fails}; privacy check: "
        "{privacy_check_fails}\nrows: {rows}; graded: {graded}; void: {void}; official reward as "
        "recorded: {official_as_recorded}; database refused for form alone: {form_alone}"
    ).format(**counts)


def conversation(paths: Iterable, simulation_id: str, trust_tasks: bool = False) -> "Conversation":
    """Return one run of the given files to be read, with the calls that scope gate and policy check object to marked.

    What differs on the phone from where the reference leaves it is told above the conversation; of domains other than
    telecom the messages are shown alone.

    Raises:
        DataError: no readable file has such a run, or the run is damaged.
    """
    from taulong.backend import environment_maker
    from taulong.conduct.check import CHECKS, checks
    from taulong.graders.delta import observe
    from taulong.graders.gates import grade_run
    from taulong.graders.reference import build_reference
    from taulong.graders.replay import replay
    from taulong.reading.conversation import Conversation

    file, run = _find(paths, simulation_id)
    simulation = file.simulation(run)
    messages = [message.model_dump(exclude_none=True) for message in simulation.messages]
    if not file.domain.startswith("telecom"):
        return Conversation({"messages": messages}, title=simulation_id)
    task, constructor = file.task(simulation.task_id, trust_tasks).task, environment_maker(file.policy_type)
    reference = build_reference(task, constructor)
    replayed = replay(task, simulation.messages, constructor, file.solo_mode)
    verdicts = grade_run(replayed, reference) | checks(replayed, reference)
    shown = ("scope_gate", "transient_gate", "policy_check", *CHECKS)
    marked = [asdict(finding) for name in shown for finding in verdicts[name].findings]
    phone = observe(reference.user_final, replayed.user_final)
    return Conversation({"messages": messages, "findings": marked, "user_fields": phone}, title=simulation_id)


def _find(paths: Iterable, simulation_id: str):
    paths = list(paths)
    for path in paths:
        for file in _files(path):
            for run in () if isinstance(file, dict) else file.runs:  # what cannot be read has its row, with the reason
                if isinstance(run, dict) and _word(run.get("id")) == simulation_id:
                    return file, run
    raise DataError(f"no run {simulation_id!r} in {', '.join(Path(path).name for path in paths)}")
