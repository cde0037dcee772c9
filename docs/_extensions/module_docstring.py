"""The directive `module-docstring`: shows the docstring of a module, with its prose as text."""

import ast
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import goalward

PACKAGE = Path(goalward.__file__).parent


def shown(block: str) -> nodes.Node:
    """Return a paragraph, or a literal block if the lines are indented or numbered."""
    if re.search(r"^\s+|^\S+  ", block, re.MULTILINE):
        return nodes.literal_block(block, block, language="text", classes=["docstring"])
    paragraph = nodes.paragraph()
    for text, code in re.findall(r"([^`]+)|`+([^`]+)`+", re.sub("::$", ":", block.replace("\n", " "))):
        paragraph += nodes.literal(code, code) if code else nodes.Text(text)
    return paragraph


class ModuleDocstring(SphinxDirective):
    """Shows a docstring without its first line."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a title for each section, and its blocks."""
        path = PACKAGE / self.arguments[0]
        self.env.note_dependency(str(path))
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if not text:
            raise self.error(f"{self.arguments[0]} has no docstring")
        found: list[nodes.Node] = []
        for block in re.split(r"\n\n+", text.partition("\n")[2].strip("\n")):
            heading, _, rest = block.partition("\n")
            if rest.startswith("    ") and not heading.startswith(" "):
                found.append(nodes.rubric(heading, heading))
                block = rest
            found.append(shown(re.sub(r"^ {4}", "", block, flags=re.MULTILINE)))
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("module-docstring", ModuleDocstring)
    return {"parallel_read_safe": True}
