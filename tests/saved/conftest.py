"""Data, models, and a way to make up files whose checksums are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from gapmin.saved import save_model
from gapmin_support import crafted


@pytest.fixture(scope="session")
def rows() -> dict[str, Any]:
    """Numbers, a frame with categories and holes, labels of every kind, and where each row comes from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": rng.choice(["u", "v", "w"], 80)})
    frame["d"] = pd.Categorical(rng.choice(["p", "q"], 80))
    frame.loc[::7, "b"] = np.nan
    level = X[:, 0] + 0.3 * rng.normal(size=80)
    return {
        "X": X,
        "frame": frame,
        "binary": np.where(level > 0, "yes", "no"),
        "classes": np.array(["low", "mid", "high"])[np.digitize(level, [-0.5, 0.5])],
        "numbers": level,
        "domain": np.repeat([-1, 1, 2], [30, 25, 25]),
    }


@pytest.fixture(scope="session")
def in_pipeline() -> Callable[[Any], Pipeline]:
    """Put a model behind the preparation that a table needs."""

    def put(model: Any) -> Pipeline:
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
        prepare = ColumnTransformer([("numbers", numbers, ["a", "b"]), ("words", words, ["c", "d"])])
        return Pipeline([("prepare", prepare), ("model", model)])

    return put


@pytest.fixture
def saved_tree(rows: dict[str, Any], tmp_path: Path) -> Path:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows["X"], rows["classes"])
    return save_model(model, tmp_path / "tree.skops", schema={"columns": ["a", "b", "c"]}, about={"rows": 80})


@pytest.fixture(scope="session")
def craft() -> Callable[..., Path]:
    return crafted.craft


@pytest.fixture(scope="session")
def objects() -> Callable[[Any, str], list[dict[str, Any]]]:
    return crafted.objects
