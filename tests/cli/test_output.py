"""Where a command cannot write: a line on standard error and an exit code, no traceback, and no half of a file."""

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

from sklearn.dummy import DummyClassifier

from gapmin import cli
from gapmin import study as study_package
from gapmin._utils import io as io_module
from gapmin.reporting import Report
from gapmin.study import read_study, task_model

FULL = (
    "gapmin: standard output cannot be written (No space left on device): free some space there, or write elsewhere\n"
)
needs_dev_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")


def gapmin(monkeypatch, *arguments, stdout=None):
    """The exit code of the whole command line."""
    monkeypatch.setattr(sys, "argv", ["gapmin", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdout", stdout or sys.stdout)  # put back in the end: more is put around them
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(cli, "exit_on_signals", lambda: None)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def into_a_full_device(monkeypatch, *arguments):
    with open("/dev/full", "w") as stream:
        return gapmin(monkeypatch, *arguments, stdout=stream)


@contextmanager
def no_space():
    """Files cannot grow beyond a few bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def no_work(*_, **__):
    raise AssertionError("started to work before the place was checked")


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    rows = "".join(f"{k % 7},{k % 3},{'yes' if k % 7 > 3 else 'no'}\n" for k in range(30))
    for name in ("target.csv", "source.csv"):
        (folder / name).write_text(f"a,b,kind\n{rows}")
    return folder


@pytest.fixture
def study(files):
    return ("--target", files / "target.csv", "--source", files / "source.csv", "--label", "kind")


@pytest.fixture
def model(files, monkeypatch):
    """A model that is quickly had."""
    study = read_study(files / "target.csv", [files / "source.csv"], "kind")
    made = SimpleNamespace(
        schema=study.schema, conform=study.schema.conform, pipeline=DummyClassifier().fit(*study.target)
    )
    monkeypatch.setattr(task_model, "load_predictor", lambda path: made)
    return "model.skops"


@needs_dev_full
@pytest.mark.parametrize(
    "command",
    ["--help", "--version", "", "demo --help", "data", "data list", "data list --json", "data where", "reproduce list"],
)
def test_a_full_device_is_one_line(monkeypatch, capsys, command):
    assert into_a_full_device(monkeypatch, *command.split()) == 1
    assert capsys.readouterr().err == FULL


@needs_dev_full
def test_a_full_device_is_one_line_of_each_command_on_files(monkeypatch, capsys, study, model, files, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study_package, "compare_study", no_work)
    for command in (
        ("compare", *study, "--report", "report.html"),
        ("fit", *study, "-o", "model.skops"),
        ("predict", model, files / "target.csv", "--json"),
        ("example", tmp_path / "cars"),
    ):
        assert into_a_full_device(monkeypatch, *command) == 1
        assert capsys.readouterr().err == FULL
    assert into_a_full_device(monkeypatch, "predict", model, files / "target.csv") == 1
    assert capsys.readouterr().err.endswith(f"%\n{FULL}")  # after the error on labels that are known
    assert sorted(os.listdir(tmp_path)) == ["cars", "files"]


def buffered(*command, **streams):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "gapmin", *command]
    return subprocess.run(command, **streams, text=True, env=environment, check=False)


@needs_dev_full
def test_nothing_is_said_on_leaving_either():
    """Python tries once more to write what is left, and would complain about that too."""
    with open("/dev/full", "w") as stream:
        done = buffered("--version", stdout=stream, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (1, FULL)
        done = buffered("nonsense", stdout=subprocess.PIPE, stderr=stream)
        assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("command", ["--help", "data list"])  # one is printed by typer, one by rich
def test_a_reader_that_has_gone_is_no_error_to_tell_of(command):
    reader, writer = os.pipe()
    os.close(reader)
    done = buffered(*command.split(), stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_without_standard_error_there_is_an_exit_code(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert gapmin(monkeypatch, "nonsense") == 2


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "a temporary file cannot be written (No space left on device): free"),
        (PermissionError(13, "Permission denied", "/a/b"), "/a/b: Permission denied"),
        (MemoryError(), "there is not enough memory: give fewer rows or columns, or fewer --jobs"),
    ],
)
def test_what_the_system_refuses_is_one_line(monkeypatch, capsys, tmp_path, error, said):
    def refuse(*_):
        raise error

    monkeypatch.setattr("gapmin.cli.demo._demo", refuse)
    assert gapmin(monkeypatch, "demo", "--out", tmp_path / "report.html") == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"gapmin: {said}")
    assert complaint.count("\n") == 1


def test_a_report_without_space_is_one_line_and_no_file(monkeypatch, capsys, study, tmp_path):
    monkeypatch.setattr(study_package, "compare_study", lambda *_, **__: None)
    monkeypatch.setattr("gapmin.study.page.study_report", lambda *_: Report("A report", "x" * 10_000))
    place = tmp_path / "report.html"
    place.write_text("old")
    with no_space():
        code = gapmin(monkeypatch, "compare", *study, "--report", place)
    assert code == 1
    said = capsys.readouterr().err
    assert (
        said == f"gapmin compare: {place} cannot be written (File too large): free some space, or name another file\n"
    )
    assert place.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["files", "report.html"]


def test_predictions_without_space_are_one_line_and_no_file(monkeypatch, capsys, model, files, tmp_path):
    for name in ("p.csv", "p.tsv.gz", "p.parquet"):
        with no_space():
            code = gapmin(monkeypatch, "predict", model, files / "target.csv", "-o", tmp_path / name)
        assert code == 1
        place = tmp_path / name
        said = capsys.readouterr().err
        assert said.startswith(f"gapmin predict: {place} cannot be written (File too large): free some space")
        assert said.count("\n") == 1
    assert os.listdir(tmp_path) == ["files"]


def test_an_example_without_space_leaves_none_of_its_files(monkeypatch, capsys, tmp_path):
    (tmp_path / "usa.csv").write_text("mine")
    whole = io_module.write_atomically

    def until_the_third(content, path):
        if path.name == "usa.csv":
            raise OSError(28, "No space left on device")
        return whole(content, path)

    monkeypatch.setattr(io_module, "write_atomically", until_the_third)
    assert gapmin(monkeypatch, "example", tmp_path, "--force") == 2
    assert "cannot be written to (No space left on device)" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["usa.csv"]
    assert (tmp_path / "usa.csv").read_text() == "mine"


@pytest.fixture
def place(tmp_path):
    return tmp_path / "report.html"


def refused(monkeypatch, capsys, study, place):
    monkeypatch.setattr(study_package, "compare_study", no_work)
    assert gapmin(monkeypatch, "compare", *study, "--report", place) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said.removeprefix(f"gapmin compare: --report is {place}, ").rstrip()


def test_no_device_is_replaced_by_a_report(monkeypatch, capsys, study, place):
    os.mkfifo(place)
    assert refused(monkeypatch, capsys, study, place) == "a device or a pipe: name a file"
    place.unlink()
    place.symlink_to("/dev/null")
    assert refused(monkeypatch, capsys, study, place) == "a device or a pipe: name a file"


def test_a_link_to_nowhere_is_found_before_the_work(monkeypatch, capsys, study, place, tmp_path):
    place.symlink_to(tmp_path / "gone" / "report.html")
    said = refused(monkeypatch, capsys, study, place)
    assert said == f"but there is no folder {tmp_path / 'gone'}: make it first"


def test_a_name_that_is_too_long_is_found_before_the_work(monkeypatch, capsys, study, tmp_path):
    said = refused(monkeypatch, capsys, study, tmp_path / ("x" * 300))
    assert said == "which cannot be written (File name too long): name another file"


def test_links_that_lead_nowhere_are_one_line(monkeypatch, capsys, study, tmp_path):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    link = f"{loop} cannot be read (Too many levels of symbolic links): copy it to another place\n"
    assert gapmin(monkeypatch, "compare", "--target", loop, *study[2:], "--report", tmp_path / "r.html") == 2
    assert capsys.readouterr().err == f"gapmin compare: {link}"
    assert gapmin(monkeypatch, "fit", "--target", loop, *study[2:], "-o", tmp_path / "m.skops") == 2
    assert capsys.readouterr().err == f"gapmin fit: {link}"
