"""The theorems: stability tried directly, each term by hand, sharp against printed, and how often the bound holds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from gapmin import linear
from gapmin.gap import RiskBound
from gapmin.linear._bounds import Constants, uniform_terms, weighted_terms
from gapmin.linear.solvers import LOSS_BY_NAME
from gapmin_support.settings import (
    LOSSES,
    MULTITASK,
    SETTINGS,
    estimator,
    every_loss,
    every_setting,
    is_class,
    loss_of,
    places,
)

pytestmark = pytest.mark.filterwarnings("ignore:the target's rows separate")


def largest_loss(loss, size, Y):
    """Of a score no larger than `size` and a label no larger than Y."""
    power = {"squared": 2, "absolute": 1}
    if loss in power:
        return (Y + size) ** power[loss]
    return np.logaddexp(0, size) if loss == "logistic" else 1 + size


def lipschitz(loss, size, Y):
    return 2 * (Y + size) if loss == "squared" else 1.0


def ball(rng, n, d, R):
    """Rows of norm R or less, many of them on the edge."""
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * R * np.minimum(1, rng.uniform(0.3, 1.7, size=(n, 1)))


def draw(rng, loss, R=1.5, Y=2.0, n_places=3, d=2, n=6):
    place = np.repeat(np.arange(n_places), n + np.arange(n_places))
    X = ball(rng, len(place), d, R)
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=len(place))
    if is_class(loss):
        y = np.where(y > 0, 1.0, -1.0)
        for k in range(n_places):  # two of each label, so that replacing one leaves both
            y[np.flatnonzero(place == k)[:4]] = [1, -1, 1, -1]
        return X, y, place
    return X, np.clip(y, -Y, Y), place


def some_parameters(rng, setting):
    given = {"lam": float(10 ** rng.uniform(-1.5, 0.5))}
    if setting == "HypothesisTransfer":
        given |= {"hypotheses": rng.normal(size=(2, 2)), "xi": rng.dirichlet(np.ones(2))}
    if setting == "TaskWeighting":
        given |= {"relation": rng.dirichlet(np.ones(3), size=3)}
    if setting == "ParameterSharing":
        given |= {"lam0": float(10 ** rng.uniform(-1.5, 0.5))}
    if setting == "TaskCovariance":
        root = rng.normal(size=(3, 3))
        given |= {"omega": (root @ root.T + 0.2 * np.eye(3)) * 10 ** rng.uniform(0, 1.5)}
    if setting in ("InstanceWeighting", "FeatureTransfer", "TaskWeighting"):
        given |= {"eta": 0.2}
    return given


def norm_of_every_minimiser(setting, loss, given, R, Y, j):
    """The radius, from the objective at 0 (at the centre for hypothesis transfer)."""
    at_zero = largest_loss(loss, 0.0, Y)
    if setting == "HypothesisTransfer":
        centre = np.linalg.norm(given["xi"] @ given["hypotheses"])
        return centre + np.sqrt(largest_loss(loss, R * centre, Y) / given["lam"])
    if setting == "ParameterSharing":
        return np.sqrt(at_zero * (1 / given["lam0"] + 3 / given["lam"]))
    if setting == "TaskCovariance":
        return np.sqrt(at_zero * given["omega"][j, j])
    return np.sqrt(at_zero / given["lam"])


def change_of_one_row(setting, given, weight, place, i, j):
    """What the theorem has beside rho^2 R^2, for the hypothesis of task j when row i is another."""
    N, lam = np.bincount(place), given["lam"]
    return {
        "InstanceWeighting": lambda: weight[i] / weight.sum() / lam,
        "FeatureTransfer": lambda: 1 / (lam * len(place)),
        "HypothesisTransfer": lambda: 1 / (lam * N[0]),
        "TaskWeighting": lambda: given["relation"][j, place[i]] / (lam * N[place[i]]),
        "ParameterSharing": lambda: 1 / (given["lam0"] * 3 * N[j]) + 1 / (lam * N[j]),
        "TaskCovariance": lambda: given["omega"][j, j] / (3 * N[j]),  # the printed one has the largest eigenvalue
    }[setting]()


@every_loss
@every_setting
def test_replacing_a_row_moves_no_loss_by_more_than_the_stability_coefficient(setting, loss):
    R, Y, reached = 1.5, 1.0 if is_class(loss) else 2.0, 0.0
    for seed in range(12):
        rng = np.random.default_rng([seed, SETTINGS.index(setting), LOSSES.index(loss)])
        X, y, place = draw(rng, loss, R, Y)
        given = some_parameters(rng, setting)
        weight = rng.exponential(size=len(y)) if setting == "InstanceWeighting" else np.ones(len(y))
        # The task whose hypothesis is looked at; parameter sharing and task covariance speak of its own rows only.
        j = int(rng.integers(3)) if setting in MULTITASK else 0
        mine = place == j if setting in ("ParameterSharing", "TaskCovariance", "HypothesisTransfer") else place >= 0
        i = int(rng.choice(np.flatnonzero(mine)))
        X2, y2 = X.copy(), y.copy()
        if rng.random() < 0.5:
            X2[i] = ball(rng, 1, 2, R)[0]
            y2[i] = rng.choice([-Y, Y])
        else:  # the worst there is: the same row, on the edge, with the other label
            X2[i], y2[i] = R * X[i] / np.linalg.norm(X[i]), -np.sign(y[i]) * Y
        model = estimator(setting, loss, fit_intercept=False, **given)
        h, h2 = (
            model.fit(A, b, **places(setting, place), sample_weight=weight).coef_[j] for A, b in ((X, y), (X2, y2))
        )
        radius = norm_of_every_minimiser(setting, loss, given, R, Y, j)
        assert max(np.linalg.norm(h), np.linalg.norm(h2)) <= radius * (1 + 1e-9)
        rho = lipschitz(loss, R * radius, Y)
        beta = change_of_one_row(setting, given, weight, place, i, j) * rho**2 * R**2
        anywhere = np.vstack([ball(rng, 200, 2, R), R * (h - h2) / max(np.linalg.norm(h - h2), 1e-300)])
        for label in (-Y, Y):
            moved = np.abs(loss_of(loss, anywhere @ h, label) - loss_of(loss, anywhere @ h2, label)).max()
            assert moved <= beta * (1 + 1e-7) + 1e-9
            reached = max(reached, moved / beta)
    assert reached > (1e-3 if loss == "squared" else 0.05)  # the draws do try it


@every_loss
def test_rows_of_other_tasks_move_parameter_sharing_and_covariance_less_than_their_own(loss):
    """What the theorems leave to the reader: with row i of task k, the coefficient has N_k for N_j."""
    R, Y = 1.5, 1.0 if is_class(loss) else 2.0
    for seed in range(5):
        for setting in ("ParameterSharing", "TaskCovariance"):
            rng = np.random.default_rng(seed)
            X, y, place = draw(rng, loss, R, Y)
            given, (j, k) = some_parameters(rng, setting), rng.choice(3, size=2, replace=False)
            i = int(np.flatnonzero(place == k)[0])
            y2 = np.where(np.arange(len(y)) == i, -np.sign(y[i]) * Y, y)
            model = estimator(setting, loss, fit_intercept=False, **given)
            h, h2 = (model.fit(X, b, sample_task=place).coef_[j] for b in (y, y2))
            radius = max(norm_of_every_minimiser(setting, loss, given, R, Y, each) for each in (j, k))
            rho, N = lipschitz(loss, R * radius, Y), np.bincount(place)[k]
            scale = (
                1 / (given["lam0"] * 3 * N) + 1 / (given["lam"] * N)
                if setting == "ParameterSharing"
                else np.linalg.eigvalsh(given["omega"])[-1] / (3 * N)
            )
            assert np.linalg.norm(h - h2) <= scale * rho * R * (1 + 1e-7) + 1e-9


# Each term by hand.


@every_loss
@every_setting
@pytest.mark.parametrize("form", ["printed", "sharp"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_term_by_hand(setting, loss, form, fit_intercept):
    rng = np.random.default_rng([SETTINGS.index(setting), LOSSES.index(loss)])
    X, y, place = draw(rng, loss)
    given = some_parameters(rng, setting)
    if setting == "HypothesisTransfer" and fit_intercept:
        given["hypotheses"] = np.column_stack([given["hypotheses"], np.zeros(2)])
    delta, lam, N = 0.1, given["lam"], np.bincount(place)
    weight = rng.exponential(size=len(y)) if setting == "InstanceWeighting" else np.ones(len(y))
    model = estimator(setting, loss, fit_intercept=fit_intercept, **given)
    model.fit(X, y, **places(setting, place), sample_weight=weight)
    with_distance = setting in ("InstanceWeighting", "FeatureTransfer", "TaskWeighting")
    Z = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    H = np.column_stack([model.coef_, model.intercept_])[:, : Z.shape[1]]
    mine = place == 0 if setting == "HypothesisTransfer" else place >= 0
    R, Y = np.linalg.norm(Z[mine], axis=1).max(), np.abs(y[mine]).max()
    wide = np.sqrt(np.log(1 / delta) / 2)
    for j in range(3 if setting in MULTITASK else 1):
        asked = {"task": j} if setting in MULTITASK else {}
        asked |= {"discrepancy": {0: 0.1, 1: 0.2, 2: 0.3, 3: 9.0}} if with_distance else {}
        bound = model.risk_bound(delta, form=form, **asked)
        radius = norm_of_every_minimiser(setting, loss, given, R, Y, j)
        rho, B = lipschitz(loss, R * radius, Y), largest_loss(loss, R * radius, Y)
        b = rho**2 * R**2 / lam
        losses = loss_of(loss, Z @ H[j], y)
        if setting in ("InstanceWeighting", "TaskWeighting"):
            if setting == "InstanceWeighting":
                gamma = weight / weight.sum()
                apart = 0.2 * gamma[place == 1].sum() + 0.3 * gamma[place == 2].sum()
            else:
                row = given["relation"][j]
                gamma = row[place] / N[place]
                apart = sum(row[k] * (k + 1) / 10 for k in range(3) if k != j)
            inf, two = gamma.max(), gamma @ gamma
            terms = {"empirical": gamma @ losses, "discrepancy": apart}
            if form == "printed":
                terms |= {"stability": inf * b}
                terms |= {"concentration": ((inf + two) * b + inf * B) * np.sqrt(len(y)) * wide}
            else:
                terms |= {"stability": two * b, "concentration": (2 * b + B) * np.sqrt(two) * wide}
        else:
            n = {"FeatureTransfer": len(y), "HypothesisTransfer": N[0]}.get(setting, N[j])
            beta = b / n
            if setting == "ParameterSharing":
                beta = rho**2 * R**2 * (1 / (given["lam0"] * 3 * n) + 1 / (lam * n))
            if setting == "TaskCovariance":
                sigma = np.linalg.eigvalsh(given["omega"])[-1] if form == "printed" else given["omega"][j, j]
                beta = sigma * rho**2 * R**2 / (3 * n)
            own = {"FeatureTransfer": place >= 0, "HypothesisTransfer": place == 0}.get(setting, place == j)
            terms = {"empirical": losses[own].mean(), "stability": beta}
            terms |= {"concentration": (2 * n * beta + B) * wide / np.sqrt(n)}
            if setting == "FeatureTransfer":
                terms |= {"discrepancy": 0.2 * N[1] / len(y) + 0.3 * N[2] / len(y)}
            assert bound.constants["beta"] == pytest.approx(beta, rel=1e-9)
        assert set(bound.terms) == set(terms)
        for name, value in terms.items():
            assert bound.terms[name] == pytest.approx(value, rel=1e-7), name
        assert bound.total == pytest.approx(sum(terms.values()), rel=1e-7)
        assert bound.complete
        assert bound.delta == delta
        constants = {"R": R, "Y": Y, "radius": radius, "rho": rho, "B": B}
        for name, value in constants.items():
            assert bound.constants[name] == pytest.approx(value, rel=1e-9), name
        norm = np.atleast_1d(model.gap_.sharp_norm_bound if form == "sharp" else model.gap_.norm_bound)[j]
        assert bound.constants["B_gap"] == pytest.approx(largest_loss(loss, R * norm, Y), rel=1e-9)


@every_loss
@every_setting
def test_given_constants_are_used(setting, loss):
    rng = np.random.default_rng(0)
    X, y, place = draw(rng, loss)
    given = some_parameters(rng, setting)
    model = estimator(setting, loss, fit_intercept=False, **given).fit(X, y, **places(setting, place))
    asked = {"task": 1} if setting in MULTITASK else {}
    constants = model.risk_bound(R=4.0, Y=5.0, **asked).constants
    assert (constants["R"], constants["Y"]) == (4.0, 5.0)
    Y = 5.0 if not is_class(loss) else 1.0
    assert constants["radius"] == pytest.approx(norm_of_every_minimiser(setting, loss, given, 4.0, Y, 1))
    constants = model.risk_bound(rho=7.0, radius=50.0, R=4.0, Y=5.0, **asked).constants
    assert (constants["rho"], constants["radius"]) == (7.0, 50.0)
    assert constants["B"] == pytest.approx(largest_loss(loss, 200.0, 5.0))


# Sharp against printed.


def test_sharp_terms_are_never_above_the_printed_ones():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n = int(rng.integers(1, 40))
        w = rng.dirichlet(np.full(n, 10 ** rng.uniform(-2, 2)))
        R, rho, lam, B = 10 ** rng.uniform(-2, 2, size=4)
        c = Constants(R=R, Y=1.0, radius=1.0, rho=rho, B=B, B_gap=B, lam=lam, assumptions=())
        delta = rng.uniform(0.001, 0.999)
        printed, sharp = (weighted_terms(c, w.max(), w @ w, n, delta, form) for form in ("printed", "sharp"))
        for name in printed:
            assert sharp[name] <= printed[name] * (1 + 1e-12)
        # By the theorem and the docstring.
        b, wide = rho**2 * R**2 / lam, np.sqrt(np.log(1 / delta) / 2)
        assert printed["stability"] == pytest.approx(w.max() * b)
        assert printed["concentration"] == pytest.approx(((w.max() + w @ w) * b + w.max() * B) * np.sqrt(n) * wide)
        assert sharp["stability"] == pytest.approx(w @ w * b)
        assert sharp["concentration"] == pytest.approx((2 * b + B) * np.linalg.norm(w) * wide)


def test_equal_weights_give_the_uniform_terms_in_both_forms():
    c = Constants(R=2.0, Y=1.0, radius=1.0, rho=1.5, B=3.0, B_gap=3.0, lam=0.3, assumptions=())
    for n in (1, 7, 100):
        wanted = uniform_terms(c.change / n, c.B, n, 0.2)
        for form in ("printed", "sharp"):
            assert weighted_terms(c, 1 / n, 1 / n, n, 0.2, form) == pytest.approx(wanted)


@every_loss
@every_setting
def test_sharp_totals_of_models_are_never_above_the_printed_ones(setting, loss):
    strictly = False
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y, place = draw(rng, loss)
        weight = rng.exponential(size=len(y))
        model = estimator(setting, loss, **({} if setting != "HypothesisTransfer" else {"hypotheses": np.ones((1, 2))}))
        if setting in ("TaskWeighting", "TaskCovariance"):
            model.set_params(**{k: v for k, v in some_parameters(rng, setting).items() if k in ("relation", "omega")})
        model.fit(X, y, **places(setting, place), sample_weight=weight)
        asked = {"discrepancy": 0.3} if setting in ("InstanceWeighting", "FeatureTransfer", "TaskWeighting") else {}
        for task in [{"task": k} for k in (None, 0, 1, 2)] if setting in MULTITASK else [{}]:
            printed, sharp = (model.risk_bound(form=form, **asked, **task) for form in ("printed", "sharp"))
            assert sharp.total <= printed.total * (1 + 1e-12)
            assert sharp.constants["B_gap"] <= printed.constants["B_gap"] * (1 + 1e-12)
            strictly |= sharp.total < printed.total * 0.999
    assert strictly == (setting in ("InstanceWeighting", "TaskWeighting", "TaskCovariance"))


# How often does it hold?


SUPPORT = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.5, 0.5], [-1.0, 0.0], [0.0, -1.0], [0.7, -0.7], [0.1, 0.2]])
POSITIVE = np.array([0.9, 0.8, 0.6, 0.4, 0.2, 0.3, 0.7, 0.5])  # P(y = 1 | x), every x as likely as any other


def sample(rng, n, flipped=0.0):
    which = rng.integers(len(SUPPORT), size=n)
    y = np.where(rng.random(n) < POSITIVE[which], 1, -1)
    return SUPPORT[which], np.where(rng.random(n) < flipped, -y, y)


def risk(h):
    """The true logistic risk."""
    score = SUPPORT @ h
    return np.mean(POSITIVE * np.logaddexp(0, -score) + (1 - POSITIVE) * np.logaddexp(0, score))


def distance_of_flipped(p, radius):
    """log(1 + e^m) - log(1 + e^-m) = m: flipping with probability p moves the risk of h by p <h, E[y x]>."""
    return p * radius * np.linalg.norm(((2 * POSITIVE - 1)[:, None] * SUPPORT).mean(axis=0))


def test_distance_of_flipped_labels_is_reached_and_not_exceeded():
    p, radius, rng = 0.3, 2.0, np.random.default_rng(0)
    mean = ((2 * POSITIVE - 1)[:, None] * SUPPORT).mean(axis=0)

    def apart(h):
        score = SUPPORT @ h
        flipped = np.mean(POSITIVE * np.logaddexp(0, score) + (1 - POSITIVE) * np.logaddexp(0, -score))
        return abs(p * (flipped - risk(h)))

    most = distance_of_flipped(p, radius)
    assert apart(radius * mean / np.linalg.norm(mean)) == pytest.approx(most)
    for h in ball(rng, 500, 2, radius):
        assert apart(h) <= most * (1 + 1e-12)


def transfer_bounds(rng, n, lam, p=0.2, delta=0.05):
    """A fit on n rows of the target and 3 n of the source, with the bound in both forms."""
    (X_t, y_t), (X_s, y_s) = sample(rng, n), sample(rng, 3 * n, p)
    model = linear.InstanceWeightingClassifier(gamma=0.5, lam=lam, fit_intercept=False)
    model.fit(np.vstack([X_t, X_s]), np.append(y_t, y_s), sample_domain=np.repeat([-1, 1], [n, 3 * n]))
    apart = distance_of_flipped(p, np.sqrt(np.log(2) / lam))
    return model, *(model.risk_bound(delta, form=form, R=1.0, discrepancy=apart) for form in ("printed", "sharp"))


@pytest.mark.parametrize(("lam", "p"), [(0.05, 0.2), (1.0, 0.2), (0.001, 0.0)])
def test_the_bound_holds_as_often_as_it_says(lam, p):
    rng, held, overfitted = np.random.default_rng(1), [], []
    for _ in range(200):
        model, *bounds = transfer_bounds(rng, 5 if p == 0 else 30, lam, p)
        for bound in bounds:
            assert bound.complete
            assert bound.constants["radius"] == pytest.approx(np.sqrt(np.log(2) / lam))
        held.append([risk(model.coef_[0]) <= bound.total for bound in bounds])
        overfitted.append(risk(model.coef_[0]) > bound.terms["empirical"] + bound.terms["discrepancy"])
    assert (np.mean(held, axis=0) >= 0.95).all()
    if p == 0:  # nothing but stability and concentration to hold it
        assert np.mean(overfitted) > 0.3


def test_the_bound_shrinks_as_the_root_and_bites():
    rng = np.random.default_rng(2)
    for small, large in zip(*(transfer_bounds(rng, n, 1.0)[1:] for n in (100, 1600)), strict=True):
        assert large.terms["concentration"] == pytest.approx(small.terms["concentration"] / 4, rel=0.02)
        assert large.terms["stability"] == pytest.approx(small.terms["stability"] / 16, rel=0.02)
        assert np.isfinite(small.total)
        assert large.total < small.total
        assert large.total < large.constants["B"]  # it says more than that the loss is bounded


@pytest.mark.parametrize("setting", SETTINGS[1:])
def test_the_other_bounds_hold_as_often_as_they_say(setting):
    """Two tasks (or domains), the second with flipped labels."""
    rng, lam, p, n = np.random.default_rng(3), 0.2, 0.2, 25
    most = distance_of_flipped(p, np.sqrt(np.log(2) / lam))
    held = []
    for _ in range(200):
        (X_t, y_t), (X_s, y_s) = sample(rng, n), sample(rng, n, p)
        X, y, place = np.vstack([X_t, X_s]), np.append(y_t, y_s), np.repeat([0, 1], n)
        given = {"lam": lam}
        if setting == "TaskCovariance":
            given["omega"] = np.array([[2.0, 1.0], [1.0, 2.0]]) / lam
        if setting == "HypothesisTransfer":
            given["hypotheses"] = [[1.0, -0.5]]
        model = estimator(setting, "logistic", fit_intercept=False, **given).fit(X, y, **places(setting, place))
        asked = {"discrepancy": most} if setting in ("FeatureTransfer", "TaskWeighting") else {}
        asked |= {"task": 0} if setting in MULTITASK else {}
        bound = model.risk_bound(0.05, form="sharp", R=1.0, **asked)
        assert bound.complete
        held.append(risk(model.coef_[0]) <= bound.total)
    assert np.mean(held) >= 0.95


# What is not known, what is asked of all tasks, what was assumed.


@pytest.mark.parametrize("setting", ["InstanceWeighting", "FeatureTransfer", "TaskWeighting"])
def test_an_unknown_discrepancy_is_left_out_and_said_to_be(setting):
    rng = np.random.default_rng(4)
    X, y, place = draw(rng, "logistic")
    model = estimator(setting, "logistic").fit(X, y, **places(setting, place))
    bound, known = model.risk_bound(), model.risk_bound(discrepancy=0.0)
    assert np.isnan(bound.terms["discrepancy"])
    assert bound.unknown == ("discrepancy",)
    assert not bound.complete
    assert any("unknown" in each for each in bound.assumptions)
    assert bound.total == pytest.approx(known.total)
    assert known.complete
    assert not any("unknown" in each for each in known.assumptions)
    # One source of two: still unknown.
    half = model.risk_bound(discrepancy={0: 0.1, 1: 0.1, 2: None}, **({"task": 0} if setting in MULTITASK else {}))
    assert not half.complete


def test_without_sources_there_is_no_discrepancy():
    X, y, place = draw(np.random.default_rng(5), "logistic")
    bound = linear.InstanceWeightingClassifier().fit(X, y).risk_bound()
    assert bound.complete
    assert bound.terms["discrepancy"] == 0
    no_say = linear.InstanceWeightingClassifier(gamma=1.0).fit(X, y, sample_domain=np.where(place == 0, -1, 1))
    assert no_say.risk_bound().complete
    alone = linear.TaskWeightingClassifier(np.eye(3)).fit(X, y, sample_task=place)
    assert alone.risk_bound().complete


def test_risk_bound_adds_what_it_knows():
    bound = RiskBound({"a": 1.0, "b": float("nan"), "c": 0.5}, 0.1, (), {})
    assert bound.total == 1.5
    assert bound.unknown == ("b",)


@every_loss
@pytest.mark.parametrize("setting", MULTITASK)
@pytest.mark.parametrize("form", ["printed", "sharp"])
def test_no_task_is_the_mean_of_all_each_with_its_share_of_delta(setting, loss, form):
    rng = np.random.default_rng(6)
    X, y, place = draw(rng, loss)
    model = estimator(setting, loss, **some_parameters(rng, setting)).fit(X, y, sample_task=place)
    asked = {"discrepancy": 0.3} if setting == "TaskWeighting" else {}
    bound = model.risk_bound(0.06, form=form, **asked)
    each = [model.risk_bound(0.02, task=k, form=form, **asked) for k in range(3)]
    assert bound.total == pytest.approx(np.mean([one.total for one in each]))
    for name in bound.terms:
        assert bound.terms[name] == pytest.approx(np.mean([one.terms[name] for one in each]))
    assert bound.delta == 0.06
    assert any("delta / K" in said for said in bound.assumptions)
    assert not any("delta / K" in said for said in each[0].assumptions)


def test_one_task_needs_no_name():
    X, y, _ = draw(np.random.default_rng(7), "logistic")
    model = linear.ParameterSharingClassifier().fit(X, y)
    assert model.risk_bound().terms == model.risk_bound(task=0).terms


def said(model, **asked):
    return " | ".join(model.risk_bound(**asked).assumptions)


def test_what_was_learnt_from_the_sample_is_said():
    rng = np.random.default_rng(8)
    X, y, place = draw(rng, "logistic")
    domain, phi = np.where(place == 0, -1, 1), PCA(1).fit(rng.normal(size=(50, 2)))
    instance = linear.InstanceWeightingClassifier().fit(X, y, sample_domain=domain)
    assert "weights were chosen without looking at this sample" in said(instance)
    for given, learnt in ((None, False), (phi, False), (PCA(1), True)):
        feature = linear.FeatureTransferClassifier(given).fit(X, y, sample_domain=domain)
        assert ("Phi was chosen without looking at this sample; here it was fitted on it" in said(feature)) == learnt
        assert "Phi was chosen without looking at this sample" in said(feature)
    for xi, learnt in ((None, False), ("learn", True)):
        transfer = linear.HypothesisTransferClassifier(np.eye(2), xi).fit(X, y)
        assert ("here xi was learnt" in said(transfer)) == learnt
        assert "without looking at this sample" in said(transfer)
    for relation, learnt in ((None, False), ("uniform", False), ("learn", True), (np.eye(3), False)):
        tasks = linear.TaskWeightingClassifier(relation).fit(X, y, sample_task=place)
        assert ("here they were learnt" in said(tasks)) == learnt
    tasks = linear.TaskWeightingClassifier(transformer=PCA(1)).fit(X, y, sample_task=place)
    assert "here it was fitted on it" in said(tasks)
    for omega, learnt in ((None, True), (np.eye(3), False)):
        covariance = linear.TaskCovarianceClassifier(omega, lam=0.1).fit(X, y, sample_task=place)
        assert ("here it was learnt" in said(covariance)) == learnt
    assert "without looking at this sample" in said(linear.ParameterSharingClassifier().fit(X, y, sample_task=place))


@every_loss
def test_what_was_measured_is_said(loss):
    X, y, place = draw(np.random.default_rng(9), loss)
    model = estimator("InstanceWeighting", loss).fit(X, y, sample_domain=np.where(place == 0, -1, 1))
    assert "||x|| <= R" in said(model)
    assert "measured here" in said(model)
    assert "measured here" not in said(model, R=9.0, Y=9.0)
    assert ("|y| <= Y" in said(model)) == (not is_class(loss))


def test_losses_of_the_source_are_those_of_this_file():
    rng = np.random.default_rng(10)
    score, y = rng.normal(size=50), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    for name in LOSSES:
        np.testing.assert_allclose(LOSS_BY_NAME[name].value(score, y), loss_of(name, score, y), rtol=1e-12)


def test_distances_by_name_need_a_task():
    X, y, place = draw(np.random.default_rng(7), "logistic")
    model = linear.TaskWeightingClassifier().fit(X, y, sample_task=place)
    by_name = {0: 0.3, 1: 0.1, 2: 0.2}
    with pytest.raises(ValueError, match="say which with task"):
        model.risk_bound(discrepancy=by_name)
    assert model.risk_bound(discrepancy=by_name, task=1).terms["discrepancy"] == pytest.approx((0.3 + 0.2) / 3)


def test_a_radius_that_not_every_minimiser_obeys_is_an_assumption():
    X, y, place = draw(np.random.default_rng(7), "logistic")
    model = linear.InstanceWeightingClassifier(lam=0.5).fit(X, y, sample_domain=np.where(place == 0, -1, 1))
    norm = float(np.sqrt((model.coef_**2).sum() + model.intercept_[0] ** 2))
    assert any("for every sample only" in said for said in model.risk_bound(radius=norm).assumptions)
    assert any("which every minimiser obeys" in said for said in model.risk_bound().assumptions)
    assert any("independent draws" in said for said in model.risk_bound().assumptions)
