"""``taulong info``: the versions that a result depends on."""

import argparse
import platform

import taulong


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no arguments."""


def run(args: argparse.Namespace) -> int:
    """Print the versions of taulong, Python and tau2, and the digest of tau2's telecom data; return 0."""
    from taulong.backend import installation

    tau2 = installation()
    print(f"taulong   {taulong.__version__}")
    print(f"python    {platform.python_version()}")
    print(f"tau2      {tau2.distribution} {tau2.version}")
    print(f"telecom   {tau2.data_digest}")
    return 0
