import gzip
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from gapmin.study import TableError, read_table, read_tables  # noqa: E402
from gapmin.study import reading as reading_module  # noqa: E402


def refused(path):
    """The message, which is one line and begins with the file."""
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path)).lstrip()


def columns(path):
    return read_table(path).frame.to_dict("list")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".CSV"])
def test_the_separator_is_found_whatever_the_ending(write, separator, ending):
    others = "".join({",", ";", "|"} - {separator})
    rows = [["x", "y", "z"], ["1.5", f"a{others}b", "3"], ["2.5", "word", "4"]]
    table = read_table(write(f"a{ending}", "".join(separator.join(row) + "\n" for row in rows)))
    assert table.frame.to_dict("list") == {"x": [1.5, 2.5], "y": [f"a{others}b", "word"], "z": [3, 4]}
    assert table.notes == ()


@pytest.mark.parametrize("ending", ["csv.gz", "tsv.gz"])
def test_compressed(write, ending):
    path = write(f"old.{ending}", gzip.compress(b"a\tb\n1\tx\n", mtime=0))
    assert columns(path) == {"a": [1], "b": ["x"]}
    assert read_table(path).name == "old"


def test_parquet_and_csv_give_the_same(tmp_path):
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", "é"], "c": [True, False], "n": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet").frame, read_table(tmp_path / "t.csv").frame)


@pytest.mark.parametrize("content", ["", "\n\n", "  \n", b"\xef\xbb\xbf"])
def test_empty(write, content):
    assert refused(write("a.csv", content)) == "is empty: give a file with a header line and rows below it"


def test_header_only(write, tmp_path):
    assert refused(write("a.csv", "a,b\n\n")) == "has a header but no rows: give a file with rows below the header"
    pd.DataFrame({"a": []}).to_parquet(tmp_path / "a.parquet")
    assert refused(tmp_path / "a.parquet").startswith("has a header but no rows")


def test_duplicate_names(write):
    said = refused(write("a.csv", "a,b, a ,b,c\n1,2,3,4,5\n"))
    assert said == "has more than one column called 'a', 'b': rename or remove all but one"


@pytest.mark.parametrize(
    ("text", "line", "n_fields"),
    [
        ("a,b\n1,2\n3\n4,5\n", 3, "1 field"),
        ("a,b\n1,2\n\n3,4,5\n", 4, "3 fields"),
        ('a,b\n1,"x\ny"\n3,4,5\n', 4, "3 fields"),
    ],
)
def test_ragged_rows_are_refused_with_their_line(write, text, line, n_fields):
    said = refused(write("a.csv", text))
    assert said.startswith(f"has {n_fields} in line {line} but 2 in its header (separated by commas): mend that line")


def test_a_ragged_row_far_down(write):
    text = "a,b\n" + "1,2\n" * 40_000 + "3\n"
    assert refused(write("a.csv", text)).startswith("has 1 field in line 40,002 but 2")


def test_an_open_quote(write):
    assert "look for a quote that is never closed" in refused(write("a.csv", 'a,b\n1,"x\n2,y\n'))


def test_no_such_file(tmp_path, write):
    assert refused(tmp_path / "a.csv") == "is not there: check the name and the folder"
    assert refused(write("b.csv", "a\n1\n") / "c.csv") == "is not there: check the name and the folder"


def test_a_folder(tmp_path):
    assert refused(tmp_path) == "is a folder: name a file in it"
    (tmp_path / "x.csv").mkdir()
    assert refused(tmp_path / "x.csv") == "is a folder: name a file in it"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may read everything")
def test_no_permission(write):
    path = write("a.csv", "a\n1\n")
    path.chmod(0)
    assert refused(path).startswith("may not be read (permission denied)")


