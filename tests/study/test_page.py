import ast
import re
from dataclasses import replace

import numpy as np
import pytest

from gapmin.plotting import WeightMassDisplay
from gapmin.plotting.method_comparison import MethodComparisonDisplay, figure_names
from gapmin.reporting import render_html, write_html
from gapmin.selection import RankedSource, SourceRanking, TransferVerdict
from gapmin.selection._ranking_result import TOGETHER, Change
from gapmin.study import StudyFiles
from gapmin.study.methods import OURS, POOLED, TARGET_ONLY, method_names
from gapmin.study.page import python_code, study_report
from gapmin.study.page_tables import method_table, ranking_table
from gapmin.study.result import LabelSaving, LearningCurve, MethodError, StudyComparison
from gapmin.study.words import headline

EVIL = "<script>alert(1)</script>"
FILES = StudyFiles(f"{EVIL}.csv", ("a 'b' \"c\".csv", "$x$.parquet"), EVIL, drop=("id",), max_source_rows=500)


def made(task="classification", names=("old", EVIL, "price in $ and $"), transfers=True):
    changes = [Change(-0.1, -0.2, -0.01, 0.01), Change(0.01, -0.1, 0.1, 0.8), Change(0.3, 0.2, 0.4, 0.001)]
    verdicts = ("helps", "neutral", "hurts")
    sources = [
        RankedSource(name, 1000 + k, 0.2, {"source": 0.15, "target": 0.05}, 20.0 + k, change, 0.3, change, 0.6, said)
        for k, (name, change, said) in enumerate(zip(names, changes, verdicts, strict=True))
    ]
    together = RankedSource(TOGETHER, 3003, None, None, 21.0, changes[1], 0.3, changes[1], 0.6, "neutral")
    ranking = SourceRanking(tuple(sources), together, (names[0],), (), 23.4, 0.3, task, 0.9, 100, ())
    methods = tuple(
        MethodError(name, 20.0 - k, 10.0, 30.0, -float(k), -5.0, 5.0, 0.5 if k else 1.0, (20.0 - k,) * 10)
        for k, name in enumerate(method_names(task))
    )
    verdict = TransferVerdict(transfers, "pooling", "…", 0.17, 0.22, 0.1, 0.14, -0.04, -0.07, -0.01, 0.007, 100, 3003)
    used = (names[0],) if transfers else ()
    sizes, drawn = (10, 28, 80), (TARGET_ONLY, *([OURS] if transfers else []), POOLED)
    errors = {method: tuple((30.0 - k - j, 32.0 - k) for j in range(3)) for k, method in enumerate(drawn)}
    return StudyComparison(
        headline=headline(verdict, used, ranking, methods),
        target_name=EVIL,
        label=EVIL,
        task=task,
        n_target=100,
        n_columns=20,
        n_features=25,
        source_sizes=dict.fromkeys(names, 1000),
        ranking=ranking,
        methods=methods,
        verdict=verdict,
        recommended=used,
        weights={"target": 0.5, names[0]: 0.5, names[1]: 0.0, names[2]: 0.0},
        curve=LearningCurve(sizes, errors),
        saving=LabelSaving(80, 200, "extrapolated"),
        saving_at_start=LabelSaving(10, 60, "within"),
        mass=tuple((0.1 + k / 40, 0.5 - k / 40, 0.2, 0.2) for k in range(12)),
        notes=(f"dropped column '{EVIL}': a date", "old.csv: 1,000 of its 9,000 rows drawn at random (seed 0)"),
        n_splits=5,
        n_repeats=2,
        random_state=0,
        max_search_rows=1000,
        fold_search_rows=300,
        seconds=12.0,
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("transfers", [True, False])
def test_the_page_has_every_part_and_the_verdict_first(task, transfers):
    comparison = made(task, transfers=transfers)
    report = study_report(comparison, FILES)
    assert report.headline == comparison.headline
    text = render_html(report)
    assert text.count("<svg") == 5
    for heading in ("Which sources help", "All methods side by side", "The same in Python", "Protocol"):
        assert f"<h2>{heading}</h2>" in text
    assert "<li>Old.csv: 1,000 of its 9,000 rows" in text
    assert ("10 labelled target rows do what would take about 60" in text) == transfers
    assert "at most 300 source rows" in text
    assert re.search(r"Versions: Python 3\.\d+", text)
    assert "The same in Python" not in render_html(study_report(comparison))


def test_names_are_shown_as_text_everywhere():
    text = render_html(study_report(made(), FILES))
    assert "<script" not in text.lower()
    inside = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert inside.count("&lt;script&gt;alert(1)") >= 3
    assert "price in $ and $" in inside


def test_tables_say_what_was_found():
    comparison = made()
    ranked = {str(row[0]): row for row in ranking_table(comparison).rows}
    assert list(ranked) == ["target alone", "old", EVIL, "price in $ and $", TOGETHER]
    assert [entry.best for entry in (ranked["old"][1], ranked[EVIL][1])] == [True, False]
    assert str(ranked["price in $ and $"][1]) == "hurts"
    assert str(ranked[TOGETHER][6]) == "", "no gap was measured"
    rows = {str(row[0]): [str(entry) for entry in row] for row in method_table(comparison).rows}
    assert rows[TARGET_ONLY] == [TARGET_ONLY, "20.0", "10.0 to 30.0", "", "", ""]
    assert rows[OURS] == [
        OURS, "14.0", "10.0 to 30.0", "\N{MINUS SIGN}6.0", "\N{MINUS SIGN}5.0 to +5.0", "0.500"
    ]  # fmt: skip
    bold = [str(row[0]) for row in method_table(comparison).rows if row[1].best]
    assert bold == [OURS]


def test_a_curve_of_one_size_is_no_figure():
    curve = LearningCurve((8,), {TARGET_ONLY: ((30.0, 31.0),), POOLED: ((20.0, 21.0),)})
    comparison = replace(made(), curve=curve)
    assert render_html(study_report(comparison)).count("<svg") == 4


def test_the_code_is_python_that_names_the_files():
    code = python_code(made("regression"), FILES)
    tree = ast.parse(code)
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {FILES.target, *FILES.sources, EVIL, 500} <= strings
    assert "drop=['id']" in code
    assert "    check_columns=False,\n    max_search_rows=1000,\n    random_state=0,\n" in code
    assert "task=" not in code.split("X, y")[0]


def test_the_code_does_what_the_page_says(tmp_path, capsys):
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    for name, n_rows in (("t", 14), ("s", 30)):
        X = rng.normal(size=(n_rows, 2))
        lines = [f"{a:.3f},{b:.3f},{a + b:.3f}\n" for a, b in X]
        (tmp_path / f"{name}.csv").write_text("a,b,y\n" + "".join(lines))
    files = StudyFiles(str(tmp_path / "t.csv"), (str(tmp_path / "s.csv"),), "y")
    made_here: dict[str, object] = {}
    exec(python_code(made("regression"), files), made_here)
    shown = capsys.readouterr().out
    assert shown.startswith("source ")
    assert str(made_here["model"].transfer_verdict_) in shown


def test_long_names_stay_different_and_dollars_are_no_formula():
    names = figure_names(["x" * 30 + "a", "x" * 30 + "b", "$a", "a$b$"])
    assert len(set(names)) == 4
    assert max(map(len, names)) <= 26
    assert names[2:] == [r"\$a", r"a\$b\$"]


def test_displays_draw_each_method_and_each_domain():
    errors = {"target only": (20.0, 15.0, 25.0), "pooled": (17.0, 14.0, 20.0)}
    display = MethodComparisonDisplay(errors=errors, baseline="target only", unit="error", chosen="pooled").plot()
    assert list(display.intervals_["pooled"].get_xdata()) == [14, 20]
    assert display.points_["pooled"].get_color() != display.points_["target only"].get_color()
    with pytest.raises(ValueError, match=r"baseline is 'x', which is no method here: use one of target only, pooled"):
        MethodComparisonDisplay(errors=errors, baseline="x", unit="")
    mass = WeightMassDisplay(mass=[[0.2, 0.8], [0.5, 0.5]], domains=[-1, 1], names=["target", "old"]).plot()
    assert [list(line.get_ydata()) for line in mass.lines_] == [[20, 50], [80, 50]]
    assert [text.get_text() for text in mass.ax_.texts] == ["target", "old"]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_in_a_browser_nothing_runs_and_everything_fits(chromium, tmp_path, width, scheme):
    path = write_html(study_report(made(), FILES), tmp_path / "report.html")
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints, dialogs = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    assert (complaints, dialogs) == ([], [])
    assert page.locator("script").count() == 0
    assert EVIL in page.locator("h1").inner_text()
    assert page.locator("figure svg", has_text=EVIL[:10]).count() >= 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.scrollWidth") <= width
    code = page.locator("pre.code")
    assert "read_study(" in code.inner_text()
    assert code.bounding_box()["width"] <= width
    for selector, ground in (("pre.code code", "pre.code"), (".headline", "body"), ("td.number", "body")):
        assert _contrast(page, selector, ground) >= 7
    page.close()


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
