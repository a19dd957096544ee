import pytest

from gapmin_support.servers import LocalServer


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Downloads are forbidden and the user's cache is elsewhere, unless a test says otherwise."""
    monkeypatch.setenv("GAPMIN_OFFLINE", "1")
    monkeypatch.setenv("GAPMIN_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("GAPMIN_DATA", raising=False)


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.delenv("GAPMIN_OFFLINE")
    server = LocalServer()
    yield server
    server.stop()
