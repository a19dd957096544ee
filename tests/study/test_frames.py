"""Frames in place of files: the same study, the same answer, nothing changed."""

import html
import subprocess
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

import gapmin  # noqa: E402
from gapmin.study import StudyModel, TableError  # noqa: E402
from gapmin.study.prediction import predict_file  # noqa: E402

N = 40


def frame(n=N, seed=0):
    rng = np.random.default_rng(seed)
    size, town = rng.normal(60, 20, size=n).round(3), rng.choice(["Bonn", "Ulm", "Köln"], size=n)
    rent = 10 * size + 100 * (town == "Bonn") + rng.normal(size=n)
    size[:3] = np.nan
    return pd.DataFrame(
        {"size": size, "town": town, "new": rng.random(n) < 0.5, "code": np.arange(n) % 5, "rent": rent.round(2)}
    )


def same(one, other):
    assert one.schema == other.schema
    for (X, y), (X_other, y_other) in zip(
        (one.target, *one.sources.values()), (other.target, *other.sources.values()), strict=True
    ):
        pd.testing.assert_frame_equal(X, X_other)
        np.testing.assert_array_equal(y, y_other)


def as_category(given):
    return given.astype({"town": "category"})


def as_nullable(given):
    return given.convert_dtypes()


def as_polars(given):
    return pytest.importorskip("polars").from_pandas(given)


def as_lazy_polars(given):
    return as_polars(given).lazy()


def in_another_order(given):
    return given[sorted(given.columns)].set_index(pd.Index(range(5, 5 + len(given))))


@pytest.mark.parametrize("change", [as_category, as_nullable, as_polars, as_lazy_polars, in_another_order])
def test_a_frame_is_read_as_its_file(tmp_path, change):
    target, source = frame(), frame(seed=1)
    target.to_csv(tmp_path / "t.csv", index=False)
    source.to_csv(tmp_path / "s.csv", index=False)
    of_files = gapmin.read_study(tmp_path / "t.csv", [tmp_path / "s.csv"], label="rent")
    same(of_files, gapmin.read_study(target, {"s": change(source)}, label="rent"))
    mixed = gapmin.read_study(tmp_path / "t.csv", [change(source)], label="rent")
    same(of_files, mixed)
    assert list(mixed.sources) == ["source 1"]
    assert gapmin.read_study(target, [source], label="rent").target_name == "target"


def test_frames_are_not_changed():
    target, source = frame(), frame(seed=1)
    source.loc[4:9, "code"] = -999
    source.columns = [" size", "town", "new", "code", "rent "]
    before = [target.copy(), source.copy()]
    gapmin.read_study(target, [source], label="rent", na=["Ulm"])
    pd.testing.assert_frame_equal(target, before[0])
    pd.testing.assert_frame_equal(source, before[1])


@pytest.mark.parametrize(
    ("target", "sources", "said"),
    [
        (frame(), frame(seed=1), "sources is a frame: give a list of files or frames, or a dictionary"),
        (frame(), "s.csv", "sources is 's.csv': give a list"),
        (frame(), [], "no source was given beside the target"),
        (frame(), [np.zeros((3, 3))], "ndarray is no table: give the path of a file, a pandas frame or a polars"),
        (frame(), [frame().iloc[:0]], "source 1 has no rows"),
        (frame(), {"old": frame().drop(columns="rent")}, "old has no column 'rent' for the label"),
        (frame(), [pd.concat([frame(), frame()], axis=1)], "source 1 has more than one column called 'size'"),
        (frame(), [pd.concat({"a": frame()}, axis=1)], "source 1 has columns of 2 levels"),
    ],
)
def test_what_is_no_table(target, sources, said):
    with pytest.raises(TableError) as caught:
        gapmin.read_study(target, sources, label="rent")
    assert str(caught.value).startswith(said)


def test_one_frame_twice():
    one = frame()
    with pytest.raises(TableError, match="one frame is both the target and a source"):
        gapmin.read_study(one, [one], label="rent")


def test_lists_are_dropped():
    target = frame().assign(tags=[None, *[["a"]] * (N - 1)], wave=1j)
    made = gapmin.read_study(target, {"old": frame(seed=1).assign(tags="x", wave=2)}, label="rent")
    said = "target has lists, records, bytes or complex numbers in columns 'tags', 'wave': dropped"
    assert said in made.notes
    assert not {"tags", "wave"} & set(made.schema.names)


@pytest.fixture(scope="module")
def compared():
    return gapmin.compare(
        frame(20), {"older <b>": frame(60, seed=1)}, label="rent", n_splits=2, n_jobs=1, random_state=1
    )


