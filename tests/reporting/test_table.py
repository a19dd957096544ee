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
