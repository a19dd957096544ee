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
from gapmin.plotting.gap_displays import GapDisplay
from gapmin.plotting.method_comparison import MethodComparisonDisplay, figure_names
from gapmin.plotting.ranking_displays import RankingDisplay
from gapmin.reporting.html import Report, Section

from .methods import DESCRIPTIONS, OURS, POOLED, TARGET_ONLY
from .page_tables import method_table, ranking_table
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
        _ranking_section(comparison),
        _method_section(comparison),
        *_gap_sections(comparison),
        _curve_section(comparison),
        _weights_section(comparison),
        _files_section(comparison),
        *([_code_section(comparison, files)] if files else []),
        _protocol_section(comparison),
    ]
    return Report(f"Will other data help to predict “{comparison.label}”?", comparison.headline, sections)


def _ranking_section(comparison: StudyComparison) -> Section:
    ranking = comparison.ranking
    everything = [*ranking.sources, *([ranking.together] if len(ranking.sources) > 1 else [])]
    names = figure_names([each.name for each in everything])
    classes = comparison.task == "classification"
    what = "half the Brier score" if classes else "the squared error over the target's variance"

    def draw(ax: object) -> object:
        changes = {
            name: (each.loss_change.mean, each.loss_change.low, each.loss_change.high)
            for name, each in zip(names, everything, strict=True)
        }
        verdicts = {name: each.verdict for name, each in zip(names, everything, strict=True)}
        unit = f"change of the target's loss ({100 * ranking.level:g}% interval)"
        return RankingDisplay(changes=changes, verdicts=verdicts, unit=unit).plot(ax)

    figure = Figure(
        draw,
        "Left of the line the source helps, right of it it hurts; an interval across the line leaves it open.",
        "What each source changes",
        (WIDTH, bars_height(len(everything))),
    )
    text = (
        "A linear model is trained on the target alone and with each source, half of the weight on the target, and "
        f"tested on target rows that did not train. The verdict goes by the loss, {what}, which says more than the "
        "error where rows are few. “Kept by gapBoost” is the share of its weight that a source keeps when boosting "
        "takes weight from rows on which source and target disagree."
    )
    return Section("Which sources help", [text], tables=[ranking_table(comparison)], figures=[figure])


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
    verdict = comparison.verdict.in_words(dict(enumerate(comparison.source_sizes, start=1)))
    text = [
        f"{verdict} The table flatters nobody: there TransferCV searches anew in each fold, without the "
        "rows that it is tested on."
    ]
    points = [f"{each.method}: {DESCRIPTIONS[each.method]}." for each in comparison.methods]
    return Section("All methods side by side", text, points, [method_table(comparison)], [figure])


def _gap_sections(comparison: StudyComparison) -> list[Section]:
    measured = [each for each in comparison.ranking.sources if each.gap_parts is not None]
    if not measured:
        return []
    names = figure_names([each.name for each in measured])
    parts = {name: dict(each.gap_parts or {}) for name, each in zip(names, measured, strict=True)}
    closest = min(measured, key=lambda each: each.gap or 0.0)
    figure = Figure(
        GapDisplay(parts=parts).plot,
        f"Closest to the target: {closest.name}, with a gap of {format_number(closest.gap or 0.0)}.",
        "The gap of each source and where it arises",
        (WIDTH, bars_height(len(parts))),
    )
    text = (
        "The performance gap is what a model trained on one side loses on the other: on the source's rows, how much "
        "worse the target's model is than their own; on the target's, how much worse the source's. A small gap means "
        "that both follow one rule, whatever their rows look like."
    )
    return [Section("How far each source is from the target", [text], figures=[figure])]


def _curve_section(comparison: StudyComparison) -> Section:
    curve, used = comparison.curve, comparison.recommended
    names = {TARGET_ONLY: "target only", OURS: "recommended", POOLED: "pooled"}
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
        "The models were chosen once, on all target rows, and are trained anew at each size: the curves compare what "
        "rows are worth, the comparison of all methods says how well the choice itself does."
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
    shares = [f"{name} {100 * share:.0f}%" for name, share in comparison.weights.items()]
    text = (
        f"In the recommended model ({comparison.verdict.method}) the weight is shared like this: {', '.join(shares)}. "
        "The figure shows gapBoost, which decides row by row."
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
    """Return the lines of Python that make the recommended model and the ranking."""
    kind = "TransferClassifierCV" if comparison.task == "classification" else "TransferRegressorCV"
    options = [f"task={files.task!r}"] if files.task else []
    options += [f"drop={list(files.drop)!r}"] if files.drop else []
    options += [f"max_source_rows={files.max_source_rows}"] if files.max_source_rows else []
    options += [f"random_state={comparison.random_state}"]
    sources = "".join(f"        {replace_unprintable(str(source))!r},\n" for source in files.sources)
    given = "".join(f"    {option},\n" for option in options)
    return (
        "from gapmin import {kind}\n"
        "from gapmin.selection import rank_sources\n"
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
        "ranking = rank_sources(\n"
        "    study.target, study.sources, task=study.schema.task,\n"
        f"    preprocessor=preprocessor(study.schema), random_state={comparison.random_state},\n"
        ")\n"
        "print(ranking)\n\n"
        "model = {kind}(\n"
        "    check_columns=False,\n"
        f"    max_search_rows={comparison.max_search_rows},\n"
        f"    random_state={comparison.random_state},\n"
        ")\n"
        "model.fit(steps.transform(X), y, sample_domain=sample_domain)\n"
        "print(model.transfer_verdict_)\n"
    ).replace("{kind}", kind)


def _code_section(comparison: StudyComparison, files: StudyFiles) -> Section:
    text = "Ranking and recommended model, as on this page. model.predict(steps.transform(X_new)) predicts new rows."
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
        "TransferCV in the table is nested: each fold makes a search of its own, with three folds within it and at "
        f"most {comparison.fold_search_rows:,} source rows, drawn at random, while it searches; its last fit has all. "
        f"The recommended model comes from a longer search with at most {comparison.max_search_rows:,} source rows.",
        "The other methods have their default settings; nothing else was tuned.",
        "The learning curve has the folds of the first cut. Beyond its last point a power law is assumed, fitted to "
        "all of its points.",
        f"Seed {comparison.random_state}; {comparison.seconds:.0f} s. The numbers do not depend on how many processes "
        "were used.",
        f"Versions: {', '.join(versions)}.",
    ]
    return Section("Protocol", points=points)


__all__ = ["python_code", "study_report"]
