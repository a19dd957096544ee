"""Methods by name: known without PyTorch, so that results can be shown where it is not."""

from __future__ import annotations

BASELINES = ("AdaBoost_T", "AdaBoost_T&S", "TrAdaBoost", "TransferBoost")
GAPBOOST = "gapBoost"
SOFT = "gapBoost soft"
POOLING = ("pooling 0.5", "pooling 0.8")
TRADABOOST_R2_PRINTED, GAPBOOSTR_PRINTED = "TrAdaBoost.R2 printed", "gapBoostR printed"
REGRESSORS = ("AdaBoost.R2_T", "AdaBoost.R2_T&S", "TrAdaBoost.R2", "gapBoostR")

GAPMTNN = "gapMTNN"
NETWORK_BASELINES = ("Uniform", "Weighted", "Adv.H", "Adv.W", "Multi-Obj", "AMTNN")
NETWORK_METHODS = (*NETWORK_BASELINES, GAPMTNN)
ABLATIONS = ("cls. only", "w/o marginal", "w/o sem. matching", "w/o cvx opt.", "w/o marginal & sem. matching")
PRINTED, EXTRACTOR = "gapMTNN printed", "gapMTNN extractor"
PRINTED_ABLATIONS = {name: f"{name}, printed" for name in ABLATIONS[1:]}
"""Those that differ from ours: with the classification loss alone there is nothing left to differ."""
PRINTED_CRITICS = "gapMTNN printed, Wasserstein critics"
DEFAULT = "gapMTNN crossfit, aligned by entropy"
"""The default of `GapMTNN`. A changed default needs another name here, so that results of a former one are never taken
for those of this one."""

OUR_COLUMN = f"{GAPMTNN} (our default)"
NETWORK_COLUMNS = {**{name: name for name in NETWORK_BASELINES}, GAPMTNN: PRINTED, OUR_COLUMN: DEFAULT}
"""The method of each column of Tables 4 to 7. The paper's name alone is the printed method."""

TWO_AND_A_STRANGER = "Digits, two halves and a stranger"
