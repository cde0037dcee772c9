"""The verb about the paper: test its claims."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from goalward.cli.app import app, say, say_json

__all__ = ["claims"]


@app.command()
def claims(
    quick: Annotated[bool, typer.Option("--quick", help="Take a minute: fewer runs, wider intervals.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="TEST", help="Make only this test; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The results folder; what it holds is not run again.")] = Path(
        "results/claims"
    ),
    workers: Annotated[int | None, typer.Option(help="How many processes; all cores, if not given.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table as Markdown.")] = None,
    bounds: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write regrets beside Theorem 1's terms as Markdown.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Test the claims of the paper, one verdict a row."""
    from goalward.claims.catalogue import check_claims
    from goalward.report.claims_text import claims_document, claims_markdown, claims_text, regret_markdown
    from goalward.report.documents import write_text

    found = check_claims(
        out, quick=quick, only=only, workers=workers, watch=lambda name: typer.echo(f"testing: {name}", err=True)
    )
    if markdown is not None:
        write_text(markdown, claims_markdown(found))
    if bounds is not None:
        from goalward.claims.regret_table import stored_regret_rows
        from goalward.results.store import Store

        write_text(bounds, regret_markdown(stored_regret_rows(Store.open(out))))
    if json:
        say_json(claims_document(found))
        return
    say(claims_text(found, shutil.get_terminal_size(fallback=(120, 50)).columns))
    for written in (markdown, bounds):
        if written is not None:
            say("", f"written: {written}")
