"""The algorithms as a table."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable

from goalward.agents.base import Agent
from goalward.report.tables import columns

__all__ = ["agents_table"]


def agents_table(agents: Iterable[type[Agent]]) -> str:
    """Write what there is to choose from, each algorithm with its settings."""
    entries = []
    for agent in agents:
        summary = (inspect.getdoc(agent) or "").partition("\n")[0]
        settings = [(field.name, default_of(agent, field)) for field in dataclasses.fields(agent) if field.init]  # type: ignore[arg-type]
        table = f"\n{columns(settings, indent='    ')}" if settings else ""
        entries.append(f"{agent.name}\n  {summary}{table}")
    return "\n\n".join(entries)


def default_of(agent: type[Agent], field: dataclasses.Field[object]) -> str:
    """Write the default of a setting; a study may leave out what is read off the true world."""
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    if field.default is not dataclasses.MISSING:
        return "none" if field.default is None else str(field.default)
    return "read off the true world" if field.name in agent.needs else "must be given"
