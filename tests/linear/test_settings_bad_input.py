"""Every mistake is a ValueError that names the value and the remedy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

from gapmin import linear
from gapmin_support.settings import MULTITASK, TRANSFER, every_setting

KINDS = ["Classifier", "Regressor"]

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y_OF = {"Classifier": np.tile([1, -1], 15), "Regressor": rng.normal(size=30)}
TASK, DOMAIN = np.repeat([0, 1, 2], 10), np.repeat([-1, 1, 2], 10)


def places(setting):
    return {"sample_task": TASK} if setting in MULTITASK else {"sample_domain": DOMAIN}


def make(setting, kind="Classifier", **given):
    return getattr(linear, setting + kind)(**given)


def fit(setting, kind="Classifier", *, y=None, weight=None, rows=X, **given):
    return make(setting, kind, **given).fit(
        rows, Y_OF[kind] if y is None else y, **places(setting), sample_weight=weight
    )


def refuse(*parts):
    """Expect a ValueError whose message has all parts, in this order."""
    return pytest.raises(ValueError, match="(?s)" + ".*".join(parts))


every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize("setting", ["InstanceWeighting", "FeatureTransfer"])
@pytest.mark.parametrize("eta", [-0.1, 0.5, 1.0, "x"])
def test_eta_of_two_domains(setting, kind, eta):
    with refuse("'eta'", r"\[0\.0, 0\.5\)", f"Got {eta!r}"):
        fit(setting, kind, eta=eta)


@every_kind
@pytest.mark.parametrize("eta", [-0.1, 1.0, 2.0])
def test_eta_of_tasks(kind, eta):
    with refuse("'eta'", r"\[0\.0, 1\.0\)", f"Got {eta!r}"):
        fit("TaskWeighting", kind, eta=eta)


@every_setting
@every_kind
@pytest.mark.parametrize("lam", [0, -1.0, None])
def test_lam(setting, kind, lam):
    with refuse("'lam'", r"\(0\.0, inf\)", f"Got {lam!r}"):
        fit(setting, kind, lam=lam)


@every_setting
@every_kind
def test_loss(setting, kind):
    wrong = "squared" if kind == "Classifier" else "hinge"
    with refuse("'loss'", "must be", f"Got {wrong!r}"):
        fit(setting, kind, loss=wrong)


@every_kind
@pytest.mark.parametrize("gamma", [-0.1, 1.1])
def test_gamma(kind, gamma):
    with refuse("'gamma'", r"\[0\.0, 1\.0\]", f"Got {gamma}"):
        fit("InstanceWeighting", kind, gamma=gamma)


@every_kind
@pytest.mark.parametrize("name", ["lam3", "lam1"])
def test_weights_of_the_relation(kind, name):
    with refuse(f"'{name}'", "must be", r"Got -1\.0"):
        fit("TaskWeighting", kind, relation="learn", **{name: -1.0})


@every_kind
@pytest.mark.parametrize("lam0", [0.0, -2.0])
def test_lam0(kind, lam0):
    with refuse("'lam0'", "must be", f"Got {lam0}"):
        fit("ParameterSharing", kind, lam0=lam0)


# Rows, labels, weights.


@every_setting
@every_kind
def test_negative_weight(setting, kind):
    weight = np.ones(30)
    weight[7] = -2
    with refuse(r"sample_weight has -2\.0 at row 7", "at least 0"):
        fit(setting, kind, weight=weight)


@every_setting
@every_kind
def test_weights_that_sum_to_zero(setting, kind):
    with refuse("every sample_weight is zero", "positive weight"):
        fit(setting, kind, weight=np.zeros(30))


@every_setting
@every_kind
def test_weight_that_is_no_number(setting, kind):
    weight = np.ones(30)
    weight[3] = np.nan
    with refuse("sample_weight has nan at row 3", "at least 0"):
        fit(setting, kind, weight=weight)


@every_setting
@every_kind
def test_too_few_weights(setting, kind):
    with refuse("sample_weight has 29 entries for 30 rows", "one number for each row"):
        fit(setting, kind, weight=np.ones(29))


@every_kind
@pytest.mark.parametrize("setting", TRANSFER)
def test_target_without_weight(setting, kind):
    with refuse("every target row has sample_weight 0", "positive weight"):
        fit(setting, kind, weight=np.where(DOMAIN < 0, 0.0, 1.0))


@every_kind
@pytest.mark.parametrize("setting", MULTITASK)
def test_task_without_weight(setting, kind):
    with refuse("every row of task", "1", "has sample_weight 0", "leave the task out, or weigh its rows"):
        fit(setting, kind, weight=np.where(TASK == 1, 0.0, 1.0))


@every_setting
@every_kind
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers(setting, kind, value):
    rows = X.copy()
    rows[4, 1] = value
    with refuse("Input X contains", "NaN" if np.isnan(value) else "infinity"):
        fit(setting, kind, rows=rows)


@every_setting
def test_three_classes(setting):
    with refuse("Only binary classification is supported", "y has 3 classes", "OneVsRestClassifier"):
        fit(setting, y=np.tile([0, 1, 2], 10))


@every_setting
def test_one_class(setting):
    with refuse(r"y has one class \(7\)", "at least 2 classes"):
        fit(setting, y=np.full(30, 7))


@pytest.mark.parametrize("setting", MULTITASK)
def test_task_with_one_class(setting):
    y = Y_OF["Classifier"].copy()
    y[TASK == 1] = -1
    with refuse("task", "1", r"has one class \(-1\) among its 10 rows", "add rows of the other class"):
        fit(setting, y=y)


@every_setting
@every_kind
def test_labels_that_are_missing(setting, kind):
    y = Y_OF[kind].astype(float)
    y[2] = np.nan
    with refuse("y has nan at row 2", "give every row a label, or leave the row out"):
        fit(setting, kind, y=y)


# Where a row comes from.


@every_kind
@pytest.mark.parametrize("setting", TRANSFER)
def test_domains(setting, kind):
    model = make(setting, kind)
    with refuse("sample_domain has 29 entries for 30 rows", "one integer for each row"):
        model.fit(X, Y_OF[kind], sample_domain=DOMAIN[:29])
    with refuse("no target rows among 30", "negative sample_domain"):
        model.fit(X, Y_OF[kind], sample_domain=np.abs(DOMAIN))
    with refuse("sample_domain has 0 at row 0", "positive number and the target a negative one"):
        model.fit(X, Y_OF[kind], sample_domain=np.zeros(30, dtype=int))


@every_kind
@pytest.mark.parametrize("setting", MULTITASK)
def test_tasks(setting, kind):
    model = make(setting, kind)
    with refuse("sample_task has 29 entries for 30 rows", "one task for each row"):
        model.fit(X, Y_OF[kind], sample_task=TASK[:29])
    with refuse("sample_task has 2 dimensions", "one task for each row"):
        model.fit(X, Y_OF[kind], sample_task=TASK[:, None])
    with refuse("sample_task has nan at row 0", "name the task of every row"):
        model.fit(X, Y_OF[kind], sample_task=np.where(TASK == 0, np.nan, 1.0))


@pytest.mark.parametrize("setting", MULTITASK)
@pytest.mark.parametrize(
    ("kind", "method"),
    [("Regressor", "predict"), *(("Classifier", name) for name in ("predict", "decision_function", "predict_proba"))],
)
def test_tasks_at_predict(setting, kind, method):
    ask = getattr(fit(setting, kind), method)
    with refuse("sample_task is missing", "3 tasks", r"\[0, 1, 2\]", "say which one each row belongs to; to scorers"):
        ask(X)
    with refuse("unknown task", "9", "at row 1", r"fitted on \[0, 1, 2\]"):
        ask(X[:3], sample_task=[0, 9, 1])
    with refuse("sample_task has 2 entries for 3 rows", "one task for each row"):
        ask(X[:3], sample_task=[0, 1])


@every_setting
@every_kind
def test_predict_before_fit(setting, kind):
    with pytest.raises(NotFittedError, match=r"not fitted yet.*Call 'fit'"):
        make(setting, kind).predict(X)
    with pytest.raises(NotFittedError, match=r"not fitted yet.*Call 'fit'"):
        make(setting, kind).risk_bound()


@every_setting
def test_no_probabilities_with_the_hinge_loss(setting):
    model = fit(setting, loss="hinge")
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "loss='hinge' has no probabilities: use loss='logistic'" in str(error.value.__cause__ or error.value)
    assert hasattr(make(setting), "predict_proba")


# Relations, covariances, hypotheses.


@every_kind
@pytest.mark.parametrize(
    ("relation", "parts"),
    [
        (np.eye(2), (r"relation has shape \(2, 2\) for 3 tasks", "one row and column a task")),
        (np.ones((3, 3)), ("row 0 of relation sums to 3", "sum to 1")),
        (np.eye(3) * [1, 1, 0.5], (r"row 2 of relation sums to 0\.5", "sum to 1")),
        (np.array([[1, 0, 0], [0, 1, 0], [-0.5, 1, 0.5]]), (r"entry -0\.5", "at least 0")),
        (np.array([[1, 0, 0], [0, 1, 0], [0, np.nan, 1]]), ("entry nan", "at least 0")),
        ("other", ("'relation'", "learn", "Got 'other'")),
    ],
)
def test_relation(kind, relation, parts):
    with refuse(*parts):
        fit("TaskWeighting", kind, relation=relation)


@every_kind
@pytest.mark.parametrize(
    ("omega", "parts"),
    [
        (np.eye(2), (r"omega has shape \(2, 2\) for 3 tasks", "one row and column a task")),
        (np.ones(3), (r"omega has shape \(3,\) for 3 tasks", "one row and column a task")),
        (np.diag([1.0, 1.0, np.nan]), ("omega has NaN", "positive definite")),
        (np.diag([1.0, 1.0, np.inf]), ("omega has NaN or infinity", "positive definite")),
        (np.eye(3) + np.triu(np.ones((3, 3)), 1), ("not symmetric", "up to 1", r"\(omega \+ omega\.T\) / 2")),
        (
            np.diag([1.0, 1.0, -0.5]),
            (r"not positive definite \(smallest eigenvalue -0\.5\)", "multiple of"),
        ),
        (np.ones((3, 3)), ("not positive definite", "multiple of the identity")),
        (np.zeros((3, 3)), ("not positive definite", "multiple of the identity")),
    ],
)
def test_omega(kind, omega, parts):
    with refuse(*parts):
        fit("TaskCovariance", kind, omega=omega)


@every_kind
def test_omega_that_is_symmetric_up_to_round_off_is_taken(kind):
    omega = np.linalg.inv(np.eye(3) * 0.3 + 0.1) * 7
    assert fit("TaskCovariance", kind, omega=omega).coef_.shape == (3, 2)


@every_kind
@pytest.mark.parametrize("n", [1, 4])
def test_hypothesis_of_the_wrong_length(kind, n):
    with refuse(rf"hypothesis 1 has shape \({n},\)", "2 coefficients, or 3 with the intercept last"):
        fit("HypothesisTransfer", kind, hypotheses=[np.ones(2), np.ones(n)])
    with refuse(rf"hypothesis 0 has shape \({n},\)", "give 2"):
        fit("HypothesisTransfer", kind, hypotheses=[np.ones(n)], fit_intercept=False)


@every_kind
def test_other_wrong_hypotheses(kind):
    with refuse("LogisticRegression", "has no coef_", "give a fitted linear model"):
        fit("HypothesisTransfer", kind, hypotheses=[LogisticRegression()])
    with refuse("hypothesis 1 has NaN or infinity"):
        fit("HypothesisTransfer", kind, hypotheses=[np.ones(2), np.array([np.nan, 1])])
    with_intercept = LinearRegression().fit(X, X[:, 0] + 1)
    with refuse("has an intercept, this model has none", "fit_intercept=True"):
        fit("HypothesisTransfer", kind, hypotheses=[with_intercept], fit_intercept=False)


def test_hypotheses_of_other_classes():
    theirs = LogisticRegression().fit(X, np.where(X[:, 0] > 0, 3, 4))
    with refuse("LogisticRegression", r"classes \[.*3.*4.*\]", r"the target has \[.*-1.*1.*\]", "the same two classes"):
        fit("HypothesisTransfer", hypotheses=[theirs])


@every_kind
def test_xi(kind):
    with refuse(r"xi has shape \(3,\) for 2 hypotheses", "one weight a hypothesis"):
        fit("HypothesisTransfer", kind, hypotheses=np.eye(2), xi=[1, 0, 0])
    with refuse("xi is", "nan", "give finite weights"):
        fit("HypothesisTransfer", kind, hypotheses=np.eye(2), xi=[np.nan, 0])
    with refuse("xi='learn' needs at least one hypothesis", "give fitted models or arrays"):
        fit("HypothesisTransfer", kind, xi="learn")
    with refuse("'xi'", "Got 'guess'"):
        fit("HypothesisTransfer", kind, hypotheses=np.eye(2), xi="guess")


# What may be asked of a bound.


@every_setting
@every_kind
def test_bound(setting, kind):
    model = fit(setting, kind)
    for delta in (0, 1, -0.1, 1.5, float("nan")):
        with refuse(f"delta is {delta}", "between 0 and 1"):
            model.risk_bound(delta)
    with refuse("form is 'loose'", "'printed' or 'sharp'"):
        model.risk_bound(form="loose")
    R = np.sqrt((X[TASK == 0] ** 2).sum(axis=1).max() if setting == "HypothesisTransfer" else (X**2).sum(axis=1).max())
    with refuse(r"R is 0\.01, below the \d+\.\d+ of the training rows", "give a true bound"):
        model.risk_bound(R=0.01)
    with refuse(rf"R is {R}, below", "give a true bound"):  # the constant feature counts
        model.risk_bound(R=R)
    with refuse(r"radius is 1e-09, below the norm", "give a larger one"):
        model.risk_bound(radius=1e-9)
    for rho in (0.0, -1.0):
        with refuse(f"rho is {rho}, below the slope", "give a true bound"):
            model.risk_bound(rho=rho)
    with refuse("R is nan", "give a true bound"):
        model.risk_bound(R=float("nan"))
    if kind == "Regressor":
        with refuse(r"Y is 0\.1, below the", "give a true bound"):
            model.risk_bound(Y=0.1)


@pytest.mark.parametrize("setting", MULTITASK)
def test_bound_of_an_unknown_task(setting):
    with refuse("task 'x' is unknown", r"fitted on \[0, 1, 2\]"):
        fit(setting).risk_bound(task="x")


@pytest.mark.parametrize("setting", ["InstanceWeighting", "FeatureTransfer", "TaskWeighting"])
def test_discrepancy(setting):
    model = fit(setting)
    with refuse(r"discrepancy is -0\.1", "at least 0"):
        model.risk_bound(discrepancy=-0.1)
    with refuse("discrepancy is nan", "at least 0"):
        model.risk_bound(discrepancy=float("nan"))
    with refuse("discrepancy is 'guess'", "'estimate', 'wasserstein', a number, a mapping or None"):
        model.risk_bound(discrepancy="guess")
    with refuse("discrepancy has no entry for 2", r"it has \[0, 1\]"):
        model.risk_bound(discrepancy={0: 0.1, 1: 0.1}, **({"task": 0} if setting == "TaskWeighting" else {}))
    with refuse(r"discrepancy is \[0\.1\]", "give a number, a mapping by name"):
        model.risk_bound(discrepancy=[0.1])
    with refuse("training rows were not saved", "pass a number from y_discrepancy, or fit again"):
        pickle.loads(pickle.dumps(model)).risk_bound(discrepancy="wasserstein")
