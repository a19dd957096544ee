"""The check of words finds what it promises, and takes no code for prose."""

import pytest
from tools import check_words
from tools.check_words import docstring, files, findings, markdown, python, sentences, until_released

LONG = " ".join(f"word{'s' * (k % 3)}" for k in range(36)).capitalize() + "."


@pytest.fixture
def found_in(tmp_path, monkeypatch):
    monkeypatch.setattr(check_words, "ROOT", tmp_path)

    def found(name, text):
        path = tmp_path / name
        path.write_text(text)
        return findings(path)

    return found


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        f"- {LONG}",
        f"# {LONG}",
        f"> {LONG}",
        f"| a | {LONG} |",
        f"A [link]({'x' * 40}) before. {LONG}",
        f":::{{card}} Title\n:link: a\n\n{LONG}\n:::",
        LONG.replace(" ", "\n"),
    ],
    ids=["paragraph", "item", "heading", "quote", "cell", "second", "card", "lines"],
)
def test_a_long_sentence_of_a_page_is_found(found_in, text):
    (found,) = found_in("page.md", f"Fine.\n\n{text}\n")
    assert "36 words" in found
    assert ":3:" in found or ":6:" in found


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{LONG} errs\n```",
        f"    {LONG} errs",
        f"`{LONG} errs`",
        f"<!-- {LONG} errs -->",
        LONG.replace("word ", "12.5 "),  # numbers are no words
        LONG.rsplit(" ", 1)[0] + ".",  # 35 words
        LONG.rsplit(" ", 2)[0] + " `two words`.",  # code is one word
    ],
)
def test_code_and_numbers_and_35_words_are_fine(found_in, text):
    assert not found_in("page.md", f"Fine.\n\n{text}\n")


def test_a_banned_phrase_is_found_whole_and_in_any_case(found_in):
    (found,) = found_in("page.md", "Every method Errs here.\n")
    assert "page.md:1" in found
    assert not found_in("page.md", "Errors and terrs.\n")


def test_docstrings_help_texts_and_examples_are_read(found_in):
    assert found_in("code.py", f'def f():\n    """Do.\n\n    {LONG}\n    """\n')
    assert found_in("code.py", f'"""Do."""\nOption = typer.Option(help="{LONG}")\n')
    assert found_in("code.py", f"# %%\n# {LONG}\n")
    assert not found_in("code.py", f"# {LONG}\n")  # a comment is for those who change the code


@pytest.mark.parametrize(
    "code",
    [
        'raise ValueError("the model of source 2 errs here")',
        'raise ValueError(f"the model of {source} errs" f" on {n} rows")',
        'return "\\n".join(["no model at all errs here", *lines])',
        'LEVEL = """One.\n\nTwo of the models err on this one."""',
    ],
)
def test_messages_are_read(found_in, code):
    (found,) = found_in("code.py", f"def f():\n    {code}\n")
    assert ":2:" in found


def test_a_value_within_a_message_is_one_word_and_a_table_is_no_sentence(found_in):
    exact = " ".join(["word"] * 34)
    assert not found_in("code.py", f'f(f"{exact} {{value + 1}}.")\n')
    assert found_in("code.py", f'f(f"{exact} {{value}} more.")\n')
    assert not found_in("code.py", f'TEXT = """\\\n  a.csv      {exact}\n  b.csv      {exact}\n"""\n')
    assert not found_in("code.py", 'KEYS = ("errs", "flatters")\n')  # short strings are no messages


def test_names_of_tests_are_read(found_in, tmp_path):
    (tmp_path / "tests").mkdir()
    (found,) = found_in("tests/test_it.py", "def test_the_model_errs():\n    f('no model of ours errs in this')\n")
    assert "the model errs" in found


def test_a_description_of_a_parameter_is_prose_and_its_type_and_examples_are_not():
    text = f"Do.\n\nParameters\n----------\na : {LONG}\n    It errs.\n\nExamples\n--------\n>>> f()  # {LONG}\n{LONG}\n"
    assert list(docstring(text, 1)) == [(1, "Do."), (6, "It errs.")]


def test_a_sentence_ends_at_its_point_alone():
    assert sentences("See Sec. 4 of Gong et al. (2012). gapBoost is 3.5 times faster!") == [
        "See Sec. 4 of Gong et al. (2012).",
        "gapBoost is 3.5 times faster!",
    ]


def test_released_versions_are_exempt():
    assert until_released("## Unreleased\nnew\n## 0.2.0 - 2026-11-18\nold").split("\n") == ["## Unreleased", "new"]


def test_the_pages_people_read_are_among_the_files():
    names = {path.relative_to(check_words.ROOT).as_posix() for path in files()}
    assert {"README.md", "docs/concepts.md", "src/gapmin/cli/fit.py", "examples/plot_regression.py"} <= names
    assert {"docs/results/table2.md", "examples/GALLERY_HEADER.rst", "tests/test_gap.py"} <= names
    assert not any(name.startswith("docs/research") for name in names)


def test_lists_of_helps_are_one_text():
    assert [text for _, text in python('x = f(help="One " "two.")')] == ["One two."]
    assert list(markdown("a\n\nb\n")) == [(1, "a"), (3, "b")]
