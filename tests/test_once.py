"""What is worked out once is worked out once, however many threads ask at the same time."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from taulong.once import once


def test_many_threads_have_one_value_worked_out():
    calls, start = [], threading.Barrier(16)

    @once
    def slow(name):
        calls.append(name)
        time.sleep(0.05)
        return object()

    def ask(_):
        start.wait()
        return slow("a")

    with ThreadPoolExecutor(16) as pool:
        values = list(pool.map(ask, range(16)))
    assert calls == ["a"]
    assert len(set(map(id, values))) == 1


def test_arguments_are_told_apart_and_an_error_is_not_kept():
    calls = []

    @once
    def value(first, second=0):
        calls.append((first, second))
        if first == "bad" and len(calls) < 2:
            raise ValueError(first)
        return len(calls)

    with pytest.raises(ValueError, match="bad"):
        value("bad")
    assert value("bad") == 2
    assert value("good", second=1) == 3
    assert value("good", second=1) == 3
    assert value("good", 2) == 4


def test_one_value_may_need_another():
    @once
    def inner():
        return 1

    @once
    def outer():
        return inner() + 1

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda function: function(), [outer, inner] * 20)) == {1, 2}


def test_no_cache_of_the_project_is_filled_by_many_threads_at_once():
    from pathlib import Path

    import taulong

    sources = sorted(Path(taulong.__file__).parent.rglob("*.py"))
    users = [path.name for path in sources if "@cache\n" in path.read_text(encoding="utf-8")]
    assert users == [], "use taulong.once.once"
