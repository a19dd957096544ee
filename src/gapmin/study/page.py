"""The report of a comparison of somebody's own files: the verdict first, then what speaks for it."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np

from gapmin._utils.text import format_number, joined, replace_unprintable
from gapmin.plotting import Figure
from gapmin.plotting.bar_displays import WIDTH, bars_height
from gapmin.plotting.curve_displays import ErrorCurveDisplay
from gapmin.plotting.displays import WeightMassDisplay
from gapmin.plotting.evidence_displays import EvidenceDisplay, figure_names
from gapmin.plotting.gap_displays import GapDisplay
from gapmin.plotting.method_comparison import MethodComparisonDisplay
from gapmin.reporting.html import Report, Section

from .answer import MAX_SEARCH_ROWS
from .methods import DESCRIPTIONS, OURS, POOLED, TARGET_ONLY
from .page_tables import evidence_table, hypothesis_table, method_table
from .result import COVERAGE, WITHIN, StudyComparison
from .study import StudyFiles
from .words import labels_sentence, shown


def study_report(comparison: StudyComparison, files: StudyFiles | None = None) -> Report:
    """Lay a comparison out as a page.

    Parameters
    ----------
    comparison : StudyComparison
    files : StudyFiles, optional
        With them the page shows the Python code that does the same.
    """
    sections = [
        _evidence_section(comparison),
        _method_section(comparison),
        _gap_section(comparison),
        _curve_section(comparison),
        _weights_section(comparison),
        _files_section(comparison),
        *([_code_section(comparison, files)] if files else []),
        _protocol_section(comparison),
    ]
    return Report(f"Will other data help to predict “{comparison.label}”?", comparison.headline, sections)


def _evidence_section(comparison: StudyComparison) -> Section:
    evidence = comparison.evidence
    figure = Figure(
        lambda ax: EvidenceDisplay.from_evidence(evidence, ax=ax),
        "Right of the right dashed line a source by itself clearly helps, left of the left one it clearly hurts. The "
        "verdict also looks at the sources together.",
        "The evidence for each source",
        (WIDTH, bars_height(len(evidence.sources))),
    )
    text = (
        "Every target row is predicted by models that were trained without it, from the target alone and with the "
        "sources. The evidence compares how probable these models make the true labels: 3 nats are odds of about 20 to "
        "1. The model that gapmin fit makes is the mean of all sets of sources, each with its weight."
    )
    tables = [evidence_table(evidence), hypothesis_table(evidence)]
    return Section("Which sources help", [text], tables=tables, figures=[figure])


def _method_section(comparison: StudyComparison) -> Section:
    unit = f"{'error (%)' if comparison.task == 'classification' else 'RMS error'}, {100 * COVERAGE:g}% interval"
    display = MethodComparisonDisplay(
        errors={each.method: (each.error, each.low, each.high) for each in comparison.methods},
        baseline=TARGET_ONLY,
        unit=unit,
        chosen=OURS,
    )
    figure = Figure(
        display.plot,
        "The interval says how well the error is known. Methods are compared on the same folds, so a difference can "
        "be clear where intervals overlap: see the table.",
        "Errors of all methods",
        display.size,
    )
    text = [
        "Errors come from nested cross-validation: in each fold TransferCV weighs the evidence anew, without the rows "
        "that it is tested on. So model selection does not bias them."
    ]
    points = [f"{each.method}: {DESCRIPTIONS[each.method]}." for each in comparison.methods]
    return Section("All methods side by side", text, points, [method_table(comparison)], [figure])


def _gap_section(comparison: StudyComparison) -> Section:
    parts = dict(zip(figure_names(list(comparison.gaps)), comparison.gaps.values(), strict=True))
    totals = {name: sum(each.values()) for name, each in comparison.gaps.items()}
    closest = min(totals, key=lambda name: totals[name])
    figure = Figure(
        GapDisplay(parts=parts).plot,
        f"Closest to the target: {closest}, with a gap of {format_number(totals[closest])}.",
        "The gap of each source and where it arises",
        (WIDTH, bars_height(len(parts))),
    )
    text = (
        "The performance gap is what a model trained on one side loses on the other: on the source's rows, how much "
        "worse the target's model is than their own; on the target's, how much worse the source's. A small gap means "
        "that both follow one rule, whatever their rows look like."
    )
    return Section("How far each source is from the target", [text], figures=[figure])


def _curve_section(comparison: StudyComparison) -> Section:
    curve, used = comparison.curve, comparison.evidence.used
    names = {TARGET_ONLY: "target only", OURS: "with sources", POOLED: "pooled"}
    errors = {names[method]: np.array(each) for method, each in curve.errors.items()}
    unit = "error (%)" if comparison.task == "classification" else "RMS error"
    text = [labels_sentence(comparison.saving, used)]
    if used and comparison.saving_at_start.kind == WITHIN:  # further up it would be a guess
        text.append(labels_sentence(comparison.saving_at_start, used))
    figures = []
    if errors[names[TARGET_ONLY]].size and len(curve.sizes) > 1:
        last = {name: shown(each[-1].mean(), comparison.task) for name, each in errors.items()}
        figures.append(
            Figure(
                ErrorCurveDisplay(sizes=curve.sizes, errors=errors, unit=unit).plot,
                f"With {curve.sizes[-1]} target rows: "
                + ", ".join(f"{name} {value}" for name, value in last.items())
                + ". Bars are one standard error over the folds.",
                "Error by number of target rows",
            )
        )
    note = (
        "With sources: the models of the set of sources with the most weight; pooled: all sources that are not to be "
        "left out. The models were chosen once, on all target rows, and are trained anew at each size. The comparison "
        "of all methods says how well the choice itself does."
    )
    return Section("How many labels the sources are worth", text, figures=figures, notes=[note])


def _weights_section(comparison: StudyComparison) -> Section:
    mass = np.array(comparison.mass)
    sources = list(comparison.source_sizes)
    rounds = len(mass) - 1
    held = [f"{name} from {100 * mass[0, k]:.0f}% to {100 * mass[-1, k]:.0f}%" for k, name in enumerate(sources, 1)]
    figure = Figure(
        WeightMassDisplay(
            mass=mass, domains=[-1, *range(1, len(sources) + 1)], names=["target", *figure_names(sources)]
        ).plot,
        f"In {rounds} round{'s' * (rounds != 1)} of gapBoost on all rows the target goes from {100 * mass[0, 0]:.0f}% "
        f"of the weight to {100 * mass[-1, 0]:.0f}%; " + ", ".join(held) + ".",
        "Who holds the weight, by round",
    )
    text = (
        "gapBoost decides row by row: it takes weight from rows of the sources on which source and target disagree. "
        "It is one of the methods compared above, and has no part in the verdicts."
    )
    return Section("Which rows are trusted", [text], figures=[figure])


def _files_section(comparison: StudyComparison) -> Section:
    sizes = [f"{name} ({n_rows:,} rows)" for name, n_rows in comparison.source_sizes.items()]
    text = (
        f"The target {comparison.target_name} has {comparison.n_target:,} labelled rows, its sources are "
        f"{joined(sizes)}. “{comparison.label}” is predicted from {comparison.n_columns:,} "
        f"column{'s' * (comparison.n_columns != 1)}, which become "
        f"{comparison.n_features:,} number{'s' * (comparison.n_features != 1)} a row."
    )
    return Section("What was done with the files", [text], [_sentence(note) for note in comparison.notes])


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"


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
        "from gapmin import {kind}, rank_sources\n"
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
        f"model = {{kind}}(aligned=True, random_state={comparison.random_state})\n"
        "model.fit(steps.transform(X), y, sample_domain=sample_domain)\n"
        "print(model.evidence_.renamed(dict(enumerate(study.sources, start=1))))\n\n"
        "# The same evidence without a model:\n"
        "target, *sources = ((steps.transform(X), y) for X, y in (study.target, *study.sources.values()))\n"
        "evidence = rank_sources(\n"
        "    target, dict(zip(study.sources, sources)), task=study.schema.task,\n"
        f"    aligned=True, random_state={comparison.random_state},\n"
        ")\n"
    ).replace("{kind}", kind)


def _code_section(comparison: StudyComparison, files: StudyFiles) -> Section:
    text = "The same model and the same evidence. model.predict(steps.transform(X_new)) predicts new rows."
    return Section("The same in Python", [text], code=python_code(comparison, files))


def _protocol_section(comparison: StudyComparison) -> Section:
    times = {1: "once", 2: "twice"}.get(comparison.n_repeats, f"{comparison.n_repeats} times")
    packages = ["gapmin", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib"]
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    points = [
        "Columns became numbers once, by scikit-learn's steps fitted on all rows without their labels.",
        f"The target's rows were cut {times} into {comparison.n_splits} folds; in each, all source rows and the other "
        "folds train. Intervals and p-values are those of the corrected resampled t-test, which knows that folds share "
        "rows; they are not adjusted for the number of methods.",
        "TransferCV in the table is nested: in each fold the same estimator is fitted anew, with all of its defaults. "
        f"Where the sources have more than {MAX_SEARCH_ROWS:,} rows together, the evidence and this page use so many, "
        "drawn at random; the model of gapmin fit is fitted to all.",
        "The other methods have their default settings; nothing else was tuned.",
        "The learning curve has the folds of the first cut. Beyond its last point a power law is assumed, fitted to "
        "all of its points.",
        f"Seed {comparison.random_state}; {comparison.seconds:.0f} s. The numbers do not depend on how many processes "
        "were used.",
        f"Versions: {', '.join(versions)}.",
    ]
    return Section("Protocol", points=points)


__all__ = ["python_code", "study_report"]
