"""What tests of several parts share: published data, a real browser, and Ctrl-C that works."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

# Started in the background, or by nohup: the processes that tests send signals to would inherit that these are ignored.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    number = getattr(signal, name, None)  # Windows has no SIGHUP
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


def pytest_collection_modifyitems(items):
    if not os.environ.get("GAPMIN_DATA"):
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason="GAPMIN_DATA is not set"))


@pytest.fixture(scope="module")
def chromium():
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()
