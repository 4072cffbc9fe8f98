"""TauLong: does memory help a customer-service agent, and does the reward see what the agent did?

Importing this package is cheap: tau2 is loaded by :mod:`taulong.backend`, on first use.
"""

import sys

__version__ = "0.1.0"

SUPPORTED_PYTHONS = ((3, 11), (3, 13))


def check_python(version=None):
    """Raise ``SystemExit`` with the remedy when this Python is outside 3.11 to 3.13.

    Kept free of newer syntax, so that an old interpreter reaches the sentence instead of a SyntaxError.
    """
    version = tuple(version or sys.version_info)[:2]
    lowest, highest = SUPPORTED_PYTHONS
    if not lowest <= version <= highest:
        raise SystemExit(
            "taulong needs Python %d.%d to %d.%d; this is Python %d.%d. "
            "Create the environment with a supported interpreter, for example: make PYTHON=python3.12"
            % (lowest + highest + version)
        )


check_python()

from taulong import moved  # noqa: E402  newer syntax, after the check

moved.install()
