"""A short run of the fuzzer; `python tests/fuzz/files.py` is the long one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and reads /proc")


def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz_files", Path(__file__).with_name("files.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["model", "boosting-checkpoint", "network", "network-checkpoint"])
def test_no_mutant_does_harm(kind):
    module = fuzzer()
    found = []
    outcomes = module.fuzz(kind, 40, seed=1, report=found.append)
    assert not found, "\n".join(found)
    assert outcomes["refused"] > 10
