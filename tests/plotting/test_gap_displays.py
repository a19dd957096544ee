import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from sklearn.exceptions import NotFittedError

from gapmin import AdaBoostClassifier, GapBoostClassifier
from gapmin.gap import PerformanceGap, RiskBound
from gapmin.linear import (
    FeatureTransferRegressor,
    HypothesisTransferRegressor,
    InstanceWeightingClassifier,
    ParameterSharingRegressor,
    TaskCovarianceClassifier,
    TaskWeightingClassifier,
)
from gapmin.plotting import GapDisplay, RelationDisplay, RiskBoundDisplay
from gapmin.plotting.displays import SOURCE_COLOR, TARGET_COLOR
from gapmin_support.drawings import texts

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
SAMPLE_DOMAIN = np.repeat([-1, 1], [30, 60])
SAMPLE_TASK = np.repeat(["a", "b", "c"], 30)
Y = X[:, 0] + np.where(SAMPLE_DOMAIN > 0, 0.5 * X[:, 1], 0) + 0.5 * rng.normal(size=90) > 0


@pytest.fixture(scope="module")
def transfer():
    return InstanceWeightingClassifier(gamma=0.5).fit(X, Y, sample_domain=SAMPLE_DOMAIN)


@pytest.fixture(scope="module")
def tasks():
    return TaskWeightingClassifier("learn").fit(X, Y, sample_task=SAMPLE_TASK)


def _rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def _gap(source, target):
    return PerformanceGap(source + target, {"source": source, "target": target}, {}, 0.0, 0.0, 0.0)


def _extents(ax):
    """Every text with its box in pixels, once laid out."""
    figure = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    legend = ax.get_legend()
    found = [*ax.texts, *ax.get_yticklabels(), ax.xaxis.label, *(legend.get_texts() if legend else ())]
    return {id(text): text.get_window_extent(renderer) for text in found if text.get_text()}, figure.bbox


def _assert_nothing_overlaps(ax):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(ax.figure)
    boxes, page = _extents(ax)
    boxes = list(boxes.values())
    for k, one in enumerate(boxes):
        assert page.x0 - 1 <= one.x0
        assert one.x1 <= page.x1 + 1
        assert page.y0 - 1 <= one.y0
        assert one.y1 <= page.y1 + 1
        for two in boxes[:k]:
            assert min(one.x1, two.x1) - max(one.x0, two.x0) < 1 or min(one.y1, two.y1) - max(one.y0, two.y0) < 1


def test_a_gap_is_a_bar_for_each_part(transfer, ax):
    display = GapDisplay.from_estimator(transfer, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert _rows(ax) == ["source", "target"]
    for part, color in (("source", SOURCE_COLOR), ("target", TARGET_COLOR)):
        (bar,) = display.bars_[part]
        assert bar.get_x() == 0
        assert bar.get_width() == pytest.approx(transfer.gap_.parts[part])
        assert to_hex(bar.get_facecolor()) == color.lower()
    assert [float(text) for text in texts(ax)] == pytest.approx(list(transfer.gap_.parts.values()), rel=0.01)
    assert f"{transfer.gap_.value:#.3g}" in ax.get_xlabel()
    assert ax.yaxis_inverted()  # the first on top


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (FeatureTransferRegressor(), {"sample_domain": SAMPLE_DOMAIN}),
        (HypothesisTransferRegressor([[1.0, 0.0, 0.0]]), {}),
        (ParameterSharingRegressor(), {"sample_task": SAMPLE_TASK}),
        (TaskCovarianceClassifier(), {"sample_task": SAMPLE_TASK}),
        (TaskWeightingClassifier(), {"sample_task": SAMPLE_TASK}),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "fit") else "",
)
def test_every_setting_has_a_gap_to_draw(model, given, ax):
    y = Y if "Classifier" in type(model).__name__ else X[:, 0] + 0.1 * rng.normal(size=90)
    model.fit(X, y, **given)
    display = GapDisplay.from_estimator(model, ax=ax)
    assert _rows(ax) == [str(part) for part in model.gap_.parts]
    assert sum(bar.get_width() for bars in display.bars_.values() for bar in bars) == pytest.approx(model.gap_.value)


def test_several_gaps_are_stacked_in_the_order_given(ax):
    display = GapDisplay.from_gaps({"near": _gap(0.1, 0.2), "far": _gap(1.0, 3.0)}, ax=ax)
    assert _rows(ax) == ["near", "far"]
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_["source"]], [0.1, 1.0])
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_["target"]], [0.2, 3.0])
    np.testing.assert_allclose([bar.get_x() for bar in display.bars_["target"]], [0.1, 1.0])
    assert texts(ax) == ["0.300", "4.00"]
    assert _legend(ax) == ["on the source", "on the target"]
    assert ax.get_xlim()[1] > 4


