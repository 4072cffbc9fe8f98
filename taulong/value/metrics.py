"""What a table of records adds up to: accuracies and shift rewards, each with its count, and the guards around them.

A table of records is a pandas DataFrame with one row per case and arm; an arm is one agent under one memory mode.
Three outcomes are kept apart everywhere: ``scored``, ``unscored`` (with a reason) and ``owed`` (planned, no row). A
case without a score is never a zero and never left out of a count.
"""

import hashlib
import json
from pathlib import Path

import pandas as pd

from taulong.errors import DataError, check_name
from taulong.memory.names import second_pass
from taulong.paths import shown
from taulong.value.exposure import evidence_seen

AGENTS = (  # first; others follow by name
    "learner", "guesser", "parrot", "transferrer", "meddler", "forgetful", "selective",
)  # fmt: skip
MODES = (  # the order of every table and figure; others follow by name
    "none", "notebook", "oracle", "transcript", "summary", "retrieval", "playbook", "mem0", "frozen", "frozen_same",
    "misleading", "irrelevant", "stale",
)  # fmt: skip
ACCURACIES = {
    "masked_env_accuracy": "testing", "teaching_env_accuracy": "teaching", "lookalike_env_accuracy": "lookalike",
}  # fmt: skip
REWARDS = ("official_reward", "gated_reward")
VERSION_FIELDS = (
    "split", "taulong_version", "grader_version", "tau2_distribution", "tau2_version", "tau2_data", "shift_config",
)  # fmt: skip
CASE_FIELDS = (
    "shift_id", "case_id", "split", "seed", "position", "population", "cause", "recurring_cause", "regime",
    "teaching_seen",
)  # fmt: skip
SCORE_FIELDS = ("outcome", "official_reward", "gated_reward", "transferred")
NOTE_FIELDS = ("commitment", "fix_in_notebook", "notebook_writes")
ARM_FIELDS = ("agent", "memory_mode", "trial")  # trial only where cases were run more than once


METRIC_COLUMNS = (
    "agent", "memory_mode", "metric", "reward", "value", "low", "high", "total", "scored", "planned", "count",
)  # fmt: skip


class MixedRecords(DataError):
    """Records that may not share a table: another grader, benchmark, shift configuration, or the same run twice."""


class IncompleteRecords(DataError):
    """Planned cases have no score, and partial results were not asked for."""


def read_table(run: str | Path) -> pd.DataFrame:
    """Return the table of a run folder: its records, and a row for every case it owes.

    Adds ``evidence_seen``, see :func:`taulong.value.exposure.evidence_seen`, ``notebook_cap`` and ``shift_config``, a digest of the rest of the shifts' configuration: runs that differ in
    the cap alone may be compared.

    Args:
        run: name of a folder below data/runs, or its path; its shifts must still be there.

    Raises:
        DataError: there is no such run, its shifts are gone or are not those it ran, or :func:`with_owed` refuses.
    """
    from taulong.runs.folder import RunFolder  # with tau2, which the rest of this module does not need
    from taulong.shifts.files import read_manifest, read_shifts, shift_paths
    from taulong.shifts.stream import shift_table

    folder = RunFolder.open(run)
    manifest = folder.manifest
    name, ran = manifest["shifts"], manifest["shifts_digest"]
    if not (place := shift_paths(name)[0]).exists():  # a manifest holds no paths
        raise DataError(
            f"{folder.path.name}: the shifts that it ran are not in {shown(place.parent)}; put {name}.jsonl and "
            f"{name}.manifest.json there"
        )
    if (held := read_manifest(name)["digest"]) != ran:
        raise DataError(f"{folder.path.name}: ran the shifts {name} when their digest was {ran}; now it is {held}")
    cases = shift_table(read_shifts(name))[list(CASE_FIELDS)]
    arms = {"agent": manifest["agents"], "memory_mode": manifest["memory_modes"], "trial": range(manifest["trials"])}
    every = pd.MultiIndex.from_product(list(arms.values()), names=list(arms))
    planned = cases.merge(every.to_frame(index=False), how="cross")
    config = dict(manifest["shift_config"])
    cap = config.pop("notebook_cap")
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:12]
    table = with_owed(folder.records(), planned).assign(notebook_cap=cap, shift_config=digest)
    return table.assign(evidence_seen=evidence_seen(table)) if "evidence_shown" in table else table


