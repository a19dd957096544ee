"""What gapmin 0.1 had: one clear error that names the new way."""

import importlib

import pytest

import gapmin


def test_selection_names_transfer():
    with pytest.raises(ImportError, match=r"^gapmin\.selection is gone: import from gapmin\.transfer"):
        importlib.import_module("gapmin.selection")
    with pytest.raises(ImportError, match=r"gapmin\.transfer"):
        importlib.import_module("gapmin.selection.transfer_cv")


def test_the_top_level_has_what_replaced_it():
    for name in ("Evidence", "TransferClassifierCV", "TransferRegressorCV", "rank_sources"):
        assert getattr(gapmin, name).__module__.startswith("gapmin.transfer.")
        assert name in gapmin.__all__


@pytest.mark.parametrize("kind", [gapmin.TransferClassifierCV, gapmin.TransferRegressorCV])
def test_parameters_and_results_name_what_replaced_them(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__} has no parameter n_standard_errors any more: .*prior_odds"):
        kind(n_standard_errors=1)
    with pytest.raises(AttributeError, match="use evidence_"):
        _ = kind().transfer_verdict_
