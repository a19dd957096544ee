import io
import os
import re
import stat
from html.parser import HTMLParser

import matplotlib.image
import numpy as np
import pytest

from gapmin.plotting import (
    BarsDisplay,
    ErrorCurveDisplay,
    Figure,
    RelationDisplay,
    SensitivityDisplay,
    SurfaceDisplay,
    WeightMassDisplay,
)
from gapmin.reporting import Entry, Report, RowGroup, Section, Table, render_html, write_html
from gapmin.reporting import html as html_module
from gapmin_support.checks import repeats

EVIL = '<script>alert("x")</script>'
VOID = {"meta", "link", "br", "img", "hr", "input"}


def _figure(title="A figure"):
    errors = {f"method {k}": [[30 - k, 31], [20 - k, 22], [10, 11 - k]] for k in range(6)}
    return Figure(ErrorCurveDisplay(sizes=[20, 80, 320], errors=errors).plot, "See that it falls.", title)


@pytest.fixture
def report():
    wide = Table(
        f"A wide table {EVIL}",
        ["", *(f"a rather long method name {k}" for k in range(9))],
        [[Entry(EVIL), *(Entry("12.3", "±0.4", best=k == 2) for k in range(9))]],
        summary=[[Entry("average"), *(Entry("12.3") for _ in range(9))]],
    )
    mass = Figure(WeightMassDisplay(mass=[[0.1, 0.9], [0.4, 0.6]], domains=[-1, 1]).plot, EVIL, EVIL)
    return Report("A report", f"Headline {EVIL}", [Section("Numbers", [EVIL], [EVIL], [wide], [_figure(), mass])])


@pytest.fixture(scope="module")
def reproduction():
    """As large as a page of a whole paper's tables and figures gets."""

    def row(name, k):
        return [Entry(name), *(Entry(f"{k + j}.25", "±0.20", j == 4, f"1{j}.68 ±0.25") for j in range(8))]

    groups = [
        RowGroup("20 Newsgroups", [row(f"comp vs {k}", k) for k in range(6)], [row("average", 0)]),
        RowGroup(f"Office-Caltech {EVIL}", [row("webcam, dslr and caltech → amazon", 1)], [row("average", 0)]),
    ]
    methods = ["AdaBoost T", "AdaBoost T&S", "TrAdaBoost", "TransferBoost", "gapBoost", "soft", "tuned", "CORAL"]
    table = Table("Errors", ["", *methods], groups=groups, summary=[row("rank", 0)], notes=["20 splits.", EVIL])
    values = np.linspace(0.1, 0.9, 9)
    errors = {name: 30 - k - 20 * values[:, None] + [0.0, 1.0] for k, name in enumerate(methods)}
    times = dict(zip(methods, values, strict=False))
    bars = BarsDisplay(values={"Digits": times, "PACS": times}, unit="time", baseline=1)
    displays = [
        ErrorCurveDisplay(sizes=values, errors=errors),
        SensitivityDisplay(values=values, errors=errors["CORAL"], baselines={"AdaBoost T": 20, "TrAdaBoost": 20.1}),
        SurfaceDisplay(x=values, y=values[:5], errors=np.outer(values[:5], values)),
        *(RelationDisplay(matrix=np.eye(3), names=["MNIST", "MNIST_M", "SVHN"], largest=1) for _ in range(3)),
    ]
    figures = [Figure(display.plot, "See.", f"Figure {k}") for k, display in enumerate(displays)]
    figures.append(Figure(bars.plot, "See.", "Bars", bars.size))
    sections = [Section("Table 2: all", tables=[table]), Section("Figures", figures=figures)]
    return Report("Reproduction", "Ours beside theirs.", [*sections, *(Section("Table 2, all") for _ in range(3))])


