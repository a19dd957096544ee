"""
Weights that make the gap small
===============================

:class:`gapmin.linear.GapWeightingClassifier` chooses weights so that the loss and the performance gap are small. A
weight may belong to a source, to a group of rows, or to a row. Here the groups are the months of a source whose
labels got worse.
"""

# %%
# A target of 60 rows, and six months of a source with 100 rows each. In the first month all labels are right, in
# the last half of them are reversed.

import matplotlib.pyplot as plt
import numpy as np

from gapmin import stack_domains
from gapmin.linear import GapWeightingClassifier

shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def rows(rng, n, reversed_share):
    X = rng.normal(size=(n, 5))
    y = X[:, 0] - X[:, 1] + rng.normal(scale=0.5, size=n) > 0
    return X, np.where(rng.random(n) < reversed_share, ~y, y)


rng = np.random.default_rng(0)
months = [rows(rng, 100, share) for share in shares]
source = np.vstack([X for X, _ in months]), np.concatenate([y for _, y in months])
X, y, sample_domain = stack_domains(target=rows(rng, 60, 0), sources=[source])
month = np.concatenate([np.zeros(60, dtype=int), np.repeat(np.arange(1, 7), 100)])

# %%
# A fifth of all weight goes to the source. The penalty `lam2` says how far it is spread: with a small one, the
# best month takes all; with a larger one, worse months get some too.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for lam2 in (100.0, 300.0, 1000.0, 3000.0):
    clf = GapWeightingClassifier(level="group", lam2=lam2, random_state=0)
    clf.fit(X, y, sample_domain=sample_domain, sample_group=month)
    ax.plot(range(6), [clf.group_weight_[1, number] for number in range(1, 7)], marker="o", label=f"lam2 = {lam2:g}")
ax.set_xticks(range(6), [f"month {k}\n{share:.0%}" for k, share in enumerate(shares, start=1)])
ax.set(xlabel="month, and the share of its labels that are reversed", ylabel="weight of the month")
ax.set_ylim(bottom=0)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
