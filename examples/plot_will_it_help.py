"""
Will this other data help me?
=============================

Thirty Japanese cars have a known fuel consumption. There are also European cars, American cars, and a fleet whose
labels are litres per 100 km instead of miles per gallon. :func:`gapmin.compare` says which of them to use.
"""

# %%
# The tables
# ----------
# ``gapmin example cars`` writes the same rows as CSV files. Here they are pandas frames.

import io

import matplotlib.pyplot as plt
import pandas as pd

import gapmin
from gapmin.datasets.examples import cars
from gapmin.plotting import EvidenceDisplay

tables = {name: pd.read_csv(io.StringIO(text)) for name, text in cars().files.items() if name.endswith(".csv")}
target = tables["target.csv"]
sources = {name: tables[f"{name}.csv"] for name in ("europe", "usa", "fleet")}
target.head()

# %%
# The question
# ------------
# ``quick=True`` leaves out the second, outer cross-validation. The verdicts are the same, and the scores may be a
# little too good.

found = gapmin.compare(target, sources, label="mpg", quick=True)
print(found.headline)

# %%
# One row for each source. The Bayes factor is the odds for the source: all models that use it against all that do
# not. The evidence, in nats, is for the source alone beside the target.

found.to_frame()

# %%
# The odds decide. Right of the dashed line on the right means *use*, left of the one on the left *leave out*. The odds
# for usa fall just short of the line.

EvidenceDisplay.from_evidence(found.evidence)
plt.show()

# %%
# The model
# ---------
# ``fit`` returns the model that was judged. It predicts rows of a new table.

model = found.fit()
predicted = model.predict(tables["new.csv"])
error = ((predicted - tables["new-answers.csv"]["mpg"]) ** 2).mean() ** 0.5
print(f"Root mean squared error on {len(predicted)} new cars: {error:.1f} miles per gallon")
