"""
Where the weight goes, round by round
=====================================

gapBoost takes weight from source rows on which a model of the source and a model of the target disagree. The
displays show the share of the weight that each domain has, and the weight of the rows in disagreement.
"""

# %%
# Both sources follow the rule of the target, but half of the second one's labels are reversed.

import matplotlib.pyplot as plt
import numpy as np

from gapmin import GapBoostClassifier, stack_domains
from gapmin.plotting import DisagreementDisplay, WeightMassDisplay

rng = np.random.default_rng(0)


def domain(n, share_of_flipped_labels):
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(scale=0.5, size=n) > 0
    return X, np.where(rng.random(n) < share_of_flipped_labels, ~y, y)


X, y, sample_domain = stack_domains(target=domain(80, 0), sources=[domain(300, 0), domain(300, 0.5)])
clf = GapBoostClassifier(n_estimators=20, rho_source=-0.5).fit(X, y, sample_domain=sample_domain)

# %%

fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.6), layout="constrained")
fig.get_layout_engine().set(wspace=0.06)
WeightMassDisplay.from_estimator(clf, ax=axes[0])
DisagreementDisplay.from_estimator(clf, ax=axes[1])
plt.show()

# %%
# Left: the second source loses most of its weight. Right: in the end hardly any weight of the sources is on rows in
# disagreement; target rows keep theirs. `mass_history_` has the shares. The first round starts with equal weights for
# all rows.

print("domains:    ", clf.domains_)
print("first round:", clf.mass_history_[0].round(2))
print("last round: ", clf.mass_history_[-1].round(2))
