"""
Six sources, and not all of them help
=====================================

:func:`rank_sources <gapmin.transfer.rank_sources>` weighs the evidence for each source and fits no final model.
"""

# %%
# The target has 40 rows. Two sources are like it, and a third has noisier labels. One has other coefficients, one
# has random labels, and one has reversed labels.

import matplotlib.pyplot as plt
import numpy as np

from gapmin import rank_sources
from gapmin.plotting import EvidenceDisplay

rng = np.random.default_rng(1)
coefficients = np.array([1.0, -1.0, 0.5, 0.0])


def domain(n, coefficients, noise=0.7):
    X = rng.normal(size=(n, 4))
    return X, X @ coefficients + rng.normal(scale=noise, size=n)


target = domain(40, coefficients)
sources = {
    "like ours": domain(150, coefficients),
    "like ours, small": domain(30, coefficients),
    "noisy labels": domain(150, coefficients, noise=2.5),
    "other coefficients": domain(150, coefficients[::-1]),
    "random labels": domain(150, 0 * coefficients),
    "reversed labels": domain(150, -coefficients),
}

# %%

evidence = rank_sources(target, sources, random_state=0)
print(evidence.headline())
evidence.to_frame()

# %%
# Between the dashed lines, at odds of 19 to 1, no source is used or left out. Good sources share the odds: a model
# without one of them can still use the other.

EvidenceDisplay.from_evidence(evidence)
plt.show()
