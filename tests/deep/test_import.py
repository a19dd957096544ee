"""Without PyTorch everything but `gapmin.deep` works, and nobody pays for it who does not use it."""

import subprocess
import sys

BLOCKED = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError("No module named 'torch'")

sys.meta_path.insert(0, NoTorch())
import gapmin
import gapmin.boosting, gapmin.linear
try:
    import gapmin.deep
except ImportError as error:
    print(error)
"""


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_without_torch_the_error_says_what_to_install():
    assert 'run pip install -e ".[deep]" in a clone of gapmin' in run(BLOCKED)


def test_gapmin_alone_does_not_import_torch():
    assert run("import sys, gapmin, gapmin.boosting, gapmin.linear; print('torch' in sys.modules)") == "False\n"
