"""Methods by name: known without PyTorch, so that results can be shown where it is not."""

from __future__ import annotations

BASELINES = ("AdaBoost_T", "AdaBoost_T&S", "TrAdaBoost", "TransferBoost")
GAPBOOST = "gapBoost"
SOFT = "gapBoost soft"
POOLING = ("pooling 0.5", "pooling 0.8")
TRADABOOST_R2_PRINTED, GAPBOOSTR_PRINTED = "TrAdaBoost.R2 printed", "gapBoostR printed"
REGRESSORS = ("AdaBoost.R2_T", "AdaBoost.R2_T&S", "TrAdaBoost.R2", "gapBoostR")

GAPMTNN = "gapMTNN"
NETWORK_METHODS = ("Uniform", "Weighted", "Adv.H", "Adv.W", "Multi-Obj", "AMTNN", GAPMTNN)
ABLATIONS = ("cls. only", "w/o marginal", "w/o sem. matching", "w/o cvx opt.", "w/o marginal & sem. matching")
PRINTED, EXTRACTOR, WASSERSTEIN = "gapMTNN printed", "gapMTNN extractor", "gapMTNN Wasserstein"

EMBEDDED_DIGITS, FEWER_DIGITS = "Digits, embedded", "Digits, embedded, every fourth row"
