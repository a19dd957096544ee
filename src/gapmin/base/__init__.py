"""What every estimator shares: checks of rows, labels, weights and tasks, and the base of the transfer estimators."""

from gapmin.base._constraints import InheritedConstraints
from gapmin.base._data import DomainData
from gapmin.base._fitting import fit_with_domains
from gapmin.base._tasks import check_tasks, known_tasks, plain, refuse_unnamed
from gapmin.base._transfer import TrainsOnRows, TransferMetaEstimator
from gapmin.base._validation import check_labels, check_sample_weight, first_missing

__all__ = [
    "DomainData",
    "InheritedConstraints",
    "TrainsOnRows",
    "TransferMetaEstimator",
    "check_labels",
    "check_sample_weight",
    "check_tasks",
    "first_missing",
    "fit_with_domains",
    "known_tasks",
    "plain",
    "refuse_unnamed",
]
