from dataclasses import replace
from itertools import product
from math import ceil, log

import numpy as np
import pytest

from gapmin.study.answer import named
from gapmin.study.curve import LabelSaving
from gapmin.study.methods import BASELINE, MODEL, TARGET_ONLY
from gapmin.study.metrics import CLASS_METRICS, MethodScore, StudyMetric, class_scores
from gapmin.study.page_charts import evidence_chart
from gapmin.study.page_tables import evidence_table
from gapmin.study.words import labels_sentence, labels_that_would_tell, odds_lines, summarise, weighed_undecided
from gapmin.transfer import Evidence, Hypothesis, Score, SourceVerdict
from gapmin.transfer.constants import VERDICTS

MINUS = "\N{MINUS SIGN}"
RATE, AUC = StudyMetric("error rate"), StudyMetric("ROC AUC", True)


def scores(model, alone=0.2, low=-0.02, high=0.05, guess=0.5):
    return (
        MethodScore(BASELINE, guess, 0.4, 0.6, 0.3, 0.2, 0.4),
        MethodScore(TARGET_ONLY, alone, 0.1, 0.3, 0.0, 0.0, 0.0),
        MethodScore(MODEL, model, 0.1, 0.3, model - alone, low, high),
    )


def evidence(*verdicts, factor=4.0, nats=1.0, error=0.5, n_target=30, findings=()):
    sources = tuple(
        SourceVerdict(k, name, 10, said, factor, nats, 0.5, findings)
        for k, (name, said) in enumerate(zip(("old", "web", "bad"), verdicts, strict=False), start=1)
    )
    alone = Hypothesis((), -10.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5)
    ones = (Hypothesis((each.number,), -9.0, 1.0, 1.0, nats, error, 0.1, 0.1) for each in sources)
    return Evidence((alone, *ones), sources, "classification", n_target)


@pytest.mark.parametrize("metric", [RATE, AUC])
def test_use_never_stands_beside_an_error_that_rises(metric):
    worse, better, guess = (0.3, 0.1, 0.5) if metric is RATE else (0.1, 0.3, 0.05)
    for verdicts in product(VERDICTS, repeat=2):
        found = evidence(*verdicts)
        rises = summarise(found, metric, scores(worse, guess=guess))
        assert "use " not in rises.headline.lower()
        assert ("does not fall" in rises.decision) == ("use" in verdicts)
        falls = summarise(found, metric, scores(better, guess=guess))
        assert ("Use " in falls.decision) == ("use" in verdicts)
        for text, said in (("Not enough evidence about", VERDICTS[2]), ("Leave out", VERDICTS[1])):
            assert (text in falls.decision) == (text in rises.decision) == (said in verdicts)


def test_an_equal_error_does_not_rise():
    assert summarise(evidence("use"), RATE, scores(0.2)).decision == "Use old."


def test_the_effect_has_model_target_and_baseline():
    said = summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=0.0)).effect
    assert said == (
        "Error rate on held-out target rows: 15.0% for the model with old, 20.0% for the target alone "
        f"(95% interval of the change: {MINUS}10.0 to 0.0 points; below zero is better), 50.0% for always "
        "predicting the most frequent class."
    )


@pytest.mark.parametrize(("name", "constant"), [("log loss", "the shares of the classes"), ("F1", "the most frequent")])
def test_the_baseline_of_probabilities_is_the_shares_of_the_classes(name, constant):
    """Always the most frequent class, with certainty, has a log loss beyond all bounds."""
    metric = next(each for each in CLASS_METRICS.values() if each.name == name)
    guess = 0.1 if metric.higher_is_better else 0.6
    assert f"for always predicting {constant}" in summarise(evidence("use"), metric, scores(0.15, guess=guess)).effect
    useless = summarise(evidence("use"), metric, scores(0.2, guess=0.2)).next_steps[0]
    assert f"a constant, {constant}" in useless


def test_an_interval_that_includes_no_change_is_explained():
    said = summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=0.02)).effect
    assert "The interval holds zero, so the error alone does not decide" in said
    assert "holds zero" not in summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=-0.02)).effect


def test_the_odds_are_not_said_to_decide_for_a_model_that_is_not_to_be_relied_on():
    rises = summarise(evidence("use"), RATE, scores(0.25, low=-0.1, high=0.2))
    useless = summarise(evidence("use"), RATE, scores(0.15, low=-0.1, high=0.02, guess=0.1))
    for said in (rises, useless):
        assert "old fits the target, but" in said.decision
        assert "The odds do" not in said.effect


