"""The report of a comparison of somebody's own files: the answer in a box, then what speaks for it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from gapmin._utils.text import joined, replace_unprintable
from gapmin._version import __version__
from gapmin.reporting.html import Report, Section
from gapmin.reporting.table import Entry, Table

from ._metadata import StudyFile
from .answer import MAX_SEARCH_ROWS
from .metrics import ClassScores
from .nested import MOST_SHUFFLED
from .page_charts import (
    calibration_chart,
    curve_chart,
    drift_charts,
    evidence_chart,
    importance_chart,
    scatter_chart,
    score_chart,
)
from .page_tables import area_table, confusion_table, data_table, drift_table, evidence_table, score_table
from .result import NESTED, StudyComparison
from .study import StudyFiles
from .words import THRESHOLD, labels_sentence, odds_lines, weighed_undecided

GLOSSARY = (
    ("target, source", "The file a model is wanted for, and the others."),
    (
        "odds",
        "How much more probable the target's labels are with a source than without it, on rows that did not train.",
    ),
    ("nat", "The unit of evidence: 3 nats are odds of about 20 to 1."),
    ("weight", "How much the model relies on the learners that train on a source."),
    ("baseline", "Always the most frequent class; of probabilities, the shares of the classes; of numbers, the mean."),
    (
        "recall, precision",
        "The share of a class's rows that is found; the share of rows predicted to be of it that are.",
    ),
    ("ROC AUC", "How often a row of the class is ranked above one that is not; 0.5 is a guess."),
    ("95% interval", "Made so that, with other rows each time, 95 of 100 such intervals hold the true value."),
)


_DRAWN = f"The comparison has {MAX_SEARCH_ROWS:,} of the source rows, drawn at random; the model of gapmin fit has all."


def study_report(
    comparison: StudyComparison,
    files: StudyFiles | None = None,
    made_with: Sequence[StudyFile] = (),
    command: str = "",
    options: Mapping[str, Any] | None = None,
) -> Report:
    """Lay a comparison out as a page.

    Parameters
    ----------
    comparison : StudyComparison
    files : StudyFiles, optional
        With them the page shows the Python code that does the same.
    made_with : sequence of StudyFile
        The files with their checksums.
    command : str
        What was typed.
    options : dict, optional
        What `gapmin.compare` was given beside the files: scoring, group, time, quick, time_limit, n_splits.
    """
    summary = comparison.summary
    sections = [
        _evidence_section(comparison),
        _drift_section(comparison),
        _score_section(comparison),
        *([_importance_section(comparison)] if comparison.importance else []),
        *([_label_section(comparison)] if not comparison.simplified else []),
        _data_section(comparison),
        _provenance_section(comparison, made_with, _code(comparison, files, command, options)),
    ]
    return Report(
        f"Will other data help to predict “{comparison.label}”?",
        comparison.headline,
        sections,
        [
            ("Decision", [summary.decision]),
            ("How sure", _how_sure(comparison)),
            ("Effect", [summary.effect]),
            ("Next", list(summary.next_steps)),
            *([("Simplified", list(comparison.simplified))] if comparison.simplified else []),
        ],
        comparison.warnings,
        _question(comparison),
    )


def _question(comparison: StudyComparison) -> str:
    return (
        f"{_the_target(comparison)} has {comparison.n_target:,} rows whose {comparison.label} is known. Do the rows "
        f"of {joined(list(comparison.source_sizes))} help to predict it in new rows?"
    )


def _the_target(comparison: StudyComparison) -> str:
    return "The target" if comparison.target_name == "target" else f"The target, “{comparison.target_name}”,"


def _how_sure(comparison: StudyComparison) -> list[str]:
    """Return a line for each source, and what they mean."""
    return [*odds_lines(comparison.evidence), THRESHOLD]


def _evidence_section(comparison: StudyComparison) -> Section:
    text = (
        "Models with and without each source predict target rows that they did not train on. The odds say how much "
        "more probable the true labels are with the source. The model is the weighted mean of all of them; a source "
        "to leave out has next to no weight."
    )
    evidence = comparison.evidence
    return Section("Which sources help", [text], charts=[evidence_chart(evidence)], tables=[evidence_table(evidence)])


def _drift_section(comparison: StudyComparison) -> Section:
    text = (
        "The label and the three columns that differ most, file by file. Another unit, coding or mix of "
        "rows shows here. A difference alone is no reason to leave a source out."
    )
    return Section(
        "Why sources differ",
        [text],
        charts=drift_charts(comparison),
        tables=[drift_table(comparison.drift, comparison.target_name)],
    )


def _score_section(comparison: StudyComparison) -> Section:
    if comparison.protocol == NESTED:
        text = (
            "All that gapmin fit does was done again without the rows of each fold, which were then predicted. So "
            "neither weights nor settings have seen the rows that they are tested on."
        )
    else:
        text = comparison.simplified[0] if len(comparison.simplified) < 3 else comparison.simplified[1]
    found = comparison.details
    charts = [score_chart(comparison)]
    tables = [score_table(comparison)]
    if isinstance(found, ClassScores):
        tables += [confusion_table(found), *([areas] if (areas := area_table(found)) else [])]
        return Section("How good the model is", [text], charts=[*charts, calibration_chart(found)], tables=tables)
    return Section(
        "How good the model is", [text], charts=[*charts, scatter_chart(found, comparison.label)], tables=tables
    )


def _importance_section(comparison: StudyComparison) -> Section:
    text = "Each column of the held-out rows is shuffled in turn. The more the loss rises, the more the model needs it."
    more = comparison.n_columns > MOST_SHUFFLED
    notes = [f"The first {MOST_SHUFFLED} columns were measured."] if more else []
    return Section("What the model uses", [text], charts=[importance_chart(comparison)], notes=notes)


def _label_section(comparison: StudyComparison) -> Section:
    used = comparison.evidence.used
    if comparison.curve is None or comparison.saving is None:
        text = "Not measured in this comparison." if used else "No source is used, so no saving of labels is claimed."
        return Section("How many labels the sources are worth", [text])
    chart = curve_chart(comparison)
    note = (
        "Settings and weights are those of all rows of a fold; the models are trained anew with fewer. The curve ends "
        "where the table above says."
    )
    return Section(
        "How many labels the sources are worth",
        [labels_sentence(comparison.saving, used, weighed_undecided(comparison.evidence))],
        charts=[chart] if chart else [],
        notes=[note],
    )


def _data_section(comparison: StudyComparison) -> Section:
    sizes = [f"{name} ({n_rows:,} rows)" for name, n_rows in comparison.source_sizes.items()]
    text = (
        f"{_the_target(comparison)} has {comparison.n_target:,} labelled rows, its sources are "
        f"{joined(sizes)}. “{comparison.label}” is predicted from {comparison.n_columns:,} "
        f"column{'s' * (comparison.n_columns != 1)}."
    )
    # Notes may begin with the name of a file, which stays as it is.
    return Section("The data", [text], comparison.notes, [data_table(comparison.drift)])


def _code(
    comparison: StudyComparison, files: StudyFiles | None, command: str, options: Mapping[str, Any] | None
) -> str:
    lines = [f"# {command}"] if command else []
    return "\n\n".join([*lines, *([] if files is None else [python_code(comparison, files, options)])])


def _provenance_section(comparison: StudyComparison, made_with: Sequence[StudyFile], code: str) -> Section:
    packages = ("numpy", "scipy", "scikit-learn", "pandas")
    versions = [f"gapmin {__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {version(name)}" for name in packages]
    folds = f"{comparison.n_splits} folds of the target; seed" if comparison.protocol == NESTED else "Seed"
    points = [
        f"{folds} {comparison.random_state}; {comparison.seconds:.0f} s. The numbers do not depend on how many "
        "processes were used.",
        *([_DRAWN] if sum(comparison.source_sizes.values()) > MAX_SEARCH_ROWS else []),
        f"Versions: {', '.join(versions)}.",
    ]
    tables = []
    if made_with:
        rows = [
            [Entry(each.file or each.name), Entry(each.role), Entry(f"{each.n_rows:,}"), Entry(each.sha256)]
            for each in made_with
        ]
        tables.append(Table("Files", ["", "role", "rows used", "SHA-256"], rows, numeric=False))
    return Section("How this was made, and what the words mean", (), points, tables, code=code, terms=GLOSSARY)


def python_code(comparison: StudyComparison, files: StudyFiles, options: Mapping[str, Any] | None = None) -> str:
    """Return the lines of Python that do the same."""
    asked: dict[str, Any] = {name: list(getattr(files, name)) for name in ("drop", "na", "keep")}
    asked = {name: given for name, given in asked.items() if given}
    asked |= {"task": files.task} if files.task else {}
    asked |= {} if files.text else {"text": False}
    asked |= {"max_source_rows": files.max_source_rows} if files.max_source_rows else {}
    asked |= {name: value for name, value in (options or {}).items() if value}
    asked |= {"random_state": comparison.random_state}
    sources = "".join(f"        {replace_unprintable(str(source))!r},\n" for source in files.sources)
    given = "".join(f"    {name}={value!r},\n" for name, value in asked.items())
    return (
        "import gapmin\n\n"
        "found = gapmin.compare(\n"
        f"    {replace_unprintable(str(files.target))!r},\n"
        "    [\n"
        f"{sources}"
        "    ],\n"
        f"    label={replace_unprintable(files.label)!r},\n"
        f"{given}"
        ")\n"
        "print(found.headline)\n"
        "model = found.fit()  # model.predict(frame), model.save(path)\n"
    )


__all__ = ["python_code", "study_report"]
