"""Do plans keep what they promise? Pilots are drawn, plans made of them, and each plan's power simulated in the truth."""

import numpy as np
import pandas as pd

from taulong.value.statistics.planning import plan_shifts, simulated_power

ARMS = (("pilot", "notebook"), ("pilot", "none"))
TRUTHS = 20  # times RUNS runs are simulated for the power of a plan


def power_table(
    differences: tuple[float, ...] = (0.15, 0.3), alike: tuple[float, ...] = (0.1, 0.4), pilots: tuple[int, ...] = (12, 24),
    gain: float = 0.6, none: float = 0.25, cases: int = 4, replicates: int = 12, seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Return promised against simulated power of plans, one row a planned difference, correlation and size of the pilot.

    The pilot is of an agent that gains ``gain``; the plan is for a smaller difference, which is then the truth. Columns:
    difference, alike (correlation of a shift's cases in both arms), pilot (its shifts), promised (the power wanted),
    shifts (median of the plans), power (mean over plans, simulated in the truth), kept (share of plans that reach the
    power wanted), wanted (the assurance asked for), replicates (pilots).
    """
    rows = []
    for difference in differences:
        for correlation in alike:
            for size in pilots:
                truth = np.tile([none + difference, correlation, none, correlation], (TRUTHS, 1))
                found = []
                for replicate in range(replicates):
                    rng = np.random.default_rng([seed, round(100 * correlation), size, replicate])
                    plan = plan_shifts(
                        _pilot(rng, size, cases, none, gain, correlation), *ARMS, difference, seed=replicate
                    )
                    if plan.shifts is None:
                        continue
                    power = simulated_power(truth, plan.shifts, cases, 1 - plan.level, seed + 1).mean()
                    found.append((plan.shifts, power, power >= plan.wanted, plan.wanted, plan.assurance))
                shifts, power, kept, wanted, assurance = (np.array(part) for part in zip(*found, strict=True))
                rows.append({
                    "difference": difference, "alike": correlation, "pilot": size, "promised": float(wanted[0]),
                    "shifts": float(np.median(shifts)), "power": float(power.mean()), "kept": float(kept.mean()),
                    "wanted": float(assurance[0]), "replicates": len(found),
                })  # fmt: skip
    return pd.DataFrame(rows)


def _pilot(
    rng: np.random.Generator, shifts: int, cases: int, none: float, gain: float, alike: float
) -> pd.DataFrame:  # fmt: skip
    """Return the records of a pilot: both arms of one agent, testing cases alone."""
    total, rows = 1 / alike - 1, []
    for mode, share in (("notebook", none + gain), ("none", none)):
        chance = rng.beta(share * total, (1 - share) * total, (shifts, 1))
        solved = rng.random((shifts, cases)) < chance
        rows += [
            {"agent": "pilot", "memory_mode": mode, "population": "testing", "outcome": "scored", "shift_id": f"s{shift}",
             "case_id": f"s{shift}/{case}", "position": case + 1, "official_reward": float(solved[shift, case])}
            for shift in range(shifts) for case in range(cases)
        ]  # fmt: skip
    return pd.DataFrame(rows)
