from itertools import product
from math import ceil, log

import pytest

from gapmin.study.curve import LabelSaving
from gapmin.study.methods import BASELINE, MODEL, TARGET_ONLY
from gapmin.study.metrics import MethodScore, StudyMetric
from gapmin.study.words import labels_sentence, labels_that_would_tell, summarise
from gapmin.transfer import Evidence, Hypothesis, SourceVerdict
from gapmin.transfer.constants import VERDICTS

MINUS = "\N{MINUS SIGN}"
RATE, AUC = StudyMetric("error rate"), StudyMetric("ROC AUC", True)


def scores(model, alone=0.2, low=-0.02, high=0.05):
    return (
        MethodScore(BASELINE, 0.5, 0.4, 0.6, 0.3, 0.2, 0.4),
        MethodScore(TARGET_ONLY, alone, 0.1, 0.3, 0.0, 0.0, 0.0),
        MethodScore(MODEL, model, 0.1, 0.3, model - alone, low, high),
    )


def evidence(*verdicts, nats=1.0, error=0.5, n_target=30):
    sources = tuple(
        SourceVerdict(k, name, 10, said, 4.0, nats, 0.5)
        for k, (name, said) in enumerate(zip(("old", "web", "bad"), verdicts, strict=False), start=1)
    )
    alone = Hypothesis((), -10.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5)
    ones = (Hypothesis((each.number,), -9.0, 1.0, 1.0, nats, error, 0.1, 0.1) for each in sources)
    return Evidence((alone, *ones), sources, "classification", n_target)


@pytest.mark.parametrize("metric", [RATE, AUC])
def test_use_never_stands_beside_an_error_that_rises(metric):
    worse, better = (0.3, 0.1) if metric is RATE else (0.1, 0.3)
    for verdicts in product(VERDICTS, repeat=2):
        found = evidence(*verdicts)
        rises = summarise(found, metric, scores(worse))
        assert "use " not in rises.headline.lower()
        assert ("does not fall" in rises.decision) == ("use" in verdicts)
        falls = summarise(found, metric, scores(better))
        assert ("Use " in falls.decision) == ("use" in verdicts)
        for text, said in (("No evidence either way about", VERDICTS[2]), ("Leave out", VERDICTS[1])):
            assert (text in falls.decision) == (text in rises.decision) == (said in verdicts)


def test_an_equal_error_does_not_rise():
    assert summarise(evidence("use"), RATE, scores(0.2)).decision == "Use old."


def test_the_effect_has_model_target_and_baseline():
    said = summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=0.0)).effect
    assert said == (
        "Error rate on held-out target rows: 15.0% for the model with old, 20.0% for the target alone "
        f"(95% interval of the change: {MINUS}10.0 to 0.0 points), 50.0% for always predicting the most frequent class."
    )


def test_an_interval_that_includes_no_change_is_explained():
    said = summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=0.02)).effect
    assert "The interval includes no change" in said
    assert "includes no change" not in summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=-0.02)).effect


def test_a_model_that_leaves_all_out_says_so():
    assert (
        "The model leaves old and web out." in summarise(evidence("leave out", "leave out"), RATE, scores(0.2)).effect
    )
    assert "leaves" not in summarise(evidence("leave out", "use"), RATE, scores(0.2)).effect


def test_no_advice_to_rely_on_models_that_a_constant_beats():
    for verdict in VERDICTS:
        steps = " ".join(summarise(evidence(verdict), RATE, scores(0.6, alone=0.55)).next_steps)
        assert "No model here does better than a constant" in steps
        assert "Work with the target alone" not in steps
        assert "Fit the model" not in steps


def test_how_many_labels_would_tell():
    found = evidence("no evidence either way", nats=-1.0, error=0.5)
    more = ceil(30 * log(19) / 1.0 - 30)
    assert labels_that_would_tell(found, found.sources[0]) == (
        f"About {more} more labelled target rows would decide about old."
    )
    unsure = evidence("no evidence either way", nats=0.4, error=0.5)
    assert labels_that_would_tell(unsure, unsure.sources[0]).startswith("It cannot be told")
    near = evidence("no evidence either way", nats=5.0, error=0.5)
    assert "A few more labelled target rows" in labels_that_would_tell(near, near.sources[0])


def test_every_outcome_has_a_next_step():
    for verdicts in product(VERDICTS, repeat=2):
        for error in (0.15, 0.25):
            assert summarise(evidence(*verdicts), RATE, scores(error)).next_steps


def test_all_verdicts_are_in_the_decision():
    said = evidence("use", "leave out", "not needed beside the others").decision(worse=False)
    assert said == "Use old. Leave out web. Not needed beside the others: bad."


def test_labels_that_a_source_is_worth():
    assert labels_sentence(LabelSaving(80, 81, "within"), ["old"]) == (
        "With old, 80 labelled target rows do what would take about 81 without: about 1 label more."
    )
    assert "more than 800 without" in labels_sentence(LabelSaving(80, 800, "beyond"), ["old"])
    assert "extrapolation" in labels_sentence(LabelSaving(80, 1200, "extrapolated"), ["old"])
    assert "old saves no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old"])
    assert "old and new save no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old", "new"])
