"""List names of classes and constants that are defined in two places of the package, each with another meaning.

Two classes that an underscore alone tells apart have one name.

Exits with 1 where there is one that is not argued below.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"

ARGUED = {
    "_EXAMPLE": "how the command of this file is called",
    "_NEEDS": "the packages that the command of this file needs",
}
"""Names that may stand for several things, and why."""


def main() -> int:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        for name, line in _defined(ast.parse(file.read_text())):
            places[name].append(f"{path}:{line}")
    repeated = {name: where for name, where in sorted(places.items()) if len(where) > 1 and name not in ARGUED}
    for name, where in repeated.items():
        print(f"{name}: {', '.join(where)}")
    return 1 if repeated else 0


def _defined(tree: ast.Module) -> list[tuple[str, int]]:
    """Return the classes of a module, its constants and type aliases, also those behind a condition."""
    found = []
    conditions = [node for node in tree.body if isinstance(node, (ast.If, ast.Try))]
    for node in [*tree.body, *(inner for each in conditions for inner in ast.walk(each))]:
        if isinstance(node, ast.ClassDef):
            found.append((node.name.lstrip("_"), node.lineno))
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [
            each
            for target in targets
            for each in ast.walk(target)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        ]
        found += [(each.id, node.lineno) for each in names if not each.id.startswith("__")]
    return found


if __name__ == "__main__":
    sys.exit(main())
