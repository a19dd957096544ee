from itertools import product

import pytest

from gapmin.study.methods import OURS, TARGET_ONLY
from gapmin.study.result import LabelSaving, MethodError
from gapmin.study.words import headline, labels_sentence
from gapmin.transfer import Evidence, Hypothesis, Score, SourceVerdict
from gapmin.transfer.constants import VERDICTS

MINUS = "\N{MINUS SIGN}"


def methods(difference, low, high):
    alone = MethodError(TARGET_ONLY, 20.0, 15.0, 25.0, 0.0, 0.0, 0.0, 1.0, (20.0, 20.0))
    ours = MethodError(OURS, 20 + difference, 10.0, 25.0, difference, low, high, 0.1, (20.0, 20.0))
    return alone, ours


def evidence(*verdicts, task="classification"):
    metric = "error rate" if task == "classification" else "root mean squared error"
    sources = tuple(
        SourceVerdict(k, name, 10, said, 1.0, 1.0, 0.5)
        for k, (name, said) in enumerate(zip(("old", "web", "bad"), verdicts, strict=False), start=1)
    )
    alone = Hypothesis((), -10.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, {metric: Score(0.2, 0.1, 0.3)})
    scores = {metric: Score(0.15, 0.1, 0.2)}, {metric: Score(-0.05, -0.1, 0.0)}, {metric: Score(0.5, 0.4, 0.6)}
    return Evidence((alone,), sources, task, 30, (metric,), *scores)


def test_where_the_nested_check_agrees_the_headline_is_that_of_the_evidence():
    found = evidence("use", "no evidence either way", "leave out")
    assert headline(found, methods(-5, -8, -2)) == found.headline()
    assert headline(found, methods(0, -8, 8)) == found.headline()
    assert headline(found, methods(-5, -8, -2)[:1]) == found.headline(), "TransferCV could not be trained on every fold"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_use_never_stands_beside_an_error_that_rises_without_saying_so(task):
    for verdicts in product(VERDICTS, repeat=2):
        found = evidence(*verdicts, task=task)
        said = headline(found, methods(1.5, -2, 5))
        assert said.startswith(found.headline())
        assert ("the error rises from 20.0" in said) == ("use" in verdicts)


def test_how_a_rise_is_told():
    said = headline(evidence("use"), methods(1.5, -2, 5))
    assert said.endswith(
        "But nested cross-validation does not bear this out: there the error rises from 20.0% to 21.5% "
        f"(95% interval of the change: {MINUS}2.0 to +5.0 points)."
    )
    numbers = headline(evidence("use", task="regression"), methods(1.5, -2, 5))
    assert numbers.endswith(f"from 20.0 to 21.5 (95% interval of the change: {MINUS}2.0 to +5.0).")


def test_labels_that_a_source_is_worth():
    assert labels_sentence(LabelSaving(80, 81, "within"), ["old"]) == (
        "With old, 80 labelled target rows do what would take about 81 without: about 1 label more."
    )
    assert "more than 800 without" in labels_sentence(LabelSaving(80, 800, "beyond"), ["old"])
    assert "extrapolation" in labels_sentence(LabelSaving(80, 1200, "extrapolated"), ["old"])
    assert "old saves no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old"])
    assert "old and new save no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old", "new"])
    none = labels_sentence(LabelSaving(80, 80, "none"), [])
    assert none == "No source clearly helps, so no saving of labels is claimed."
