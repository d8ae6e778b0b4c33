"""Formulas as MathML: browsers draw it themselves, so a page loads no script from elsewhere."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from npudocs.execute import problems


def _mathml(translator: HTML5Translator, node: nodes.Element, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        problems.report(translator.builder.app, f"formula: {error}", location=node)
        return ""


def _inline(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(_mathml(translator, node, as_block=False))
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.Element) -> None:
    formula = _mathml(translator, node, as_block=True)
    # Not the class "math": themes lay that out for MathJax.
    translator.body.append(f'<div class="npudocs-formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
