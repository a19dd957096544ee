"""Columns that tell rows or files apart and nothing else: ids, row counters, columns that name the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

FEWEST_COUNTED = 10
"""Of fewer rows it cannot be told whether a column counts them, or is the same in all by accident."""

_ID_NAME = re.compile(
    r"((^|.*[\W_])(id|ids|uid|uuid|guid|key|index)|.*[\W_](no|nr|num|number)|.*nummer)$", re.IGNORECASE
)
_CAMEL_ID = re.compile(r".*[a-z0-9](Id|ID|Key)$")


def counts_rows(frames: Mapping[str, pd.DataFrame], name: str) -> bool:
    """Whether a column of whole numbers counts the rows of every file.

    It does so from 0 or 1 in the order of each file; or in any order but from elsewhere on in each file, without a
    number in two files. In the second case up to half of the numbers may lack, for rows may have been taken out.
    """
    from_start, dense, spans = True, True, []
    for frame in frames.values():
        values = frame[name]
        if values.dtype.kind not in "iu" or len(values) < FEWEST_COUNTED or not values.is_unique:
            return False
        numbers = values.to_numpy()
        ahead = numbers - np.asarray(values.index)
        from_start &= bool(ahead[0] in (0, 1) and (ahead == ahead[0]).all())
        spans.append((int(numbers.min()), int(numbers.max())))
        dense &= spans[-1][1] - spans[-1][0] + 1 <= 2 * len(values)
    spans.sort()
    return from_start or (dense and all(one[1] < other[0] for one, other in pairwise(spans)))


def is_identifier(frames: Mapping[str, pd.DataFrame], name: str) -> bool:
    """Whether a column is called an id, and has whole numbers or texts that no two rows of a file share.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"patient_id": range(7, 70, 3), "valid": range(7, 70, 3)})
    >>> is_identifier({"a": frame}, "patient_id"), is_identifier({"a": frame}, "valid")
    (True, False)
    """
    if not (_ID_NAME.match(name) or _CAMEL_ID.match(name)):
        return False
    columns = [frame[name].dropna() for frame in frames.values()]
    return all(
        len(values) >= FEWEST_COUNTED and values.dtype.kind not in "fcb" and values.is_unique for values in columns
    )
