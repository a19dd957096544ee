"""The report of the cars, made at build, so that the page about reports shows what gapmin writes today."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "example-report"
TABLES = "--target target.csv --source europe.csv --source usa.csv --source fleet.csv"
COMMAND = f"compare {TABLES} --label mpg --report report.html"


def write(app: Any) -> None:
    """Write the page into a folder that is copied to the site; again only after a change of the code."""
    code = b"".join(
        path.read_bytes() for path in sorted((ROOT / "src" / "gapmin").rglob("*.*")) if path.suffix != ".pyc"
    )
    stamp, page = CACHE / "made-from.txt", CACHE / "site" / "example-report.html"
    made_from = hashlib.sha256(code + COMMAND.encode()).hexdigest()
    if not page.exists() or not stamp.exists() or stamp.read_text() != made_from:
        from gapmin.datasets.examples import cars

        shutil.rmtree(CACHE, ignore_errors=True)
        page.parent.mkdir(parents=True)
        for name, text in cars().files.items():
            (CACHE / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "gapmin", *COMMAND.split()]
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, encoding="utf-8")
        if done.returncode:
            raise RuntimeError(f"gapmin {COMMAND} ended with {done.returncode}: {done.stderr}")
        (CACHE / "report.html").rename(page)
        stamp.write_text(made_from)
    app.config.html_extra_path.append(str(page.parent))


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
