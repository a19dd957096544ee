import ast
import re
from dataclasses import replace

import numpy as np
import pytest

from gapmin.plotting import MethodComparisonDisplay, WeightMassDisplay, figure_names
from gapmin.reporting import render_html, write_html
from gapmin.study import StudyFiles
from gapmin.study.methods import OURS, POOLED, TARGET_ONLY, method_names
from gapmin.study.page import python_code, study_report
from gapmin.study.page_tables import evidence_table, method_table
from gapmin.study.result import LabelSaving, LearningCurve, MethodError, StudyComparison
from gapmin.study.words import headline
from gapmin.transfer import Evidence, Hypothesis, Score, SourceVerdict

EVIL = "<script>alert(1)</script>"
FILES = StudyFiles(f"{EVIL}.csv", ("a 'b' \"c\".csv", "$x$.parquet"), EVIL, drop=("id",), max_source_rows=500)


def made(task="classification", names=("old", EVIL, "price in $ and $"), transfers=True):
    metric = "error rate" if task == "classification" else "root mean squared error"
    score = {metric: Score(0.2, 0.1, 0.3)}
    said = ("use" if transfers else "no evidence either way", "not needed beside the others", "leave out")
    sources = tuple(
        SourceVerdict(k, name, 1000 + k, verdict, factor, nats, 0.5, ("its labels look reversed",) * (k == 3))
        for k, name, verdict, factor, nats in zip(
            (1, 2, 3), names, said, (40.0, 0.5, 0.0), (6.0, 1.0, -np.inf), strict=True
        )
    )
    sets = [(), (1,), (2,), (3,), (1, 2, 3)]
    hypotheses = tuple(Hypothesis(each, -9.0, 6.0, 5.0, 5.5, 1.0, 0.2, 0.2, score, {"linear": "…"}) for each in sets)
    evidence = Evidence(hypotheses, sources, task, 100, (metric,), score, {metric: Score(-0.05, -0.1, 0.0)}, score)
    methods = tuple(
        MethodError(name, 20.0 - k, 10.0, 30.0, -float(k), -5.0, 5.0, 0.5 if k else 1.0, (20.0 - k,) * 10)
        for k, name in enumerate(method_names(task))
    )
    sizes, drawn = (10, 28, 80), (TARGET_ONLY, *([OURS] if transfers else []), POOLED)
    errors = {method: tuple((30.0 - k - j, 32.0 - k) for j in range(3)) for k, method in enumerate(drawn)}
    return StudyComparison(
        headline=headline(evidence, methods),
        target_name=EVIL,
        label=EVIL,
        task=task,
        n_target=100,
        n_columns=20,
        n_features=25,
        source_sizes=dict.fromkeys(names, 1000),
        evidence=evidence,
        methods=methods,
        gaps={name: {"source": 0.15, "target": 0.05} for name in names},
        curve=LearningCurve(sizes, errors),
        saving=LabelSaving(80, 200, "extrapolated"),
        saving_at_start=LabelSaving(10, 60, "within"),
        mass=tuple((0.1 + k / 40, 0.5 - k / 40, 0.2, 0.2) for k in range(12)),
        notes=(f"dropped column '{EVIL}': a date", "old.csv: 1,000 of its 9,000 rows drawn at random (seed 0)"),
        n_splits=5,
        n_repeats=2,
        random_state=0,
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
    assert "more than 20,000 rows together" in text
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
    table = evidence_table(comparison.evidence)
    found = {str(row[0]): [str(entry) for entry in row] for row in table.rows}
    assert found["old"] == ["old", "use", "1,001", "+6.0", "40", "50%"]
    assert found["price in $ and $"] == ["price in $ and $", "leave out", "1,003", "none", "0", "50%"]
    assert [str(row[0]) for row in table.rows if row[1].best] == ["old"]
    assert list(table.notes) == ["price in $ and $: its labels look reversed"]
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
    assert "model = TransferRegressorCV(aligned=True, random_state=0)\n" in code
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
    evidence = made_here["model"].evidence_.renamed({1: "s"})
    assert capsys.readouterr().out == f"{evidence}\n"
    assert made_here["evidence"] == evidence


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
