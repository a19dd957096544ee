"""Fit a model that knows of domains, wherever it stands in a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline


def fit_with_domains(model: Any, X: Any, y: Any, domain: Any) -> Any:
    """Fit a model that takes `sample_domain`, also one that stands behind a scaler.

    Parameters
    ----------
    model : estimator
        What is fitted.
    X : array-like of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.
    domain : array-like of shape (n_rows,)
        The domain of each row.

    Returns
    -------
    estimator
        The model given, fitted.
    """
    name = f"{model.steps[-1][0]}__sample_domain" if isinstance(model, Pipeline) else "sample_domain"
    # The weighted variance of a constant column may round below 0, which scikit-learn's scaler mends after its warning.
    # With metadata routing on, a pipeline would refuse domains that its steps did not ask for.
    with np.errstate(invalid="ignore"), config_context(enable_metadata_routing=False):
        return model.fit(X, y, **{name: domain})