def test_a_model_that_leaves_all_out_says_so():
    assert (
        "The model leaves old and web out." in summarise(evidence("leave out", "leave out"), RATE, scores(0.2)).effect
    )
    assert "leaves" not in summarise(evidence("leave out", "use"), RATE, scores(0.2)).effect


def test_no_advice_to_rely_on_models_that_a_constant_beats():
    for verdict in VERDICTS:
        found = summarise(evidence(verdict), RATE, scores(0.6, alone=0.55))
        steps = " ".join(found.next_steps)
        useless = summarise(evidence(verdict), RATE, scores(0.54, alone=0.55, guess=0.5)).decision
        assert "no model here does better than a constant" in useless.lower()
        for text in (found.decision, summarise(evidence(verdict), RATE, scores(0.5, alone=0.55)).decision):
            assert "use " not in text.lower()
        assert "No model here does better than a constant" in steps
        assert "Work with the target alone" not in steps
        assert "Fit the model" not in steps


@pytest.mark.parametrize("metric", ["error rate", "roc_auc"])
def test_the_evidence_itself_does_not_say_use_where_a_constant_is_as_good(metric):
    """Where no comparison scored it anew, as after `gapmin fit`."""

    def said(model, guess):
        found = evidence("use")
        alone = replace(found.hypotheses[0], scores={metric: Score(0.4, 0.3, 0.5)})
        return replace(
            found,
            hypotheses=(alone, *found.hypotheses[1:]),
            metrics=(metric,),
            model={metric: Score(model, 0.3, 0.5)},
            change={metric: Score(model - 0.4, -0.1, 0.1)},
            baseline={metric: Score(guess, 0.2, 0.6)},
        ).decision()

    model, better, worse = (0.35, 0.3, 0.5) if metric == "error rate" else (0.45, 0.5, 0.3)
    assert said(model, worse) == "Use old."
    assert said(model, better) == "old fits the target, but no model here does better than a constant."
    assert said(model, model) == said(model, better)


@pytest.mark.parametrize("factor", [4.0, 0.25])
def test_how_many_labels_would_tell_goes_by_the_odds(factor):
    """By what the verdict goes by, whatever the evidence of the source alone."""
    more = ceil(30 * log(19) / log(4) - 30)
    for nats in (-8.0, 5.0, 6.7):
        found = evidence("not enough evidence", factor=factor, nats=nats, error=0.5)
        assert labels_that_would_tell(found)[0].startswith(
            f"About {more} more labelled target rows like these would decide about old."
        )
    unsure = evidence("not enough evidence", factor=factor, nats=9.0, error=1.5)
    assert labels_that_would_tell(unsure)[0].startswith("It cannot be told")
    even = evidence("not enough evidence", factor=1.0, error=0.0)
    assert labels_that_would_tell(even)[0].startswith("It cannot be told")


def test_an_undecided_source_is_shown_with_the_weight_that_it_has():
    found = summarise(evidence("use", "not enough evidence"), RATE, scores(0.15))
    assert "for the model with old (undecided: web at 50%)" in found.effect
    said = " ".join(summarise(evidence("not enough evidence"), RATE, scores(0.15)).next_steps)
    assert "For now its weight in the model is 50%, by these odds and a prior that favours the target alone." in said
    assert "do not count on" not in said
    several = evidence(*["not enough evidence"] * 2, factor=1.0)
    assert labels_that_would_tell(several) == [
        "It cannot be told how many more labelled target rows would decide about old and web. For now their "
        "weights in the model are 50% and 50%, by these odds and a prior that favours the target alone."
    ]
    assert "Work with the target alone" not in said


def test_labels_that_are_saved_are_those_of_the_whole_model():
    """An undecided source has a share in them, so it is named beside those that are used."""
    found = evidence("use", "not enough evidence", "leave out")
    assert weighed_undecided(found) == ["web at 50%"]
    assert weighed_undecided(replace(found, sources=tuple(replace(each, weight=0.001) for each in found.sources))) == []


def test_sources_that_help_together_are_not_undecided():
    found = evidence("not enough evidence", "not enough evidence")
    alone, *ones = found.hypotheses
    found = replace(found, hypotheses=(replace(alone, weight=0.01), *(replace(each, weight=0.49) for each in ones)))
    assert found.together == ("old", "web")
    said = summarise(found, RATE, scores(0.15))
    assert said.decision.startswith("Use old and web together")
    assert "old and web together: " in said.how_sure
    assert "for the model with old and web, " in said.effect
    assert not any("cannot be told" in each or "would decide" in each for each in said.next_steps)
    assert [str(row[1]) for row in evidence_table(found).rows] == ["use together", "use together"]


