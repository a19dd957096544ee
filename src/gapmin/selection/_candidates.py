"""What a search chooses from: ways of using the sources, from not at all to gapBoost, with one learner or another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from gapmin.base import fit_with_domains
from gapmin.boosting import GapBoostClassifier, GapBoostRegressor
from gapmin.boosting.building_blocks import seed_unseeded
from gapmin.linear import WeightedLogisticRegression
from gapmin.selection._relevance import RelevanceScaler
from gapmin.selection._tempered import TemperedClassifier
from gapmin.selection.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor
from gapmin.transfer.kernel import KernelClassifier, KernelRegressor

TARGET_ONLY, POOLING, GAP_WEIGHTING, GAPBOOST = METHODS = ("target only", "pooling", "gap weighting", "gapBoost")
"""The ways of using the sources, the simplest first."""

SHARES = (0.8, 0.5, None)
"""The target's share of the weight in pooling; None gives every row the same weight."""

_FEW_TREES, _MANY_TREES = 20, 200
_FEW_LANDMARKS, _MANY_LANDMARKS = 300, 1000
_FEW_ROUNDS, _MANY_ROUNDS = 10, 20
_COARSE, _FINE = 1e-5, 1e-8
_MANY_ROWS = 100_000
_FOREST_OF_MANY = {"bootstrap": True, "max_samples": _MANY_ROWS, "max_leaf_nodes": 5_000}
"""Trees grown on more rows than that would take hours, and gigabytes: each then draws so many of them."""

_SURER, _LESS_SURE = 2.0, 0.5
"""Powers of the probabilities of a forest and of boosted trees of few rows."""

_FEW_ROWS = 400
_ROWS_OF_A_STAGE, _ROWS_OF_A_LAST_STAGE = 1_000, 20_000
_FEATURES_OF_A_SPLIT = 16
_MOST_BOOSTED_CLASSES = 4

_MOST_SINGLE_SOURCES = 8

_FAR = 100.0
"""Features whose mean is further from 0 than so many standard deviations are not used as they are."""

_MANY_FEATURES = 30
"""From so many on, learners that treat them alike are tried on relevant ones too."""


def _any_rows(n_rows: int, last: bool) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Learner:
    """A base learner with settings.

    Attributes
    ----------
    name : str
        Of the kind: "linear", "kernel", "forest", "boosting" or the class of the user's own.
    estimator : estimator
    final : mapping
        Parameters that the last fit has and the search does without: a forest's other trees, a finer solution.
    of_rows : callable
        Given the number of rows that train and whether it is the last fit, the parameters that depend on them.
    is_scaled, is_tempered : bool
        Whether it is one of ours behind scalers, or with its probabilities raised to a power.
    """

    name: str
    estimator: Any
    final: Mapping[str, Any] = field(default_factory=dict)
    of_rows: Callable[[int, bool], Mapping[str, Any]] = _any_rows
    is_scaled: bool = False
    is_tempered: bool = False


