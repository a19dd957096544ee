"""
How far is a source? The performance gap
========================================

The performance gap is what the best linear model of one domain loses on the other. :func:`gapmin.gap.gap_test` says
whether it is larger than chance would make it, if rows were divided between the domains at random.
"""

# %%
# Cars that accelerate fast are the target. Medium and slow cars are the sources.

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from gapmin.datasets import load_thirds
from gapmin.gap import gap_test
from gapmin.linear import InstanceWeightingRegressor
from gapmin.plotting import GapDisplay

split = load_thirds("autompg")[0].split(0)
X = StandardScaler().fit_transform(split.X)
y = (split.y - split.y.mean()) / split.y.std()

fig, axes = plt.subplots(1, 2, figsize=(10, 2.8), layout="constrained")
for ax, (number, name) in zip(axes, {1: "medium cars", 2: "slow cars"}.items()):
    rows = (split.sample_domain < 0) | (split.sample_domain == number)
    data = {"X": X[rows], "y": y[rows], "sample_domain": split.sample_domain[rows]}
    model = InstanceWeightingRegressor(gamma=0.5).fit(**data)
    chance = gap_test(model, **data, n_permutations=99, random_state=0)
    GapDisplay.from_estimator(model, ax=ax)
    ax.set_xlim(0, 0.42)
    ax.set_title(f"{name}: gap {model.gap_.value:.2f}, p = {chance.p_value:.2f}")
plt.show()

# %%
# The gap has a part for each domain: what the source's model loses on the target, and the target's on the source.
# With equal numbers of rows, the larger the gap, the farther the source. A small p-value says that the gap is more
# than chance. It does not say that the source harms. Whether it helps is for the evidence to say.
