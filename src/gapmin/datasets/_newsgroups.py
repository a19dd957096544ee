"""20 Newsgroups as six transfer problems between subcategories (Dai et al. 2007)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Literal, get_args, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds
from sklearn.datasets._twenty_newsgroups import strip_newsgroup_header
from sklearn.feature_extraction.text import CountVectorizer

from ._decomposed import decomposed_problem, fixed_signs
from ._problem import TransferProblem, read_only
from ._reading import decoding, read_bunches
from .catalogue import data_set

NewsgroupsName = Literal["comp vs sci", "rec vs sci", "comp vs talk", "comp vs rec", "rec vs talk", "sci vs talk"]
GroupPair = tuple[str, str]
Scaling = bool | Literal["raw"]

N_WORDS = 26_214
N_SINGULAR_VECTORS = 100

# Negative and positive group of the source, then of the target.
_GROUPS: dict[NewsgroupsName, tuple[GroupPair, GroupPair]] = {
    "comp vs sci": (("comp.sys.ibm.pc.hardware", "sci.med"), ("comp.sys.mac.hardware", "sci.crypt")),
    "rec vs sci": (("rec.autos", "sci.electronics"), ("rec.motorcycles", "sci.space")),
    "comp vs talk": (
        ("comp.graphics", "talk.religion.misc"),
        ("comp.os.ms-windows.misc", "talk.politics.misc"),
    ),
    "comp vs rec": (("comp.sys.ibm.pc.hardware", "rec.autos"), ("comp.sys.mac.hardware", "rec.motorcycles")),
    "rec vs talk": (
        ("rec.sport.hockey", "talk.politics.misc"),
        ("rec.sport.baseball", "talk.politics.mideast"),
    ),
    "sci vs talk": (("sci.space", "talk.politics.guns"), ("sci.med", "talk.politics.misc")),
}


@overload
def load_newsgroups(
    name: Literal["all"] = ..., *, data_home: str | os.PathLike[str] | None = ..., scaled: Scaling = ...
) -> list[TransferProblem]: ...
@overload
def load_newsgroups(
    name: NewsgroupsName, *, data_home: str | os.PathLike[str] | None = ..., scaled: Scaling = ...
) -> TransferProblem: ...
def load_newsgroups(
    name: NewsgroupsName | Literal["all"] = "all",
    *,
    data_home: str | os.PathLike[str] | None = None,
    scaled: Scaling = True,
) -> TransferProblem | list[TransferProblem]:
    """Load one of the six 20 Newsgroups problems, or all of them.

    Each tells one group of articles (label 0) from another (label 1); the source tells apart two other groups
    of the same two top categories. Articles lose their headers and become the presence or absence of 26,214
    words, those found in the greatest number of the whole corpus of 18,846 articles, English stop words left
    out. The features are the first 100 left singular vectors of source and target together. 10% of the target
    trains.

    Parameters
    ----------
    name : str, default="all"
        "comp vs sci", "rec vs sci", "comp vs talk", "comp vs rec", "rec vs talk", "sci vs talk", or "all".
    data_home : path, optional
        The folder of `20news-bydate_py3.pkz`, the cache file of scikit-learn's `fetch_20newsgroups`. By
        default the folder `20newsgroups` in the one that the environment variable `GAPMIN_DATA` names, or in
        the user's cache, to where scikit-learn downloads the articles if need be.
    scaled : bool or "raw", default=True
        Scale the singular vectors to unit variance, which is the paper's protocol as we read it. False leaves them
        multiplied by their singular values, with which a logistic regression has lower error. "raw" leaves each of
        length one, as in the authors' demo; it goes with a learner that has no penalty.

    Returns
    -------
    TransferProblem, or a list of the six
        One problem, or all of them.

    Raises
    ------
    FileNotFoundError
        When the file is not there and cannot be downloaded.

    Notes
    -----
    Words are counted once for the process (about 6 seconds), and each problem is decomposed once (about 2). Among words
    as frequent as the last one kept, the first in the alphabet stay. The entry of largest size in each singular vector
    is positive, so the features depend on the machine only by rounding.

    Examples
    --------
    >>> from gapmin.datasets import load_newsgroups
    >>> load_newsgroups("rec vs sci")  # doctest: +SKIP
    <TransferProblem 'rec vs sci': target 1983 x 100, source 1974>
    >>> load_newsgroups("rec vs sci", data_home="no/such/folder")
    Traceback (most recent call last):
        ...
    FileNotFoundError: ...20news-bydate_py3.pkz is not there...
    """
    if name == "all":
        return [load_newsgroups(each, data_home=data_home, scaled=scaled) for each in _GROUPS]
    if name not in get_args(NewsgroupsName):
        raise ValueError(f"name is {name!r}: use 'all' or one of {', '.join(map(repr, _GROUPS))}")
    (corpus,) = data_set("newsgroups").files
    left, singular_values, labels, is_target = _decompose(name, corpus.find(data_home))
    if scaled not in (True, False, "raw"):
        raise ValueError(f"scaled is {scaled!r}: use True, False or 'raw'")
    X = left if scaled == "raw" else left / left.std(axis=0) if scaled else left * singular_values
    source, target = _GROUPS[name]
    description = f"20 Newsgroups: {target[0]} against {target[1]}, source {source[0]} against {source[1]}"
    return decomposed_problem(X, labels, is_target, name=name, train_size=0.1, description=description)


@cache
def _words(path: Path) -> tuple[sp.csr_array, NDArray[np.str_]]:
    """Return which frequent word is in which article of the whole corpus, and each article's group."""
    parts = read_bunches(path)
    with decoding(path):
        articles = [strip_newsgroup_header(text) for name in ("train", "test") for text in parts[name]["data"]]
        groups = np.concatenate([np.array(parts[n]["target_names"])[parts[n]["target"]] for n in ("train", "test")])
    presence = sp.csr_array(CountVectorizer(binary=True, stop_words="english").fit_transform(articles))
    n_articles = presence.sum(axis=0)
    # CountVectorizer's own max_features sorts unstably: chance would pick among the words tied at the end.
    frequent = np.sort(np.argsort(-n_articles, kind="stable")[:N_WORDS])
    return presence[:, frequent].astype(np.float64), groups


@cache
def _decompose(
    name: NewsgroupsName, path: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the left singular vectors, the singular values, the labels, and which rows are the target's."""
    words, group = _words(path)
    source, target = _GROUPS[name]
    rows = np.flatnonzero(np.isin(group, source + target))
    matrix = words[rows]
    start = np.ones(min(matrix.shape))
    left, singular_values, _ = svds(matrix, k=N_SINGULAR_VECTORS, v0=start, return_singular_vectors="u")
    left, singular_values = fixed_signs(left[:, ::-1]), singular_values[::-1]
    labels = np.isin(group[rows], (source[1], target[1])).astype(np.int64)
    return read_only(left), read_only(singular_values), read_only(labels), np.isin(group[rows], target)
