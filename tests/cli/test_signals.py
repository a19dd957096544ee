"""Commands with two worker processes that are ended from outside leave no process, no folder and no file behind."""

import signal
import subprocess
import sys

import pytest

from gapmin_support.processes import children_of, is_alive, traces_of, wait_until, workers_of

for package in ("typer", "rich", "pandas", "skops"):
    pytest.importorskip(package)

FILES = ["--target", "target.csv", "--source", "usa.csv", "--source", "europe.csv", "--label", "mpg"]
COMMANDS = {
    "fit": ["fit", *FILES, "--out", "model.skops"],
    "compare": ["compare", *FILES, "--report", "report.html"],
    "reproduce": ["reproduce", "table1", "--out", "results"],
}


@pytest.fixture(scope="module")
def cars(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cars")
    subprocess.run([sys.executable, "-m", "gapmin", "example", str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_nothing_is_left_of_a_command_that_is_ended(cars, command, number, code):
    before = {path.name for path in cars.iterdir()} | {"results"}
    arguments = [sys.executable, "-m", "gapmin", *COMMANDS[command], "--jobs", "2"]
    with subprocess.Popen(arguments, cwd=cars, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        wait_until(lambda: parent.poll() is not None or len(workers_of(parent.pid)) >= 2, 300)
        assert parent.poll() is None, parent.stderr.read()
        started = children_of(parent.pid)
        parent.send_signal(number)
        assert parent.wait(60) == code
        wait_until(lambda: not any(is_alive(each) for each in started) and not traces_of(parent.pid), 10)
        assert "Traceback" not in parent.stderr.read()
    assert {path.name for path in cars.iterdir()} <= before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_unwinds_the_command_and_comes_once(number):
    script = (
        "import signal, sys\n"
        "from gapmin.cli._signals import exit_on_signals\n"
        "exit_on_signals()\n"
        "try:\n"
        f"    signal.raise_signal({number})\n"
        "finally:\n"
        f"    signal.raise_signal({number})\n"
        "    print('cleaned up')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "cleaned up\n", "")


def test_a_command_ends_though_its_exception_is_lost():
    script = (
        "import signal, time\n"
        "from gapmin.cli import _signals\n"
        "_signals._SECONDS_TO_END = 0.1\n"
        "_signals.exit_on_signals()\n"
        "try:\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "except SystemExit:\n"
        "    time.sleep(600)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=300, check=False)
    assert done.returncode == 128 + signal.SIGTERM


def test_a_signal_that_is_ignored_stays_ignored():
    """As SIGHUP under nohup."""
    from gapmin.cli import _signals

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    try:
        _signals.exit_on_signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for number, handler in zip((signal.SIGHUP, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
