"""Coefficients and gaps of the six settings against CVXPY, with each objective written as the paper prints it."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer

from gapmin import linear

cp = pytest.importorskip("cvxpy")

LOSSES = ["logistic", "hinge", "squared", "absolute"]
STRICT = ("logistic", "squared")  # one minimiser also without a penalty
N_PROBLEMS = 20


class Vector:
    """A combination of unknown vectors: `blocks` says where each starts in the Oracle's variable, and its factor."""

    def __init__(self, oracle, blocks):
        self.oracle, self.blocks = oracle, blocks

    def __add__(self, other):
        return Vector(self.oracle, self.blocks + other.blocks)

    def __rmul__(self, factor):
        return Vector(self.oracle, [(start, factor * old) for start, old in self.blocks])

    def rows(self, X):
        """Return the matrix that takes the Oracle's variable to X @ self."""
        matrix = np.zeros((X.shape[0], self.oracle.size))
        for start, factor in self.blocks:
            matrix[:, start : start + X.shape[1]] += factor * X
        return matrix

    @property
    def value(self):
        return sum(factor * self.oracle.solution[start : start + self.oracle.d] for start, factor in self.blocks)


class Oracle:
    """Sums of losses and squares over unknown vectors of length d, minimised by CVXPY in one call.

    One call for all objectives of a problem, and one atom for all its losses: what takes time is CVXPY's reading.
    """

    def __init__(self, loss, d):
        self.loss, self.d, self.size = loss, d, 0
        self.losses, self.squares = [], []

    def vector(self):
        self.size += self.d
        return Vector(self, [(self.size - self.d, 1.0)])

    def add_loss(self, X, y, weight, h, times=1.0):
        """Add times sum_i weight_i loss(<h, x_i>, y_i)."""
        self.losses.append((X, y, weight * times, h))

    def add_square(self, h, times, centre=0.0):
        """Add times ||h - centre||^2."""
        if times:
            self.squares.append((np.sqrt(times) * np.eye(self.d), h, np.sqrt(times) * centre * np.ones(self.d)))

    def ridge(self, parts, ridge):
        """Ask for the minimiser of the losses of the (X, y, weight) in `parts`, plus ridge ||h||^2."""
        h = self.vector()
        for part in parts:
            self.add_loss(*part, h)
        self.add_square(h, ridge)
        return h

    def at(self, X, y, weight, h):
        """Return the loss of a known h."""
        score = X @ h
        return (
            weight
            @ {
                "logistic": np.logaddexp(0, -y * score),
                "hinge": np.clip(1 - y * score, 0, None),
                "squared": (y - score) ** 2,
                "absolute": np.abs(y - score),
            }[self.loss]
        )

    def solve(self):
        z = cp.Variable(self.size)
        y, weight = (np.concatenate([each[k] for each in self.losses]) for k in (1, 2))
        score = np.vstack([h.rows(X) for X, _, _, h in self.losses]) @ z
        objective = weight @ row_losses(self.loss, score, y)
        if self.squares:
            wanted = np.concatenate([centre for _, _, centre in self.squares])
            objective += cp.sum_squares(np.vstack([h.rows(root) for root, h, _ in self.squares]) @ z - wanted)
        minimise(objective)
        self.solution = z.value


def row_losses(loss, score, y):
    """Return each row's loss, in CVXPY."""
    if loss == "logistic":
        return cp.logistic(-cp.multiply(y, score))
    if loss == "hinge":
        return cp.pos(1 - cp.multiply(y, score))
    return cp.square(y - score) if loss == "squared" else cp.abs(y - score)


def minimise(objective, constraints=()):
    """Minimise to 1e-12; where the exponential cones stall before, at another scale."""
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    for scale in (1, 100, 10, 3):
        problem = cp.Problem(cp.Minimize(scale * objective), list(constraints))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, max_iter=500, **tight)
        if problem.status == "optimal":
            break
    assert problem.status in ("optimal", "optimal_inaccurate")
    return problem.value / scale


def draw(rng, loss, n_places, d):
    """Rows of several domains or tasks of unequal sizes.

    Some points of each place have both labels and span the space, so that the logistic loss has one minimiser there
    even without a penalty.
    """
    w = rng.normal(size=d)
    Xs, ys, places = [], [], []
    for place in range(n_places):
        n = int(rng.integers(8, 16))
        X = rng.normal(size=(n, d)) + rng.normal(size=d) / 2
        y = X @ (w + rng.normal(size=d) / 2) + 0.7 * rng.normal(size=n)
        if loss in ("logistic", "hinge"):
            both = rng.normal(size=(d + 1, d))
            X = np.vstack([X, both, both])
            y = np.concatenate([np.sign(y), np.ones(d + 1), -np.ones(d + 1)])
        Xs.append(X)
        ys.append(y)
        places += [place] * len(y)
    order = rng.permutation(len(places))
    return np.vstack(Xs)[order], np.concatenate(ys)[order], np.array(places)[order]


