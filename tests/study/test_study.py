import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin.domains import TARGET  # noqa: E402
from gapmin.study import TableError, read_study  # noqa: E402
from gapmin.study._labels import subsample  # noqa: E402
from gapmin_support.studies import N, kinds, notes_on, table  # noqa: E402


@pytest.fixture
def files(tmp_path):
    """Write a target and a source; columns given to `target` or `source` alone are in that file alone."""

    def write(target, source, ending="csv"):
        paths = []
        for name, columns in (("target", target), ("source", source)):
            path = tmp_path / f"{name}.{ending}"
            frame = pd.DataFrame(columns)
            frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
            paths.append(path)
        return paths

    return write


def study(paths, label="y", **options):
    return read_study(paths[0], paths[1:], label, **options)


def refused(paths, label="y", **options):
    with pytest.raises(TableError) as caught:
        study(paths, label, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def words(*levels, n=N):
    return [levels[i % len(levels)] for i in range(n)]


def test_domains_are_stacked_with_one_schema(files):
    target = table(town=words("a", "b"), flag=words(True, False))
    source = table(n=90, seed=1, flag=words(False, True, n=90), town=words("b", "c", None, n=90))
    made = study(files(target, source))
    assert kinds(made) == {"x": "number", "town": "category", "flag": "boolean"}
    X, y, sample_domain = made.stack()
    assert X.dtypes.tolist() == [np.float64, object, np.float64]
    assert (sample_domain == TARGET).sum() == N
    assert X.shape == (150, 3)
    np.testing.assert_allclose(y[:N], target["y"])
    np.testing.assert_allclose(X["x"][N:], source["x"])
    assert X["town"][N:].isna().sum() == 30
    assert set(X["flag"]) == {0.0, 1.0}
    assert (made.target_name, list(made.sources)) == ("target", ["source"])


def test_columns_that_a_file_lacks(files):
    target, source = table(a=range(N)), table(**{f"b{j}": range(N) for j in range(12)})
    made = study(files(target, source))
    assert made.schema.names == ("x",)
    names = "'a', 'b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8' and 3 more"
    assert f"dropped columns {names}: not in every file" in made.notes


def test_no_column_in_common(files):
    said = refused(files({"a": range(N), "y": range(N)}, {"b": range(N), "y": range(N)}))
    assert said.startswith("no column is left to predict 'y' from: dropped columns 'a', 'b': not in every file")


def test_label_missing_in_one_file(files):
    source = table()
    source["Y "] = source.pop("y")
    paths = files(table(), source)
    assert refused(paths) == f"{paths[1]} has no column 'y' for the label: it has 'x', 'Y'; did you mean 'Y'?"
    assert refused(paths, "zz").startswith(f"{paths[0]} has no column 'zz' for the label: it has 'x', 'y'; name one")


def test_spaces_around_the_label_name(files):
    target = table()
    target[" y "] = target.pop("y")
    assert study(files(target, table()), "y").schema.label == "y"
    assert study(files(table(), table()), " y ").schema.label == "y"


def test_rows_without_a_label_are_dropped(files):
    target = table()
    target["y"][[0, 3]] = np.nan
    paths = files(target, table())
    made = study(paths)
    assert f"{paths[0]}: dropped 2 of 60 rows, which have no label" in made.notes
    assert made.target[0].index.tolist()[:3] == [1, 2, 4]
    assert not np.isnan(made.target[1]).any()


def test_no_label_at_all(files):
    paths = files(table(), table(y=[np.nan] * N))
    assert refused(paths) == f"{paths[1]} has no label in column 'y': fill it in, or leave the file out"


def test_nine_rows_are_too_few_and_ten_are_enough(files):
    paths = files(table(n=9), table())
    assert refused(paths) == (f"{paths[0]} has 9 rows with a label in column 'y': give at least 10 labelled rows")
    assert study(files(table(n=10), table())).target[0].shape == (10, 1)


def test_all_missing_columns(files):
    paths = files(table(a=[None] * N, b=range(N)), table(a=range(N), b=[None] * N))
    made = study(paths)
    assert "dropped column 'a': without a value in the target target" in made.notes
    assert "source has no value in column 'b': filled in as the other files suggest" in made.notes
    assert made.schema.names == ("x", "b")


def test_constant_columns(files):
    same = {"k": [3] * N, "t": ["same"] * N}
    gap = [1.0] * (N - 1) + [np.nan]
    made = study(files(table(**same, gap=gap), table(**same, gap=gap)))
    assert "dropped columns 'k', 't': with the same value in every row" in made.notes
    assert made.schema.names == ("x", "gap")


def test_columns_that_name_the_file(files):
    one, two = {"s": [1] * N, "t": ["north"] * N, "u": [1] * N}, {"s": [2] * N, "t": ["south"] * N, "u": words(1, 2)}
    paths = files(table(**one), table(**two))
    made = study(paths)
    assert made.schema.names == ("x", "u")
    assert notes_on(made, "dropped columns 's', 't': with one value in each file and another in others")
    kept = study(paths, keep=["t"])
    assert kept.schema.names == ("x", "t", "u")
    assert notes_on(kept, "dropped column 's': with one value")
    assert refused(paths, keep=["U"]) == ("column 'U', which is to be kept, is in none of the files; did you mean 'u'?")
    assert refused(paths, keep=["s"], drop=["s"]).startswith("column 's' is to be kept and to be dropped")


@pytest.mark.parametrize(
    "written",
    [
        lambda days: days.strftime("%Y-%m-%d"),
        lambda days: days.strftime("%Y-%m-%d %H:%M:%S"),
        lambda days: days.strftime("%d.%m.%Y"),
        lambda days: days.strftime("%m/%d/%Y"),
        lambda days: days.strftime("%d-%m-%y"),
        lambda days: days.tz_localize("UTC").map(lambda day: day.isoformat()),
    ],
)
def test_dates_are_days(files, written):
    days = pd.date_range("2020-01-30", periods=N)
    made = study(files(table(day=written(days)), table(day=[*written(days)[:-1], "?"])))
    assert kinds(made) == {"x": "number", "day": "date"}
    expected = (days - pd.Timestamp("1970-01-01")).days
    assert made.target[0]["day"].tolist() == expected.tolist()
    assert made.sources["source"][0]["day"].isna().sum() == 1


def test_dates_without_marks_are_named(files):
    days = [20240000 + 100 * (row % 12 + 1) + row % 28 + 1 for row in range(N)]
    columns = {"day": days, "count": [20240100 + row % 20 for row in range(N)]}
    made = study(files(table(**columns), table(seed=1, **columns)))
    said = notes_on(made, "look like dates")
    assert len(said) == 1
    assert "column 'day' has numbers such as 20240101, which look like dates: taken as numbers" in said[0]
    assert "2024-01-01" in said[0]


def test_days_and_months_that_cannot_be_told_apart(files):
    for mark, order, expected in (("/", "month before day", 31.0), (".", "day before month", 1.0)):
        dates = words(f"02{mark}01{mark}1970", f"03{mark}01{mark}1970")
        made = study(files(table(day=dates), table(day=dates)))
        assert made.target[0]["day"][0] == expected
        assert notes_on(made, f"column 'day' has dates such as '02{mark}01{mark}1970': read as {order}")
    with_one = [*words("02/01/1970", n=N - 1), "31/01/1970"]
    made = study(files(table(day=words("02/01/1970", "03/01/1970")), table(day=with_one)))
    assert made.sources["source"][0]["day"].tolist()[-2:] == [1.0, 30.0], "one day beyond the 12th decides for all"
    assert made.target[0]["day"].tolist()[:2] == [1.0, 2.0]


def test_dates_of_parquet(files):
    day = pd.date_range("2020-01-30", periods=N, tz="Europe/Berlin")
    made = study(files(table(day=day, lag=day - day[0]), table(day=day, lag=day - day[0]), "parquet"))
    assert kinds(made) == {"x": "number", "day": "date", "lag": "date"}
    assert made.target[0]["lag"].tolist()[:2] == [0.0, 1.0]
    assert made.target[0]["day"][0] == (pd.Timestamp("2020-01-30") - pd.Timestamp("1970-01-01")).days, "local time"


def test_free_text(files):
    said = [f"room {i} with a {'view' if i % 3 else 'bath'}" for i in range(N)]
    paths = files(table(text=said), table(text=said[::-1]))
    made = study(paths)
    assert kinds(made) == {"x": "number", "text": "text"}
    assert notes_on(made, "column 'text': free text; its most common words are used (text=False leaves it out)")
    made = study(paths, text=False)
    assert made.schema.names == ("x",)
    assert notes_on(made, "dropped column 'text': with free text: as asked")
    often = study(files(table(text=words(*said[:20])), table(text=words(*said[:20]))))
    assert kinds(often)["text"] == "category", "texts that repeat are categories"


def test_ids_are_dropped(files):
    ids = [f"id{i}" for i in range(N)]
    made = study(files(table(id=ids, town=words("a", "b")), table(id=ids, town=words("a", "c"))))
    assert made.schema.names == ("x", "town")
    assert notes_on(made, "dropped column 'id': in which nearly every row has a value of its own")
    few = study(files(table(n=20, code=ids[:20]), table(n=20, code=ids[20:40])))
    assert few.schema.names == ("x", "code"), "20 rows do not tell"


def test_ids_of_whole_numbers_are_told_by_their_name(files):
    rng = np.random.default_rng(0)
    ids = rng.permutation(10**6)[:N]
    made = study(files(table(patient_id=ids, income=ids), table(patient_id=ids + 1, income=ids)))
    assert made.schema.names == ("x", "income")
    assert notes_on(made, "dropped column 'patient_id'")
    kept = study(files(table(customerId=ids), table(customerId=ids)), keep=["customerId"])
    assert kept.schema.names == ("x", "customerId")
    for name in ("order_no", "Flaschen-Nr", "Kundennummer", "ticket number"):
        assert study(files(table(**{name: ids}), table(**{name: ids + 1}))).schema.names == ("x",), name
    for name in ("piano", "number", "casino"):
        assert study(files(table(**{name: ids}), table(**{name: ids + 1}))).schema.names == ("x", name), name
    often = study(files(table(town_id=ids % 7), table(town_id=ids % 7)))
    assert often.schema.names == ("x", "town_id"), "rows share it, so that it may tell something"


def test_stray_words_among_numbers(files):
    stray = [str(i) for i in range(N)]
    stray[7] = "n.k."
    paths = files(table(a=stray), table(a=range(N)))
    made = study(paths)
    assert kinds(made)["a"] == "number"
    assert (
        f"{paths[0]}, column 'a': 1 value is no number ('n.k.' at row 8 below the header): taken as missing"
    ) in made.notes
    assert made.target[0]["a"].isna().tolist() == [i == 7 for i in range(N)]


def test_one_word_in_twenty_is_the_limit(files):
    for n_words, kind in ((3, "number"), (4, "category")):
        values = ["w"] * n_words + [str(i % 5) for i in range(N - n_words)]
        assert kinds(study(files(table(a=values), table(a=words(1, 2, 3)))))["a"] == kind


def test_numbers_here_and_words_there(files):
    made = study(files(table(a=words(1, 2)), table(a=words("one", "two"))))
    assert kinds(made)["a"] == "category"
    assert made.schema.columns[1].levels == ("1", "2", "one", "two")
    assert notes_on(made, "column 'a' has numbers in target but texts in source: taken as a category")
    made = study(files(table(a=np.arange(N) / 7), table(n=20, a=words("one", "two", n=20))))
    assert made.schema.names == ("x",)
    assert notes_on(made, "too many to be a category: dropped")


def test_integers_with_gaps_are_the_same_levels(files):
    made = study(files(table(a=[1, 2, None] * 20), table(a=words("1", "2", "three"))))
    assert set(made.schema.columns[1].levels) == {"1", "2", "three"}


def test_half_numbers_half_words_in_a_file(files):
    made = study(files(table(a=words("1", "b")), table(a=words("1", "b"))))
    assert kinds(made)["a"] == "category"
    assert notes_on(made, "column 'a' mixes numbers (50% in target) and texts: taken as a category")


def test_booleans(files):
    target = table(a=words("true", "FALSE", None), b=words(True, False), c=words("yes", "no"))
    made = study(files(target, table(a=words(True, False), b=words(0, 1), c=words("yes", "no"))))
    assert kinds(made) == {"x": "number", "a": "boolean", "b": "number", "c": "category"}
    assert made.target[0]["a"].tolist()[:2] == [1.0, 0.0]
    assert np.isnan(made.target[0]["a"][2])
    assert made.target[0]["b"].tolist()[:2] == [1.0, 0.0]
    assert notes_on(made, "column 'b' is true and false in target but numbers elsewhere: taken as 1 and 0")


def test_infinite_and_huge_numbers(files):
    a, b = [float(i) for i in range(N)], [float(i) for i in range(N)]
    a[2], b[3], b[4] = np.inf, -np.inf, np.inf
    big = [str(10**30 + i * 10**29) for i in range(N)]
    paths = files(table(a=a, b=b, big=big), table(a=b, b=b, big=big))
    made = study(paths)
    assert f"{paths[0]} has 3 infinite values in columns 'a', 'b': taken as missing" in made.notes
    assert np.isnan(made.target[0]["a"][2])
    assert kinds(made)["big"] == "number"
    assert made.target[0]["big"][1] == pytest.approx(1.1e30)


def test_many_levels_are_said(files):
    made = study(files(table(n=200, a=words(*(f"l{i}" for i in range(40)), n=200)), table(a=words("l0", "l1"))))
    assert "column 'a': more than 30 different texts; the rarest are pooled as one" in made.notes
    assert made.schema.columns[1].levels[:2] == ("l0", "l1")
    assert len(made.schema.columns[1].levels) == 40


@pytest.mark.parametrize(
    ("labels", "task", "kind", "why"),
    [
        (words("red", "blue"), "classification", "text", "the labels are texts such as 'red'"),
        (words(True, False), "classification", "boolean", "the labels are true and false"),
        (words(1.5, 2.0, 3.0), "regression", "number", "the labels have fractions, such as 1.5"),
        (words(0, 1, 2), "classification", "integer", "the labels are integers with 3 distinct values in 60 rows"),
        (words(0.0, 1.0), "classification", "integer", "the labels are integers with 2 distinct values in 60 rows"),
        (words(*range(11)), "regression", "integer", "the labels are integers with 11 distinct values in 60 rows"),
    ],
)
def test_the_task_is_recognised(files, labels, task, kind, why):
    made = study(files(table(y=labels), table(y=labels)))
    assert (made.schema.task, made.schema.label_kind) == (task, kind)
    assert f"the task is {task}, because {why} (task= overrides)" in made.notes
    assert (made.schema.classes is None) == (task == "regression")
    if task == "classification":
        assert made.target[1].tolist() == labels
        assert list(made.schema.classes) == sorted(set(labels))


@pytest.mark.parametrize(
    ("n", "n_distinct", "task"),
    [(10, 2, "classification"), (10, 3, "classification"), (20, 6, "classification"), (20, 7, "regression")],
)
def test_integers_of_a_small_target(files, n, n_distinct, task):
    made = study(files(table(n=n, y=words(*range(n_distinct), n=n)), table(y=words(*range(n_distinct)))))
    assert made.schema.task == task


def test_the_task_can_be_set(files):
    paths = files(table(y=words(0, 1, 2)), table(y=words(0, 1, 2)))
    made = study(paths, task="regression")
    assert made.target[1].dtype == np.float64
    assert "the task is regression, as asked" in made.notes
    assert refused(paths, task="ranking") == "task is 'ranking': use classification or regression"
    paths = files(table(y=words("low", "high")), table(y=words("low", "high")))
    assert refused(paths, task="regression") == (
        f"{paths[0]} has the label 'low' at row 1 below the header in column 'y', which is no number: "
        "mend it, leave it empty, or use task='classification'"
    )
    paths = files(table(y=words(0.5, 1.0)), table(y=words(0.5, 1.0)))
    assert "has fractional labels such as 0.5" in refused(paths, task="classification")


def test_stray_words_among_regression_labels(files):
    stray = [str(i / 2) for i in range(N)]
    stray[4] = "two"
    paths = files(table(), table(y=stray))
    assert refused(paths).startswith(f"{paths[1]} has the label 'two' at row 5 below the header in column 'y'")
    paths = files(table(y=stray), table())
    assert refused(paths).startswith(f"{paths[0]} has the label 'two' at row 5 below the header in column 'y'")


def test_infinite_labels(files):
    paths = files(table(), table(y=[np.inf] + [0.5] * (N - 1)))
    assert refused(paths).startswith(f"{paths[1]} has the label 'inf' at row 1 below the header")


def test_a_class_only_in_the_source(files):
    paths = files(table(y=words("a", "b")), table(y=words("a", "b", "c")))
    made = study(paths)
    assert made.schema.classes == ("a", "b")
    assert (
        f"{paths[1]}: dropped 20 rows of a class that the target does not have ('c'), for the target cannot test them"
    ) in made.notes
    X, y = made.sources["source"]
    assert len(X) == len(y) == 40
    assert set(y) == {"a", "b"}


def test_integer_classes_written_in_words_elsewhere(files):
    made = study(files(table(y=words(0, 1)), table(y=words(0, 1, "two"))))
    assert set(made.sources["source"][1]) == {0, 1}
    assert made.sources["source"][1].dtype == np.int64
    paths = files(table(y=words(0, 1)), table(y=words("zero", "one")))
    assert refused(paths) == (
        f"{paths[1]} has no row of a class of the target: it has 'zero', 'one' in column 'y', the target '0', '1'; "
        "write the classes alike, or leave the file out"
    )


def test_single_rows_and_single_classes(files):
    labels = ["rare", *words("a", "b", n=N - 1)]
    paths = files(table(y=labels), table(y=words("a", "b")))
    assert f"{paths[0]} has a single row of class 'rare': it cannot be both trained on and tested" in study(paths).notes
    paths = files(table(y=["a"] * N), table(y=words("a", "b")))
    assert refused(paths).startswith(
        f"{paths[0]} has one class ('a') in all 60 rows of column 'y': add rows of another"
    )
    paths = files(table(y=[2.5] * N), table())
    assert refused(paths).startswith(f"{paths[0]} has the same label 2.5 in all 60 rows of column 'y'")
    paths = files(table(y=[f"name {i}" for i in range(N)]), table(y=words("a", "b")))
    assert refused(paths).startswith(f"{paths[0]} has 60 classes in 60 rows of column 'y', such as 'name 0'")


def test_columns_to_leave_out(files):
    paths = files(table(a=range(N)), table(a=range(N)))
    assert study(paths, drop=["a"]).schema.names == ("x",)
    assert (
        refused(paths, drop=["X"]) == "column 'X', which is to be dropped, is in none of the files; did you mean 'x'?"
    )
    assert refused(paths, drop=["y"]).startswith("the label 'y' is also to be dropped")


def test_large_sources_are_subsampled(files):
    labels = words("a", "a", "a", "b", n=400)
    paths = files(table(y=words("a", "b")), table(n=400, y=labels))
    made = study(paths, max_source_rows=100)
    X, y = made.sources["source"]
    assert (len(X), (y == "b").sum()) == (100, 25)
    assert made.target[0].shape[0] == N
    assert f"{paths[1]}: 100 of its 400 rows drawn at random (seed 0)" in made.notes
    assert all(labels[row] == label for row, label in zip(X.index, y, strict=True))
    again = study(paths, max_source_rows=100)
    pd.testing.assert_frame_equal(X, again.sources["source"][0])
    assert not X.index.equals(study(paths, max_source_rows=100, random_state=1).sources["source"][0].index)


def test_a_subsample_keeps_rare_classes():
    y = np.array(["a"] * 997 + ["b", "c", "d"])
    rows = subsample(y, 10, ("a", "b", "c", "d"), np.random.default_rng(0))
    assert sorted(set(y[rows])) == ["a", "b", "c", "d"]
    assert len(set(rows)) == 10


def test_the_same_file_twice(files):
    paths = files(table(), table())
    with pytest.raises(TableError, match="is both the target and a source: its rows would count double"):
        read_study(paths[0], [paths[0]], "y")
    with pytest.raises(TableError, match="is a source twice"):
        read_study(paths[0], [paths[1], paths[1]], "y")
    with pytest.raises(TableError, match="no source was given"):
        read_study(paths[0], [], "y")


def test_script_is_text_all_the_way(files, tmp_path):
    name = "<script>alert(1)</script>"
    paths = files(table(**{name: words(name, "b")}), table(**{name: words(name, "b")}))
    odd = tmp_path / "<script>alert(1)<.csv"
    paths[1].rename(odd)
    made = study([paths[0], odd])
    assert list(made.sources) == ["<script>alert(1)<"]
    assert made.schema.columns[1].name == name
    assert name in made.schema.columns[1].levels


@pytest.mark.slow
def test_ten_thousand_columns(files):
    rng = np.random.default_rng(0)

    def wide(extra):
        columns = {f"c{j}": column for j, column in enumerate(rng.integers(0, 99, size=(10_000, 12)))}
        columns |= {"c3": [None] * 12, "c4": [1] * 12, "c5": words("a", "b", n=12), "y": np.arange(12) / 7}
        return columns | {f"{extra}{j}": [1] * 12 for j in range(5000)}

    made = study(files(wide("p"), wide("q")))
    assert len(made.schema.columns) == 9_998
    assert made.stack()[0].shape == (24, 9_998)
    assert len(made.notes) == 4
    assert notes_on(made, "'p9' and 9,990 more: not in every file")


def test_a_source_that_holds_the_targets_rows(tmp_path):
    """It would be praised for knowing by heart what it is tested on."""
    rng = np.random.default_rng(0)
    lines = [f"{a:.4f},{b:.4f},{a + b:.4f}" for a, b in rng.normal(size=(60, 2))]

    def write(name, rows):
        path = tmp_path / name
        path.write_text("\n".join(["a,b,y", *rows]) + "\n")
        return path

    target = write("target.csv", lines[:20])
    copy = read_study(target, [write("copy.csv", lines)], "y")
    assert "copy.csv holds 20 of the 20 rows of the target" in copy.notes[-1]
    some = read_study(target, [write("some.csv", lines[17:])], "y")
    assert "some.csv holds 3 of the 20 rows of the target" in some.notes[-1]
    none = read_study(target, [write("none.csv", lines[20:])], "y")
    assert not any("rows of the target" in note for note in none.notes)


def test_what_is_a_number_in_one_file_and_a_text_in_another_is_as_it_is_written(files):
    target = table(zip=words("01", "02"), flag=words("true", "false"), m=words("1.50", "2"))
    source = table(zip=words("01", "X1", "02"), flag=words("true", "unknown", "false"), m=words("1.50", "new", "2"))
    for one, other in ((target, source), (source, target)):
        made = study(files(one, other))
        levels = {column.name: set(column.levels) for column in made.schema.columns}
        assert levels["zip"] == {"01", "02", "X1"}
        assert levels["flag"] == {"true", "false", "unknown"}
        assert levels["m"] == {"1.50", "2", "new"}
        for X, _ in (made.target, made.sources["source"]):
            assert set(X["zip"]) <= levels["zip"]


def test_a_label_that_is_a_text_in_the_target_is_one_in_the_source(files):
    target, source = table(), table()
    target["y"], source["y"] = words("01", "02", "X"), words("01", "02")
    made = study(files(target, source))
    assert made.schema.classes == ("01", "02", "X")
    assert made.sources["source"][1].tolist() == source["y"]
    target["y"], source["y"] = words("true", "false", "maybe"), words("true", "false")
    assert study(files(target, source)).sources["source"][1].tolist() == source["y"]


def test_texts_of_numbers_with_other_marks_stay_numbers(tmp_path):
    target, source = tmp_path / "t.csv", tmp_path / "s.csv"
    target.write_text("x;n;y\n" + "".join(f"{i},5;{1 + i % 2}.000;{i % 7},1\n" for i in range(30)))
    source.write_text("x;n;y\n" + "".join(f"{i},5;{'many' if i % 3 else '1000'};{i % 7},1\n" for i in range(30)))
    made = read_study(target, [source], "y")
    assert {column.name: set(column.levels) for column in made.schema.columns}["n"] == {"1000", "2000", "many"}


def test_a_study_shows_what_it_is_and_no_rows(files):
    said = repr(study(files(table(), table())))
    assert said == f"<Study: y (regression) from 1 column; target {N} rows, source {N} rows>"


def test_numbers_of_rows_are_dropped(files):
    target, source = table(row=range(N)), table(row=range(2000, 2000 + N))
    made = study(files(target, source))
    assert made.schema.names == ("x",)
    assert "dropped column 'row': which count the rows; keep= uses one" in made.notes
    assert study(files(target, source), keep=["row"]).schema.names == ("x", "row")
    source["row"] = list(range(1, N + 1))  # each file from its start on
    assert study(files(target, source)).schema.names == ("x",)
    source["row"] = np.random.default_rng(0).permutation(N)  # the same numbers in both in no order: perhaps an age
    assert study(files(target, source)).schema.names == ("x", "row")
    source["row"] = [2000 + 5 * i for i in range(N)]
    assert study(files(target, source)).schema.names == ("x", "row")


def test_values_beyond_all_sense_are_missing(files):
    target, source = table(), table()
    target["z"] = source["z"] = [float(i) for i in range(N)]
    source["z"] = [1.797e308, *source["z"][1:]]
    made = study(files(target, source))
    assert np.isnan(made.sources["source"][0]["z"].iloc[0])
    assert any(
        note.endswith("source.csv has 1 value beyond 1e+100 in column 'z': taken as missing") for note in made.notes
    )
    source["y"] = [1e120, *source["y"][1:]]
    assert (
        "source.csv has the label 1e+120 at row 1 below the header in column 'y', beyond 1e+100: leave it empty"
        in refused(files(target, source), task="regression")
    )


def test_a_class_called_none_is_told(files):
    target = table()
    target["y"] = ["None", "mild", "mild"] * (N // 3)
    said = refused(files(target, table(y=["mild"] * N)))
    assert (
        f"one class ('mild') in all {2 * N // 3} rows of column 'y' that have a label ({N // 3} others have none: "
        in said
    )
