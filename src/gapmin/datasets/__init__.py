"""Transfer and multitask problems to learn, compare and teach with."""

from __future__ import annotations

from ._digits import load_digits_transfer
from ._digits_multitask import load_digits_multitask
from ._features import frozen_features, load_pacs_features
from ._image_sets import load_office31, load_office_home, load_pacs
from ._multitask import MultitaskProblem, MultitaskSplit
from ._newsgroups import load_newsgroups
from ._office_caltech import load_office_caltech
from ._problem import Split, TransferProblem
from ._regression import load_thirds, make_friedman_transfer, thirds
from ._resnet50 import load_resnet50_features

__all__ = [
    "MultitaskProblem",
    "MultitaskSplit",
    "Split",
    "TransferProblem",
    "embedded_problems",
    "frozen_features",
    "load_digits_multitask",
    "load_digits_transfer",
    "load_newsgroups",
    "load_office31",
    "load_office_caltech",
    "load_office_home",
    "load_pacs",
    "load_pacs_features",
    "load_resnet50_features",
    "load_thirds",
    "make_friedman_transfer",
    "thirds",
]


def embedded_problems() -> list[TransferProblem]:
    """Return every transfer problem whose data comes with the installed packages: no download, no file to provide.

    Returns
    -------
    list of TransferProblem
        Classification first.

    Examples
    --------
    >>> from gapmin.datasets import embedded_problems
    >>> for problem in embedded_problems()[:5]:
    ...     print(problem)
    <TransferProblem 'digits -> mnist': target 5000 x 64, source 1797>
    <TransferProblem 'mnist -> digits': target 1797 x 64, source 5000>
    <TransferProblem 'digits -> mnist, odd': target 5000 x 64, source 1797>
    <TransferProblem 'mnist -> digits, odd': target 1797 x 64, source 5000>
    <TransferProblem 'diabetes low': target 148 x 9, sources 147 + 147>
    """
    return [
        load_digits_transfer("digits"),
        load_digits_transfer("mnist"),
        load_digits_transfer("digits", binary=True),
        load_digits_transfer("mnist", binary=True),
        *load_thirds("diabetes"),
        *load_thirds("housing"),
        *load_thirds("autompg"),
        make_friedman_transfer(),
    ]
