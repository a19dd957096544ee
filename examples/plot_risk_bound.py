"""
What a bound on the risk is made of
===================================

Theorem 6 of the paper bounds the risk on the target by four terms: the loss on the training rows, the distance of
the domains, and two terms that shrink with the number of rows. ``form="sharp"`` is our sharper form of the same
theorem.
"""

# %%
# One rule for target and source, 2,000 to 2,000,000 rows, four fifths of them from the source, half of the weight
# on the target.

import matplotlib.pyplot as plt
import numpy as np

from gapmin.linear import InstanceWeightingClassifier

sizes = [2_000, 20_000, 200_000, 2_000_000]
bounds = []
for n in sizes:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    y = np.where(rng.random(n) < 0.05, X[:, 0] <= 0, X[:, 0] > 0)
    sample_domain = np.where(np.arange(n) < n // 5, -1, 1)
    model = InstanceWeightingClassifier(gamma=0.5, lam=0.1).fit(X, y, sample_domain=sample_domain)
    bounds.append(model.risk_bound(delta=0.05, form="sharp", discrepancy=0.0))

# %%
# The domains are the same here, so the term of their distance is 0. The stability is too small to be seen. Above the
# dotted line the bound says less than was known before any row was seen. Below the dashed line it says that the model
# is better than a guess.

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
bottom = np.zeros(len(sizes))
for k, term in enumerate(bounds[0].terms):
    height = np.array([bound.terms[term] for bound in bounds])
    if height.any():
        ax.bar(range(len(sizes)), height, bottom=bottom, width=0.6, label=term, color=f"C{k}")
        bottom += height
ax.axhline(np.log(2), color="#222222", linestyle="--", linewidth=1, label="a guess")
ax.axhline(bounds[-1].constants["B"], color="#222222", linestyle=":", linewidth=1, label="largest loss there is")
ax.set_xticks(range(len(sizes)), [f"{n:,} rows" for n in sizes])
ax.set_ylabel("bound on the logistic loss")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
for n, bound in zip(sizes, bounds):
    print(f"{n:9,} rows: {bound.total:.2f}")
