"""Graphs that pages write as mermaid, ``a --> b`` a line, drawn at build as SVG: no script of another host.

Layers from the longest path, the order within a layer by the mean place of what points to a node.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WIDE, HIGH, GAP, STEP = 104, 30, 26, 74


def layers(arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Return the nodes from top to bottom, each above everything that it points to.

    Examples
    --------
    >>> layers([("a", "b"), ("b", "c"), ("a", "c")])
    [['a'], ['b'], ['c']]
    """
    depth = {name: 0 for pair in arrows for name in pair}
    for _ in depth:
        for above, below in arrows:
            depth[below] = max(depth[below], depth[above] + 1)
    if any(depth[above] >= depth[below] for above, below in arrows):
        raise ValueError("the graph has a circle: leave out one of its arrows")
    rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name, level in depth.items():
        rows[level].append(name)
    for above, row in itertools.pairwise(rows):

        def place(name: str, above: list[str] = above) -> float:
            places = [above.index(a) for a, b in arrows if b == name and a in above]
            return sum(places) / len(places) if places else len(above) / 2

        row.sort(key=place)
    return rows


def draw(arrows: list[tuple[str, str]]) -> str:
    """Return the graph as SVG in the colours of the page."""
    rows = layers(arrows)
    width = max(len(row) for row in rows) * (WIDE + GAP) + GAP
    height = len(rows) * STEP
    middle = {
        name: (width / 2 + (k - (len(row) - 1) / 2) * (WIDE + GAP), level * STEP + HIGH / 2 + 4)
        for level, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    drawn = [
        f'<svg class="graph" role="img" viewBox="0 0 {width} {height}" style="max-width:{width}px">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" class="tip"/></marker></defs>',
    ]
    for above, below in arrows:
        (x0, y0), (x1, y1) = middle[above], middle[below]
        top, bottom = y0 + HIGH / 2, y1 - HIGH / 2
        bend = (bottom - top) / 2
        drawn.append(
            f'<path class="arrow" marker-end="url(#tip)" '
            f'd="M{x0:.0f} {top:.0f} C{x0:.0f} {top + bend:.0f} {x1:.0f} {bottom - bend:.0f} {x1:.0f} {bottom:.0f}"/>'
        )
    for name, (x, y) in middle.items():
        drawn.append(
            f'<rect x="{x - WIDE / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{WIDE}" height="{HIGH}" rx="5"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}">{escape(name)}</text>'
        )
    return "".join([*drawn, "</svg>"])


class Mermaid(SphinxDirective):
    """The part of mermaid that our pages use."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        arrows = []
        for line in self.content:
            above, arrow, below = line.strip().partition(" --> ")
            if arrow:
                arrows.append((above, below))
            elif line.strip() not in ("", "graph TD"):
                raise self.error(f"{line.strip()!r} is not drawn here: write `graph TD` and lines of `a --> b`")
        return [nodes.raw("", f'<div class="graph">{draw(arrows)}</div>', format="html")]


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("mermaid", Mermaid)
    return {"parallel_read_safe": True}
