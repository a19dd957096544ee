import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from gapmin.plotting import EvidenceDisplay
from gapmin.plotting.evidence_displays import VERDICT_STYLES, figure_names
from gapmin.transfer import Evidence, Hypothesis, SourceVerdict
from gapmin.transfer.constants import LEAVE_OUT_TO, USE_FROM, VERDICTS

EVIDENCE = {"north": (5.0, 3.0, 7.0), "east": (0.0, -1.0, 1.0), "south": (-6.0, -8.0, -4.0), "west": (2.0, 1.0, 3.0)}
SAID = {
    "north": "use",
    "east": "no evidence either way",
    "south": "leave out",
    "west": "not needed beside the others",
}


@pytest.fixture
def ax():
    return Canvas(figsize=(5.2, 3.4), layout="constrained").subplots()


def test_points_intervals_and_the_two_thresholds_of_the_rule(ax):
    display = EvidenceDisplay(evidence=EVIDENCE, verdicts=SAID).plot(ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(EVIDENCE)
    assert ax.yaxis_inverted()
    for row, (name, (nats, low, high)) in enumerate(EVIDENCE.items()):
        assert display.points_[name].get_xdata().tolist() == [nats]
        assert display.points_[name].get_ydata().tolist() == [row]
        assert display.intervals_[name].get_xdata().tolist() == [low, high]
        assert (display.points_[name].get_color(), display.points_[name].get_marker()) == VERDICT_STYLES[SAID[name]]
    drawn = sorted({float(line.get_xdata()[0]) for line in ax.lines[-3:]})
    assert drawn == pytest.approx([np.log(LEAVE_OUT_TO), 0.0, np.log(USE_FROM)])
    assert [text.get_text() for text in ax.texts] == list(SAID.values())
    assert "nats" in ax.get_xlabel()


def test_every_verdict_has_a_colour_and_a_shape_of_its_own():
    assert set(VERDICT_STYLES) == set(VERDICTS)
    colours, shapes = ({style[k] for style in VERDICT_STYLES.values()} for k in (0, 1))
    assert len(colours) == len(shapes) == 4


def test_evidence_is_drawn_from_its_plain_attributes(ax):
    hypotheses = [
        Hypothesis((), 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.1),
        Hypothesis((1,), 1.0, 6.0, 6.0, 6.0, 1.0, 0.5, 0.9),
    ]
    sources = [
        SourceVerdict(1, "price in $ and $", 10, "use", 100.0, 6.0, 0.9),
        SourceVerdict(2, "other", 10, "leave out", 0.0, -np.inf, 0.0),
    ]
    display = EvidenceDisplay.from_evidence(Evidence(tuple(hypotheses), tuple(sources), "regression", 30), ax=ax)
    first, second = display.points_
    assert first == r"price in \$ and \$"
    assert display.intervals_[first].get_xdata().tolist() == pytest.approx([6 - 1.96, 6 + 1.96])
    assert np.isnan(display.points_[second].get_xdata()).all(), "what was not evaluated has a verdict and no point"
    assert [text.get_text() for text in ax.texts] == ["use", "leave out"]


@pytest.mark.parametrize("n_sources", [1, 3, 20])
def test_nothing_overlaps(n_sources):
    names = [f"a rather long name {k}" for k in range(n_sources)]
    evidence = {name: (0.1 * k, 0.1 * k - 0.5, 0.1 * k + 0.5) for k, name in enumerate(names)}
    display = EvidenceDisplay(evidence=evidence, verdicts=dict.fromkeys(names, "not needed beside the others")).plot()
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
        EvidenceDisplay(evidence={}, verdicts={})
    with pytest.raises(ValueError, match="the verdict of 'east' is 'maybe'"):
        EvidenceDisplay(evidence=EVIDENCE, verdicts={**SAID, "east": "maybe"})


def test_long_names_stay_different_and_dollars_are_no_formula():
    names = figure_names(["x" * 30 + "a", "x" * 30 + "b", "$a", "a$b$"])
    assert len(set(names)) == 4
    assert max(map(len, names)) <= 26
    assert names[2:] == [r"\$a", r"a\$b\$"]
