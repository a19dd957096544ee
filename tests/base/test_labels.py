"""A missing label gets one sentence from every estimator: where it is, and what to do."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import is_classifier

from gapmin import boosting, linear, transfer
from gapmin.base import check_labels

ESTIMATORS = [
    getattr(part, name)
    for part in (linear, boosting, transfer)
    for name in part.__all__
    if inspect.isclass(getattr(part, name)) and hasattr(getattr(part, name), "fit")
]
SENTENCE = r"^y has {} at row 4: give every row a label, or leave the row out$"

rng = np.random.default_rng(0)
X, DOMAIN = rng.normal(size=(12, 2)), np.repeat([-1, 1], 6)
TEXTS, NUMBERS = ["a", "b"] * 6, rng.normal(size=12).tolist()


def value_called(name):
    """Return a missing value by its name in Python, numpy or pandas."""
    known = {"None": None, "nan": np.nan}
    return known[name] if name in known else getattr(pytest.importorskip("pandas"), name)


def without_fifth(labels, missing):
    return [*labels[:4], missing, *labels[5:]]


def forms(labels, missing):
    """Yield the same labels as users may have them, and how the missing one looks there."""
    gaps = without_fifth(labels, missing)
    said = str(missing)
    yield gaps, said
    yield tuple(gaps), said
    yield np.array(gaps, dtype=object), said
    yield np.array(gaps, dtype=object)[:, None], said
    yield pytest.importorskip("pandas").Series(gaps), "(nan|<NA>|None|NaT)"


def domains_of(estimator):
    return {"sample_domain": DOMAIN} if "sample_domain" in inspect.signature(estimator.fit).parameters else {}


@pytest.mark.parametrize("missing", ["None", "nan", "NA", "NaT"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_every_estimator(estimator, missing):
    model = estimator()
    for y, said in forms(TEXTS if is_classifier(model) else NUMBERS, value_called(missing)):
        with pytest.raises(ValueError, match=SENTENCE.format(said)):
            model.fit(X, y, **domains_of(model))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_classes_and_values_that_are_numbers(estimator):
    model = estimator()
    y = np.array(without_fifth([0.0, 1.0] * 6 if is_classifier(model) else NUMBERS, np.nan))
    with pytest.raises(ValueError, match=SENTENCE.format("nan")):
        model.fit(X, y, **domains_of(model))


@pytest.mark.parametrize("missing", ["None", "nan", "NA"])
@pytest.mark.parametrize("name", ["GapMTNNClassifier", "MultitaskClassifier"])
def test_networks(name, missing):
    pytest.importorskip("torch")
    from gapmin import deep

    for y, said in forms(TEXTS, value_called(missing)):
        with pytest.raises(ValueError, match=SENTENCE.format(said)):
            getattr(deep, name)(epochs=1).fit(X, y, sample_task=DOMAIN)


@pytest.mark.parametrize("missing", [None, np.nan], ids=str)
@pytest.mark.parametrize("learner", ["GapBoost", "AdaBoost", "TrAdaBoost"])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_boosters_on_dask(learner, kind, missing):
    """The row is counted over all chunks."""
    da = pytest.importorskip("dask.array")
    import dask

    import gapmin.dask

    y = np.array(without_fifth(TEXTS if kind == "Classifier" else NUMBERS, missing), dtype=object)
    booster = getattr(gapmin.dask, f"Dask{learner}{kind}")(n_estimators=1)
    X_, y_, domain = (da.from_array(each, chunks=3) for each in (X, y, DOMAIN))
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=SENTENCE.format(missing)):
        booster.fit(X_, y_, sample_domain=domain)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_texts_among_numbers(estimator):
    model = estimator()
    if is_classifier(model):
        y, said = np.array([1, "a"] * 6, dtype=object), r"y has the text 'a' and 1, which is none: write all classes as"
    else:
        y, said = without_fifth(NUMBERS, "high"), r"y has 'high' at row 4, which is no number: give numbers, or use a"
    with pytest.raises(ValueError, match=said):
        model.fit(X, y, **domains_of(model))


@pytest.mark.parametrize(
    "y",
    [
        None,
        [1, 2],
        ["a", "nan", "None"],
        np.array(["a", "nan"]),
        np.array([[1.0], [2.0]]),
        np.array([[np.nan, 1.0]]),  # several outputs are refused as such
        [[1], [1, 2]],
        [True, False],
    ],
)
def test_what_is_not_missing_is_left_alone(y):
    check_labels(y, classes=True)


def test_categories_are_left_alone():
    check_labels(pytest.importorskip("pandas").Series(["a", "b"], dtype="category"), classes=True)
