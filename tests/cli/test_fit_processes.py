"""``gapmin fit``, ``predict`` and ``explain`` as processes: the whole path, and Ctrl-C in the middle of a fit."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

pytest.importorskip("typer")
pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

from gapmin._utils.options import on_command_line  # noqa: E402
from gapmin.study import StudyFiles  # noqa: E402
from gapmin.study.model import fit_study  # noqa: E402
from gapmin_support.processes import wait_until, workers_of  # noqa: E402

COMMANDS = """
import typer
from gapmin.cli import explain, fit, predict
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
for command in (fit, predict, explain):
    command.add_to(app)
app(prog_name="gapmin")
"""
FIT = ("fit", "--target", "target.csv", "--source", "old.csv", "--label", "price")


def command(*arguments):
    return [sys.executable, "-c", COMMANDS, *arguments]


def run(folder, *arguments):
    done = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("target", 16), ("old", 60), ("new", 5)):
        rooms, street = rng.integers(1, 9, n), rng.choice(["north", "south"], n)
        price = rooms + 2.0 * (street == "north") + 0.5 * rng.normal(size=n)
        pd.DataFrame({"rooms": rooms, "street": street, "price": price}).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_the_whole_path_with_two_processes_equals_one(folder):
    old = folder / "model.skops"
    old.write_text("an old model")
    fitted = run(folder, *FIT, "-o", "model.skops", "--jobs", "2", "--force")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert fitted.stdout.endswith("Next:\n  gapmin predict model.skops new.csv -o predictions.csv\n")
    with on_command_line():  # notes name options as they were typed
        model = fit_study(StudyFiles(folder / "target.csv", [folder / "old.csv"], "price"), n_jobs=1)
    assert model.save(folder / "again.skops").read_bytes() == old.read_bytes()

    assert run(folder, "predict", "model.skops", "new.csv", "-o", "out.csv").returncode == 0
    X, _ = model.conform(pd.read_csv(folder / "new.csv"), "new.csv")
    predicted = pd.read_csv(folder / "out.csv")["predicted_price"]
    np.testing.assert_allclose(predicted, model.pipeline.predict(X), rtol=1e-14)

    said = json.loads(run(folder, "explain", "model.skops", "--json").stdout)
    assert said["evidence"]["headline"] == model.evidence.headline()
    names = {path.name for path in folder.iterdir()}
    assert names == {"target.csv", "old.csv", "new.csv", "model.skops", "again.skops", "out.csv"}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_leaves_the_old_model_and_nothing_else(folder, jobs):
    before = {"target.csv", "old.csv", "new.csv", "model.skops"}
    (folder / "model.skops").write_text("an old model")
    arguments = command(*FIT, "-o", "model.skops", "--force", "--jobs", jobs)
    with subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as fit:
        while not (line := fit.stdout.readline()).startswith("Predicting price"):
            assert line, fit.stderr.read()
        started = wait_until(lambda: workers_of(fit.pid), 300) if jobs == "2" else []
        for _ in range(30):  # pressed again where it is not heard, as people do
            os.killpg(fit.pid, signal.SIGINT)  # as a terminal does: to the workers too
            try:
                _, said = fit.communicate(timeout=10)
                break
            except subprocess.TimeoutExpired:
                pass
    assert fit.returncode == 130
    assert said.splitlines()[-1] == "gapmin fit: interrupted, no model written"
    assert "Traceback" not in said
    assert (folder / "model.skops").read_text() == "an old model"
    assert {path.name for path in folder.iterdir()} == before
    assert not psutil.wait_procs(started, timeout=60)[1]


@pytest.mark.slow
def test_what_is_wrong_is_one_line_and_exit_code_2(folder):
    (folder / "model.skops").write_bytes(b"\x80\x04.")
    for arguments, said in (
        (("predict", "model.skops", "new.csv"), "model.skops is not a model file: name a file that gapmin wrote"),
        (("explain", "no.skops"), "no.skops does not exist: check its name, or fit and save a model first"),
        ((*FIT, "-o", "no/model.skops"), "--out is no/model.skops, but there is no folder no: make it first"),
    ):
        done = run(folder, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"gapmin {arguments[0]}: {said}\n"
