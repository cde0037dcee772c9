"""Options and arguments that several commands share, as annotations of their parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.errors import UnknownNameError
from goalward.table import FORMATS


def checked_format(name: str) -> str:
    """Return the name of an output format; raise UnknownNameError if it is not one of `FORMATS`."""
    if name not in FORMATS:
        raise UnknownNameError("format", name, FORMATS)
    return name


WORLD_HELP = (
    "A world (goalward list worlds), a Gymnasium id (Taxi-v4), a function in a file (my_env.py:make_env), a model file"
    " (.npz .json .csv .umb ...), or a map in .txt."
)
World = Annotated[str, typer.Argument(metavar="WORLD", help=WORLD_HELP)]
OptionalWorld = Annotated[str | None, typer.Argument(metavar="[WORLD]", help=WORLD_HELP)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the world, such as rows=5. Repeatable."),
]
AgentSettings = Annotated[
    list[str] | None,
    typer.Option("--agent-set", metavar="NAME=VALUE", help="A setting of the agent: prior=neighbourhoods. Repeatable."),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent", help="An algorithm (goalward list agents), or my.py:MyAgent.  [default: psrl, continuous-psrl]"
    ),
]
Episodes = Annotated[
    int | None, typer.Option(help="The number of episodes.  [default: 1000, or 20 with continuous states]")
]
MaxSteps = Annotated[int | None, typer.Option(help="End a run after this many steps.")]
Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw the world: .png, .pdf or .svg.")]
GiveUpCost = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="Add an action that gives up: return to the start, at this cost.")
]
Goal = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="RULE",
        help="Environments: which steps reach the goal: terminated, or the smallest reward that counts as the goal."
        " Model files: the label or state that is the goal; repeatable.",
    ),
]
Start = Annotated[str | None, typer.Option(metavar="STATE", help="Model files: the state to start in.")]
Cost = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Environments: what a step costs: penalty (minus a negative reward, otherwise 1), reward (minus the"
        " reward) or a number. Model files: the name of the reward that is the cost, or a number for every step.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Show the page in a browser.")]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")]
StudyName = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME[/DESIGN]", help="A study, or a design of it.  [default: the last one run]"),
]
Workers = Annotated[int | None, typer.Option(help="Number of processes.  [default: one per core]")]
DaskAddress = Annotated[str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask cluster: tcp://host:8786.")]
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        callback=checked_format,
        help="The output format. csv: only the main table. csv and json: all digits. json: null for infinite numbers.",
    ),
]
TableFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the tables: .md, .csv, .tex, ...")]
