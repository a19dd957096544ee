"""Check the docstrings of public names with numpydoc: parameters, attributes and what is returned are described.

python tools/check_docstrings.py   # exit with 1 and a line for each finding

A definition is checked once, wherever it is inherited. What a class has from scikit-learn or PyTorch is theirs. A
method whose first line begins with "Return" or "Yield" needs no section for that; a function does.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from sklearn.base import BaseEstimator, ClassifierMixin

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "_ext"))
from public_names import MODULES, methods, public

ERRORS = {
    "GL08": "has no docstring",
    "PR01": "a parameter is missing",
    "PR02": "an unknown parameter is described",
    "PR07": "a parameter has no description",
    "RT01": "a function returns something, and there is no section Returns",
    "RT03": "what is returned has no description",
}
"""Of numpydoc's, by code. Attributes are checked below: numpydoc does not look at them."""

OF_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}


def definitions() -> Iterator[tuple[str, object]]:
    """Yield the path of every public class, function and method, each definition once."""
    seen = set()
    for module in MODULES:
        for name, value in public(module).items():
            paths = [(f"{module}.{name}", value)]
            if inspect.isclass(value):
                paths += [(f"{module}.{name}.{each}", getattr(value, each, None)) for each in methods(value)]
            for path, each in paths:
                defined = (getattr(each, "__module__", module), getattr(each, "__qualname__", path))
                if callable(each) and defined not in seen:
                    seen.add(defined)
                    yield path, each


def findings(path: str, value: object) -> list[str]:
    """Return what is wrong with a docstring."""
    found = []
    is_method = "." in getattr(value, "__qualname__", "")
    says = (inspect.getdoc(value) or "").startswith(("Return ", "Yield "))
    attributes = (
        get_doc_object(value, config={"show_class_members": False})["Attributes"] if inspect.isclass(value) else []
    )
    described = {name for each in attributes for name in each.name.split(", ")}
    for code, message in validate(path)["errors"]:
        if code == "PR01":
            names = set(re.findall(r"'([^']+)'", message)) - described  # a record takes its attributes
            names = {name for name in names if not name.startswith("_")}
            if not names:
                continue
            message = f"{', '.join(sorted(names))} not documented"
        if code == "RT01" and is_method and says:
            continue
        if code in ERRORS:
            found.append(f"{path}: {code}: {message}")
    for attribute in attributes:
        if not "".join(attribute.desc).strip():
            found.append(f"{path}: attribute {attribute.name!r} has no description")
    if inspect.isclass(value) and issubclass(value, BaseEstimator):
        no_attributes = OF_SCIKIT_LEARN | (set() if issubclass(value, ClassifierMixin) else {"classes_"})
        for name in sorted(fitted(value) - described - no_attributes):
            found.append(f"{path}: attribute {name!r} is set and not described")
    return found


def fitted(kind: type) -> set[str]:
    """Return the attributes ending in an underscore that the methods of a class, or of its parents, set.

    Examples
    --------
    >>> from gapmin.linear import ParameterSharingClassifier
    >>> sorted(fitted(ParameterSharingClassifier))[:2]
    ['classes_', 'coef_']
    """
    names = set()
    for parent in inspect.getmro(kind):
        if parent.__module__.startswith("gapmin"):
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(parent)))):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.ctx, ast.Store)
                    and ast.unparse(node.value) == "self"
                ):
                    names.add(node.attr)
    return {name for name in names if re.fullmatch(r"[a-z]\w*[a-z0-9]_", name)}


def main() -> int:
    for module in MODULES:
        import_module(module)
    found = [line for path, value in definitions() for line in findings(path, value)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
