"""Verbs about results: draw them, compare two agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goalward.cli.app import app, say, say_json
from goalward.cli.studies import Folder, Json, Level, StudyName, read

if TYPE_CHECKING:
    from goalward.results.results import Results

__all__ = ["compare", "plot"]

Measure = Annotated[
    str, typer.Option(help="regret: costs paid minus the optimum; gap_regret: sum of gaps, less noise.")
]


@app.command()
def plot(
    folder: Folder,
    kind: Annotated[
        str, typer.Option(help="regret, growth (across a sweep), causes (of epochs) or grid (policy and visits).")
    ] = "regret",
    study: StudyName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Ends in .png, .pdf, .svg or .jpg; without an ending the first three are written."
        ),
    ] = None,
    measure: Measure = "regret",
    axes: Annotated[str, typer.Option(help="linear or log.")] = "linear",
    level: Level = 0.95,
    agent: Annotated[str | None, typer.Option(help="For a grid: which agent; the last, if not given.")] = None,
    world: Annotated[str | None, typer.Option(help="For a grid: which world; the first grid, if not given.")] = None,
    number: Annotated[int, typer.Option("--run", min=0, help="For causes and grids: which run.")] = 0,
) -> None:
    """Draw the results of a study."""
    from goalward.errors import UnknownNameError
    from goalward.report.figure_style import FORMATS, figure_files, save_figure
    from goalward.report.plots import KINDS, draw_study
    from goalward.results.results import checked_measure
    from goalward.results.statistics import checked_level
    from goalward.results.store import Store

    if kind not in KINDS:
        raise UnknownNameError("kind of plot", kind, KINDS)
    checked_measure(measure)
    checked_level(level)
    files = [] if out is None else figure_files(out)
    results = read(Store.open(folder), study)
    if out is None:
        name = f"{results.design.name}-{kind}{'-log' * (kind == 'regret' and axes == 'log')}"
        files = [folder / f"{name}.{ending}" for ending in FORMATS]
    figure = draw_study(results, kind, measure=measure, axes=axes, level=level, agent=agent, world=world, run=number)
    save_figure(figure, files)
    say(*(f"written: {path}" for path in files))


@app.command()
def compare(
    folder: Folder,
    first: Annotated[str, typer.Argument(metavar="A", help="The label of an agent.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The label of another one.")],
    study: StudyName = None,
    measure: Measure = "gap_regret",
    level: Level = 0.95,
    json: Json = False,
) -> None:
    """Compare two agents run by run."""
    from goalward.errors import SettingError
    from goalward.report.comparison_text import comparison_document, comparison_text
    from goalward.results.results import checked_measure, named
    from goalward.results.statistics import checked_level
    from goalward.results.store import Store
    from goalward.results.summary import compare as compare_agents

    checked_measure(measure)
    checked_level(level)
    results: Results = read(Store.open(folder), study)
    found = compare_agents(results, named(results, first), named(results, second), measure, level)
    if not found:
        raise SettingError(f"{first} and {second} share no world in {results.design.name}; there is nothing to compare")
    if json:
        say_json(comparison_document(first, second, measure, found, level))
    else:
        say(comparison_text(first, second, measure, found, level))
