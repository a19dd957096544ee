"""Excel workbooks: the values of the first sheet, and nothing that a hostile file could do."""

import datetime
import sys
import zipfile

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
openpyxl = pytest.importorskip("openpyxl")

from gapmin.study import TableError, read_study, read_table  # noqa: E402
from gapmin.study import _excel as excel_module  # noqa: E402


def write_sheets(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def refused(path):
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path} ")


def test_values_of_the_first_sheet(tmp_path):
    day = datetime.datetime(2020, 1, 2)
    rows = [
        ["size", "town", "new", "day", "mixed"],
        [1.5, "Köln", True, day, 1],
        [2, " Bonn ", False, day, "?"],
        [None, "#N/A", True, None, 3.5],
    ]
    path = write_sheets(tmp_path / "flats.xlsx", Mieten=rows, other=[["x"], [1]])
    table = read_table(path)
    assert table.name == "flats"
    assert table.notes == (f"{path} has 2 sheets: read 'Mieten', the first",)
    frame = table.frame
    np.testing.assert_array_equal(frame["size"], [1.5, 2.0, np.nan])
    assert frame["town"].tolist()[:2] == ["Köln", "Bonn"]
    assert frame["town"].isna().tolist() == [False, False, True]
    assert frame["new"].tolist() == [True, False, True]
    assert frame["day"].dtype.kind == "M"
    assert frame["mixed"].tolist() == [1, "?", 3.5]


def test_a_workbook_and_a_csv_make_the_same_study(tmp_path):
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame(
            {"a": rng.normal(size=30).round(3), "b": rng.choice(["x", "y"], size=30), "y": rng.normal(size=30)}
        )
        for _ in range(2)
    ]
    for name, frame in zip(("t", "s"), frames, strict=True):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        write_sheets(tmp_path / f"{name}.xlsx", sheet=[list(frame.columns), *frame.to_numpy(dtype=object).tolist()])
    texts, books = (read_study(tmp_path / f"t.{end}", [tmp_path / f"s.{end}"], "y") for end in ("csv", "xlsx"))
    assert texts.schema == books.schema
    pd.testing.assert_frame_equal(texts.target[0], books.target[0])
    np.testing.assert_allclose(texts.sources["s"][1], books.sources["s"][1])


def test_empty_rows_and_columns(tmp_path):
    rows = [[], [None, None], ["a", None, "b"], [1, None, 2], [None], [3, None, 4, None]]
    table = read_table(write_sheets(tmp_path / "a.xlsx", sheet=rows))
    assert table.frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert "1 column without a name and without values: dropped" in table.notes[0]
    assert refused(write_sheets(tmp_path / "b.xlsx", sheet=[])).startswith("is empty")
    assert refused(write_sheets(tmp_path / "c.xlsx", sheet=[["a", "b"]])).startswith("has a header but no rows")


def test_a_formula_is_never_computed(tmp_path):
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a", "b"], ['=WEBSERVICE("http://localhost")', 1], [None, 2]])
    assert read_table(path).frame["a"].isna().all()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"hello"])
def test_what_is_no_workbook(write, content):
    assert refused(write("a.xlsx", content)).startswith("is no whole Excel workbook (")


def change_member(path, name, change):
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return path


SHEET = "xl/worksheets/sheet1.xml"


def test_damaged_workbooks(tmp_path):
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a"], [1]])
    assert refused(change_member(path, SHEET, lambda xml: xml[: len(xml) // 2])).startswith(
        "is no whole Excel workbook"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(tmp_path, encoding):
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a"], [1]])
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><worksheet>&b;</worksheet>'
    said = refused(change_member(path, SHEET, lambda xml: bomb.encode(encoding)))
    assert said == "has XML that Excel does not write: open it in Excel and save it again"


def test_a_workbook_that_inflates_too_far(tmp_path):
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a"], [1]])
    assert "which is too many for its size" in refused(change_member(path, SHEET, lambda xml: xml + b" " * 2**27))


def test_cells_far_away_do_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(excel_module, "_FEWEST_CELLS", 20_000)
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a", "b"], [1, 2]])

    def far(xml):
        rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (k, k) for k in range(3, 9))
        return xml.replace(b"</sheetData>", rows + b"</sheetData>")

    assert "cells, most of them empty: delete empty columns and rows" in refused(change_member(path, SHEET, far))


def test_a_wrong_extent_loses_nothing(tmp_path):
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a", "b"], [1, 2], [3, 4]])
    wrong = change_member(path, SHEET, lambda xml: xml.replace(b'ref="A1:B3"', b'ref="A1"'))
    assert read_table(wrong).frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_openpyxl_is_asked_for(tmp_path, monkeypatch):
    path = write_sheets(tmp_path / "a.xlsx", sheet=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[excel\]"'):
        read_table(path)


@pytest.mark.parametrize("name", [None, SHEET, "xl/workbook.xml", "xl/styles.xml"])
def test_changed_bytes_end_in_a_table_or_one_line(tmp_path, name):
    rng = np.random.default_rng(0)
    rows = [["a", "b", "day"], *([k, f"word {k}", datetime.datetime(2020, 1, 1 + k)] for k in range(5))]
    whole = write_sheets(tmp_path / "whole.xlsx", sheet=rows)

    def change(content):
        changed = bytearray(content)
        for place in rng.integers(0, len(changed), size=rng.integers(1, 5)):
            changed[place] = rng.integers(0, 256)
        return bytes(changed)

    refusals = []
    for _ in range(25):
        path = tmp_path / "changed.xlsx"
        path.write_bytes(whole.read_bytes() if name else change(whole.read_bytes()))
        if name:
            change_member(path, name, change)
        try:
            read_table(path)
        except TableError as error:
            refusals.append(str(error))
    assert refusals
    assert not any("\n" in each for each in refusals)
