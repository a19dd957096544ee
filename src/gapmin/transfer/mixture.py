"""The model in the end: hypotheses and their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from gapmin._utils.typing import Array

from ._fitting import HALF, METHOD, WITHOUT_SOURCES, Data, FittedLearner
from .constants import RECALIBRATED, Sources


def predict_mean(models: Sequence[FittedLearner], X: Any) -> Array:
    """Return what the models of a hypothesis predict together: the mean with their weights."""
    return np.asarray(sum(each.weight * each.predict(X) for each in models))


class HypothesisMixture(BaseEstimator):
    """Models of several hypotheses, and the weight of each.

    Parameters
    ----------
    models : dict of tuple to list of FittedLearner
        By the numbers of the sources; the weights of each list sum to one.
    weights : dict of tuple to float
    """

    def __init__(self, models: dict[Sources, list[FittedLearner]], weights: dict[Sources, float]) -> None:
        self.models = models
        self.weights = weights

    def __getstate__(self) -> dict[str, Any]:
        """Return lists: a model file keeps no dictionary with sets of sources for keys."""
        return {
            "sets": [list(members) for members in self.models],
            "models": list(self.models.values()),
            "weights": [float(self.weights[members]) for members in self.models],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        sets = [tuple(members) for members in state["sets"]]
        self.models = dict(zip(sets, state["models"], strict=True))
        self.weights = dict(zip(sets, state["weights"], strict=True))

    def predict_by_hypothesis(self, X: Any) -> dict[Sources, Array]:
        """Return what each hypothesis predicts: values, or probabilities of all classes."""
        return {members: predict_mean(models, X) for members, models in self.models.items()}

    def predict(self, X: Any) -> Array:
        """Return the weighted mean of values or probabilities."""
        found = self.predict_by_hypothesis(X)
        return np.asarray(sum(self.weights[members] * predicted for members, predicted in found.items()))


def domain_weights(
    data: Data, weights: Mapping[Sources, float], models: Mapping[Sources, Sequence[FittedLearner]]
) -> dict[int, float]:
    """Return the share of the training weight that each domain has, over all models of the mixture."""
    sizes = {int(k): int((data.domain == k).sum()) for k in np.unique(data.domain[data.domain > 0])}
    n_target = data.target.size
    found = dict.fromkeys([-1, *sizes], 0.0)
    for members, weight in weights.items():
        n_sources = sum(sizes[k] for k in members)
        for model in models[members]:
            share = {WITHOUT_SOURCES: 1.0, HALF: 0.5, RECALIBRATED: 0.0}.get(
                model.form, n_target / (n_target + n_sources)
            )
            if model.form == METHOD:  # its rows are the target's, then the sources'
                own = np.asarray(model.estimator.sample_weight_)
                share = float(own[:n_target].sum() / own.sum())
            found[-1] += weight * model.weight * share
            for k in members:
                found[k] += weight * model.weight * (1 - share) * sizes[k] / n_sources
    return found


def row_weights(data: Data, domain_weight: Mapping[int, float], order: NDArray[np.intp]) -> Array:
    """Return the weight of each row as it was given; `order` says where the rows of the data were."""
    found = np.empty(data.domain.size)
    for number, share in domain_weight.items():
        of_domain = data.domain < 0 if number < 0 else data.domain == number
        found[order[of_domain]] = share / of_domain.sum()
    return found
