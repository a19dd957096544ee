import hashlib
import io
import re
import tarfile
from pathlib import Path

import pytest
import sklearn.datasets._twenty_newsgroups as twenty_newsgroups
from sklearn.datasets import fetch_20newsgroups

from gapmin.datasets.catalogue import DATA_SETS, DataFile, DataSet, data_set, fetch, missing_files


@pytest.fixture
def tiny(monkeypatch, server):
    """A data set of two files that can be downloaded and an optional one that cannot."""
    files = (
        DataFile("tiny/one", "the first", 3, download=server.file("/one", b"one")),
        DataFile("tiny/two", "the second", 3, download=server.file("/two", b"two"), instead=("tiny/2",)),
        DataFile("tiny/list", "the list", optional=True),
    )
    entry = DataSet("tiny", "Tiny", files, "made here", "nothing")
    monkeypatch.setitem(DATA_SETS, "tiny", entry)
    return entry


def test_the_catalogue_is_complete():
    assert list(DATA_SETS) == [
        *("newsgroups", "office-caltech", "concrete", "digits", "svhn"),
        *("pacs", "pacs-lists", "alexnet-features", "pacs-resnet50", "office-resnet50", "office31", "office-home"),
    ]
    for name, entry in DATA_SETS.items():
        assert entry.name == name
        assert entry.title
        assert entry.licence
        assert re.search(r"Tables? \d", entry.used_for)
        for file in entry.files:
            assert file.origin
            assert not file.path.startswith("/")
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)


def test_nothing_is_downloaded_without_a_checksum():
    for entry in DATA_SETS.values():
        for file in entry.files:
            if file.download is not None and entry.name != "newsgroups":  # which scikit-learn checks
                assert re.fullmatch("sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", file.download.checksum)


def test_scikit_learn_still_has_the_newsgroups_at_the_address_that_we_name():
    assert data_set("newsgroups").files[0].url == twenty_newsgroups.ARCHIVE.url


@pytest.mark.data
@pytest.mark.parametrize("name", ["office-caltech", "concrete", "pacs", "alexnet-features", "digits"])
def test_files_that_are_here_are_the_ones_of_the_catalogue(name):
    if missing := missing_files(name):
        pytest.skip(f"{missing[0].path} is not here")
    for file in data_set(name).files:
        path = file.locate()
        if file.sha256 and file.download is None and path.name == Path(file.path).name:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
            assert path.stat().st_size == file.n_bytes


@pytest.mark.usefixtures("no_data")
def test_what_is_missing_is_downloaded_and_then_here(tiny, tmp_path, server):
    assert [file.path for file in missing_files("tiny")] == ["tiny/one", "tiny/two"]
    assert [path.read_bytes() for path in fetch("tiny")] == [b"one", b"two"]
    assert missing_files("tiny") == []
    assert fetch("tiny") == [tmp_path / "cache/tiny/one", tmp_path / "cache/tiny/two"]
    assert server.asked == ["/one", "/two"]


@pytest.mark.usefixtures("no_data")
def test_what_does_as_well_is_not_downloaded(tiny, monkeypatch, tmp_path, server):
    (tmp_path / "own/tiny/2").mkdir(parents=True)
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path / "own"))
    assert [file.path for file in missing_files("tiny")] == ["tiny/one"]
    assert fetch("tiny")[1] == tmp_path / "own/tiny/2"
    assert server.asked == ["/one"]


@pytest.mark.usefixtures("no_data")
def test_one_message_tells_of_all_that_cannot_be_had(tiny, server, tmp_path):
    server.content.clear()
    with pytest.raises(FileNotFoundError) as raised:
        fetch("tiny")
    cache = tmp_path / "cache"
    assert str(raised.value).splitlines() == [
        f"tiny lacks files that are not in {cache}; put them there, or in a folder that GAPMIN_DATA names:",
        f"  tiny/one: the first, and {server.url('/one')} cannot be downloaded (HTTPError: 404 Not Found)",
        f"  tiny/two: the second, and {server.url('/two')} cannot be downloaded (HTTPError: 404 Not Found)",
    ]


@pytest.mark.usefixtures("no_data")
def test_what_has_no_address_is_explained():
    with pytest.raises(FileNotFoundError, match="office-home lacks files") as refusal:
        fetch("office-home")
    message = str(refusal.value)
    assert message.count("\n") == 4
    assert "OfficeHomeDataset_10072016/Real World: a folder for each of 65 classes" in message


@pytest.mark.usefixtures("no_data")
def test_the_newsgroups_come_through_scikit_learn(monkeypatch, server, tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for part in ("train", "test"):
            for group in ("rec.autos", "sci.med"):
                article = tarfile.TarInfo(f"20news-bydate-{part}/{group}/1")
                article.size = 7
                archive.addfile(article, io.BytesIO(b"a\n\nword"))
    server.content["/20news.tar.gz"] = buffer.getvalue()
    address = twenty_newsgroups.ARCHIVE._replace(
        url=server.url("/20news.tar.gz"), checksum=hashlib.sha256(buffer.getvalue()).hexdigest()
    )
    monkeypatch.setattr(twenty_newsgroups, "ARCHIVE", address)
    (path,) = fetch("newsgroups")
    assert path == tmp_path / "cache/20newsgroups/20news-bydate_py3.pkz"
    assert list(path.parent.parent.rglob("*")) == [path.parent, path]
    corpus = fetch_20newsgroups(data_home=path.parent, subset="all", download_if_missing=False)
    assert corpus.target_names == ["rec.autos", "sci.med"]
    assert len(corpus.data) == 4


def test_an_unknown_data_set_is_refused():
    for function in (data_set, missing_files, fetch):
        with pytest.raises(ValueError, match="there is no data set 'cifar': use one of newsgroups, "):
            function("cifar")
