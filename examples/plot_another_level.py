"""
A source of another level
=========================

Rents in the neighbouring town depend on size in the same way, but the level is twice as high. Pooling the rows
would spoil the predictions. A model of the source, corrected by an offset and a slope on the target's rows, makes
use of them.
"""

# %%
# Twelve flats are ours, 200 are from elsewhere.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from gapmin import TransferRegressorCV, stack_domains

rng = np.random.default_rng(0)


def flats(n, level):
    size, age = rng.uniform(30, 120, size=n), rng.uniform(0, 60, size=n)
    rent = level * (200 + 8 * size - 0.06 * (age - 25) ** 2 * np.sqrt(size)) + rng.normal(scale=60, size=n)
    return np.column_stack([size, age]), rent


X_ours, rent_ours = flats(12, 1.0)
X_theirs, rent_theirs = flats(200, 2.0)
X_new, rent_new = flats(500, 1.0)
X, y, sample_domain = stack_domains(target=(X_ours, rent_ours), sources=[(X_theirs, rent_theirs)])

# %%
# The verdict is about the source as a whole: it helps, although its level is another.

model = TransferRegressorCV(random_state=0).fit(X, y, sample_domain=sample_domain)
print(model.evidence_.headline())

# %%
# What each way of using the rows predicts for 500 new flats, with the root mean squared error.

alone = TransferRegressorCV(random_state=0).fit(X_ours, rent_ours, sample_domain=np.full(12, -1))
pooled = LinearRegression().fit(X, y)
fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), sharex=True, sharey=True, layout="constrained")
for ax, (name, each) in zip(axes, {"target alone": alone, "all rows pooled": pooled, "gapmin": model}.items()):
    predicted = each.predict(X_new)
    error = np.sqrt(np.mean((predicted - rent_new) ** 2))
    ax.scatter(rent_new, predicted, s=6, alpha=0.5, color="#0072B2", linewidth=0)
    ax.plot([200, 1400], [200, 1400], color="#444444", linewidth=1)
    ax.set(title=f"{name}\nerror {error:.0f}", xlabel="true rent")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("predicted rent")
plt.show()
