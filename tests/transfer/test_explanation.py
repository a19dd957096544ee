import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapmin import AdaBoostClassifier, GapBoostClassifier, GapBoostRegressor
from gapmin.linear import GapWeightingClassifier, InstanceWeightingClassifier
from gapmin.transfer.explanation import Explanation, Vote, WeightGroup, explain
from gapmin.transfer.pooling import WeightedPoolingClassifier, WeightedPoolingRegressor


@pytest.fixture(scope="module")
def half_flipped():
    """A source whose labels are flipped in one half of the space, with features that let a line see that."""
    rng = np.random.default_rng(0)
    sign, upper = rng.choice([-1.0, 1.0], size=400), rng.uniform(size=400) > 0.5
    X = np.column_stack([sign * upper, sign * ~upper, rng.normal(size=(400, 2))])
    domain = np.repeat([-1, 1], [100, 300])
    flipped = (domain > 0) & upper
    y = np.where((sign > 0) != flipped, "yes", "no")
    return X, y, domain, flipped


@pytest.fixture(scope="module")
def boosted(half_flipped):
    X, y, domain, _ = half_flipped
    return GapBoostClassifier(rho_source=-5).fit(X, y, sample_domain=domain)


def test_flipped_rows_end_among_the_dropped(half_flipped, boosted):
    X, y, domain, flipped = half_flipped
    found = explain(boosted, X, y, sample_domain=domain, by={"flipped": flipped}, n_rows=50)
    by = {group.name: group for group in found.columns["flipped"]}
    assert by["True"].ratio < 0.05
    assert by["True"].ratio < 0.1 * by["False"].ratio
    in_source = flipped[domain > 0]
    assert all(in_source[row.row] for row in found.dropped)
    assert in_source.sum() > 50
    assert not any(in_source[row.row] for row in found.used)
    assert [row.ratio for row in found.used] == sorted((row.ratio for row in found.used), reverse=True)
    assert [row.ratio for row in found.dropped] == sorted(row.ratio for row in found.dropped)


def test_shares_and_ratios_are_those_of_the_weights(half_flipped, boosted):
    X, y, domain, _ = half_flipped
    found = explain(boosted, X, y, sample_domain=domain, source_names=["old"])
    target, source = found.sources
    assert (target.name, source.name) == ("target", "old")
    assert (target.n_rows, source.n_rows) == (100, 300)
    assert target.share_of_rows + source.share_of_rows == pytest.approx(1)
    assert target.share_of_weight + source.share_of_weight == pytest.approx(1)
    assert target.share_of_weight == pytest.approx(boosted.mass_history_[-1, 0])
    assert source.ratio == pytest.approx(source.share_of_weight / source.share_of_rows)
    np.testing.assert_allclose(found.ratio, 400 * boosted.sample_weight_)
    assert sum(group.n_rows for group in found.classes) == 300
    assert sum(group.share_of_weight for group in found.classes) == pytest.approx(source.share_of_weight)
    assert [group.name for group in found.classes] == ["no", "yes"]


def test_equal_weights_have_ratio_one():
    X, domain = np.arange(8.0).reshape(-1, 1), np.array([-1, -1, 1, 1, 2, 2, 2, 2])
    model = WeightedPoolingRegressor(target_share=None).fit(X, X[:, 0], sample_domain=domain)
    found = explain(model, X, X[:, 0], sample_domain=domain)
    np.testing.assert_allclose(found.ratio, 1)
    assert [group.name for group in found.sources] == ["target", "source 1", "source 2"]
    np.testing.assert_allclose([group.ratio for group in found.sources], 1)
    # Of equal weight: by source, then by place.
    assert [(row.source, row.row, row.label) for row in found.used[:3]] == [
        ("source 1", 0, 2.0),
        ("source 1", 1, 3.0),
        ("source 2", 0, 4.0),
    ]


