"""Check prose: no sentence of more than 35 words, none of the phrases below. Code is no prose.

python tools/check_words.py            # exit with 1 and the place of each finding
python tools/check_words.py --counts   # findings by file
python tools/check_words.py PATH ...   # these files alone

It reads Markdown, the docstrings, messages and help texts of the package, the texts of the examples, and the names of
tests. Exempt are the research notes, and the entries of released versions in the changelog. Pages that a program
writes are read too: what is found there is mended in the program.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 35

BANNED = (
    r"errs",
    r"err on",
    r"(?:has|have|had) (?:a|its|their|the same) say",
    r"the same say",
    r"of the say",
    r"of which none",
    r"asked of",
    r"lets? go of",
    r"lets go",
    r"turned",
    r"in doubt",
    r"flatters?",
    r"flattered",
    r"kinship",
    r"testimony",
    r"no free lunch",
    r"drowns?",
    r"sidesteps?",
    r"to the letter",
    r"starts? to bite",
    r"where they bite",
    r"stands? guard",
    r"is deaf",
    r"hopeless",
)
"""Phrases that a reader has to guess at. The list only grows."""

MARKDOWN = ("*.md", "docs/**/*.md", ".github/**/*.md")
PYTHON = ("src/gapmin/**/*.py", "examples/*.py", "tests/**/*.py")
OTHER = ("examples/*.rst",)
EXEMPT = ("docs/research/", "docs/gallery/", "docs/measured/", "docs/reference/api/", "tests/docs/test_words.py")
FEWEST = 2
"""Words from which on a string of the package is taken for a message."""

ABBREVIATED = "".join(rf"(?<!\b{each}\.)" for each in (r"e\.g", r"i\.e", "al", "cf", "Eq", "Sec", "vs"))
"""Not the end of a sentence, though a point is there."""

Prose = tuple[int, str]
"""A line number and a paragraph that begins there, without code."""


def files() -> list[Path]:
    """Return the files that are checked."""
    found = [path for pattern in (*MARKDOWN, *PYTHON, *OTHER) for path in ROOT.glob(pattern)]
    return sorted(path for path in found if not path.relative_to(ROOT).as_posix().startswith(EXEMPT))


def prose(path: Path) -> list[Prose]:
    """Return the paragraphs of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return list(markdown(until_released(text) if path.name == "CHANGELOG.md" else text))
    return list(names_of_tests(text) if ROOT / "tests" in path.parents else python(text))


def until_released(text: str) -> str:
    """Return a changelog without the entries of released versions."""
    lines = text.split("\n")
    ends = [k for k, line in enumerate(lines) if re.match(r"## \[?\d", line)]
    return "\n".join(lines[: ends[0]] if ends else lines)


def markdown(text: str) -> Iterator[Prose]:
    r"""Yield the paragraphs, items, headings and cells of a Markdown text.

    Examples
    --------
    >>> list(markdown("One `a b` two\n[three](x.md).\n\n| a | b c |\n"))
    [(1, 'One CODE two three.'), (4, 'a'), (4, 'b c')]
    """
    text = re.sub(r"<!--.*?-->|<(svg|iframe).*?</\1>", blank, text, flags=re.DOTALL)
    text = re.sub(r"^(`{3,}|:{3,})[^\n]*\n.*?^\1[ ]*$", blank_code, text, flags=re.DOTALL | re.MULTILINE)
    paragraph: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        stripped = line.strip()
        cells = stripped.startswith("|")
        begins = re.match(r"([-*+]|\d+\.|#+|>)\s", stripped) or cells or line.startswith("    ")
        if paragraph and (not stripped or begins):
            yield start, plain(" ".join(paragraph))
            paragraph = []
        if cells:
            yield from ((number, plain(cell.strip())) for cell in stripped.strip("|").split("|") if cell.strip(" -:"))
        elif stripped and not (line.startswith("    ") and not re.match(r"([-*+]|\d+\.)\s", stripped)):
            start = start if paragraph else number
            paragraph.append(re.sub(r"^([-*+]|\d+\.|#+|>)\s+", "", stripped))


def blank(match: re.Match[str]) -> str:
    """Return as many empty lines, so that line numbers stay."""
    return "\n" * match[0].count("\n")


def blank_code(match: re.Match[str]) -> str:
    """Leave out a block of code; of a block with text, such as a card, keep the text."""
    if match[1].startswith(":"):
        return "\n".join("" if line.lstrip().startswith(":") else line for line in match[0].split("\n"))
    return blank(match)


