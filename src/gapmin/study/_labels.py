"""What is predicted: classes or numbers, and the labels of each file as one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gapmin._utils.options import option
from gapmin._utils.text import counted, listed, quoted

from ._limits import LONGEST_LABEL
from ._messages import TableError, at_row
from ._values import LARGEST, MOSTLY, as_numbers, as_texts, as_truths, kind_of_dtype, profile

if TYPE_CHECKING:
    import pandas as pd

FEWEST_TARGET_ROWS = 10
_MOST_CODES, _ROWS_PER_CODE = 10, 3


@dataclass(frozen=True)
class LabelPlan:
    """How labels are read in every file, as the target's decide.

    Attributes
    ----------
    task : "classification" or "regression"
    kind : "text", "integer", "number" or "boolean"
    classes : tuple or None
    note : str
        Which task, and why.
    """

    task: str
    kind: str
    classes: tuple[Any, ...] | None
    note: str


def plan_labels(labels: pd.Series, file: str, task: str | None, n_unlabelled: int = 0) -> LabelPlan:
    """Decide the task from the target's labels, none of which is missing; for messages, how many others are."""
    if len(labels) < FEWEST_TARGET_ROWS:
        raise TableError(
            f"{file} has {counted(len(labels), 'row')} with a label in column {quoted(labels.name)}: "
            f"give at least {FEWEST_TARGET_ROWS} labelled rows"
        )
    kind, why = _kind(labels, file, task)
    name = quoted(labels.name)
    if task is None:
        task, why = _infer_task(labels, kind, why)
        note = f"the task is {task}, because {why} ({option('task')} overrides)"
    else:
        note = f"the task is {task}, as asked"
    if task == "regression":
        numbers = _regression_labels(labels, file)
        if np.ptp(numbers) == 0:
            raise TableError(
                f"{file} has the same label {numbers[0]:g} in all {len(labels):,} rows of column {name}: "
                f"there is nothing to predict; name another column with {option('label')}"
            )
        return LabelPlan(task, "number" if kind == "number" else "integer", None, note)
    if kind == "number":
        raise TableError(
            f"{file} has fractional labels such as {_fraction(labels)} in column {name}: use "
            f"{option('task', 'regression')}, or put the labels in classes first"
        )
    classes = tuple(np.unique(to_classes(labels, kind)).tolist())
    if len(classes) < 2:
        raise TableError(
            f"{file} has one class ({quoted(classes[0])}) in all {len(labels):,} rows of column {name}"
            f"{_others(n_unlabelled)}: "
            f"add rows of another class, or name another column with {option('label')}"
        )
    if len(classes) > max(_MOST_CODES, len(labels) / 2):
        raise TableError(
            f"{file} has {len(classes):,} classes in {len(labels):,} rows of column {name}, such as "
            f"{listed(classes, 2)}: name a column with fewer classes, or use "
            f"{option('task', 'regression')} if they are numbers"
        )
    return LabelPlan(task, kind, classes, note)


def _others(n_unlabelled: int) -> str:
    if not n_unlabelled:
        return ""
    return f" that have a label ({counted(n_unlabelled, 'other has', 'others have')} none: empty, None, NA or null)"


def to_classes(labels: pd.Series, kind: str) -> NDArray[Any]:
    """Return labels as classes of a kind; those that cannot be are None, which is no class of any target."""
    if kind == "text":
        texts = as_texts(labels)
        longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        return texts.astype(str if longest <= LONGEST_LABEL else f"U{LONGEST_LABEL + 1}")  # a class of no target
    numbers = as_truths(labels) if kind == "boolean" else as_numbers(labels)
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < 2**63)
    if whole.all():
        if kind == "integer" and kind_of_dtype(labels.dtype) == "number" and labels.dtype.kind in "iu":
            return labels.to_numpy()
        return numbers.astype(bool if kind == "boolean" else np.int64)
    out = np.empty(len(numbers), dtype=object)
    out[whole] = [bool(each) if kind == "boolean" else int(each) for each in numbers[whole]]
    return out


