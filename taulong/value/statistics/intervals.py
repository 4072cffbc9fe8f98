"""Intervals of a mean over shifts, of a share, and of a ratio of two means."""

import math

import numpy as np
from scipy import stats

from taulong.errors import DataError


def cluster_interval(means: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of Student's t interval with C - 1 degrees of freedom, C cluster means along the last axis."""
    means = np.asarray(means, float)
    half = stats.t.ppf((1 + level) / 2, means.shape[-1] - 1) * stats.sem(means, axis=-1)
    return means.mean(axis=-1) - half, means.mean(axis=-1) + half


def share_interval(value: float, count: float, level: float = 0.95) -> tuple[float, float]:
    """Return the limits of Wilson's score interval (1927) for a share ``value`` of ``count`` clusters, within [0, 1].

    A cluster may hold several cases: a mean of shares with a given expectation varies at most as much as a yes or no
    with the same expectation, so that the interval is then wide rather than narrow. It has width also where all agree.
    """
    squared = stats.norm.ppf((1 + level) / 2) ** 2 / count
    centre, spread = (value + squared / 2) / (1 + squared), value * (1 - value) / count + squared / (4 * count)
    half = math.sqrt(squared * count * spread) / (1 + squared)
    return max(0.0, centre - half), min(1.0, centre + half)


def fieller(numerator: np.ndarray, denominator: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Return (ratio of means, low, high) of paired cluster means, by Fieller's theorem with t(C-1).

    Raises DataError where the denominator's own interval covers 0, so that the set of ratios is unbounded.
    """
    count = len(numerator)
    top, bottom = float(np.mean(numerator)), float(np.mean(denominator))
    quantile = stats.t.ppf((1 + level) / 2, count - 1) ** 2 / count
    spread = np.cov(numerator, denominator)
    a = bottom**2 - quantile * spread[1, 1]
    if a <= 0:
        raise DataError("the interval of the denominator covers 0: the ratio has no bounded interval")
    b = top * bottom - quantile * spread[0, 1]
    c = top**2 - quantile * spread[0, 0]
    root = math.sqrt(max(b**2 - a * c, 0.0))  # not negative while a > 0, but for rounding
    return top / bottom, float((b - root) / a), float((b + root) / a)
