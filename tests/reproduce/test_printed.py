"""The paper's numbers are complete, consistent with themselves, and odd only where the notes say so."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from decimal import Decimal

import pytest

from gapmin.reproduce.printed import Printed, notes, printed, printed_table

TABLES = [f"table{number}" for number in range(1, 9)]
MULTITASK = ["Uniform", "Weighted", "Adv.H", "Adv.W", "Multi-Obj", "AMTNN", "gapMTNN"]
SHAPES = {  # blocks, rows in each, columns
    "table1": ([""], [4], ["Rule 1", "Rule 2", "Rule 3", "Rule 4"]),
    "table2": (
        ["20 Newsgroups", "Office-Caltech"],
        [7, 13],
        ["AdaBoost_T", "AdaBoost_T&S", "TrAdaBoost", "TransferBoost", "gapBoost"],
    ),
    "table3": ([""], [6], ["AdaBoost.R2_T", "AdaBoost.R2_T&S", "TrAdaBoost.R2", "gapBoostR"]),
    "table4": (["3K", "5K", "8K"], [4, 4, 4], MULTITASK),
    "table5": (["10%", "15%", "20%"], [5, 5, 5], MULTITASK),
    "table6": (["5%", "10%", "20%"], [4, 4, 4], MULTITASK),
    "table7": (["5%", "10%", "20%"], [5, 5, 5], MULTITASK),
    "table8": ([""], [6], ["Amazon", "Dslr", "Webcam", "avg."]),
}


def by(table, *names):
    """Return the table's numbers in groups that share the named parts of their place."""
    groups = defaultdict(dict)
    for (block, row, column), number in printed_table(table).items():
        place = {"block": block, "row": row, "column": column}
        groups[tuple(place[name] for name in names)][block, row, column] = number
    return groups


@pytest.mark.parametrize("table", TABLES)
def test_every_cell_of_the_grid_is_there(table):
    blocks, n_rows, columns = SHAPES[table]
    rows = by(table, "block", "row")
    assert list(dict.fromkeys(block for block, _ in rows)) == blocks
    assert [sum(block == wanted for block, _ in rows) for wanted in blocks] == n_rows
    for cells in rows.values():
        assert [column for _, _, column in cells] == columns


@pytest.mark.parametrize(
    ("place", "value", "error", "bold", "text"),
    [
        (("table1", "", "TrAdaBoost", "Rule 2"), 0, None, False, "0"),
        (("table2", "20 Newsgroups", "comp vs talk", "TransferBoost"), 6.45, 0.25, True, "6.45"),
        (("table2", "20 Newsgroups", "avg.", "TransferBoost"), 8.0, None, False, "8.00"),
        (("table2", "Office-Caltech", "A -> C", "gapBoost"), 27.06, 0.87, True, "27.06"),
        (("table3", "", "Concrete", "AdaBoost.R2_T&S"), 9.91, 0.50, False, "9.91"),
        (("table4", "8K", "MNIST_M", "Adv.H"), 14.84, 0.34, True, "14.84"),
        (("table5", "20%", "S", "Multi-Obj"), 11.2, 0.73, False, "11.2"),
        (("table6", "20%", "Dslr", "Weighted"), 3.4, 0.71, True, "3.40"),
        (("table7", "5%", "Ar.", "gapMTNN"), 61.91, 0.35, True, "61.91"),
        (("table8", "", "w/o marginal & sem. matching", "Webcam"), 4.6, 0.3, False, "4.6"),
        (("table8", "", "full method", "avg."), 8.4, None, False, "8.4"),
    ],
)
def test_a_cell_is_found_by_its_printed_names(place, value, error, bold, text):
    assert printed(*place) == Printed(value, error, bold, text)


@pytest.mark.parametrize("table", TABLES)
def test_only_averages_and_ticks_have_no_error(table):
    for (_, row, column), number in printed_table(table).items():
        assert (number.error is None) == (table == "table1" or "avg." in (row, column))
        assert number.value == float(number.text)
        assert number.error is None or 0 < number.error < max(number.value, 4)


@pytest.mark.parametrize("table", TABLES[1:7])
def test_averages_are_the_mean_of_their_rows_except_where_noted(table):
    """To rounding: half a last digit. What the rows' own rounding can add is for the notes to tell."""
    odd = set()
    for cells in by(table, "block", "column").values():
        values = {place: Decimal(number.text) for place, number in cells.items()}
        (average,) = (place for place in values if place[1] == "avg.")
        rows = [value for place, value in values.items() if place != average]
        if abs(sum(rows) / len(rows) - values[average]) > Decimal("0.005"):
            odd.add(average)
    assert odd == {(note.block, note.row, note.column) for note in notes(table) if note.row == "avg."}


def test_averages_of_the_ablations_are_the_mean_of_their_tasks():
    for cells in by("table8", "row").values():
        *tasks, average = (Decimal(number.text) for number in cells.values())
        assert abs(sum(tasks) / 3 - average) <= Decimal("0.05")


@pytest.mark.parametrize("table", TABLES[1:7])
def test_bold_is_the_least_error_of_the_row_except_where_noted(table):
    odd = set()
    for cells in by(table, "block", "row").values():
        least = min(number.value for number in cells.values())
        odd |= {place for place, number in cells.items() if number.bold != (number.value == least)}
    assert odd == {(note.block, note.row, note.column) for note in notes(table) if "bold" in note.text}


@pytest.mark.parametrize(("ablation", "method"), [("cls. only", "Uniform"), ("full method", "gapMTNN")])
def test_two_ablations_are_table_6_again(ablation, method):
    for column in ["Amazon", "Dslr", "Webcam", "avg."]:
        short, long = printed("table8", "", ablation, column), printed("table6", "20%", column, method)
        assert abs(Decimal(short.text) - Decimal(long.text)) <= Decimal("0.05")


def test_gapboost_loses_to_the_target_alone_only_where_noted():
    lost = {
        place
        for place in printed_table("table2")
        if place[2] == "gapBoost"
        and printed("table2", *place).value >= printed("table2", place[0], place[1], "AdaBoost_T").value
    }
    assert lost == {(note.block, note.row, note.column) for note in notes("table2") if "caption" in note.text}


def test_notes_name_cells_that_exist():
    assert notes() == tuple(note for table in TABLES for note in notes(table))
    for note in notes():
        assert any(
            block == note.block and note.row in ("", row) and note.column in ("", column)
            for block, row, column in printed_table(note.table)
        )


def test_unknown_names_are_none_and_an_unknown_table_says_which_are_known():
    assert printed("table3", "5%", "Concrete", "gapBoostR") is None
    assert printed("table3", "", "Boston", "gapBoostR") is None
    assert printed("table3", "", "Concrete", "XGBoost") is None
    for ask in (lambda: printed("table9", "", "", ""), lambda: printed_table("table9"), lambda: notes("table9")):
        with pytest.raises(ValueError, match=r"no 'table9': give one of table1, table2, .*table8"):
            ask()


def test_what_a_caller_does_with_a_table_stays_with_the_caller():
    printed_table("table3").clear()
    assert len(printed_table("table3")) == 24


def test_reads_without_pandas():
    code = "import sys; sys.modules['pandas'] = None; from gapmin.reproduce.printed import notes; notes('table1')"
    subprocess.run([sys.executable, "-c", code], check=True)
