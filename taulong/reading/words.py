"""Numbers as a reader takes them in: counts, shares, intervals and p values, the same in tables, answers and reports."""

import numbers
from collections.abc import Iterable
from typing import Any

from taulong.reading.markup import is_given

NOTHING = "–"
"""Where there is no value."""


def number(value: Any, digits: int = 2) -> str:
    """Return a number: a whole one with commas, a fraction with so many digits behind the point, a truth as yes or no."""
    if not is_given(value):
        return NOTHING
    if type(value).__name__.startswith("bool"):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{value:,}"
    return _minus(f"{value:,.{digits}f}")


def of(part: Any, whole: Any) -> str:
    """Return a count of a whole: ``7 of 32``."""
    return f"{_whole(part)} of {_whole(whole)}"


def _whole(value: Any) -> str:
    return number(value, 0 if float(value).is_integer() else 2)


def signed(value: float) -> str:
    """Return a difference with its sign: ``+0.75``; nothing has none."""
    return _minus(f"{value:+.2f}").replace("+0.00", "0.00")


def _minus(text: str) -> str:
    """Return a number with a minus sign in place of a hyphen, and nothing without a sign."""
    return text.replace("-", "" if float(text.replace(",", "")) == 0 else "\u2212")


def interval(value: Any, low: Any, high: Any, difference: bool = False) -> str:
    """Return a value with its interval: ``+0.75 [+0.61, +0.89]``; without limits the value alone."""
    told = signed if difference else number
    if not is_given(value):
        return NOTHING
    if not is_given(low) or not is_given(high):
        return told(float(value))
    return f"{told(float(value))} [{told(float(low))}, {told(float(high))}]"


def p_value(p: Any) -> str:
    """Return a p value as journals print it: ``.012``, ``< .001``, ``1.00``."""
    if not is_given(p):
        return NOTHING
    if p < 0.001:
        return "< .001"
    text = f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
    return text.removeprefix("0")


def p_phrase(p: float) -> str:
    """Return a p value in a sentence: ``p < .001``, ``p = .012``."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def listed(names: Iterable[Any], last: str = "and") -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    names = [str(name) for name in names]
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "none"
