"""A few of the degenerate tables; `python tests/fuzz/transfer.py` has many more."""

from __future__ import annotations

import pytest

from .transfer import SHAPES, check, draw


@pytest.mark.parametrize(
    "number", [pytest.param(k, marks=pytest.mark.slow if k % 3 else ()) for k in range(len(SHAPES))]
)
def test_a_degenerate_table_keeps_its_promises(number):
    assert check(draw(22, number), number) in ("fitted", "refused")
