"""A fit that goes on from the one before: what must be as it was, and the weights that it begins with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.text import one_line
from gapmin.base import known_tasks, plain
from gapmin.deep._inputs import row_shape
from gapmin.deep.callbacks import Record
from gapmin.deep.objectives import Objective

_REMEDY = "set warm_start=False to start anew"


def tasks_again(estimator: Any, rows: Any, task: NDArray[Any]) -> NDArray[np.intp]:
    """Return the number of each row's task; refuse rows of other shapes or tasks than those of the fit before."""
    if row_shape(rows) != estimator.input_shape_:
        raise ValueError(
            f"X has rows of shape {row_shape(rows)}, those of the fit before have {estimator.input_shape_}"
        )
    codes = known_tasks(task, len(task), estimator.tasks_)
    there = np.bincount(codes, minlength=estimator.tasks_.size) > 0
    if not there.all():
        raise ValueError(f"there is no row of task {plain(estimator.tasks_[np.argmin(there)])!r}")
    return codes


@contextmanager
def explain_changes(applies: bool) -> Iterator[None]:
    """Say of an error in the input that warm_start is why it is one."""
    try:
        yield
    except ValueError as error:
        if not applies:
            raise
        raise ValueError(
            f"{str(error).rstrip('.')}; with warm_start columns, tasks and classes stay as they are: {_REMEDY}"
        ) from error


def go_on_from(fitted: Objective, made: Objective) -> None:
    """Give a new objective the state of a fitted one of the same settings and shapes."""
    for what, old, new in (("objective", fitted, made), ("network", fitted.net, made.net)):
        if repr(old) != repr(new):
            lines = zip_longest(repr(old).splitlines(), repr(new).splitlines(), fillvalue="nothing")
            before, now = next((one.strip(), other.strip()) for one, other in lines if one != other)
            raise ValueError(
                f"the {what} of the fit before has {one_line(before)}, and now it has {one_line(now)}: with warm_start "
                f"it stays as it is; {_REMEDY}"
            )
    made.load_state_dict(fitted.state_dict())


def state_digest(objective: Objective) -> str:
    """Return a fingerprint of all weights and other state."""
    seen = hashlib.sha256()
    for name, value in objective.state_dict().items():
        seen.update(name.encode() + value.contiguous().numpy().tobytes())
    return seen.hexdigest()[:16]


def joined_history(before: Sequence[Record], records: Sequence[Record]) -> list[Record]:
    """Return the records of two fits, epochs counted on.

    Examples
    --------
    >>> joined_history([{"epoch": 1}, {"epoch": 2}], [{"epoch": 1}])
    [{'epoch': 1}, {'epoch': 2}, {'epoch': 3}]
    """
    return [*before, *(each | {"epoch": each["epoch"] + len(before)} for each in records)]
