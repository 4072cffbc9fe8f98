"""``taulong completion``: what a shell reads to complete the command: ``eval "$(taulong completion bash)"``."""

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``taulong completion``."""
    parser.add_argument("shell", choices=SHELLS, help="the shell; put its line into the file the shell starts with")


def run(arguments: argparse.Namespace) -> int:
    """Print the completion of a shell; return 0."""
    import argcomplete

    print(argcomplete.shellcode(["taulong"], shell="bash" if arguments.shell == "zsh" else arguments.shell))
    return 0
