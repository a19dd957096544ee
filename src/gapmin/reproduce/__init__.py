"""The paper's experiments again, beside the numbers that it prints."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment

NAMES = (*(f"table{k}" for k in range(1, 9)), *(f"figure{k}" for k in range(1, 6)))
"""Every table and figure of the paper, each in a module of its name."""


def get_experiment(name: str) -> Experiment:
    """Return the experiment behind a table or figure.

    Examples
    --------
    >>> from gapmin.reproduce import get_experiment
    >>> get_experiment("table2").title
    'gapBoost and its baselines on 20 Newsgroups and Office-Caltech'
    """
    if name not in NAMES:
        raise ValueError(f"the paper has no {name!r}: use {', '.join(NAMES)}")
    found: Experiment = import_module(f"gapmin.reproduce.{name}").EXPERIMENT
    return found
