"""Training rows on a cluster: `gapmin.boosting`'s rows, with Dask arrays where those have NumPy's."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gapmin._utils.typing import Array
from gapmin.boosting.building_blocks import Part, TrainingRows, hashed
from gapmin.dask._chunks import chunked_matrix, chunked_vector, gather_chunks
from gapmin.linear.solvers import squared_norms


class DaskPart(Part):
    """The rows of some domains; all rows where `members` is None."""

    def __init__(self, rows: DaskRows, name: str, members: tuple[int, ...] | None) -> None:
        self._rows: DaskRows = rows
        self.name = name
        self.members = members
        columns = [k for k, number in enumerate(rows.domains) if members is None or number in members]
        self.sizes: tuple[int, ...] = tuple(rows.counts[:, columns].sum(axis=1).tolist())
        self.size = sum(self.sizes)
        self.columns = columns

    def take(self, vector: Any) -> Any:
        """Return the entries of these rows."""
        if self.members is None:
            return vector
        own = chunked_vector(_pick, self.sizes, vector.dtype, vector, self._rows.domain, members=self.members)
        # Dask would spread a single row to meet other chunks, and loses its way among the empty ones.
        return self.without_empty_chunks(own) if self.size == 1 else own

    @cached_property
    def X(self) -> Any:
        """The rows' features, in chunks of at least one row."""
        X, domain = self._rows.X, self._rows.domain
        own = chunked_matrix(_pick, self.sizes, X.shape[1], X.dtype, X, domain, members=self.members)
        return self.without_empty_chunks(own)

    def without_empty_chunks(self, array: Any) -> Any:
        """Return an array of these rows with the chunks left out that have none."""
        if all(self.sizes):
            return array
        return da.concatenate([array.blocks[k] for k, size in enumerate(self.sizes) if size])

    @cached_property
    def count(self) -> float:
        """How many rows these are, those of weight 2 counted twice."""
        return float(self._rows.multiplicities[self.columns].sum())

    @cached_property
    def classes(self) -> NDArray[np.intp]:
        """The numbers of the classes that these rows have."""
        return np.flatnonzero(self._rows.class_counts[self.columns].sum(axis=0))

    def project(self, direction: Array) -> tuple[Any, float]:
        """Return <direction, x> for every row, and the largest ||x||^2; one pass over X."""
        pair = chunked_matrix(_project, self._rows.sizes, 2, np.float64, self._rows.X, direction=direction).persist()
        return self.take(pair[:, 0]), float(self.take(pair[:, 1]).max())


@dataclass
class DaskRows(TrainingRows):
    """All training rows of positive weight, as Dask arrays whose chunks go together.

    Attributes
    ----------
    X : dask array of shape (n_rows, n_features)
        Read anew at every pass: as floats, and without the rows that are not used.
    used : dask array of bool of shape (n_given,) or None
        Which rows are used; None where all are.
    domains : list of int
        -1 and the numbers of the sources.
    counts : ndarray of shape (n_chunks, n_domains)
        Rows of each chunk and domain.
    multiplicities : ndarray of shape (n_domains,)
        The same for all chunks together, rows of weight 2 counted twice.
    class_counts : ndarray of shape (n_domains, n_classes)
        Rows of each class; empty for a regression.
    """

    used: Any
    domains: list[int]
    counts: NDArray[np.int64]
    multiplicities: Array
    class_counts: NDArray[np.int64]
    _log_mass: tuple[Any, Array] = field(default=(None, np.empty(0)), repr=False)

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many used rows each chunk has."""
        return tuple(self.counts.sum(axis=1).tolist())

    def _part(self, name: str, members: tuple[int, ...] | None = None) -> DaskPart:
        return DaskPart(self, name, members)

    @cached_property
    def source_numbers(self) -> NDArray[np.int64]:
        """The sources, by the number the user gave them."""
        return np.array(self.domains[1:], dtype=np.int64)

    def log_mass(self, log_weight: Any) -> Array:
        """Return the logarithm of the mass of the target and of each source; one pass over the weights."""
        if self._log_mass[0] is not log_weight:
            tables = gather_chunks(_log_mass, log_weight, self.domain, domains=self.domains)
            self._log_mass = (log_weight, logsumexp(tables, axis=0))
        return self._log_mass[1]

    def mass(self, log_weight: Any) -> Array:
        """Return the mass of the target and of each source."""
        return np.exp(self.log_mass(log_weight))

    def assemble(self, on_target: Any, on_sources: list[Any]) -> Any:
        """Return a vector of all rows from what those of the target and of each source have: vectors or numbers."""
        values = [each[0] if getattr(each, "shape", ()) == (1,) else each for each in (on_target, *on_sources)]
        return chunked_vector(_assemble, self.sizes, np.float64, self.domain, *values, domains=self.domains)

    def persist(self, vector: Any) -> Any:
        """Have a vector computed and kept by the workers; one that dies has its chunks computed again by others."""
        return vector.persist()

    def to_disk(self, vector: Any) -> None:
        """Return None: the weights stay on the cluster, and are found again from the learners of each round."""
        return

    def fingerprint(self) -> dict[str, str]:
        """Return by name what tells these rows from others, chunks included; one pass over X."""
        vectors = {"y": self.y, "sample_domain": self.domain, "sample_weight": self.weight}
        found = gather_chunks(_hashes, self.X, *vectors.values())
        by_name = zip(("X", *vectors), zip(*found, strict=True), strict=True)
        return {"sizes of the chunks": hashed(self.sizes), **{name: hashed(list(each)) for name, each in by_name}}

    def scatter_to_input(self, vector: Any, used: Any) -> Any:
        """Return a vector in the order of the rows that the user gave, with zeros for those not used."""
        if self.used is None:
            return vector
        return chunked_vector(_put_back, self.used.chunks[0], vector.dtype, vector, self.used)


def select(domain: NDArray[Any], members: tuple[int, ...] | None) -> Any:
    """Return which rows of a chunk are of these domains: an index, a slice where all are."""
    if members is None:
        return slice(None)
    chosen = np.isin(domain, members)
    return slice(None) if chosen.all() else np.flatnonzero(chosen)


def _hashes(*blocks: Any) -> list[str]:
    return [hashed(block) for block in blocks]


def _pick(values: Any, domain: NDArray[Any], members: tuple[int, ...] | None) -> Any:
    return values[select(domain, members)]


def _project(X: Any, direction: Array) -> Array:
    return np.column_stack([np.asarray(X @ direction), squared_norms(X)])


def _log_mass(log_weight: Array, domain: NDArray[Any], domains: list[int]) -> Array:
    with np.errstate(divide="ignore"):
        return np.array([_log_sum(log_weight[domain == number]) for number in domains])


def _log_sum(values: Array) -> float:
    return float(logsumexp(values)) if values.size else -np.inf


def _assemble(domain: NDArray[Any], *values: Any, domains: list[int]) -> Array:
    whole = np.empty(domain.size)
    for number, value in zip(domains, values, strict=True):
        whole[domain == number] = value
    return whole


def _put_back(values: NDArray[Any], used: NDArray[np.bool_]) -> NDArray[Any]:
    whole = np.zeros(used.size, dtype=values.dtype)
    whole[used] = values
    return whole
