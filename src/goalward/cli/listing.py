"""The verb that lists what there is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from goalward.cli.app import app, say
from goalward.errors import UnknownNameError
from goalward.registry import Registry

__all__ = ["list_things"]

KINDS = ("agents", "priors", "studies", "worlds")


@app.command("list")
def list_things(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="agents, priors, studies or worlds.")],
) -> None:
    """List what there is to choose from."""
    if kind not in KINDS:
        raise UnknownNameError("list", kind, KINDS)
    if kind == "studies":
        from goalward.report.tables import columns
        from goalward.studies.shipped import shipped_studies

        say(columns([(spec.name, spec.description) for spec in shipped_studies()]))
        return
    from goalward.agents.base import registry as agents
    from goalward.beliefs.base import registry as priors
    from goalward.report.list_text import registry_table
    from goalward.worlds.base import registry as worlds

    registries: dict[str, Registry[Any]] = {"agents": agents, "priors": priors, "worlds": worlds}
    say(registry_table(registries[kind]))
