"""The built site (`make docs`): links lead somewhere, nothing is loaded from elsewhere, pages fit a phone."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "build" / "docs" / "html"
PAGES = sorted(page for page in SITE.rglob("*.html") if "_static" not in page.parts)

pytestmark = pytest.mark.skipif(not PAGES, reason="the site is not built: make docs")


class Found(HTMLParser):
    """Ids, links and what is loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical",) and given.get("href"):
            self.loaded.append(given["href"])


@cache
def found(page: Path) -> Found:
    return Found(page.read_text(encoding="utf-8"))


def test_every_part_is_there():
    names = {page.relative_to(SITE).as_posix() for page in PAGES}
    parts = ("start", "guide", "gallery", "paper", "reference", "development", "research")
    assert {f"{part}/index.html" for part in parts} | {"index.html", "concepts.html"} <= names
    assert len([name for name in names if name.startswith("gallery/plot_")]) >= 12


def test_every_example_can_be_had_as_a_notebook_and_shows_a_picture():
    for page in (SITE / "gallery").glob("plot_*.html"):
        assert any(link.endswith(".ipynb") for link in found(page).links), page.name
        assert re.search(r"_images/sphx_glr_" + page.stem, page.read_text(encoding="utf-8")), page.name


def test_links_within_the_site_lead_to_a_page_and_a_place_on_it():
    broken = []
    for page in PAGES:
        for link in [*found(page).links, *found(page).loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append(f"{page.relative_to(SITE)}: {link}")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in found(target).ids:
                broken.append(f"{page.relative_to(SITE)}: no place {link}")
    assert not broken, "\n".join(broken)


def test_no_page_names_a_resource_elsewhere():
    outside = {
        f"{page.relative_to(SITE)}: {each}"
        for page in PAGES
        for each in found(page).loaded
        if urlsplit(each).netloc and not each.startswith("data:")
    }
    assert not outside


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_pages_ask_for_nothing_elsewhere_and_fit_the_screen(chromium, width, scheme):
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    elsewhere, errors = [], []
    page.on(
        "request",
        lambda request: elsewhere.append(request.url) if not request.url.startswith(("file:", "data:")) else 0,
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    names = [
        "index",
        "concepts",
        "start/index",
        "start/report",
        "guide/tables",
        "gallery/index",
        "gallery/plot_regression",
    ]
    names += [
        "reference/api/gapmin.linear.FeatureTransferClassifier",
        "development/changelog",
        "architecture",
        "search",
    ]
    too_wide = []
    for name in names:
        page.goto((SITE / f"{name}.html").as_uri())
        page.wait_for_load_state("networkidle")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            too_wide.append(name)
    page.close()
    assert not elsewhere
    assert not errors
    assert not too_wide


@pytest.mark.browser
def test_a_block_of_code_is_copied_as_it_can_be_run(chromium):
    page = chromium.new_page()
    problems = []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.add_init_script("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    page.goto((SITE / "start" / "dataframe.html").as_uri())
    first = page.locator("div.highlight", has=page.locator("pre", has_text=">>> ")).first
    first.hover()
    first.locator("button.copy").click()
    copied = page.evaluate("window.copied")
    page.close()
    compile(copied, "copied", "exec")
    assert copied.startswith("import gapmin\n")
    assert "'leave out'" not in copied
    assert not problems
