"""The directive `module-docstring`: shows the docstring of a module as it is in the source."""

import ast
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import goalward

PACKAGE = Path(goalward.__file__).parent


class ModuleDocstring(SphinxDirective):
    """Shows a docstring without its first line, as a literal block."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the block."""
        path = PACKAGE / self.arguments[0]
        self.env.note_dependency(str(path))
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if not text:
            raise self.error(f"{self.arguments[0]} has no docstring")
        body = text.partition("\n")[2].strip("\n")
        return [nodes.literal_block(body, body, language="text", classes=["docstring"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("module-docstring", ModuleDocstring)
    return {"parallel_read_safe": True}