def source_labels(
    labels: pd.Series, plan: LabelPlan, file: str, notes: list[str]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels of a source, and which of its rows the target has a class for; note the others."""
    if plan.classes is None:
        return _regression_labels(labels, file), np.ones(len(labels), dtype=bool)
    classes = to_classes(labels, plan.kind)
    known = (
        np.isin(classes, plan.classes) if classes.dtype != object else np.array([c in plan.classes for c in classes])
    )
    if known.all():
        return classes.astype(_dtype(plan)), known
    alien = as_texts(labels)[~known]
    names = list(dict.fromkeys(alien))
    if not known.any():
        raise TableError(
            f"{file} has no row of a class of the target: it has {listed(names, 3)} in column {quoted(labels.name)}, "
            f"the target {listed(plan.classes, 3)}; write the classes alike, or leave the file out"
        )
    which = "a class that the target does not have" if len(names) == 1 else "classes that the target does not have"
    dropped = counted(len(alien), "row")
    notes.append(f"{file}: dropped {dropped} of {which} ({listed(names)}), for the target cannot test them")
    return classes[known].astype(_dtype(plan)), known


def target_labels(labels: pd.Series, plan: LabelPlan, file: str, notes: list[str]) -> NDArray[Any]:
    """Return the target's labels; note classes with a single row."""
    if plan.classes is None:
        return _regression_labels(labels, file)
    classes = to_classes(labels, plan.kind).astype(_dtype(plan))
    values, counts = np.unique(classes, return_counts=True)
    single = values[counts == 1]
    if len(single):
        which = "class" if len(single) == 1 else "classes"
        notes.append(f"{file} has a single row of {which} {listed(single)}: it cannot be both trained on and tested")
    return classes


def _dtype(plan: LabelPlan) -> Any:
    if plan.kind == "text":
        return np.array(plan.classes).dtype
    return np.bool_ if plan.kind == "boolean" else np.int64


def _kind(labels: pd.Series, file: str, task: str | None) -> tuple[str, str]:
    seen = profile(labels)
    if seen.read_as == "date":
        raise TableError(f"{file} has dates in the label {quoted(labels.name)}: turn them into numbers first")
    if seen.share("boolean") == 1:
        return "boolean", "the labels are true and false"
    numbers = seen.share("number")
    if numbers < 1:
        if numbers >= MOSTLY and task != "classification":
            _regression_labels(labels, file)  # says which value is no number
        texts = as_texts(labels)
        row = max(range(len(texts)), key=lambda place: len(texts[place]))
        if len(texts[row]) > LONGEST_LABEL:
            raise TableError(
                f"{file} has a label of {len(texts[row]):,} characters at {at_row(labels.index[row])} in column "
                f"{quoted(labels.name)}, more than {LONGEST_LABEL:,}: name a column of classes with {option('label')}"
            )
        return "text", f"the labels are texts such as {quoted(texts[0])}"
    values = as_numbers(labels)
    if np.isinf(values).any() or (values != np.floor(values)).any():
        return "number", f"the labels have fractions, such as {_fraction(labels)}"
    return "integer", ""


def _infer_task(labels: pd.Series, kind: str, why: str) -> tuple[str, str]:
    if kind in ("text", "boolean"):
        return "classification", why
    if kind == "number":
        return "regression", why
    n_distinct = np.unique(as_numbers(labels)).size
    why = f"the labels are integers with {counted(n_distinct, 'distinct value')} in {len(labels):,} rows"
    # Codes of classes are few, and each has some rows to its name: with the ten rows that we ask for, two always are.
    few = n_distinct <= _MOST_CODES and n_distinct * _ROWS_PER_CODE <= len(labels)
    return ("classification" if few else "regression"), why


def _regression_labels(labels: pd.Series, file: str) -> NDArray[np.float64]:
    numbers = as_numbers(labels)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{file} has the label {quoted(labels.iloc[row])} at {at_row(labels.index[row])} in column "
            f"{quoted(labels.name)}, which is no number: mend it, leave it empty, or use "
            f"{option('task', 'classification')}"
        )
    if (np.abs(numbers) > LARGEST).any():
        row = int(np.argmax(np.abs(numbers) > LARGEST))
        raise TableError(
            f"{file} has the label {numbers[row]:g} at {at_row(labels.index[row])} in column {quoted(labels.name)}, "
            f"beyond {LARGEST:g}: leave it empty if it means that there is none, or divide the column"
        )
    return numbers


def _fraction(labels: pd.Series) -> str:
    values = as_numbers(labels)
    return f"{values[np.argmax(values != np.floor(values))]:g}"


def subsample(
    y: NDArray[Any], n_rows: int, classes: Sequence[Any] | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return `n_rows` random rows in their order; of classes, each in its share and at least once."""
    if classes is None:
        return np.sort(rng.choice(len(y), n_rows, replace=False))
    order = rng.permutation(len(y))
    _, codes, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    # The rank of a row within its class, as a share of it: taking the smallest takes the same share of each class.
    within = np.empty(len(y))
    for code, n in enumerate(counts):
        within[codes == code] = (np.arange(n) + 0.5) / n
    first = np.unique(codes, return_index=True)[1][:n_rows]
    within[first] = -1
    return np.sort(order[np.argsort(within, kind="stable")[:n_rows]])
