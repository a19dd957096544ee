"""Links of Markdown pages to files that stand outside of docs/, which the site shows in other places.

A page may link to `../SECURITY.md`, which is a file in the repository and a page of the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MEASURED = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
PAGES = {
    **{f"benchmarks/results/{path.name}": f"measured/{path.stem}" for path in MEASURED},
    "CHANGELOG.md": "development/changelog",
    "CONTRIBUTING.md": "development/contributing",
    "CODE_OF_CONDUCT.md": "development/conduct",
    "README.md": "index",
    "SECURITY.md": "guide/security",
}
"""Files outside of docs/, and the pages that include them."""

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def write_measured(app: Any) -> None:
    """Write a page for each file of measurements, which includes it, and one that lists them."""
    folder = Path(app.srcdir) / "measured"
    folder.mkdir(exist_ok=True)
    names = "\n".join(path.stem for path in MEASURED)
    pages = {}
    for path in MEASURED:
        titled = path.read_text().startswith("# ")
        title = "" if titled else f"# {path.stem.replace('_', ' ').capitalize()}\n\n"
        pages[path.name] = f"{title}```{{include}} ../../benchmarks/results/{path.name}\n```\n"
    about = "# Measurements\n\nWhat the scripts in `benchmarks/` printed, with the machine and the day.\n"
    pages["index.md"] = f"{about}\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def rewrite(app: Any, document: str, content: list[str]) -> None:
    """Point links at pages of the site, and leave out those to folders, which a site has no page for."""
    if document.startswith(("gallery/", "reference/")):
        return
    folder = posixpath.dirname(document)

    def link(match: re.Match[str]) -> str:
        path, fragment = match[1], match[2] or ""
        inside = posixpath.normpath(posixpath.join("docs", folder, path))
        if inside in PAGES:
            return f"](/{PAGES[inside]}.md{fragment})"
        return match[0]

    content[0] = LINK.sub(link, content[0])


def rewrite_included(app: Any, path: Any, document: str, content: list[str]) -> None:
    """Do the same for a page of the top folder, whose links start there."""

    def link(match: re.Match[str]) -> str:
        path, fragment = posixpath.normpath(match[1]), match[2] or ""
        if path in PAGES:
            return f"](/{PAGES[path]}.md{fragment})"
        if path.startswith("docs/"):
            return f"](/{path.removeprefix('docs/')}{fragment})"
        return match[0]

    content[0] = LINK.sub(link, content[0])


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write_measured)
    app.connect("source-read", rewrite)
    app.connect("include-read", rewrite_included)
    return {"parallel_read_safe": True}
