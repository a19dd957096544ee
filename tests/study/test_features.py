"""Dates and free text as numbers, and back from a model file."""

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.pipeline import Pipeline, make_pipeline  # noqa: E402

from gapmin.study import Column, Schema, preprocessor  # noqa: E402
from gapmin.study._dates import text_to_days  # noqa: E402
from gapmin.study.features import DATE_PARTS, DateFeatures, TextFeatures  # noqa: E402
from gapmin.study.methods import MODEL  # noqa: E402
from gapmin.study.metrics import read_metric  # noqa: E402
from gapmin.study.nested import NestedData, run_fold  # noqa: E402
from gapmin.study.splits import OuterFold  # noqa: E402

EPOCH = datetime.datetime(1970, 1, 1)
moments = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)


@settings(deadline=None)
@given(moments)
def test_the_parts_of_a_date(moment):
    days = (moment - EPOCH).total_seconds() / 86_400
    steps = DateFeatures()
    steps.varies_ = np.ones((1, len(DATE_PARTS)), dtype=bool)
    parts = dict(zip(DATE_PARTS, steps.transform(pd.DataFrame({"day": [days]}))[0], strict=True))
    assert (parts["year"], parts["month"], parts["weekday"]) == (moment.year, moment.month, moment.weekday())
    assert (parts["hour"], parts["elapsed days"], parts["missing"]) == (moment.hour, days, 0)
    assert text_to_days(moment.isoformat(), False) == pytest.approx(days)
    assert text_to_days(moment.strftime("%d.%m.%Y %H:%M"), True) == pytest.approx(days)
    assert text_to_days(moment.strftime("%m/%d/%Y %H:%M"), False) == pytest.approx(days)


@pytest.mark.parametrize("text", ["2020-13-01", "2020-02-30", "31.12.2020 25:00", "1.5", "", "2020", "10.0.1.1"])
def test_what_is_no_date(text):
    assert np.isnan(text_to_days(text, True)) or np.isnan(text_to_days(text, False))


def test_parts_that_do_not_vary_are_left_out():
    steps = DateFeatures().fit(pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, np.nan]}))
    assert steps.get_feature_names_out().tolist() == ["a: weekday", "a: elapsed days", "b: missing"]
    made = steps.transform(pd.DataFrame({"a": [np.nan], "b": [np.nan]}))
    assert np.isnan(made[0, :2]).all()
    assert made[0, 2] == 1


texts = st.lists(st.text(alphabet="ab c", max_size=12), min_size=2, max_size=8)


@settings(deadline=None)
@given(texts)
def test_weights_are_those_of_scikit_learn(rows):
    frame = pd.DataFrame({"text": pd.Series(rows, dtype=object)})
    steps = TextFeatures().fit(frame)
    if steps.words_.size == 0:
        assert steps.transform(frame).shape == (len(rows), 0)
        return
    expected = TfidfVectorizer(vocabulary=steps.words_.tolist()).fit(rows).transform(rows).toarray()
    np.testing.assert_allclose(steps.transform(frame), expected)


def test_words_are_bounded_and_missing_texts_are_zeros():
    rows = [" ".join(f"w{i}" for i in range(k, k + 20)) for k in range(200)]
    frame = pd.DataFrame({"text": pd.Series([*rows, np.nan, "only here"], dtype=object)})
    made = TextFeatures(max_words=30).fit(frame)
    assert made.words_.size == 30
    assert "only" not in made.words_
    weights = made.transform(frame)
    assert (weights[-2:] == 0).all()


COLUMNS = (Column("size", "number"), Column("day", "date", day_first=True), Column("text", "text"))
SCHEMA = Schema("price", "regression", "number", None, COLUMNS)


def test_new_rows_with_dates_and_text():
    given_rows = pd.DataFrame({"size": [1.0, 2.0], "day": ["02.01.1970", None], "text": ["a view", None]})
    made, notes = SCHEMA.conform(given_rows, "new.csv")
    assert made["day"].tolist()[0] == 1.0
    assert made.isna().to_numpy().sum() == 2
    assert notes == ()


def test_dates_and_text_come_back_from_a_model_file(tmp_path):
    pytest.importorskip("skops")
    from gapmin.saved import load_model, save_model

    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=30),
            "day": rng.integers(0, 9999, size=30).astype(float),
            "text": pd.Series(rng.choice(["a room with a view", "two rooms", "a small room"], size=30), dtype=object),
        }
    )
    X.loc[3, ["day", "text"]] = np.nan
    model = make_pipeline(preprocessor(SCHEMA), Ridge()).fit(X, X["size"])
    names = model[0].get_feature_names_out().tolist()
    assert {"day: year", "day: missing", "text: view"} <= set(names)
    loaded = load_model(save_model(model, tmp_path / "model.skops")).model
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded[0].get_feature_names_out().tolist() == names


@pytest.mark.parametrize(
    ("step", "name", "value", "said"),
    [
        ("date", "varies_", np.zeros((1, 6), dtype=np.int64), "dates have parts of a wrong kind"),
        ("date", "varies_", np.zeros((2, 6), dtype=bool), "dates have parts for other columns"),
        ("date", "feature_names_in_", np.array(["a", "b"]), "dates have names for other columns"),
        ("text", "words_", np.zeros(2), "a text has words of a wrong kind"),
        ("text", "words_", np.array(["a"] * 200), "a text has too many words"),
        ("text", "idf_", np.zeros(3), "a text has words without a weight"),
        ("text", "max_words", 10**9, "a text has too many words"),
    ],
)
def test_altered_features_are_refused(tmp_path, step, name, value, said):
    pytest.importorskip("skops")
    from gapmin.saved import ModelFileError, save_model

    frame = pd.DataFrame({"day": [1.0, 2.0], "text": ["a room", "a room with a view"]})
    steps = {"date": DateFeatures().fit(frame[["day"]]), "text": TextFeatures().fit(frame[["text"]])}
    setattr(steps[step], name, value)
    model = Pipeline([("step", steps[step])])
    with pytest.raises(ModelFileError, match=said):
        save_model(model, tmp_path / "model.skops")


def test_words_of_tested_rows_are_not_chosen_in_the_outer_folds():
    """A word that tested rows alone have changes no prediction: the words come from the rows that train."""
    random = np.random.default_rng(0)
    n_target, n_source = 20, 30
    topic = random.integers(0, 2, n_target + n_source)
    words = random.choice(["lift", "view", "garden", "cellar", "quiet", "bright"], (topic.size, 4))
    texts = [" ".join([*row, "old" if each else "new", "house"]) for row, each in zip(words, topic, strict=True)]
    domain = np.repeat([-1, 1], [n_target, n_source])
    schema = Schema("y", "classification", "integer", (0, 1), (Column("text", "text"),))
    fold = OuterFold(np.arange(5, topic.size), np.arange(5))
    metric = read_metric(None, "classification")
    found = []
    for extra in ("", " unheard"):
        frame = pd.DataFrame({"text": [text + extra * (row < 5) for row, text in enumerate(texts)]})
        data = NestedData(frame, topic, domain, None, schema, None, (), (), metric, 0)
        found.append(run_fold(data, fold).predicted[MODEL, 0])
    np.testing.assert_array_equal(*found)
