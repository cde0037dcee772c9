"""The directive `field-table`: writes a table of the fields of a class, with their defaults and docstrings."""

import ast
import importlib
import inspect
import textwrap

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def cell(text: str) -> str:
    """Return a text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def fields(cls: type) -> list[tuple[str, str, str]]:
    """Return the name, the default and the docstring of each field of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    if not isinstance(body, ast.ClassDef):
        raise TypeError(f"{cls} is not a class")
    rows = []
    for field, after in zip(body.body, [*body.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        explained = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        meaning = str(after.value.value) if explained else ""  # type: ignore[union-attr]
        rows.append((field.target.id, ast.unparse(field.value) if field.value else "", meaning))
    return rows


class FieldTable(SphinxDirective):
    """Writes one row for each field of a class."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        module, _, name = self.arguments[0].rpartition(".")
        rows = fields(getattr(importlib.import_module(module), name))
        lines = ["| key | default | meaning |", "| --- | --- | --- |"]
        for key, default, meaning in rows:
            shown = "required" if not default else "none" if default in ("None", "''", "{}") else f"`{default}`"
            lines.append(f"| `{key}` | {shown} | {cell(meaning)} |")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("field-table", FieldTable)
    return {"parallel_read_safe": True}