@dataclass(frozen=True)
class Candidate:
    """One way to train: a method with its settings, around a learner.

    Attributes
    ----------
    method : str
        One of `METHODS`.
    learner : Learner
    settings : mapping
        Parameters of the method.
    estimator : estimator
        Unfitted; takes `sample_domain`.
    """

    method: str
    learner: Learner
    settings: Mapping[str, Any]
    estimator: Any

    @property
    def kind(self) -> str:
        """What sort of model it makes: that of its learner, but gapBoost's own."""
        return GAPBOOST if self.method == GAPBOOST else self.learner.name

    def is_among(self, others: Iterable[Candidate]) -> bool:
        """Whether one of the others trains the same way."""
        return any(
            each.method == self.method and each.learner is self.learner and each.settings == self.settings
            for each in others
        )

    @property
    def is_regression(self) -> bool:
        """Whether it is a regressor."""
        return is_regressor(self.estimator)

    @property
    def params(self) -> dict[str, Any]:
        """The settings and the learner in one."""
        return {"method": self.method, **self.settings, "learner": self.learner.estimator}

    @property
    def sources(self) -> tuple[int, ...] | None:
        """The sources that it uses; None for all of them."""
        return self.settings.get("sources")

    def fit(self, X: Any, y: NDArray[Any], domain: NDArray[np.int64], seed: int) -> Any:
        """Return the estimator fitted, as a search needs it."""
        return fit_with_domains(self.final(domain, seed, thorough=False), X, y, domain)

    def final(self, domain: NDArray[np.int64], seed: int, *, thorough: bool = True) -> Any:
        """Return the estimator for a fit on rows of these domains: the last one, or one as in the search."""
        behind = "booster__" if isinstance(self.estimator, Pipeline) else ""
        within = f"{behind}estimator__" if behind or not self.learner.is_scaled else "estimator__learner__"
        within += "estimator__" if self.learner.is_tempered else ""
        given = {**(self.learner.final if thorough else {}), **self.learner.of_rows(self._n_rows(domain), thorough)}
        final = {f"{within}{name}": value for name, value in given.items()}
        if thorough and self.method == GAPBOOST:
            final[f"{behind}n_estimators"] = _MANY_ROUNDS
        return _seeded(clone(self.estimator).set_params(**final), seed)

    def _n_rows(self, domain: NDArray[np.int64]) -> int:
        """Return how many rows of these domains it trains on."""
        if self.method == TARGET_ONLY:
            return int((domain < 0).sum())
        return domain.size if self.sources is None else int(((domain < 0) | np.isin(domain, self.sources)).sum())

    def __str__(self) -> str:
        said = [f"{name}={_shown(value)}" for name, value in self.settings.items()]
        return f"{self.method}, {self.learner.name} ({', '.join([*said, _shown(self.learner.estimator)])})"


def _seeded(estimator: Any, seed: int) -> Any:
    seed_unseeded(estimator, np.random.RandomState(seed))
    return estimator


def _shown(value: Any) -> str:
    if isinstance(value, Pipeline):
        return " after ".join(_shown(step) for _, step in reversed(value.steps))
    if isinstance(value, TemperedClassifier):
        return f"{_shown(value.estimator)} to the power of {value.power:g}"
    if isinstance(value, float):
        return f"{value:.3g}"
    return " ".join(repr(value).split())


def linear_learners(regression: bool, X: Any) -> list[Learner]:
    """Return linear learners of several strengths, where columns are many also on the relevant ones."""
    if regression:
        plain = [Learner("linear", Ridge(alpha)) for alpha in (100.0, 10.0, 1.0, 0.1)]
    else:
        lams = (0.1, 0.01, 0.001)
        plain = [Learner("linear", WeightedLogisticRegression(lam, tol=_COARSE), {"tol": _FINE}) for lam in lams]
    return [*_scalings(plain, X), *_by_relevance(plain, X)]


def kernel_learners(regression: bool, X: Any) -> list[Learner]:
    """Return a narrow and a wide kernel learner, where columns are many a wide one on the relevant ones too.

    They have few landmarks in the search, and more in the end.
    """
    kind: Any = KernelRegressor if regression else KernelClassifier
    settings, final = ((1.0, 0.1), (0.3, 0.3)), {"n_landmarks": _MANY_LANDMARKS}
    estimators = [kind(gamma, alpha, n_landmarks=_FEW_LANDMARKS) for gamma, alpha in settings]
    plain = [Learner("kernel", each, final, _kernel_of_rows) for each in estimators]
    return [*_scalings(plain, X), *_by_relevance(plain[1:], X)]


def _kernel_of_rows(n_rows: int, last: bool) -> dict[str, Any]:
    return {"n_landmarks": _FEW_LANDMARKS} if n_rows > _MANY_ROWS else {}


def _scalings(learners: Sequence[Learner], X: Any) -> list[Learner]:
    """Return learners on the features as they are and scaled to unit variance, where that differs and may be of use."""
    scaler = _standard(X).fit(X)
    scaled = [_behind([("scale", clone(scaler))], each) for each in learners]
    far = 0.0 if sp.issparse(X) else float(np.max(np.abs(scaler.mean_) / scaler.scale_))
    if is_regressor(learners[0].estimator) or far > _FAR:
        return scaled
    small, large = scaler.scale_.min(), scaler.scale_.max()
    alike = large <= 2 * small and small > 0.1 and large < 10
    return list(learners) if alike else [*learners, *scaled]


