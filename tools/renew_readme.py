"""Write what the commands of the README print into the pages that show it, so that a reader will see the same.

python tools/renew_readme.py           # run the commands, write the pages
python tools/renew_readme.py --check   # run them, and exit with 1 if a page shows something else

All blocks that begin with `gapmin` are run, in one folder. The block after the comment SHOWN has what `gapmin compare`
prints: the table of the sources, and all from the decision on.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = (README, ROOT / "docs" / "start" / "index.md")
SHOWN = "<!-- Written by tools/renew_readme.py -->"
WIDTH = 80


def commands(text: str) -> list[str]:
    r"""Return the commands of the blocks that begin with `gapmin`.

    Examples
    --------
    >>> commands("Run\n```\ngapmin example cars && cd cars\ngapmin compare\n```\nand\n```\nls\n```\n")
    ['gapmin example cars', 'cd cars', 'gapmin compare']
    """
    blocks = re.findall(r"^```\n(gapmin .*?)\n```$", text, re.DOTALL | re.MULTILINE)
    return [command for block in blocks for line in block.split("\n") for command in line.split(" && ")]


def printed(lines: list[str]) -> dict[str, str]:
    """Run the commands in an empty folder, and return what each prints."""
    said = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for line in lines:
            program, *arguments = shlex.split(line)
            if program == "cd":
                folder /= arguments[0]
                continue
            if program != "gapmin":
                raise ValueError(f"{line!r} is neither cd nor gapmin: write it in a block of its own")
            said[arguments[0]] = subprocess.run(
                [sys.executable, "-m", "gapmin", *arguments],
                cwd=folder,
                env={**os.environ, "COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"},
                check=True,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            ).stdout
    return said


def excerpt(said: str) -> str:
    r"""Return the table of the sources and all from the decision on.

    Examples
    --------
    >>> excerpt("note\n\n   verdict  rows\n-----\nnorth  use\n\nmore\n\nDecision: Use north. \nNext: fit\n")
    '   verdict  rows\n-----\nnorth  use\n...\nDecision: Use north.\nNext: fit'
    """
    lines = [line.rstrip() for line in said.rstrip().splitlines()]
    first = next(k for k, line in enumerate(lines) if line.split()[:2] == ["verdict", "rows"])
    decision = next(k for k, line in enumerate(lines) if line.startswith("Decision:"))
    return "\n".join([*lines[first : lines.index("", first)], "...", *lines[decision:]])


def renewed(text: str, shown: str) -> str:
    """Return a page with what is printed today in its block."""
    block = rf"(?<={re.escape(SHOWN)}\n```\n).*?(?=\n```\n)"
    if len(re.findall(block, text, re.DOTALL)) != 1:
        raise ValueError(f"there is not one block after {SHOWN}: put the comment on the line before the block")
    return re.sub(block, lambda _: shown, text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    shown = excerpt(printed(commands(README.read_text(encoding="utf-8")))["compare"])
    n_stale = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = renewed(text, shown)
        if "--check" not in arguments:
            page.write_text(new, encoding="utf-8")
        elif new != text:
            n_stale += 1
            name = page.relative_to(ROOT).as_posix()
            print("\n".join(unified_diff(text.splitlines(), new.splitlines(), name, "what is printed", lineterm="")))
    if n_stale:
        print("pages show what is not printed: run python tools/renew_readme.py")
    return 1 if n_stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
