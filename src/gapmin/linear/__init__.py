"""Linear models with the objectives of the paper: weights that sum to one, ``lam * ||h||^2`` without the 1/2."""

from gapmin.linear._logistic import WeightedLogisticRegression

__all__ = ["WeightedLogisticRegression"]
