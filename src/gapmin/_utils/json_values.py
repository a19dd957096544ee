"""Values as JSON has them."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np


def to_json(value: Any) -> Any:
    """Return a value as JSON has it: what is not finite becomes None, what it does not know a text.

    Examples
    --------
    >>> to_json({1: (np.int64(2), float("nan")), "b": [True, 1j]})
    {'1': [2, None], 'b': [True, '1j']}
    """
    if isinstance(value, dict):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)
