"""Draw which part of the package imports which, from the code, into docs/architecture.md.

python tools/draw_imports.py           # write the picture
python tools/draw_imports.py --check   # exit with 1 where the picture is not that of the code
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
START, END = "<!-- imports: made by tools/draw_imports.py -->", "<!-- end of imports -->"
EVERYWHERE = ("_utils", "_version")
"""What every part may import, and most do: arrows to it would hide the others."""


def arrows() -> list[tuple[str, str]]:
    """Return the parts that import one another directly, without what follows from other arrows."""
    graph = grimp.build_graph("gapmin", cache_dir=None)
    parts = sorted(module.partition(".")[2] for module in graph.find_children("gapmin"))
    found = {}
    for part in (each for each in parts if each not in (*EVERYWHERE, "__main__")):
        own = f"gapmin.{part}"
        inside = {own, *graph.find_descendants(own)}
        imported = {
            target.split(".")[1]
            for each in inside
            for target in graph.find_modules_directly_imported_by(each)
            if target.count(".") >= 1 and target not in inside
        }
        found[part] = imported - {part, *EVERYWHERE}
    return [
        (part, other)
        for part, imported in found.items()
        for other in sorted(imported)
        if not any(other in _reached(found, each) for each in imported - {other})
    ]


def _reached(found: dict[str, set[str]], part: str) -> set[str]:
    """Return what a part imports, directly or not."""
    reached: set[str] = set()
    waiting = [part]
    while waiting:
        for each in found.get(waiting.pop(), set()) - reached:
            reached.add(each)
            waiting.append(each)
    return reached


def picture() -> str:
    lines = [f"  {part} --> {other}" for part, other in arrows()]
    return "\n".join([START, "```mermaid", "graph TD", *lines, "```", END])


def main() -> int:
    page = PAGE.read_text()
    if page.count(START) != 1:
        print(f"docs/architecture.md has {page.count(START)} pictures of the imports: leave one")
        return 1
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    wanted = before + picture() + after
    if "--check" in sys.argv:
        if page != wanted:
            print("docs/architecture.md does not show the imports of the code: run python tools/draw_imports.py")
        return int(page != wanted)
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
