from dataclasses import replace

import pytest

from gapmin.selection import RankedSource, SourceRanking, TransferVerdict
from gapmin.selection._ranking_result import Change
from gapmin.study.methods import OURS, TARGET_ONLY
from gapmin.study.result import LabelSaving, MethodError
from gapmin.study.words import headline, labels_sentence

MINUS = "\N{MINUS SIGN}"


def source(name, verdict, change):
    moved = Change(change, change - 1, change + 1, 0.1)
    return RankedSource(name, 10, 0.1, {"source": 0.1, "target": 0.0}, 20 + change, moved, 0.2, moved, 1.0, verdict)


def ranking(*sources, task="classification"):
    return SourceRanking(sources, sources[0], (), (), 20.0, 0.2, task, 0.9, 30, ())


def methods(difference, low, high):
    alone = MethodError(TARGET_ONLY, 20.0, 15.0, 25.0, 0.0, 0.0, 0.0, 1.0, (20.0, 20.0))
    ours = MethodError(OURS, 20 + difference, 10.0, 25.0, difference, low, high, 0.1, (20.0, 20.0))
    return alone, ours


def verdict(transfers=True, high=-0.01):
    return TransferVerdict(transfers, "pooling", "…", 0.1, 0.2, 0.1, 0.2, -0.1, -0.2, high, 0.01, 30, 100)


SOURCES = source("old", "helps", -5.0), source("web", "neutral", 0.2), source("bad", "hurts", 12.34)


def test_clear_gain_and_what_to_leave_out():
    said = headline(verdict(), ["old"], ranking(*SOURCES), methods(-5, -8, -2))
    assert said == (
        f"Use old: the error on target rows not seen before falls from 20.0% to 15.0% (a change of {MINUS}5.0 points, "
        f"95% interval {MINUS}8.0 to {MINUS}2.0); leave out bad (adding it raises the error by 12.3 points); "
        "web makes no clear difference."
    )


@pytest.mark.parametrize(("sure", "high"), [(verdict(high=0.01), -2), (verdict(), 2)])
def test_a_gain_that_is_not_clear_is_probable(sure, high):
    said = headline(sure, ["old", "web"], ranking(*SOURCES), methods(-5, -8, high))
    assert said.startswith("Use old and web, which probably help: the error")


def test_a_check_that_finds_no_gain_is_told():
    said = headline(verdict(), ["old"], ranking(*SOURCES), methods(1.5, -2, 5))
    assert said.startswith(
        "Use old, which may help: the error on target rows not seen before rises from 20.0% to 21.5%"
    )
    assert ", though the search prefers it; leave out" in said
    same = headline(verdict(), ["old"], ranking(*SOURCES), methods(0.01, -2, 5))
    assert f"stays at 20.0% (95% interval {MINUS}2.0 to +5.0 points of the change); leave out" in same


def test_no_source_is_used():
    said = headline(verdict(transfers=False), [], ranking(*SOURCES), methods(0, -1, 1))
    assert said == (
        "Use the target alone: no source clearly lowers its error of 20.0%; leave out bad (adding it raises the error "
        "by 12.3 points); old helps a simple model, but not the best one."
    )
    only = ranking(source("web", "neutral", 0.2))
    assert headline(verdict(transfers=False), [], only, methods(0, -1, 1)).endswith("its error of 20.0%.")


def test_numbers_have_no_unit():
    said = headline(verdict(), ["old"], ranking(*SOURCES, task="regression"), methods(-5, -8, -2))
    assert f"from 20.0 to 15.0 (a change of {MINUS}5.0, 95% interval {MINUS}8.0 to {MINUS}2.0)" in said
    assert "raises the error by 12.3)" in said
    assert "%" not in said.replace("95%", "")


def test_a_source_that_hurts_without_raising_the_error():
    odd = replace(SOURCES[2], error_change=Change(-1.0, -2.0, 0.0, 0.1))
    said = headline(verdict(), ["old"], ranking(SOURCES[0], odd), methods(-5, -8, -2))
    assert said.endswith("leave out bad (it makes the predictions less sure).")


def test_labels_that_a_source_is_worth():
    assert labels_sentence(LabelSaving(80, 81, "within"), ["old"]) == (
        "With old, 80 labelled target rows do what would take about 81 without: about 1 label more."
    )
    assert "more than 800 without" in labels_sentence(LabelSaving(80, 800, "beyond"), ["old"])
    assert "extrapolation" in labels_sentence(LabelSaving(80, 1200, "extrapolated"), ["old"])
    assert "old saves no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old"])
    assert "old and new save no labels" in labels_sentence(LabelSaving(80, 80, "none"), ["old", "new"])
    assert labels_sentence(LabelSaving(80, 80, "none"), []) == "No source is used, so none saves any labels."
