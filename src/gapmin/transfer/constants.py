"""Every constant of the decision, and the words of the verdicts."""

from __future__ import annotations

Sources = tuple[int, ...]
"""A hypothesis: the numbers of the sources that are used, ascending; empty for the target alone."""

ROWS_BEFORE = 5
"""Rows that count as if the models had seen no target row."""

PRIOR_ALONE = 0.6
"""The prior weight of the target alone."""

PERMUTED_FACTOR = 0.05
"""What is left of the prior of a set with a source whose columns look permuted."""

USE_FROM = 19.0
"""The Bayes factor from which on a source is used."""

LEAVE_OUT_TO = 1 / USE_FROM
"""The Bayes factor down to which a source is left out."""

UNIFORM_SHARE = 0.05
"""Of a uniform guess that probabilities are mixed with, so that no single row decides."""

KIND_RATE = 0.125
"""The weight of a kind of learner in a hypothesis is its likelihood to this power."""

VARIANCE_SCALE = 0.1
"""The scale of the prior of a regression's error variance, in variances of the target's labels."""

SHRINKAGE = 0.5
"""The strength of the penalty on class biases and on the factor of log-probabilities, less 1."""

SMALLEST_WEIGHT = 0.01
"""Hypotheses with less weight are not fitted in the end; their weight goes to the others."""

USE, LEAVE_OUT, UNDECIDED, NOT_NEEDED = VERDICTS = (
    "use",
    "leave out",
    "not enough evidence",
    "not needed beside the others",
)

RECALIBRATED = "recalibrated"
"""The form of a setting that is a model of the sources alone, corrected on the target's rows."""
