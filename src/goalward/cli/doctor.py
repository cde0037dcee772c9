"""The verb that looks after the installation."""

from __future__ import annotations

from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.studies import Json

__all__ = ["doctor"]


@app.command()
def doctor(
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Whether to test it as well, some ten seconds.")
    ] = True,
    json: Json = False,
) -> None:
    """Say what is installed and whether it works."""
    from goalward.report import doctor_text as report

    facts = report.facts()
    checks = report.run_checks() if test else []
    if json:
        say_json(report.document(facts, checks))
    else:
        say(report.text(facts, checks))
    if not all(check.passed for check in checks):
        raise typer.Exit(1)
