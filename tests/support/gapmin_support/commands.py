"""Commands of the command line, in this process."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import typer
from typer.testing import CliRunner


def invoke(commands: list[ModuleType], *arguments: object, **environment: str) -> Any:
    """Run one of the commands, and return its output and exit code."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)  # of a command that is alone typer would leave out the name
    for command in commands:
        command.add_to(app)
    return CliRunner(env=environment).invoke(app, [str(each) for each in arguments])
