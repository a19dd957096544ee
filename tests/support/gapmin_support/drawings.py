"""What a drawing says."""

from __future__ import annotations

from matplotlib.axes import Axes


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]