class Page(HTMLParser):
    """Collect tags and attributes, and check that every tag that opens is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_well_formed_with_ids_used_once(report):
    page = Page(render_html(report))
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    assert sum(tag == "svg" for tag, _ in page.tags) == 2


def test_references_inside_figures_point_to_ids_of_the_same_figure(report):
    text = render_html(report)
    ids = set(Page(text).ids)
    referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    assert referred
    assert referred <= ids


def test_nothing_is_loaded_from_anywhere(report):
    text = render_html(report)
    for tag, attributes in Page(text).tags:
        assert tag not in {"script", "iframe", "img", "object", "embed"}
        for name in ("src", "href", "xlink:href", "data", "action"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_a_policy_forbids_scripts_and_loading(report):
    head = [tag for tag in Page(render_html(report)).tags if tag[0] == "meta"]
    assert head[0][1] == {"charset": "utf-8"}
    # What stands before the policy is not bound by it.
    assert head[1][1]["http-equiv"] == "Content-Security-Policy"
    directives = dict(part.split(maxsplit=1) for part in head[1][1]["content"].split(";"))
    assert directives == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_text_is_escaped_everywhere(report):
    text = render_html(report)
    assert "<script" not in text.lower()
    assert text.count("&lt;script&gt;") >= 7


def test_table_shows_best_in_bold_with_its_standard_error(report):
    text = render_html(report)
    assert text.count("<strong>12.3</strong>") == 1
    assert text.count("±0.4") == 9


def test_what_the_paper_printed_stands_below_ours(reproduction):
    text = render_html(reproduction)
    assert text.count('<span class="printed">paper 14.68 ±0.25</span>') == 10
    assert text.count("<p>20 splits.</p>") == 1
    heads = [attributes for tag, attributes in Page(text).tags if attributes.get("scope") == "rowgroup"]
    assert [head["colspan"] for head in heads] == ["9", "9"]
    assert "<script" not in text.lower()


def test_many_sections_have_a_table_of_contents(report, reproduction):
    text = render_html(reproduction)
    page = Page(text)
    links = [attributes["href"][1:] for tag, attributes in page.tags if tag == "a"]
    assert links == [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    assert links[:2] == ["section-table-2-all", "section-figures"]
    assert len(page.ids) == len(set(page.ids))
    assert not page.open
    assert "<nav" not in render_html(report)


def test_the_same_report_gives_the_same_page(report):
    assert render_html(report) == render_html(report)


def test_written_whole_with_the_usual_permissions(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_html(report, path) == path
    assert path.read_text(encoding="utf-8") == render_html(report)
    assert os.listdir(tmp_path) == ["report.html"]
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(report, tmp_path, monkeypatch, error):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise error

    monkeypatch.setattr(html_module.os, "replace", fail)
    with pytest.raises(type(error)):
        write_html(report, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_link_stays_a_link(report, tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "report.html"
    link.symlink_to(tmp_path / "there" / "real.html")
    write_html(report, link)
    assert link.is_symlink()
    assert (tmp_path / "there" / "real.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_in_a_browser_the_page_fits_and_its_figures_show(report, tmp_path, chromium, width, scheme):
    path = write_html(report, tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    assert complaints == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    figures = page.locator("figure svg").all()
    assert len(figures) == 2
    for figure in figures:
        assert figure.is_visible()
        box = figure.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 100
        # Dark ink stands on a light card whatever the page's colours.
        card = figure.evaluate("element => getComputedStyle(element.parentElement).backgroundColor")
        assert card == "rgb(255, 255, 255)"
    table = page.locator(".scroll").first
    assert table.evaluate("element => element.scrollWidth >= element.clientWidth")
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", *repeats(["dark"])])
@pytest.mark.parametrize("width", [400, *repeats([1400])])
def test_in_a_browser_a_whole_paper_fits(reproduction, tmp_path, chromium, width, scheme):
    path = write_html(reproduction, tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.scrollWidth") <= width
    figures = page.locator("svg").all()
    assert len(figures) == 7
    for figure in figures:
        assert figure.is_visible()
        box = figure.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 100
    table = page.locator(".scroll").first
    overflow = table.evaluate("element => element.scrollWidth - element.clientWidth")
    if width == 1400:
        assert overflow <= 0  # eight columns with the paper's values need no scrolling on a desk
    else:
        assert overflow > 0
    # Scrolled to the end, the names of the rows and of the groups are where they were.
    names = page.locator("tbody th[scope=row], .group span").all()
    before = [name.bounding_box()["x"] for name in names]
    table.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
    assert [name.bounding_box()["x"] for name in names] == pytest.approx(before, abs=1)
    last = page.locator("tbody tr").nth(1).locator("td").last
    name = page.locator("tbody tr").nth(1).locator("th")
    assert last.bounding_box()["x"] >= name.bounding_box()["x"] + name.bounding_box()["width"] - 1
    for selector in (".printed", ".notes p", ".group span", "nav a"):
        assert _contrast(page, selector) >= 4.5
    page.locator("nav a").nth(1).click()
    assert page.url.endswith("#section-figures")
    page.close()


STYLE = "https://example.invalid/style.css"
HOSTILE = f"""
<script>document.title = "script"</script>
<img src="x:" onerror="document.title = 'handler'">
<svg><script>document.title = "svg"</script></svg>
<iframe srcdoc="<script>parent.document.title = 'frame'</script>"></iframe>
<a id="link" href="javascript:document.title = 'link'">link</a>
<link rel="stylesheet" href="{STYLE}">
"""


@pytest.mark.browser
def test_in_a_browser_no_script_runs_and_nothing_is_loaded_whatever_got_into_the_page(report, tmp_path, chromium):
    text = render_html(report).replace("<main>", f"<main>{HOSTILE}")
    policy = re.search(r"<meta http-equiv[^>]*>", text)[0]
    titles, refusals = {}, {}
    for name, content in {"with": text, "without": text.replace(policy, "")}.items():
        path = tmp_path / f"{name}.html"
        path.write_text(content, encoding="utf-8")
        page = chromium.new_page()
        refused = refusals[name] = {}
        page.on("requestfailed", lambda request, refused=refused: refused.update({request.url: request.failure}))
        page.goto(path.as_uri())
        page.locator("#link").click()
        page.wait_for_timeout(100)
        titles[name] = page.title()
        page.close()
    assert titles["with"] == "A report"
    assert titles["without"] != "A report"  # so the policy it was
    assert refusals["with"][STYLE] == "csp"
    assert refusals["without"].get(STYLE) != "csp"


@pytest.mark.browser
def test_in_a_browser_pictures_show(tmp_path, chromium):
    """A heat map is a picture inside of a figure, and is all of one colour here."""

    def draw(axes):
        axes.imshow(np.full((2, 2, 3), [1.0, 0.0, 0.0]))
        axes.set_axis_off()

    path = write_html(Report("A", "B", [Section("C", figures=[Figure(draw, "See.", "Red")])]), tmp_path / "report.html")
    assert '<image xlink:href="data:image/png' in path.read_text(encoding="utf-8")
    page = chromium.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.as_uri())
    pixels = matplotlib.image.imread(io.BytesIO(page.locator("svg").screenshot()))
    red = (pixels[..., :3] == [1, 0, 0]).all(axis=-1)
    assert red.mean() > 0.3
    assert complaints == []
    page.close()


def _contrast(page, selector):
    """Of an element's ink on the page, as WCAG has it."""
    colors = page.evaluate(
        """selector => [getComputedStyle(document.querySelector(selector)).color,
                        getComputedStyle(document.body).backgroundColor]""",
        selector,
    )
    rgb = np.array([[int(part) for part in re.findall(r"\d+", color)[:3]] for color in colors]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (light + 0.05) / (dark + 0.05)
