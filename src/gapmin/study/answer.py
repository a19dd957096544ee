"""The one answer about a study: the same rows as numbers, the same estimator, the same seed, whoever asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from gapmin.transfer import Evidence, TransferClassifierCV, TransferRegressorCV
from gapmin.transfer.collect import Collected

from .preprocessing import preprocessor
from .schema import Schema
from .study import Study

if TYPE_CHECKING:
    import pandas as pd

MAX_SEARCH_ROWS: int = TransferClassifierCV().max_search_rows or 0
"""Source rows that are evaluated: the default of `Transfer*CV`, everywhere."""

MAX_PREPARE_ROWS = 200_000
_ROWS_AT_ONCE = 50_000
_COLUMN = re.compile(r"'column (\d+)'")


def transfer_model(
    task: str,
    seed: int,
    *,
    scoring: Any = None,
    cv: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """Return the estimator of every study: columns were aligned by name, and what is not given are defaults."""
    kind: Any = TransferClassifierCV if task == "classification" else TransferRegressorCV
    return kind(
        aligned=True,
        scoring=scoring,
        cv=cv,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=verbose,
    )


def prepared(
    schema: Schema, X: pd.DataFrame, is_target: NDArray[np.bool_], seed: int, at_most: int | None = None
) -> tuple[ColumnTransformer, NDArray[np.float64]]:
    """Return the preparation, fitted, and the matrix that it makes of X, with hardly more memory than these two take.

    Of more rows than `at_most`, medians, scales and levels are those of the target and of source rows drawn at random:
    scikit-learn's steps each make a copy of what they are fitted to.
    """
    at_most = MAX_PREPARE_ROWS if at_most is None else at_most
    fitted_to = X
    if len(X) > at_most:
        source = np.flatnonzero(~is_target)
        drawn = np.random.default_rng(seed).choice(source, min(at_most, source.size), replace=False)
        fitted_to = X.iloc[np.sort(np.concatenate([np.flatnonzero(is_target), drawn]))]
    prepare = preprocessor(schema).fit(fitted_to)
    del fitted_to
    # Not by the names of the features, which need not be unique: a colour_red beside a colour that is red.
    matrix = np.empty((len(X), prepare.transform(X.iloc[:1]).shape[1]))
    for start in range(0, len(X), _ROWS_AT_ONCE):
        matrix[start : start + _ROWS_AT_ONCE] = prepare.transform(X.iloc[start : start + _ROWS_AT_ONCE])
    return prepare, matrix


def search_notes(study: Study, seed: int) -> list[str]:
    """Say where not all source rows are evaluated."""
    n_source = sum(len(y) for _, y in study.sources.values())
    if n_source <= MAX_SEARCH_ROWS:
        return []
    scales = f", medians and scales {MAX_PREPARE_ROWS:,}" if n_source > MAX_PREPARE_ROWS else ""
    return [
        f"the evidence uses {MAX_SEARCH_ROWS:,} of the {n_source:,} source rows{scales}, drawn at random (seed {seed})"
    ]


def named(evidence: Evidence, sources: Sequence[str], findings: Sequence[Sequence[str]]) -> Evidence:
    """Return evidence with the names of a study's sources, and with what was noticed in their columns.

    Parameters
    ----------
    evidence : Evidence
        What it says of single columns is of the matrix that was made of the files, and left out.
    sources : sequence of str
        In the order of their numbers.
    findings : sequence of sequence of str
        Of each source; see `source_findings`.
    """
    found = evidence.renamed(dict(enumerate(sources, start=1)))
    verdicts = tuple(
        replace(each, findings=(*(said for said in each.findings if not _COLUMN.search(said)), *noticed))
        for each, noticed in zip(found.sources, findings, strict=True)
    )
    return replace(found, sources=verdicts, findings=tuple(_in_a_study(evidence.findings)))


def _in_a_study(findings: Sequence[str]) -> list[str]:
    """Return what is said of the whole: `search_notes` counts the rows, and a study has no class weights."""
    return [
        f"{said.rpartition(': look at ')[0]}: look at its probabilities, or label more rows of the others"
        if is_of_one_class(said)
        else said
        for said in findings
        if not said.startswith("evaluated with ")
    ]


def is_of_one_class(finding: str) -> bool:
    """Tell whether a finding says that the model predicts one class: a comparison has a warning of its own."""
    return finding.startswith("the model predicts class ")


def gather(
    model: Any,
    rows: tuple[NDArray[np.float64], NDArray[Any], NDArray[np.int64]],
    groups: NDArray[np.int64] | None = None,
    on_progress: Callable[[float], object] = lambda share: None,
) -> Collected:
    """Return the evidence that a `transfer_model` finds on (X, y, sample_domain), without its last fit."""
    model._progress = lambda: nullcontext(on_progress)
    X, y, sample_domain = rows
    found: Collected = model._gather(X, y, sample_domain, groups)
    return found