def _by_relevance(learners: Sequence[Learner], X: Any) -> list[Learner]:
    """Return learners on features scaled by what they say of the label, where there are many."""
    if X.shape[1] < _MANY_FEATURES:
        return []
    relevance = RelevanceScaler(of_classes=not is_regressor(learners[0].estimator))
    return [_behind([("scale", _standard(X)), ("relevance", clone(relevance))], each) for each in learners]


def _standard(X: Any) -> StandardScaler:
    return StandardScaler(with_mean=not sp.issparse(X))


def _behind(scalers: Sequence[tuple[str, Any]], learner: Learner) -> Learner:
    return replace(learner, estimator=Pipeline([*scalers, ("learner", learner.estimator)]), is_scaled=True)


def forest(regression: bool, X: Any) -> Learner:
    """Return a forest of extremely randomised trees: few in the search, more in the end."""
    final = {"n_estimators": _MANY_TREES}
    if regression:
        return Learner("forest", ExtraTreesRegressor(_FEW_TREES, min_samples_leaf=2), final, _forest_of_rows)
    # A third of the features at a split: the root of their number drowns the few that tell among many that do not.
    trees = ExtraTreesClassifier(_FEW_TREES, max_features=0.3)
    return _tempered(Learner("forest", trees, final, _forest_of_rows), _SURER, X)


def _tempered(learner: Learner, power: float, X: Any) -> Learner:
    """Return a learner with its probabilities raised to a power, if rows are few; with many it knows how sure to be."""
    if X.shape[0] >= _FEW_ROWS:
        return learner
    return replace(learner, estimator=TemperedClassifier(learner.estimator, power=power), is_tempered=True)


def _forest_of_rows(n_rows: int, last: bool) -> dict[str, Any]:
    return _FOREST_OF_MANY if n_rows > _MANY_ROWS else {}


def gradient_boosting(regression: bool, X: Any) -> Learner:
    """Return gradient boosting of shallow trees: few stages and large steps in the search, more and smaller in the end.

    Not scikit-learn's histogram kind: with weights it sorts every column to find its bins, which takes longer than all
    its trees.
    """
    n_rows, n_features = X.shape
    kind: Any = GradientBoostingRegressor if regression else GradientBoostingClassifier
    step = 1.0 if n_rows >= _FEW_ROWS else 0.6  # few rows are soon known by heart
    # Depth 4, and as in the forest no more features at a split than are needed.
    booster = kind(
        n_estimators=30,
        learning_rate=0.2 * step,
        max_depth=4,
        max_features=min(_FEATURES_OF_A_SPLIT, max(1, round(0.3 * n_features))),
    )
    # In the end about as far as in the search, in smaller steps: a model that goes further is surer of itself than it
    # was when its weight was found.
    final = {"n_estimators": 150, "learning_rate": 0.05 * step}
    learner = Learner("boosting", booster, final, _boosting_of_rows)
    return learner if regression else _tempered(learner, _LESS_SURE, X)


def _boosting_of_rows(n_rows: int, last: bool) -> dict[str, Any]:
    return {"subsample": min(1.0, (_ROWS_OF_A_LAST_STAGE if last else _ROWS_OF_A_STAGE) / n_rows)}


def default_learners(regression: bool, X: Any, n_classes: int) -> list[Learner]:
    """Return what is tried where the user names no learner."""
    linear, trees = linear_learners(regression, X), [forest(regression, X)]
    if sp.issparse(X):
        return [*linear, *trees]  # a kernel would need the rows dense, and boosted trees of sparse rows are slow
    if n_classes <= _MOST_BOOSTED_CLASSES:  # a stage has a tree for each class
        trees.append(gradient_boosting(regression, X))
    return [*linear, *kernel_learners(regression, X), *trees]


def boosting_learners(regression: bool, learners: Sequence[Learner]) -> list[Learner]:
    """Return what gapBoost is tried with: shallow trees in a regression, linear learners in a classification.

    Sixty forests are no weak learner, and slow; the user's own learner is taken as it is.
    """
    if any(each.name == "forest" for each in learners):
        if regression:
            return [Learner("tree", DecisionTreeRegressor(max_depth=6))]
        return [each for each in learners if each.name == "linear"]
    return list(learners)


