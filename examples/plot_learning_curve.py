"""
How many labels are the sources worth?
======================================

MNIST is the target and scikit-learn's digits are the source. gapBoost has a lower error than boosting on our rows
alone, and than boosting on everything. With 50 labelled digits of our own it is as good as boosting with 100 of them
alone: here the source is worth some 50 labels.
"""

# %%
# Four numbers of labelled target rows, three random splits of each. gapBoost starts with 80% of the weight on the
# target, and its learners vote with their probabilities.

import matplotlib.pyplot as plt

from gapmin import AdaBoostClassifier, GapBoostClassifier
from gapmin.datasets import load_digits_transfer
from gapmin.plotting import ErrorCurveDisplay

problem = load_digits_transfer("digits")
models = {
    "AdaBoost, target": AdaBoostClassifier(n_estimators=10, train_on="target"),
    "AdaBoost, both": AdaBoostClassifier(n_estimators=10, train_on="both"),
    "gapBoost": GapBoostClassifier(n_estimators=10, target_share=0.8, vote="soft"),
}
sizes = [25, 50, 100, 200]
errors = {name: [] for name in models}
for size in sizes:
    splits = [problem.split(seed, train_size=size) for seed in range(3)]
    for name, model in models.items():
        fitted = [model.fit(s.X, s.y, sample_domain=s.sample_domain).score(s.X_test, s.y_test) for s in splits]
        errors[name].append([100 * (1 - score) for score in fitted])

# %%
# Bars are one standard error over the splits.

display = ErrorCurveDisplay(sizes=sizes, errors=errors).plot()
display.ax_.set_xlabel("labelled target rows")
plt.show()
