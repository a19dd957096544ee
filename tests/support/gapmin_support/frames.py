"""Arrays in other containers."""

from __future__ import annotations

from typing import Any

import pytest


def to_frame(X: Any) -> Any:
    """Return the rows as a pandas frame; where pandas is not installed, the test is skipped."""
    return pytest.importorskip("pandas").DataFrame(X)