def with_owed(records: pd.DataFrame, planned: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the records plus one row with outcome ``owed`` for each planned case without one, sorted by arm and case.

    Args:
        records: one row per case and arm; none at all is a run of which everything is owed. The frame stays as it is.
        planned: the cases of the shifts (at least shift_id, case_id, position, population), each planned for every arm
            in the records; ``agent`` and ``memory_mode`` columns, where present, name the arms instead. Without it,
            every arm is taken to owe all cases any arm has, and every shift all positions up to the highest in the
            table.

    Raises:
        MixedRecords: versions differ within the table, or a case occurs twice in an arm.
    """
    require_one_version(records)
    needed = (*ARM_FIELDS[:2], *CASE_FIELDS, *SCORE_FIELDS, *NOTE_FIELDS)
    if missing := [field for field in needed if field not in records]:
        records = records.assign(**dict.fromkeys(missing))
    arm = [field for field in ARM_FIELDS if field in records]
    if (doubled := records.duplicated([*arm, "case_id"])).any():
        row = records[doubled].iloc[0]
        where = f"first {row.case_id} ({row.agent}, {row.memory_mode})"
        raise MixedRecords(f"{int(doubled.sum())} cases occur twice in an arm, {where}")
    cases = _known_cases(records) if planned is None else planned
    if not {"agent", "memory_mode"} <= set(cases):
        cases = cases.merge(records[arm].drop_duplicates(), how="cross")
    cases = cases[~_in_second_pass(cases) | (cases["population"] == "testing")]  # a second pass has no others
    owed = cases.merge(records[[*arm, "case_id"]], how="left", on=[*arm, "case_id"], indicator=True)
    owed = owed[owed.pop("_merge") == "left_only"].assign(outcome="owed")
    table = pd.concat([records, owed], ignore_index=True) if len(owed) else records
    table = table.assign(_agent=_rank(table["agent"], AGENTS), _mode=_rank(table["memory_mode"], MODES))
    table = table.sort_values(
        ["_agent", "agent", "_mode", "memory_mode", *arm[2:], "shift_id", "position"], kind="stable"
    )
    return table.drop(columns=["_agent", "_mode"]).reset_index(drop=True)


def agents_with(table: pd.DataFrame, *modes: str) -> list[str]:
    """Return the agents that have cases, scored or not, in each of these memory modes, in the order of the table."""
    ran = table.groupby("agent", sort=False)["memory_mode"].agg(set)
    return [str(agent) for agent, have in ran.items() if have >= set(modes)]


def _in_second_pass(table: pd.DataFrame) -> pd.Series:
    return table["memory_mode"].map(lambda mode: second_pass(mode) is not None).astype(bool)


def _rank(names: pd.Series, order: tuple[str, ...]) -> pd.Series:
    return names.map({name: at for at, name in enumerate(order)}).fillna(len(order))


def _known_cases(records: pd.DataFrame) -> pd.DataFrame:
    """Return the cases some arm has a row for, and the positions no arm has one for (population ``unknown``)."""
    cases = records[[field for field in CASE_FIELDS if field in records]].drop_duplicates("case_id")
    if cases.empty:
        return cases
    grid = pd.MultiIndex.from_product(
        [cases["shift_id"].unique(), range(1, int(cases["position"].max()) + 1)], names=["shift_id", "position"]
    )
    holes = grid.difference(pd.MultiIndex.from_frame(cases[["shift_id", "position"]])).to_frame(index=False)
    holes = holes.assign(case_id=holes["shift_id"] + "/" + holes["position"].astype(str), population="unknown")
    return pd.concat([cases, holes], ignore_index=True) if len(holes) else cases


def require_one_version(records: pd.DataFrame) -> None:
    """Raise MixedRecords, naming the field and its values, where rows differ in version, shift configuration or split.

    Each agent must also have met one kind of customer (``user``).
    """
    for field in VERSION_FIELDS:
        if field in records and len(found := sorted(map(str, records[field].dropna().unique()))) > 1:
            raise MixedRecords(f"{field} differs within one table: {', '.join(found)}; compare like with like")
    if "user" in records:
        for agent, users in records.groupby("agent")["user"].unique().items():
            if len(found := sorted(map(str, users[pd.notna(users)]))) > 1:
                raise MixedRecords(f"user differs within agent {agent}: {', '.join(found)}; keep one of them")


def missing_shifts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the shifts that are not wholly scored, one row per arm and shift: scored, unscored, owed, planned."""
    counts = pd.crosstab([table[field] for field in ("agent", "memory_mode", "shift_id")], table["outcome"])
    counts = counts.reindex(columns=["scored", "unscored", "owed"], fill_value=0).rename_axis(columns=None)
    counts["planned"] = counts.sum(axis=1)
    return counts[counts["scored"] < counts["planned"]].reset_index()


def require_complete(table: pd.DataFrame, allow_partial: bool = False) -> str:
    """Return what a title must say about completeness: nothing, or how many planned cases are scored.

    Raises IncompleteRecords, naming the shifts, where a planned case has no score, unless ``allow_partial``.
    """
    missing = missing_shifts(table)
    if missing.empty:
        return ""
    scored, planned = int((table["outcome"] == "scored").sum()), len(table)
    if allow_partial:
        return f"PARTIAL: {scored} of {planned} planned cases scored"
    lines = [
        f"  {shift.agent}, {shift.memory_mode}, {shift.shift_id}: {shift.scored} of {shift.planned} scored"
        for shift in missing.itertuples()
    ]
    more = [f"  and {len(lines) - 10} more"] if len(lines) > 10 else []
    raise IncompleteRecords(
        f"{scored} of {planned} planned cases are scored; not complete:\n"
        + "\n".join(lines[:10] + more)
        + "\nrun the rest, or set allow_partial to report what there is"
    )


def case_metrics(table: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies and the masked transfer rate of every arm, each with its count.

    Columns: agent, memory_mode, metric, reward, value, low, high, total, scored, planned, count. ``value`` is total
    over planned and is missing unless every planned case is scored; ``low`` and ``high`` are what it would be if each
    case without a score had failed or succeeded. ``masked_`` is the testing population. The transfer rate does not
    depend on a reward (``reward`` is then ``either``), nor does the stale rate: the share of testing cases after a change of
    the recurring cause in which the fix of an earlier regime was applied; it is there where causes change. Owed cases whose population no arm knows are not in any of
    these.
    """
    wanted = [(name, population, reward, reward) for name, population in ACCURACIES.items() for reward in REWARDS]
    wanted.append(("masked_transfer_rate", "testing", "transferred", "either"))
    if {"stale", "regime"} <= set(table):
        wanted.append(("stale_rate", "testing", "stale", "either"))
    rows = []
    for arm, group in table.groupby(["agent", "memory_mode"], sort=False):
        for metric, population, column, reward in wanted:
            own = group[group["population"] == population]
            values = scores(own[own["regime"] > 0] if column == "stale" else own, column)
            if len(values):
                row = {"agent": arm[0], "memory_mode": arm[1], "metric": metric, "reward": reward}
                rows.append(row | _share(values))
    return pd.DataFrame(rows, columns=METRIC_COLUMNS)


def scores(table: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as floats, missing wherever the case is not scored.

    Raises ConfigError for a column the table lacks, naming the nearest.
    """
    check_name("metric", column, table.columns)
    return table[column].where(table["outcome"] == "scored").astype(float)


def _share(values: pd.Series) -> dict:
    planned, scored, total = len(values), int(values.count()), float(values.sum())
    return {
        "value": total / planned if scored == planned else float("nan"),
        "low": total / planned,
        "high": (total + planned - scored) / planned,
        "total": total,
        "scored": scored,
        "planned": planned,
        "count": f"{total:g} of {planned}" + (f", {scored} scored" if scored < planned else ""),
    }


def shift_rewards(table: pd.DataFrame, reward: str = "official_reward") -> pd.DataFrame:
    """Return the reward of every shift in every arm: the sum over its cases, missing unless all of them are scored.

    Columns: agent, memory_mode, shift_id, value, scored, planned, count ("7 of 8 scored"). The frozen second pass runs
    only testing cases and is left out.
    """
    table = table[~_in_second_pass(table)]
    keys = [table[field] for field in ("agent", "memory_mode", *(["trial"] if "trial" in table else []), "shift_id")]
    sums = scores(table, reward).groupby(keys, sort=False).agg(value="sum", scored="count", planned="size")
    shifts = sums.reset_index()
    shifts["value"] = shifts["value"].where(shifts["scored"] == shifts["planned"])
    shifts["count"] = shifts["scored"].astype(str) + " of " + shifts["planned"].astype(str) + " scored"
    return shifts


def suspect_cases(table: pd.DataFrame, reward: str = "official_reward") -> pd.DataFrame:
    """Return the cases that no arm solved although at least one was scored: the case, not the agents, may be at fault.

    Columns: shift_id, case_id, population, cause, scored (its runs that have a score, over arms and trials),
    agents.
    """
    table = table.assign(_score=scores(table, reward)).dropna(subset="_score")
    cases = table.groupby("case_id").agg(
        shift_id=("shift_id", "first"), population=("population", "first"), cause=("cause", "first"),
        best=("_score", "max"), scored=("_score", "size"),
        agents=("agent", lambda names: ", ".join(sorted(set(names)))),
    )  # fmt: skip
    unsolved = cases[~solved(cases["best"])].drop(columns="best").reset_index()
    return unsolved[["shift_id", "case_id", "population", "cause", "scored", "agents"]]


def solved(rewards: pd.Series) -> pd.Series:
    """Return whether each reward counts as a success: 1 within 1e-6, as in tau2's own pass^k."""
    return (rewards - 1).abs() <= 1e-6
