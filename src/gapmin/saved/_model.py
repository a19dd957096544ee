"""Save a fitted model, and load it again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gapmin._utils.text import one_line
from gapmin.saved._archive import ContentError, ModelFileError, check_place, read_file, write_file
from gapmin.saved._content import build_object, open_archive, pack_object
from gapmin.saved._facts import MODEL_FORMAT, import_skops


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds.

    Attributes
    ----------
    model : estimator
        Fitted, as it was saved.
    schema : dict or None
        What the columns and labels must be, as given to `save_model`.
    about : dict
        Whatever else was given to `save_model`.
    versions : dict of str to str
        Of gapmin, Python, numpy, scipy, scikit-learn and skops when the file was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from gapmin import AdaBoostClassifier
    >>> from gapmin.saved import load_model, save_model
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_model(AdaBoostClassifier(n_estimators=2).fit(X, X[:, 0] > 9), Path(folder) / "model.skops")
    ...     saved = load_model(Path(folder) / "model.skops")
    >>> saved.model.predict([[3.0], [15.0]])
    array([False,  True])
    """

    model: Any
    schema: dict[str, Any] | None
    about: dict[str, Any]
    versions: dict[str, str]


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    schema: dict[str, Any] | None = None,
    about: dict[str, Any] | None = None,
) -> Path:
    """Write a fitted model to a file, whole or not at all.

    The file holds no code and no training rows that the model does not need. What `load_model` would refuse is refused
    here, before anything is written. Equal models make equal files.

    Parameters
    ----------
    model : estimator
        A fitted estimator of gapmin or scikit-learn, or a pipeline of them, made of the types in `TRUSTED`.
    path : path
        An existing file there is replaced once the new one is complete.
    schema : dict, optional
        What the columns and labels must be; plain JSON values.
    about : dict, optional
        Anything to be remembered with the model; plain JSON values.

    Returns
    -------
    Path
        Where the file is.

    Examples
    --------
    >>> import tempfile
    >>> from gapmin.linear import WeightedLogisticRegression
    >>> model = WeightedLogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, f"{folder}/model.skops", schema={"columns": ["size"]})
    ...     saved = load_model(path)
    >>> saved.model.predict([[0.5], [2.5]])
    array(['no', 'yes'], dtype=...)
    >>> saved.schema
    {'columns': ['size']}
    """
    place = Path(path)
    check_place(place)
    import_skops()
    try:
        _check_model(model)
        facts = {"about": _plain(about or {}, "about"), "format": MODEL_FORMAT, "schema": _plain(schema, "schema")}
        content = pack_object(model, facts)
        _restore(content)
    except ContentError as refusal:
        remedy = refusal.remedy or "keep such a model with joblib, and load it only where you trust it"
        raise ModelFileError(f"{place} is not written, for {refusal.fault}: {remedy}") from refusal
    write_file(content, place)
    return place


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model from a file, after checking all of it.

    The checksums guard against accidents, not against somebody who makes them anew. Against that person stands the list
    of types, `TRUSTED`: before anything is built, every type in the file is looked up in it, and every index that
    compiled code would follow is checked.

    Parameters
    ----------
    path : path
        The file of a saved model.

    Returns
    -------
    SavedModel
        The model and what is known about it.

    Raises
    ------
    ModelFileError
        Where the file is not there, is not ours, was altered, was made by a version that does not go with this one, or
        holds a type that is not in `TRUSTED`.

    Examples
    --------
    >>> load_model("no-such.skops")
    Traceback (most recent call last):
        ...
    gapmin.saved._archive.ModelFileError: no-such.skops does not exist: check its name, or fit and save a model first
    """
    place = Path(path)
    import_skops()
    content = read_file(place)
    try:
        return _restore(content)
    except ContentError as refusal:
        remedy = refusal.remedy or "do not use this file, or fit the model again"
        raise ModelFileError(f"{place} is not loaded, for {refusal.fault}: {remedy}") from refusal


def _check_model(model: Any) -> None:
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ContentError(f"{type(model).__name__} is not fitted", "fit it first") from None
    except TypeError:
        raise ContentError(f"{one_line(type(model).__name__)} is no estimator", "give a fitted estimator") from None


def _plain(value: Any, name: str) -> Any:
    """Refuse what would not come back from JSON as it was."""
    if value is not None and not isinstance(value, dict):
        raise ContentError(f"{name} is {type(value).__name__}", "give a dictionary")
    try:
        same = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        remedy = "use text, finite numbers, True, None, lists, dictionaries with text as keys"
        raise ContentError(f"{name} has values that JSON does not keep", remedy)
    return value


def _restore(content: bytes) -> SavedModel:
    archive, facts = open_archive(content, MODEL_FORMAT, {"about": dict, "schema": dict | None})
    return SavedModel(build_object(archive, facts), facts["schema"], facts["about"], facts["versions"])
