"""Reproducible random draws: one stream per role, the same in every process and Python version."""

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of draws from a keyed hash (BLAKE2b) of its name.

    ``Draws("placement", "eval", 1000003)`` gives the same numbers whatever ran before it, in whatever process and order;
    Python's own ``hash`` and the global generator are never used.

    Args:
        *key: the role first, then what the stream belongs to (split, seed, position, ...); JSON scalars.
    """

    def __init__(self, *key: str | int | float):
        self._key = json.dumps(key).encode()
        self._drawn = 0

    def _next(self) -> int:
        self._drawn += 1
        digest = hashlib.blake2b(self._key + b"#%d" % self._drawn, digest_size=8, person=b"taulong-v1")
        return int.from_bytes(digest.digest(), "big")

    def below(self, bound: int) -> int:
        """Return an integer in ``range(bound)``."""
        return self._next() % bound

    def between(self, low: int, high: int) -> int:
        """Return an integer in ``low..high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._next() < probability * 2**64

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a uniformly drawn order (Fisher-Yates)."""
        items = list(items)
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
        return items

    def digits(self, count: int) -> str:
        """Return ``count`` decimal digits as text."""
        return str(self.below(10**count)).zfill(count)


class Streams:
    """Streams of draws that belong to one thing and do not tell which: what is handed to agents of one's own.

    Args:
        *key: as of :class:`Draws`, without a role.
    """

    def __init__(self, *key: str | int | float):
        self._name = hashlib.blake2b(json.dumps(key).encode(), digest_size=16, person=b"taulong-v1").hexdigest()

    def stream(self, role: str) -> Draws:
        """Return the stream of a role, from its start."""
        return Draws(role, self._name)
