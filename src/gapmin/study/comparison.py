"""Compare tables from Python: `gapmin.compare`, and the answer that shows itself in a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapmin.transfer import Evidence

from .compare import compare_study
from .inputs import FilePath, TableInput, is_path
from .model import StudyModel, fit_study, study_files
from .page_tables import evidence_table
from .result import StudyComparison
from .splits import check_division, read_division
from .study import Study, StudyFiles

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableComparison", "compare"]


@dataclass(frozen=True, eq=False, repr=False)
class TableComparison:
    """What `gapmin.compare` found.

    Attributes
    ----------
    result : StudyComparison
        Everything: the headline, the evidence, errors, notes.
    study : Study
        The tables as they were compared.
    files : StudyFiles
        What was given.
    scoring : str or None
        What was reported, and what settings were chosen by.
    group, time : str or None
        Columns that say how rows may be divided.
    random_state : int
        Seed.
    n_jobs : int or None
        Processes or threads. The result does not depend on it.
    options : dict
        `quick`, `time_limit` and `n_splits`.
    """

    result: StudyComparison
    study: Study
    files: StudyFiles
    scoring: str | None = None
    group: str | None = None
    time: str | None = None
    random_state: int = 0
    n_jobs: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def evidence(self) -> Evidence:
        """What the target's rows say about each source."""
        return self.result.evidence

    @property
    def headline(self) -> str:
        """What to do, in a sentence or two."""
        return self.result.headline

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided, dropped and changed when the tables were read."""
        return self.result.notes

    def fit(self) -> StudyModel:
        """Return the model that was judged, fitted to all rows: ``model.predict(frame)``, ``model.save(path)``."""
        files = replace(self.files, max_source_rows=None)
        return fit_study(
            files,
            scoring=self.scoring,
            group=self.group,
            time=self.time,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def report(self, path: FilePath) -> Path:
        """Write the report, an HTML page, and return where it is.

        Parameters
        ----------
        path : path
            The file to write.

        Returns
        -------
        pathlib.Path
            Where the page is.
        """
        from gapmin.reporting.html import write_html

        from .page import study_report

        given = self.files.sources
        every = [self.files.target, *(given.values() if isinstance(given, Mapping) else given)]
        # The page shows the Python that does the same, which it cannot of frames.
        plain = replace(self.files, drop=[name for name in self.files.drop if name != self.group])
        shown = None if isinstance(given, Mapping) or not all(map(is_path, every)) else plain
        made_with = study_files(self.study, self.files.tables())
        options = {"scoring": self.scoring, "group": self.group, "time": self.time, **self.options}
        return write_html(study_report(self.result, shown, made_with, options=options), path)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with a row for each source: verdict, rows, evidence, weight."""
        return self.evidence.to_frame()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"

    def _repr_html_(self) -> str:
        summary, table = self.result.summary, evidence_table(self.evidence)
        header = "".join(f"<th>{html.escape(name or 'source')}</th>" for name in table.header)
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(str(each))}</td>' for each in row)}</tr>" for row in table.rows
        )
        return (
            f"<p><strong>{html.escape(summary.decision)}</strong> {html.escape(summary.effect)}</p>"
            f"<table><caption>{html.escape(table.caption)}.</caption><tr>{header}</tr>{rows}</table>"
            f"{_list([*table.notes, *self.result.warnings])}<p>Next:</p>{_list(summary.next_steps)}"
            f"<details><summary>How the tables were read</summary>{_list(self.notes)}</details>"
        )


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(each)}</li>' for each in items)}</ul>" if items else ""


def compare(
    target: TableInput,
    sources: Mapping[str, TableInput] | Sequence[TableInput],
    label: str,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    na: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: bool = True,
    max_source_rows: int | None = None,
    scoring: str | None = None,
    group: str | None = None,
    time: str | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    quick: bool = False,
    time_limit: float | None = None,
    n_splits: int = 5,
) -> TableComparison:
    """Find out which other tables help to predict a column of the target, by how much, and which hurt.

    The same as ``gapmin compare`` on the command line: columns are matched by name, and texts, categories, missing
    values and dates are prepared in the same way. The tables given are not changed.

    Parameters
    ----------
    target : path or frame
        Rows like those that a model is wanted for: a CSV, TSV or Parquet file, a pandas frame or a polars frame.
    sources : dict of name to path or frame, or sequence of path or frame
        The other tables.
    label : str
        The column to predict, which every table has.
    task : "classification", "regression" or None, default=None
        None looks at the target's labels.
    drop : sequence of str
        Columns to leave out.
    na : sequence of str
        What stands for a missing value: "k.A." in every column, "size=0" in the column size alone.
    keep : sequence of str
        Columns to use although they look like ids, count the rows or name the table.
    text : bool, default=True
        Use the words of free text; False leaves such columns out.
    max_source_rows : int, optional
        At most so many rows of each source are compared, drawn at random.
    scoring : str or None, default=None
        What is reported, and by what settings within a kind of learner are chosen, as `Transfer*CV` does: "roc_auc",
        "mean_absolute_error" and so on. None takes the error rate or the root mean squared error.
    group : str, optional
        A column, such as a patient: rows with one value are never divided between training and testing. No predictor.
    time : str, optional
        A column of the target with dates or numbers: later rows are tested than those that train.
    n_jobs : int or None, default=None
        Processes. The answer does not depend on it.
    random_state : int, default=0
        Seed.
    quick : bool, default=False
        The same verdicts without nested cross-validation, learning curve and importance of columns.
    time_limit : float or None, default=None
        Seconds. Where the nested cross-validation would take longer, the comparison is a quick one, and says so.
    n_splits : int, default=5
        Folds of the target's rows in the nested cross-validation.

    Returns
    -------
    TableComparison
        With `evidence`, `headline`, `fit()`, `report(path)` and `to_frame()`.

    Raises
    ------
    TableError
        In one line, which table cannot be used, why, and what to do.

    Examples
    --------
    >>> import gapmin
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> def flats(n):
    ...     rooms, town = rng.normal(3, 1, size=n), rng.choice(["Bonn", "Ulm"], size=n)
    ...     return pd.DataFrame({"rooms": rooms, "town": town, "rent": 300 * rooms + 200 * (town == "Bonn")})
    >>> found = gapmin.compare(flats(15), {"older": flats(40)}, label="rent", n_splits=2)
    >>> found.evidence.sources[0].name, len(found.to_frame())
    ('older', 1)
    """
    left_out = [*drop, *([group] if group else [])]
    files = StudyFiles(target, sources, label, task, left_out, max_source_rows, na, keep, text)
    check_division(files.tables()[0], label, group, time)
    study = files.read(random_state)
    division = read_division(study, files.inputs(), group, time)
    options: dict[str, Any] = {"quick": quick, "time_limit": time_limit, "n_splits": n_splits}
    result = compare_study(
        study, scoring=scoring, division=division, n_jobs=n_jobs, random_state=random_state, **options
    )
    return TableComparison(result, study, files, scoring, group, time, random_state, n_jobs, options)
