"""What is said of a source's columns is said of the columns that its owner knows."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin.study import read_study  # noqa: E402
from gapmin.study.findings import source_findings  # noqa: E402


def wines(rng, n_rows):
    alcohol, sugar = rng.normal(11, 1.2, size=n_rows), rng.normal(size=n_rows)
    colour = rng.choice(["red", "white", "rose"], size=n_rows).astype(object)
    price = 3 * alcohol + 2 * sugar + (colour == "red") + rng.normal(size=n_rows)
    noise = rng.normal(5, 1, size=n_rows)
    return pd.DataFrame({"alcohol": alcohol, "sugar": sugar, "noise": noise, "colour": colour, "price": price})


def said_of(source, target=None, label="price"):
    target = wines(np.random.default_rng(1), 60) if target is None else target
    return "; ".join(source_findings(read_study(target, [source], label), 0)[0])


@pytest.fixture
def source():
    return wines(np.random.default_rng(2), 200)


@pytest.mark.parametrize("name", ["alcohol", "sugar"])
@pytest.mark.parametrize("factor", [7.9, 1 / 7.9])
def test_another_unit_is_found_also_where_values_lie_around_zero(source, name, factor):
    source[name] *= factor
    said = said_of(source)
    assert f"another unit: '{name}'" in said
    assert said.count("another unit") == 1


@pytest.mark.parametrize("seed", range(8))
def test_the_same_units_are_no_others(seed):
    """With gaps, rare categories and whole numbers in both files."""
    rng = np.random.default_rng(seed)
    target, source = wines(rng, 40), wines(rng, 200)
    for frame in (target, source):
        frame["doors"] = rng.integers(2, 6, size=len(frame)).astype(float)
        frame.loc[rng.random(len(frame)) < 0.1, ["sugar", "doors"]] = np.nan
        frame.loc[rng.random(len(frame)) < 0.1, "colour"] = None
    assert said_of(source, target) == ""


def test_other_categories_are_found(source):
    source["colour"] = source["colour"].map({"red": "rot", "white": "weiss", "rose": "rosé"})
    assert said_of(source) == "categories that the target does not have: 'colour'"


def test_a_constant_counts_where_the_column_matters(source):
    assert said_of(source.assign(alcohol=0.0)) == "constant in the source alone: 'alcohol'"
    assert said_of(source.assign(noise=0.0)) == ""
    labels = {"price": np.where(source["price"] > source["price"].median(), "high", "low")}
    target = wines(np.random.default_rng(1), 60)
    target["price"] = np.where(target["price"] > target["price"].median(), "high", "low")
    assert said_of(source.assign(alcohol=0.0, noise=0.0, **labels), target) == (
        "constant in the source alone: 'alcohol'"
    )


def test_a_handful_of_rows_is_constant_by_accident(source):
    """So is a category of theirs that the target lacks: a correction is not to be asked for."""
    few = source[:4].assign(alcohol=0.0, colour="amber")
    assert said_of(few) == ""
    many = said_of(source[:12].assign(alcohol=0.0, colour="amber"))
    assert "constant in the source alone: 'alcohol'" in many
    assert "'colour'" in many


def test_columns_of_the_preparation_are_not_spoken_of(source):
    """A gap in one file makes a column that says so; the other file has the same value in it throughout."""
    source.loc[::5, ["alcohol", "sugar"]] = np.nan
    source.loc[source["colour"] == "rose", "colour"] = None
    assert said_of(source) == ""
