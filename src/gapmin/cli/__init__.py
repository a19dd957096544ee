"""The command line: for people's own files ``compare``, ``fit``, ``predict``, ``explain``; and everything else."""

# No `from __future__ import annotations` here: typer reads the annotations of commands defined in a function.
import sys
from typing import TYPE_CHECKING, Annotated

from gapmin._version import __version__
from gapmin.cli._common import INTERRUPTED, WRONG_USAGE, MissingExtraError, require
from gapmin.cli._output import run_command
from gapmin.cli._signals import exit_on_signals

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run the command line: 0 when done, 1 when something is missing or full, 2 for wrong usage, 130 after Ctrl-C."""
    exit_on_signals()
    sys.exit(run_command(lambda: _run(sys.argv[1:])))


def _run(arguments: list[str]) -> int | str:
    """Return the exit code, or the message for standard error when an extra is missing."""
    try:
        require("typer", "rich")
        import typer

        try:
            return int(_app()(arguments, prog_name="gapmin", standalone_mode=False) or 0)
        except typer.Abort:
            return INTERRUPTED
        except Exception as error:
            # An error of the parser has a message of one line; anything else is a bug and keeps its traceback.
            if not hasattr(error, "format_message"):
                raise
            context = getattr(error, "ctx", None)
            command = "gapmin" if context is None else context.command_path
            typer.echo(f"{command}: {error.format_message().rstrip('.')} (see {command} --help)", err=True)
            return WRONG_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except MissingExtraError as error:
        return f"gapmin: {error}"


def _app() -> "typer.Typer":
    import typer

    from gapmin.cli import compare, data, demo, example, explain, fit, predict, reproduce, tasks

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Learn from other people's data without being hurt by it.",
        epilog="Example: gapmin compare --target target.csv --source other.csv --label price",
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"gapmin {__version__}")
            raise typer.Exit

    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for command in (example, compare, fit, tasks, predict, explain, demo, data, reproduce):
        command.add_to(app)
    return app
