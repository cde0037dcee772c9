"""The verbs about what is installed: list it, check it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.options import Json
from goalward.errors import UnknownNameError
from goalward.registry import Registry

__all__ = ["doctor", "list_things"]

KINDS = ("agents", "figures", "priors", "studies", "worlds")


@app.command("list")
def list_things(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="agents, figures, priors, studies or worlds.")],
) -> None:
    """List the agents, figures, priors, studies or worlds by name."""
    if kind not in KINDS:
        raise UnknownNameError("list", kind, KINDS)
    if kind == "figures":
        from goalward.figures import figure_names
        from goalward.text_tables import columns

        say(columns(list(figure_names().items())))
        return
    if kind == "studies":
        from goalward.studies.shipped import shipped_studies
        from goalward.text_tables import columns

        say(columns([(spec.name, spec.description) for spec in shipped_studies()]))
        return
    from goalward.agents.base import registry as agents
    from goalward.beliefs.base import registry as priors
    from goalward.cli.registry_text import registry_table
    from goalward.worlds.base import registry as worlds

    registries: dict[str, Registry[Any]] = {"agents": agents, "priors": priors, "worlds": worlds}
    say(registry_table(registries[kind]))


@app.command()
def doctor(
    test: Annotated[bool, typer.Option("--test/--no-test", help="Also test it, which takes some ten seconds.")] = True,
    json: Json = False,
) -> None:
    """Print what is installed and whether it works."""
    from goalward.cli import doctor as checks
    from goalward.cli.doctor_text import doctor_document, doctor_text

    facts = checks.facts()
    done = checks.run_checks() if test else []
    if json:
        say_json(doctor_document(facts, done))
    else:
        say(doctor_text(facts, done))
    if not all(check.passed for check in done):
        raise typer.Exit(1)
