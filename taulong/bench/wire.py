"""What crosses between the processes of verifiers: its worker pools speak msgpack, which holds less than JSON does."""

import math
from typing import Any

HIGHEST = 2**63 - 1


def wire_safe(value: Any) -> Any:
    """Return a value of JSON types in which everything msgpack and JSON can both hold is as it was, and the rest is text.

    A model may write an integer of any length, a number that is none, or half of a surrogate pair; one such argument
    would end the worker, and with it every rollout that the worker runs.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -HIGHEST <= value <= HIGHEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {str(wire_safe(key)): wire_safe(item) for key, item in value.items()}
    return [wire_safe(item) for item in value]
