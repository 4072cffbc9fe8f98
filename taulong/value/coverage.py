"""How often intervals cover the truth, by simulation: those that a report prints, beside others that look reasonable.

Pairs of arms are drawn with a known mean difference. A shift has ``cases`` testing cases; what it shares makes its
pairs alike, and that is what an interval which ignores shifts gets wrong. Where a table says ``printed``, the interval is the
one this suite prints for such data.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

from taulong.value.statistics.intervals import bounded_interval, cluster_interval, weighted_interval

Draw = Callable[[np.random.Generator, tuple[int, int, int]], tuple[np.ndarray, np.ndarray, float]]
Limits = tuple[np.ndarray, np.ndarray]


# --- what is true ------------------------------------------------------------------------------------------------------


def smooth(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): normal scores, a gain of 0.3 that differs smoothly between shifts; no bounds.

    The intra-shift correlation of the paired differences is 0.2. ``shape`` is (replicates, shifts, cases).
    """
    shift = (*shape[:2], 1)
    base, gain = rng.normal(0.4, 0.35, shift), rng.normal(0.3, np.sqrt(0.125), shift)
    return base + gain + rng.normal(0, 0.5, shape), base + rng.normal(0, 0.5, shape), 0.3


def lumpy(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): solved or not, the fix kept in half of the shifts (0.95, else 1/4)."""
    kept = rng.random((*shape[:2], 1)) < 0.5
    return _yes(rng, shape, np.where(kept, 0.95, 0.25)), _yes(rng, shape, 0.25), 0.35


def equal(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): the same agent twice; shifts differ in difficulty, the arms do not."""
    chance = rng.beta(2, 2, (*shape[:2], 1))
    return _yes(rng, shape, chance), _yes(rng, shape, chance), 0.0


def rare(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): solved without memory, and lost with it in 3 cases of 100, as lookalikes may be."""
    return _yes(rng, shape, 0.97), np.ones(shape), -0.03


def ceiling(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): nearly all solved with the notebook (0.98), a quarter without."""
    return _yes(rng, shape, 0.98), _yes(rng, shape, 0.25), 0.73


