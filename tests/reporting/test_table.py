import pytest

from gapmin.reporting import Entry, Table, to_rich


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="1 entries under 2 column names"):
        Table("t", ["a", "b"], [[Entry("1")]])


def test_the_caption_of_a_narrow_table_stays_on_its_line():
    from rich.console import Console

    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(to_rich(Table("A caption wider than the table below it", ["", "x"], [[Entry("a"), Entry("1")]])))
    assert console.export_text().splitlines()[0].rstrip() == "A caption wider than the table below it"


@pytest.mark.parametrize("width", [60, 80])
def test_words_in_a_column_of_numbers_leave_room_for_the_names_of_the_rows(width):
    import io

    from rich.console import Console

    console = Console(width=width, file=io.StringIO())
    header = ["", "Uniform", "Adv.W", "Multi-Obj", "AMTNN", "gapMTNN (our default)"]
    rows = [
        [Entry(name), *[Entry("64.76", " (as in the table above)")] * 5] for name in ("Amazon", "Office home, Dslr")
    ]
    console.print(to_rich(Table("Errors", header, rows)))
    text = console.file.getvalue()
    assert "…" not in text
    assert all(name in text for name in header)
    assert text.count("Amazon") == text.count("Office home, Dslr") > 1
    assert text.count("64.76 (as in the table above)") == 10


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_names_that_begin_alike_are_told_apart_however_long(width, numeric):
    import io

    from rich.console import Console

    names = [f"{'hospital_' * 9}{end}" for end in ("north", "south")]
    rows = [[Entry(name), Entry("not needed beside the others"), Entry("64.76")] for name in names]
    console = Console(width=width, file=io.StringIO())
    console.print(to_rich(Table("Verdicts", ["", "verdict", "odds"], rows, numeric=numeric)))
    lines = console.file.getvalue().splitlines()
    assert "…" not in "".join(lines)
    joined = "".join(line.split("  ")[0].strip() for line in lines)
    assert all(name in joined for name in names)


def test_names_are_not_read_as_markup_in_the_terminal():
    from rich.console import Console

    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    table = Table("[red]caption", ["", "[b]x"], [[Entry("[bold]name[/bold]"), Entry("1.0", "±0.1", best=True)]])
    console.print(to_rich(table))
    text = console.export_text(clear=False)
    assert "[bold]name[/bold]" in text
    assert "[red]caption" in text
    assert "1.0±0.1" in text
    assert "\x1b[1m1.0\x1b[0m" in console.export_text(styles=True)
