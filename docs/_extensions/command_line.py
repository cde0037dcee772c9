"""The directive `command-line`: lists every verb of goalward with its arguments and options."""

import re
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from goalward.cli import app as application


def cell(text: str) -> str:
    """Return a help text as a cell of a Markdown table, with its default in round brackets."""
    text = re.sub(r"\s*\[([^]]*)\]$", r" (\1)", " ".join(text.split()))
    return re.sub(r"([|*<_\[\]])", r"\\\1", text)


def describe(name: str, command: Any, context: Any) -> str:
    """Return the Markdown section of a verb."""
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    lines = [f"## goalward {name}", "", *(line for part in paragraphs for line in (part, ""))]
    records = [parameter.get_help_record(context) for parameter in command.params if parameter.name != "help"]
    if any(records):
        lines += ["| argument or option | meaning |", "| --- | --- |"]
        lines += [f"| `{record[0].replace('|', '/')}` | {cell(record[1])} |" for record in records if record]
    return "\n".join([*lines, ""])


class CommandLine(SphinxDirective):
    """Writes one section for each verb."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        group: Any = typer.main.get_command(application)
        parent = group.make_context("goalward", ["doctor"], resilient_parsing=True)
        parts = []
        for name, command in group.commands.items():
            context = command.make_context(name, [], parent=parent, resilient_parsing=True)
            parts.append(describe(name, command, context))
        return self.parse_text_to_nodes("\n".join(parts), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
