"""What boosters are made of, for those who train elsewhere than in memory: rows, learners, the loop, the vote."""

from gapmin.boosting._base import BaseBoosting
from gapmin.boosting._learners import Learners, predict_numbers, seed_unseeded
from gapmin.boosting._rows import Part, TrainingRows, compute_scalars, hashed
from gapmin.boosting._vote import class_shares

__all__ = [
    "BaseBoosting",
    "Learners",
    "Part",
    "TrainingRows",
    "class_shares",
    "compute_scalars",
    "hashed",
    "predict_numbers",
    "seed_unseeded",
]
