"""The errors a user can mend; the console script prints each as one line."""

import difflib
from collections.abc import Iterable


class TauLongError(ValueError):
    """Base of all: what, where, the value, what is accepted and the near match."""


class BackendError(TauLongError):
    """tau2 is missing, or what is installed under its name is another package."""


class ConfigError(TauLongError):
    """A configuration or parameter that cannot be used."""


class DataError(TauLongError):
    """A file that is missing, damaged, foreign, or does not fit the configuration."""


class RunError(TauLongError):
    """A run that cannot go on, or not beside another one; what it has come to is kept."""


def near(word: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown word: the near match, or else all that are known."""
    known = [str(name) for name in known]
    close = difflib.get_close_matches(str(word), known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"accepted: {', '.join(known) or 'nothing yet'}"


def check_name(field: str, value: str, known: Iterable[str]) -> str:
    """Return the value; raises ConfigError when it is none of the known names."""
    known = list(known)
    if value not in known:
        raise ConfigError(f"{field}: {value!r} is not one of {', '.join(known)}; {near(value, known)}")
    return value


def check_integer(field: str, value: int, low: int, high: int | None = None) -> int:
    """Return the value; raises ConfigError when it is no integer in the range (a bool is none)."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        raise ConfigError(
            f"{field}: {value!r} is not an integer "
            + (f"of at least {low}" if high is None else f"from {low} to {high}")
        )
    return value