def test_rows_left_out_have_ratio_zero():
    rng = np.random.default_rng(1)
    X, domain = rng.normal(size=(30, 2)), np.repeat([-1, 1, 2], 10)
    y = np.arange(30) % 2
    model = WeightedPoolingClassifier(sources=[2]).fit(X, y, sample_domain=domain)
    found = explain(model, X, y, sample_domain=domain, source_names={1: "a", 2: "b", 7: "unused"})
    assert [(group.name, group.ratio) for group in found.sources] == [
        ("target", pytest.approx(1.5)),
        ("a", 0),
        ("b", pytest.approx(1.5)),
    ]
    assert {row.source for row in found.dropped} == {"a"}


def test_permuted_rows_permute_the_result(half_flipped, boosted):
    X, y, domain, flipped = half_flipped
    order = np.random.default_rng(3).permutation(y.size)
    again = GapBoostClassifier(rho_source=-5).fit(X[order], y[order], sample_domain=domain[order])
    first = explain(boosted, X, y, sample_domain=domain, by={"f": flipped, "x": X[:, 2]})
    second = explain(again, X[order], y[order], sample_domain=domain[order], by={"f": flipped[order], "x": X[order, 2]})
    np.testing.assert_allclose(second.ratio, first.ratio[order], rtol=1e-4, atol=1e-9)
    for one, other in [(first.sources, second.sources), (first.columns["x"], second.columns["x"])]:
        assert [(group.name, group.n_rows) for group in one] == [(group.name, group.n_rows) for group in other]
        np.testing.assert_allclose([g.ratio for g in one], [g.ratio for g in other], rtol=1e-4, atol=1e-9)
    # A row listed is the same one, at its new place.
    sources = np.flatnonzero(domain[order] > 0)
    for one, other in zip(first.used + first.dropped, second.used + second.dropped, strict=True):
        assert other.ratio == pytest.approx(one.ratio, rel=1e-4, abs=1e-9)
        assert other.ratio == pytest.approx(first.ratio[order[sources[other.row]]], rel=1e-4, abs=1e-9)
        assert other.label == y[order[sources[other.row]]]


def test_columns_of_a_frame_are_categories_or_quarters():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 80
    frame = pd.DataFrame(
        {
            "age": np.r_[np.arange(n - 1.0), np.nan],
            "city": np.where(np.arange(n) % 3, "Oslo", "Rome"),
            "floor": np.arange(n) % 3,
            "kind": pd.Categorical(np.where(np.arange(n) % 2, "x", None)),
        }
    )
    y, domain = rng.integers(2, size=n), np.where(np.arange(n) < 20, -1, 1)
    model = WeightedPoolingClassifier().fit(rng.normal(size=(n, 2)), y, sample_domain=domain)
    found = explain(model, frame, y, sample_domain=domain, by=["age", "city", "floor", "kind"])
    assert [group.name for group in found.columns["city"]] == ["Oslo", "Rome"]
    assert [group.name for group in found.columns["floor"]] == ["0", "1", "2"]
    assert [group.name for group in found.columns["kind"]] == ["x", "missing"]
    ages = found.columns["age"]
    assert [group.name for group in ages] == ["20 to 34", "35 to 49", "50 to 63", "64 to 78", "missing"]
    assert [group.n_rows for group in ages] == [15, 15, 14, 15, 1]
    one = explain(model, frame, y, sample_domain=domain, by="city").columns
    assert list(one) == ["city"]
    assert one["city"] == found.columns["city"]


