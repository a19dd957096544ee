"""Write the map from the paper to the code: every statement and every line of an algorithm, with the files and symbols.

python tools/map_paper.py                     # write docs/paper/map.md, without line numbers
python tools/map_paper.py --check             # exit with 1 where that page is not what the tables and the code give
python tools/map_paper.py --lines build/paper-map.md   # write the page with line numbers, as of the code at hand
"""

from __future__ import annotations

import ast
import csv
import os
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "paper"
PAGE = FOLDER / "map.md"
NAMES = ("gapBoost", "gapBoostR", "gapMTNN, one epoch", "TrAdaBoost", "TransferBoost", "TrAdaBoost.R2")


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of docs/paper."""
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def symbols(path: str) -> dict[str, int]:
    """Return the line of every class, function and method of a file, by dotted name."""
    found = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found[prefix + node.name] = node.lineno
                walk(node.body, f"{prefix}{node.name}.")

    walk(ast.parse((ROOT / path).read_text()).body, "")
    return found


@cache
def transcription(algorithm: str) -> tuple[str, dict[str, tuple[int, str]]]:
    """Return the file of docs/paper with an algorithm, and by printed line where it is and what it says."""
    (file,) = FOLDER.glob(f"algorithm_{algorithm}_*.py")
    joined = re.sub(r"\n *#  +", lambda break_: " \f", file.read_text())  # a line of comment that goes on
    found = {}
    number = 1
    for text in joined.split("\n"):
        if match := re.match(r" *# line (\d+): (.*)", text):
            found[match[1]] = (number, match[2].replace("\f", ""))
        number += 1 + text.count("\f")
    return file.relative_to(ROOT).as_posix(), found


def page(target: Path, lines: bool) -> str:
    """Return the page as it stands at `target`, with or without line numbers."""

    def link(path: str, symbol: str, at: int) -> str:
        address = Path(os.path.relpath(ROOT / path, target.parent)).as_posix()
        return f"[`{symbol}`]({address}#L{at}):{at}" if lines else f"[`{symbol}`]({address})"

    places: dict[str, list[str]] = defaultdict(list)
    for row in table("map.csv"):
        at = symbols(row["path"])[row["symbol"]]
        short = row["path"].removeprefix("src/gapmin/")
        what = f" ({row['what']})" if row["what"] else ""
        places[row["item"]].append(f"{short} {link(row['path'], row['symbol'], at)}{what}")
    made = "with line numbers" if lines else "without line numbers, which `make paper-map` adds as of the code at hand"
    out = ["# From the paper to the code", "", f"Made by `tools/map_paper.py`, {made}.", ""]
    out += ["## The statements", "", "| | label | about | where |", "|---|---|---|---|"]
    for row in table("statements.csv"):
        label = f"`{row['label']}`" if row["label"] else ""
        where = "; ".join(places[row["number"]])
        out.append(f"| {row['kind']} {row['number']} | {label} | {row['about']} | {where} |")
    for row in table("algorithm_lines.csv"):
        file, printed = transcription(row["algorithm"])
        if row["line"] == "1":
            title = f"## Algorithm {row['algorithm']}: {NAMES[int(row['algorithm']) - 1]}"
            out += ["", title, "", "| line | printed | transcribed | in the library |", "|---|---|---|---|"]
        here = link(file, Path(file).name, printed[row["line"]][0])
        text = row["text"].replace("|", "\\|")
        where = "; ".join(places[f"{row['algorithm']}.{row['line']}"])
        out.append(f"| {row['line']} | `{text}` | {here} | {where} |")
    return "\n".join([*out, ""])


def main() -> int:
    if "--lines" in sys.argv:
        target = Path(sys.argv[sys.argv.index("--lines") + 1]).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page(target, lines=True))
        return 0
    wanted = page(PAGE, lines=False)
    if "--check" in sys.argv:
        differs = not PAGE.exists() or PAGE.read_text() != wanted
        if differs:
            print("docs/paper/map.md is not what the tables and the code give: run python tools/map_paper.py")
        return int(differs)
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
