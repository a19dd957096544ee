"""What units the features and labels are in: solutions follow them, from 1e-150 to 1e150, and nothing overflows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from gapmin import linear
from gapmin.linear._bilevel import InnerProblem
from gapmin.linear._problem import Problem
from gapmin.linear.solvers import LOSS_BY_NAME

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
SCORE = X @ [1.0, -0.5, 0.2] + rng.normal(size=60)
PLACE = np.repeat([-1, 1, 2], 20)
SCALES = [1e-150, 1e-30, 1e30, 1e150]
MULTITASK = ("TaskWeighting", "ParameterSharing", "TaskCovariance")
OPTIONS = {
    "InstanceWeighting": {},
    "FeatureTransfer": {},
    "HypothesisTransfer": {"hypotheses": np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), "xi": "learn"},
    "GapWeighting": {"random_state": 0},
    "GapProjection": {"n_components": 2, "random_state": 0},
    "TaskWeighting": {"relation": "learn"},
    "ParameterSharing": {"lam0": 0.02},
    "TaskCovariance": {},
}
CASES = [
    (setting, loss)
    for setting in OPTIONS
    for loss in ("logistic", "hinge", "squared", "absolute")
    if not (setting.startswith("Gap") and loss in ("hinge", "absolute"))
]


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def scores(setting, loss, x, t, *, fit_intercept=False, convert=np.asarray, **more):
    """Fit to features in units of 1 / x and labels in units of 1 / t; return the scores in the units of 1."""
    margin = loss in ("logistic", "hinge")
    kind = "Classifier" if margin else "Regressor"
    options = {**OPTIONS[setting], **more}
    if "hypotheses" in options:
        options["hypotheses"] = options["hypotheses"] * (t / x)
    model = getattr(linear, setting + kind)(loss=loss, fit_intercept=fit_intercept, **options)
    place = {"sample_task" if setting in MULTITASK else "sample_domain": PLACE}
    model.fit(convert(x * X), SCORE > 0 if margin else t * SCORE, **place)
    asked = {"sample_task": PLACE} if setting in MULTITASK else {}
    ask = model.decision_function if margin else model.predict
    return ask(convert(x * X), **asked) / t, model


def penalties(setting, x, t, q):
    """The penalties under which the solution is the same one in other units: loss^q, and the weights' own."""
    changed = {"lam": 0.01 * x**2 * t ** (q - 2)}
    if setting == "ParameterSharing":
        changed["lam0"] = 0.02 * x**2 * t ** (q - 2)
    if setting == "TaskWeighting":
        changed["lam3"] = 0.25 * t**q
    return changed


@pytest.mark.parametrize("x", SCALES)
@pytest.mark.parametrize(("setting", "loss"), CASES)
def test_solutions_follow_the_units_of_the_features(setting, loss, x):
    expected, _ = scores(setting, loss, 1.0, 1.0)
    found, _ = scores(setting, loss, x, 1.0, **penalties(setting, x, 1.0, 2))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("t", SCALES)
@pytest.mark.parametrize(("setting", "loss"), [case for case in CASES if case[1] in ("squared", "absolute")])
def test_solutions_follow_the_units_of_the_labels(setting, loss, t):
    expected, at_one = scores(setting, loss, 1.0, 1.0)
    found, model = scores(setting, loss, 1.0, t, **penalties(setting, 1.0, t, 2 if loss == "squared" else 1))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    if setting == "GapWeighting":
        assert model.n_iter_ == at_one.n_iter_
        np.testing.assert_allclose(model.sample_weight_, at_one.sample_weight_, atol=1e-6)
        np.testing.assert_allclose(model.lam2_ / t**2, at_one.lam2_, rtol=1e-6)
        np.testing.assert_allclose(model.objective_history_ / t**2, at_one.objective_history_, rtol=1e-6)


@pytest.mark.parametrize(
    ("setting", "loss", "x", "t", "convert"),
    [
        (*case, x, t, convert)
        for case in CASES
        for x, t, convert in [
            (1e30, 1.0, np.asarray),
            (1e150, 1.0, sp.csr_matrix),
            (1.0, 1e30, np.asarray),
            (1e150, 1e150, np.asarray),
        ]
        if t == 1 or case[1] in ("squared", "absolute")
    ],
)
def test_predictions_are_finite_whatever_the_penalty(setting, loss, x, t, convert):
    assert np.isfinite(scores(setting, loss, x, t, fit_intercept=True, convert=convert)[0]).all()


