"""The paper's experiments again, beside the numbers that it prints; the demo; and what runs the cells of both."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment

_MODULES = {
    **{name: name for name in ("table1", "table2", "table3")},
    **dict.fromkeys(("table4", "table5", "table6", "table7"), "multitask"),
    **{name: name for name in ("table8", "figure1", "figure2", "figure3", "figure4", "figure5")},
}
NAMES = tuple(_MODULES)
"""Every table and figure of the paper."""


def get_experiment(name: str) -> Experiment:
    """Return the experiment behind a table or figure.

    Parameters
    ----------
    name : str
        Such as "table2" or "figure1".

    Returns
    -------
    Experiment
        Its cells and how to show them.

    Examples
    --------
    >>> from gapmin.reproduce import get_experiment
    >>> get_experiment("table2").title
    'gapBoost and its baselines on 20 Newsgroups and Office-Caltech'
    """
    if name not in NAMES:
        raise ValueError(f"the paper has no {name!r}: use {', '.join(NAMES)}")
    found: Experiment = getattr(import_module(f"gapmin.reproduce.{_MODULES[name]}"), name.upper())
    return found
