"""Count lines of code: no blank line, no comment, no docstring.

python tools/count_code.py                  # src/ and benchmarks/league together
python tools/count_code.py src/gapmin/deep  # any files and folders
python tools/count_code.py --check          # exits with 1 where a file of src/ or docs/architecture.md is too long
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

DEFAULT = ("src", "benchmarks/league")
MOST_LINES = 421
"""Of a file in src/, blank lines and docstrings counted too."""
ARCHITECTURE = "docs/architecture.md"
MOST_WORDS = 1_800
"""Of `ARCHITECTURE`, which a newcomer should read in one sitting."""
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Return how many lines hold code."""
    with_code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            with_code.update(range(token.start[0], token.end[0] + 1))
    return len(with_code - _docstring_lines(ast.parse(text)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Strings that stand alone: of modules, classes and functions, and below attributes."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def too_long() -> list[str]:
    """Return what to do about each file beyond its limit."""
    lines = {file: len(file.read_text().splitlines()) for file in sorted(Path("src").rglob("*.py"))}
    found = [
        f"{file} has {n} lines, more than {MOST_LINES}: move its second idea to a file of its own"
        for file, n in lines.items()
        if n > MOST_LINES
    ]
    words = len(Path(ARCHITECTURE).read_text().split())
    if words > MOST_WORDS:
        found.append(f"{ARCHITECTURE} has {words:,} words, more than {MOST_WORDS:,}: shorten it")
    return found


def main(paths: list[str]) -> None:
    given = [Path(each) for each in paths or DEFAULT if Path(each).exists()]
    files = sorted({file for each in given for file in ([each] if each.is_file() else each.rglob("*.py"))})
    counts = {file: code_lines(file.read_text()) for file in files}
    by_part: Counter[str] = Counter()
    for file, n in counts.items():
        by_part["/".join(file.parts[:3])] += n
    for part, n in by_part.most_common():
        print(f"{n:7,}  {part}")
    longest = max(files, key=lambda file: len(file.read_text().splitlines()))
    print(f"{sum(counts.values()):7,}  in {len(files)} files; the longest is {longest} with", end=" ")
    print(f"{len(longest.read_text().splitlines())} lines in all")


if __name__ == "__main__":
    if "--check" in sys.argv:
        found = too_long()
        print("\n".join(found), end="\n" if found else "")
        sys.exit(1 if found else 0)
    main(sys.argv[1:])
