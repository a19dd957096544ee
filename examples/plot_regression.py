"""
A regression with five sources
==============================

Friedman's function, with other coefficients in each source. gapBoostR is compared with boosting on the target,
boosting on everything, and TrAdaBoost.R2.
"""

# %%
# The problem comes with the library. There are fifteen splits, and the base learners are regression trees.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from gapmin import AdaBoostRegressor, GapBoostRegressor, TrAdaBoostRegressor
from gapmin.datasets import make_friedman_transfer

problem = make_friedman_transfer()
print(problem)
tree = DecisionTreeRegressor(max_depth=6, random_state=0)
common = {"estimator": tree, "n_estimators": 15, "resample": True, "random_state": 0}
models = {
    "AdaBoost.R2, target": AdaBoostRegressor(train_on="target", **common),
    "AdaBoost.R2, both": AdaBoostRegressor(train_on="both", **common),
    "TrAdaBoost.R2": TrAdaBoostRegressor(**common),
    "gapBoostR": GapBoostRegressor(**common),
}
errors = {name: [] for name in models}
for split in problem.splits(15):
    for name, model in models.items():
        predicted = model.fit(split.X, split.y, sample_domain=split.sample_domain).predict(split.X_test)
        errors[name].append(np.sqrt(np.mean((predicted - split.y_test) ** 2)))

# %%
# A point is a split, a line the mean.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for k, values in enumerate(errors.values()):
    ax.scatter(values, np.full(len(values), k), s=22, alpha=0.6, color=f"C{k}", linewidth=0)
    ax.plot([np.mean(values)] * 2, [k - 0.3, k + 0.3], color="#222222")
ax.set_yticks(range(len(errors)), errors)
ax.invert_yaxis()
ax.set_xlabel("root mean squared error on target rows that did not train")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
