import ast
import re
from dataclasses import replace

import numpy as np
import pytest

from gapmin.reporting import render_html, write_html
from gapmin.study import StudyFiles
from gapmin.study.methods import MODEL, TARGET_ONLY
from gapmin.study.model import StudyFile
from gapmin.study.page import python_code, study_report
from gapmin.study.page_tables import confusion_table, evidence_table, score_table
from gapmin.transfer.importance import ColumnImportance
from gapmin_support.comparisons import EVIL, made_comparison

FILES = StudyFiles(f"{EVIL}.csv", ("a 'b' \"c\".csv", "$x$.parquet"), EVIL, drop=("id",), max_source_rows=500)
MADE_WITH = (
    StudyFile("target", EVIL, f"{EVIL}.csv", 100, "0" * 64),
    StudyFile("source", "old", "old.csv", 9, "1" * 64),
)
MINUS = "\N{MINUS SIGN}"


def page_of(comparison):
    return render_html(study_report(comparison, FILES, MADE_WITH, f"gapmin compare --target {EVIL}.csv"))


def words_beside_tables(text):
    for part in ("style", "table", "pre", "nav", "svg"):
        text = re.sub(rf"<{part}\b.*?</{part}>", " ", text, flags=re.DOTALL)
    return len(re.sub(r"<[^>]*>", " ", text.split("<body>")[1]).split())


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("transfers", [True, False])
def test_the_page_has_a_box_first_and_at_most_seven_sections(task, transfers):
    comparison = made_comparison(task, transfers=transfers)
    text = page_of(comparison)
    assert text.index('class="box"') < text.index("<h2>")
    for part in (comparison.summary.decision, comparison.summary.effect, *comparison.summary.next_steps):
        assert part.replace("<", "&lt;").replace(">", "&gt;") in text
    assert text.count("<h2>") <= 7
    assert words_beside_tables(text) <= 900
    assert "its recall is 0" in text
    assert "0" * 64 in text
    assert re.search(r"Versions: gapmin \S+, Python 3\.\d+", text)
    assert ("what would take about 200" in text) == transfers
    assert ("Predicted against actual" in text) == (task == "regression")
    assert ("ROC AUC" in text.split("<dl")[0] or "predicted no" in text) == (task == "classification")


def test_a_quick_comparison_says_so_on_its_page():
    comparison = replace(
        made_comparison(), simplified=("No nesting.", "No curve."), protocol="not nested", importance=(), curve=None
    )
    text = page_of(comparison)
    assert "<dt>Simplified</dt>" in text
    assert "not nested" in text
    assert "What the model uses" not in text
    assert "folds of the target" not in text, "they are of the nested cross-validation"
    assert f"{comparison.n_splits} folds of the target" in page_of(made_comparison())


def test_names_are_shown_as_text_everywhere():
    text = page_of(made_comparison())
    assert "<script" not in text.lower()
    assert text.count("&lt;script&gt;alert(1)") >= 10
    assert "a" * 60 in text, "no name is cut"


def test_tables_say_what_was_found():
    comparison = made_comparison()
    table = evidence_table(comparison.evidence)
    found = {str(row[0]): [str(entry) for entry in row] for row in table.rows}
    assert found["old"] == ["old", "use", "1,001", "40 to 1", "+6.0 ± 1.0", "50%"]
    assert found["a" * 60] == ["a" * 60, "leave out", "1,003", "1 to 10,000+", "none", "50%"]
    about_source, about_verdict = table.notes
    assert about_source == f"{'a' * 60}: its labels look reversed"
    assert about_verdict.startswith("not needed beside the others: helps alone")
    rows = {str(row[0]): [str(entry) for entry in row] for row in score_table(comparison).rows}
    assert rows[TARGET_ONLY] == [TARGET_ONLY, "30.0%", "20.0% to 40.0%", "", ""]
    assert rows[MODEL] == [MODEL, "10.0%", "0.0% to 20.0%", f"{MINUS}20.0", f"{MINUS}30.0 to +20.0"]
    counts = [int(str(entry)) for row in confusion_table(comparison.details).rows for entry in row[1:3]]
    assert sum(counts) == 100


def test_the_code_is_python_that_names_the_files():
    code = python_code(made_comparison("regression"), FILES)
    tree = ast.parse(code)
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {FILES.target, *FILES.sources, EVIL, 500} <= strings
    assert "drop=['id']" in code
    assert "random_state=0" in code
    assert "task=" not in code


def test_the_code_does_what_the_page_says(tmp_path, capsys):
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    for name, n_rows in (("t", 14), ("s", 30)):
        X = rng.normal(size=(n_rows, 2))
        lines = [f"{a:.3f},{b:.3f},{a + b:.3f}\n" for a, b in X]
        (tmp_path / f"{name}.csv").write_text("a,b,y\n" + "".join(lines))
    files = StudyFiles(str(tmp_path / "t.csv"), (str(tmp_path / "s.csv"),), "y")
    made_here: dict[str, object] = {}
    exec(python_code(made_comparison("regression"), files, {"scoring": "r2", "quick": True}), made_here)
    found = made_here["found"]
    assert capsys.readouterr().out == f"{found.headline}\n"
    assert found.result.metric.name == "R squared"
    assert made_here["model"].evidence == found.evidence
    assert made_here["model"].evidence.metrics == ("R squared",)
    page = found.report(tmp_path / "report.html").read_text()
    for option in ("quick=True", "scoring=&#39;r2&#39;"):
        assert option in page


def test_notes_keep_the_names_of_files_as_they_are():
    page = render_html(study_report(replace(made_comparison("regression"), notes=("north/a.csv is not UTF-8",))))
    assert "north/a.csv is not UTF-8" in page
    assert "source rows, drawn at random" not in page


def test_a_fall_has_the_sign_that_numbers_have_elsewhere():
    importance = (ColumnImportance("size", -0.226, -0.3, -0.1),)
    page = render_html(study_report(replace(made_comparison("regression"), importance=importance)))
    assert "\N{MINUS SIGN}0.226" in page
    assert "-0.226<" not in page


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_in_a_browser_nothing_runs_and_everything_fits(chromium, tmp_path, width, scheme, task):
    report = study_report(made_comparison(task), FILES, MADE_WITH, "gapmin compare")
    path = write_html(report, tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints, dialogs = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    assert (complaints, dialogs) == ([], [])
    assert page.locator("script").count() == 0
    assert EVIL in page.locator("h1").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.scrollWidth") <= width
    assert page.evaluate(_SMALLEST_TEXT) >= 11
    wide = page.locator("figure.chart").first.bounding_box()["width"]
    assert wide >= 0.85 * min(width, 76 * 16) - 6 * 16, "charts use the width of the page"
    for selector, ground in (("pre.code code", "pre.code"), (".box dd", ".box"), ("td.number", "body")):
        assert _contrast(page, selector, ground) >= 7
    assert _contrast(page, ".plot .s0", "body") >= 3
    page.close()


_SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll('figure *')]
    .filter(each => [...each.childNodes].some(node => node.nodeType == 3 && node.textContent.trim()))
    .map(each => parseFloat(getComputedStyle(each).fontSize)))"""


def _contrast(page, selector, ground):
    """Of an element's ink on its ground, as WCAG has it."""
    colors = page.evaluate(
        """([selector, ground]) => [getComputedStyle(document.querySelector(selector)).color,
                                    getComputedStyle(document.querySelector(ground)).backgroundColor]""",
        [selector, ground],
    )
    rgb = np.array([[int(part) for part in re.findall(r"\d+", color)[:3]] for color in colors]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (light + 0.05) / (dark + 0.05)