@pytest.mark.parametrize("level", ["domain", "instance"])
@pytest.mark.parametrize("t", [1e-30, 1e-4, 1e30])
def test_gap_weighting_takes_no_more_steps_in_other_units(level, t, monkeypatch):
    evaluate, counts = Problem.evaluate, [0]

    def counted(self, flat):
        counts[-1] += 1
        assert counts[-1] <= 2 * counts[0] or len(counts) == 1
        return evaluate(self, flat)

    monkeypatch.setattr(Problem, "evaluate", counted)
    linear.GapWeightingRegressor(level, random_state=0, max_iter=5).fit(X, SCORE, sample_domain=PLACE)
    counts.append(0)
    linear.GapWeightingRegressor(level, random_state=0, max_iter=5).fit(X, t * SCORE, sample_domain=PLACE)


@pytest.mark.parametrize("setting", OPTIONS)
def test_numbers_whose_squares_overflow_are_refused(setting):
    rows = X.copy()
    rows[7, 2] = -1e200
    place = {"sample_task" if setting in MULTITASK else "sample_domain": PLACE}
    refused = r"X has -1e\+200 at row 7, column 2: its square overflows, so divide the column by its size"
    for given in (rows, sp.csr_matrix(rows)):
        with pytest.raises(ValueError, match=refused):
            getattr(linear, setting + "Classifier")().fit(given, SCORE > 0, **place)
    labels = np.where(np.arange(60) == 5, 1e160, SCORE)
    with pytest.raises(ValueError, match=r"y has 1e\+160 at row 5: its square overflows, so divide y by its size"):
        getattr(linear, setting + "Regressor")().fit(X, labels, **place)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "absolute"])
def test_discrepancies_follow_the_units(loss, scale):
    """Of features, on a ball in their units; of labels, on a ball and with losses in theirs."""

    def discrepancy(x, t):
        labels = np.sign(SCORE) if loss in ("logistic", "hinge") else t * SCORE
        sides = [(x * X[part], labels[part]) for part in (PLACE < 0, PLACE > 0)]
        return float(linear.y_discrepancy(*sides, loss=loss, radius=2 * t / x, fit_intercept=False))

    assert discrepancy(scale, 1.0) == pytest.approx(discrepancy(1.0, 1.0), rel=1e-6)
    if loss in ("squared", "absolute"):
        worth = scale ** (2 if loss == "squared" else 1)
        assert discrepancy(1.0, scale) / worth == pytest.approx(discrepancy(1.0, 1.0), rel=1e-6)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", ["logistic", "squared", "absolute"])
def test_discrepancies_of_features_follow_their_units(loss, scale):
    def discrepancy(x):
        rows = (x * X[PLACE < 0], x * X[PLACE > 0] + x)
        return float(linear.marginal_discrepancy(*rows, loss=loss, radius=2 / x, fit_intercept=loss == "logistic"))

    assert discrepancy(scale) == pytest.approx(discrepancy(1.0), rel=0.05 if loss == "logistic" else 1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("x", [*SCALES, 1e10])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
def test_logistic_regression_follows_the_units(n_classes, x, convert):
    y = np.digitize(SCORE, [0.0] if n_classes == 2 else [-0.5, 0.5])
    expected = linear.WeightedLogisticRegression(0.001).fit(X, y).decision_function(X)
    found = linear.WeightedLogisticRegression(0.001 * x**2).fit(convert(x * X), y).decision_function(convert(x * X))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    plain = linear.WeightedLogisticRegression(0.001).fit(convert(x * X), y)
    assert np.isfinite(plain.predict_proba(convert(x * X))).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_of_huge_numbers_in_single_precision(n_classes):
    y = np.digitize(SCORE, [0.0] if n_classes == 2 else [-0.5, 0.5])
    huge = (1e37 * X).astype(np.float32)
    model = linear.WeightedLogisticRegression().fit(huge, y)
    np.testing.assert_allclose(
        model.predict_proba(huge),
        linear.WeightedLogisticRegression(1e-9).fit(X, y).predict_proba(X),
        atol=1e-3,
    )


def test_the_tolerance_of_an_inner_fit_is_one_that_can_be_met():
    inner = InnerProblem(1e5 * X, 1e5 * SCORE, LOSS_BY_NAME["squared"], 0.01)
    inner.fit(np.full(60, 1 / 60))
    assert np.abs(inner.problem.evaluate(inner.h)[1]).max() <= inner.tol < 1e-12 * 1e10 * np.abs(SCORE).max()
    assert InnerProblem(X, SCORE, LOSS_BY_NAME["squared"], 0.01).tol == 1e-9
