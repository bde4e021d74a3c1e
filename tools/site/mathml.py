"""Formulas as MathML, which browsers draw themselves: no script, no font, no outside host."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def _draw_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _draw_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the way formulas are drawn."""
    app.add_html_math_renderer("mathml", (_draw_inline, None), (_draw_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
