"""
Many tasks, one network
=======================

Five clinics measure the same things. Three label their patients by one rule, two by the opposite one, and the last
of each kind has few rows. gapMTNN measures which clinics can teach which, and each learns from the rows of those.
"""

# %%
# The data: `clinic` says which task a row belongs to.

import matplotlib.pyplot as plt
import numpy as np

from gapmin.deep import GapMTNNClassifier, MultitaskClassifier
from gapmin.plotting import RelationDisplay

sizes = {"north": 200, "south": 200, "east": 20, "harbour": 200, "island": 20}


def draw(seed, sizes):
    rng = np.random.default_rng(seed)
    clinic = np.repeat(list(sizes), list(sizes.values()))
    X = rng.normal(size=(len(clinic), 6)).astype(np.float32)
    ill = X[:, 0] + X[:, 1] + rng.normal(scale=0.3, size=len(clinic)) > 0
    opposite = np.isin(clinic, ["harbour", "island"])
    return X, np.where(ill != opposite, "ill", "well"), clinic


X, y, clinic = draw(0, sizes)
X_new, y_new, clinic_new = draw(1, dict.fromkeys(sizes, 500))

# %%
# Row j of the relation says how much the rows of each clinic count for clinic j.

gapmtnn = GapMTNNClassifier(epochs=20, lr=0.01, random_state=0).fit(X, y, sample_task=clinic)
_, ax = plt.subplots(figsize=(4.4, 3.5), layout="constrained")
RelationDisplay.from_estimator(gapmtnn, ax=ax)
plt.show()

# %%
# The two small clinics gain from it. "Uniform" shares the extractor of the network and nothing else.

uniform = MultitaskClassifier("uniform", epochs=20, lr=0.01, random_state=0).fit(X, y, sample_task=clinic)
for name in sizes:
    rows = clinic_new == name
    scores = [m.score(X_new[rows], y_new[rows], sample_task=clinic_new[rows]) for m in (uniform, gapmtnn)]
    print(f"{name:8s} {sizes[name]:4d} rows   Uniform {scores[0]:.1%}   gapMTNN {scores[1]:.1%}")
