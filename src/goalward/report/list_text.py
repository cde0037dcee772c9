"""The entries of a registry as a table."""

from __future__ import annotations

from typing import Any

from goalward.registry import MISSING, Registry, Setting, summary
from goalward.report.tables import columns

__all__ = ["registry_table"]


def registry_table(registry: Registry[Any]) -> str:
    """Write every entry of a registry with its settings and their defaults."""
    entries = []
    for name, entry in registry:
        schema = entry.schema()
        lines = [name, f"  {summary(entry)}"]
        if schema.python_only:
            lines.append(f"    in Python only: {schema.python_only}")
        elif schema.settings:
            rows = [(setting, default_text(each)) for setting, each in schema.settings.items()]
            lines.append(columns(rows, indent="    "))
        entries.append("\n".join(lines))
    return "\n\n".join(entries)


def default_text(setting: Setting) -> str:
    """Write the default of a setting; of a text of several lines, the first."""
    if setting.default is MISSING:
        return "read off the true world" if setting.from_world else "must be given"
    first, _, rest = str(setting.default).partition("\n")
    return f"{first} ..." if rest else first
