import csv
import io
import os
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from gapmin.plotting import ErrorCurveDisplay, Figure, SurfaceDisplay
from gapmin.reporting import Entry, RowGroup, Section, Table, to_csv, to_markdown, write_section
from gapmin.reporting import html as html_module
from gapmin.reporting.terminal import to_rich

PAPER = Entry("6.86", "±0.20", best=True, printed="7.68 ±0.25")


def _table():
    news = RowGroup("20 Newsgroups", [[Entry("comp | sci"), PAPER, Entry("8.00")]], [[Entry("average"), *[PAPER] * 2]])
    office = RowGroup("Office-Caltech", [[Entry("A <b>"), Entry("1.00"), Entry("2.00", printed="3.00")]])
    rank = [[Entry("rank"), Entry("1.0"), Entry("2.0")]]
    header = ["", "gapBoost", "Ada_Boost_"]
    return Table("Errors", header, summary=rank, groups=[news, office], notes=["20 splits | paired"])


def _curve():
    errors = {"a": [[10, 20], [4, 6]], "gapBoost": [[12, 12], [6, 6]]}
    return Figure(ErrorCurveDisplay(sizes=[0.1, 0.8], errors=errors).plot, "It falls.", 'Error "by" <share>')


def _surface():
    return Figure(SurfaceDisplay(x=[0.1, 0.5], y=[0.0, 1.0], errors=np.eye(2)).plot, "Low.", "Surface")


def _printed(shown, width=100):
    from rich.console import Console

    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(to_rich(shown))
    return console.file.getvalue()


