"""What pyproject.toml promises about versions, and what the package lists."""

import re
import tomllib
from pathlib import Path

import gapmin

ROOT = Path(__file__).parents[1]


def test_the_oldest_versions_allowed_are_those_tested():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    tested = re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "constraints-min.txt").read_text(), flags=re.MULTILINE)
    first = dict(reversed(tested))  # the lines of one package begin with the oldest Python
    for name, oldest in (each.split(">=") for each in declared):
        assert first[name].removesuffix(".0") == oldest


def test_the_package_lists_what_it_offers_and_no_helper():
    listed = dir(gapmin)
    assert set(gapmin.__all__) < set(listed)
    assert all(hasattr(gapmin, name) for name in listed)
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(listed)
