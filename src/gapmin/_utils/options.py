"""How messages name an option: as the command line has it, or as Python does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ON_COMMAND_LINE = ContextVar("on_command_line", default=False)
_OTHER_NAMES = ContextVar[dict[str, str] | None]("other_names", default=None)
_LISTS = ("drop", "keep", "na")
_IN_PYTHON = {
    "metric": "scoring=",
    "no-text": "text=False",
    "json": "result.to_dict()",
}


@contextmanager
def on_command_line() -> Iterator[None]:
    """Let messages name options as they are typed."""
    token = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(token)


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Let messages name options as a command has them that calls them otherwise.

    Examples
    --------
    >>> with called(task="kind"):
    ...     option("task", "regression")
    "kind='regression'"
    """
    token = _OTHER_NAMES.set(names)
    try:
        yield
    finally:
        _OTHER_NAMES.reset(token)


def option(name: str, value: str = "") -> str:
    """Return what an option is called where the message is read, with a value or without.

    Examples
    --------
    >>> option("task"), option("task", "regression"), option("na", "k.A."), option("no-text")
    ('task=', "task='regression'", "na=['k.A.']", 'text=False')
    >>> option("metric", "roc_auc")
    "scoring='roc_auc'"
    >>> with on_command_line():
    ...     option("metric", "roc_auc")
    '--metric roc_auc'
    >>> with on_command_line():
    ...     option("task"), option("task", "regression"), option("na", "k.A."), option("no-text")
    ('--task', '--task regression', "--na 'k.A.'", '--no-text')
    """
    name = (_OTHER_NAMES.get() or {}).get(name, name)
    if _ON_COMMAND_LINE.get():
        shown = f" {value if value.replace('_', '').isalnum() else repr(value)}" if value else ""
        return f"--{name}{shown}"
    given = _IN_PYTHON.get(name, f"{name}=")
    if not value:
        return given
    return f"{given}[{value!r}]" if name in _LISTS else f"{given}{value!r}"


def fitting() -> str:
    """Return what makes the model.

    Examples
    --------
    >>> fitting()
    'call fit() of this comparison'
    """
    return "gapmin fit with the same files and options" if _ON_COMMAND_LINE.get() else "call fit() of this comparison"
