import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip("typer")
pd = pytest.importorskip("pandas")

from gapmin import study  # noqa: E402
from gapmin.cli import compare  # noqa: E402
from gapmin.study.compare import QUICK  # noqa: E402
from gapmin_support.commands import invoke  # noqa: E402

APP = """
import typer
from gapmin.cli import compare
app = typer.Typer(pretty_exceptions_enable=False)
compare.add_to(app)
app()
"""


def run(*arguments):
    return invoke([compare], "compare", *arguments)


def write(path, n_rows, sign=1, seed=0, **columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    frame = pd.DataFrame(X.round(4), columns=["a", "b", "c"])
    frame["kind"] = np.where(sign * X @ [2.0, -1.0, 1.0] > 0, "yes", "no")
    frame.assign(**columns).to_csv(path, index=False)
    return path


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    return (
        *("--target", write(folder / "t.csv", 24, day="2024-01-02")),
        *("--source", write(folder / "good.csv", 60, seed=1)),
        *("--source", write(folder / "bad.csv", 60, sign=-1, seed=2)),
        *("--label", "kind"),
    )


@pytest.fixture
def few_folds(monkeypatch):
    """The real comparison with few folds."""
    small = partial(study.compare_study, n_splits=2)
    monkeypatch.setattr(study, "compare_study", small)


def test_prints_what_was_read_the_tables_and_the_decision_last(files, tmp_path):
    page = tmp_path / "r.html"
    done = run(*files, "--report", page, "--jobs", 1, "--quick", "--metric", "roc_auc")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    roles, sizes = ("target", "source", "source"), (24, 60, 60)
    assert lines[:3] == [
        f"{role}  {path}  {size} rows" for role, path, size in zip(roles, files[1:6:2], sizes, strict=True)
    ]
    assert "Predicting kind from 3 columns (3 numbers) ..." in lines
    assert any(line.startswith("note: the task is classification, because") for line in lines)
    assert "note: dropped column 'day': not in every file" in lines
    said = " ".join(done.stdout.split())
    for word in ("leave out", "its labels look reversed", "ROC AUC", "average precision", "recall", "baseline"):
        assert word in said
    for each in QUICK:
        assert f"simplified: {each}" in said
    last = " ".join(done.stdout.rstrip().split("\n\n")[-1].split())
    assert last.startswith("Decision: ")
    assert "Leave out bad." in last
    assert "ROC AUC on held-out target rows: " in last
    assert "(" not in last.split("Effect")[0], "no repr of anything"
    text = page.read_text(encoding="utf-8")
    assert "--quick --report" in text
    assert "<dt>Simplified</dt>" in text
    told = done.stderr.splitlines()
    assert any("weighing the sources on held-out target rows" in line for line in told)
    assert told[-1].startswith("gapmin compare: 100%, done")


@pytest.mark.slow
@pytest.mark.usefixtures("few_folds")
def test_the_nested_comparison_has_a_report_too(files, tmp_path):
    page = tmp_path / "r.html"
    done = run(*files, "--report", page, "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert "nested cross-validation, 2 of 2 folds done" in done.stderr
    assert "simplified" not in done.stdout
    assert "<h2>What the model uses</h2>" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("few_folds")
@pytest.mark.slow
def test_json_is_all_there_is_and_the_same_for_any_number_of_processes(files, tmp_path):
    said = {}
    for jobs in (1, 2):
        done = run(*files, "--json", "--jobs", jobs, "--seed", 3)
        assert done.exit_code == 0
        said[jobs] = json.loads(done.stdout)
        assert said[jobs].pop("seconds") > 0
    assert said[1] == said[2]
    assert said[1]["report"] is None
    assert said[1]["random_state"] == 3
    assert [each["name"] for each in said[1]["evidence"]["sources"]] == ["good", "bad"]
    assert said[1]["verdict"] == said[1]["evidence"]["verdict"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"]


def test_help_has_an_example():
    shown = " ".join(run("--help").stdout.split())
    assert "Example: gapmin compare --target" in shown
    for option in ("--source", "--metric", "--group", "--time", "--quick", "--time-limit", "--report", "--json"):
        assert option in shown


def _changed(files, **options):
    out = list(map(str, files))
    for name, value in options.items():
        out[out.index(f"--{name}") + 1] = str(value)
    return out


HARD = {
    "empty": b"",
    "header": b"a,b,c,kind\n",
    "no_label": b"a,b,c\n1,2,3\n4,5,6\n",
    "twice": b"a,a,b,kind\n1,2,3,yes\n4,5,6,no\n",
    "other_classes": b"a,b,c,kind\n1,2,3,maybe\n4,5,6,perhaps\n",
    "binary": b"\x00\x01\x02\xff" * 50,
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("role", ["target", "source"])
def test_files_that_cannot_be_used_end_in_one_line(files, tmp_path, role, name):
    hard = tmp_path / "hard.csv"
    hard.write_bytes(HARD[name])
    done = run(*_changed(files, **{role: hard}), "--report", tmp_path / "r.html")
    assert done.exit_code == 2
    assert done.stderr.startswith("gapmin compare: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not (tmp_path / "r.html").exists()


def test_a_parquet_that_is_none_a_folder_and_nothing(files, tmp_path):
    fake = tmp_path / "x.parquet"
    fake.write_text("not one")
    for path in (fake, tmp_path, tmp_path / "none.csv"):
        done = run(*_changed(files, source=path))
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert str(path) in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(files, tmp_path):
    locked = write(tmp_path / "locked.csv", 20)
    locked.chmod(0)
    done = run(*_changed(files, source=locked))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_too_few_target_rows(files, tmp_path):
    done = run(*_changed(files, target=write(tmp_path / "few.csv", 8)))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "few.csv has 8 rows with a label" in done.stderr
    lonely = write(tmp_path / "lonely.csv", 12, kind=["no"] * 11 + ["yes"])
    done = run(*_changed(files, target=lonely))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "lonely" in done.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--jobs", 0), "--jobs is 0: take at least 1"),
        (("--max-source-rows", 0), "--max-source-rows is 0: take at least 1"),
        (("--seed", -1), "--seed is -1: take a number from 0"),
        (("--time-limit", 0), "--time-limit is 0: give seconds above 0"),
        (("--metric", "r2"), "'r2' is no metric for a classification: use error_rate"),
        (("--group", "patient"), "has no column 'patient' for --group: it has"),
        (("--time", "dya"), "has no column 'dya' for --time: it has"),
        (("--task", "guess"), "task is 'guess': use classification or regression"),
        (("--drop", "colour"), "column 'colour', which is to be dropped, is in none of the files"),
        (("--report", "{tmp}"), "--report is {tmp}, a folder: name a file"),
        (("--report", "{tmp}/none/r.html"), "there is no folder {tmp}/none: make it first"),
    ],
)
def test_wrong_usage_ends_in_one_line_before_any_work(files, tmp_path, monkeypatch, options, complaint):
    monkeypatch.setattr(study, "compare_study", None)  # whoever gets there fails
    given = [str(each).format(tmp=tmp_path) for each in options]
    done = run(*files, *given)
    assert done.exit_code == 2
    assert complaint.format(tmp=tmp_path) in done.stderr
    assert done.stderr.startswith("gapmin compare: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 3])  # while the workers start, and into the fits
def test_ctrl_c_leaves_nothing_behind(files, tmp_path, seconds):
    out = tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", APP, *map(str, files), "--report", str(out / "r.html"), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"target  {files[1]}  24 rows\n"
    time.sleep(seconds)
    assert process.poll() is None
    for _ in range(20):  # pressed again where it is not heard, as people do
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        try:
            shown, complaints = process.communicate(timeout=10)
            break
        except subprocess.TimeoutExpired:
            pass
    assert process.returncode == 130
    assert "gapmin compare: interrupted, no report written" in complaints
    assert "Traceback" not in complaints
    assert "eave out" not in shown
    assert list(out.iterdir()) == []


def test_a_file_that_is_read_is_not_written_over(files):
    before = files[1].read_bytes()
    for path in (files[1], files[3].parent / ".." / files[3].parent.name / files[3].name):
        done = run(*files, "--report", path)
        assert done.exit_code == 2
        assert done.stderr.splitlines() == [f"gapmin compare: --report is {path}, which is read: name another file"]
    assert files[1].read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("few_folds")
def test_sources_of_one_name_and_one_called_target_are_told_apart(tmp_path):
    paths = [tmp_path / name for name in ("s\x01.csv", "s\x02.csv", "target.csv")]
    for seed, (path, sign) in enumerate(zip(paths, (1, -1, 1), strict=True)):
        write(path, 60, sign=sign, seed=seed + 1)
    target = write(tmp_path / "t.csv", 24)
    sources = [each for path in paths for each in ("--source", path)]
    done = run("--target", target, *sources, "--label", "kind", "--json", "--jobs", 1)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    names = ["s\ufffd", "s\ufffd (2)", "target (2)"]
    assert list(found["source_sizes"]) == names
    assert [each["name"] for each in found["evidence"]["sources"]] == names
    assert list(found["drift"][0]["distance"]) == names
