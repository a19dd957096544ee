"""Likelihoods against numerical integration, corrections against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from gapmin.transfer._likelihood import (
    SHRINKAGE,
    VARIANCE_SCALE,
    apply_to_classes,
    apply_to_values,
    class_log_likelihood,
    correct_classes,
    correct_values,
    mix_uniform,
    row_value_log_likelihood,
    value_log_likelihood,
)


def test_the_variance_is_integrated_out():
    residuals, variance = np.array([0.3, -1.2, 0.8]), 2.0
    prior = stats.invgamma(1, scale=VARIANCE_SCALE * variance)

    def joint(v):
        return np.exp(stats.norm.logpdf(residuals, scale=np.sqrt(v)).sum()) * prior.pdf(v)

    whole, _ = integrate.quad(joint, 0, np.inf, limit=400)
    assert value_log_likelihood(residuals, variance) == pytest.approx(np.log(whole), abs=1e-6)


def test_a_rows_part_is_what_the_whole_loses_without_it():
    residuals = np.array([[0.3, -1.2, 0.8, 0.1]])
    rows = row_value_log_likelihood(residuals, 1.0)[0]
    for k in range(4):
        without = value_log_likelihood(np.delete(residuals[0], k), 1.0)
        assert rows[k] == pytest.approx(value_log_likelihood(residuals[0], 1.0) - without)


def test_no_row_of_a_class_can_cost_more_than_the_uniform_share():
    found = class_log_likelihood(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, 1]))
    assert found == pytest.approx(np.log([0.025, 0.975]))


def test_a_correction_far_beyond_its_noise_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    p = rng.normal(size=40)
    y = 1000 + 50 * p + rng.normal(size=40)
    centre, offset, slope = correct_values(p, y, np.ones((1, 40), dtype=bool), slope=True)
    best_slope, best_level = np.polyfit(p, y, 1)
    assert slope[0] == pytest.approx(best_slope, rel=1e-3)
    assert centre[0] + offset[0] == pytest.approx(best_level + best_slope * centre[0], rel=1e-3)


def test_a_correction_within_its_noise_is_not_made():
    p = np.array([0.0, 1.0, 2.0, 3.0])
    y = p + np.array([1.0, -1.0, 1.0, -1.0]) + 0.01
    _, offset, slope = correct_values(p, y, np.ones((1, 4), dtype=bool), slope=True)
    assert offset == [0.0]
    assert slope == [1.0]


def test_a_slope_is_never_negative():
    p = np.arange(8.0)
    assert correct_values(p, -p, np.ones((1, 8), dtype=bool), slope=True)[2] == [0.0]


def test_another_level_and_unit_are_corrected():
    p = np.linspace(-1, 1, 40)
    made = correct_values(p, 100 + 7 * p, np.ones((1, 40), dtype=bool), slope=True)
    assert np.abs(apply_to_values(p, *made)[0] - (100 + 7 * p)).max() < 0.02 * 100


@pytest.mark.parametrize("slope", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_class_corrections_minimise_the_penalised_log_loss(n_classes, slope):
    rng = np.random.default_rng(n_classes)
    probability = rng.dirichlet(np.ones(n_classes), size=30)
    codes = rng.integers(n_classes, size=30)
    train = rng.random((3, 30)) < 0.8
    bias, factor = correct_classes(probability, codes, train, slope=slope)
    score = np.log(mix_uniform(probability))

    def loss(at, mask):
        margin = at[-1] * score + at[:-1]
        rows = np.log(np.exp(margin).sum(axis=1)) - margin[np.arange(30), codes]
        return rows[mask].sum() + SHRINKAGE / 2 * ((at[:-1] ** 2).sum() + (at[-1] - 1) ** 2)

    for k in range(3):
        bounds = [(None, None)] * n_classes + [(0, None) if slope else (1, 1)]
        best = optimize.minimize(loss, [*np.zeros(n_classes), 1.0], args=(train[k],), bounds=bounds)
        assert loss(np.append(bias[k], factor[k]), train[k]) <= best.fun + 1e-6


def test_other_class_frequencies_are_corrected():
    rng = np.random.default_rng(0)
    margin = rng.normal(size=400)
    p = 1 / (1 + np.exp(-margin))
    codes = (rng.random(400) < 1 / (1 + np.exp(-margin - 2))).astype(int)
    probability = np.column_stack([1 - p, p])
    made = correct_classes(probability, codes, np.ones((1, 400), dtype=bool), slope=True)
    after = apply_to_classes(probability, *made)[0]
    assert abs(after[:, 1].mean() - codes.mean()) < 0.02
