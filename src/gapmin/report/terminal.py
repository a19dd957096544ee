"""Tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import Entry, Table

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text


def to_rich(table: Table) -> Group:
    """Turn a table into rich's below its caption, the best in bold."""
    import rich.box
    import rich.table
    from rich.console import Group
    from rich.text import Text

    shown = rich.table.Table(
        box=rich.box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="",
    )
    for k, name in enumerate(table.narrow_header or table.header):
        is_number = table.numeric and k > 0
        shown.add_column(Text(name), justify="right" if is_number else "left", no_wrap=is_number, vertical="bottom")
    for row in table.rows:
        shown.add_row(*map(_text, row))
    if table.summary:
        shown.add_section()
    for row in table.summary:
        shown.add_row(*map(_text, row))
    # Not as rich's title, which would be broken to the width of a narrow table.
    return Group(Text(table.caption, style="bold"), shown)


def _text(entry: Entry) -> Text:
    """Return rich's text of an entry; names are never read as markup."""
    from rich.text import Text

    return Text.assemble((entry.text, "bold" if entry.best else ""), (entry.detail, "dim"))
