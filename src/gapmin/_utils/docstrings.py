"""Descriptions of parameters and attributes that several classes have, written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

_Kind = TypeVar("_Kind", bound=type)
_SHARED = ("Parameters", "Attributes")


def described_as(*others: type, without: Sequence[str] = ("classes_",)) -> Callable[[_Kind], _Kind]:
    """Return a decorator: a class takes the sections Parameters and Attributes of others into its docstring.

    What it describes itself stays as it is, and of others the first counts. A parameter that it does not take is left
    out.

    Parameters
    ----------
    *others : type
        The classes to take descriptions from.
    without : sequence of str
        Attributes that the class does not have.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> class First:
    ...     '''One.
    ...
    ...     Parameters
    ...     ----------
    ...     a, b : float
    ...         Numbers.
    ...
    ...     Attributes
    ...     ----------
    ...     classes_ : list
    ...         Classes.
    ...     '''
    >>> @described_as(First)
    ... class Second:
    ...     '''Two.'''
    ...     def __init__(self, b): ...
    >>> Second.__doc__.splitlines()[-2:]
    ['b : float', '    Numbers.']
    """

    def decorate(kind: _Kind) -> _Kind:
        parameters = [*inspect.signature(kind).parameters]
        for theirs in map(inspect.getdoc, others):
            own = inspect.getdoc(kind)
            if own and theirs:  # neither with python -OO
                kind.__doc__ = _merged(own, theirs, parameters, without)
        return kind

    return decorate


def _merged(own: str, theirs: str, parameters: Sequence[str], without: Sequence[str]) -> str:
    first, sections = _sections(own)
    others = _sections(theirs)[1]
    parts = [first]
    for title in _SHARED:
        mine = _entries(sections.pop(title, ""))
        said = {name for names, _ in mine for name in names}
        left_out = said | set(without)
        entries = []
        for names, text in _entries(others.get(title, "")):
            kept = [name for name in names if name not in left_out and (title != "Parameters" or name in parameters)]
            entries += [(kept, text)] if kept else []
        entries = sorted([*mine, *entries], key=lambda entry: _place(entry[0][0], parameters))
        lines = [f"{', '.join(names)}{text}" for names, text in entries]
        parts += [f"{title}\n{'-' * len(title)}\n" + "\n".join(lines)] if lines else []
    parts += [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items()]
    return "\n\n".join(parts)


def _place(name: str, parameters: Sequence[str]) -> int:
    """Return the place of a parameter; attributes come after, in the order given."""
    return parameters.index(name) if name in parameters else len(parameters)


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Return what comes before the first section, and each section by its title."""
    first, *rest = re.split(r"^([A-Z]\w*)\n-{3,}\n", text, flags=re.MULTILINE)
    return first.strip(), {title: body.strip("\n") for title, body in zip(rest[::2], rest[1::2], strict=True)}


def _entries(text: str) -> list[tuple[list[str], str]]:
    """Return the names of each entry of a section, and what follows them."""
    found = [re.match(r"[\w*, ]+", each) for each in re.split(r"^(?=\S)", text, flags=re.MULTILINE) if each.strip()]
    return [(each[0].strip().split(", "), each.string[len(each[0].rstrip()) :].rstrip()) for each in found if each]
