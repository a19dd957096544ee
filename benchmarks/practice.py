"""What people wait for: one fit of `TransferClassifierCV`, `gapmin compare` on a small study, and on a million rows.

Times are of this machine at this moment. The memory is that of the main process with its imports; of the large study
also as a multiple of its float64 matrix.

    python benchmarks/practice.py --rows 1000000
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from gapmin import TransferClassifierCV

N_COLUMNS = 20


def write_csv(path: Path, n_rows: int, seed: int, shift: float) -> None:
    """Write numbers and a label of two classes, a block at a time."""
    random = np.random.default_rng(seed)
    for start in range(0, n_rows, 100_000):
        X = random.normal(shift, size=(min(100_000, n_rows - start), N_COLUMNS)).round(4)
        score = X[:, 0] * X[:, 1] + X[:, 2:6].sum(axis=1) + random.normal(size=len(X))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)])
        frame["y"] = np.where(score > 4 * shift, "yes", "no")
        frame.to_csv(path, index=False, mode="w" if start == 0 else "a", header=start == 0)


def compare(folder: Path, n_rows: int) -> tuple[float, float]:
    """Return the seconds and the peak bytes of the main process of `gapmin compare` with so many source rows."""
    write_csv(folder / "target.csv", 100, 0, 0.0)
    write_csv(folder / "source.csv", n_rows, 1, 0.1)
    command = [
        str(Path(sys.executable).parent / "gapmin"),
        "compare",
        "--target",
        "target.csv",
        "--source",
        "source.csv",
    ]
    command += ["--label", "y", "--report", "report.html", "--json"]
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            peak = max(peak, 1024 * int(found[1]) if found else 0)
            time.sleep(0.05)
    if process.returncode:
        sys.exit(f"gapmin compare ended with {process.returncode}")
    return time.perf_counter() - start, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="source rows of the large study")
    options = parser.parse_args()
    X, y = make_classification(2000, 100, n_informative=20, random_state=0)
    start = time.perf_counter()
    TransferClassifierCV(n_jobs=2, random_state=0).fit(X, y, sample_domain=np.repeat([-1, 1], [100, 1900]))
    print(f"one fit, 2,000 x 100, two processes: {time.perf_counter() - start:.1f} s", flush=True)
    for n_rows in (2000, options.rows):
        with tempfile.TemporaryDirectory() as folder:
            seconds, peak = compare(Path(folder), n_rows)
        matrix = 8 * N_COLUMNS * (n_rows + 100)
        times = f", {peak / matrix:.1f} times the matrix" if n_rows == options.rows else ""
        said = f"gapmin compare, {n_rows:,} + 100 rows x {N_COLUMNS}: {seconds:.1f} s, peak {peak / 1e6:.0f} MB{times}"
        print(said, flush=True)


if __name__ == "__main__":
    main()
