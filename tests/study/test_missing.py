"""What stands for a missing value, and what only looks like it."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from gapmin.study import TableError, read_study  # noqa: E402
from gapmin_support.studies import N, kinds, notes_on, table  # noqa: E402


@pytest.fixture
def study(tmp_path):
    """Read frames as files of those names, the first of them as the target."""

    def read(tables, label="y", **options):
        paths = []
        for name, columns in tables.items():
            paths.append(tmp_path / f"{name}.csv")
            pd.DataFrame(columns).to_csv(paths[-1], index=False)
        return read_study(paths[0], paths[1:], label, **options)

    return read


def measure(seed=0, n=N, low=20.0, high=80.0):
    return np.random.default_rng(seed).uniform(low, high, size=n).round(2)


def with_values(values, rows, value):
    changed = np.array(values, dtype=object)
    changed[rows] = value
    return changed


@pytest.mark.parametrize("mark", ["?", "-", ".", "n/a", "null", "unknown", "Unknown"])
@pytest.mark.parametrize("where", ["target", "source"])
def test_a_mark_among_numbers_is_missing(study, mark, where):
    columns = {"target": measure(1), "source": measure(2)}
    columns[where] = with_values(columns[where], slice(0, 40), mark)
    made = study({name: table(a=values) for name, values in columns.items()})
    assert kinds(made) == {"x": "number", "a": "number"}
    X = made.target[0] if where == "target" else made.sources["source"][0]
    assert X["a"].isna().tolist() == [row < 40 for row in range(N)]
    notes = notes_on(made, "in column 'a'")
    assert len(notes) == 1
    assert f"'{mark.lower()}'" in notes[0].lower()
    assert notes[0].endswith("taken as missing")


def test_a_mark_among_texts_is_a_text(study):
    colours = [("red", "blue", "?", "unknown")[row % 4] for row in range(N)]
    made = study({"target": table(a=colours), "source": table(a=colours)})
    assert set(made.schema.columns[1].levels) == {"red", "blue", "?", "unknown"}
    assert not notes_on(made, "taken as missing")


def test_a_column_of_nothing_but_marks_is_empty(study):
    made = study({"target": table(a=measure()), "source": table(a=["?"] * N)})
    assert kinds(made)["a"] == "number"
    assert notes_on(made, "source has no value in column 'a'")
    made = study({"target": table(a=["?"] * N), "source": table(a=measure())})
    assert made.schema.names == ("x",)
    assert notes_on(made, "dropped column 'a': without a value in the target")


def test_another_word_is_named_and_may_be_given(study):
    values = with_values([1, 2, 3] * 20, slice(0, 20), "k.A.")
    tables = {"target": table(a=values), "source": table(a=[1, 2, 3] * 20)}
    made = study(tables)
    assert kinds(made)["a"] == "category"
    assert notes_on(made, "if 'k.A.' means missing, add na=['k.A.']")
    made = study(tables, na=["K.a."])
    assert kinds(made)["a"] == "number"
    assert made.target[0]["a"].isna().sum() == 20
    assert made.schema.missing == ("k.a.",)


def test_tokens_of_a_column_alone(study):
    tables = {"target": table(a=[0, 1, 2] * 20, b=[0, 1, 2] * 20), "source": table(a=[0, 1, 2] * 20, b=[3, 1, 2] * 20)}
    made = study(tables, na=["a=0"])
    assert made.target[0]["a"].isna().sum() == 20
    assert not made.target[0]["b"].isna().any()
    assert {column.name: column.missing for column in made.schema.columns} == {"x": (), "a": ("0",), "b": ()}
    made = study(tables, na=["A=0"])
    assert notes_on(made, "na=['A=0']: the target has no column 'A'; did you mean 'a'?")
    assert not made.target[0]["a"].isna().any()
    with pytest.raises(TableError, match=r"na is '\?': give a list"):
        study(tables, na="?")


def test_a_token_in_the_label_is_no_label(study):
    labels = ["yes", "no", "?"] * 20
    made = study({"target": table(y=labels), "source": table(y=labels)}, na=["?"])
    assert made.schema.classes == ("no", "yes")
    assert len(made.target[1]) == 40


@pytest.mark.parametrize("gap", ["?", "unknown", "-999", -999.0])
def test_a_mark_or_code_among_labels_that_are_numbers_is_no_label(study, gap):
    """A model of -999 would be a model of what was not measured."""
    labels = [gap if row % 5 == 0 else f"{row / 7:.2f}" if isinstance(gap, str) else row / 7 for row in range(N)]
    whole = [row / 7 for row in range(N)]
    made = study({"target": table(y=labels), "source": table(y=whole)})
    assert made.schema.task == "regression"
    assert len(made.target[1]) == N - N // 5
    assert made.target[1].min() > 0
    assert notes_on(made, "in the label 'y'")
    assert len(made.sources["source"][1]) == N
    other_way = study({"target": table(y=whole), "source": table(y=labels)})
    assert len(other_way.sources["source"][1]) == N - N // 5


def test_marks_among_classes_and_numbers_that_only_look_like_codes_are_labels(study):
    classes = ["yes", "no", "unknown"] * (N // 3)
    assert study({"target": table(y=classes), "source": table(y=classes)}).schema.classes == ("no", "unknown", "yes")
    cold = [-9.0 if row % 5 == 0 else row / 2 - 15 for row in range(N)]
    assert len(study({"target": table(y=cold), "source": table(y=cold)}).target[1]) == N


def test_dirt_of_one_file_makes_no_category_of_a_measure(study):
    dirty = with_values(measure(3), slice(0, 20), [f"about {row}" for row in range(20)])
    made = study({"target": table(a=measure(1)), "clean": table(a=measure(2)), "dirty": table(a=dirty)})
    assert kinds(made)["a"] == "number"
    assert made.sources["dirty"][0]["a"].isna().sum() == 20
    assert notes_on(made, "20 values are no number ('about 0' at row 1 below the header): taken as missing")
    codes = with_values([1, 2, 3] * 20, slice(0, 20), "A")
    made = study({"target": table(a=[1, 2, 3] * 20), "clean": table(a=[1, 2, 3] * 20), "dirty": table(a=codes)})
    assert kinds(made)["a"] == "category", "few numbers may be codes, among which A is another"
    every = {name: table(a=with_values(measure(seed), slice(0, 20), "few")) for seed, name in enumerate("abc")}
    assert "a" not in {name for name, kind in kinds(study(every)).items() if kind == "number"}


@pytest.mark.parametrize("code", [-9, -999])
def test_codes_that_repeat_far_below_the_rest_are_missing(study, code):
    source = with_values(measure(2), [3, 5, 7], code)
    made = study({"target": table(a=measure(1)), "source": table(a=source)})
    assert made.sources["source"][0]["a"].isna().sum() == 3
    assert notes_on(made, f"'{code}' in column 'a', repeated and far below every other value: taken as missing")
    assert made.schema.columns[1].missing == (str(code),)


def test_what_is_no_code(study):
    once = with_values(measure(2), [3], -999)
    degrees = np.random.default_rng(0).integers(-10, 30, size=N)
    degrees[:5] = -9
    coldest = np.where(degrees < -9, -9, degrees)
    made = study({"target": table(a=once, b=degrees, c=coldest), "source": table(a=measure(1), b=degrees, c=coldest)})
    assert not made.target[0].isna().any().any()
    assert not notes_on(made, "taken as missing")


def test_zeros_far_below_the_rest_are_named_and_kept(study):
    pressure = with_values(measure(2, low=90, high=180), [3, 5, 7], 0)
    counts = np.random.default_rng(0).integers(0, 5, size=N)
    made = study({"target": table(a=measure(1, low=90, high=180), b=counts), "source": table(a=pressure, b=counts)})
    assert (made.sources["source"][0]["a"] == 0).sum() == 3
    assert len(notes_on(made, "zeros far below every other value")) == 1
    assert notes_on(made, "if they mean missing, add na=['a=0']")


def test_a_column_with_one_value_in_one_file_is_named(study):
    made = study({"target": table(a=measure(1)), "north": table(a=[0] * N), "south": table(a=measure(2))})
    assert kinds(made)["a"] == "number"
    assert notes_on(made, "column 'a' has no value but '0' in north, and varies elsewhere: kept; if it means missing, ")
    made = study({"target": table(a=measure(1)), "north": table(a=[0] * N)}, na=["a=0"])
    assert made.sources["north"][0]["a"].isna().all()


def test_decimal_commas_beside_a_mark(tmp_path):
    paths = [tmp_path / "t.csv", tmp_path / "s.csv"]
    for place, path in enumerate(paths):
        rows = (f"{row % 9},{row}5;{'?' if place and row % 3 == 0 else f'{row},5'};{row % 7},1" for row in range(30))
        path.write_text("a;b;y\n" + "\n".join(rows) + "\n")
    made = read_study(paths[0], paths[1:], "y")
    assert kinds(made) == {"a": "number", "b": "number"}
    X = made.sources["s"][0]
    assert X["b"].isna().tolist() == [row % 3 == 0 for row in range(30)]
    assert X["b"][1] == 1.5


def test_decimal_commas_in_one_column_of_one_file(tmp_path):
    """Beside points in its other columns; the target has points throughout, and so the model takes both."""
    target, source = tmp_path / "target.csv", tmp_path / "source.csv"
    random = np.random.default_rng(0)
    a, b, y = random.normal(size=(3, 80)).round(3)
    sugar = random.gamma(2, 3, size=80).round(1)
    frame = pd.DataFrame({"a": a, "b": b, "sugar": sugar, "y": y})
    frame.to_csv(target, sep=";", index=False)
    commas = pd.Series(sugar).map(lambda value: str(value).replace(".", ","))
    frame.assign(sugar=commas.mask(pd.Series(range(80)) % 9 == 0, "k.A.")).to_csv(source, sep=";", index=False)
    made = read_study(target, [source], "y")
    assert kinds(made)["sugar"] == "number"
    read = made.sources["source"][0]["sugar"]
    assert read.isna().tolist() == [row % 9 == 0 for row in range(80)]
    np.testing.assert_array_equal(read.dropna(), sugar[read.notna()])
    assert len(notes_on(made, "source.csv has decimal commas in column 'sugar', such as ")) == 1
    rows, _ = made.schema.conform(pd.DataFrame({"a": ["1.5"], "b": [2.5], "sugar": ["3,5"]}), "new.csv")
    assert rows["sugar"].tolist() == [3.5]
    assert rows["a"].tolist() == [1.5]


def test_hospitals(study):
    """? for missing, zeros for a measure that one of them never took, three classes: all of it is told."""

    def hospital(n, seed, **columns):
        rng = np.random.default_rng(seed)
        age = rng.integers(29, 77, size=n)
        pressure = rng.integers(94, 200, size=n).astype(object)
        pressure[rng.random(n) < 0.1] = "?"
        vessels = rng.integers(0, 4, size=n).astype(object)
        vessels[rng.random(n) < 0.8] = "?"
        return {
            "age": age,
            "sex": rng.choice(["male", "female"], size=n),
            "pressure": pressure,
            "cholesterol": rng.integers(126, 564, size=n),
            "vessels": vessels,
            "disease": rng.choice(["none found", "mild", "severe"], size=n),
            **columns,
        }

    made = study(
        {"ours": hospital(80, 0), "zurich": hospital(120, 1, cholesterol=[0] * 120), "budapest": hospital(200, 2)},
        "disease",
    )
    assert kinds(made) == {
        "age": "number",
        "sex": "category",
        "pressure": "number",
        "cholesterol": "number",
        "vessels": "number",
    }
    assert made.schema.classes == ("mild", "none found", "severe")
    assert notes_on(made, "'?' in columns 'pressure', 'vessels', among numbers or dates: taken as missing")
    assert notes_on(made, "column 'cholesterol' has no value but '0' in zurich, and varies elsewhere")
    assert not notes_on(made, "pooled")
