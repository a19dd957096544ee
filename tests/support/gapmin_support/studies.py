"""Small tables for studies, and what a study says of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapmin.study import Study

N = 60


def table(n: int = N, seed: int = 0, **columns: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=n), "y": rng.normal(size=n), **columns}


def kinds(made: Study) -> dict[str, str]:
    return {column.name: column.kind for column in made.schema.columns}


def notes_on(made: Study, part: str) -> list[str]:
    return [note for note in made.notes if part in note]
