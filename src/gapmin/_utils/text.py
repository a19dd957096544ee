"""Numbers, names and lists as a reader expects them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_NAMES = 10
_LONGEST_VALUE, _LONGEST_LINE = 60, 120


def format_number(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, and no exponent at the sizes of errors.

    Examples
    --------
    >>> [format_number(value) for value in (0.01234, 0.5, 3.146, 38.47, 100.0, 1234.5)]
    ['0.0123', '0.500', '3.15', '38.5', '100', '1234']
    """
    if not abs(value) > 0:
        return f"{value:.0f}"
    # Rounding first: 9.996 has one digit less after the point than 9.99.
    whole = len(str(int(abs(float(f"{value:.{digits - 1}e}")))))
    if abs(value) >= 1:
        return f"{value:.{max(digits - whole, 0)}f}"
    return f"{value:#.{digits}g}" if abs(value) >= 1e-4 else f"{value:.{digits - 1}e}"


def joined(parts: Sequence[str]) -> str:
    """Join words as a sentence does.

    Examples
    --------
    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def quoted(value: object) -> str:
    """Return a value for a message, in quotes, on one line and not too long.

    Examples
    --------
    >>> quoted("price")
    "'price'"
    >>> len(quoted("x" * 1000))
    62
    """
    text = str(value)
    return repr(text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…")


def listed(names: Iterable[object], at_most: int = _MOST_NAMES) -> str:
    """Return names in quotes, the first ten and how many more.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    >>> listed(range(10_000), at_most=2)
    "'0', '1' and 9,998 more"
    """
    every = list(names)
    shown = ", ".join(quoted(name) for name in every[:at_most])
    return shown if len(every) <= at_most else f"{shown} and {len(every) - at_most:,} more"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1234, "row"), counted(2, "class", "classes")
    ('1 row', '1,234 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def format_bytes(n_bytes: int) -> str:
    """Return the size of a file.

    Examples
    --------
    >>> [format_bytes(n) for n in (12_345, 1_234_567, 65_432_100)]
    ['12 kB', '1.2 MB', '65 MB']
    """
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e6:.{1 if n_bytes < 1e7 else 0}f} MB"


def printable(text: str) -> str:
    r"""Return a text on one line, without what would move the cursor or change colours.

    Examples
    --------
    >>> print(printable("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def replace_unprintable(text: str, mark: str = "\ufffd") -> str:
    r"""Return a text of the same length in which a mark stands for each letter that cannot be shown.

    Examples
    --------
    >>> replace_unprintable("a\x1b[31mb\udce9", "?")
    'a?[31mb?'
    """
    return "".join(letter if letter.isprintable() else mark for letter in text)


def one_line(thing: object) -> str:
    r"""Return anything, such as a word from a file or an error, as one short printable line.

    Examples
    --------
    >>> one_line("a\n  b\x1b"), len(one_line("x" * 1000))
    ('a b?', 120)
    """
    line = replace_unprintable(" ".join(str(thing)[: 100 * _LONGEST_LINE].split()), "?")
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."
