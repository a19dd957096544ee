"""What is kept survives whatever ends the run."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from gapmin.reproduce.cells import Cell, Measured, Outcome, cell
from gapmin.reproduce.store import JOURNAL, TABLE, Store, StoreError


def outcome(split: int, error: float = 0.1 + 0.2, failure: str = "") -> Outcome:
    measured = None if failure else Measured(error, {"a": 1 / 3, "b": 1e-300}, 25, 75, {"relation": [[0.1, 0.9]]})
    return Outcome(cell("transfer", "p", "m", split, 7, train=0.1), measured, failure, 0.25, "0.1.0")


def test_a_cell_is_told_by_everything_its_result_depends_on():
    one = cell("transfer", "p", "m", 0, 0, train=0.1, resample=True)
    assert one == cell("transfer", "p", "m", 0, 0, resample=True, train=0.1)
    others = [
        cell("multitask", "p", "m", 0, 0, train=0.1, resample=True),
        cell("transfer", "q", "m", 0, 0, train=0.1, resample=True),
        cell("transfer", "p", "n", 0, 0, train=0.1, resample=True),
        cell("transfer", "p", "m", 1, 0, train=0.1, resample=True),
        cell("transfer", "p", "m", 0, 1, train=0.1, resample=True),
        cell("transfer", "p", "m", 0, 0, train=0.2, resample=True),
    ]
    assert len({each.key for each in (one, *others)}) == 7
    assert len({each.random_state for each in (one, *others)}) == 7


def test_the_seed_of_a_cell_is_the_same_on_every_machine():
    # A hash with a salt of the process would give other numbers tomorrow.
    assert cell("transfer", "comp vs sci", "gapBoost", 3, 0, train=0.1).random_state == 3775480374


def test_what_was_kept_is_read_back_to_the_bit(tmp_path):
    kept = [outcome(0), outcome(1, math.pi * 1e-200), outcome(2, failure="ValueError: no"), outcome(3, math.nan)]
    with Store(tmp_path).open() as store:
        for each in kept:
            store.add(each)
        from_journal = Store(tmp_path).read()
        assert from_journal.outcomes.keys() == {each.cell.key for each in kept}
        assert from_journal.get(kept[1].cell) == kept[1]
    assert not (tmp_path / JOURNAL).exists()
    read = Store(tmp_path).read()
    assert [read.get(each.cell) for each in kept[:3]] == kept[:3]
    assert math.isnan(read.get(kept[3].cell).measured.error)


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_that_was_half_written_is_cut_off_and_the_next_one_is_whole(tmp_path, cut):
    with Store(tmp_path).open() as store:
        store.add(outcome(0))
        store.add(outcome(1))
        whole = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / TABLE).unlink()
    (tmp_path / JOURNAL).write_bytes(whole[:-cut])
    store = Store(tmp_path)
    assert len(store.read().outcomes) == 1
    with store.open():
        store.add(outcome(2))
        lines = (tmp_path / JOURNAL).read_text().splitlines()
    assert [json.loads(line)["split"] for line in lines] == [0, 2]


def test_killed_between_the_table_and_the_journal_nothing_is_lost_or_doubled(tmp_path):
    with Store(tmp_path).open() as store:
        store.add(outcome(0))
        journal = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(
        journal
    )  # as if killed after the table was written, before the journal was dropped
    with Store(tmp_path).open() as store:
        assert list(store.outcomes) == [outcome(0).cell.key]
    assert len(Store(tmp_path).read().outcomes) == 1


def test_an_error_in_the_run_leaves_the_journal_for_the_next(tmp_path):
    def interrupted() -> None:
        with Store(tmp_path).open() as store:
            store.add(outcome(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert Store(tmp_path).read().get(outcome(0).cell) == outcome(0)


def test_a_later_outcome_of_a_cell_replaces_the_earlier(tmp_path):
    with Store(tmp_path).open() as store:
        store.add(outcome(0, failure="ValueError: no"))
        store.add(outcome(0, 5.0))
    assert Store(tmp_path).read().get(outcome(0).cell) == outcome(0, 5.0)


def test_the_table_does_not_depend_on_who_finished_first(tmp_path):
    for name, order in (("a", (0, 1, 2)), ("b", (2, 0, 1))):
        with Store(tmp_path / name).open() as store:
            for split in order:
                store.add(outcome(split))
    assert (tmp_path / "a" / TABLE).read_bytes() == (tmp_path / "b" / TABLE).read_bytes()


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    with Store(tmp_path).open(), pytest.raises(StoreError, match="another run is writing"), Store(tmp_path).open():
        pass


@pytest.mark.parametrize("name", [JOURNAL, TABLE])
def test_a_damaged_file_is_refused_by_name_and_left_alone(tmp_path, name):
    (tmp_path / name).write_bytes(b'{"kind": 3}\nnot a result\n')
    with pytest.raises(StoreError, match=f"{name} is damaged .*move it away"), Store(tmp_path).open():
        pass
    assert (tmp_path / name).read_bytes() == b'{"kind": 3}\nnot a result\n'


def test_the_format_is_in_the_file_and_a_later_one_is_refused(tmp_path):
    import pyarrow.parquet as pq

    with Store(tmp_path).open() as store:
        store.add(outcome(0))
    table = pq.read_table(tmp_path / TABLE)
    assert table.schema.metadata[b"gapmin_results_format"] == b"1"
    for metadata, readable in (({}, True), ({"gapmin_results_format": "2"}, False)):
        pq.write_table(table.replace_schema_metadata(metadata), tmp_path / TABLE)
        if readable:
            assert Store(tmp_path).read().get(outcome(0).cell) == outcome(0)
        else:
            with pytest.raises(StoreError, match="has format 2, and this gapmin reads up to 1: use the newer gapmin"):
                Store(tmp_path).read()


def test_processor_seconds_are_kept_and_earlier_cells_have_none(tmp_path):
    import pyarrow.parquet as pq

    timed = replace(outcome(0), processor_seconds=0.125)
    with Store(tmp_path).open() as store:
        store.add(timed)
        store.add(outcome(1))
    read = Store(tmp_path).read()
    assert [read.get(outcome(split).cell).processor_seconds for split in (0, 1)] == [0.125, None]
    pq.write_table(pq.read_table(tmp_path / TABLE).drop(["processor_seconds"]), tmp_path / TABLE)
    assert Store(tmp_path).read().get(timed.cell) == outcome(0)


def test_only_an_open_store_takes_outcomes(tmp_path):
    with pytest.raises(StoreError, match="is not open"):
        Store(tmp_path).add(outcome(0))


def test_cells_travel_to_other_processes_by_pickle():
    import pickle

    one = cell("transfer", "p", "m", 0, 0, train=0.1)
    assert one.key
    assert pickle.loads(pickle.dumps(one)) == one
    assert isinstance(one, Cell)
