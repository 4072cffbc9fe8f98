"""Write data/audit/coverage.csv and .md: how often each interval covers the truth.

Run: python tests/benchmarks/benchmark_coverage.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from taulong.coverage import coverage_table  # noqa: E402


def main() -> None:
    """Simulate at full size (some seconds) and write the table, long as CSV and wide as Markdown."""
    table = coverage_table(replicates=20_000, seed=20_250_225)
    folder = ROOT / "data" / "audit"
    folder.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(folder / "coverage.csv", index=False, lineterminator="\n")
    wide = table.pivot(index=["effect", "interval"], columns="shifts", values="coverage")
    wide = wide.reindex(table[["effect", "interval"]].drop_duplicates().itertuples(index=False, name=None))
    lines = ["| effect | interval | " + " | ".join(f"{count} shifts" for count in wide.columns) + " |"]
    lines.append("|---|---|" + "---:|" * len(wide.columns))
    for key, row in zip(wide.index, wide.to_numpy()):
        lines.append(f"| {' | '.join(key)} | {' | '.join(f'{value:.3f}' for value in row)} |")
    (folder / "coverage.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