def test_no_gap_and_no_bound_are_refused():
    with pytest.raises(ValueError, match="no gap to draw"):
        GapDisplay.from_gaps({})
    with pytest.raises(ValueError, match="no bound to draw"):
        RiskBoundDisplay(bounds={})


def test_a_bound_is_stacked_from_its_terms(transfer, ax):
    display = RiskBoundDisplay.from_estimator(transfer, 0.1, ax=ax, discrepancy=0.2)
    bound = transfer.risk_bound(0.1, discrepancy=0.2)
    widths = {term: bars[0].get_width() for term, bars in display.bars_.items()}
    assert widths == pytest.approx(bound.terms)
    assert list(widths) == list(bound.terms)
    last = display.bars_["concentration"][0]
    assert last.get_x() + last.get_width() == pytest.approx(bound.total)
    assert _rows(ax) == ["printed"]
    assert "delta = 0.1" in ax.get_xlabel()
    assert len(_legend(ax)) == 5
    assert _legend(ax)[-1].startswith("B = ")


def test_both_forms_stand_one_above_the_other(transfer, ax):
    display = RiskBoundDisplay.from_estimator(transfer, form="both", ax=ax, discrepancy=0.2)
    assert _rows(ax) == ["printed", "sharp"]
    printed, sharp = (transfer.risk_bound(form=form, discrepancy=0.2) for form in ("printed", "sharp"))
    widths = [bar.get_width() for bar in display.bars_["stability"]]
    assert widths == pytest.approx([printed.terms["stability"], sharp.terms["stability"]])
    assert "(printed)" in _legend(ax)[2]
    assert "(sharp)" in _legend(ax)[2]
    assert "(" not in _legend(ax)[0]  # the empirical term is the same in both


def test_an_unknown_term_is_said_and_not_drawn(transfer, ax):
    display = RiskBoundDisplay.from_estimator(transfer, form="sharp", ax=ax)
    assert "discrepancy" not in display.bars_
    assert "discrepancy: unknown, left out" in _legend(ax)
    (total,) = texts(ax)
    assert total.endswith("+ discrepancy?")


def test_a_term_known_in_one_bound_only():
    bounds = {
        "a": RiskBound({"empirical": 1.0, "discrepancy": np.nan}, 0.05, (), {}),
        "b": RiskBound({"empirical": 1.0, "discrepancy": 2.0}, 0.05, (), {}),
    }
    display = RiskBoundDisplay(bounds=bounds).plot(Canvas().subplots())
    assert [bar.get_width() for bar in display.bars_["discrepancy"]] == [2.0]
    assert _legend(display.ax_) == ["empirical: 1.00", "discrepancy: unknown (a), 2.00 (b)"]
    assert texts(display.ax_) == ["1.00 + discrepancy?", "3.00"]


def test_the_mark_stands_at_the_largest_loss(transfer, ax):
    RiskBoundDisplay.from_estimator(transfer, ax=ax)
    (mark,) = ax.collections
    assert mark.get_segments()[0][0, 0] == pytest.approx(transfer.risk_bound().constants["B"])


def test_gapboost_has_a_bound_too(ax):
    clf = GapBoostClassifier(n_estimators=3).fit(X, Y, sample_domain=SAMPLE_DOMAIN)
    display = RiskBoundDisplay.from_estimator(clf, ax=ax)
    assert sum(bars[0].get_width() for bars in display.bars_.values()) == pytest.approx(clf.risk_bound().total)


def test_relations_are_written_into_the_cells(tasks, ax):
    display = RelationDisplay.from_estimator(tasks, ax=ax)
    np.testing.assert_array_equal(display.image_.get_array(), tasks.relation_)
    assert _rows(ax) == [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    assert [float(text) for text in texts(ax)] == pytest.approx(tasks.relation_.ravel(), abs=0.005)
    assert [text.get_position() for text in ax.texts[:2]] == [(0, 0), (1, 0)]  # row by row
    assert display.image_.get_clim()[0] == 0


def test_gaps_and_covariances_of_tasks(tasks, ax):
    display = RelationDisplay.from_estimator(tasks, kind="gap", ax=ax)
    np.testing.assert_array_equal(display.image_.get_array(), tasks.gap_matrix_)
    assert "loses" in ax.get_xlabel()
    covariance = TaskCovarianceClassifier().fit(X, Y, sample_task=SAMPLE_TASK)
    correlation = RelationDisplay.from_estimator(covariance, ax=Canvas().subplots()).image_.get_array()
    np.testing.assert_allclose(np.diag(correlation), 1)
    assert np.abs(correlation).max() <= 1 + 1e-12
    raw = RelationDisplay.from_estimator(covariance, kind="covariance", ax=Canvas().subplots())
    np.testing.assert_array_equal(raw.image_.get_array(), covariance.omega_)
    low, high = raw.image_.get_clim()
    assert low == -high  # so that 0 is white


def test_a_plain_matrix_needs_no_estimator_and_is_not_changed(ax):
    omega = np.array([[4.0, -1.0], [-1.0, 1.0]])
    RelationDisplay(matrix=omega, kind="correlation").plot(ax)
    assert texts(ax) == ["1.00", "-0.50", "-0.50", "1.00"]
    assert _rows(ax) == ["0", "1"]
    assert omega[0, 0] == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"matrix": np.ones((2, 3))}, r"shape \(2, 3\)"),
        ({"matrix": np.eye(2), "names": ["a"]}, "1 names for 2 tasks"),
        ({"matrix": np.eye(2), "kind": "friendship"}, "kind is 'friendship'"),
        ({"matrix": np.zeros((2, 2)), "kind": "correlation"}, "0 on its diagonal"),
    ],
)
def test_what_is_no_relation_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        RelationDisplay(**given)


