"""Files that are no tables, and files that claim or inflate to more than a machine holds: one line each."""

import csv
import gzip
import io
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap

import pytest

pd = pytest.importorskip("pandas")

from gapmin.study import TableError, read_study, read_table  # noqa: E402
from gapmin.study import _limits as limits  # noqa: E402
from gapmin.study.inputs import file_sha256  # noqa: E402

MEBIBYTE = 2**20


def refused(path):
    """The message, which is one line and begins with the file."""
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert message.startswith(f"{path} ")
    assert "\n" not in message
    return message.removeprefix(f"{path} ")


def refused_by_a_child(*paths, memory):
    """What a process says of each file that may take so much memory, besides that of the libraries."""
    pytest.importorskip("resource")
    script = """
    import resource, sys
    import pandas, pyarrow.parquet
    from gapmin.study import read_table
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[1]),) * 2)
    for path in sys.argv[2:]:
        try:
            read_table(path)
        except (ValueError, MemoryError) as error:
            print(type(error).__name__, error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(memory), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture
def soon():
    """What waits for ever fails."""

    def stop(*_):
        raise AssertionError("still waiting")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


A_PIPE = "is a pipe, and a table is read more than once: write it to a file first, and name that"


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_what_is_no_regular_file_is_refused_unread(tmp_path, ending):
    pipe = tmp_path / f"pipe{ending}"
    os.mkfifo(pipe)
    assert refused(pipe) == A_PIPE
    zero = tmp_path / f"zero{ending}"
    zero.symlink_to("/dev/zero")
    assert refused(zero) == "is a device: name a file"
    place = tmp_path / f"socket{ending}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        assert refused(place) == "is a socket: name a file"
    loop = tmp_path / f"loop{ending}"
    loop.symlink_to(loop)
    assert refused(loop) == "cannot be read (Too many levels of symbolic links): copy it to another place"
    long = tmp_path / f"{'x' * 300}{ending}"
    assert refused(long) == "cannot be read (File name too long): copy it to another place"


@pytest.mark.usefixtures("soon")
def test_standard_input_and_process_substitution_are_pipes():
    reader, writer = os.pipe()
    try:
        os.write(writer, b"a,b\n1,2\n")
        assert refused(f"/dev/fd/{reader}") == A_PIPE
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.usefixtures("soon")
def test_no_pipe_is_waited_for_by_those_who_read_tables(tmp_path, write):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(TableError, match="is a pipe"):
        read_study(write("a.csv", "a,y\n" + "1,0\n2,1\n" * 10), [pipe], "y")
    with pytest.raises(TableError, match="is a pipe"):
        file_sha256(pipe)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_a_small_file_takes_little_memory_whatever_is_in_it(write):
    pa = pytest.importorskip("pyarrow")
    block = gzip.compress(b"0" * (64 * MEBIBYTE), compresslevel=1)
    line = write("line.csv.gz", block * 48)  # 3 GiB
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 1_000_000]))
    repeats = write("repeats.parquet", parquet({"a": texts, "y": [1] * 20_000}, store_schema=False))  # 20 GB
    assert repeats.stat().st_size < 100_000
    of_line, of_repeats = refused_by_a_child(line, repeats, memory=500 * MEBIBYTE)
    assert of_line.startswith(f"TableError {line} has {line.stat().st_size:,} bytes and inflates to more than ")
    assert of_line.endswith("if that is right, decompress it (gunzip), and name the file that comes out")
    assert of_repeats.startswith(f"TableError {repeats} has {repeats.stat().st_size:,} bytes and a table that takes ")
    assert "more than 268,435,456 in memory, which is too many for its size: give fewer rows" in of_repeats


def test_inflation_is_bounded_by_the_size_from_some_size_on(write, monkeypatch):
    text = "a,b\n" + "1,2\n" * 20_000
    path = write("a.csv.gz", gzip.compress(text.encode()))
    assert len(read_table(path).frame) == 20_000  # a small one may hold what it will
    monkeypatch.setattr(limits, "INFLATED_FLOOR", 1000)
    assert len(text) > 100 * path.stat().st_size
    assert f"inflates to more than {100 * path.stat().st_size:,}, which is too many" in refused(path)
    monkeypatch.setattr(limits, "MOST_INFLATION", 1000)
    assert len(read_table(path).frame) == 20_000
    monkeypatch.setattr(limits, "INFLATED_CEILING", 5000)
    assert "inflates to more than 5,000, which is too many" in refused(path)


def test_long_quoted_fields_are_read(write):
    before = csv.field_size_limit()
    text = "word, " * 33_000
    assert len(text) > 131_072  # what the csv module reads by itself
    frame = read_table(write("a.csv", f'a,b\n1,"{text}"\n2,x\n3,y\n')).frame
    assert frame["b"].tolist() == [text, "x", "y"]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("quote", ['"', ""])
def test_a_field_beyond_all_length(write, quote):
    longest = "x" * MEBIBYTE
    assert read_table(write("a.csv", f"a,b\n1,2\n3,{quote}{longest}{quote}\n")).frame["b"].tolist() == ["2", longest]
    said = refused(write("a.csv", f"a,b\n1,2\n3,{quote}{longest}x{quote}\n"))
    assert said == (
        "has a field of more than 1,048,576 characters in the row of line 3: shorten it, or close a quote that is open "
        "there"
    )


def test_a_quote_left_open_in_a_long_file(write):
    before = csv.field_size_limit()
    said = refused(write("a.csv", 'a,b\n1,"x\n' + "1,2\n" * 300_000))
    assert said.startswith("has a field of more than 1,048,576 characters in the row of line 2: shorten it, or close")
    assert csv.field_size_limit() == before


def test_a_row_beyond_all_length(write, monkeypatch):
    said = refused(write("a.csv", "a,b\n1," + "x" * 2**24))
    assert said == (
        "has a row of more than 16,777,216 characters: break it into lines, a row each, or close a quote that is open"
    )
    monkeypatch.setattr("gapmin.study._text.LONGEST_ROW", 1000)  # the same for one that goes over many lines
    assert refused(write("b.csv", "a,b\n" + '"\n",' * 1000)).startswith("has a row of more than 16,777,216 characters")


def test_too_many_columns(write):
    said = "has 100,001 columns, and at most 100,000 are read: leave out what is not needed"
    assert refused(write("a.csv", "," * 100_000 + "\n" + "," * 100_000 + "\n")) == said


def test_too_many_separators_at_the_end_of_a_line(write):
    """As many fields as one line has, pandas makes of every line."""
    text = "a,b\n" + "1,2\n" * 1000 + "1,2" + "," * 1001 + "\n"
    assert refused(write("a.csv", text)) == "has 1,001 separators too many at the end of line 1,002: remove them"


def test_bytes_that_are_no_text_inside_a_quoted_field(write):
    said = refused(write("a.csv", b"a,b\n" + b"1,2\n" * 2000 + b'1,"x\n\0y"\n'))
    assert said.startswith("holds binary data, not a table of text")


def test_a_label_as_long_as_a_book(write):
    """Classes are held in an array of texts, each row of which takes as much as the longest."""
    rows = "".join(f"{k % 7},{'no' if k % 2 else 'yes'}\n" for k in range(20))
    long, short = write("long.csv", f"a,y\n{rows}1,{'x' * 1001}\n"), write("short.csv", f"a,y\n{rows}")
    with pytest.raises(TableError) as caught:
        read_study(long, [short], "y")
    assert str(caught.value) == (
        f"{long} has a label of 1,001 characters at row 21 below the header in column 'y', more than 1,000: name a "
        "column of classes with label="
    )
    study = read_study(short, [long], "y")
    assert len(study.sources["long"][1]) == 20
    assert any("dropped 1 row of a class that the target does not have" in note for note in study.notes)


def test_no_memory_is_one_line(write, monkeypatch):
    path = write("a.csv", "a\n1\n")

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("gapmin.study.reading.inspect_text", full)
    assert refused(path) == "does not fit into memory: give fewer rows or columns"


# Parquet


def parquet(columns, **options):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, **options)
    return buffer.getvalue()


def with_footer(content, change):
    """The file with its metadata changed."""
    size = struct.unpack("<I", content[-8:-4])[0]
    footer = change(content[-8 - size : -8])
    return content[: -8 - size] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def number(value):
    """A number as the metadata has it: seven bits a byte, twice the value for its sign."""
    rest, out = 2 * value, b""
    while rest > 127:
        rest, out = rest >> 7, out + bytes([128 | rest & 127])
    return out + bytes([rest])


@pytest.mark.parametrize("claim", [200_000_000, 5_000_000_000, 2**62])
def test_parquet_that_claims_billions_of_rows(write, claim):
    def claimed(footer):
        assert footer.count(number(12_345)) >= 4  # in all, in the group, and in each column
        return footer.replace(number(12_345), number(claim))

    content = parquet({"a": [1.5] * 12_345, "y": ["u"] * 12_345})
    said = refused(write("a.parquet", with_footer(content, claimed)))
    assert "bytes and a table that takes more than 268,435,456 in memory, which is too many for its size" in said


def test_parquet_columns_that_are_dropped_are_not_even_read(write):
    content = parquet({"a": [b"some bytes"] * 50, "a.b": list(range(50))}, compression="gzip", use_dictionary=False)
    page = content.index(b"\x1f\x8b")  # the first column's
    path = write("a.parquet", content[: page + 12] + b"\xff" * 8 + content[page + 20 :])
    table = read_table(path)
    assert table.frame.to_dict("list") == {"a.b": list(range(50))}
    assert table.notes == (f"{path} has lists, records or bytes in column 'a': dropped",)


def test_texts_of_all_kinds_in_parquet(write):
    pa = pytest.importorskip("pyarrow")
    texts = ["é", None, "b", "é"] * 700
    columns = {
        "short": pa.array(texts),
        "large": pa.array(texts, pa.large_string()),
        "category": pa.array(texts).dictionary_encode(),
        "a.b": pa.array(texts),
        "a": list(range(2800)),
    }
    frame = read_table(write("a.parquet", parquet(columns, row_group_size=1000))).frame
    assert frame["short"].dtype == frame["large"].dtype == frame["a.b"].dtype == pd.Series(["é"]).dtype
    for name in ("short", "large", "category", "a.b"):
        assert frame[name].astype(object).fillna("-").tolist() == [text or "-" for text in texts], name
    assert frame["a"].tolist() == list(range(2800))


def test_a_damaged_name_in_parquet(write):
    content = parquet({"price": [1.0, 2.0]}, store_schema=False)
    path = write("a.parquet", with_footer(content, lambda footer: footer.replace(b"price", b"pr\xff\xfee")))
    assert refused(path).startswith("is no whole Parquet file (")


def test_a_damaged_text_in_parquet(write):
    content = parquet({"a": ["Köln", "Bonn"], "y": [1, 2]}, compression="none")
    path = write("a.parquet", content.replace("ö".encode(), b"\xff\xfe"))
    assert refused(path).startswith("is no whole Parquet file (In column 0: Invalid")


def test_too_many_columns_in_parquet(write, monkeypatch):
    monkeypatch.setattr(limits, "MOST_COLUMNS", 2)
    path = write("a.parquet", parquet({"a": [1], "b": [1], "c": [1]}))
    assert refused(path) == "has 3 columns, and at most 2 are read: leave out what is not needed"
