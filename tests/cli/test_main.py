import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import gapmin
from gapmin import cli
from gapmin.cli import _common

HEAVY = ("torch", "dask", "matplotlib", "pandas", "rich", "typer", "jinja2")


def _python(code, *arguments, **kwargs):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], capture_output=True, text=True, check=False, **kwargs
    )


def test_import_gapmin_loads_nothing_heavy_of_its_own():
    # What scikit-learn itself loads for these modules (pandas, rich where installed) is not ours to forbid.
    done = _python(
        f"""
        import sys
        import sklearn.dummy, sklearn.ensemble, sklearn.linear_model, sklearn.model_selection, sklearn.pipeline
        before = set(sys.modules)
        import gapmin
        new = set(sys.modules) - before
        assert not [name for name in new if name.split(".")[0] in {HEAVY}], sorted(new)
        upper = ("gapmin.cli", "gapmin.reproduce", "gapmin.reporting", "gapmin.study")
        assert not [name for name in new if name.startswith(upper)]
        """
    )
    assert done.returncode == 0, done.stderr


def test_the_package_is_a_command_too():
    done = subprocess.run([sys.executable, "-m", "gapmin", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["gapmin", gapmin.__version__])


def test_the_demo_loads_torch_only_when_it_trains_networks():
    done = _python("import sys; from gapmin.reproduce import demo; assert 'torch' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_version(capsys):
    assert cli._run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"gapmin {gapmin.__version__}"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], []])
def test_help_has_an_example(capsys, arguments):
    assert cli._run(arguments) == 0
    assert f"Example: gapmin {'demo' if 'demo' in arguments else 'compare'}" in capsys.readouterr().out


@pytest.fixture
def no_work(monkeypatch):
    def work(*_):
        raise AssertionError("started to work before the input was checked")

    monkeypatch.setattr("gapmin.cli.demo._demo", work)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--splits", "0"], "--splits is 0: take at least 1"),
        (["--splits", "many"], "--splits"),
        (["--jobs", "-3"], "--jobs is -3: take at least 1"),
        (["--out", "no/such/folder/report.html"], "there is no folder no/such/folder"),
        (["--out", "."], "a folder: name a file"),
        (["--out", "/dev/null/report.html"], "there is no folder"),
        (["--nonsense"], "No such option: --nonsense"),
        (["extra"], "extra"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, arguments, said):
    assert cli._run(["demo", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.usefixtures("no_work")
def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(capsys, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    # Root may write anywhere, so the refusal is made here.
    monkeypatch.setattr(_common.tempfile, "TemporaryFile", refuse)
    assert cli._run(["demo", "--out", str(tmp_path / "report.html")]) == 2
    assert "cannot be written to: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_an_error_of_a_command_names_its_own_help(capsys, command):
    assert cli._run([command, "--nonsense"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gapmin {command}: ")
    assert said.endswith(f"(see gapmin {command} --help)\n")


@pytest.mark.usefixtures("no_work")
def test_unknown_command(capsys):
    assert cli._run(["dmeo"]) == 2
    assert "No such command 'dmeo'" in capsys.readouterr().err


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [("demo", missing, "cli") for missing in ("typer", "rich")]
    + [("demo", missing, "demo") for missing in ("matplotlib", "mlxtend", "jinja2")]
    + [("example", "mlxtend", "data"), ("example", "typer", "cli")],
)
def test_a_missing_extra_is_named_with_what_to_install(command, missing, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.chdir(tmp_path)
    said = cli._run([command, *(["cars"] if command == "example" else [])])
    assert said == f'gapmin: {missing} missing: run pip install -e ".[{extra}]" in a clone of gapmin'
    assert os.listdir(tmp_path) == []


def test_without_typer_the_command_ends_with_a_line_not_a_traceback():
    done = _python("import sys; sys.modules['typer'] = None; from gapmin.cli import main; main()", "demo")
    assert done.returncode == 1
    assert done.stderr == 'gapmin: typer missing: run pip install -e ".[cli]" in a clone of gapmin\n'


def test_ctrl_c_is_code_130_and_leaves_no_file(tmp_path):
    code = """
    import sys
    from gapmin.reproduce import demo
    from gapmin.cli import main

    whole = demo.run_demo
    def announced(*args, on_progress, **kwargs):
        def tell(share, n_fits):
            sys.stdout.write("working\\n")
            sys.stdout.flush()
            on_progress(share, n_fits)
        return whole(*args, on_progress=tell, **kwargs)
    demo.run_demo = announced
    main()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), "demo", "--quick", "--jobs", "2", "--out", "report.html"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted, no report written" in complaints
    assert "Traceback" not in complaints
    assert os.listdir(tmp_path) == []


def test_a_bug_keeps_its_traceback(monkeypatch, tmp_path):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("gapmin.cli.demo._demo", broken)
    with pytest.raises(ZeroDivisionError):
        cli._run(["demo", "--out", str(tmp_path / "report.html")])


@pytest.fixture
def small_demo(monkeypatch):
    from gapmin.reproduce import demo_sections

    monkeypatch.setattr(demo_sections, "QUICK_PROBLEMS", ("digits -> mnist, odd", "diabetes low"))


@pytest.mark.usefixtures("small_demo")
def test_demo_writes_its_report_and_shows_its_tables(monkeypatch, tmp_path, capsys):
    from gapmin.datasets import MultitaskProblem
    from gapmin.deep import MLP
    from gapmin.reproduce import networks

    X = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    tasks = dict.fromkeys(("first", "second", "stranger"), (X, X[:, 0] > 0))
    small = networks.Setup(MultitaskProblem("small", tasks, train_size=30), lambda: MLP(4, (8,)), 32)
    monkeypatch.setattr(networks, "setup", lambda *name: small)
    out = tmp_path / "report.html"
    assert cli._run(["demo", "--quick", "--splits", "1", "--jobs", "1", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "Classification, error in %: mean over 1 split" in shown.out
    assert "diabetes low" in shown.out
    assert "Decision: Use europe." in shown.out
    assert "Of 1 classification problem, the lowest mean error has" in shown.out
    assert "Performance gap of each source" in shown.out
    assert "diabetes low, source 2" in shown.out  # apart, though the boosters have them as one
    assert "Tasks trained together, 100 rows of each, error in %: mean over 1 split" in shown.out
    assert "In Gamma a task gives this share of its weight to itself" in shown.out
    assert "multitask part left out" not in shown.out
    assert "fits of experiments" in shown.err
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Gamma: what each task learns from" in page
    assert "20 epochs at a learning rate of 0.001" in page


@pytest.mark.usefixtures("small_demo")
def test_demo_without_torch_says_in_a_line_what_it_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    out = tmp_path / "report.html"
    assert cli._run(["demo", "--quick", "--splits", "1", "--jobs", "1", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert 'multitask part left out: run pip install -e ".[deep]" in a clone of gapmin' in shown.splitlines()
    assert "gapMTNN" not in shown
    assert "multitask part left out" in out.read_text(encoding="utf-8")
