"""Intervals of a mean over shifts, and of a ratio of two: where what is averaged has bounds, and where it has none."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats

from taulong.errors import DataError

STEP = 0.15  # of the quadrature: seven decimals to 100 shifts, five at 300
HEIGHTS = np.exp(np.arange(-18.0, 10.0, STEP))


def bounded_interval(
    values: np.ndarray, low: float, high: float, level: float = 0.95, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of an interval for the mean of what lies within ``low`` and ``high``, values along the last axis.

    The lower limit imagines one more shift, with the worst value that is possible: it is the quantile at (1 - level) / 2 of
    the mean of shifts and imagined shift under weights uniform on the simplex. The upper limit mirrors it. Where each shift
    is a yes or a no this is Clopper and Pearson's interval; it has width also where all shifts agree, and
    taulong.value.coverage finds it to cover at its level or above for every distribution tried.

    Args:
        values: a number for each shift.
        weights: what a shift's number counts for (its cases); the imagined shift has their mean.

    Source: Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable,
    Mathematical Methods of Statistics (2005); Learned-Miller and Thomas (2020), arXiv:1905.06208.
    """
    values = np.asarray(values, float)
    weights = np.ones(values.shape[-1]) if weights is None else np.asarray(weights, float)
    lower = _lower_limit(values, low, level, weights)
    return lower, -_lower_limit(-values, -high, level, weights)


def _lower_limit(values: np.ndarray, bound: float, level: float, weights: np.ndarray) -> np.ndarray:
    """Return the lower limits: by halving, then by the regula falsi of Illinois."""
    below = np.full(values.shape[:-1], float(bound))
    above = np.average(values, axis=-1, weights=weights)
    wanted = (1 - level) / 2
    left, right = np.full(below.shape, -wanted), mean_tail(values, bound, above, weights) - wanted
    for turn in range(24):
        falsi = (below * right - above * left) / np.where(right > left, right - left, 1)
        at = (below + above) / 2 if turn < 4 else np.clip(falsi, np.minimum(below, above), above)
        excess = mean_tail(values, bound, at, weights) - wanted
        high = excess > 0
        left, right = np.where(high, left / (1 + (turn > 3)), excess), np.where(high, excess, right / (1 + (turn > 3)))
        below, above = np.where(high, below, at), np.where(high, at, above)
        if turn > 4 and np.max(np.abs(excess), initial=0.0) < 1e-11:
            break
    return np.round(at, 8)


