"""Which source rows a fitted model ended up using: weights by source, by class, by column, and the extreme rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from gapmin._utils.extras import how_to_install
from gapmin._utils.json_values import to_json
from gapmin._utils.text import format_number
from gapmin._utils.typing import Array
from gapmin.domains import check_domains

from .importance import ColumnImportance, column_importance

__all__ = ["Explanation", "RowUse", "Vote", "WeightGroup", "explain"]

N_QUARTERS = 4
MISSING = "missing"
_MOST_SHOWN = 10


@dataclass(frozen=True)
class WeightGroup:
    """The weight of some rows; shares are of all rows, and `ratio` is 1 where rows weigh as if all were equal."""

    name: str
    n_rows: int
    share_of_rows: float
    share_of_weight: float
    ratio: float


@dataclass(frozen=True)
class RowUse:
    """One row of a source, by its place there, from 0; `ratio` is its weight by that of one row among N equal ones."""

    source: str
    row: int
    label: Any
    ratio: float


@dataclass(frozen=True)
class Vote:
    """What one hypothesis says of a row: its sources' names, its weight, and a value or the probability by class."""

    sources: tuple[str, ...]
    weight: float
    predicted: float | dict[Any, float]

    def __str__(self) -> str:
        if isinstance(self.predicted, dict):
            said = ", ".join(f"{label} {100 * value:.1f}%" for label, value in self.predicted.items())
        else:
            said = format_number(self.predicted)
        return f"{' and '.join(self.sources) or 'target alone'}, weight {self.weight:.2f}: {said}"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Which rows a model learnt from.

    Attributes
    ----------
    ratio : ndarray of shape (n_rows,)
        The weight of each row, in the order given, by that of one row among N equal ones.
    sources : tuple of WeightGroup
        The target, then each source.
    classes : tuple of WeightGroup
        The sources' rows by class, or by quarter of the label in a regression.
    columns : dict of str to tuple of WeightGroup
        The sources' rows by value of each column of `by`.
    used, dropped : tuple of RowUse
        The sources' rows with the most and with the least weight, the extreme ones first.
    importance : tuple of ColumnImportance
        How much held-out predictions of the target need each column, where that was asked for.
    votes : tuple of Vote
        What each hypothesis says of the row asked about, the heaviest first.
    """

    ratio: Array
    sources: tuple[WeightGroup, ...]
    classes: tuple[WeightGroup, ...]
    columns: dict[str, tuple[WeightGroup, ...]]
    used: tuple[RowUse, ...]
    dropped: tuple[RowUse, ...]
    importance: tuple[ColumnImportance, ...] = ()
    votes: tuple[Vote, ...] = ()

    def _parts(self) -> dict[str, list[dict[str, Any]]]:
        columns = [{"column": name, **vars(group)} for name, each in self.columns.items() for group in each]
        parts = ("sources", "classes", "used", "dropped")
        plain = {part: [dict(vars(each)) for each in getattr(self, part)] for part in parts}
        return {"sources": plain.pop("sources"), "classes": plain.pop("classes"), "columns": columns, **plain}

    def to_frame(self, part: str = "sources") -> Any:
        """Return a part as a pandas DataFrame: "sources", "classes", "columns", "used", "dropped" or "importance".

        Parameters
        ----------
        part : str
            Which table: see the first line.
        """
        parts = self._parts() | {"importance": [dict(vars(each)) for each in self.importance]}
        if part not in parts:
            raise ValueError(f"part is {part!r}: use one of {', '.join(map(repr, parts))}")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(f"to_frame makes a table of pandas: {how_to_install('cli')}") from error
        kinds: dict[str, Any] = {"used": RowUse, "dropped": RowUse, "importance": ColumnImportance}
        kind = kinds.get(part, WeightGroup)
        columns = [*(["column"] if part == "columns" else []), *kind.__dataclass_fields__]
        return pd.DataFrame(parts[part], columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the weights by domain, class, column and extreme row as what JSON knows."""
        return to_json(self._parts())

    def __str__(self) -> str:
        lines = [*_table("training by domain", self.sources)]
        for name, groups in {**({"label": self.classes} if self.classes else {}), **self.columns}.items():
            lines += ["", *_table(f"sources by {name}", groups)]
        for title, rows in (("most used", self.used), ("most dropped", self.dropped)):
            if rows:
                lines += ["", f"{title}:"]
                lines += [f"  {each.source}, row {each.row}, label {each.label}: {each.ratio:.3g}" for each in rows]
        if self.importance:
            lines += ["", "held-out loss rises, where a column is shuffled, by:"]
            lines += [
                f"  {each.name}: {each.increase:.3g} ({each.low:.3g} to {each.high:.3g})" for each in self.importance
            ]
        for vote in self.votes:
            lines += ["", str(vote)]
        return "\n".join([*lines, "", "The ratio of a row is 1 where all count alike, and 0 where it is dropped."])


