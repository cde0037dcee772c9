"""The entries of a registry as a table."""

from __future__ import annotations

from typing import Any

from goalward.registry import MISSING, Registry, Setting, summary
from goalward.settings import plain
from goalward.text_tables import columns

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


def inline_table(settings: dict[str, Any]) -> str:
    """Write settings as an inline table of TOML, which has no word for None."""
    pairs = (f"{name} = {value!r}" for name, value in settings.items() if value is not None)
    return f"{{{', '.join(pairs)}}}"


def default_text(setting: Setting) -> str:
    """Write the default of a setting as a command line takes it; of a text of several lines, the first."""
    if setting.default is MISSING:
        return "read off the true world" if setting.from_world else "must be given"
    if setting.registry is not None:
        return inline_table(setting.plain(plain(setting.default)))
    first, _, rest = str(setting.default).partition("\n")
    return f"{first} ..." if rest else first
