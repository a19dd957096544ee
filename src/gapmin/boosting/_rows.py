"""The training rows, and the parts of them that learners are trained on.

A round of boosting is written for vectors with an entry a row. They must be able to do what NumPy's can, and three
things more: to be cut to a part (`Part.take`), put together from parts (`TrainingRows.assemble`), and reduced to
numbers (`compute_scalars`). So it runs wherever the rows live: `gapmin.dask` has rows of the same interface whose
vectors are Dask arrays.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from gapmin._utils.typing import Array
from gapmin.base import DomainData
from gapmin.domains import TARGET
from gapmin.linear.solvers import squared_norms


def compute_scalars(*values: Any) -> list[float]:
    """Return reductions of vectors as numbers; those of vectors that live elsewhere are asked for all at once.

    Examples
    --------
    >>> compute_scalars(np.arange(3).sum(), np.ones(2).max())
    [3.0, 1.0]
    """
    if any(hasattr(value, "__dask_graph__") for value in values):
        import dask

        values = dask.compute(*values)
    return [float(value) for value in values]


def hashed(*values: Any) -> str:
    """Return a short hash of arrays, frames or anything that can be pickled.

    Examples
    --------
    >>> hashed(np.arange(3)) == hashed(np.arange(3)), hashed(np.arange(3)) == hashed(np.arange(4))
    (True, False)
    """
    digest = hashlib.sha256()
    for value in values:
        digest.update(joblib.hash(value, hash_name="sha1").encode())
    return digest.hexdigest()[:16]


class Part:
    """Some of the training rows: everything, the target, one source.

    Rows that stand together are a view, not a copy.
    """

    def __init__(self, rows: TrainingRows, name: str, index: NDArray[np.intp]) -> None:
        self._rows = rows
        self.name = name
        together = index.size > 0 and index[-1] - index[0] + 1 == index.size
        self.index: Any = slice(int(index[0]), int(index[-1]) + 1) if together else index
        self.size = index.size

    @cached_property
    def X(self) -> Any:
        """The rows' features."""
        if isinstance(self.index, slice) and self.size == len(self._rows):
            return self._rows.X
        if isinstance(self.index, slice) and isinstance(self._rows.X, np.ndarray):
            return self._rows.X[self.index]
        index = np.arange(self.index.start, self.index.stop) if isinstance(self.index, slice) else self.index
        return _safe_indexing(self._rows.X, index)

    def take(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of these rows."""
        return vector[self.index]

    @cached_property
    def y(self) -> NDArray[Any]:
        """The rows' labels, or their class numbers."""
        return self.take(self._rows.y)

    @cached_property
    def count(self) -> float:
        """How many rows these are, those of weight 2 counted twice."""
        return float(self.take(self._rows.weight).sum())

    def project(self, direction: Array) -> tuple[Array, float]:
        """Return <direction, x> for every row, and the largest ||x||^2."""
        return np.asarray(self.X @ direction), squared_norms(self.X).max()


class TrainingRows(DomainData):
    """All training rows of positive weight, and the parts of them that learners are trained on."""

    def _part(self, name: str, members: tuple[int, ...] | None = None) -> Part:
        """Return the rows of some domains; all rows where `members` is None."""
        chosen = True if members is None else np.isin(np.maximum(self.domain, TARGET), members)
        return Part(self, name, np.flatnonzero(np.broadcast_to(chosen, len(self))))

    @cached_property
    def both(self) -> Part:
        """Every row."""
        return self._part("both")

    @cached_property
    def target(self) -> Part:
        """The rows of the target."""
        return self._part("target", (TARGET,))

    @cached_property
    def sources(self) -> list[Part]:
        """The rows of each source."""
        return [self._part(f"source {k}", (k,)) for k in self.source_numbers]

    @cached_property
    def each_source_with_target(self) -> list[Part]:
        """For each source, its rows and the target's."""
        return [self._part(f"target and source {k}", (TARGET, k)) for k in self.source_numbers]

    def initial_log_weight(self, target_share: float | None = None) -> Array:
        """D_1: each row 1 / N, or with the target's rows sharing `target_share` of the mass."""
        weight = self.weight / self.both.count
        if target_share is not None and self.sources:
            (mass,) = compute_scalars(weight[self.in_target].sum())
            weight = weight * np.where(self.in_target, target_share / mass, (1 - target_share) / (1 - mass))
        return np.log(weight)

    def mass(self, log_weight: Array) -> Array:
        """Return the mass of the target and of each source."""
        weight = np.exp(log_weight)
        return np.array([part.take(weight).sum() for part in [self.target, *self.sources]])

    def assemble(self, on_target: Any, on_sources: list[Any]) -> Array:
        """Return a vector of all rows from what those of the target and of each source have: vectors or numbers."""
        vector = np.empty(len(self))
        for part, values in zip([self.target, *self.sources], [on_target, *on_sources], strict=True):
            vector[part.index] = values
        return vector

    def persist(self, vector: Array) -> Array:
        """Return a vector that will be asked for more than once. Here it is known already."""
        return vector

    def to_disk(self, vector: Array) -> Array | None:
        """Return a vector as it may be kept on disk; None where it lives elsewhere."""
        return vector

    def fingerprint(self) -> dict[str, str]:
        """Return by name what tells these rows from others."""
        parts = {"X": self.X, "y": self.y, "sample_domain": self.domain, "sample_weight": self.weight}
        return {"number of rows": str(len(self)), **{name: hashed(each) for name, each in parts.items()}}

    def scatter_to_input(self, vector: Array, used: NDArray[np.bool_]) -> Array:
        """Return `vector` in the order of the rows that the user gave, with zeros for those not used."""
        whole = np.zeros(used.size)
        whole[used] = vector
        return whole
