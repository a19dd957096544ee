"""List what benchmarks, examples, tools and the site import of gapmin's private modules.

import-linter reads the package alone. Exits with 1 where there is an import that is not argued below.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "docs", "examples", "tools")

ARGUED = {
    "benchmarks/bounds.py": "measures single terms of a bound",
    "benchmarks/league/report.py": "rounds numbers as the package's own tables do",
    "benchmarks/linear_speed.py": "times the solvers by themselves",
    "benchmarks/scaling.py": "times the parts of a round",
    "docs/_ext/reference_pages.py": "writes the page of the command line from its commands",
}
"""Files that may, and why."""


def main() -> int:
    found = [
        f"{path}:{line}: {name} is private: import what the package offers"
        for file in sorted(each for folder in FOLDERS for each in (ROOT / folder).rglob("*.py"))
        if (path := file.relative_to(ROOT).as_posix()) not in ARGUED
        for name, line in _private(ast.parse(file.read_text()))
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def _private(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the private modules and names of gapmin that a file imports, with their lines."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            first, *rest = name.split(".")
            if first == "gapmin" and any(each.startswith("_") and not each.startswith("__") for each in rest):
                yield name, node.lineno


if __name__ == "__main__":
    sys.exit(main())
