"""What the customer understands does not get worse: the half of the utterances that development may look at."""

from collections import Counter

from understanding import read_utterances, understood

# What it comes to; raise these with the parser (tests/benchmarks/benchmark_customer.py writes the table).
REQUESTS, NOTHING = 0.84, 0.91


def test_both_halves_are_balanced():
    rows = read_utterances()
    counts = Counter((row["kind"], row["cause"], row["half"]) for row in rows)
    assert len({row["text"] for row in rows}) == len(rows) >= 400
    assert {half for *_, half in counts} == {"dev", "held"}
    for kind, cause, half in counts:
        assert counts[kind, cause, half] == counts[kind, cause, "held"]


def test_requests_are_understood_and_what_must_change_nothing_changes_nothing():
    rows = [row for row in read_utterances() if row["half"] == "dev"]
    right = {kind: [understood(row) for row in rows if row["kind"] == kind] for kind in ("request", "nothing")}
    assert sum(right["request"]) / len(right["request"]) >= REQUESTS
    assert sum(right["nothing"]) / len(right["nothing"]) >= NOTHING
