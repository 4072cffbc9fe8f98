"""The console script ``taulong``: which command is in which module, and what an error looks like."""

import argparse
import importlib
import os
import sys
import textwrap
from collections.abc import Iterator

import taulong
from taulong.errors import ConfigError, TauLongError, near
from taulong.keys import is_key_name, scrub

# Command -> (one line of help, module). A module offers add_arguments(parser) and run(args) -> exit code. Only the
# module of the command that was typed is imported, and before `--help` is answered: it must import tau2 (that is,
# taulong.backend, or a module that does) and other heavy packages inside run, not at its top.
COMMANDS = {
    "reproduce": ("do the main job: shifts, runs, notebooks and figures at full size", "taulong.batch.reproduction"),
    "generate": ("generate a set of shifts", "taulong.shifts.command"),
    "run": ("execute a set of shifts by agents under memory modes", "taulong.runs.command"),
    "show": (
        "print one case of a run: the conversation, the notebook, what graders object to",
        "taulong.reading.show",
    ),
    "audit": ("what the reward can and cannot see, over tau2's telecom tasks", "taulong.audit.tables"),
    "regrade": ("every verdict on finished tau2 result files", "taulong.regrade.command"),
    "frame": ("whether runs in Inspect or Harbor kept to what their task needs", "taulong.harness.command"),
    "import": ("make a run folder of rollouts that verifiers has written", "taulong.bench.traces"),
    "sweep": ("run notebooks over points of their parameters", "taulong.batch.sweeps"),
    "notebook": ("run a notebook in batch, with other parameters", "taulong.batch.notebooks"),
    "rerun": ("rerun all notebooks at full size into a folder of their own", "taulong.batch.reruns"),
    "report": ("what memory was worth in runs, as one HTML file to send", "taulong.reading.report"),
    "view": ("a run as a page to browse: every case, every conversation", "taulong.reading.view"),
    "completion": ("print the completion of this command for bash, zsh or fish", "taulong.completion"),
    "info": ("which taulong, Python and tau2 these are", "taulong.info"),
}


class Help(argparse.HelpFormatter):
    """argparse's, which names every default and breaks no word."""

    def _get_help_string(self, action):
        said, value = action.help or "", action.default
        nothing = value is None or isinstance(value, bool) or value in ("", [], argparse.SUPPRESS)
        if nothing or not action.option_strings or "default" in said:
            return said
        told = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        return f"{said} (default {told.replace('%', '%%')})".strip()

    def _split_lines(self, text, width):
        return textwrap.wrap(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False)

    def _fill_text(self, text, width, indent):
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))


class Parser(argparse.ArgumentParser):
    """argparse's, whose errors repeat no key that was typed by mistake, and whose lists may be written with commas."""

    def __init__(self, *args, **options):
        super().__init__(*args, **{"formatter_class": Help, **options})

    def parse_known_args(self, args=None, namespace=None):
        """Parse as argparse does; raise ConfigError for an option that it does not know and that looks like a key."""
        namespace, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            option = word.partition("=")[0]
            if option.startswith("--") and is_key_name(option.strip("-")):
                raise ConfigError(
                    f"{option}: looks like a key; keys come from the environment only, e.g. OPENAI_API_KEY"
                )
        for action in self._actions:
            values = getattr(namespace, action.dest, None)
            if action.nargs == "+" and action.option_strings and isinstance(values, list):
                parts = [part for value in values for part in (value.split(",") if isinstance(value, str) else [value])]
                setattr(namespace, action.dest, [part for part in parts if part])
        return namespace, unknown

    def error(self, message):
        """Print usage and the message, without keys, and exit with 2."""
        super().error(scrub(message))


def _fill(command: argparse.ArgumentParser, module_name: str) -> None:
    module = importlib.import_module(module_name)
    module.add_arguments(command)
    command.set_defaults(run=module.run)


def command_parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each command's name and its parser, as the documentation shows them."""
    for name, (summary, module_name) in COMMANDS.items():
        parser = Parser(prog=f"taulong {name}", description=summary[0].upper() + summary[1:] + ".")
        _fill(parser, module_name)
        yield name, parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 the command's own no, 2 wrong input, 130 interrupted.

    taulong's own errors, and files that cannot be read or written, are one line on stderr; any other exception is a
    defect and keeps its traceback.
    """
    argv = sys.argv[1:] if argv is None else argv
    if "_ARGCOMPLETE" in os.environ:
        argv = os.environ.get("COMP_LINE", "").split()[1:]
    elif argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    typed = next((word for word in argv if not word.startswith("-")), None)
    parser = Parser(prog="taulong", description=taulong.__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"taulong {taulong.__version__}")
    if typed and typed not in COMMANDS and "_ARGCOMPLETE" not in os.environ:
        parser.error(f"unknown command {typed!r}; {near(typed, COMMANDS)}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    try:
        for name, (summary, module_name) in COMMANDS.items():
            command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
            if name == typed:
                _fill(command, module_name)
        if "_ARGCOMPLETE" in os.environ:
            import argcomplete

            argcomplete.autocomplete(parser)
        args = parser.parse_args(argv)
        return args.run(args)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("taulong: interrupted", file=sys.stderr)
        return 130
    except TauLongError as error:
        print(f"taulong: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None:  # not of a file
            raise
        print(f"taulong: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
