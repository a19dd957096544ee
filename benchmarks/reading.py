"""How long it takes to read a CSV file, by gapmin and by faster readers, and what these make of careful people's files.

    python benchmarks/reading.py [--rows 200000]

gapmin reads with `gapmin.read_study`: every field as text first, then kinds of columns over all files together. Arrow
and DuckDB (where it is installed) decide the kind of a column from one file. Printed are processor seconds and, of a
small file with the marks that people use, what each reader makes of its columns.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv

import gapmin

MARKS = (
    "id,chol,weight,zip,born,ill\n1,231,70.5,01234,1961-02-03,yes\n2,?,68.0,04109,1958-11-30,no\n3,-,81.2,00501,,yes\n"
)
N_COLUMNS = 20


def by_duckdb(path: Path) -> pd.DataFrame:
    """Read with DuckDB's own detection of types, on one thread."""
    import duckdb

    return duckdb.sql(f"SET threads = 1; SELECT * FROM read_csv('{path}')").df()


def by_gapmin(path: Path) -> pd.DataFrame:
    """Read as a source, the file's first rows being the target."""
    target = path.with_name(f"target-{path.name}")
    target.write_text("".join(path.read_text().splitlines(keepends=True)[:101]))
    ((X, _),) = gapmin.read_study(target, [path], label="ill").sources.values()
    return X


READERS: dict[str, Callable[[Path], Any]] = {
    "gapmin.read_study": by_gapmin,
    "pandas": pd.read_csv,
    "pandas, every field as text": lambda path: pd.read_csv(path, dtype=str, keep_default_na=False),
    "Arrow": lambda path: pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(use_threads=False)).to_pandas(),
    **({"DuckDB": by_duckdb} if importlib.util.find_spec("duckdb") else {}),
}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.csv", Path(folder) / "small.csv"
        frame = pd.DataFrame(random.normal(size=(options.rows, N_COLUMNS)).round(4)).add_prefix("x")
        frame.assign(ill=np.where(frame.x0 > 0, "yes", "no")).to_csv(large, index=False)
        small.write_text(MARKS)
        for name, reader in READERS.items():
            start = time.process_time()
            reader(large)
            print(f"{name}: {time.process_time() - start:.2f} processor seconds for {options.rows:,} x {N_COLUMNS + 1}")
        for name, reader in READERS.items():
            if reader is not by_gapmin:  # which needs more rows than these
                kinds = {str(column): str(kind) for column, kind in reader(small).dtypes.items()}
                print(f"{name}: {kinds}")


if __name__ == "__main__":
    main()
