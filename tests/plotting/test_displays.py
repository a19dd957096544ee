import matplotlib as mpl
import numpy as np
import pytest

from gapmin import AdaBoostClassifier, GapBoostClassifier, GapBoostRegressor
from gapmin.plotting import DisagreementDisplay, EpochDisplay, ErrorCurveDisplay, WeightMassDisplay
from gapmin.plotting.displays import _spread
from gapmin_support.drawings import texts

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
SAMPLE_DOMAIN = np.repeat([-1, 1, 2], [20, 30, 30])
Y = (X @ [1.0, 0.5, 0.0] + np.where(SAMPLE_DOMAIN > 0, X[:, 2], 0) + 0.5 * rng.normal(size=80) > 0).astype(int)


@pytest.fixture(scope="module")
def gapboost():
    return GapBoostClassifier(n_estimators=5).fit(X, Y, sample_domain=SAMPLE_DOMAIN)


def test_weight_mass_draws_a_line_for_each_domain_in_percent(gapboost, ax):
    display = WeightMassDisplay.from_estimator(gapboost, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert texts(ax) == ["target", "source 1", "source 2"]
    drawn = np.array([line.get_ydata() for line in display.lines_])
    np.testing.assert_allclose(drawn.sum(axis=0), 100)
    np.testing.assert_allclose(drawn.T, 100 * gapboost.mass_history_)
    assert "%" in ax.get_ylabel()


def test_disagreement_draws_source_and_target_by_round(gapboost, ax):
    display = DisagreementDisplay.from_estimator(gapboost, ax=ax)
    source, target = display.lines_
    np.testing.assert_allclose(source.get_ydata(), 100 * gapboost.gap_history_[:, 0])
    np.testing.assert_allclose(target.get_ydata(), 100 * gapboost.gap_history_[:, 1])
    np.testing.assert_array_equal(source.get_xdata(), np.arange(1, len(gapboost.gap_history_) + 1))
    assert texts(ax) == ["source", "target"]


def test_regressors_have_displays_too(ax):
    reg = GapBoostRegressor(n_estimators=3, random_state=0).fit(X, X[:, 0], sample_domain=SAMPLE_DOMAIN)
    assert len(DisagreementDisplay.from_estimator(reg, ax=ax).lines_) == 2


def test_disagreement_of_another_booster_says_what_to_give(ax):
    with pytest.raises(ValueError, match="AdaBoostClassifier has no gap_history_"):
        DisagreementDisplay.from_estimator(AdaBoostClassifier(n_estimators=2).fit(X, Y), ax=ax)


def test_plot_makes_axes_where_none_are_given_and_leaves_the_style_alone(gapboost):
    before = dict(mpl.rcParams)
    display = WeightMassDisplay.from_estimator(gapboost)
    first = display.ax_
    assert display.plot().ax_ is not first
    assert dict(mpl.rcParams) == before
    mpl.pyplot.close("all")


def test_error_curve_shows_means_and_names_every_method(ax):
    errors = {"a": [[10, 20], [4, 6]], "b": [[12, 12], [6, 6]]}
    display = ErrorCurveDisplay(sizes=[20, 40], errors=errors).plot(ax)
    assert [line.get_ydata().tolist() for line in display.lines_] == [[15, 5], [12, 6]]
    assert texts(ax) == ["a", "b"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["20", "40"]


def test_epochs_count_from_one_and_the_axis_from_zero(ax):
    display = EpochDisplay(curves={"a": [3.0, 2.0, 1.5], "b": [2.0, 1.0, 0.5]}, unit="loss").plot(ax)
    assert [line.get_ydata().tolist() for line in display.lines_] == [[3, 2, 1.5], [2, 1, 0.5]]
    assert display.lines_[0].get_xdata().tolist() == [1, 2, 3]
    assert texts(ax) == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epoch", "loss")
    assert ax.get_ylim()[0] == 0


@pytest.mark.parametrize("seed", range(5))
def test_labels_keep_their_order_and_their_distance(seed):
    wanted = np.random.default_rng(seed).uniform(size=7)
    places = _spread(wanted, 0.1)
    order = np.argsort(wanted)
    assert (np.diff(places[order]) >= 0.1 - 1e-12).all()
    assert places.mean() == pytest.approx(wanted.mean(), abs=1e-9) or (np.diff(wanted[order]) >= 0.1).any()
    far = np.arange(4.0)
    np.testing.assert_allclose(_spread(far, 0.1), far)


def test_weights_are_drawn_under_names_of_the_domains():
    mass = WeightMassDisplay(mass=[[0.2, 0.8], [0.5, 0.5]], domains=[-1, 1], names=["target", "old"]).plot()
    assert [list(line.get_ydata()) for line in mass.lines_] == [[20, 50], [80, 50]]
    assert texts(mass.ax_) == ["target", "old"]