def own_learners(estimator: Any, param_grid: Any) -> list[Learner]:
    """Return the user's learner with each setting of its grid."""
    settings = ParameterGrid({} if param_grid is None else param_grid)
    return [Learner(type(estimator).__name__, clone(estimator).set_params(**each)) for each in settings]


class Kit:
    """Makes candidates for a regression or a classification.

    Parameters
    ----------
    regression : bool
    sources : sequence of int
        The numbers of the sources.
    """

    def __init__(self, regression: bool, sources: Sequence[int]) -> None:
        self.regression = regression
        self.sources = tuple(sources)

    def target_only(self, learner: Learner) -> Candidate:
        """Return the learner on the target's rows alone."""
        return self._pooling(TARGET_ONLY, learner, {}, target_share=1.0)

    def pooling(self, learner: Learner) -> list[Candidate]:
        """Return the learner on all rows, with each share of the weight on the target."""
        shares = SHARES[1:] if learner.name == "boosting" else SHARES  # the slowest of ours: the two that did best
        return [self._pooling(POOLING, learner, {"target_share": share}) for share in shares]

    def single_sources(self, like: Candidate) -> list[Candidate]:
        """Return a pooling with one source at a time, where there are several but not too many."""
        if not 2 <= len(self.sources) <= _MOST_SINGLE_SOURCES:
            return []
        return [self.of_sources(like, (k,)) for k in self.sources]

    def of_sources(self, like: Candidate, sources: tuple[int, ...]) -> Candidate:
        """Return a pooling with some of the sources."""
        return self._pooling(POOLING, like.learner, {**like.settings, "sources": sources})

    def gap_weighting(self, like: Candidate) -> list[Candidate]:
        """Return a pooling whose sources are weighted by their gap, where there are several."""
        if len(self.sources) < 2:
            return []
        shares = {like.settings["target_share"] or 0.5, 0.8}
        return [
            self._pooling(GAP_WEIGHTING, like.learner, {"target_share": share}, source_weight="gap")
            for share in sorted(shares)
        ]

    def gapboost(self, learner: Learner, **settings: Any) -> Candidate:
        """Return gapBoost around the learner."""
        booster: Any = GapBoostRegressor if self.regression else GapBoostClassifier
        # A regression tree that fits its rows exactly would end the boosting in its first round.
        fixed: dict[str, Any] = {"stop_when_perfect": False} if self.regression else {}
        *before, (_, inner) = learner.estimator.steps if learner.is_scaled else [("", learner.estimator)]
        boosted = booster(clone(inner), n_estimators=_FEW_ROUNDS, **fixed, **settings)
        # Scaled once, not by each of sixty learners.
        whole = Pipeline([*((name, clone(step)) for name, step in before), ("booster", boosted)]) if before else boosted
        return Candidate(GAPBOOST, learner, settings, whole)

    def gapboost_starts(self, learner: Learner) -> list[Candidate]:
        """Return gapBoost as printed, and with the target's share of the first weights given."""
        if self.regression:
            settings = ((None, False), (0.5, True))
            return [self.gapboost(learner, target_share=share, resample=resample) for share, resample in settings]
        return [
            self.gapboost(learner, target_share=share, vote=vote) for share, vote in ((None, "hard"), (0.8, "soft"))
        ]

    def gapboost_around(self, best: Candidate) -> list[Candidate]:
        """Return gapBoost with the source as trusted as the target and with hardly any trust, and without the cap."""
        changes: list[dict[str, Any]] = [
            {"rho_source": 0.0},
            {"rho_source": -float(np.log(10))},
            {"gamma_max": 1.0},
        ]
        return [self.gapboost(best.learner, **{**best.settings, **change}) for change in changes]

    def _pooling(self, method: str, learner: Learner, settings: Mapping[str, Any], **fixed: Any) -> Candidate:
        kind: Any = WeightedPoolingRegressor if self.regression else WeightedPoolingClassifier
        return Candidate(method, learner, settings, kind(clone(learner.estimator), **settings, **fixed))
