"""What is compared: the model, and what it has to be better than."""

BASELINE, TARGET_ONLY, ALL_SOURCES, MODEL = COMPARED = ("baseline", "target alone", "all sources", "the model")