def test_only_what_can_be_corrected_is_a_next_step():
    unit = "the same shape at 7.9 times the target's size, perhaps another unit: 'size'"
    leak = "3 rows repeated in the target: not trained on where that row is tested"
    for verdict in VERDICTS:
        steps = summarise(evidence(verdict, findings=(leak, unit)), RATE, scores(0.15)).next_steps
        assert f"Check old: {unit}. After a correction, compare again." in steps
        assert not any("repeated" in each for each in steps)


def test_every_outcome_has_a_next_step():
    for verdicts in product(VERDICTS, repeat=2):
        for error in (0.15, 0.25):
            assert summarise(evidence(*verdicts), RATE, scores(error)).next_steps


@pytest.mark.parametrize("ranks", [True, False])
def test_a_rare_class_that_no_model_names_may_still_be_ranked(ranks):
    """With 3 of 100 rows ill the most frequent class is hard to beat by error, and the model may be of use."""
    y = np.arange(100) < 3
    share = np.where(y & ranks, 0.4, np.linspace(0, 0.3, 100))
    found = class_scores(np.column_stack([1 - share, share]), y.astype(int), ["well", "ill"])
    for metric in (RATE, StudyMetric("F1", True)):
        said = summarise(evidence("use"), metric, scores(0.03, alone=0.03, guess=0.03), found).next_steps[0]
        assert ("No model here does better than a constant" in said) == (not ranks)
        if ranks:
            assert f"ROC AUC {found.roc_auc:.3f}" in said
            assert "scoring='roc_auc'" in said
            assert metric.name in said


def test_two_rows_ranked_well_by_luck_are_no_ranking():
    y = np.array([0] * 9 + [1])
    share = np.linspace(0.1, 0.5, 10)
    share[-1] = 0.45
    found = class_scores(np.column_stack([1 - share, share]), y, ["well", "ill"])
    assert found.roc_auc > 0.8
    said = summarise(evidence("use"), RATE, scores(0.1, alone=0.1, guess=0.1), found).next_steps[0]
    assert "No model here does better than a constant" in said


def test_odds_of_what_is_not_needed_are_those_beside_the_others():
    found = evidence("use", "not needed beside the others", factor=0.02)
    assert odds_lines(found) == ["old: 50 to 1 against it", "web: 50 to 1 against it beside the others"]
    assert any("not needed" in note and "alone" in note for note in evidence_table(found).notes)
    assert not evidence_table(evidence("use", "leave out")).notes


def test_the_figure_and_the_table_have_one_verdict():
    found = evidence("not enough evidence", "not enough evidence")
    alone, *ones = found.hypotheses
    together = replace(found, hypotheses=(replace(alone, weight=0.01), *(replace(each, weight=0.49) for each in ones)))
    for each in (together, evidence("use", "leave out"), evidence("not needed beside the others", "use")):
        in_table = [str(row[1]) for row in evidence_table(each).rows]
        assert [row.text for row in evidence_chart(each).rows] == in_table
        assert [row.strong for row in evidence_chart(each).rows] == [row[1].best for row in evidence_table(each).rows]


def test_rows_that_are_drawn_are_counted_once():
    """`search_notes` says it with the seed."""
    drawn = "evaluated with 20,000 of 90,000 source rows, drawn at random; the model is fitted to all"
    late = "the time limit of 5 s allowed linear: the result may differ on another machine"
    one = "the model predicts class a: b for every held-out row: look at predict_proba, or set class_weight='balanced'"
    found = named(replace(evidence("use"), findings=(late, drawn, one)), ["north"], [()])
    assert found.findings[0] == late
    assert found.findings[1].startswith("the model predicts class a: b for every held-out row: look at its")
    assert len(found.findings) == 2


def test_all_verdicts_are_in_the_decision():
    said = evidence("use", "leave out", "not needed beside the others").decision(worse=False)
    assert said == "Use old. Leave out web. Not needed beside the others: bad."


def test_labels_that_a_source_is_worth():
    assert labels_sentence(LabelSaving(80, 81, "within"), ["old"]) == (
        "With old, 80 labelled target rows do what would take about 81 without: about 1 label more."
    )
    assert "more than 800 without" in labels_sentence(LabelSaving(80, 800, "beyond"), ["old"])
    assert labels_sentence(LabelSaving(80, 81, "within"), ["old"], ["web at 72%"]).startswith(
        "With old (undecided: web at 72%), 80 labelled target rows do"
    )
    assert "extrapolation" in labels_sentence(LabelSaving(80, 1200, "extrapolated"), ["old"])
    assert "old saves no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old"])
    assert "old and new save no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old", "new"])
