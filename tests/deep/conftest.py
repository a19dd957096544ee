"""A saved network to alter, and processes that must end."""

from __future__ import annotations

import psutil
import pytest

pytest.importorskip("torch")

from gapmin.deep import AMTNN
from gapmin_support.networkfiles import Content, fitted, loading


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "model"
    fitted(AMTNN(critic_hidden=2)).save(path)
    return path


@pytest.fixture
def content(original):
    return Content(original.read_bytes())


@pytest.fixture(scope="module")
def load(original):
    with loading(original) as load:
        yield load


@pytest.fixture
def no_process_stays():
    before = set(psutil.Process().children())  # joblib keeps its workers for other tests
    yield
    assert not set(psutil.Process().children()) - before
