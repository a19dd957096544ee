"""Write what the commands of the README print into the README, so that it shows what a reader will see.

python tools/renew_readme.py           # run the commands, write README.md
python tools/renew_readme.py --check   # run them, and exit with 1 if README.md shows something else

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

README = Path(__file__).resolve().parents[1] / "README.md"
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


def renewed(text: str) -> str:
    """Return the README with what its commands print today."""
    block = rf"(?<={re.escape(SHOWN)}\n```\n).*?(?=\n```\n)"
    if len(re.findall(block, text, re.DOTALL)) != 1:
        raise ValueError(f"there is not one block after {SHOWN}: put the comment on the line before the block")
    shown = excerpt(printed(commands(text))["compare"])
    return re.sub(block, lambda _: shown, text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    text = README.read_text(encoding="utf-8")
    new = renewed(text)
    if "--check" not in arguments:
        README.write_text(new, encoding="utf-8")
        return 0
    difference = [*unified_diff(text.splitlines(), new.splitlines(), "README.md", "what is printed", lineterm="")]
    if difference:
        print("\n".join([*difference, "README.md shows what is not printed: run python tools/renew_readme.py"]))
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
