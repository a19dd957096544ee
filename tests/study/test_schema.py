import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from gapmin.study import Column, Schema, TableError  # noqa: E402

COLUMNS = (Column("size", "number"), Column("new", "boolean"), Column("town", "category", ("Bonn", "Köln")))
SCHEMA = Schema("price", "regression", "number", None, COLUMNS)


def rows(**columns):
    return pd.DataFrame({"size": [1.0, 2.0], "new": [True, False], "town": ["Bonn", "Köln"], **columns})


def refused(frame):
    with pytest.raises(TableError) as caught:
        SCHEMA.conform(frame, "new.csv")
    return str(caught.value)


def test_rows_as_the_model_takes_them():
    given_rows = rows(size=["1,5", "2"])[["town", "size", "new"]].assign(size=[" 1.5 ", "2"])
    before = given_rows.copy()
    made, notes = SCHEMA.conform(given_rows, "new.csv")
    assert made.columns.tolist() == ["size", "new", "town"]
    assert made.dtypes.tolist() == [np.float64, np.float64, object]
    assert made["size"].tolist() == [1.5, 2.0]
    assert made["new"].tolist() == [1.0, 0.0]
    assert notes == ()
    pd.testing.assert_frame_equal(given_rows, before)


def test_infinite_numbers_are_not_changed_in_place():
    given_rows = rows(size=[np.inf, 1.0])
    made, notes = SCHEMA.conform(given_rows, "new.csv")
    assert np.isnan(made["size"][0])
    assert np.isinf(given_rows["size"][0])
    assert notes == ("new.csv has 1 infinite value in column 'size': taken as missing",)


def test_missing_columns():
    frame = rows().rename(columns={"size": "Sice"}).drop(columns="new")
    assert refused(frame) == (
        "new.csv lacks columns 'size', 'new', which the model was made with: add or rename; did you mean 'Sice'?"
    )


def test_extra_columns_and_the_label():
    made, notes = SCHEMA.conform(rows(price=[1, 2], other=[1, 2], more=[1, 2]), "new.csv")
    assert made.columns.tolist() == ["size", "new", "town"]
    assert notes == ("new.csv has 2 columns that the model does not use: 'other', 'more'",)


def test_columns_twice():
    frame = pd.concat([rows(), rows()[["size"]]], axis=1)
    assert refused(frame) == "new.csv has more than one column 'size': rename or remove all but one"


def test_words_where_numbers_were():
    assert refused(rows(size=["big", "2"])) == (
        "new.csv has 'big' at row 1 below the header in column 'size', where the model expects a number "
        "(1 of 2 values are none): mend the column"
    )
    assert "where the model expects true or false" in refused(rows(new=["perhaps", "true"]))
    many = pd.concat([rows()] * 20, ignore_index=True).astype({"size": object})
    many.loc[3, "size"] = "big"
    made, notes = SCHEMA.conform(many, "new.csv")
    assert made["size"].isna().sum() == 1
    assert notes == (
        "new.csv, column 'size': 1 value is no number ('big' at row 4 below the header): taken as missing",
    )


def test_new_levels():
    made, notes = SCHEMA.conform(rows(town=["Bonn", "<b>Ulm"]), "new.csv")
    assert made["town"].tolist() == ["Bonn", "<b>Ulm"]
    assert notes == ("new.csv, column 'town': a value that the model has not seen ('<b>Ulm'): taken as unknown",)


def test_true_and_one_are_different_texts():
    made, _ = SCHEMA.conform(rows(town=pd.Series([True, 1.0], dtype=object)), "new.csv")
    assert made["town"].tolist() == ["true", "1"]


def test_missing_values_are_no_strays():
    made, notes = SCHEMA.conform(rows(size=[None, " "], new=[None, None], town=[None, ""]), "new.csv")
    assert made.isna().all().all()
    assert notes == ()


def test_what_is_missing_in_the_study_is_missing_in_new_rows():
    schema = Schema("price", "regression", "number", None, (Column("size", "number", (), ("?", "-9")),), ("k.a.",))
    given_rows = pd.DataFrame({"size": ["1.5", "?", "-9", "K.A.", "-8"]})
    before = given_rows.copy()
    made, notes = schema.conform(given_rows, "new.csv")
    assert made["size"].isna().tolist() == [False, True, True, True, False]
    assert notes == ()
    pd.testing.assert_frame_equal(given_rows, before)
    made, _ = schema.conform(pd.DataFrame({"size": [-9, -8]}), "new.csv")
    assert made["size"].isna().tolist() == [True, False]
    assert "where the model expects a number" in str(refused_by(schema, pd.DataFrame({"size": [".", "1"]})))


def refused_by(schema, frame):
    with pytest.raises(TableError) as caught:
        schema.conform(frame, "new.csv")
    return caught.value


levels = st.lists(st.text(min_size=1, max_size=5), max_size=4, unique=True).map(tuple)
columns = st.lists(
    st.builds(
        Column, st.text(min_size=1, max_size=5), st.sampled_from(["number", "boolean", "category"]), levels, levels
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda column: column.name,
).map(tuple)


@settings(deadline=None)
@given(columns, st.sampled_from([("text", ("a", "b")), ("integer", (0, 1, 5)), ("boolean", (False, True))]))
def test_json_and_back(some, labels):
    schema = Schema("the label itself", "classification", *labels, some, ("?", "-9"))
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def as_json(**changes):
    return {"name": "a", "kind": "number", "levels": [], "missing": [], "day_first": False, **changes}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "ranking"}, "the schema's task is 'ranking': expected one of classification, regression"),
        ({"label": 3}, "the schema's label is 3: expected a text"),
        ({"label_kind": "date"}, "the schema's label_kind is 'date'"),
        ({"classes": ["a"]}, "the schema's classes are ['a'] in a regression: expected null"),
        ({"task": "classification"}, "the schema's classes are None: expected a list of two or more of kind number"),
        ({"columns": []}, "the schema's columns are []: expected a list of one or more"),
        (
            {"columns": [{"name": "a"}]},
            "column 1 of the schema has the fields 'name': expected 'day_first', 'kind', 'levels', 'missing', 'name'",
        ),
        ({"columns": [as_json(kind="colour")]}, "the kind of column 1 of the schema is 'colour'"),
        ({"columns": [as_json(levels=[1])]}, "the levels of column 1 of the schema are [1]"),
        ({"columns": [as_json(missing="?")]}, "the missing values of column 1 of the schema are '?'"),
        ({"columns": [as_json(day_first=1)]}, "the day_first of column 1 of the schema is 1: expected true or false"),
        ({"columns": [as_json()] * 2}, "the schema names a column twice"),
        ({"columns": [as_json(name="price")]}, "the schema names a column twice, or its"),
        ({"missing": [1]}, "the schema's missing values are [1]: expected a list of texts"),
        ({"more": 1}, "the schema has the fields"),
    ],
)
def test_an_altered_schema_is_refused(change, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Schema.from_dict({**SCHEMA.to_dict(), **change})
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("kind", "classes"), [("integer", [True, False]), ("text", ["a", "a"]), ("boolean", [0, 1])])
def test_classes_are_of_their_kind(kind, classes):
    with pytest.raises(ValueError, match="the schema's classes are"):
        Schema.from_dict({**SCHEMA.to_dict(), "task": "classification", "label_kind": kind, "classes": classes})


def test_a_schema_is_an_object():
    with pytest.raises(ValueError, match="the schema is list: expected an object"):
        Schema.from_dict([])
