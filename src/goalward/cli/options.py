"""Arguments and options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AgentSettings", "DaskAddress", "Folder", "GiveUpCost", "Json", "Level", "MarkdownFile", "Measure",
    "OptionalWorld", "Settings", "StudyName", "Workers", "World",
]  # fmt: skip

WORLD_HELP = "The name of a world (goalward list worlds), a model file (.npz .json .csv .umb ...), or a map in .txt."

World = Annotated[str, typer.Argument(metavar="WORLD", help=WORLD_HELP)]
OptionalWorld = Annotated[str | None, typer.Argument(metavar="[WORLD]", help=WORLD_HELP)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the world, such as rows=5. Can be repeated."),
]
AgentSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--agent-set",
        metavar="NAME=VALUE",
        help="A setting of the agent, as in a study: delta=0.1, prior={kind='slip'}. Can be repeated.",
    ),
]
GiveUpCost = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help="Add an action that gives up: back to the start, at this cost."),
]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")]
StudyName = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME[/DESIGN]",
        help="Which study, if the folder holds several; which design of it. The default is the one run last.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="How many processes to use; 1 means only this one. The default is one for each core.")
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster at this address: tcp://host:8786."),
]
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]
Measure = Annotated[
    str,
    typer.Option(
        help="regret: costs paid minus the optimal cost. gap_regret: the sum of optimality gaps, which varies less."
    ),
]
MarkdownFile = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Also write the tables as Markdown.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON; infinite numbers are null.")]
