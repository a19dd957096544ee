import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas

from gapmin.plotting import BarsDisplay, ErrorCurveDisplay, RelationDisplay, SensitivityDisplay, SurfaceDisplay
from gapmin.plotting.displays import MARKERS, PALETTE
from gapmin_support.drawings import texts

SHARES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8]
METHODS = ["STL", "Uniform", "Adv.H", "Adv.W", "Multi-Obj", "AMTNN", "gapMTNN", "AdaBoost on both"]


def _axes(size=(5.2, 3.4)):
    canvas = Canvas(figsize=size, layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas.subplots()


@pytest.fixture
def ax():
    return _axes()


def _ticks(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def _assert_apart(ax):
    """No two texts of the drawing meet, and none leaves it above or below."""
    ax.figure.canvas.draw()
    low, high = sorted(ax.get_ylim())
    ticks = [*ax.get_xticklabels(), *(tick for tick in ax.get_yticklabels() if low <= tick.get_position()[1] <= high)]
    found = [text for text in (*ax.texts, *ticks, ax.xaxis.label) if text.get_text()]
    # The text alone: with its leader line an annotation is wider.
    boxes = {text.get_text() + str(k): mpl.text.Text.get_window_extent(text) for k, text in enumerate(found)}
    names = list(boxes)
    for k, name in enumerate(names):
        one = boxes[name]
        assert one.y0 >= -1, name
        assert one.y1 <= ax.figure.bbox.y1 + 1, name
        for other in names[:k]:
            two = boxes[other]
            meet_x = min(one.x1, two.x1) - max(one.x0, two.x0)
            meet_y = min(one.y1, two.y1) - max(one.y0, two.y0)
            assert meet_x < 1.5 or meet_y < 1.5, (name, other)


def test_shares_of_the_target_are_percents(ax):
    display = ErrorCurveDisplay(sizes=[0.01, 0.1, 0.8], errors={"a": np.ones((3, 2))}).plot(ax)
    assert _ticks(ax.xaxis) == ["1%", "10%", "80%"]
    assert ax.get_xlabel() == "share of the target that trains (log scale)"
    np.testing.assert_allclose(display.lines_[0].get_xdata(), [0.01, 0.1, 0.8])
    own = ErrorCurveDisplay(sizes=[1, 2], errors={"a": np.ones((2, 1))}, xlabel="per class", xticklabels=["I", "II"])
    assert own.plot(_axes()).ax_.get_xlabel() == "per class"
    assert _ticks(own.ax_.xaxis) == ["I", "II"]
    with pytest.raises(ValueError, match="1 xticklabels for 2 sizes"):
        ErrorCurveDisplay(sizes=[1, 2], errors={}, xticklabels=["I"])


@pytest.mark.parametrize("falls_to", [0.0, 29.9, 30.0])
def test_eight_methods_are_told_apart(ax, falls_to):
    """Whether their lines end far from each other or in one place."""
    ends = np.linspace(falls_to, 30, 8)
    errors = {name: np.linspace(60, end, 8)[:, None] + [-1.0, 1.0] for name, end in zip(METHODS, ends, strict=True)}
    display = ErrorCurveDisplay(sizes=SHARES, errors=errors).plot(ax)
    for look in ("color", "marker"):
        assert len({getattr(line, f"get_{look}")() for line in display.lines_}) == 8
    assert texts(ax) == METHODS
    shown = _ticks(ax.xaxis)
    assert (shown[0], shown[-1]) == ("1%", "80%")
    _assert_apart(ax)


def test_every_colour_has_a_marker_of_its_own():
    assert len(set(PALETTE)) == len(set(MARKERS)) == len(PALETTE) == len(MARKERS)


def test_bars_of_close_sizes_stay_with_their_size(ax):
    sizes = np.array([100, 104, 108])
    display = ErrorCurveDisplay(sizes=sizes, errors={name: np.ones((3, 2)) for name in METHODS}).plot(ax)
    for line in display.lines_:
        assert [np.abs(sizes - x).argmin() for x in line.get_xdata()] == [0, 1, 2]


def test_sensitivity_is_a_curve_among_horizontal_lines(ax):
    values, errors = [0.1, 0.5, 0.9], np.array([[12.0, 14.0], [9.0, 11.0], [14.0, 14.0]])
    baselines = {"AdaBoost": 13.5, "TrAdaBoost": [13.0, 13.2]}
    display = SensitivityDisplay(values=values, errors=errors, baselines=baselines).plot(ax)
    assert display.line_.get_xdata().tolist() == values
    assert display.line_.get_ydata().tolist() == [13, 10, 14]
    assert [line.get_ydata()[0] for line in display.baseline_lines_] == pytest.approx([13.5, 13.1])
    assert texts(ax) == ["AdaBoost", "TrAdaBoost", "gapBoost"]
    (bars,) = ax.collections
    np.testing.assert_allclose(np.diff([segment[:, 1] for segment in bars.get_segments()])[:, 0], [2, 2, 0])
    colors = [line.get_color() for line in (*display.baseline_lines_, display.line_)]
    assert colors == list(PALETTE[:3])  # as in an error curve of the same methods
    _assert_apart(ax)


def test_sensitivity_of_one_split_and_no_baseline(ax):
    display = SensitivityDisplay(values=[1, 2], errors=[3.0, 4.0], name="ours", xlabel="penalty").plot(ax)
    assert display.line_.get_ydata().tolist() == [3, 4]
    assert texts(ax) == ["ours"]
    assert not ax.collections


def test_surface_marks_the_lowest_and_writes_every_number(ax):
    errors = np.array([[9.5, 8.0, np.nan], [9.0, 7.5, 8.5]])
    display = SurfaceDisplay(x=[0.1, 0.5, 0.9], y=[0.0, 0.2], errors=errors).plot(ax)
    assert display.best == (1, 1)
    assert texts(ax) == ["9.50", "8.00", "9.00", "7.50", "8.50"]
    assert {patch.get_xy() for patch in ax.patches} == {(0.5, 0.5)}
    assert ax.get_ylim()[0] < ax.get_ylim()[1]  # y grows upwards
    assert (_ticks(ax.xaxis), _ticks(ax.yaxis)) == (["0.1", "0.5", "0.9"], ["0", "0.2"])
    _assert_apart(ax)


@pytest.mark.parametrize("shape", [(1, 1), (6, 9), (20, 24)])
def test_surfaces_of_many_cells_stay_readable(ax, shape):
    x, y = -np.arange(shape[1]) / 8, np.arange(shape[0]) / 10
    display = SurfaceDisplay(x=x[::-1], y=y, errors=np.random.default_rng(0).uniform(5, 20, shape)).plot(ax)
    assert len(display.ax_.texts) == (shape[0] * shape[1] if shape[0] < 20 else 0)
    _assert_apart(ax)


@pytest.mark.parametrize(
    ("errors", "said"), [(np.ones((3, 2)), r"shape \(3, 2\)"), (np.full((2, 3), np.nan), "no error was measured")]
)
def test_what_is_no_surface_is_refused(errors, said):
    with pytest.raises(ValueError, match=said):
        SurfaceDisplay(x=[1, 2, 3], y=[1, 2], errors=errors)


def test_bars_stand_in_groups_with_their_numbers():
    values = {"Digits": {"Uniform": 1.0, "gapMTNN": 1.25}, "PACS": {"gapMTNN": 0.97}}
    display = BarsDisplay(values=values, unit="time", baseline=1)
    ax = display.plot(_axes(display.size)).ax_
    assert {key: bar.get_width() for key, bar in display.bars_.items()} == {
        ("Digits", "Uniform"): 1.0,
        ("Digits", "gapMTNN"): 1.25,
        ("PACS", "gapMTNN"): 0.97,
    }
    colors = {key: to_hex(bar.get_facecolor()) for key, bar in display.bars_.items()}
    assert colors["Digits", "gapMTNN"] == colors["PACS", "gapMTNN"] != colors["Digits", "Uniform"]
    assert texts(ax) == ["Digits", "1.00", "1.25", "PACS", "0.970"]
    assert _ticks(ax.yaxis) == ["Uniform", "gapMTNN", "gapMTNN"]
    assert ax.yaxis_inverted()
    (line,) = ax.lines
    assert line.get_xdata() == [1, 1]
    with pytest.raises(ValueError, match="no bar to draw"):
        BarsDisplay(values={"Digits": {}}, unit="time")


@pytest.mark.parametrize("n_groups", [1, 4])
def test_bars_of_eight_methods_do_not_overlap(n_groups):
    values = {f"Office-Home {k}%": {name: 1 + 0.2 * k for k, name in enumerate(METHODS)} for k in range(n_groups)}
    display = BarsDisplay(values=values, unit="time of one epoch, Uniform = 1", baseline=1)
    _assert_apart(display.plot(_axes(display.size)).ax_)


def test_relations_to_be_compared_share_their_colours(ax):
    small = RelationDisplay(matrix=[[0.5, 0.25], [0.0, 0.5]], largest=1).plot(ax)
    assert small.image_.get_clim() == (0, 1)
    assert RelationDisplay(matrix=[[0.5, 0.25], [0.0, 0.5]]).plot(_axes()).image_.get_clim() == (0, 0.5)


def test_displays_make_their_own_figure_where_none_is_given():
    display = BarsDisplay(values={"a": {"b": 1.0}}, unit="time").plot()
    assert tuple(display.figure_.get_size_inches()) == pytest.approx(display.size)
    mpl.pyplot.close("all")
