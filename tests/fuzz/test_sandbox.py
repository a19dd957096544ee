"""The fuzzer sees what it is there to see."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from gapmin_support.sandbox import run_forked

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and reads /proc")


def refuse():
    raise ValueError("a bad file")


def fail():
    raise KeyError("format")


def write_elsewhere():
    with open("/tmp/elsewhere-of-the-fuzzer", "w"):
        pass
    os.remove("/tmp/elsewhere-of-the-fuzzer")
    return "loaded"


@pytest.mark.parametrize(
    ("work", "wanted"),
    [
        (lambda: "loaded", "loaded"),
        (refuse, "refused"),
        (fail, "undocumented"),
        (lambda: str(os.system("true")), "executed"),
        (lambda: str(subprocess.call(["true"])), "executed"),
        (write_elsewhere, "executed"),
        (lambda: ctypes.string_at(0), "crashed"),
        (lambda: str(np.ones(2**28).sum()), "memory"),
        (lambda: time.sleep(60), "hung"),
    ],
)
def test_each_end_is_told_apart(work, wanted, tmp_path):
    assert run_forked(work, str(tmp_path), (ValueError,), seconds=2)[0] == wanted
