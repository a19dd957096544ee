"""
What did the model learn from?
==============================

:func:`gapmin.transfer.explain` answers for a fitted model: how much weight each source has, which columns the
predictions need, and what each hypothesis says of one row.
"""

# %%
# The target has 60 rows. The first source follows the same rule. The second ignores the column that matters most.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from gapmin import TransferClassifierCV, stack_domains
from gapmin.transfer import explain

rng = np.random.default_rng(0)
names = ["age", "pressure", "sugar", "weight"]


def clinic(n, coefficients):
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=names)
    return X, np.where(X @ coefficients + rng.normal(scale=0.5, size=n) > 0, "ill", "well")


target = clinic(60, [0.5, 1, 0, 0])
sources = [clinic(200, [0.5, 1, 0, 0]), clinic(200, [0.5, 0, 0, 1])]
X, y, sample_domain = stack_domains(target=target, sources=sources)
clf = TransferClassifierCV(random_state=0).fit(X, y, sample_domain=sample_domain)
found = explain(
    clf, X, y, sample_domain=sample_domain, source_names=["north", "south"], importance=True, row=X[:1], n_rows=0
)
print(found)

# %%
# Left: the weight of a row of each table; 1 is what it would have if all rows counted the same. Right: by how
# much the held-out loss rises when a column is shuffled, with its 95% interval.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
left.barh([group.name for group in found.sources], [group.ratio for group in found.sources], color="#0072B2")
left.axvline(1, color="#222222", linewidth=1)
left.set_xlabel("weight of a row")
for place, each in enumerate(found.importance):
    right.plot([each.low, each.high], [place, place], color="#D55E00")
    right.plot(each.increase, place, marker="o", color="#D55E00")
right.set_yticks(range(4), [each.name for each in found.importance])
right.axvline(0, color="#222222", linewidth=1)
right.set_xlabel("rise of the held-out loss")
for ax in (left, right):
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