def case(seed, loss, setting):
    """A random problem and the parameters that all settings have."""
    rng = np.random.default_rng([seed, LOSSES.index(loss)])
    d = int(rng.integers(2, 5))
    X, y, place = draw(rng, loss, int(rng.integers(2, 4)), d)
    weight = None
    if rng.random() < 0.5:
        weight = rng.exponential(size=len(y))
        weight[rng.integers(len(y))] = 0.0
    fit_intercept = bool(rng.random() < 0.6)
    lam = float(10 ** rng.uniform(-2, 0.5))
    Z = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    kind = "Classifier" if loss in ("logistic", "hinge") else "Regressor"
    cls = getattr(linear, setting + kind)
    return rng, cls, {"loss": loss, "lam": lam, "fit_intercept": fit_intercept}, (X, y, Z, place, weight)


def ours(model):
    return np.column_stack([model.coef_, model.intercept_]) if model.fit_intercept else model.coef_


def assert_same(found, wanted):
    """A relative difference of at most 1e-5."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    assert found.shape == wanted.shape
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted) + 1e-8, (found, wanted)


def assert_same_gap(gap, parts):
    assert set(gap.parts) == set(parts)
    for name, value in parts.items():
        assert_same(gap.parts[name], value)
    assert_same(gap.value, sum(parts.values()))


def eta_of(rng, loss, top):
    """Zero at times, where the minimiser of the loss alone is unique."""
    return 0.0 if loss in STRICT and rng.random() < 0.3 else float(rng.uniform(0.05, 0.95) * top)


def two_domains(model, oracle, gamma, data, eta, lam):
    """Equation (4), and the definition of the gap, for row weights gamma."""
    _, y, Z, place, _ = data
    T, S = ((Z[rows], y[rows], gamma[rows]) for rows in (place == 0, place > 0))
    h, h_T, h_S = oracle.ridge([T, S], lam), oracle.ridge([T], eta * lam), oracle.ridge([S], eta * lam)
    oracle.solve()

    def V(side, g):
        return oracle.at(*side, g) + eta * lam * g @ g

    assert_same(ours(model)[0], h.value)
    assert_same(model.gap_.minimisers["source"], h_S.value)
    assert_same(model.gap_.minimisers["target"], h_T.value)
    assert_same_gap(
        model.gap_,
        {"source": V(S, h_T.value) - V(S, h_S.value), "target": V(T, h_S.value) - V(T, h_T.value)},
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_instance_weighting(loss):
    for seed in range(N_PROBLEMS):
        rng, cls, given, data = case(seed, loss, "InstanceWeighting")
        X, y, _, place, weight = data
        eta, share = eta_of(rng, loss, 0.5), rng.choice([None, 0.3, 0.8])
        gamma = np.ones(len(y)) if weight is None else weight.copy()
        if share is None:
            gamma /= gamma.sum()
        else:
            gamma[place == 0] *= share / gamma[place == 0].sum()
            gamma[place > 0] *= (1 - share) / gamma[place > 0].sum()
        model = cls(**given, eta=eta, gamma=share)
        model.fit(X, y, sample_domain=np.where(place == 0, -1, place), sample_weight=weight)
        np.testing.assert_allclose(model.sample_weight_, gamma, rtol=1e-12)
        two_domains(model, Oracle(loss, data[2].shape[1]), gamma, data, eta, given["lam"])


def bend(X):
    """A fixed Phi."""
    return np.column_stack([np.tanh(X), X[:, 0] * X[:, 1]])


@pytest.mark.parametrize("loss", LOSSES)
def test_feature_transfer(loss):
    for seed in range(N_PROBLEMS):
        rng, cls, given, (X, y, Z, place, weight) = case(seed + 100, loss, "FeatureTransfer")
        eta, phi = eta_of(rng, loss, 0.5), FunctionTransformer(bend) if seed % 2 else None
        if phi is not None:
            Z = bend(X)
            Z = np.column_stack([Z, np.ones(len(y))]) if given["fit_intercept"] else Z
            eta = max(eta, 0.05)  # Phi(x) need not span its space in every domain
        copies = np.ones(len(y)) if weight is None else np.ceil(weight)
        model = cls(phi, **given, eta=eta).fit(
            X, y, sample_domain=np.where(place == 0, -3, place), sample_weight=None if weight is None else copies
        )
        oracle = Oracle(loss, Z.shape[1])
        two_domains(model, oracle, copies / copies.sum(), (X, y, Z, place, weight), eta, given["lam"])


def simplex_minimum(loss, scores, y, weight):
    xi = cp.Variable(scores.shape[1], nonneg=True)
    return minimise(weight @ row_losses(loss, scores @ xi, y), [cp.sum(xi) == 1]), xi.value


@pytest.mark.parametrize("loss", LOSSES)
def test_hypothesis_transfer(loss):
    for seed in range(N_PROBLEMS):
        rng, cls, given, (X, y, Z, place, weight) = case(seed + 200, loss, "HypothesisTransfer")
        d, n_hypotheses = Z.shape[1], int(rng.integers(1, 4))
        H = rng.normal(size=(n_hypotheses, d))
        xi = (None, rng.normal(size=n_hypotheses), "learn")[seed % 3]
        weight = np.ones(len(y)) if weight is None else weight
        model = cls(H, xi, **given).fit(X, y, sample_domain=np.where(place == 0, -1, 1), sample_weight=weight)
        target = place == 0
        T = Z[target], y[target], weight[target] / weight[target].sum()
        mix = {None: np.full(n_hypotheses, 1 / n_hypotheses), "learn": model.xi_}.get(
            xi if not isinstance(xi, np.ndarray) else 0, xi
        )
        assert_same(model.xi_, mix)
        centre, oracle = mix @ H, Oracle(loss, d)
        h, plain = oracle.vector(), oracle.ridge([T], 0.0)
        oracle.add_loss(*T, h)
        oracle.add_square(h, given["lam"], centre)
        oracle.solve()
        assert_same(ours(model)[0], h.value)
        assert_same_gap(model.gap_, {"target": oracle.at(*T, centre) - oracle.at(*T, plain.value)})
        assert model.gap_.attained
        if isinstance(xi, str):
            best, best_xi = simplex_minimum(loss, T[0] @ H.T, *T[1:])
            assert abs(oracle.at(*T, centre) - best) <= 1e-8
            if loss in STRICT:
                np.testing.assert_allclose(model.xi_, best_xi, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_learnt_mixture_of_many_hypotheses(loss):
    for seed in range(10):
        _, cls, given, (X, y, Z, _, _) = case(seed + 900, loss, "HypothesisTransfer")
        rng = np.random.default_rng(seed)
        H = rng.normal(size=(6, Z.shape[1])) * rng.exponential(size=(6, 1))
        weight = rng.exponential(size=len(y))
        model = cls(H, "learn", **given).fit(X, y, sample_weight=weight)
        assert model.xi_.min() >= 0
        assert model.xi_.sum() == pytest.approx(1, abs=1e-12)
        part = Z @ H.T, y, weight / weight.sum()
        best, best_xi = simplex_minimum(loss, *part)
        assert abs(Oracle(loss, 6).at(*part, model.xi_) - best) <= 1e-8
        if loss in STRICT and np.linalg.matrix_rank(part[0]) == 6:
            np.testing.assert_allclose(model.xi_, best_xi, atol=1e-4)


def by_task(data):
    _, y, Z, place, weight = data
    weight = np.ones(len(y)) if weight is None else weight
    rows = [place == k for k in np.unique(place)]
    return [(Z[r], y[r], weight[r] / weight[r].sum()) for r in rows]


def scaled(part, factor):
    return part[0], part[1], part[2] * factor


@pytest.mark.parametrize("loss", LOSSES)
def test_task_weighting(loss):
    for seed in range(N_PROBLEMS):
        rng, cls, given, data = case(seed + 300, loss, "TaskWeighting")
        parts, lam, eta, d = by_task(data), given["lam"], eta_of(rng, loss, 1.0), data[2].shape[1]
        K, oracle = len(parts), Oracle(loss, d)
        relation = None if seed % 3 == 0 else rng.dirichlet(np.ones(K), size=K)
        model = cls(relation, **given, eta=eta).fit(data[0], data[1], sample_task=data[3], sample_weight=data[4])
        Gamma = np.full((K, K), 1 / K) if relation is None else relation
        together = [oracle.ridge([scaled(p, g) for p, g in zip(parts, row, strict=True)], lam) for row in Gamma]
        alone = [oracle.ridge([part], eta * lam) for part in parts]
        oracle.solve()
        assert_same(ours(model), [h.value for h in together])

        def V(k, h, oracle=oracle, parts=parts, ridge=eta * lam):
            return oracle.at(*parts[k], h) + ridge * h @ h

        excess = [[V(k, alone[j].value) - V(k, alone[k].value) for k in range(K)] for j in range(K)]
        assert_same(model.gap_matrix_, excess)
        assert_same_gap(model.gap_, {j: sum(Gamma[j, k] * excess[j][k] for k in range(K) if k != j) for j in range(K)})


def pooled_against_single(oracle, parts, single, pooled):
    """Variables of the two definitions that compare a pooled hypothesis with each task's own, and the parts."""
    K = len(parts)
    alone = [oracle.ridge([part], single) for part in parts]
    pool = oracle.ridge([scaled(part, 1 / K) for part in parts], pooled)

    def gap():
        h0 = pool.value
        return {
            k: oracle.at(*part, h0) + pooled * h0 @ h0 - oracle.at(*part, h.value) - single * h.value @ h.value
            for k, (part, h) in enumerate(zip(parts, alone, strict=True))
        }

    return gap


