import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin.study import RowDivision, TableError, read_division, read_study  # noqa: E402
from gapmin.study.splits import outer_folds  # noqa: E402


def frame_of(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows)})


def test_every_target_row_is_tested_once_and_no_source_row():
    domain = np.repeat([-1, 1, 2], [20, 5, 5])
    y = np.tile([0, 1], 15)
    folds = outer_folds(frame_of(30), y, domain, RowDivision(), 4, 0, classes=True)
    assert sorted(np.concatenate([each.test for each in folds])) == list(range(20))
    for each in folds:
        assert not set(each.train) & set(each.test)
        assert set(range(20, 30)) <= set(each.train)
        assert y[each.test].mean() == pytest.approx(0.5, abs=0.11)


def test_a_group_is_on_one_side_and_its_source_rows_do_not_train():
    domain = np.repeat([-1, 1], [20, 20])
    groups = np.concatenate([np.repeat(np.arange(5), 4), np.repeat(np.arange(5), 4)])
    folds = outer_folds(frame_of(40), np.arange(40.0), domain, RowDivision(groups), 5, 0, classes=False)
    for each in folds:
        assert not set(groups[each.train]) & set(groups[each.test])


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_class_of_few_rows_can_be_divided(n_rows):
    y = np.repeat(["a", "b", "c", "d"], n_rows)
    domain = np.repeat([-1, 1], 2 * n_rows)
    target = np.flatnonzero(domain < 0)
    folds = outer_folds(frame_of(y.size), y, domain, RowDivision(), 5 if n_rows > 1 else 2, 0, classes=True)
    assert np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), target)


def test_copies_of_tested_rows_do_not_train():
    frame = pd.concat([frame_of(10), frame_of(10)], ignore_index=True)
    y = np.tile(np.arange(10.0), 2)
    folds = outer_folds(frame, y, np.repeat([-1, 1], 10), RowDivision(), 5, 0, classes=False)
    for each in folds:
        assert not set(y[each.train]) & set(y[each.test])


def test_by_time_later_rows_are_tested():
    time = np.random.default_rng(0).permutation(40).astype(float)
    division = RowDivision(time=time)
    order = division.order(50)
    assert list(order[40:]) == list(range(40, 50))
    assert list(time[order[:40]]) == sorted(time)
    folds = outer_folds(frame_of(50), np.arange(50.0), np.repeat([-1, 1], [40, 10]), division, 4, 0, classes=False)
    for each in folds:
        assert each.train[each.train < 40].max() < each.test.min()
        assert (each.train < 40).sum() >= 20


@pytest.fixture
def files(tmp_path):
    paths = []
    for name, n_rows in (("new", 40), ("old", 30)):
        frame = frame_of(n_rows, seed=n_rows).assign(who=[f"p{k % 7}" for k in range(n_rows)])
        frame["day"] = [f"2024-01-{1 + k % 28:02d}" for k in range(n_rows)][::-1]
        frame["y"] = frame["a"] * 2.5
        paths.append(tmp_path / f"{name}.csv")
        frame.to_csv(paths[-1], index=False)
    return paths


def test_groups_and_times_are_read_from_the_files(files):
    study = read_study(files[0], files[1:], "y", drop=["who"])
    found = read_division(study, files, "who")
    assert found.groups.size == 70
    assert np.unique(found.groups).size == 7
    found = read_division(study, files, time="day")
    days = [k % 28 for k in range(40)][::-1]
    assert list(np.argsort(found.time, kind="stable")) == list(np.argsort(days, kind="stable"))


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y %H:%M", "%Y-%m-%dT%H:%M:%S+02:00"])
def test_time_goes_by_dates_as_they_are_written_where_the_file_is_from(files, form):
    """As in the columns of the model: 03.04.2024 is the third of April, and stands before 01.05.2024."""
    days = pd.Timestamp("2024-01-05 06:30") + pd.to_timedelta(np.random.default_rng(0).permutation(40) * 7, unit="D")
    for asked in ({}, {"drop": ["who", "day"]}):
        pd.read_csv(files[0]).assign(day=days.strftime(form)).to_csv(files[0], index=False)
        study = read_study(files[0], files[1:], "y", **asked)
        found = read_division(study, files, time="day")
        assert list(np.argsort(found.time)) == list(np.argsort(days))


def test_a_source_without_the_column_shares_no_group(files):
    frame = pd.read_csv(files[1]).drop(columns="who")
    frame.to_csv(files[1], index=False)
    study = read_study(files[0], files[1:], "y", drop=["who"])
    found = read_division(study, files, "who")
    assert np.unique(found.groups).size == 7 + 30


@pytest.mark.parametrize(
    ("change", "asked", "complaint"),
    [
        ({}, {"group": "whom"}, r"new.csv has no column 'whom' for group=: it has .*did you mean 'who'\?$"),
        ({"who": "p1"}, {"group": "who"}, "every row of .* has 'p1' in column 'who': group= needs two or more$"),
        ({"day": "soon"}, {"time": "day"}, "has 'soon' in column 'day' at row 1 below the header, which is no date"),
        ({}, {"group": "who", "time": "day"}, "group= and time= are given together: .* give one of them$"),
        ({}, {"group": "y"}, "group= names the label 'y': give another column$"),
        ({}, {"time": "y"}, "time= names the label 'y': give another column$"),
        ({"who": None}, {"group": "who"}, "has no value in column 'who' at row 1 below the header"),
    ],
)
def test_columns_that_cannot_divide_are_refused(files, change, asked, complaint):
    pd.read_csv(files[0]).assign(**change).to_csv(files[0], index=False)
    study = read_study(files[0], files[1:], "y", drop=["who"])
    with pytest.raises(TableError, match=complaint):
        read_division(study, files, **asked)


def test_time_needs_rows(tmp_path, files):
    pd.read_csv(files[0])[:20].to_csv(files[0], index=False)
    study = read_study(files[0], files[1:], "y", drop=["who"])
    with pytest.raises(TableError, match="has 20 labelled rows: time= needs 30 or more"):
        read_division(study, files, time="day")
