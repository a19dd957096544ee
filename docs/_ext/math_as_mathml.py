"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.writers.html5 import HTML5Translator


def mathml(text: str, as_block: bool) -> str:
    """Return the formula; bars and brackets stay as high as the letters, or a browser moves them off the line.

    >>> 'stretchy="false"' in mathml(r"\\|h\\|", as_block=False)
    True
    """
    return re.sub("<mo>([‖⟨⟩])</mo>", r'<mo stretchy="false">\1</mo>', tex2mathml(text, as_block=as_block))


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math-block">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
