"""
How much weight should our own rows have?
=========================================

Weighted pooling is the simplest way to transfer: one model of all rows, with a fixed share of the weight on the
target. The paper's linear setting calls this share gamma. The best share depends on how different the source is.
"""

# %%
# The target has 30 rows, the source 600. We turn the source's coefficients away from the target's by an angle.

import matplotlib.pyplot as plt
import numpy as np

from gapmin import stack_domains
from gapmin.linear import InstanceWeightingClassifier

angles, shares = [0, 30, 60, 90], [0.05, 0.2, 0.4, 0.6, 0.8, 0.95]


def domain(rng, n, degrees):
    X = rng.normal(size=(n, 10))
    rotated = np.cos(np.radians(degrees)) * X[:, 0] + np.sin(np.radians(degrees)) * X[:, 1]
    return X, rotated + rng.normal(scale=0.5, size=n) > 0


errors = np.zeros((len(angles), len(shares)))
for seed in range(20):
    for row, degrees in enumerate(angles):
        rng = np.random.default_rng(seed)
        target, (X_new, y_new) = domain(rng, 30, 0), domain(rng, 3000, 0)
        X, y, sample_domain = stack_domains(target=target, sources=[domain(rng, 600, degrees)])
        for column, share in enumerate(shares):
            model = InstanceWeightingClassifier(gamma=share, lam=0.01).fit(X, y, sample_domain=sample_domain)
            errors[row, column] += 5 * (1 - model.score(X_new, y_new))

# %%
# With a source that is like the target, a small share is best, because the source has many rows. With a source at
# right angles, its rows say nothing about the rule, and the target needs nearly all of the weight.

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for degrees, values in zip(angles, errors):
    best = int(np.argmin(values))
    (line,) = ax.plot(shares, values, marker="o", markersize=4)
    ax.plot(shares[best], values[best], marker="o", markersize=10, color=line.get_color(), fillstyle="none")
    ax.annotate(
        f"{degrees}°", (shares[0], values[0]), xytext=(-8, 0), textcoords="offset points", ha="right", va="center"
    )
ax.set(
    xlabel="share of the weight on the target (ring: lowest error)",
    ylabel="error on new target rows, %",
    xlim=(-0.05, 1),
)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