@pytest.mark.parametrize("loss", LOSSES)
def test_parameter_sharing(loss):
    for seed in range(N_PROBLEMS):
        rng, cls, given, data = case(seed + 400, loss, "ParameterSharing")
        lam0, lam, d, parts = float(10 ** rng.uniform(-2, 0.5)), given["lam"], data[2].shape[1], by_task(data)
        model = cls(lam0, **given).fit(data[0], data[1], sample_task=data[3], sample_weight=data[4])
        K, oracle = len(parts), Oracle(loss, d)
        w0, w = oracle.vector(), [oracle.vector() for _ in parts]
        for part, wk in zip(parts, w, strict=True):
            oracle.add_loss(*part, w0 + wk, 1 / K)
            oracle.add_square(w0, lam0 / K)
            oracle.add_square(wk, lam / K)
        gap = pooled_against_single(oracle, parts, lam0 * lam / (lam0 + lam), lam0)
        oracle.solve()
        assert_same(ours(model), [w0.value + wk.value for wk in w])
        shared = np.append(model.shared_coef_, model.shared_intercept_)[:d]
        assert_same(shared, w0.value)
        assert_same_gap(model.gap_, gap())


@pytest.mark.parametrize("loss", LOSSES)
def test_task_covariance(loss):
    for seed in range(N_PROBLEMS):
        rng, cls, given, data = case(seed + 500, loss, "TaskCovariance")
        parts, d = by_task(data), data[2].shape[1]
        K, oracle, root = len(parts), Oracle(loss, d), rng.normal(size=(len(parts), len(parts)))
        omega = (root @ root.T + 0.2 * np.eye(K)) * K / given["lam"] / 3
        model = cls(omega, **given).fit(data[0], data[1], sample_task=data[3], sample_weight=data[4])
        H = [oracle.vector() for _ in parts]
        for part, h in zip(parts, H, strict=True):
            oracle.add_loss(*part, h, 1 / K)
        sizes, vectors = np.linalg.eigh(omega)  # Omega^-1 = sum v v' / size
        for size, v in zip(sizes, vectors.T, strict=True):
            oracle.add_square(functools.reduce(Vector.__add__, map(Vector.__rmul__, H, v)), 1 / size)
        gap = pooled_against_single(oracle, parts, K / sizes[-1], np.linalg.inv(omega).sum())
        oracle.solve()
        assert_same(ours(model), [h.value for h in H])
        assert_same_gap(model.gap_, gap())


@pytest.mark.parametrize("loss", LOSSES)
def test_learnt_covariance_has_the_smallest_objective_of_all(loss):
    """It is convex in H and Omega together; the floor on the eigenvalues of Omega counted."""
    for seed in range(2):
        _, cls, given, data = case(seed + 600, loss, "TaskCovariance")
        parts, d = by_task(data), data[2].shape[1]
        K = len(parts)
        trace = K**2 / given["lam"]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = cls(**given).fit(data[0], data[1], sample_task=data[3], sample_weight=data[4])
        H, omega = cp.Variable((K, d)), cp.Variable((K, K), PSD=True)
        losses = sum(weight @ row_losses(loss, Z @ H[k], y) for k, (Z, y, weight) in enumerate(parts)) / K
        floor = omega - 1e-3 * trace / K * np.eye(K) >> 0
        best = minimise(losses + cp.matrix_frac(H, omega), [cp.trace(omega) == trace, floor])
        warned = any(issubclass(each.category, ConvergenceWarning) for each in said)
        assert warned or model.objective_history_[-1] == pytest.approx(best, rel=1e-5)
