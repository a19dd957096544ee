"""The README shows what its commands print. Its Python is run as a doctest."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import renew_readme

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_readme_shows_what_its_commands_print():
    done = subprocess.run(
        [sys.executable, "tools/renew_readme.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_can_be_read_in_an_editor():
    words = re.sub(r"^```.*?^```|\]\([^)]*\)|<!--.*?-->", "", README, flags=re.DOTALL | re.MULTILINE).split()
    assert sum(any(map(str.isalpha, word)) for word in words) <= 900
    assert max(map(len, README.splitlines())) <= 120


def test_the_readme_counts_the_verdicts_on_the_paper():
    pages = "".join(page.read_text() for page in (ROOT / "docs/results").glob("[tf]*.md"))
    confirmed, contradicted, neither = (
        len(re.findall(f"^- {verdict}:", pages, flags=re.MULTILINE))
        for verdict in ("Confirmed", "Contradicted", "Not confirmed")
    )
    said = re.search(r"Of (\d+) claims.*?(\d+)\s+are\s+confirmed,\s+(\d+).*?(\d+)\s+not\s+confirmed", README, re.DOTALL)
    assert list(map(int, said.groups())) == [confirmed + contradicted + neither, confirmed, contradicted, neither]


def test_what_a_page_shows_is_replaced_and_nothing_else():
    text = f"Run\n```\ngapmin compare\n```\nIt says\n{renew_readme.SHOWN}\n```\n{{}}\n```\nThat is all.\n"
    assert renew_readme.renewed(text.format("stale\n...\nlines"), "Next: fit") == text.format("Next: fit")
    with pytest.raises(ValueError, match="put the comment on the line before the block"):
        renew_readme.renewed(text.replace("<!--", "<!"), "Next: fit")


def test_other_programs_are_refused():
    with pytest.raises(ValueError, match="'rm x' is neither cd nor gapmin"):
        renew_readme.printed(["rm x"])
