"""Number the statements and the algorithm lines of the paper from its LaTeX source, and compare docs/paper with them.

python tools/number_paper.py paper.tex   # exit with 1 where statements.csv or algorithm_lines.csv differ from it

One counter runs through all theorem-like environments, as in the published PDF. Each command is a line.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "paper"
STATEMENT = re.compile(
    r"\\begin\{(definition|theorem|remark|lemma|corollary|proposition)\}(?:\[.*?\])?[ ]*(?:\\label\{(\w+)\})?"
)
ALGORITHM = re.compile(r"\\begin\{algorithmic\}.*?\\end\{algorithmic\}", flags=re.DOTALL)
COMMAND = re.compile(r"\\(STATE|FOR|ENDFOR|IF|ENDIF)\b")


def statements(source: str) -> list[tuple[str, str, str]]:
    """Return number, kind and label ("" for none) of each statement."""
    found = STATEMENT.findall(source)
    return [(str(number), kind.capitalize(), label) for number, (kind, label) in enumerate(found, start=1)]


def algorithm_lines(source: str) -> list[tuple[str, str, str]]:
    """Return algorithm, line and command of each line."""
    return [
        (str(algorithm), str(line), command)
        for algorithm, body in enumerate(ALGORITHM.findall(source), start=1)
        for line, command in enumerate(COMMAND.findall(body), start=1)
    ]


def kept(name: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return these columns of a file of docs/paper."""
    with (FOLDER / name).open(newline="") as file:
        return [tuple(row[column] for column in columns) for row in csv.DictReader(file)]


def main() -> int:
    source = re.sub(r"(?<!\\)%.*", "", Path(sys.argv[1]).read_text())
    pairs = {
        "statements.csv": (statements(source), kept("statements.csv", ("number", "kind", "label"))),
        "algorithm_lines.csv": (
            algorithm_lines(source),
            kept("algorithm_lines.csv", ("algorithm", "line", "command")),
        ),
    }
    differ = False
    for name, (printed, ours) in pairs.items():
        missing, extra = [row for row in printed if row not in ours], [row for row in ours if row not in printed]
        print(f"{name}: {len(printed)} in the source, {len(ours)} here; missing {missing}, not in the source {extra}")
        differ |= printed != ours
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
