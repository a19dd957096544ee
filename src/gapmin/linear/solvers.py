"""What other packages of gapmin build on: solvers, losses, the logistic objective, helpers for all kinds of rows."""

from gapmin.linear._logistic import LogisticFits, margin_probabilities, tolerance, write_into
from gapmin.linear._logistic_objective import LogisticObjective, SummedLogistic
from gapmin.linear._losses import LOSS_BY_NAME
from gapmin.linear._matrix import dense, squared_norms
from gapmin.linear._ridge import RidgeOfAnyScale
from gapmin.linear._setting import check_squares
from gapmin.linear._simplex import project_simplex
from gapmin.linear._solver import DescentResult, descend, weighted_gram

__all__ = [
    "LOSS_BY_NAME",
    "DescentResult",
    "LogisticFits",
    "LogisticObjective",
    "RidgeOfAnyScale",
    "SummedLogistic",
    "check_squares",
    "dense",
    "descend",
    "margin_probabilities",
    "project_simplex",
    "squared_norms",
    "tolerance",
    "weighted_gram",
    "write_into",
]