@pytest.mark.parametrize("n_tasks", [2, 3, 8, 20])
def test_up_to_twenty_tasks_have_numbers_that_keep_to_their_cells(n_tasks):
    matrix = np.random.default_rng(0).dirichlet(np.ones(n_tasks), size=n_tasks)
    display = RelationDisplay(matrix=matrix, names=[f"task {k}" for k in range(n_tasks)]).plot()
    assert len(display.ax_.texts) == n_tasks**2
    assert min(text.get_fontsize() for text in display.ax_.texts) >= 5
    _assert_nothing_overlaps(display.ax_)
    mpl.pyplot.close("all")


def test_numbers_too_small_to_read_are_left_to_the_colours(ax):
    display = RelationDisplay(matrix=np.eye(60)).plot(ax)
    assert display.ax_.texts[:] == []


@pytest.mark.parametrize("n_bars", [1, 4, 23])
def test_names_and_numbers_of_many_bars_do_not_overlap(n_bars):
    gaps = {f"a rather long name, source {k}": _gap(k + 1.0, 0.3) for k in range(n_bars)}
    display = GapDisplay.from_gaps(gaps)
    _assert_nothing_overlaps(display.ax_)
    mpl.pyplot.close("all")


@pytest.mark.parametrize("form", ["sharp", "both"])
def test_bounds_do_not_overlap(transfer, form):
    _assert_nothing_overlaps(RiskBoundDisplay.from_estimator(transfer, form=form).ax_)
    mpl.pyplot.close("all")


def test_other_estimators_are_told_what_to_give(transfer, ax):
    boosted = AdaBoostClassifier(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="AdaBoostClassifier has no gap_: give one of the settings"):
        GapDisplay.from_estimator(boosted, ax=ax)
    with pytest.raises(ValueError, match="AdaBoostClassifier has no risk_bound"):
        RiskBoundDisplay.from_estimator(boosted, ax=ax)
    with pytest.raises(ValueError, match="InstanceWeightingClassifier has no omega_: give a TaskWeighting"):
        RelationDisplay.from_estimator(transfer, ax=ax)
    with pytest.raises(ValueError, match="form is 'blunt'"):
        RiskBoundDisplay.from_estimator(transfer, form="blunt", ax=ax)
    with pytest.raises(ValueError, match="kind is 'friendship'"):
        RelationDisplay.from_estimator(transfer, kind="friendship", ax=ax)


@pytest.mark.parametrize("display", [GapDisplay, RiskBoundDisplay, RelationDisplay])
def test_what_is_not_fitted_is_refused(display, ax):
    with pytest.raises(NotFittedError):
        display.from_estimator(TaskWeightingClassifier(), ax=ax)


def test_what_cannot_be_drawn():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(60, 2)), np.repeat([-1, 1], 30)
    y = X[:, 0] > 0
    model = InstanceWeightingClassifier().fit(X, y, sample_domain=domain)
    with pytest.raises(ValueError, match="only a finite one can be drawn"):
        RiskBoundDisplay.from_estimator(model, discrepancy=np.inf)
    with pytest.raises(ValueError, match="only a finite one can be drawn"):  # before a figure is made
        RiskBoundDisplay(bounds={"printed": model.risk_bound(discrepancy=np.inf)})
    with pytest.raises(ValueError, match="has one form: use form='printed'"):
        RiskBoundDisplay.from_estimator(GapBoostClassifier(n_estimators=2).fit(X, y, sample_domain=domain), form="both")
    with pytest.raises(ValueError, match="not a PerformanceGap: give the model's gap_"):
        GapDisplay.from_gaps({"a": model})