def explain(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_domain: ArrayLike,
    source_names: Mapping[int, str] | Sequence[str] | None = None,
    by: str | Sequence[Any] | Mapping[Any, ArrayLike] | None = None,
    n_rows: int = 10,
    importance: bool = False,
    row: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Explanation:
    """Say which rows of the sources a fitted model ended up using, and, where asked, why it predicts what it does.

    Parameters
    ----------
    model : a fitted estimator with `sample_weight_`, or a Pipeline that ends in one
        A booster, weighted pooling, instance or gap weighting, `TransferClassifierCV`, `TransferRegressorCV`.
    X, y, sample_domain
        The rows that it was fitted to, in the same order.
    source_names : mapping of int to str, or sequence of str, optional
        What the sources are called, by their number or in the order of their numbers.
    by : column of X, list of columns, or mapping of name to array, optional
        Group the sources' rows by these: categories as they are, numbers in quarters.
    n_rows : int, default=10
        How many of the most used and of the most dropped rows to list.
    importance : bool, default=False
        Whether to measure how much held-out predictions of the target need each column; the models of a `Transfer*CV`
        are fitted anew for that.
    row : array-like of shape (n_features,), optional
        One row to predict: what each hypothesis of a `Transfer*CV` says of it.
    groups : array-like of shape (n_rows,), optional
        As in the fit; `importance` keeps them together.

    Returns
    -------
    Explanation
        Weights by domain, by class and by row.

    Examples
    --------
    >>> import numpy as np
    >>> from gapmin import GapBoostClassifier
    >>> from gapmin.transfer import explain
    >>> rng = np.random.default_rng(0)
    >>> X, sample_domain = rng.normal(size=(400, 3)), np.repeat([-1, 1, 2], [100, 150, 150])
    >>> y = (X[:, 0] > 0) != (sample_domain == 2)  # the second source is wrong
    >>> clf = GapBoostClassifier(rho_source=-2).fit(X, y, sample_domain=sample_domain)
    >>> explanation = explain(clf, X, y, sample_domain=sample_domain, source_names=["good", "bad"])
    >>> {group.name: round(group.ratio, 1) for group in explanation.sources}
    {'target': 3.8, 'good': 0.1, 'bad': 0.0}
    """
    if isinstance(model, Pipeline):
        model = model.steps[-1][1]
    check_is_fitted(model)
    if getattr(model, "sample_weight_", None) is None:
        raise ValueError(
            f"{type(model).__name__} has no sample_weight_: give a booster, a weighted pooling, "
            "an instance or gap weighting, or a TransferClassifierCV or TransferRegressorCV"
        )
    if not (isinstance(n_rows, Integral) and int(n_rows) >= 0):
        raise ValueError(f"n_rows is {n_rows!r}: give a number of rows, 0 or more")
    weight = np.asarray(model.sample_weight_, dtype=np.float64)
    labels = np.asarray(y)
    for what, size in (("X", _num_samples(X)), ("y", labels.shape[0])):
        if size != weight.size:
            fitted = f"the model was fitted to {weight.size}: give those rows, in the same order"
            raise ValueError(f"{what} has {size} rows, and {fitted}")
    domain = check_domains(sample_domain, weight.size)
    numbers = [int(number) for number in np.unique(domain[domain > 0])]
    names = _names(source_names, numbers)
    ratio = weight * (weight.size / weight.sum())
    in_source = domain > 0
    domains = [("target", domain < 0), *((names[number], domain == number) for number in numbers)]
    used, dropped = (_extremes(key, ratio, domain, labels, names, int(n_rows)) for key in (-ratio, ratio))
    return Explanation(
        ratio=ratio,
        sources=tuple(_group(name, rows, ratio) for name, rows in domains),
        classes=_grouped(labels, in_source, ratio, in_quarters=not is_classifier(model)),
        columns={name: _grouped(values, in_source, ratio) for name, values in _columns(X, by, weight.size).items()},
        used=used,
        dropped=dropped,
        importance=column_importance(model, X, y, sample_domain=sample_domain, groups=groups) if importance else (),
        votes=() if row is None else _votes(model, row, names),
    )


def _votes(model: Any, row: ArrayLike, names: Mapping[int, str]) -> tuple[Vote, ...]:
    """Return what each hypothesis says of one row."""
    if not hasattr(model, "predict_by_hypothesis"):
        raise ValueError(f"{type(model).__name__} has no hypotheses: row= is for TransferClassifierCV and its like")
    if hasattr(row, "to_frame") and hasattr(row, "index"):
        row = row.to_frame().T  # a row of a pandas frame, with the names of its columns
    asked = row if hasattr(row, "columns") else np.asarray(row)[None]
    found = []
    for members, predicted in model.predict_by_hypothesis(asked).items():
        if len(predicted) != 1:
            raise ValueError(f"row has {len(predicted)} rows: give one")
        probabilities = (
            dict(zip(model.classes_.tolist(), predicted[0].tolist(), strict=True)) if is_classifier(model) else None
        )
        weight = float(model.best_estimator_.weights[members])
        found.append(
            Vote(
                tuple(names[k] for k in members),
                weight,
                float(predicted[0]) if probabilities is None else probabilities,
            )
        )
    return tuple(sorted(found, key=lambda vote: -vote.weight))


def _names(given: Mapping[int, str] | Sequence[str] | None, numbers: list[int]) -> dict[int, str]:
    if given is None:
        return {number: f"source {number}" for number in numbers}
    if isinstance(given, Mapping):
        missing = [number for number in numbers if number not in given]
        if missing:
            raise ValueError(f"source_names has no name for source {missing[0]}: give one for each of {numbers}")
        return {number: str(given[number]) for number in numbers}
    if isinstance(given, str) or len(given) != len(numbers):
        raise ValueError(f"source_names is {given!r}, and the sources are {numbers}: give a name for each")
    return dict(zip(numbers, map(str, given), strict=True))


def _columns(X: Any, by: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    if by is None:
        return {}
    if isinstance(by, Mapping):
        found = {str(name): np.asarray(values) for name, values in by.items()}
    else:
        wanted = [by] if isinstance(by, str) or not isinstance(by, Sequence) else list(by)
        if not hasattr(X, "columns"):
            raise ValueError(f"by={by!r} names columns and X is no data frame: give a mapping of name to array")
        there = list(X.columns)
        for name in wanted:
            if name not in there:
                raise ValueError(f"X has no column {name!r}: choose from {', '.join(map(str, there[:20]))}")
        found = {str(name): np.asarray(X[name]) for name in wanted}
    for name, values in found.items():
        if values.shape != (n_rows,):
            raise ValueError(f"by[{name!r}] has shape {values.shape} for {n_rows} rows: give one value for each row")
    return found


def _group(name: str, rows: NDArray[np.bool_], ratio: Array) -> WeightGroup:
    count, weight = int(rows.sum()), float(ratio[rows].sum())
    return WeightGroup(name, count, count / ratio.size, weight / ratio.size, weight / count if count else float("nan"))


def _grouped(
    values: NDArray[Any], in_source: NDArray[np.bool_], ratio: Array, in_quarters: bool | None = None
) -> tuple[WeightGroup, ...]:
    """Return the weight of the sources' rows by value; `in_quarters` None goes by the kind of the values."""
    missing = _missing(values)
    known = in_source & ~missing
    groups: list[tuple[str, NDArray[np.bool_]]] = []
    if known.any():
        distinct = np.unique(values[known].astype(str) if values.dtype.kind == "O" else values[known])
        if in_quarters is None:
            in_quarters = values.dtype.kind in "iuf" and distinct.size > N_QUARTERS
        if in_quarters:
            groups = _quarters(values, known)
        else:
            texts = values.astype(str) if values.dtype.kind == "O" else values
            groups = [(str(each), known & (texts == each)) for each in distinct]
    if (in_source & missing).any():
        groups.append((MISSING, in_source & missing))
    return tuple(_group(name, rows, ratio) for name, rows in groups)


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind in "fcmM":
        return np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    # pandas' NA is neither equal to itself nor unequal.
    return np.array([each is None or str(each) in ("nan", "<NA>", "NaT") for each in values], dtype=bool)


def _quarters(values: NDArray[Any], known: NDArray[np.bool_]) -> list[tuple[str, NDArray[np.bool_]]]:
    numbers = np.full(values.shape, np.nan)
    numbers[known] = values[known].astype(np.float64)
    inner = np.unique(np.quantile(numbers[known], [0.25, 0.5, 0.75]))
    place = np.searchsorted(inner, numbers, side="left")
    groups = []
    for quarter in np.unique(place[known]):
        rows = known & (place == quarter)
        low, high = numbers[rows].min(), numbers[rows].max()
        groups.append((f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}", rows))
    return groups


def _extremes(
    key: Array, ratio: Array, domain: NDArray[np.int64], labels: NDArray[Any], names: Mapping[int, str], n_rows: int
) -> tuple[RowUse, ...]:
    """Return the sources' rows with the smallest keys; equal ones by source and place, however sources are mixed."""
    rows = np.flatnonzero(domain > 0)
    place = np.zeros(ratio.size, dtype=np.intp)
    for number in names:
        place[domain == number] = np.arange((domain == number).sum())
    order = rows[np.lexsort((place[rows], domain[rows], key[rows]))][:n_rows]
    return tuple(
        RowUse(names[int(domain[k])], int(place[k]), labels[k : k + 1].tolist()[0], float(ratio[k])) for k in order
    )


def _table(title: str, groups: Sequence[WeightGroup]) -> list[str]:
    shown = groups if len(groups) <= _MOST_SHOWN else sorted(groups, key=lambda each: -each.n_rows)[:_MOST_SHOWN]
    width = max(len(title), *(len(each.name) for each in shown))
    lines = [f"{title:<{width}}      rows  of rows  of training  ratio"]
    for each in shown:
        shares = f"{100 * each.share_of_rows:>6.1f}%  {100 * each.share_of_weight:>10.1f}%  {each.ratio:>5.2f}"
        lines.append(f"{each.name:<{width}}  {each.n_rows:>8,}  {shares}")
    if len(groups) > len(shown):
        lines.append(f"({len(groups) - len(shown)} more with fewer rows)")
    return lines
