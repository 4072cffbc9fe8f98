"""What a notebook leaves behind: its metrics, and the line by which its run is known to be whole."""

import json
import math
import os
from typing import Any

from taulong.paths import atomic_write, shown

SENTINEL = "metrics in "
"""How the line begins that the last cell of a notebook prints when it got there."""


def write_metrics(path: str | os.PathLike, metrics: dict[str, Any]) -> None:
    """Write metrics as strict JSON with sorted keys, in one step, and print them rounded to six digits.

    The last cell of every notebook calls this; the first printed line is what tells a run that came to its end.

    Args:
        path: the JSON file.
        metrics: numbers (numpy's too), texts, booleans and None by name; they may be nested in dicts and lists.

    Raises:
        ValueError: a number is NaN or infinite; the message names it.
        TypeError: a value is none of these.
    """
    leaves = dict(_leaves(metrics))
    for name, value in leaves.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"metrics: {name} is {value}; a metric without a value is None")
    atomic_write(path, json.dumps(metrics, indent=2, sort_keys=True, allow_nan=False, default=_plain) + "\n")
    print(f"{SENTINEL}{shown(path)}")
    width = max(map(len, leaves), default=0)
    for name, value in sorted(leaves.items()):
        print(f"  {name:<{width}}  {f'{value:.6g}' if isinstance(value, float) else value}")


def _plain(value: Any) -> Any:
    if not hasattr(value, "item"):
        raise TypeError(f"metrics: {value!r} is a {type(value).__name__}; accepted: numbers, texts, booleans, None")
    return value.item()


def _leaves(value: Any, name: str = ""):
    """Yield (dotted name, plain value) of everything in nested dicts and lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{name}[{index}]")
    else:
        yield name, value if value is None or isinstance(value, bool | int | float | str) else _plain(value)
