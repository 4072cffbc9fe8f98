"""Write data/audit/coverage.csv and .md, point_coverage.csv and .md: how often each interval covers the truth.

Run: python tests/benchmarks/benchmark_coverage.py
"""

import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from taulong.value.coverage import coverage_table, point_coverage  # noqa: E402


def main() -> None:
    """Simulate at full size (some seconds) and write each table, long as CSV and wide as Markdown."""
    write(coverage_table(replicates=20_000, seed=20_250_225), ["effect", "interval"], "coverage")
    write(point_coverage(), ["share", "interval"], "point_coverage")


def write(table: pd.DataFrame, rows: list[str], name: str) -> None:
    """Write a table and print it: a row for each of its intervals, a column for each number of shifts."""
    folder = ROOT / "data" / "audit"
    folder.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    wide = table.pivot(index=rows, columns="shifts", values="coverage")
    wide = wide.reindex(table[rows].drop_duplicates().itertuples(index=False, name=None))
    lines = [f"| {' | '.join(rows)} | " + " | ".join(f"{count} shifts" for count in wide.columns) + " |"]
    lines.append("|---|---|" + "---:|" * len(wide.columns))
    for key, row in zip(wide.index, wide.to_numpy(), strict=False):
        lines.append(f"| {' | '.join(map(str, key))} | {' | '.join(f'{value:.3f}' for value in row)} |")
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
