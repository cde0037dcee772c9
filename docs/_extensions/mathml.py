"""Renders equations as MathML, which browsers display without a network connection or a script."""

import re

from docutils import nodes
from latex2mathml import converter
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def convert(equation: str, display: str = "inline") -> str:
    """Return an equation as MathML, with thin spaces around the names of functions."""
    text = converter.convert(equation, display=display)
    space = '<mspace width="0.17em"/>'
    text = re.sub(r"(?<=</mi>)(?=<mi>(?:log|ln)</mi>)", space, text)
    # A logarithm with an exponent or a base keeps it: an element with scripts has exactly two or three parts.
    return re.sub(r"(?<!<msup>)(?<!<msub>)(?<!<msubsup>)(<mi>(?:log|ln)</mi>)(?=<m[in]>)", rf"\1{space}", text)


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write an equation inside a sentence."""
    translator.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation as a separate block."""
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