def all_but_one(rng: np.random.Generator, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (notebook, none, truth): one shift in as many as are drawn loses all of its cases, the others none."""
    lost = np.broadcast_to(rng.random((*shape[:2], 1)) < 1 / shape[1], shape)
    return 1.0 - lost, np.ones(shape), -1 / shape[1]


def _yes(rng: np.random.Generator, shape: tuple[int, ...], chance: float | np.ndarray) -> np.ndarray:
    return (rng.random(shape) < chance) * 1.0


# --- intervals -----------------------------------------------------------------------------------------------------------


def bounded(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of the interval for a difference of shares: what reports print for rewards."""
    return weighted_interval(np.stack([notebook.mean(axis=-1), none.mean(axis=-1)], axis=-1), (1, -1), level)


def one_sample(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of the bounded interval on the shifts' mean differences, which lie within -1 and 1."""
    return bounded_interval((notebook - none).mean(axis=-1), -1.0, 1.0, level)


def clustered_t(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of t with C - 1 degrees of freedom on the shifts' mean paired differences."""
    return cluster_interval((notebook - none).mean(axis=-1), level)


def empirical_likelihood(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of Owen's empirical likelihood (1988) over shift means, calibrated by F(1, C - 1)."""
    means = (notebook - none).mean(axis=-1)
    count = means.shape[-1]
    limit = stats.f.ppf(level, 1, count - 1) / 2
    middle, ends = means.mean(axis=-1), []
    for end in (means.min(axis=-1), means.max(axis=-1)):
        inside, outside = middle, end
        for _ in range(40):
            at = (inside + outside) / 2
            within = _likelihood_ratio(means - at[..., None]) <= limit
            inside, outside = np.where(within, at, inside), np.where(within, outside, at)
        ends.append(inside)
    return ends[0], ends[1]


def _likelihood_ratio(distances: np.ndarray) -> np.ndarray:
    """Return half of minus twice the log empirical likelihood ratio of a mean, given the values' distances from it."""
    low, high = distances.min(axis=-1), distances.max(axis=-1)
    inside = (low < 0) & (high > 0)
    below = np.where(inside, -1 / np.where(high > 0, high, 1), 0.0) * (1 - 1e-9)
    above = np.where(inside, -1 / np.where(low < 0, low, -1), 0.0) * (1 - 1e-9)
    for _ in range(50):
        tilt = (below + above) / 2
        falling = (distances / (1 + tilt[..., None] * distances)).sum(axis=-1) > 0
        below, above = np.where(falling, tilt, below), np.where(falling, above, tilt)
    ratio = np.log1p(tilt[..., None] * distances).sum(axis=-1)
    return np.where(inside, ratio, np.where((low == 0) & (high == 0), 0.0, np.inf))


def betting(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of the hedged betting interval over shift means in their order.

    Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B (2024).
    """
    means = ((notebook - none).mean(axis=-1) + 1) / 2
    count = means.shape[-1]
    earlier = np.arange(1, count + 1)
    guess = (0.5 + np.cumsum(means, axis=-1)) / (earlier + 1)
    spread = (0.25 + np.cumsum((means - guess) ** 2, axis=-1)) / (earlier + 1)
    spread = np.concatenate([np.full((*means.shape[:-1], 1), 0.25), spread[..., :-1]], axis=-1)
    bets = np.sqrt(2 * np.log(2 / (1 - level)) / (count * spread))
    grid = np.linspace(0.0025, 0.9975, 200)
    up, down = np.zeros((*means.shape[:-1], len(grid))), np.zeros((*means.shape[:-1], len(grid)))
    for value, bet in zip(np.moveaxis(means, -1, 0), np.moveaxis(bets, -1, 0), strict=True):
        gain = value[..., None] - grid
        up += np.log1p(np.minimum(bet[..., None], 0.5 / grid) * gain)
        down += np.log1p(-np.minimum(bet[..., None], 0.5 / (1 - grid)) * gain)
    kept = np.maximum(up, down) + np.log(0.5) < np.log(1 / (1 - level))
    step = grid[1] - grid[0]
    low = grid[np.argmax(kept, axis=-1)] - step
    high = grid[len(grid) - 1 - np.argmax(kept[..., ::-1], axis=-1)] + step
    return 2 * low - 1, 2 * high - 1


def cluster_bootstrap(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return percentile limits of the mean paired difference over 999 resamples of shifts."""
    means = (notebook - none).mean(axis=-1)
    count = means.shape[-1]
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=999)
    resampled = means @ draws.T / count
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


def not_clustered(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of t on the paired differences as if every case were a replication."""
    difference = notebook - none
    return cluster_interval(difference.reshape(len(difference), -1), level)


def one_baseline(notebook: np.ndarray, none: np.ndarray, level: float, seed: int) -> Limits:
    """Return the limits of t on shift means where ``none`` ran in the first shift only and is subtracted from all."""
    return cluster_interval((notebook - none[:, :1]).mean(axis=-1), level)


EFFECTS: tuple[Draw, ...] = (smooth, lumpy, equal, rare, ceiling, all_but_one)
WITHOUT_BOUNDS = (smooth,)
NEED_BOUNDS = (bounded, one_sample, betting)
INTERVALS = (
    bounded, one_sample, clustered_t, empirical_likelihood, betting, cluster_bootstrap, not_clustered, one_baseline,
)  # fmt: skip


def coverage_table(
    shifts: tuple[int, ...] = (5, 10, 20), cases: int = 4, replicates: int = 4000, level: float = 0.95, seed: int = 0,
    effects: tuple[Draw, ...] = EFFECTS, intervals: tuple[Callable[..., Limits], ...] = INTERVALS,
) -> pd.DataFrame:  # fmt: skip
    """Return the share of replicates whose interval covers the true difference, one row per effect, shifts and
    interval.

    Columns: effect, shifts, cases, interval, printed (whether reports print it for such data), level, coverage, error
    (binomial standard error of the coverage), width (mean), replicates. All intervals see the same data; those that need
    bounds are left out where there are none.
    """
    rows = []
    for effect in effects:
        free = effect in WITHOUT_BOUNDS
        for count in shifts:
            rng = np.random.default_rng([seed, EFFECTS.index(effect) if effect in EFFECTS else len(EFFECTS), count])
            notebook, none, truth = effect(rng, (replicates, count, cases))
            for interval in intervals:
                if free and interval in NEED_BOUNDS:
                    continue
                low, high = interval(notebook, none, level, seed)
                # limits of arms that agree in every shift may be equal up to rounding
                covered = float(np.mean((low <= truth + 1e-8) & (truth - 1e-8 <= high)))
                rows.append({
                    "effect": effect.__name__, "shifts": count, "cases": cases, "interval": interval.__name__,
                    "printed": interval is (clustered_t if free else bounded), "level": level, "coverage": covered,
                    "error": float(stats.binom.std(replicates, covered) / replicates),
                    "width": float(np.mean(high - low)), "replicates": replicates,
                })  # fmt: skip
    return pd.DataFrame(rows)


# --- a point of a curve --------------------------------------------------------------------------------------------------


def point_coverage(
    shares: tuple[float, ...] = (0.25, 0.5, 0.9, 0.97), shifts: tuple[int, ...] = (5, 10, 20),
    cases: tuple[int, ...] = (1, 3), alike: float = 0.3, replicates: int = 4000, level: float = 0.95, seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Return how often a point's interval covers its share.

    A shift gives the point up to ``cases`` cases (a number drawn for each), whose correlation within a shift is ``alike``.
    Columns: share, cases, shifts, interval (``bounded``, which the curves print; ``wilson``, shifts as its count;
    ``wilson_design``, as many cases as the design effect leaves; ``bootstrap``, percentiles of resampled shifts), printed,
    level, coverage, width, replicates.
    """
    rows = []
    for share in shares:
        for size in cases:
            for count in shifts:
                rng = np.random.default_rng([seed, round(1000 * share), size, count])
                sizes = rng.integers(1, size + 1, count)
                total = 1 / alike - 1
                chance = rng.beta(share * total, (1 - share) * total, (replicates, count))
                means = rng.binomial(sizes, chance) / sizes
                for name, interval in POINT_INTERVALS.items():
                    low, high = interval(means, sizes, level, rng)
                    rows.append({
                        "share": share, "cases": size, "shifts": count, "interval": name, "printed": name == "bounded",
                        "level": level, "coverage": float(np.mean((low <= share + 1e-8) & (share - 1e-8 <= high))),
                        "width": float(np.mean(high - low)), "replicates": replicates,
                    })  # fmt: skip
    return pd.DataFrame(rows)


def _bounded_point(means: np.ndarray, sizes: np.ndarray, level: float, rng: np.random.Generator) -> Limits:
    return bounded_interval(means, 0.0, 1.0, level, sizes)


def _wilson_point(means: np.ndarray, sizes: np.ndarray, level: float, rng: np.random.Generator) -> Limits:
    return wilson(np.average(means, axis=-1, weights=sizes), sizes.sum() ** 2 / (sizes**2).sum(), level)


def _wilson_design_point(means: np.ndarray, sizes: np.ndarray, level: float, rng: np.random.Generator) -> Limits:
    """Wilson's interval with the cases over the design effect (Kish), which lies between 1 and the cases of a shift."""
    share, cases, count = np.average(means, axis=-1, weights=sizes), sizes.sum(), len(sizes)
    residual = (((means - share[:, None]) * sizes) ** 2).sum(axis=-1) / cases**2 * count / (count - 1)
    alone = share * (1 - share) / cases
    effect = np.where(alone > 0, residual / np.where(alone > 0, alone, 1), np.inf)
    return wilson(share, cases / np.clip(effect, 1, cases / count), level)


def _bootstrap_point(means: np.ndarray, sizes: np.ndarray, level: float, rng: np.random.Generator) -> Limits:
    draws = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=999)
    resampled = (means * sizes) @ draws.T / (draws @ sizes)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


POINT_INTERVALS = {
    "bounded": _bounded_point, "wilson": _wilson_point, "wilson_design": _wilson_design_point,
    "bootstrap": _bootstrap_point,
}  # fmt: skip


def wilson(share: np.ndarray, count: float | np.ndarray, level: float) -> Limits:
    """Return the limits of Wilson's score interval (1927) for shares of ``count``, which need not be a whole number."""
    squared = stats.norm.ppf((1 + level) / 2) ** 2 / count
    spread = share * (1 - share) / count + squared / (4 * count)
    centre, half = (share + squared / 2) / (1 + squared), np.sqrt(squared * count * spread) / (1 + squared)
    return np.maximum(0.0, centre - half), np.minimum(1.0, centre + half)


# --- a ratio -------------------------------------------------------------------------------------------------------------


def ratio_coverage(
    chances: tuple[tuple[float, float, float], ...] = ((0.6, 0.9, 0.25), (0.95, 0.98, 0.25), (0.98, 0.98, 0.25)),
    shifts: tuple[int, ...] = (6, 10, 20), cases: int = 4, replicates: int = 4000, level: float = 0.95, seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Return how often the interval of a share of the oracle's headroom covers it.

    Args:
        chances: of solving a case with the notebook, as oracle and without memory; the truth is
            (notebook - none) / (oracle - none).

    Columns: notebook, oracle, none, shifts, interval (``bounded``, which is printed, and ``fieller``), printed, level,
    coverage, given (the share of replicates that are not refused, over which coverage is), replicates.
    """
    rows = []
    for at, (notebook, oracle, none) in enumerate(chances):
        truth = (notebook - none) / (oracle - none)
        for count in shifts:
            rng = np.random.default_rng([seed, at, count])
            drawn = [rng.binomial(cases, chance, (replicates, count)) / cases for chance in (notebook, oracle, none)]
            shares = np.stack(drawn, axis=-1)
            apart, headroom = (1.0, -truth, truth - 1.0), (0.0, 1.0, -1.0)
            for name, limits in (("bounded", weighted_interval), ("fieller", _t_of_sum)):
                low, high = limits(shares, apart, level)
                held, given = (low <= 1e-8) & (high >= -1e-8), limits(shares, headroom, level)[0] > 0
                rows.append({
                    "notebook": notebook, "oracle": oracle, "none": none, "shifts": count, "interval": name,
                    "printed": name == "bounded", "level": level, "coverage": float(np.mean(held[given])),
                    "given": float(np.mean(given)), "replicates": replicates,
                })  # fmt: skip
    return pd.DataFrame(rows)


def _t_of_sum(shares: np.ndarray, weights: tuple[float, ...], level: float) -> Limits:
    return cluster_interval(shares @ np.array(weights), level)
