"""How often intervals cover the truth, by simulation: the one this suite uses, beside three that look reasonable.

Pairs of arms are drawn with a known mean difference. A shift has ``cases`` testing cases; what it shares makes its
pairs alike, and that is what an interval which ignores shifts gets wrong.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

from taulong.value.statistics.intervals import cluster_interval, share_interval


def smooth(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): normal scores, a gain of 0.3 that differs smoothly between shifts.

    The intra-shift correlation of the paired differences is 0.2. ``shape`` is (replicates, shifts, cases).
    """
    shift = (*shape[:2], 1)
    base, gain = rng.normal(0.4, 0.35, shift), rng.normal(0.3, np.sqrt(0.125), shift)
    return base + gain + rng.normal(0, 0.5, shape), base + rng.normal(0, 0.5, shape), 0.3


def lumpy(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): solved or not, the fix kept in half of the shifts (0.95, else 1/4)."""
    kept = rng.random((*shape[:2], 1)) < 0.5
    return (rng.random(shape) < np.where(kept, 0.95, 0.25)) * 1.0, (rng.random(shape) < 0.25) * 1.0, 0.35


def equal(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): the same agent twice; shifts differ in difficulty, the arms do not."""
    chance = rng.beta(2, 2, (*shape[:2], 1))
    return (rng.random(shape) < chance) * 1.0, (rng.random(shape) < chance) * 1.0, 0.0


def rare(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): solved without memory, and lost with it in 3 cases of 100, as lookalikes may be."""
    return (rng.random(shape) >= 0.03) * 1.0, np.ones(shape), -0.03


def clustered_t(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of t with C - 1 degrees of freedom on the shifts' mean paired differences."""
    return cluster_interval((notebook - none).mean(axis=-1), level)


def cluster_bootstrap(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return percentile limits of the mean paired difference over 999 resamples of shifts."""
    means = (notebook - none).mean(axis=-1)
    count = means.shape[-1]
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=999)
    resampled = means @ draws.T / count
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


def not_clustered(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of t on the paired differences as if every case were a replication."""
    difference = notebook - none
    return cluster_interval(difference.reshape(len(difference), -1), level)


def one_baseline(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of t on shift means where ``none`` ran in the first shift only and is subtracted from all."""
    return cluster_interval((notebook - none[:, :1]).mean(axis=-1), level)


EFFECTS = (smooth, lumpy, equal, rare)
INTERVALS = (clustered_t, cluster_bootstrap, not_clustered, one_baseline)


def coverage_table(
    shifts: tuple[int, ...] = (5, 10, 20), cases: int = 4, replicates: int = 4000, level: float = 0.95, seed: int = 0,
    effects: tuple[Callable, ...] = EFFECTS, intervals: tuple[Callable, ...] = INTERVALS,
) -> pd.DataFrame:  # fmt: skip
    """Return the share of replicates whose interval covers the true difference, one row per effect, shifts and
    interval.

    Columns: effect, shifts, cases, interval, level, coverage, error (binomial standard error of the coverage), width
    (mean), replicates. All intervals see the same data.
    """
    rows = []
    for effect in effects:
        for count in shifts:
            rng = np.random.default_rng([seed, EFFECTS.index(effect) if effect in EFFECTS else len(EFFECTS), count])
            notebook, none, truth = effect(rng, (replicates, count, cases))
            for interval in intervals:
                low, high = interval(notebook, none, level, seed)
                # limits of arms that agree in every shift are equal up to rounding: this suite then gives no interval
                covered = float(np.mean((low <= truth + 1e-12) & (truth - 1e-12 <= high)))
                rows.append({
                    "effect": effect.__name__, "shifts": count, "cases": cases, "interval": interval.__name__,
                    "level": level, "coverage": covered, "error": float(stats.binom.std(replicates, covered) / replicates),
                    "width": float(np.mean(high - low)), "replicates": replicates,
                })  # fmt: skip
    return pd.DataFrame(rows)


def point_coverage(
    shares: tuple[float, ...] = (0.25, 0.5, 0.9, 0.97), shifts: tuple[int, ...] = (5, 10, 20), level: float = 0.95
) -> pd.DataFrame:  # fmt: skip
    """Return how often a point's interval covers its share, a shift giving one case to it: exactly, by the binomial.

    Columns: share, shifts, interval (``wilson``, which the curves use, and ``bootstrap``, the percentiles of resampled
    shifts), level, coverage.
    """
    rows = []
    for share in shares:
        for count in shifts:
            wins = np.arange(count + 1)
            chance = stats.binom.pmf(wins, count, share)
            tails = np.array([(1 - level) / 2, (1 + level) / 2])
            limits = {
                "wilson": np.array([share_interval(won / count, count, level) for won in wins]),
                "bootstrap": stats.binom.ppf(tails, count, wins[:, None] / count) / count,
            }
            for interval, (low, high) in ((name, both.T) for name, both in limits.items()):
                covered = float(chance[(low <= share) & (share <= high)].sum())
                rows.append(
                    {"share": share, "shifts": count, "interval": interval, "level": level, "coverage": covered}
                )
    return pd.DataFrame(rows)
