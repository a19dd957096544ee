"""The check of docstrings finds what is not described."""

import linecache
import operator
import sys
from importlib import import_module

import pytest

findings = pytest.importorskip("tools.check_docstrings", reason="numpydoc is not installed: make lint").findings

CODE = '''
from sklearn.base import BaseEstimator

class Model(BaseEstimator):
    """A model.

    Parameters
    ----------
    strength : float
        Of the penalty.

    Attributes
    ----------
    coef_ : float
        The coefficient.
    """

    def __init__(self, strength=1.0):
        self.strength = strength

    def fit(self):
        """Fit it.

        Returns
        -------
        self
            The model.
        """
        self.coef_, self._steps_ = 1.0, 3
        return self

    def predict(self):
        """Return the predictions."""
        return self.coef_

def double(x):
    """Double a number.

    Parameters
    ----------
    x : float
        The number.

    Returns
    -------
    float
        The double.
    """
    return 2 * x
'''


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("Model", "coef_, self._steps_", "coef_, self.n_iter_", "attribute 'n_iter_' is set and not described"),
        ("Model", "        The coefficient.\n", "", "attribute 'coef_' has no description"),
        ("Model", "strength=1.0", "strength=1.0, lam=1.0", "PR01: lam not documented"),
        ("Model.fit", "            The model.\n", "", "RT03: Return value has no description"),
        ("Model.predict", "Return the predictions", "Guess", "RT01: No Returns section found"),
        ("double", "    Returns\n    -------\n    float\n        The double.\n", "", "RT01: No Returns section found"),
    ],
)
def test_what_is_not_described_is_found(monkeypatch, tmp_path, name, old, new, said):
    assert old in CODE
    monkeypatch.syspath_prepend(tmp_path)
    for module, code, found in (("gapmin_fine", CODE, []), ("gapmin_made", CODE.replace(old, new), [said])):
        (tmp_path / f"{module}.py").write_text(code)
        monkeypatch.delitem(sys.modules, module, raising=False)
        linecache.checkcache()
        value = operator.attrgetter(name)(import_module(module))
        assert findings(f"{module}.{name}", value) == [f"{module}.{name}: {each}" for each in found]
