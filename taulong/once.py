"""A value worked out once a process: whichever thread asks first works it out, the others wait for it."""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_working = RLock()  # one for all: what is asked for while a value is worked out is asked by the same thread


def once(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that works its value out once for each set of (hashable) arguments, and keeps it.

    ``functools.cache`` lets every thread that comes before the first is done work the value out too: sixteen shifts that
    start at once would parse tau2's tasks sixteen times.
    """
    values: dict[tuple, R] = {}

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, tuple(sorted(kwargs.items())))
        if key not in values:
            with _working:
                if key not in values:
                    values[key] = function(*args, **kwargs)
        return values[key]

    asked.kept = values  # type: ignore[attr-defined]  # for whoever asks what is there already
    return asked
