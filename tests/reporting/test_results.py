import numpy as np
import pytest

from gapmin.reporting import Cell, Entry, Results, Table
from gapmin.reporting.terminal import to_rich

ERRORS = {
    ("first", "ours"): [1.0, 2.0, 3.0],
    ("first", "theirs"): [4.0, 5.0, 6.5],
    ("second", "ours"): [10.0, 30.0, 20.0],
    ("second", "theirs"): [9.0, 29.0, 19.0],
    ("third", "ours"): [5.0, 7.0, 6.0],
    ("third", "theirs"): [6.0, 5.0, 8.0],
}


@pytest.fixture
def results():
    return Results(
        Cell(problem, method, split, error, 0.5)
        for (problem, method), errors in ERRORS.items()
        for split, error in enumerate(errors)
    )


def test_table_holds_mean_and_standard_error_with_the_lowest_in_bold(results):
    table = results.table("errors")
    assert [row[0].text for row in table.rows] == ["first", "second", "third"]
    assert table.header == ["", "ours", "theirs"]
    spread = np.std(ERRORS["second", "ours"], ddof=1) / np.sqrt(3)
    assert table.rows[0][1] == Entry("2.00", "±0.58", best=True)
    assert table.rows[1][1] == Entry("20.0", f"±{spread:.1f}", best=False)
    assert table.rows[1][2].best
    average, rank = table.summary
    assert float(average[1].text) == pytest.approx((2 + 20 + 6) / 3, abs=0.01)
    assert [entry.text for entry in rank[1:]] == ["1.3", "1.7"]


def test_errors_in_different_units_are_averaged_as_ratios(results):
    (ratio, _) = results.table("errors", ratio_to="theirs").summary
    expected = np.exp(np.mean(np.log([2 / np.mean([4, 5, 6.5]), 20 / 19, 6 / np.mean([6, 5, 8])])))
    assert ratio[0].text == "average, theirs = 1"
    assert ratio[1].text == f"{expected:.2f}"
    assert ratio[2].text == "1.00"


def test_a_duel_pairs_the_splits(results):
    duel = results.duel("ours", "theirs")
    # On the second problem the spread over splits is large, the spread of the difference nothing.
    assert duel == ("ours", "theirs", 3, 2, 1, ("first",), ("second",))
    assert str(duel) == "ours beats theirs on 2 of 3 problems (clearly better on 1, clearly worse on 1: “second”)"
    assert results.duel("theirs", "ours").wins == 1


def test_order_of_cells_does_not_matter_to_a_duel(results):
    shuffled = list(results.cells)
    np.random.default_rng(0).shuffle(shuffled)
    assert Results(shuffled).duel("ours", "theirs") == results.duel("ours", "theirs")


def test_one_split_has_no_standard_error():
    results = Results([Cell("p", "ours", 0, 1.0, 0.1), Cell("p", "theirs", 0, 1.0, 0.1)])
    assert results.table("errors").rows[0][1:] == [Entry("1.00", "", best=True)] * 2
    duel = results.duel("ours", "theirs")
    assert (duel.wins, duel.losses, duel.clear_wins) == (0, 0, None)
    assert str(duel) == "ours beats theirs on 0 of 1 problems"


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