def test_a_comparison_shows_itself(compared, tmp_path):
    assert compared.evidence[1].name == "older <b>"
    assert compared.headline in repr(compared)
    assert compared.to_frame()["source"].tolist() == ["older <b>"]
    shown = compared._repr_html_()
    assert "older &lt;b&gt;" in shown
    assert "<b>" not in shown
    summary = compared.result.summary
    for text in (summary.decision, summary.effect, *summary.next_steps):
        assert html.escape(text) in shown
    assert "<th>odds</th>" in shown
    assert "bayes_factor" not in shown
    text = compared.report(tmp_path / "report.html").read_text()
    assert "older &lt;b&gt;" in text


def test_an_option_that_there_is_not_is_refused_by_the_function_that_was_called():
    with pytest.raises(TypeError, match=r"^compare\(\) got an unexpected keyword argument 'quik'"):
        gapmin.compare(frame(20), [frame(60, seed=1)], label="rent", quik=True)


def test_a_comparison_fits_the_model_that_it_judged(compared, tmp_path):
    model = compared.fit()
    assert model.evidence.to_dict() == compared.evidence.to_dict()
    assert [(each.name, each.file, each.n_rows) for each in model.files] == [("target", "", 20), ("older <b>", "", 60)]
    new = frame(seed=2)
    predicted = model.predict(new.drop(columns="rent"))
    assert predicted.shape == (N,)
    loaded = StudyModel.load(model.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(loaded.predict(new), predicted)
    for text in ("rent", "regression", "older <b>", compared.evidence["older <b>"].verdict):
        assert text in repr(loaded)
    assert len(repr(loaded)) < 200
    assert not hasattr(loaded, "classes_")
    with pytest.raises(TypeError, match="predicts rent as a number: call predict"):
        loaded.predict_proba(new)


def test_a_model_of_classes_gives_probabilities(tmp_path):
    """From a frame with its columns in another order, and the same as the command line writes."""
    ours, older = (
        each.assign(rent=np.where(each["rent"] > each["rent"].median(), "high", "low"))
        for each in (frame(20), frame(60, seed=1))
    )
    model = gapmin.compare(ours, {"older": older}, label="rent", quick=True, n_jobs=1).fit()
    new = frame(seed=2).drop(columns="rent")
    loaded = StudyModel.load(model.save(tmp_path / "model.skops"))
    shares = loaded.predict_proba(new[new.columns[::-1]])
    assert loaded.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(loaded.classes_[shares.argmax(axis=1)], model.predict(new))
    new.to_csv(tmp_path / "new.csv", index=False)
    by_command = predict_file(loaded, tmp_path / "new.csv", proba=True)
    np.testing.assert_allclose(by_command.columns["probability_high"], shares[:, 0])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"town": ["Bonn", "Ulm"]}, "column 'town' of X has texts such as 'Bonn'"),
        ({"town": pd.Categorical(["Bonn", "Ulm"])}, "column 'town' of X has texts such as 'Bonn'"),
        ({"size": [1.0, np.nan]}, r"column 'size' of X has missing values \(NaN\)"),
        ({"size": pd.array([1, None], dtype="Int64")}, r"column 'size' of X has missing values \(NaN\)"),
        ({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])}, "column 'day' of X has dates or times"),
    ],
)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_estimator_names_the_call_for_such_frames(columns, said, library):
    X = pd.DataFrame(columns).loc[[0, 1] * 10].reset_index(drop=True)
    X = X if library == "pandas" else as_polars(X)
    y = [0, 1] * 10
    with pytest.raises(ValueError, match=rf"^{said}: gapmin\.compare\(target, sources, label=\.\.\.\) prepares such"):
        gapmin.TransferClassifierCV().fit(X, y)


def test_gapmin_loads_no_pandas():
    """Not by itself: scikit-learn may."""
    code = (
        "import sys, gapmin; alone = set(sys.modules); gapmin.TransferClassifierCV; before = set(sys.modules);"
        "gapmin.compare, gapmin.read_study; names = {'pandas', 'polars', 'pyarrow', 'matplotlib', 'torch', 'skops'};"
        "print(sorted(names & alone), sorted(names & (set(sys.modules) - before)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[] []"


def test_groups_of_frames_stay_together():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(8), 3)
    target = pd.DataFrame({"x": rng.normal(size=24), "patient": [f"p{k}" for k in patient], "y": rng.normal(size=24)})
    source = pd.DataFrame({"x": rng.normal(size=30), "patient": ["p1"] * 30, "y": rng.normal(size=30)})
    found = gapmin.compare(target, {"other": source}, label="y", group="patient", quick=True)
    assert any("30 rows of groups in the target" in said for said in found.evidence["other"].findings)
    assert found.fit().evidence == found.evidence
    with pytest.raises(TableError, match="target has no column 'ward' for group="):
        gapmin.compare(target, {"other": source}, label="y", group="ward")
