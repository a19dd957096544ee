"""Which setting of each kind of learner a hypothesis uses, and what the kinds weigh in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gapmin._utils.typing import Array

from ._fitting import Data, Setting
from ._likelihood import class_log_likelihood, squares_log_likelihood
from .constants import KIND_RATE

Choice = dict[Setting, float]
"""The settings that are used, one of each kind, and their weights, which sum to one."""

RowsAside = tuple[Array, NDArray[np.intp]]
"""Predictions of source rows that were set aside, and the positions of these rows."""


@dataclass(frozen=True)
class Trials:
    """What held-out predictions say of the settings of one hypothesis.

    Attributes
    ----------
    predicted : dict of Setting to ndarray of shape (n_rows,) or (n_rows, n_classes)
        Of the target rows that are tested.
    loss : ndarray of shape (n_settings, n_rows)
        Of these rows: squared errors or Brier scores.
    fit : ndarray of shape (n_settings, n_rows)
        Log-likelihoods of their classes; in a regression zeros.
    loss_aside, fit_aside : ndarray of shape (n_settings,)
        The means over the source rows that were set aside.
    n_aside : int
        How many target rows these count as: no more than there are.
    label_variance : float
    """

    predicted: dict[Setting, Array]
    loss: Array
    fit: Array
    loss_aside: Array
    fit_aside: Array
    n_aside: int
    label_variance: float

    @classmethod
    def of(
        cls, data: Data, predicted: dict[Setting, Array], y: NDArray[Any], aside: Mapping[Setting, RowsAside]
    ) -> Self:
        """Return what predictions of target rows with the labels `y`, and of rows set aside, say of each setting."""
        every = np.array(list(predicted.values()))
        fit = class_log_likelihood(every, y) if data.n_classes else np.zeros(every.shape)
        known = {each: _means_aside(data, *rows) for each, rows in aside.items() if rows[1].size}
        # A setting that could not be asked about source rows is taken for the worst of those that were.
        worst = (
            (max(loss for loss, _ in known.values()), min(fit for _, fit in known.values())) if known else (0.0, 0.0)
        )
        means = np.array([known.get(each, worst) for each in predicted])
        n_aside = min(y.size, max((rows.size for _, rows in aside.values()), default=0))
        return cls(predicted, data.losses(every, y), fit, means[:, 0], means[:, 1], n_aside, data.label_variance)

    def only(self, settings: Sequence[Setting]) -> Self:
        """Return the same of some settings."""
        places = [list(self.predicted).index(each) for each in settings]
        return replace(
            self,
            predicted={each: self.predicted[each] for each in settings},
            loss=self.loss[places],
            fit=self.fit[places],
            loss_aside=self.loss_aside[places],
            fit_aside=self.fit_aside[places],
        )

    def choose(self, kept: NDArray[np.bool_], metric: Array | None = None) -> Choice:
        """Return of each kind the setting with the lowest loss, and the weights of the kinds.

        Parameters
        ----------
        kept : ndarray of bool of shape (n_rows,)
            The target rows that are looked at, besides the source rows that were set aside.
        metric : ndarray of shape (n_settings,), optional
            What is low for a good setting, in place of the loss.
        """
        squares = self.loss[:, kept].sum(axis=1) + self.n_aside * self.loss_aside
        settings, by = list(self.predicted), squares if metric is None else metric
        best: dict[str, int] = {}
        for place, setting in enumerate(settings):
            kind = setting.learner.kind
            if kind not in best or by[place] < by[best[kind]]:
                best[kind] = place
        chosen = list(best.values())
        log_likelihood = self.fit[chosen][:, kept].sum(axis=1) + self.n_aside * self.fit_aside[chosen]
        if not self.fit.any():
            log_likelihood = squares_log_likelihood(
                squares[chosen], int(kept.sum()) + self.n_aside, self.label_variance
            )
        weights = softmax(KIND_RATE * log_likelihood)
        return {settings[place]: float(weight) for place, weight in zip(chosen, weights, strict=True)}


def _means_aside(data: Data, predicted: Array, rows: NDArray[np.intp]) -> tuple[float, float]:
    """Return the mean loss of rows of sources, in units of the target's labels, and their mean log-likelihood."""
    y = data.y[rows]
    loss = data.losses(predicted, y)
    if data.n_classes:
        return float(loss.mean()), float(class_log_likelihood(predicted, y).mean())
    for number in np.unique(data.domain[rows]):
        variance = float(np.var(data.y[data.domain == number]))
        loss[data.domain[rows] == number] *= data.label_variance / variance if variance > 0 else 1.0
    return float(loss.mean()), 0.0
