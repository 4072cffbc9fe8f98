"""How long the reader of the frame takes for a tree of many small files: python tests/benchmarks/benchmark_frame.py"""

import tempfile
import time
from pathlib import Path

from taulong.frame.delta import compare
from taulong.frame.manifest import Manifest, tree_manifest

FILES = 100_000


def main() -> None:
    """Print the seconds for reading, packing and comparing a tree of 100,000 files in 1,000 folders."""
    with tempfile.TemporaryDirectory() as root:
        for number in range(FILES):
            folder = Path(root) / f"{number % 1000:03}"
            folder.mkdir(exist_ok=True)
            (folder / f"{number}.txt").write_text(f"file {number}\n")
        begin = time.perf_counter()
        manifest = tree_manifest([root])
        read = time.perf_counter()
        packed = manifest.packed()
        put = time.perf_counter()
        assert not compare(manifest, Manifest.unpacked(packed))
        done = time.perf_counter()
    print(f"entries: {len(manifest.entries)}, problems: {len(manifest.problems)}")
    print(
        f"read {read - begin:.1f} s, packed {put - read:.1f} s into {len(packed):,} bytes, compared {done - put:.1f} s"
    )


if __name__ == "__main__":
    main()