def test_no_permission_as_root_too(write, monkeypatch):
    path = write("a.csv", "a\n1\n")

    def forbidden(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(reading_module, "open", forbidden, raising=False)
    assert refused(path) == "may not be read (permission denied): ask its owner, or chmod u+r it"


@pytest.mark.parametrize("name", ["a.xls", "a", "a.json", "a.parquet.gz", "a.gz"])
def test_unknown_endings(write, name):
    assert "which is not known: save it as one of .csv, .tsv" in refused(write(name, "a\n1\n"))


@pytest.mark.parametrize("content", ["hello, this is no Parquet file at all", "", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_parquet_that_is_not_one(write, content):
    said = refused(write("a.parquet", content))
    assert said.startswith("is no whole Parquet file (")
    assert said.endswith("save it again, or copy it again")


def test_damaged_gzip(write):
    whole = gzip.compress(("a,b\n" + "1,2\n" * 5000).encode())
    for damaged in (b"a,b\n1,2\n", whole[: len(whole) // 2], whole[:20] + b"\xff\xff" + whole[22:]):
        assert refused(write("a.csv.gz", damaged)).startswith("is no whole gzip file (")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "holds binary data, not a table of text: save the table as CSV or Parquet"),
        (b"a,b\n" + b"1,2\n" * 5000 + b"\x00,1\n", "holds binary data, not a table of text"),
        (b"PAR1\x00\x00", "is a Parquet file: name it .parquet"),
        (gzip.compress(b"a,b", mtime=0), "is compressed with gzip: name it .csv.gz"),
        (b"PK\x03\x04\x00", "is a zip or Excel file: name it .xlsx, or save its table as CSV"),
    ],
)
def test_files_that_are_no_text(write, content, said):
    assert refused(write("a.csv", content)).startswith(said)


@pytest.mark.parametrize(
    ("encoding", "name", "city"), [("cp1252", "Windows-1252", "Köln, 5 €"), ("latin-1", "Latin-1", "Köln \x81")]
)
def test_files_that_are_not_utf_8(write, encoding, name, city):
    path = write("a.csv", f"city;n\n{city};1\n".encode(encoding))
    table = read_table(path)
    assert table.frame["city"].tolist() == [city]
    assert table.notes == (f"{path} is not UTF-8: read as {name}; save it as UTF-8 if letters look wrong",)


def test_latin_1_far_down(write):
    path = write("a.csv", b"city,n\n" + b"Bonn,1\n" * 30_000 + "Köln,1\n".encode("latin-1"))
    assert read_table(path).frame["city"].iloc[-1] == "Köln"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_no_part_of_a_name(write, encoding):
    assert columns(write("a.csv", "ä,b\n1,é\n".encode(encoding))) == {"ä": [1], "b": ["é"]}


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends(write, end):
    assert columns(write("a.csv", end.join(["a,b", "1,x", "2,y", ""]))) == {"a": [1, 2], "b": ["x", "y"]}


def test_decimal_commas(write):
    path = write("a.csv", "a;b;c\n3,14;1.234,5;x, y\n-2,5;2;z\n")
    table = read_table(path)
    assert table.frame.to_dict("list") == {"a": [3.14, -2.5], "b": [1234.5, 2.0], "c": ["x, y", "z"]}
    assert table.notes == (f"{path} has decimal commas, such as '3,14': read as numbers",)


def test_marks_are_those_of_each_column(write):
    assert columns(write("a.csv", "a;b\n3,14;2.5\n")) == {"a": [3.14], "b": [2.5]}
    assert columns(write("b.csv", "a;b\n3,14;2.5\n4.5;1\n")) == {"a": ["3,14", "4.5"], "b": [2.5, 1]}
    rows = "a;day;ip;part\n1.158,97;01.01.2000;10.0.1.1;0.05\n0,5;02.01.2000;10.0.1.2;2\n"
    assert columns(write("c.csv", rows)) == {
        "a": [1158.97, 0.5],
        "day": ["01.01.2000", "02.01.2000"],
        "ip": ["10.0.1.1", "10.0.1.2"],
        "part": [0.05, 2],
    }
    assert columns(write("e.csv", 'a,list\n2.5,"2,1"\n')) == {"a": [2.5], "list": ["2,1"]}
    assert columns(write("f.csv", "a;b;list\n2.5;1.5;2,1\n")) == {"a": [2.5], "b": [1.5], "list": ["2,1"]}
    rows = 'a,list\n"1,100","2,1,1"\n"20","3,3,1"\n'
    assert columns(write("d.csv", rows)) == {"a": [1100, 20], "list": ["2,1,1", "3,3,1"]}


def test_columns_that_are_asked_for_as_text(write):
    path = write("a.csv", "zip,n,flag\n01,1,true\n,2,false\n")
    frame = read_table(path, ["zip", "flag", "other"]).frame
    assert frame["zip"].iloc[0] == "01"
    assert frame["zip"].isna().tolist() == [False, True]
    assert frame["flag"].tolist() == ["true", "false"]
    assert frame["n"].tolist() == [1, 2]


def test_thousands(write):
    path = write("a.csv", 'a,b\n"1,234",x\n"1,234,567.5",y\n')
    table = read_table(path)
    assert table.frame["a"].tolist() == [1234.0, 1234567.5]
    assert table.notes == (f"{path} has commas between thousands, such as '1,234': read as numbers",)


def test_most_lines_decide_the_separator(write):
    assert columns(write("a.csv", "size, m2, net;price\n50;1\n60;2\n")) == {"size, m2, net": [50, 60], "price": [1, 2]}


def test_a_declared_separator(write):
    assert columns(write("a.csv", "sep=;\na,x;b\n1;2\n")) == {"a,x": [1], "b": [2]}


def test_quotes_and_newlines_in_them(write):
    assert columns(write("a.csv", 'a,"b\nc"\n1,"x, ""y""\nz"\n')) == {"a": [1], "b\nc": ['x, "y"\nz']}


def test_trailing_separators(write):
    path = write("a.csv", "a,b\n1,2,\n3,4,\n")
    assert columns(path) == {"a": [1, 3], "b": [2, 4]}
    assert read_table(path).notes == (f"{path} has separators at the end of 2 lines: ignored",)
    assert columns(write("b.csv", "a,b\n1,2\n3,4,,\n5,6,\n")) == {"a": [1, 3, 5], "b": [2, 4, 6]}
    path = write("b.csv", "a,b,\n1,2,\n3,4,\n")
    assert columns(path) == {"a": [1, 3], "b": [2, 4]}
    assert read_table(path).notes == (f"{path} has 1 column without a name and without values: dropped",)


def test_an_index_column_is_dropped(tmp_path):
    path = tmp_path / "a.csv"
    pd.DataFrame({"a": [5, 6]}, index=[7, 3]).to_csv(path)
    assert columns(path) == {"a": [5, 6]}
    assert read_table(path).notes == (f"{path} has a column without a name that numbers the rows: dropped",)


def test_a_column_without_a_name_that_is_no_index(write):
    path = write("a.csv", ",a\nx,1\ny,2\n")
    assert columns(path) == {"column 1": ["x", "y"], "a": [1, 2]}
    assert "1 column without a name: called column 'column 1'" in read_table(path).notes[0]


def test_spaces_around_names_and_values(write):
    assert columns(write("a.csv", " a , price \n1, x\n")) == {"a": [1], "price": ["x"]}


def test_numbers_for_names(write, tmp_path):
    path = write("a.csv", "400,410\n1,2\n")
    assert list(read_table(path).frame.columns) == ["400", "410"]
    assert read_table(path).notes == (
        f"the columns of {path} are called '400', '410': if it has no header line, add one",
    )
    frame = pd.DataFrame({"400": [1.0], "y": [2.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert list(read_table(tmp_path / "a.parquet").frame.columns) == ["400", "y"]


def test_parquet_index_lists_decimals_and_dates(tmp_path):
    import datetime
    import decimal

    frame = pd.DataFrame(
        {"a": [decimal.Decimal("1.5"), None], "d": [datetime.date(2020, 1, 2)] * 2, "l": [[1], [2]], "b": [b"x", b"y"]}
    )
    path = tmp_path / "a.parquet"
    frame.set_index(pd.Index(["r", "s"], name="who")).to_parquet(path)
    table = read_table(path)
    assert list(table.frame.columns) == ["a", "d", "who"]
    assert table.frame["a"].dtype == np.float64
    assert table.frame["d"].dtype.kind == "M"
    assert table.frame["who"].tolist() == ["r", "s"]
    assert table.notes == (f"{path} has lists, records or bytes in columns 'l', 'b': dropped",)
    frame[["a"]].set_index(pd.Index([9, 4])).to_parquet(path)
    assert list(read_table(path).frame.columns) == ["a"]


def test_duplicate_names_in_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "a.parquet")
    assert refused(tmp_path / "a.parquet").startswith("has more than one column called 'a'")


def test_script_is_text(write):
    name = "<script>alert(1)</script>"
    table = read_table(write("script.csv", f"{name},b\n{name},2\n"))
    assert table.frame[name].tolist() == [name]
    with pytest.raises(TableError, match=re.escape(f"'{name}'")):
        read_table(write("twice.csv", f"{name},{name}\n1,2\n"))


def test_names_are_told_apart(write, tmp_path):
    (tmp_path / "old").mkdir()
    first = write("a.csv", "x,y\n1,2\n")
    second = write("old/a.tsv", "x\ty\n1\t2\n")
    assert [table.name for table in read_tables([first, second])] == [f"{tmp_path.name}/a", "old/a"]
    assert read_table(write("<b>.csv", "x,y\n1,2\n")).name == "<b>"


@pytest.mark.parametrize("n_columns", [1, 40])
def test_a_file_of_several_chunks_reads_as_pandas_reads_it(tmp_path, monkeypatch, n_columns):
    monkeypatch.setattr(reading_module, "_CELLS_AT_ONCE", 1)  # chunks of 1,000 rows
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=3500) for j in range(n_columns)})
    frame["whole"] = np.arange(3500)
    frame["later"] = np.where(frame["whole"] < 2000, np.nan, 1.5)
    frame["half"] = [str(k) if k < 2500 else f"{k}.5" for k in range(3500)]  # whole numbers in the first chunks
    frame["word"] = np.where(frame["whole"] % 7, "é", "b")
    frame["flag"] = frame["whole"] % 2 == 0
    frame["gap"] = pd.Series(np.where(frame["whole"] < 1200, None, "w"), dtype=object)
    frame.to_csv(tmp_path / "a.csv", index=False)
    read = read_table(tmp_path / "a.csv").frame
    pd.testing.assert_frame_equal(read, pd.read_csv(tmp_path / "a.csv"))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_numbers_of_many_chunks_are_held_once(tmp_path):
    """The memory of reading is that of the numbers and of a chunk, not twice that of the numbers."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(400_000, 10)).round(2))
    frame.to_csv(tmp_path / "a.csv", index=False, header=[f"x{j}" for j in range(10)])
    script = """
import re
import sys
import gapmin.study.reading as reading

def peak():  # ru_maxrss begins with what the process had from which this one was started
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])

