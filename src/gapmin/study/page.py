"""The report of a comparison of somebody's own files: the answer in a box, then what speaks for it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

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
from .words import labels_sentence

GLOSSARY = (
    ("target, source", "The file a model is wanted for, and the others."),
    (
        "odds",
        "How much more probable the target's labels are with a source than without it, on rows that did not train.",
    ),
    ("nat", "The unit of evidence: 3 nats are odds of about 20 to 1."),
    ("weight", "How much the model relies on the learners that train on a source."),
    ("baseline", "Always the most frequent class, or the mean."),
    ("recall, precision", "The share of a class's rows that is found; the share of rows said to be of it that are."),
    ("ROC AUC", "How often a row of the class is ranked above one that is not; 0.5 is a guess."),
    ("95% interval", "Where the number would lie in 95 of 100 repetitions with other rows."),
)


def study_report(
    comparison: StudyComparison,
    files: StudyFiles | None = None,
    made_with: Sequence[StudyFile] = (),
    command: str = "",
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
    """
    summary = comparison.summary
    sections = [
        _evidence_section(comparison),
        _drift_section(comparison),
        _score_section(comparison),
        _importance_section(comparison),
        _label_section(comparison),
        _data_section(comparison),
        _provenance_section(comparison, files, made_with, command),
    ]
    return Report(
        f"Will other data help to predict “{comparison.label}”?",
        comparison.headline,
        sections,
        [
            ("Decision", [summary.decision]),
            ("How sure", [summary.how_sure]),
            ("Effect", [summary.effect]),
            ("Next", list(summary.next_steps)),
            *([("Simplified", list(comparison.simplified))] if comparison.simplified else []),
        ],
        comparison.warnings,
    )


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
    if not comparison.importance:
        return Section("What the model uses", ["Not measured in a quick comparison."])
    text = "Each column of the held-out rows is shuffled in turn. The more the loss rises, the more the model needs it."
    more = comparison.n_columns > MOST_SHUFFLED
    notes = [f"The first {MOST_SHUFFLED} columns were measured."] if more else []
    return Section("What the model uses", [text], charts=[importance_chart(comparison)], notes=notes)


def _label_section(comparison: StudyComparison) -> Section:
    used = comparison.evidence.used
    if comparison.curve is None or comparison.saving is None:
        said = "Not measured in this comparison." if used else "No source is used, so no saving of labels is claimed."
        return Section("How many labels the sources are worth", [said])
    chart = curve_chart(comparison)
    note = (
        "Settings and weights are those of all rows of a fold; the models are trained anew with fewer. The curve ends "
        "where the table above says."
    )
    return Section(
        "How many labels the sources are worth",
        [labels_sentence(comparison.saving, used)],
        charts=[chart] if chart else [],
        notes=[note],
    )


def _data_section(comparison: StudyComparison) -> Section:
    sizes = [f"{name} ({n_rows:,} rows)" for name, n_rows in comparison.source_sizes.items()]
    text = (
        f"The target {comparison.target_name} has {comparison.n_target:,} labelled rows, its sources are "
        f"{joined(sizes)}. “{comparison.label}” is predicted from {comparison.n_columns:,} "
        f"column{'s' * (comparison.n_columns != 1)}."
    )
    points = [_sentence(note) for note in comparison.notes]
    return Section("The data", [text], points, [data_table(comparison.drift)])


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"


def _provenance_section(
    comparison: StudyComparison, files: StudyFiles | None, made_with: Sequence[StudyFile], command: str
) -> Section:
    packages = ("numpy", "scipy", "scikit-learn", "pandas")
    versions = [f"gapmin {__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {version(name)}" for name in packages]
    points = [
        f"{comparison.n_splits} folds of the target; seed {comparison.random_state}; {comparison.seconds:.0f} s. The "
        "numbers do not depend on how many processes were used.",
        f"Of more than {MAX_SEARCH_ROWS:,} source rows, so many are drawn at random; the model of gapmin fit has all.",
        f"Versions: {', '.join(versions)}.",
    ]
    tables = []
    if made_with:
        rows = [
            [Entry(each.file or each.name), Entry(each.role), Entry(f"{each.n_rows:,}"), Entry(each.sha256)]
            for each in made_with
        ]
        tables.append(Table("Files", ["", "role", "rows used", "SHA-256"], rows, numeric=False))
    code = "\n\n".join(
        [*([f"# {command}"] if command else []), *([python_code(comparison, files)] if files is not None else [])]
    )
    return Section("How this was made, and what the words mean", (), points, tables, code=code, terms=GLOSSARY)


def python_code(comparison: StudyComparison, files: StudyFiles) -> str:
    """Return the lines of Python that make the same model and the same evidence."""
    kind = "TransferClassifierCV" if comparison.task == "classification" else "TransferRegressorCV"
    options = [f"task={files.task!r}"] if files.task else []
    for name in ("drop", "na", "keep"):
        options += [f"{name}={list(getattr(files, name))!r}"] if getattr(files, name) else []
    options += [] if files.text else ["text=False"]
    options += [f"max_source_rows={files.max_source_rows}"] if files.max_source_rows else []
    options += [f"random_state={comparison.random_state}"]
    sources = "".join(f"        {replace_unprintable(str(source))!r},\n" for source in files.sources)
    given = "".join(f"    {option},\n" for option in options)
    return (
        f"from gapmin import {kind}\n"
        "from gapmin.study import preprocessor, read_study\n\n"
        "study = read_study(\n"
        f"    {replace_unprintable(str(files.target))!r},\n"
        "    [\n"
        f"{sources}"
        "    ],\n"
        f"    {replace_unprintable(files.label)!r},\n"
        f"{given}"
        ")\n"
        "X, y, sample_domain = study.stack()\n"
        "steps = preprocessor(study.schema).fit(X)\n\n"
        f"model = {kind}(aligned=True, random_state={comparison.random_state})\n"
        "model.fit(steps.transform(X), y, sample_domain=sample_domain)\n"
        "print(model.evidence_.renamed(dict(enumerate(study.sources, start=1))))\n"
    )


__all__ = ["python_code", "study_report"]
