"""Columns of dates and of free text beside those of the target."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin import read_study  # noqa: E402
from gapmin.study.drift import measure_drift  # noqa: E402

N = 80


def frame(seed, year, thing):
    rng = np.random.default_rng(seed)
    days = pd.Timestamp(f"{year}-01-01") + pd.to_timedelta(rng.integers(0, 365, size=N), unit="D")
    return pd.DataFrame(
        {
            "day": days.strftime("%Y-%m-%d"),
            "text": [f"number {k} has a {thing} or {each}" for k, each in enumerate(rng.choice(["bath", "lift"], N))],
            "y": rng.normal(size=N),
        }
    )


def test_dates_and_words_that_differ_are_seen():
    target, sources = frame(0, 2020, "view"), {"same": frame(1, 2020, "view"), "other": frame(2, 1990, "cellar")}
    study = read_study(target, sources, label="y")
    found = {each.name: each for each in measure_drift(study, "target", ("same", "other"), 0)}
    day, text = found["day"], found["text"]
    assert (day.kind, text.kind) == ("date", "text")
    assert day.distance["other"] == 1
    assert day.distance["same"] < 0.5
    assert 1989.9 < day.edges[0] < 1991
    assert day.examples["target"][0] == target["day"][0]
    assert {"has", "number"} <= set(text.levels)
    assert 0 <= text.distance["same"] < text.distance["other"] < 1
