import io
import threading

import pytest

pytest.importorskip("rich")

from rich.console import Console

from gapmin._utils import progress


def test_in_a_pipe_every_stage_is_a_line(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_WITHOUT_LINES", -1.0)
    stream = io.StringIO()
    with progress.stages_on(Console(file=stream), "gapmin compare") as on_progress:
        on_progress(0.0, "reading [bold]files")
        on_progress(0.1, "reading [bold]files")
        on_progress(0.5, "fitting")
    lines = [line.rpartition(", ")[0] for line in stream.getvalue().splitlines()]
    assert lines == ["gapmin compare: 0%, reading [bold]files", "gapmin compare: 50%, fitting"]


def test_a_long_stage_is_told_of_again(monkeypatch):
    """The line comes by itself, from a thread that ends with the progress."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.001)
    told = threading.Event()

    class Stream(io.StringIO):
        def write(self, text):
            if "fitting" in text:
                told.set()
            return super().write(text)

    before = threading.active_count()
    with progress.stages_on(Console(file=Stream()), "gapmin compare") as on_progress:
        on_progress(0.3, "fitting")
        assert told.wait(30)
    assert threading.active_count() == before
