import subprocess
import sys

import pytest

pytest.importorskip("typer")


def test_help_needs_no_estimator():
    code = "import sys; from gapmin.cli import _run; _run(['--help']); assert 'sklearn' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gapmin compare --target" in done.stdout
    assert "..." not in done.stdout.partition("Commands:")[2], "what a command does is not cut"
