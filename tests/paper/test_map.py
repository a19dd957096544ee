"""The map from the paper to the code is complete and true, and every citation has the published number."""

import re
from pathlib import Path

import pytest
from tools.map_paper import PAGE, page, symbols, table, transcription

ROOT = Path(__file__).parents[2]
ITEMS = {row["item"] for row in table("map.csv")}
STATEMENTS = {row["number"]: row for row in table("statements.csv")}
LINES = table("algorithm_lines.csv")


def test_there_are_46_statements_and_96_lines():
    assert list(STATEMENTS) == [str(number) for number in range(1, 47)]
    for algorithm, length in enumerate((21, 22, 6, 15, 18, 14), start=1):
        numbers = [row["line"] for row in LINES if row["algorithm"] == str(algorithm)]
        assert numbers == [str(line) for line in range(1, length + 1)]


def test_every_statement_and_line_is_in_the_map_and_nothing_else():
    wanted = {*STATEMENTS, *(f"{row['algorithm']}.{row['line']}" for row in LINES)}
    assert wanted == ITEMS


@pytest.mark.parametrize("path", sorted({row["path"] for row in table("map.csv")}))
def test_every_symbol_exists(path):
    named = {row["symbol"] for row in table("map.csv") if row["path"] == path}
    assert named <= symbols(path).keys()


@pytest.mark.parametrize("algorithm", "123456")
def test_every_line_is_transcribed_in_the_printed_order(algorithm):
    _, found = transcription(algorithm)
    rows = [row for row in LINES if row["algorithm"] == algorithm]
    assert {line: text for line, (_, text) in found.items()} == {row["line"]: row["text"] for row in rows}
    places = [found[row["line"]][0] for row in rows]
    assert places == sorted(places)


def test_the_page_is_that_of_the_tables_and_line_numbers_point_at_the_code(tmp_path):
    assert PAGE.read_text() == page(PAGE, lines=False)
    at = symbols("src/gapmin/boosting/gapboost.py")["_GapBoost._log_factor"]
    assert "def _log_factor" in (ROOT / "src/gapmin/boosting/gapboost.py").read_text().split("\n")[at - 1]
    assert f"boosting/gapboost.py#L{at})" in page(ROOT / "build" / "map.md", lines=True)


FILES = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
FILES += [path for folder in ("src", "tests", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py")]
FILES += [path for path in (ROOT / "docs").rglob("*.md") if "research" not in path.parts]
CITED = re.compile(
    r"\b(definition|theorem|remark|lemma|corollary|proposition)s?[ _](\d+)\b(?!\.\d)(?: \(`(\w+)`)?",
    flags=re.IGNORECASE,
)
NAMED_OTHERWISE = {"proposition_2"}
"""Public functions whose names have the number that Proposition 40 has in the source of the paper."""


def test_every_citation_has_the_published_number_and_label():
    wrong = []
    for path in FILES:
        for kind, number, label in CITED.findall(path.read_text() if path != Path(__file__) else ""):
            statement = STATEMENTS.get(number, {"kind": "none", "label": ""})
            named = f"{kind}_{number}" in NAMED_OTHERWISE
            if not named and (statement["kind"] != kind.capitalize() or label not in ("", statement["label"])):
                wrong.append(f"{path.relative_to(ROOT)}: {kind} {number} {label} is {statement}")
    assert not wrong, "\n".join(wrong)


def test_every_correction_is_a_row_of_the_fidelity_page_with_the_print_beside_it():
    rows = set(re.findall(r"^\| (\w+) \|", (ROOT / "docs" / "fidelity.md").read_text(), flags=re.MULTILINE))
    marked = set()
    for path in sorted((ROOT / "docs" / "paper").glob("*.py")):
        comments = re.findall(r"# (corrections?\b.*)", path.read_text())
        assert comments
        for comment in comments:
            names = re.fullmatch(r"corrections? (\w+)(?: and (\w+))?; printed: .+", comment)
            assert names, f"{path.name} does not say which row and what is printed: {comment}"
            marked.update(filter(None, names.groups()))
    assert marked <= rows
    boosting = {"1", "4b", "6", "9", "9b", "9c", "10", "11", "11b", "11c"}
    assert boosting | {"D1", "D2", "D3", "D4", "D7", "D10", "D20", "D21b"} == marked
