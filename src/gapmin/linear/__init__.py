"""Linear models with the objectives of the paper: weights that sum to one, ``lam * ||h||^2`` without the 1/2.

One file for each setting of Sec. 4 holds its objective, its performance gap, its lemma and its theorem.
"""

from gapmin.linear._logistic import WeightedLogisticRegression
from gapmin.linear.discrepancy import Discrepancy, marginal_discrepancy, y_discrepancy
from gapmin.linear.feature_transfer import FeatureTransferClassifier, FeatureTransferRegressor
from gapmin.linear.gap_projection import GapProjectionClassifier, GapProjectionRegressor
from gapmin.linear.gap_weighting import GapWeightingClassifier, GapWeightingRegressor
from gapmin.linear.hypothesis_transfer import HypothesisTransferClassifier, HypothesisTransferRegressor
from gapmin.linear.instance_weighting import InstanceWeightingClassifier, InstanceWeightingRegressor
from gapmin.linear.parameter_sharing import ParameterSharingClassifier, ParameterSharingRegressor
from gapmin.linear.task_covariance import TaskCovarianceClassifier, TaskCovarianceRegressor
from gapmin.linear.task_weighting import TaskWeightingClassifier, TaskWeightingRegressor
from gapmin.linear.wasserstein import class_wasserstein, class_wasserstein_matrix, proposition_2

__all__ = [
    "Discrepancy",
    "FeatureTransferClassifier",
    "FeatureTransferRegressor",
    "GapProjectionClassifier",
    "GapProjectionRegressor",
    "GapWeightingClassifier",
    "GapWeightingRegressor",
    "HypothesisTransferClassifier",
    "HypothesisTransferRegressor",
    "InstanceWeightingClassifier",
    "InstanceWeightingRegressor",
    "ParameterSharingClassifier",
    "ParameterSharingRegressor",
    "TaskCovarianceClassifier",
    "TaskCovarianceRegressor",
    "TaskWeightingClassifier",
    "TaskWeightingRegressor",
    "WeightedLogisticRegression",
    "class_wasserstein",
    "class_wasserstein_matrix",
    "marginal_discrepancy",
    "proposition_2",
    "y_discrepancy",
]
