"""
A source with reversed labels
=============================

Somebody coded "yes" as 0 and "no" as 1. A model trained on everything would learn the wrong answer. Here the
evidence says so, the source gets no weight, and the error stays that of the target alone.
"""

# %%
# MNIST is the target, with 25 labelled digits, odd or even. The digits of scikit-learn are the source, first as
# they are, then with the labels exchanged.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from gapmin import TransferClassifierCV
from gapmin.datasets import load_digits_transfer

split = load_digits_transfer("digits", binary=True).split(0)
from_source = split.sample_domain > 0
honest, reversed_ = split.y, np.where(from_source, 1 - split.y, split.y)

# %%
# Three models for each source: the target's rows alone, all rows together, and the one that weighs the evidence.

errors = {}
for name, y in {"honest source": honest, "reversed labels": reversed_}.items():
    alone = LogisticRegression(max_iter=1000).fit(split.X[~from_source], y[~from_source])
    together = LogisticRegression(max_iter=1000).fit(split.X, y)
    weighed = TransferClassifierCV(LogisticRegression(max_iter=1000), random_state=0)
    weighed.fit(split.X, y, sample_domain=split.sample_domain)
    models = {"target alone": alone, "all rows together": together, "gapmin": weighed}
    errors[name] = [100 * (1 - model.score(split.X_test, split.y_test)) for model in models.values()]
    source = weighed.evidence_[1]
    print(f"{name}: {source.verdict}, with a weight of {source.weight:.0%}")

# %%
# The error on 4,975 digits that no model has seen.

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
place = np.arange(3)
for k, (name, values) in enumerate(errors.items()):
    bars = ax.bar(place + 0.4 * k - 0.2, values, width=0.38, label=name, color=("#0072B2", "#D55E00")[k])
    ax.bar_label(bars, fmt="%.0f%%")
ax.set_xticks(place, models)
ax.set_ylabel("error on new digits, %")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
