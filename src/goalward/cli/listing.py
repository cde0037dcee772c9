"""The verb that lists what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from goalward.cli.app import app, say
from goalward.errors import UnknownNameError

__all__ = ["list_things"]

KINDS = ("agents", "studies", "worlds")


@app.command("list")
def list_things(kind: Annotated[str, typer.Argument(metavar="KIND", help="agents, studies or worlds.")]) -> None:
    """List what there is to choose from."""
    if kind not in KINDS:
        raise UnknownNameError("list", kind, KINDS)
    if kind == "worlds":
        from goalward import worlds
        from goalward.report.world_text import worlds_table

        say(worlds_table(worlds.find(id) for id in worlds.known()))
    elif kind == "agents":
        from goalward import agents
        from goalward.report.list_text import agents_table

        say(agents_table(agents.find(name) for name in agents.known()))
    else:
        from goalward.report.tables import columns
        from goalward.studies.shipped import shipped_studies

        say(columns([(spec.name, spec.description) for spec in shipped_studies()]))
