"""Charts of a page: positions in percent, so that they take any width, and text that stays text of the page's size.

A page draws them with its own colours, which follow its light or dark scheme. Nothing here knows what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10

Point = tuple[float, float]
Tick = tuple[float, str]


@dataclass(frozen=True)
class IntervalRow:
    """A row of an `IntervalChart`: a value, the interval around it, and how it is written."""

    name: str
    value: float
    low: float
    high: float
    text: str
    strong: bool = False


@dataclass(frozen=True)
class IntervalChart:
    """A row for each name: a dot at its value and a bar over its interval.

    Attributes
    ----------
    title : str
    rows : sequence of IntervalRow
    marks : sequence of (float, str)
        Vertical lines, and what stands at their foot.
    caption : str
    from_zero : bool
        Whether the axis holds 0.
    """

    title: str
    rows: Sequence[IntervalRow]
    marks: Sequence[Tick] = ()
    caption: str = ""
    from_zero: bool = True
    kind: str = field(default="intervals", init=False)

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the axis."""
        ends = [end for row in self.rows for end in (row.low, row.high, row.value) if isfinite(end)]
        ends += [place for place, _ in self.marks] + ([0.0] if self.from_zero else [])
        return _padded(min(ends, default=0.0), max(ends, default=1.0))

    def place(self, value: float) -> float:
        """Return where a value is, in percent of the width."""
        return _percent(value, *self.span)


@dataclass(frozen=True)
class ChartLine:
    """A line of a `LineChart`: through its points, or the points alone; `quiet` for what is there to compare with."""

    name: str
    points: Sequence[Point]
    dots: bool = True
    line: bool = True
    quiet: bool = False


@dataclass(frozen=True)
class LineChart:
    """Lines or points over two axes.

    Attributes
    ----------
    title : str
    series : sequence of ChartLine
    x_name, y_name : str
    x_ticks, y_ticks : sequence of (float, str)
        Where the axes are labelled; empty takes round numbers.
    caption : str
    """

    title: str
    series: Sequence[ChartLine]
    x_name: str
    y_name: str
    x_ticks: Sequence[Tick] = ()
    y_ticks: Sequence[Tick] = ()
    caption: str = ""
    kind: str = field(default="lines", init=False)

    @property
    def x_axis(self) -> list[Tick]:
        """Ticks of the horizontal axis, in percent of the width."""
        ends = self._ends(0)
        return [(_percent(x, *ends), text) for x, text in self.x_ticks or round_ticks(*ends)]

    @property
    def y_axis(self) -> list[Tick]:
        """Ticks of the vertical axis, in percent of the height from below."""
        ends = self._ends(1)
        return [(_percent(y, *ends), text) for y, text in self.y_ticks or round_ticks(*ends)]

    def drawn(self, series: ChartLine) -> list[Point]:
        """Return the points of a line in percent, from the left and from above."""
        xs, ys = self._ends(0), self._ends(1)
        return [(_percent(x, *xs), 100 - _percent(y, *ys)) for x, y in series.points]

    def _ends(self, axis: int) -> tuple[float, float]:
        given = self.x_ticks if axis == 0 else self.y_ticks
        values = [point[axis] for each in self.series for point in each.points] + [place for place, _ in given]
        return _padded(min(values, default=0.0), max(values, default=1.0))


@dataclass(frozen=True)
class BarChart:
    """Bars of shares, in groups.

    Attributes
    ----------
    title : str
    series : sequence of str
        What the bars of a group are.
    groups : sequence of (str, sequence of float)
        The name of a group, and a share from 0 to 1 for each of the series.
    caption : str
    """

    title: str
    series: Sequence[str]
    groups: Sequence[tuple[str, Sequence[float]]]
    caption: str = ""
    kind: str = field(default="bars", init=False)


Chart = IntervalChart | LineChart | BarChart


def round_ticks(low: float, high: float) -> list[Tick]:
    """Return round numbers between two ends, at most five.

    Examples
    --------
    >>> round_ticks(0.0, 1.0)
    [(0.0, '0'), (0.5, '0.5'), (1.0, '1')]
    >>> [text for _, text in round_ticks(-3, 47)]
    ['0', '20', '40']
    """
    if not high > low:
        return [(low, f"{low:g}")]
    raw = (high - low) / 4
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [(k * step, f"{k * step:.6g}") for k in range(first, last + 1)]


def _padded(low: float, high: float) -> tuple[float, float]:
    pad = 0.04 * (high - low) or 0.5
    return low - pad, high + pad


def _percent(value: float, low: float, high: float) -> float:
    return round(min(max(100 * (value - low) / (high - low), 0.0), 100.0), 2)
