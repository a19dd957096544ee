"""The networks of Tables 4 to 8 by name: known without PyTorch, so that results can be shown where it is not."""

from __future__ import annotations

GAPMTNN = "gapMTNN"
METHODS = ("Uniform", "Weighted", "Adv.H", "Adv.W", "Multi-Obj", "AMTNN", GAPMTNN)
ABLATIONS = ("cls. only", "w/o marginal", "w/o sem. matching", "w/o cvx opt.", "w/o marginal & sem. matching")
PRINTED, EXTRACTOR, WASSERSTEIN = "gapMTNN printed", "gapMTNN extractor", "gapMTNN Wasserstein"
