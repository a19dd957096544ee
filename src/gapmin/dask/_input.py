"""From collections to rows: what scikit-learn's checks do, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y

from gapmin._utils.typing import Array
from gapmin.base import check_labels, check_sample_weight
from gapmin.dask._chunks import chunked_matrix, chunked_vector, gather_chunks
from gapmin.dask._rows import DaskRows
from gapmin.domains import TARGET, check_domains


def is_frame(value: Any) -> bool:
    """Say whether this is a Dask DataFrame or Series."""
    return hasattr(value, "to_dask_array") and hasattr(value, "npartitions")


def as_matrix(X: Any, local: str) -> Any:
    """Return a Dask array of rows in one block of columns; lengths may be unknown."""
    if is_frame(X) and hasattr(X, "columns"):
        for name, kind in X.dtypes.items():
            if not (isinstance(kind, np.dtype) and kind.kind in "biuf"):
                raise ValueError(f"column {name!r} of X holds {kind}: give columns of numbers")
        return X.to_dask_array()
    if not isinstance(X, da.Array):
        raise TypeError(f"X is {type(X).__name__}: give a Dask array or DataFrame, or use {local}")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions: give a row for each example and a column for each feature")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X holds {X.dtype}: give columns of numbers")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def as_vector(values: Any, name: str) -> Any:
    """Return a Dask vector; its lengths may be unknown."""
    if is_frame(values):
        values = values.to_dask_array()
    if not isinstance(values, da.Array):
        raise TypeError(f"{name} is {type(values).__name__}: give a Dask array or Series, as for X")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} has {values.ndim} dimensions: give one entry a row")
    return values


def feature_names(X: Any) -> NDArray[Any] | None:
    """Return the names of a frame's columns where they are text."""
    names = list(getattr(X, "columns", []))
    return np.asarray(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def make_rows(booster: Any, X: Any, y: Any, sample_domain: Any, sample_weight: Any, *, finite: bool) -> DaskRows:
    """Check what the user gave, in one pass over X and a few over the vectors, and have the vectors kept.

    What is known of the data is written into the booster: its classes, and how many features there are.
    """
    if y is None:
        raise ValueError(f"{type(booster).__name__} requires y to be passed, but the target y is None.")
    names = feature_names(X)
    X = as_matrix(X, booster.local_class.__name__)
    booster.n_features_in_ = X.shape[1]
    if names is not None:
        booster.feature_names_in_ = names
    sizes = _check_blocks(X, finite)
    X = da.Array(X.dask, X.name, (sizes, X.chunks[1]), meta=X._meta)
    starts = da.from_array(np.cumsum((0, *sizes[:-1])), chunks=1)

    def aligned(values: Any, name: str, clean: Any, dtype: Any) -> Any:
        return chunked_vector(clean, sizes, dtype, _aligned(as_vector(values, name), name, sizes), starts)

    whole = (sizes,)
    domain, weight = da.full(sum(sizes), TARGET, chunks=whole, dtype=np.int64), da.ones(sum(sizes), chunks=whole)
    if sample_domain is not None:
        domain = aligned(sample_domain, "sample_domain", _clean_domain, np.int64).persist()
    if sample_weight is not None:
        weight = aligned(sample_weight, "sample_weight", _clean_weight, np.float64).persist()
    is_classifier = isinstance(booster, ClassifierMixin)
    labels = aligned(y, "y", _clean_labels if is_classifier else _clean_values, object if is_classifier else np.float64)
    used = booster._used_rows(domain, weight)
    facts = gather_chunks(_describe_chunk, labels, domain, used, is_classifier=is_classifier)
    return _rows(booster, X, labels, domain, weight, used, facts)


def _rows(booster: Any, X: Any, labels: Any, domain: Any, weight: Any, used: Any, facts: list[Any]) -> DaskRows:
    sizes = tuple(each[0] for each in facts)
    domains = np.unique(np.concatenate([each[1] for each in facts]))
    if TARGET not in domains:
        raise ValueError(
            f"no target rows of positive weight among {len(domain)}: give some rows a negative sample_domain and a "
            "positive sample_weight"
        )
    if sizes == domain.chunks[0]:
        used = None
    else:
        used = used.persist()
        domain, weight = (chunked_vector(_used, sizes, each.dtype, each, used) for each in (domain, weight))
    domain = domain.astype(np.result_type(*(np.min_scalar_type(each) for each in (-1, domains.max()))))
    classes = None
    if isinstance(booster, ClassifierMixin):
        found = [each[2] for each in facts if each[2].size]
        classes = booster.classes_ = np.unique(np.concatenate(found))
        kind = np.min_scalar_type(-classes.size)
        labels = chunked_vector(_codes, sizes, kind, labels, used, classes=classes)
    elif used is not None:
        labels = chunked_vector(_used, sizes, np.float64, labels, used)
    domain, labels = domain.persist(), labels.persist()  # weights that were given are kept already
    n_classes = 0 if classes is None else classes.size
    tables = gather_chunks(_count_chunk, labels, domain, weight, domains=domains, n_classes=n_classes)
    counts, multiplicities, class_counts = (np.array(each) for each in zip(*tables, strict=True))
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    rows = DaskRows(
        chunked_matrix(_read, sizes, X.shape[1], dtype, X, used, dtype_=dtype),
        labels,
        domain,
        weight,
        used=used,
        domains=domains.tolist(),
        counts=counts,
        multiplicities=multiplicities.sum(axis=0),
        class_counts=class_counts.sum(axis=0),
    )
    if classes is not None:
        _check_target(booster, rows)
    return rows


def _check_target(booster: Any, rows: DaskRows) -> None:
    of_target = rows.class_counts[0]
    present = np.flatnonzero(of_target)
    booster._check_target_classes(np.full(of_target.max(), present[0]) if present.size == 1 else present)


def _check_blocks(X: Any, finite: bool) -> tuple[int, ...]:
    """Return how many rows each chunk has, and refuse what is not finite."""
    found = gather_chunks(_size_and_fault, X, finite=finite)
    sizes = tuple(size for size, _ in found)
    for k, (_, fault) in enumerate(found):
        if fault:
            raise ValueError(f"X has {fault} in the chunk that begins at row {sum(sizes[:k])}: fill or drop such rows")
    if not sum(sizes):
        raise ValueError("X has 0 rows: give at least one (found array with 0 sample(s))")
    return sizes


def _aligned(values: Any, name: str, sizes: tuple[int, ...]) -> Any:
    """Return a vector in chunks of the given sizes."""
    if any(np.isnan(size) for size in values.chunks[0]):
        lengths = tuple(gather_chunks(len, values))
        values = da.Array(values.dask, values.name, (lengths,), dtype=values.dtype)
    if len(values) != sum(sizes):
        raise ValueError(f"{name} has {len(values)} entries for {sum(sizes)} rows of X: give one a row")
    return values if values.chunks[0] == sizes else values.rechunk((sizes,))


def _size_and_fault(X: Any, finite: bool) -> tuple[int, str]:
    values = X.data if sp.issparse(X) else np.asarray(X)
    if not finite or values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
        return X.shape[0], ""
    if np.isnan(values).any():
        return X.shape[0], "NaN"
    return X.shape[0], "infinity" if np.isinf(values).any() else ""


def _clean_domain(values: Any, start: NDArray[Any]) -> NDArray[np.int64]:
    with _in_chunk(start):
        # A chunk may be without target rows; the whole may not.
        return np.maximum(check_domains(np.append(np.asarray(values), TARGET), len(values) + 1)[:-1], TARGET)


def _clean_weight(values: Any, start: NDArray[Any]) -> Array:
    with _in_chunk(start):
        # A chunk may be all zeros; the whole may not, and then there are no target rows.
        return check_sample_weight(np.append(np.asarray(values), 1.0), len(values) + 1)[:-1]


def _clean_labels(values: Any, start: NDArray[Any]) -> NDArray[Any]:
    check_labels(values, classes=True, first_row=int(start[0]))
    labels = np.asarray(values)
    with _in_chunk(start):
        if labels.size:
            check_classification_targets(labels)
    return labels


def _clean_values(values: Any, start: NDArray[Any]) -> Array:
    check_labels(values, classes=False, first_row=int(start[0]))
    with _in_chunk(start):
        return np.asarray(_check_y(np.asarray(values), y_numeric=True), dtype=np.float64)


@contextmanager
def _in_chunk(start: NDArray[Any]) -> Iterator[None]:
    """Say in an error which chunk its row numbers are of."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"in the chunk that begins at row {start[0]}, {error}") from None


def _describe_chunk(
    labels: NDArray[Any], domain: NDArray[np.int64], used: NDArray[np.bool_], is_classifier: bool
) -> tuple[int, NDArray[Any], NDArray[Any]]:
    """Return the number of used rows of a chunk, their domains, and their classes."""
    classes = np.unique(labels[used]) if is_classifier else np.empty(0)
    return int(used.sum()), np.unique(domain[used]), classes


def _read(X: Any, used: NDArray[np.bool_] | None, dtype_: Any) -> Any:
    """Return a block of X as floats, its used rows only."""
    X = X.tocsr().astype(dtype_, copy=False) if sp.issparse(X) else np.asarray(X, dtype=dtype_)
    return X if used is None else X[np.flatnonzero(used)]


def _used(values: NDArray[Any], used: NDArray[np.bool_]) -> NDArray[Any]:
    return values[used]


def _codes(labels: NDArray[Any], used: Any, classes: NDArray[Any]) -> NDArray[Any]:
    labels = labels if used is None else labels[used]
    return np.searchsorted(classes, labels).astype(np.min_scalar_type(-classes.size))


def _count_chunk(
    labels: NDArray[Any], domain: NDArray[Any], weight: Array, domains: NDArray[Any], n_classes: int
) -> tuple[list[int], list[float], list[Any]]:
    """Return for each domain the rows of a chunk, the sum of their weights, and the rows of each class."""
    chosen = [domain == number for number in domains]
    classes = [np.bincount(labels[each], minlength=n_classes) if n_classes else np.empty(0) for each in chosen]
    return [int(each.sum()) for each in chosen], [float(weight[each].sum()) for each in chosen], classes