reading._CELLS_AT_ONCE = 100_000
reading.read_table(sys.argv[2])  # what is made once
before = peak()
frame = reading.read_table(sys.argv[1]).frame
print((peak() - before) / frame.to_numpy().nbytes)
"""
    frame[:20_000].to_csv(tmp_path / "b.csv", index=False, header=[f"x{j}" for j in range(10)])
    command = [sys.executable, "-c", script, str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(said) < 1.4


def test_trailing_separators_in_a_later_chunk(write, monkeypatch):
    monkeypatch.setattr(reading_module, "_CELLS_AT_ONCE", 1)
    frame = read_table(write("a.csv", "a,b\n" + "1,2\n" * 1500 + "3,4,,\n")).frame
    assert frame.sum().tolist() == [1503, 3004]


def test_words_in_a_later_chunk_leave_the_text_as_written(write, monkeypatch):
    monkeypatch.setattr(reading_module, "_CELLS_AT_ONCE", 1)
    path = write("a.csv", "a,b\n" + "007,1\n" * 1500 + "x,2\n")
    assert read_table(path).frame["a"].tolist() == ["007"] * 1500 + ["x"]
    path = write("b.csv", "a,b\n" + "True,1\n" * 1500 + ",2\n")
    read = read_table(path).frame["a"]
    assert (read.iloc[0], read.isna().sum()) == ("True", 1)


def test_the_file_is_not_changed(write):
    path = write("a.csv", "a;b\n1,5;x\n")
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent)))
    read_table(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent))) == before


@settings(deadline=None, max_examples=60)
@given(
    separator=st.sampled_from(",;\t|"),
    cells=st.lists(
        st.tuples(st.text("abé,;|\t\"'\n <>&", min_size=1, max_size=8), st.integers(-5, 5)), min_size=1, max_size=6
    ),
)
def test_what_csv_writes_is_read(tmp_path_factory, separator, cells):
    """Any text survives, in quotes where it must be, up to the spaces before it."""
    import csv

    path = tmp_path_factory.mktemp("round") / "a.csv"
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerows([("text", "number", "more"), *((text, number, "m") for text, number in cells)])
    read = read_table(path).frame
    assert read["number"].tolist() == [number for _, number in cells]
    assert read["text"].fillna("").tolist() == [text for text, _ in cells]
