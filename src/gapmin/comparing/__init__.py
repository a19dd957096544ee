"""Will this other data help me? A whole comparison of a study's sources, as plain results; nothing is printed here."""

from .compare import compare_study
from .methods import OURS, POOLED, TARGET_ONLY
from .result import LabelSaving, LeagueEntry, LearningCurve, StudyComparison

__all__ = [
    "OURS",
    "POOLED",
    "TARGET_ONLY",
    "LabelSaving",
    "LeagueEntry",
    "LearningCurve",
    "StudyComparison",
    "compare_study",
]
