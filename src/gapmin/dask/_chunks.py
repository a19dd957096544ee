"""One call for each chunk of rows: gathered as a list, or added up in a tree of fixed shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np

_BRANCHES = 8
"""How many chunks' sums are added by one task."""


def by_chunk(function: Callable[..., Any], *arrays: Any, **settings: Any) -> Any:
    """Return a Dask array whose blocks are what `function` makes of the blocks of `arrays`, row chunk by row chunk.

    Matrices have one block of columns. What is no Dask array is handed over as it is, and so are the settings. Reading
    the blocks becomes part of the same task, so that no worker keeps more of X than it is working on.
    """
    index = "ij" if any(_is_array(each) and each.ndim == 2 for each in arrays) else "i"
    pairs: list[Any] = []
    for each in arrays:
        pairs += [each, "ij"[: each.ndim] if _is_array(each) else None]
    return da.blockwise(
        function,
        index,
        *pairs,
        name=f"{function.__name__}-{uuid4().hex}",
        dtype=object,
        meta=np.empty((0,) * len(index), dtype=object),
        align_arrays=False,
        **settings,
    )


def chunked_vector(
    function: Callable[..., Any], sizes: tuple[int, ...], dtype: Any, *arrays: Any, **settings: Any
) -> Any:
    """Return what `by_chunk` does as a vector with chunks of the given sizes."""
    return _shaped(by_chunk(function, *arrays, **settings), (sizes,), dtype)


def chunked_matrix(
    function: Callable[..., Any], sizes: tuple[int, ...], n_columns: int, dtype: Any, *arrays: Any, **settings: Any
) -> Any:
    """Return what `by_chunk` does as a matrix with row chunks of the given sizes."""
    return _shaped(by_chunk(function, *arrays, **settings), (sizes, (n_columns,)), dtype)


def gather_chunks(function: Callable[..., Any], *arrays: Any, **settings: Any) -> list[Any]:
    """Return what `function` makes of each chunk."""
    return list(dask.compute(*_pieces(function, arrays, settings)))


def sum_chunks(function: Callable[..., Any], *arrays: Any, **settings: Any) -> Any:
    """Return the sum over chunks of what `function` returns: numbers, arrays, lists of these, None for nothing.

    The order of additions depends on the number of chunks alone, so that the sum does not depend on who was first.
    """
    level = _pieces(function, arrays, settings)
    add = dask.delayed(add_all, pure=False)
    while len(level) > 1:
        level = [add(level[start : start + _BRANCHES]) for start in range(0, len(level), _BRANCHES)]
    return dask.compute(level[0])[0]


def add_all(pieces: list[Any]) -> Any:
    """Add up sums from left to right.

    Examples
    --------
    >>> add_all([[1.0, None], None, [2.0, [np.ones(2)]]])
    [3.0, [array([1., 1.])]]
    """
    result = pieces[0]
    for piece in pieces[1:]:
        result = _add(result, piece)
    return result


def _add(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, list):
        return [_add(x, y) for x, y in zip(a, b, strict=True)]
    return a + b


def _pieces(function: Callable[..., Any], arrays: tuple[Any, ...], settings: dict[str, Any]) -> list[Any]:
    return by_chunk(function, *arrays, **settings).to_delayed().ravel().tolist()


def _shaped(blocks: Any, chunks: tuple[tuple[int, ...], ...], dtype: Any) -> Any:
    """Tell Dask what the blocks are."""
    return da.Array(blocks.dask, blocks.name, chunks, dtype=dtype)


def _is_array(value: Any) -> bool:
    return isinstance(value, da.Array)
