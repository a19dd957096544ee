"""Check the docstrings of public names with numpydoc: every parameter and attribute is described.

python tools/check_docstrings.py   # exit with 1 and a line for each finding

A definition is checked once, wherever it is inherited. What a class has from scikit-learn or PyTorch is theirs.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "_ext"))
from public_names import MODULES, methods, public

ERRORS = {
    "GL08": "has no docstring",
    "PR01": "a parameter is missing",
    "PR02": "an unknown parameter is described",
    "PR07": "a parameter has no description",
}
"""Of numpydoc's, by code. Attributes are checked below: numpydoc does not look at them."""

THOSE_OF_ANOTHER = re.compile(r"Parameters(?:,| and) .*those of|Parameters are those of|[Aa]s `gapmin", re.DOTALL)
"""How a docstring says that another class describes its parameters."""


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
    attributes = (
        get_doc_object(value, config={"show_class_members": False})["Attributes"] if inspect.isclass(value) else []
    )
    described = {name for each in attributes for name in each.name.split(", ")}
    for code, message in validate(path)["errors"]:
        if code == "PR01":
            names = set(re.findall(r"'([^']+)'", message)) - described  # a record takes its attributes
            names = {name for name in names if not name.startswith("_")}
            if not names or THOSE_OF_ANOTHER.search(inspect.getdoc(value) or ""):
                continue
            message = f"{', '.join(sorted(names))} not documented"
        if code in ERRORS:
            found.append(f"{path}: {code}: {message}")
    if attributes:
        for attribute in attributes:
            if not "".join(attribute.desc).strip():
                found.append(f"{path}: attribute {attribute.name!r} has no description")
    return found


def main() -> int:
    for module in MODULES:
        import_module(module)
    found = [line for path, value in definitions() for line in findings(path, value)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
