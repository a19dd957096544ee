import json
import os
import subprocess
import sys

import pytest

from gapmin.cli import _run
from gapmin.datasets.catalogue import DATA_SETS, DataFile, DataSet
from gapmin_support.servers import LocalServer

pytest.importorskip("typer")


@pytest.fixture
def folders(monkeypatch, tmp_path):
    """Two empty places for data, and no network."""
    own, cache = tmp_path / "own", tmp_path / "cache"
    monkeypatch.setenv("GAPMIN_DATA", str(own))
    monkeypatch.setenv("GAPMIN_CACHE", str(cache))
    monkeypatch.setenv("GAPMIN_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    return own, cache


@pytest.fixture
def server(monkeypatch, folders):
    """A server that has the one file of the data set `tiny`."""
    pytest.importorskip("pooch")
    server = LocalServer()
    entry = DataSet(
        "tiny",
        "Tiny",
        (DataFile("tiny/file", "a file", 7, download=server.file("/file", b"content")),),
        "ours",
        "Table 0",
    )
    monkeypatch.setitem(DATA_SETS, "tiny", entry)
    monkeypatch.delenv("GAPMIN_OFFLINE")
    yield server
    server.stop()


def place(own, name, n_files=None):
    for file in DATA_SETS[name].files[:n_files]:
        (own / file.path).parent.mkdir(parents=True, exist_ok=True)
        (own / file.path).touch()


def test_offline_in_a_process_of_its_own(folders):
    """One clear message, exit code 2, nothing written, no traceback."""
    done = subprocess.run(
        [sys.executable, "-c", "from gapmin.cli import main; main()", "data", "fetch", "svhn"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 2
    assert done.stdout == ""
    own, cache = folders
    assert done.stderr.splitlines()[0] == (
        f"svhn lacks files that are not in {own} nor in {cache}; put them in one of these folders:"
    )
    assert "GAPMIN_OFFLINE forbids to download http://ufldl.stanford.edu/housenumbers/train_32x32.mat" in done.stderr
    assert done.stderr.splitlines()[-1] == "gapmin data fetch: svhn could not be had: see above"
    assert "Traceback" not in done.stderr
    assert not cache.exists()


def test_list_shows_what_is_here_in_80_columns(folders, capsys):
    place(folders[0], "concrete")
    place(folders[0], "digits", n_files=2)
    assert _run(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = {line.split()[0]: line.rstrip() for line in lines if line.strip()}
    assert set(DATA_SETS) <= set(rows)
    assert rows["concrete"].split()[-5:] == ["Table", "3", "58", "kB", "yes"]
    assert rows["digits"].endswith("65 MB   2 of 6")
    assert rows["svhn"].endswith("246 MB   no")


def test_list_for_programs(folders, capsys):
    place(folders[0], "concrete")
    assert _run(["data", "list", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert list(found) == list(DATA_SETS)
    assert found["concrete"]["here"] is True
    assert found["concrete"]["files"][0]["found"] == str(folders[0] / "uci/concrete.csv")
    assert found["svhn"]["here"] is False
    assert found["svhn"]["files"][0]["found"] is None
    assert found["svhn"]["files"][0]["url"] == "http://ufldl.stanford.edu/housenumbers/train_32x32.mat"


def test_where_names_the_folders_and_the_files(folders, capsys):
    own, cache = folders
    place(own, "concrete")
    place(cache, "svhn", n_files=1)
    assert _run(["data", "where"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["Searched in this order:", f"  {own} ($GAPMIN_DATA)", f"  {cache} (the user's cache)"]
    assert f"  uci/concrete.csv: {own / 'uci/concrete.csv'}" in lines
    assert f"  svhn/train_32x32.mat: {cache / 'svhn/train_32x32.mat'}" in lines
    assert "  svhn/test_32x32.mat: missing" in lines
    assert "  pacs/photo_train_kfold.txt: missing, optional" in lines


def test_where_for_programs_and_without_a_folder(folders, monkeypatch, capsys):
    monkeypatch.delenv("GAPMIN_DATA")
    assert _run(["data", "where", "concrete"]) == 0
    assert "  not set ($GAPMIN_DATA)" in capsys.readouterr().out.splitlines()
    assert _run(["data", "where", "concrete", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["folders"] == [str(folders[1])]
    assert [each["name"] for each in found["data_sets"]] == ["concrete"]


def test_fetch_downloads_what_is_missing_and_only_that(server, folders, capsys):
    assert _run(["data", "fetch", "tiny"]) == 0
    assert capsys.readouterr().out == "tiny: 1 file downloaded\n"
    assert (folders[1] / "tiny/file").read_bytes() == b"content"
    server.content.clear()
    assert _run(["data", "fetch", "tiny"]) == 0
    assert capsys.readouterr().out == "tiny: here already\n"


def test_fetch_goes_on_past_what_cannot_be_had(server, folders, capsys):
    assert _run(["data", "fetch", "office31", "tiny"]) == 2
    said = capsys.readouterr()
    assert said.out == "tiny: 1 file downloaded\n"
    assert said.err.startswith("office31 lacks files")
    assert said.err.endswith("gapmin data fetch: office31 could not be had: see above\n")


def test_fetch_refuses_another_content(server, folders, capsys):
    server.content["/file"] = b"another"
    assert _run(["data", "fetch", "tiny"]) == 2
    assert "does not have the checksum sha256:" in capsys.readouterr().err
    assert list(folders[1].iterdir()) == []


@pytest.mark.usefixtures("folders")
def test_fetch_all_of_what_cannot_be_had_names_each(capsys):
    assert _run(["data", "fetch", "all"]) == 2
    assert capsys.readouterr().err.endswith(f"gapmin data fetch: {', '.join(DATA_SETS)} could not be had: see above\n")


@pytest.mark.parametrize("command", ["where", "fetch"])
def test_an_unknown_name_is_refused(folders, capsys, command):
    assert _run(["data", command, "cifar"]) == 2
    assert capsys.readouterr().err.startswith(f"gapmin data {command}: there is no data set 'cifar': use all or some")


def test_alone_it_shows_its_commands(capsys):
    assert _run(["data"]) == 0
    said = capsys.readouterr()
    assert "gapmin data [OPTIONS] COMMAND" in said.out
    assert not said.err