def _cells(line):
    """The cells of a line as GitHub reads it: an escaped bar is no border."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_shows_ours_beside_the_papers_in_groups():
    lines = to_markdown(_table()).splitlines()
    assert lines[0] == "**Errors**"
    rows = [_cells(line) for line in lines if line.startswith("|")]
    assert {len(row) for row in rows} == {3}
    assert rows[1] == [":---", "---:", "---:"]
    assert rows[2] == ["**20 Newsgroups**", "", ""]
    assert rows[3] == [r"comp \| sci", "**6.86** ±0.20 (7.68 ±0.25)", "8.00"]
    assert [row[0] for row in rows[4:]] == ["*average*", "**Office-Caltech**", r"A \<b>", "*rank*"]
    assert rows[6][2] == "2.00 (3.00)"
    assert lines[-3:] == ["In parentheses: the value that the paper printed.", "", r"20 splits \| paired"]


def test_markdown_says_nothing_of_parentheses_where_there_are_none():
    plain = Table("t", ["", "x"], [[Entry("a"), Entry("1")]], numeric=False)
    assert "parentheses" not in to_markdown(plain)
    assert "|:---|:---|" in to_markdown(plain)


def test_markdown_reads_names_as_they_are_written():
    text = to_markdown(Section("MNIST_M, *all*", ["_x_ and `y` and a\\b", "one\n two"], ["[a](b)"]))
    assert text.splitlines()[0] == r"## MNIST_M, \*all\*"
    assert r"\_x\_ and \`y\` and a\\b" in text
    assert "one two" in text
    assert r"- [a\](b)" in text


def test_markdown_links_each_figure_to_its_file():
    section = Section("Curves", figures=[_curve(), _surface()])
    assert "](<two.svg>)" in to_markdown(section, ["one.svg", "two.svg"])
    assert "![" not in to_markdown(section)
    with pytest.raises(ValueError, match="1 file names for 2 figures"):
        to_markdown(section, ["one.svg"])


def test_csv_has_a_line_for_each_entry():
    lines = list(csv.DictReader(io.StringIO(to_csv([_table(), _table()]))))
    assert len(lines) == 2 * 2 * 4
    first = {
        "table": "Errors",
        "group": "20 Newsgroups",
        "row": "comp | sci",
        "column": "gapBoost",
        "value": "6.86",
        "detail": "±0.20",
        "printed": "7.68 ±0.25",
        "best": "true",
        "summary": "false",
    }
    assert lines[0] == first
    assert [(line["row"], line["group"]) for line in lines[:8] if line["summary"] == "true"] == [
        *[("average", "20 Newsgroups")] * 2,
        *[("rank", "")] * 2,
    ]


def test_a_ragged_row_of_a_group_is_refused():
    with pytest.raises(ValueError, match="1 entries under 2 column names"):
        Table("t", ["a", "b"], groups=[RowGroup("g", [], [[Entry("1")]])])


def test_terminal_shows_the_papers_values_below_ours():
    lines = [line.split() for line in _printed(_table()).splitlines()]
    ours = lines.index(["comp", "|", "sci", "6.86±0.20", "8.00"])
    assert lines[ours - 1] == ["20", "Newsgroups"]
    assert lines[ours + 1] == ["paper", "7.68±0.25"]
    assert lines[ours + 2] == ["average", "6.86±0.20", "6.86±0.20"]
    assert lines[-1] == ["20", "splits", "|", "paired"]
    assert "paper" not in _printed(Table("t", ["", "x"], [[Entry("a"), Entry("1")]]))


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_number_is_cut_off_in_a_narrow_terminal(width):
    values = [f"{k}.25" for k in range(11, 19)]
    entries = [Entry(value, "±0.20", printed=f"9{value} ±0.25") for value in values]
    table = Table("t", ["", *(f"method {k}" for k in range(8))], [[Entry("a to b"), *entries]])
    text = _printed(table, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for value in values:
        assert text.count(f" {value}±0.20") == 1
        assert text.count(f" 9{value}±0.25") == 1


def test_a_section_in_the_terminal_has_words_and_tables():
    text = _printed(Section("Table [b]2[/b]", ["Words."], ["A point."], [_table()], [_curve()], ["A note."]))
    assert text.splitlines()[:2] == ["Table [b]2[/b]", "Words."]
    assert "Office-Caltech" in text
    # What was found stands last, where it is still seen below a long table.
    assert [line.rstrip() for line in text.splitlines()[-2:]] == ["- A point.", "A note."]
    assert to_markdown(Section("Words", notes=["A note."])).endswith("\n\nA note.\n")


def test_a_section_is_written_as_files_that_link_to_each_other(tmp_path):
    section = Section("Figure 2", ["Text."], tables=[_table()], figures=[_curve(), _surface()])
    written = write_section(section, tmp_path / "new" / "folder", "figure2")
    names = ["md", "csv", "-1.svg", "-1.png", "-2.svg", "-2.png"]
    assert [path.name.removeprefix("figure2").removeprefix(".") for path in written] == names
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == sorted(path.name for path in written)
    markdown, table, svg, png, *_ = (path.read_bytes() for path in written)
    assert b"](<figure2-1.svg>)" in markdown
    assert table.decode() == to_csv(section.tables)
    assert png.startswith(b"\x89PNG")
    root = ET.fromstring(svg)
    assert root.get("aria-label") == 'Error "by" <share>'
    assert "gapBoost" in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_files_are_the_same_to_the_byte_and_have_no_date(tmp_path):
    section = Section("One", tables=[_table()], figures=[_curve()])
    once, again = (write_section(section, tmp_path / name, "one") for name in ("a", "b"))
    assert [path.name for path in once] == ["one.md", "one.csv", "one.svg", "one.png"]
    for one, two in zip(once, again, strict=True):
        content = one.read_bytes()
        assert content == two.read_bytes()
        assert not re.search(rb"dc:date|tEXt|tIME|<metadata", content)


def test_a_section_of_words_has_one_file(tmp_path):
    assert [path.name for path in write_section(Section("Words", ["Text."]), tmp_path, "words")] == ["words.md"]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="name is"):
        write_section(Section("Words"), tmp_path, name)


def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch):
    section = Section("One", figures=[_curve()])
    (tmp_path / "one.md").write_text("old")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(html_module.os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_section(section, tmp_path, "one")
    assert os.listdir(tmp_path) == ["one.md"]
    assert (tmp_path / "one.md").read_text() == "old"
