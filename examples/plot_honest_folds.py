"""
Why folds must hold target rows only
====================================

Ordinary cross-validation mixes source rows into the test folds. The score then says how well the model does on the
source, which nobody asked. :class:`TargetKFold <gapmin.domains.TargetKFold>` tests on target rows only and always
trains on every source row.
"""

# %%
# A target of 60 rows and a source of 600 that follows another rule and is easier to predict.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score

from gapmin import TargetKFold, stack_domains


def domain(rng, n, coefficients, noise):
    X = rng.normal(size=(n, 5))
    return X, (X @ coefficients + rng.normal(scale=noise, size=n) > 0).astype(int)


ours, theirs = np.array([1.0, 1, 0, 0, 0]), np.array([1.0, 0, 1, 0, 0])
estimates = {"KFold on all rows": [], "TargetKFold": [], "new target rows": []}
for seed in range(30):
    rng = np.random.default_rng(seed)
    target, source = domain(rng, 60, ours, noise=1.0), domain(rng, 600, theirs, noise=0.1)
    X_new, y_new = domain(rng, 5000, ours, noise=1.0)
    X, y, sample_domain = stack_domains(target=target, sources=[source])
    model = LogisticRegression()
    mixed = cross_val_score(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    honest = cross_val_score(model, X, y, cv=TargetKFold(5), groups=sample_domain)
    estimates["KFold on all rows"].append(mixed.mean())
    estimates["TargetKFold"].append(honest.mean())
    estimates["new target rows"].append(model.fit(X, y).score(X_new, y_new))

# %%
# Thirty draws of the rows. The mixed folds promise an accuracy that no new target row will see.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.boxplot(list(estimates.values()), orientation="horizontal", widths=0.55, medianprops={"color": "#D55E00"})
ax.set_yticks(range(1, 4), estimates)
ax.invert_yaxis()
ax.set_xlabel("accuracy")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
for name, values in estimates.items():
    print(f"{name:18s} {np.mean(values):.2f}")
