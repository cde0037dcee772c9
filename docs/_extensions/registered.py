"""The directive `registered`: shows the docstrings of all worlds or all agents in a registry."""

import importlib

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Registered(SphinxDirective):
    """Writes one section for each name in a registry."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        package = importlib.import_module(self.arguments[0])
        lines = []
        for name in package.known():
            entry = package.find(name)
            member = getattr(entry, "build", entry)  # a world is built by a function
            kind = "class" if isinstance(member, type) else "function"
            lines += [f"### {name}", "", "```{eval-rst}", f".. auto{kind}:: {member.__module__}.{member.__qualname__}"]
            lines += ["```", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("registered", Registered)
    return {"parallel_read_safe": True}
