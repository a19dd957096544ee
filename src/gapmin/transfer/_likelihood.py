"""Log-likelihoods of held-out predictions, and the corrections that adapt a source's predictions to the target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, softmax

from gapmin._utils.typing import Array

from .constants import SHRINKAGE, UNIFORM_SHARE, VARIANCE_SCALE

_STEPS = 30
_CONVERGED = 1e-8


def mix_uniform(probability: Array) -> Array:
    """Return probabilities mixed with a uniform guess.

    Examples
    --------
    >>> mix_uniform(np.array([1.0, 0.0])).tolist()
    [0.975, 0.025]
    """
    return (1 - UNIFORM_SHARE) * probability + UNIFORM_SHARE / probability.shape[-1]


def class_log_likelihood(probability: Array, codes: NDArray[np.intp]) -> Array:
    """Return the log-likelihood of each row's class, for one set of predictions or several.

    Parameters
    ----------
    probability : ndarray of shape (..., n_rows, n_classes)
    codes : ndarray of int of shape (n_rows,)
    """
    mixed = mix_uniform(probability)
    return np.log(mixed[..., np.arange(codes.size), codes])


def value_log_likelihood(residuals: Array, label_variance: float) -> Array:
    """Return the log marginal likelihood of residuals under a normal law whose variance is integrated out.

    The variance has an inverse-gamma(1, s²) prior, s² being `VARIANCE_SCALE` times the variance of the labels. Row
    by row this is a Student t whose scale is learnt from the rows before.

    Parameters
    ----------
    residuals : ndarray of shape (..., n_rows)
    label_variance : float

    Examples
    --------
    >>> small, large = value_log_likelihood(np.array([[0.1, -0.1], [1.0, -1.0]]), 1.0)
    >>> bool(small > large)
    True
    """
    return squares_log_likelihood((residuals**2).sum(axis=-1), residuals.shape[-1], label_variance)


def squares_log_likelihood(squares: Array, n_rows: int, label_variance: float) -> Array:
    """Return the same from the sums of so many squared residuals."""
    scale = VARIANCE_SCALE * label_variance
    power = 1 + n_rows / 2
    return gammaln(power) + np.log(scale) - n_rows / 2 * np.log(2 * np.pi) - power * np.log(scale + squares / 2)


def row_value_log_likelihood(residuals: Array, label_variance: float) -> Array:
    """Return for each row the log predictive density of its residual given all others: to see how rows differ."""
    squares = (residuals**2).sum(axis=-1, keepdims=True)
    without = squares_log_likelihood(squares - residuals**2, residuals.shape[-1] - 1, label_variance)
    return squares_log_likelihood(squares, residuals.shape[-1], label_variance) - without


def mixture_log_likelihood(parts: list[float]) -> float:
    """Return the log of the mean of likelihoods.

    Examples
    --------
    >>> round(mixture_log_likelihood([0.0, -1e9]), 3)
    -0.693
    """
    return float(logsumexp(parts) - np.log(len(parts)))


def correct_values(predicted: Array, y: Array, train: NDArray[np.bool_], *, slope: bool) -> tuple[Array, Array, Array]:
    """Fit offset and slope of a source's predictions to target rows, shrunk to 0 and 1; several fits at once.

    Each is shrunk by the positive part of James and Stein's factor, 1 - variance / square: a correction within its own
    noise is not made, and one far beyond it is made whole, whatever its unit.

    Parameters
    ----------
    predicted : ndarray of shape (n_rows,)
    y : ndarray of shape (n_rows,)
    train : ndarray of bool of shape (n_fits, n_rows)
        Which rows each fit learns from.
    slope : bool
        Whether to fit a slope, which is never below 0; else the offset alone.

    Returns
    -------
    centre, offset, slope : ndarray of shape (n_fits,)
        The corrected prediction is centre + offset + slope * (prediction - centre).

    Examples
    --------
    >>> p, train = np.arange(4.0), np.ones((1, 4), dtype=bool)
    >>> centre, offset, factor = correct_values(p, 5 + 2 * p, train, slope=True)
    >>> round(float(centre[0] + offset[0]), 6), round(float(factor[0]), 6)
    (8.0, 2.0)
    """
    n = train.sum(axis=1)
    weight = train / n[:, None]
    centre = weight @ predicted
    residual = y - predicted
    offset = weight @ residual
    around = predicted - centre[:, None]
    spread = (weight * around**2).sum(axis=1)
    tiny = spread <= 1e-12 * (1e-300 + np.abs(predicted).max() ** 2)
    change = np.zeros(len(train))
    if slope:
        joint = (weight * around * residual).sum(axis=1)
        change = np.where(tiny, 0.0, joint / np.where(tiny, 1.0, spread))
    left = residual - offset[:, None] - change[:, None] * around
    noise = (weight * left**2).sum(axis=1) * n / np.maximum(n - 1 - slope, 1)
    offset = offset * _james_stein(offset, noise / n)
    change = change * _james_stein(change, noise / (n * np.where(tiny, 1.0, spread)))
    return centre, offset, np.maximum(1 + change, 0.0)


def _james_stein(value: Array, variance: Array) -> Array:
    """Return what is left of a value after shrinking it towards 0 by its own noise."""
    square = value**2
    return np.where(square > variance, 1 - variance / np.where(square > 0, square, 1.0), 0.0)


def correct_classes(
    probability: Array, codes: NDArray[np.intp], train: NDArray[np.bool_], *, slope: bool
) -> tuple[Array, Array]:
    """Fit class biases and a factor of a source's log-probabilities to target rows, shrunk to 0 and 1.

    Newton's method on the convex penalised log-loss, for several fits at once.

    Parameters
    ----------
    probability : ndarray of shape (n_rows, n_classes)
    codes : ndarray of int of shape (n_rows,)
    train : ndarray of bool of shape (n_fits, n_rows)
    slope : bool
        Whether to fit the factor (an inverse temperature), which is never below 0; else the biases alone.

    Returns
    -------
    bias : ndarray of shape (n_fits, n_classes)
    factor : ndarray of shape (n_fits,)
    """
    score = np.log(mix_uniform(probability))
    n_classes = score.shape[1]
    truth = (codes[:, None] == np.arange(n_classes)).astype(float)
    weight = train.astype(float)
    state = np.zeros((len(train), n_classes + 1))
    state[:, -1] = 1.0
    centre = state.copy()

    def objective(at: Array) -> Array:
        margin = at[:, -1, None, None] * score + at[:, None, :-1]
        loss = logsumexp(margin, axis=2) - (margin * truth).sum(axis=2)
        return np.asarray((weight * loss).sum(axis=1) + SHRINKAGE / 2 * ((at - centre) ** 2).sum(axis=1))

    value = objective(state)
    for _ in range(_STEPS):
        margin = state[:, -1, None, None] * score + state[:, None, :-1]
        share = softmax(margin, axis=2)
        gradient, hessian = _derivatives(share, score, truth, weight)
        gradient += SHRINKAGE * (state - centre)
        hessian += SHRINKAGE * np.eye(n_classes + 1)
        held = (state[:, -1] <= 0) & (gradient[:, -1] > 0) if slope else np.ones(len(state), dtype=bool)
        gradient[held, -1] = 0.0
        hessian[held, -1, :] = hessian[held, :, -1] = 0.0
        hessian[held, -1, -1] = 1.0
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        size = np.ones(len(state))
        for _ in range(20):
            tried = state - size[:, None] * step
            tried[:, -1] = np.maximum(tried[:, -1], 0.0)
            new = objective(tried)
            worse = new > value + 1e-12
            if not worse.any():
                break
            size[worse] /= 2
        tried[worse] = state[worse]
        change = np.abs(tried - state).max()
        state, value = tried, np.minimum(new, value)
        if change < _CONVERGED:
            break
    return state[:, :-1], state[:, -1]


def _derivatives(share: Array, score: Array, truth: Array, weight: Array) -> tuple[Array, Array]:
    """Return gradient and Hessian of the weighted log-loss in biases and factor, for several fits."""
    n_fits, _, n_classes = share.shape
    wrong = weight[:, :, None] * (share - truth)
    gradient = np.concatenate([wrong.sum(axis=1), (wrong * score).sum(axis=(1, 2))[:, None]], axis=1)
    weighted = weight[:, :, None] * share
    hessian = np.zeros((n_fits, n_classes + 1, n_classes + 1))
    hessian[:, :-1, :-1] = -np.einsum("bic,bid->bcd", weighted, share)
    hessian[:, np.arange(n_classes), np.arange(n_classes)] += weighted.sum(axis=1)
    around = score - (share * score).sum(axis=2, keepdims=True)
    cross = (weighted * around).sum(axis=1)
    hessian[:, :-1, -1] = hessian[:, -1, :-1] = cross
    hessian[:, -1, -1] = (weighted * around * score).sum(axis=(1, 2))
    return gradient, hessian


def apply_to_values(predicted: Array, centre: Array, offset: Array, slope: Array) -> Array:
    """Return corrected predictions, a row of them for each fit."""
    return centre[:, None] + offset[:, None] + slope[:, None] * (predicted - centre[:, None])


def apply_to_classes(probability: Array, bias: Array, factor: Array) -> Array:
    """Return corrected probabilities, a table of them for each fit."""
    score = np.log(mix_uniform(probability))
    return softmax(factor[:, None, None] * score + bias[:, None, :], axis=2)


def residual_spread(residuals: Array, label_variance: float) -> tuple[float, float]:
    """Return scale and degrees of freedom of a Student t for residuals of held-out rows, a row of them a repeat."""
    n = residuals.shape[-1]
    squares = float((residuals**2).mean(axis=0).sum())
    return float(np.sqrt((2 * VARIANCE_SCALE * label_variance + squares) / (2 + n))), 2.0 + n
