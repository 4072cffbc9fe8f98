"""Ctrl-C, SIGTERM and SIGHUP during a run: each asks to stop, and what is under way is awaited; the second drops it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""How a person, a cluster's scheduler and a closing shell end a job."""


class Interrupted(KeyboardInterrupt):
    """The work was asked to stop; ``exit_code`` as of a process that a signal ended."""

    def __init__(self, number: int = signal.SIGINT):
        self.exit_code = 128 + number
        super().__init__(signal.Signals(number).name)


class Stopping:
    """Whether the work is to stop. A handler only says so: an exception out of it could drop a case that has ended.

    Attributes:
        asked: the first signal, or None.
        dropping: a second one came.
        waits_for: says what is under way.
    """

    def __init__(self):
        self.asked: int | None = None
        self.dropping = False
        self.waits_for: Callable[[], str] = lambda: ""
        self._here = False

    def check(self) -> None:
        """Raise Interrupted when the work was asked to stop."""
        if self.asked is not None:
            raise Interrupted(self.asked)

    @contextmanager
    def case_here(self) -> Iterator[None]:
        """Have a second signal end a case that runs in this thread, which cannot look at ``dropping``."""
        self._here = True
        try:
            yield
        finally:
            self._here = False

    def ask(self, number: int, _frame=None) -> None:
        """Note a signal and say at once what is waited for."""
        if number == signal.SIGHUP and sys.stderr.isatty():  # the terminal is gone: a line to it would be an error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
        self.dropping = self.asked is not None
        self.asked = self.asked or number
        name = signal.Signals(number).name
        waiting = self.waits_for()
        if self.dropping:
            said = f"taulong: {name} again: what is under way is dropped, what has ended is kept"
        else:
            said = f"taulong: {name}: stopping{f'; waits for {waiting}; again to drop it' if waiting else ''}"
        with suppress(OSError, RuntimeError):  # RuntimeError: it came in the middle of another line
            print(said, file=sys.stderr, flush=True)
        if self.dropping and self._here:
            raise Interrupted(self.asked)


@contextmanager
def stop_requests() -> Iterator[Stopping]:
    """Give a Stopping that the signals tell; those that are ignored (``nohup``) stay so, and other threads hear none."""
    stopping = Stopping()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, stopping.ask)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_interrupts() -> None:
    """Have a worker process ignore them: the one that submits waits for its cases and keeps them."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
