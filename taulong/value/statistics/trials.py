"""pass^k of cases that were run more than once."""

import pandas as pd
from scipy import special

from taulong.errors import ConfigError, DataError
from taulong.value.metrics import scores, solved
from taulong.value.statistics.pairs import of_population


def pass_hat_k(
    table: pd.DataFrame, k: int, metric: str = "official_reward", population: str | None = None
) -> pd.DataFrame:  # fmt: skip
    """Return pass^k of every arm: the chance that k trials of a case all succeed, averaged over cases.

    The estimator is the unbiased C(successes, k) / C(trials, k) per case (Yao et al. 2024, tau-bench), trials being the
    rows of a case in an arm (column ``trial``). Columns: agent, memory_mode, k, value, cases, trials (smallest).

    Raises DataError where a case has fewer than k scored trials, naming it: n >= k is not negotiable.
    """
    if k < 1:
        raise ConfigError(f"k: {k!r}; accepted: an integer of at least 1")
    chosen = of_population(table, population)
    rewards = scores(chosen, metric)
    keys = [chosen[field] for field in ("agent", "memory_mode", "case_id")]
    trials = rewards.groupby(keys, sort=False).count()
    won = solved(rewards).groupby(keys, sort=False).sum()
    if (short := trials[trials < k]).size:
        agent, mode, case = short.index[0]
        more = f"; so do {len(short) - 1} more" if len(short) > 1 else ""
        raise DataError(f"pass^{k} needs {k} scored trials a case; {case} ({agent}, {mode}) has {short.iloc[0]}{more}")
    frame = pd.DataFrame({"value": special.binom(won, k) / special.binom(trials, k), "trials": trials})
    arms = frame.groupby(level=["agent", "memory_mode"], sort=False)
    result = arms.agg(value=("value", "mean"), cases=("value", "size"), trials=("trials", "min"))
    return result.reset_index().assign(k=k)


def fewest_trials(table: pd.DataFrame, population: str | None = None) -> int:
    """Return the number of scored trials that every case of every arm has: pass^k can be given up to this k."""
    chosen = of_population(table, population)
    scored = (chosen["outcome"] == "scored").groupby([chosen[field] for field in ("agent", "memory_mode", "case_id")])
    return int(scored.sum().min())
