import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from gapmin.plotting.ranking_displays import VERDICT_STYLES, RankingDisplay
from gapmin.selection.ranking import rank_sources

CHANGES = {"north": (-0.2, -0.3, -0.1), "east": (0.0, -0.1, 0.1), "south": (0.3, 0.1, 0.5)}
VERDICTS = {"north": "helps", "east": "neutral", "south": "hurts"}


@pytest.fixture
def ax():
    return Canvas(figsize=(5.2, 3.4), layout="constrained").subplots()


def _rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_points_intervals_and_the_line_where_nothing_changes(ax):
    display = RankingDisplay(changes=CHANGES, verdicts=VERDICTS, unit="change").plot(ax)
    assert _rows(ax) == list(CHANGES)
    assert ax.yaxis_inverted()  # the best on top
    for row, (name, (mean, low, high)) in enumerate(CHANGES.items()):
        assert display.points_[name].get_xdata().tolist() == [mean]
        assert display.points_[name].get_ydata().tolist() == [row]
        assert display.intervals_[name].get_xdata().tolist() == [low, high]
        assert (display.points_[name].get_color(), display.points_[name].get_marker()) == VERDICT_STYLES[VERDICTS[name]]
    assert list(ax.lines[0].get_xdata()) == [0, 0]
    assert [text.get_text() for text in ax.texts] == ["helps", "neutral", "hurts", "no change"]
    assert ax.get_xlabel() == "change"


def test_verdicts_differ_in_colour_and_in_shape():
    assert (
        len({color for color, _ in VERDICT_STYLES.values()})
        == len({marker for _, marker in VERDICT_STYLES.values()})
        == 3
    )


def test_a_ranking_draws_itself(ax):
    rng = np.random.default_rng(0)
    X, X_old = rng.normal(size=(30, 3)), rng.normal(size=(80, 3))
    target, sources = (X, X[:, 0] > 0), {"old": (X_old, X_old[:, 0] > 0), "false": (X_old, X_old[:, 0] < 0)}
    ranking = rank_sources(target, sources, n_splits=3, n_repeats=2, random_state=0)
    display = ranking.plot(ax)
    assert _rows(ax) == ["old", "false", "all together"]
    for source in ranking.sources:
        change = source.loss_change
        assert display.points_[source.name].get_xdata().tolist() == [change.mean]
        assert display.intervals_[source.name].get_xdata().tolist() == [change.low, change.high]
    assert [text.get_text() for text in ax.texts[:3]] == [s.verdict for s in (*ranking.sources, ranking.together)]
    assert "Brier" in ax.get_xlabel()
    assert "90%" in ax.get_xlabel()
    errors = RankingDisplay.from_ranking(ranking, quantity="error", ax=Canvas().subplots())
    assert errors.points_["old"].get_xdata().tolist() == [ranking["old"].error_change.mean]
    assert "percentage points" in errors.ax_.get_xlabel()
    alone = rank_sources(target, {"old": sources["old"]}, n_splits=3, n_repeats=1, random_state=0)
    assert _rows(alone.plot(Canvas().subplots()).ax_) == ["old"]
    with pytest.raises(ValueError, match="quantity is 'gap'"):
        RankingDisplay.from_ranking(ranking, quantity="gap")


@pytest.mark.parametrize("n_sources", [1, 3, 20])
def test_nothing_overlaps(n_sources):
    names = [f"a rather long name, source {k}" for k in range(n_sources)]
    changes = {name: (0.1 * k, 0.1 * k - 0.5, 0.1 * k + 0.5) for k, name in enumerate(names)}
    display = RankingDisplay(
        changes=changes,
        verdicts=dict.fromkeys(names, "neutral"),
        unit="change of the target's Brier score (90% interval)",
    ).plot()
    figure = display.figure_
    figure.canvas.draw()
    texts = [*display.ax_.texts, *display.ax_.get_yticklabels(), display.ax_.xaxis.label]
    boxes = [text.get_window_extent() for text in texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
    mpl.pyplot.close("all")


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="no source to draw"):
        RankingDisplay(changes={}, verdicts={})
    with pytest.raises(ValueError, match="the verdict of 'east' is 'maybe'"):
        RankingDisplay(changes=CHANGES, verdicts={**VERDICTS, "east": "maybe"})
