import matplotlib as mpl
import numpy as np
import pytest

from gapmin.plotting import EvidenceDisplay
from gapmin.plotting.evidence_displays import VERDICT_STYLES, figure_names
from gapmin.transfer import Evidence, Hypothesis, SourceVerdict
from gapmin.transfer.constants import LEAVE_OUT_TO, USE_FROM, VERDICTS

ODDS = {"north": 150.0, "east": 1.0, "south": 0.002, "west": 0.4}
SAID = {
    "north": "use",
    "east": "not enough evidence",
    "south": "leave out",
    "west": "not needed beside the others",
}


def test_points_lines_and_the_two_thresholds_of_the_rule(ax):
    display = EvidenceDisplay(odds=ODDS, verdicts=SAID).plot(ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(ODDS)
    assert ax.yaxis_inverted()
    for row, (name, odds) in enumerate(ODDS.items()):
        assert display.points_[name].get_xdata().tolist() == [odds]
        assert display.points_[name].get_ydata().tolist() == [row]
        assert display.bars_[name].get_xdata().tolist() == [1, odds]
        assert (display.points_[name].get_color(), display.points_[name].get_marker()) == VERDICT_STYLES[SAID[name]]
    drawn = sorted(float(line.get_xdata()[0]) for line in ax.lines[-3:])
    assert drawn == pytest.approx([LEAVE_OUT_TO, 1.0, USE_FROM])
    assert [text.get_text() for text in ax.texts] == list(SAID.values())
    assert "odds" in ax.get_xlabel()


def test_every_verdict_has_a_colour_and_a_shape_of_its_own():
    assert set(VERDICT_STYLES) == set(VERDICTS)
    colours, shapes = ({style[k] for style in VERDICT_STYLES.values()} for k in (0, 1))
    assert len(colours) == len(shapes) == 4


def test_a_point_is_where_the_verdict_is(ax):
    """The evidence of a source alone may be beyond a threshold that the odds, which weigh all sets, do not reach."""
    hypotheses = [
        Hypothesis((), 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.1),
        Hypothesis((1,), 1.0, 6.0, 6.0, 6.0, 1.0, 0.5, 0.9),
    ]
    sources = [
        SourceVerdict(1, "price in $ and $", 10, "use", 100.0, 6.0, 0.9),
        SourceVerdict(2, "undecided", 10, "not enough evidence", 8.0, 6.0, 0.4),
        SourceVerdict(3, "without weight", 10, "leave out", 0.0, -np.inf, 0.0),
        SourceVerdict(4, "unknown", 10, "leave out", np.nan, np.nan, 0.0),
    ]
    display = EvidenceDisplay.from_evidence(Evidence(tuple(hypotheses), tuple(sources), "regression", 30), ax=ax)
    places = [float(point.get_xdata()[0]) for point in display.points_.values()]
    assert next(iter(display.points_)) == r"price in \$ and \$"
    assert places[0] > USE_FROM > places[1] > LEAVE_OUT_TO > places[2] >= ax.get_xlim()[0]
    assert np.isnan(places[3]), "what was not evaluated has a verdict and no point"
    assert [text.get_text() for text in ax.texts] == [each.verdict for each in sources]


@pytest.mark.parametrize("n_sources", [1, 3, 20])
def test_nothing_overlaps(n_sources):
    names = [f"a rather long name {k}" for k in range(n_sources)]
    odds = {name: 3.0 * k for k, name in enumerate(names)}
    display = EvidenceDisplay(odds=odds, verdicts=dict.fromkeys(names, "not needed beside the others")).plot()
    figure = display.figure_
    figure.canvas.draw()
    texts = [
        *display.ax_.texts,
        *display.ax_.get_yticklabels(),
        *display.ax_.get_xticklabels(),
        display.ax_.xaxis.label,
    ]
    boxes = [text.get_window_extent() for text in texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
    mpl.pyplot.close("all")


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="no source to draw"):
        EvidenceDisplay(odds={}, verdicts={})
    with pytest.raises(ValueError, match="the verdict of 'east' is 'maybe'"):
        EvidenceDisplay(odds=ODDS, verdicts={**SAID, "east": "maybe"})


def test_long_names_stay_different_and_dollars_are_no_formula():
    names = figure_names(["x" * 30 + "a", "x" * 30 + "b", "$a", "a$b$"])
    assert len(set(names)) == 4
    assert max(map(len, names)) <= 26
    assert names[2:] == [r"\$a", r"a\$b\$"]
