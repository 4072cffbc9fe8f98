"""A bar where somebody looks on, and nothing where the output is kept."""

import sys
from types import SimpleNamespace

import pytest

from taulong.progress import progress_bar


class Terminal:
    """A stream that says whether it is a terminal and keeps what is written."""

    def __init__(self, is_terminal: bool):
        self.is_terminal, self.written = is_terminal, ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.written += text

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("is_terminal", "front_end", "show", "places"),
    [
        (True, None, True, "err"),
        (False, None, True, ""),
        (False, True, True, "out"),
        (False, False, True, ""),
        (True, True, False, ""),
    ],
    ids=["terminal", "pipe", "live notebook", "batch notebook", "switched off"],
)
def test_where_a_bar_is_drawn(monkeypatch, is_terminal, front_end, show, places):
    out, err = Terminal(False), Terminal(is_terminal)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    shell = None if front_end is None else SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=front_end))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress_bar(3, show=show) as shown:
        shown.update(3)
    assert ("3/3" in err.written, "3/3" in out.written or bool(out.written)) == (places == "err", places == "out")
    if places == "out":
        assert out.written.rsplit("\r", 2)[-1].strip() == ""  # wiped: nothing of it is kept
