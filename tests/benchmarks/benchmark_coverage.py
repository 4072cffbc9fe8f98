"""Write the tables of data/audit/ that say how often intervals cover the truth, and plans keep their promise.

coverage, point_coverage, ratio_coverage and power, each as .csv and .md. Run: python tests/benchmarks/benchmark_coverage.py
"""

import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from taulong.value.coverage import coverage_table, point_coverage, ratio_coverage  # noqa: E402
from taulong.value.promises import power_table  # noqa: E402


def main() -> None:
    """Simulate at full size (some minutes) and write each table, long as CSV and wide as Markdown."""
    write(coverage_table(replicates=400, seed=20_250_225), ["effect", "interval", "printed"], "coverage")
    write(point_coverage(replicates=400), ["share", "cases", "interval", "printed"], "point_coverage")
    write(ratio_coverage(replicates=200), ["notebook", "oracle", "none", "interval", "printed"], "ratio_coverage")
    write(power_table(), ["difference", "alike", "pilot"], "power", None)


def write(table: pd.DataFrame, rows: list[str], name: str, columns: str | None = "shifts") -> None:
    """Write a table and print it: a row for each of its kinds, its coverage by number of shifts or, for None, as it is."""
    folder = ROOT / "data" / "audit"
    folder.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    if columns is None:
        wide, heads = table.set_index(rows), list(table.columns.drop(rows))
    else:
        wide = table.pivot(index=rows, columns=columns, values="coverage")
        wide = wide.reindex(table[rows].drop_duplicates().itertuples(index=False, name=None))
        heads = [f"{count} shifts" for count in wide.columns]
    lines = [f"| {' | '.join(rows)} | {' | '.join(heads)} |", "|---" * len(rows) + "|" + "---:|" * len(heads)]
    for key, values in zip(wide.index, wide.to_numpy(), strict=True):
        said = ["yes" if part is True else "" if part is False else str(part) for part in key]
        lines.append(
            f"| {' | '.join(said)} | {' | '.join(f'{value:.3g}' if columns is None else f'{value:.3f}' for value in values)} |"
        )
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