def plain(text: str) -> str:
    """Return a text without markup; code is one word.

    Examples
    --------
    >>> plain("See **the** [guide](a.md), ``x = 1`` and :func:`f <a.f>`.")
    'See the guide, CODE and CODE.'
    """
    text = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?::[\w:]+:)?(`+).+?\1", "CODE", text)
    return re.sub(r"\*+|<[^>]+>", "", text)


def python(text: str) -> Iterator[Prose]:
    """Yield the paragraphs of docstrings, of messages and help texts, and of the comments of a gallery example."""
    yield from strings(ast.parse(text))
    if re.search(r"^# %%", text, flags=re.MULTILINE):
        block: list[str] = []
        for number, line in enumerate([*text.split("\n"), ""], start=1):
            if line.startswith("# ") and not line.startswith("# %%"):
                block.append(line[2:])
            elif block:
                yield from docstring("\n".join(block), number - len(block))
                block = []


def strings(node: ast.AST) -> Iterator[Prose]:
    r"""Yield the paragraphs of docstrings and of all strings that are long enough for a message; a value is one word.

    Examples
    --------
    >>> list(strings(ast.parse("def f(n):\n    'Do it.'\n    raise ValueError(f'n is {n!r}: give ' '1 or more')")))
    [(2, 'Do it.'), (3, 'n is VALUE: give 1 or more')]
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str):
            yield from docstring(child.value.value, child.lineno)
        elif isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
            parts = child.values if isinstance(child, ast.JoinedStr) else [child]
            text = "".join(str(each.value) if isinstance(each, ast.Constant) else "VALUE" for each in parts)
            if len(text.split()) >= FEWEST:
                prose = "\n".join(line for line in text.split("\n") if "   " not in line.strip())  # no tables
                yield from ((child.lineno, plain(" ".join(each.split()))) for each in re.split(r"\n\s*\n", prose))
        else:
            yield from strings(child)


def names_of_tests(text: str) -> Iterator[Prose]:
    """Yield the names of tests, as words.

    Examples
    --------
    >>> list(names_of_tests("def test_one_task_is_plain_training(): pass"))
    [(1, 'one task is plain training')]
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.lower().startswith("test"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ")


def docstring(text: str, at: int) -> Iterator[Prose]:
    """Yield the paragraphs of a docstring in the numpydoc form.

    Examples
    --------
    >>> list(docstring('''Do it.
    ...
    ... Parameters
    ... ----------
    ... a : int
    ...     How much
    ...     of it.
    ...
    ... >>> f(1)
    ... 2
    ... ''', 1))
    [(1, 'Do it.'), (6, 'How much of it.')]
    """
    paragraph: list[str] = []
    start, depth, example = at, -1, False
    lines = [*text.expandtabs().split("\n"), ""]
    for number, line in enumerate(lines, start=at):
        stripped = line.strip()
        indent = len(line) - len(line.lstrip()) if number > at else -1
        following = lines[number - at + 1].strip() if number - at + 1 < len(lines) else ""
        underline = bool(stripped) and set(stripped) <= set("-=~")
        example = bool(stripped) and (example or stripped.startswith(">>>"))
        title = bool(following) and len(following) >= 3 and set(following) <= set("-=~")
        header = bool(re.match(r"^[\w*, ./`]+ : |^[\w*, ]+$", stripped)) and _deeper(lines, number - at, indent)
        table = "   " in stripped
        skipped = underline or example or title or header or table or not stripped
        item = bool(re.match(r"[-*]\s|\d+\.\s", stripped))
        if paragraph and (skipped or item or (indent != depth and depth >= 0 and number > start + 1)):
            yield start, plain(" ".join(paragraph))
            paragraph = []
        if not skipped:
            if not paragraph:
                start = number
            paragraph.append(re.sub(r"^([-*]|\d+\.)\s+", "", stripped))
            depth = indent
    if paragraph:
        yield start, plain(" ".join(paragraph))


def _deeper(lines: list[str], k: int, indent: int) -> bool:
    """Whether the next line stands further to the right, or this one names a parameter without a description."""
    after = lines[k + 1] if k + 1 < len(lines) else ""
    return (bool(after.strip()) and len(after) - len(after.lstrip()) > max(indent, 0)) or " : " in lines[k]


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph.

    Examples
    --------
    >>> sentences("It is 3.5 m, e.g. here. Is it? Yes")
    ['It is 3.5 m, e.g. here.', 'Is it?', 'Yes']
    """
    return [each for each in re.split(rf"{ABBREVIATED}(?<=[.!?])[\"')]*\s+", text) if each]


def findings(path: Path) -> list[str]:
    """Return what is wrong with the words of a file, a line for each place."""
    found = []
    for line, paragraph in prose(path):
        for sentence in sentences(paragraph):
            n_words = sum(any(letter.isalpha() for letter in word) for word in sentence.split())
            if n_words > LONGEST:
                found.append(f"{path.relative_to(ROOT)}:{line}: {n_words} words: {sentence[:400]}")
            for phrase in BANNED:
                if match := re.search(rf"\b{phrase}\b", sentence, flags=re.IGNORECASE):
                    found.append(f"{path.relative_to(ROOT)}:{line}: {match[0]!r}: say it plainly: {sentence[:400]}")
    return found


def main(arguments: list[str]) -> int:
    given = [Path(each).resolve() for each in arguments if not each.startswith("-")]
    every = {path: findings(path) for path in given or files()}
    if "--counts" in arguments:
        for path, found in sorted(every.items(), key=lambda pair: -len(pair[1])):
            if found:
                print(f"{len(found):5d}  {path.relative_to(ROOT)}")
    else:
        for line in (line for found in every.values() for line in found):
            print(line)
    n_found = sum(map(len, every.values()))
    if n_found:
        print(f"{n_found} findings in {sum(map(bool, every.values()))} of {len(every)} files")
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
