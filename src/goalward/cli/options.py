"""Type annotations for the options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goalward.errors import UnknownNameError
from goalward.table import FORMATS


def checked_format(name: str) -> str:
    """Return the output format `name`. Raise UnknownNameError if `name` is not one of `FORMATS`."""
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
Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the world to a .png, .pdf or .svg file.")]
GiveUpCost = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="Add an action that returns to the start, at this cost.")
]
Goal = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="RULE",
        help="What counts as the goal. Environments: terminated, or the smallest reward of a step to the goal."
        " Model files: a label or a state (repeatable).",
    ),
]
Start = Annotated[str | None, typer.Option(metavar="STATE", help="The initial state (only for model files).")]
Cost = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="The cost of a step. Environments: penalty (-reward if reward < 0, else 1), reward (-reward) or a number."
        " Model files: the name of a reward structure, or a number.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Show the page in a browser.")]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")]
StudyName = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME[/DESIGN]", help="A study, or one of its designs.  [default: latest]"),
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
        help="The output format. csv prints only the main table. json prints null for infinite numbers.",
    ),
]
TableFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Also save the tables (.md, .csv, .tex, ...).")]
