"""Measure what the customer understands: utterances written blind of it, and what they should make it do.

Prints and writes data/audit/customer.csv and .md. Only the half for development is read; --held reads the other, which is
scored when development ends. Run: python tests/benchmarks/benchmark_customer.py [--held]
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from understanding import read_utterances, understood  # noqa: E402


def main() -> None:
    """Score one half, by kind and cause."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", action="store_true", help="score the half kept from development")
    half = "held" if parser.parse_args().held else "dev"
    rows = [row for row in read_utterances() if row["half"] == half]
    table = pd.DataFrame({"kind": row["kind"], "cause": row["cause"], "right": understood(row)} for row in rows)
    counts = table.groupby(["kind", "cause"], sort=True)["right"].agg(right="sum", of="size").reset_index()
    whole = table.groupby("kind")["right"].agg(right="sum", of="size").reset_index().assign(cause="all")
    counts = pd.concat([counts, whole])[["kind", "cause", "right", "of"]].assign(half=half)
    counts["share"] = (counts["right"] / counts["of"]).round(3)
    folder = ROOT / "data" / "audit"
    counts.to_csv(folder / "customer.csv", index=False, lineterminator="\n")
    (folder / "customer.md").write_text(counts.to_markdown(index=False) + "\n", encoding="utf-8")
    print(counts.to_string(index=False))


if __name__ == "__main__":
    main()
