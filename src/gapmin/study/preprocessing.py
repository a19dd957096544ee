"""From a study's columns to the numbers that a model takes."""

from __future__ import annotations

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ._kinds import MOST_LEVELS
from .features import DateFeatures, TextFeatures
from .schema import Schema

__all__ = ["preprocessor"]


def preprocessor(schema: Schema) -> ColumnTransformer:
    """Return the preprocessing for a schema, not yet fitted; its output is dense float64.

    Numbers: the median where one is missing and a column that says so, then mean 0 and variance 1. Booleans: 0 and 1,
    the more frequent where one is missing. Categories: a column for each of the 29 most common texts and one for the
    rest, or one for each of up to 30. A missing value is a text of its own. A text not seen in training counts as one
    of the rest, or as none where there is no rest. Dates: year, month, weekday, hour, elapsed days and whether the date
    is missing, as far as they vary, scaled like numbers. Free text: the TF-IDF of its 100 most common words.

    Parameters
    ----------
    schema : Schema
        The columns and their kinds.

    Returns
    -------
    ColumnTransformer
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from gapmin.study import Column, Schema
    >>> schema = Schema("y", "regression", "number", None, (Column("size", "number"), Column("colour", "category")))
    >>> steps = preprocessor(schema)
    >>> X = pd.DataFrame({"size": [1.0, 3.0], "colour": pd.Series(["red", "blue"], dtype=object)})
    >>> steps.fit_transform(X)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    >>> steps.get_feature_names_out().tolist()
    ['size', 'colour_blue', 'colour_red']
    """
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
    )
    booleans = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS, sparse_output=False)
    dates = make_pipeline(DateFeatures(), SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    steps = {"number": numbers, "boolean": booleans, "category": categories, "date": dates}
    parts = [(kind, step, schema.of_kind(kind)) for kind, step in steps.items() if schema.of_kind(kind)]
    parts += [(f"text {place}", TextFeatures(), [name]) for place, name in enumerate(schema.of_kind("text"), start=1)]
    return ColumnTransformer(parts, sparse_threshold=0, verbose_feature_names_out=False)
