"""What is compared: the model, and what it has to be better than."""

BASELINE, TARGET_ONLY, ALL_SOURCES, MODEL = COMPARED = ("baseline", "target alone", "all sources", "the model")

DESCRIPTIONS = {
    BASELINE: "always the most frequent class or the shares of the classes, or the mean",
    TARGET_ONLY: "the same learners without any source",
    ALL_SOURCES: "the same learners with every source, good or bad",
    MODEL: "what gapmin fit builds: sources weighed by the evidence",
}
