import sys
import threading

import pytest

from gapmin.datasets._files import CACHE_VARIABLE, locate, written_to_cache
from gapmin.datasets.catalogue import DataFile, cache_folder, search_folders

pytestmark = pytest.mark.usefixtures("no_data")

BODY = bytes(range(256)) * 2000


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def find_file(name, folder=None, download=None, **options):
    return DataFile(name, "a file", download=download).find(folder, **options)


def put(folder, name, content):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def everything_in(folder):
    return sorted(path for path in folder.rglob("*")) if folder.exists() else []


def test_the_users_folder_comes_before_the_cache(monkeypatch, tmp_path, cache):
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path / "own"))
    assert search_folders() == [tmp_path / "own", cache]
    assert locate("a/file") is None
    put(cache, "a/file", b"kept")
    assert find_file("a/file").read_bytes() == b"kept"
    put(tmp_path / "own", "a/file", b"mine")
    assert find_file("a/file").read_bytes() == b"mine"


def test_a_given_folder_is_the_only_one_searched(tmp_path, cache):
    put(cache, "a/file", b"kept")
    with pytest.raises(FileNotFoundError, match=r"given/file is not there: give the folder of file \(a file\)"):
        find_file("a/file", tmp_path / "given")
    put(tmp_path / "given", "file", b"given")
    assert find_file("a/file", tmp_path / "given").read_bytes() == b"given"


def test_the_cache_is_the_users_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "gapmin"
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() == tmp_path / "gapmin"


def test_a_download_arrives_in_the_cache_and_is_not_repeated(server, cache):
    download = server.file("/some.bin", BODY)
    path = find_file("a/file", download=download)
    assert path == cache / "a/file"
    assert path.read_bytes() == BODY
    assert find_file("a/file", download=download) == path
    assert server.asked == ["/some.bin"]
    assert everything_in(cache) == [cache / "a", cache / "a/file"]


def test_md5_does_as_well(server):
    download = server.file("/some.bin", b"hello")
    by_md5 = type(download)(download.url, "md5:5d41402abc4b2a76b9719d911017c592")
    assert find_file("file", download=by_md5).read_bytes() == b"hello"


def test_progress_goes_to_standard_error(server, capsys):
    find_file("file", download=server.file("/some.bin", BODY), progress=True)
    assert not capsys.readouterr().out


def test_a_failed_download_ends_its_bar(server):
    download = server.file("/some.bin", BODY)
    server.cut.add("/some.bin")
    n_threads = threading.active_count()
    for _ in range(5):
        with pytest.raises(FileNotFoundError):
            find_file("file", download=download, progress=True)
    assert threading.active_count() < n_threads + 5


def test_another_content_is_refused_and_not_kept(server, cache):
    download = server.file("/some.bin", BODY, digest="0" * 64)
    with pytest.raises(ValueError, match=r"some\.bin does not have the checksum sha256:0+ and was not kept"):
        find_file("a/file", download=download)
    assert not everything_in(cache)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("missing", r"some\.bin cannot be downloaded \(HTTPError: 404 Not Found\): put it in one of these places"),
        ("cut", r"some\.bin cannot be downloaded \(\w+\): put it"),
        ("down", r"some\.bin cannot be downloaded \(ConnectionError\): put it"),
    ],
)
def test_a_failed_download_says_what_to_do_and_leaves_nothing(server, cache, fault, message):
    download = server.file("/some.bin", BODY)
    if fault == "missing":
        del server.content["/some.bin"]
    elif fault == "cut":
        server.cut.add("/some.bin")
    else:
        server.stop()
    with pytest.raises(FileNotFoundError, match=rf"cache/a/file, and http://127.*{message}.*a/file \(a file\)"):
        find_file("a/file", download=download)
    assert not everything_in(cache)


def test_downloads_can_be_forbidden(server, monkeypatch, cache):
    monkeypatch.setenv("GAPMIN_OFFLINE", "yes")
    with pytest.raises(FileNotFoundError, match=r"GAPMIN_OFFLINE forbids to download http://127.*some\.bin: put it"):
        find_file("a/file", download=server.file("/some.bin", BODY))
    assert not server.asked
    assert not everything_in(cache)


def test_a_cache_that_cannot_be_made_is_named(server, tmp_path, cache):
    cache.write_bytes(b"a file in its place")
    with pytest.raises(FileNotFoundError, match=r"cannot be downloaded \(FileExistsError: File exists\)"):
        find_file("a/file", download=server.file("/some.bin", BODY))


def test_missing_pooch_says_what_to_install(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pooch.*pip install -e "\.\[data\]"'):
        find_file("a/file", download=server.file("/some.bin", BODY))


def test_what_is_written_appears_whole_or_not_at_all(cache):
    def write_and_fail():
        with written_to_cache(cache / "a/file") as path:
            path.write_bytes(b"half")
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_and_fail()
    assert not everything_in(cache)
    with written_to_cache(cache / "a/file") as path:
        path.write_bytes(b"whole")
    assert (cache / "a/file").read_bytes() == b"whole"