def test_a_regression_is_grouped_by_quarters_of_the_label():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(120, 2)), np.repeat([-1, 1], [40, 80])
    y = X[:, 0]
    model = GapBoostRegressor(n_estimators=3, random_state=0).fit(X, y, sample_domain=domain)
    found = explain(model, X, y, sample_domain=domain)
    assert [group.n_rows for group in found.classes] == [20, 20, 20, 20]
    constant = explain(model, X, np.ones(120), sample_domain=domain)
    assert [(group.name, group.n_rows) for group in constant.classes] == [("1", 80)]


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(train_on="target", n_estimators=2),
        InstanceWeightingClassifier(gamma=0.5),
        GapWeightingClassifier(),
        make_pipeline(StandardScaler(), WeightedPoolingClassifier()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_with_weights_can_be_explained(model, half_flipped):
    X, y, domain, _ = half_flipped
    name = "weightedpoolingclassifier__sample_domain" if hasattr(model, "steps") else "sample_domain"
    found = explain(model.fit(X, y, **{name: domain}), X, y, sample_domain=domain, n_rows=2)
    assert found.ratio.mean() == pytest.approx(1)
    assert len(found.used) == len(found.dropped) == 2


def test_the_result_as_frames_text_and_json(half_flipped, boosted):
    pytest.importorskip("pandas")
    X, y, domain, flipped = half_flipped
    found = explain(boosted, X, y, sample_domain=domain, by={"flipped": flipped}, n_rows=3)
    assert list(found.to_frame("sources")["name"]) == ["target", "source 1"]
    assert list(found.to_frame("columns").columns)[:2] == ["column", "name"]
    assert list(found.to_frame("dropped").columns) == ["source", "row", "label", "ratio"]
    assert len(found.to_frame("used")) == 3
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read["classes"][0]["name"] == "no"
    assert read["dropped"][0]["label"] in ("yes", "no")
    assert "sources by flipped" in str(found)
    assert "most dropped" in str(found)
    with pytest.raises(ValueError, match="part is 'weights': use one of 'sources'"):
        found.to_frame("weights")


def test_a_target_without_sources_has_empty_parts():
    pytest.importorskip("pandas")
    X, y = np.arange(10.0).reshape(-1, 1), np.arange(10) % 2
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    found = explain(model, X, y, sample_domain=-np.ones(10))
    assert (found.classes, found.used, found.dropped) == ((), (), ())
    assert found.to_frame("dropped").empty
    assert "target" in str(found)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rows": 399}, "X has 399 rows, and the model was fitted to 400"),
        ({"labels": 10}, "y has 10 rows, and the model was fitted to 400"),
        ({"by": "age"}, "X is no data frame: give a mapping"),
        ({"by": {"age": [1, 2]}}, r"by\['age'\] has shape \(2,\) for 400 rows"),
        ({"source_names": ["a", "b"]}, r"the sources are \[1\]: give a name for each"),
        ({"source_names": {2: "b"}}, "no name for source 1"),
        ({"n_rows": -1}, "n_rows is -1"),
        ({"sample_domain": np.ones(400)}, "no target rows"),
    ],
)
def test_what_cannot_be_explained_is_refused(given, said, half_flipped, boosted):
    X, y, domain, _ = half_flipped
    X, y = X[: given.pop("rows", 400)], y[: given.pop("labels", 400)]
    with pytest.raises(ValueError, match=said):
        explain(boosted, X, y, **{"sample_domain": domain, **given})


def test_an_unknown_column_and_a_model_without_weights(half_flipped, boosted):
    X, y, domain, _ = half_flipped
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="X has no column 'height': choose from a, b, c, d"):
        explain(boosted, frame, y, sample_domain=domain, by=["a", "height"])
    with pytest.raises(ValueError, match="LogisticRegression has no sample_weight_"):
        explain(LogisticRegression().fit(X, y), X, y, sample_domain=domain)


def test_what_a_hypothesis_says_of_a_row_is_printed_with_the_digits_that_are_read():
    all_rows = (WeightGroup("target", 3, 1.0, 1.0, 1.0),)
    of_classes = Vote(("north",), 0.94, {"ill": 0.3638047125767545, "well": 0.6361952874232455})
    shown = str(Explanation(np.ones(3), all_rows, (), {}, (), (), votes=(of_classes, Vote((), 0.06, 12.345678912))))
    assert "north, weight 0.94: ill 36.4%, well 63.6%" in shown
    assert "target alone, weight 0.06: 12.3" in shown.splitlines()