def mean_tail(
    values: np.ndarray, bound: float, at: float | np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the chance that the mean of shifts and one imagined shift at ``bound`` is at most ``at``.

    The weights are uniform on the simplex: as exponentials over their sum, so that the event is that a sum of exponentials,
    each times its shift's distance from ``at``, is not positive. Its chance is the inversion of the sum's moment generating
    function along the line through the saddle point, where nothing oscillates (Daniels 1954), by the trapezoid rule in the
    logarithm of the height.
    """
    values = np.asarray(values, float)
    weights = np.ones(values.shape[-1]) if weights is None else weights
    at = np.broadcast_to(np.asarray(at, float), values.shape[:-1])
    imagined = (bound - at)[..., None] * np.mean(weights)
    distances = np.concatenate([(values - at[..., None]) * weights, imagined], axis=-1)
    scale = np.max(np.abs(distances), axis=-1, keepdims=True)
    distances = distances / np.where(scale > 0, scale, 1)
    one_sided = np.where(np.max(distances, axis=-1) <= 0, 1.0, 0.0)
    mixed = (np.min(distances, axis=-1) < 0) & (np.max(distances, axis=-1) > 0)
    return np.where(
        mixed, _chance_below_0(np.where(mixed[..., None], distances, [*[1.0] * values.shape[-1], -1.0])), one_sided
    )


def _chance_below_0(distances: np.ndarray) -> np.ndarray:
    """Return the chance that a sum of exponentials times these numbers, of both signs, is negative."""
    below, above = 1 / np.min(distances, axis=-1), 1 / np.max(distances, axis=-1)
    for _ in range(12):  # near it is enough: the integral is the same along every line between the poles
        saddle = (below + above) / 2
        rising = (distances / (1 - saddle[..., None] * distances)).sum(axis=-1) > 0
        below, above = np.where(rising, below, saddle), np.where(rising, saddle, above)
    factors = 1 - saddle[..., None] * distances
    tilted = distances / factors
    heights = HEIGHTS / np.sqrt((tilted**2).sum(axis=-1))[..., None]
    transform = np.exp(-np.log(factors).sum(axis=-1))[..., None] / (saddle[..., None] + 1j * heights)
    for shift in np.moveaxis(tilted, -1, 0):
        transform /= 1 - 1j * shift[..., None] * heights
    inverse = (transform.real * heights).sum(axis=-1) * STEP / np.pi
    return np.where(saddle < 0, 0.0, 1.0) - inverse


def weighted_interval(
    shares: np.ndarray, weights: Sequence[float] | np.ndarray, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the limits of an interval for a weighted sum of arms' mean shares, such as the difference of two.

    How far the limits are from the sum is put together from how far each arm's bounded limits are from its mean, as
    variances would be: MOVER, the method of variance estimates recovery (Zou and Donner 2008, Statistics in Medicine). The
    arms' correlation over shifts is that of the shifts and one more, imagined: in one half of it an arm solves everything
    and every other arm nothing, so that arms that agree so far are not taken to be the same.

    Args:
        shares: each shift's share in each arm, within 0 and 1: (..., shifts, arms).
        weights: one for each arm.
    """
    shares, given = np.asarray(shares, float), np.asarray(weights, float)
    return _recovered(_arm_limits(shares, level), _correlation(shares), given)


def _arm_limits(shares: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (mean, how far the lower limit is below it, how far the upper is above) of each arm."""
    low, high = bounded_interval(np.moveaxis(shares, -1, -2), 0.0, 1.0, level)
    mean = shares.mean(axis=-2)
    return mean, mean - low, high - mean


def _correlation(shares: np.ndarray) -> np.ndarray:
    """Return the arms' correlation over the shifts and an imagined one in which they differ; 0 to an arm without variance."""
    centred = shares - shares.mean(axis=-2, keepdims=True)
    products = np.einsum("...si,...sj->...ij", centred, centred)
    same = np.eye(shares.shape[-1])
    varies = np.einsum("...ii->...i", products) > 1e-9
    products = products + 0.25 * (2 * same - 1)
    spread = np.sqrt(np.einsum("...ii->...i", products))
    known = (varies[..., :, None] & varies[..., None, :]) | (same > 0)
    return np.where(known, products / (spread[..., :, None] * spread[..., None, :]), 0.0)


def _recovered(arms: tuple[np.ndarray, np.ndarray, np.ndarray], correlation: np.ndarray, weights: np.ndarray):
    mean, below, above = arms
    total = mean @ weights
    parts = [weights * np.where(weights > 0, *sides) for sides in ((below, above), (above, below))]
    down, up = (np.sqrt(np.maximum(0.0, np.einsum("...i,...ij,...j->...", part, correlation, part))) for part in parts)
    return np.round(total - down, 9), np.round(total + up, 9)


def ratio_interval(shares: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the limits of (first - third) / (second - third), arms as columns: (shifts, 3).

    They are the ratios at which the interval of ``first - ratio * second - (1 - ratio) * third`` turns from holding 0 to
    not: Fieller's way (1954) with an interval that holds near the ceiling, where his covers too seldom. The interval of
    ``second - third`` must lie above 0; otherwise the limits may be infinite.
    """
    arms, correlation = _arm_limits(shares, level), _correlation(shares)
    mean = arms[0]
    middle, limits = float((mean[0] - mean[2]) / (mean[1] - mean[2])), []
    for side, sign in ((0, -1.0), (1, 1.0)):

        def excess(ratio: float, side: int = side) -> float:
            return float(_recovered(arms, correlation, np.array([1.0, -ratio, ratio - 1.0]))[side])

        step = sign
        while excess(middle + step) * sign > 0:
            step *= 2
            if abs(step) > 1e6:
                break
        if abs(step) > 1e6:
            limits.append(sign * np.inf)
        else:
            ends = sorted((middle + step, middle))
            limits.append(round(optimize.brentq(excess, *ends, xtol=1e-11), 9) if excess(middle) else middle)
    return limits[0], limits[1]


def cluster_interval(means: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of Student's t interval with C - 1 degrees of freedom, C cluster means along the last axis."""
    means = np.asarray(means, float)
    half = stats.t.ppf((1 + level) / 2, means.shape[-1] - 1) * stats.sem(means, axis=-1)
    return means.mean(axis=-1) - half, means.mean(axis=-1) + half


def fieller(top: np.ndarray, bottom: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Return (ratio of means, low, high) of paired cluster means, by Fieller's theorem with t(C-1).

    Raises DataError where the denominator's own interval covers 0, so that the set of ratios is unbounded.
    """
    count = len(top)
    over, under = float(np.mean(top)), float(np.mean(bottom))
    quantile = stats.t.ppf((1 + level) / 2, count - 1) ** 2 / count
    spread = np.cov(top, bottom)
    a = under**2 - quantile * spread[1, 1]
    if a <= 0:
        raise DataError("the interval of the denominator covers 0: the ratio has no bounded interval")
    b = over * under - quantile * spread[0, 1]
    c = over**2 - quantile * spread[0, 0]
    root = math.sqrt(max(b**2 - a * c, 0.0))  # not negative while a > 0, but for rounding
    return over / under, float((b - root) / a), float((b + root) / a)
