"""Write the pages of the reference from the code: a page for each public class and function, and the commands' help.

A class lists the methods that it has from gapmin, inherited ones too, and leaves out those of scikit-learn and PyTorch.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import shutil
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from public_names import MODULES, methods, public

FOLDER = "reference/api"
KINDS = {property: "autoproperty", cached_property: "autoattribute"}


def write(app: Any) -> None:
    """Write every page, and touch only those that change, so that a second build is quick."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"commands.rst": commands_page()}
    for module in MODULES:
        pages[f"{module}.rst"] = module_page(module)
        for name, value in public(module).items():
            pages[f"{module}.{name}.rst"] = page(module, name, value)
    for file in folder.glob("*.rst"):
        if file.name not in pages:
            file.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def page(module: str, name: str, value: Any) -> str:
    """Return the page of one class or function."""
    full = f"{module}.{name}"
    lines = [f"{name}", "=" * len(name), "", f".. currentmodule:: {module}", ""]
    if not inspect.isclass(value):
        return "\n".join([*lines, f".. autofunction:: {full}", ""])
    lines += [f".. autoclass:: {full}", ""]
    found = methods(value)
    if found:
        lines += ["   .. rubric:: Methods", ""]
    for each in found:
        kind = KINDS.get(type(inspect.getattr_static(value, each)), "automethod")
        lines += [f"   .. {kind}:: {full}.{each}", ""]
    return "\n".join(lines)


def module_page(module: str) -> str:
    """Return the page that lists a module."""
    value = import_module(module)
    about = inspect.getdoc(value) or ""
    lines = [module, "=" * len(module), "", about, "", ".. list-table::", "   :widths: 40 60", ""]
    names = public(module)
    for name, each in names.items():
        first = (inspect.getdoc(each) or "").split("\n\n")[0].replace("\n", " ")
        lines += [f"   * - :doc:`{name} <{module}.{name}>`", f"     - {first}"]
    lines += ["", ".. toctree::", "   :hidden:", ""]
    return "\n".join([*lines, *(f"   {module}.{name}" for name in names), ""])


def commands_page() -> str:
    """Return the page with what each command says of itself."""
    from gapmin.cli import _app

    app = _app()
    names = [info.callback.__name__.removesuffix("_") for info in app.registered_commands if info.callback]
    groups = [group.name for group in app.registered_groups if group.name]
    lines = ["The command line", "================", "", "What ``gapmin COMMAND --help`` prints.", ""]
    width = shutil.get_terminal_size
    shutil.get_terminal_size = lambda fallback=(100, 24): type(width())((100, 24))
    try:
        for arguments in ([], *([name] for name in (*names, *groups))):
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
                app([*arguments, "--help"], prog_name="gapmin", standalone_mode=False)
            title = " ".join(["gapmin", *arguments])
            lines += [title, "-" * len(title), "", ".. code-block:: text", ""]
            lines += [f"   {line}".rstrip() for line in said.getvalue().strip().splitlines()]
            lines.append("")
    finally:
        shutil.get_terminal_size = width
    return "\n".join(lines)


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
