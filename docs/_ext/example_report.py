"""The report of the cars, made at build, so that the page about reports shows what gapmin writes today."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "example-report"


def write(app: Any) -> None:
    """Write the page into a folder that is copied to the site; again only after a change of the code."""
    code = b"".join(
        path.read_bytes() for path in sorted((ROOT / "src" / "gapmin").rglob("*.*")) if path.suffix != ".pyc"
    )
    stamp, page = CACHE / "made-from.txt", CACHE / "site" / "example-report.html"
    made_from = hashlib.sha256(code).hexdigest()
    if not page.exists() or not stamp.exists() or stamp.read_text() != made_from:
        import pandas as pd

        import gapmin
        from gapmin.datasets.examples import cars

        files = cars().files
        tables = {name: pd.read_csv(io.StringIO(files[f"{name}.csv"])) for name in ("target", "europe", "usa", "fleet")}
        page.parent.mkdir(parents=True, exist_ok=True)
        gapmin.compare(tables.pop("target"), tables, label="mpg", n_jobs=-1).report(page)
        stamp.write_text(made_from)
    app.config.html_extra_path.append(str(page.parent))


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
