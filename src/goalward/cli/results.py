"""The verbs about results: print them, draw them, compare two agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goalward.cli.app import app, say, say_choice, say_json
from goalward.cli.options import Folder, Json, Level, MarkdownFile, Measure, StudyName

if TYPE_CHECKING:
    from goalward.results.results import Results

__all__ = ["compare", "plot", "summary"]


def read_results(folder: Path, study: str | None) -> Results:
    """Read the results of a study, and mention which of its designs is read."""
    from goalward.results.results import load_results
    from goalward.studies.store import Store

    store = Store.open(folder)
    results = load_results(store, store.design(study))
    say_choice(store, study)
    return results


@app.command()
def summary(
    folder: Folder,
    study: StudyName = None,
    level: Level = 0.95,
    bootstrap: Annotated[bool, typer.Option("--bootstrap", help="Bootstrap intervals instead of t-intervals.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the numbers as CSV.")] = None,
    markdown: MarkdownFile = None,
    json: Json = False,
) -> None:
    """Print the numbers of a study: means, intervals, exponents."""
    from goalward.json_documents import write_text
    from goalward.results.summary import summarise
    from goalward.results.summary_text import markdown_text, summary_document, summary_text
    from goalward.statistics import checked_level

    checked_level(level)
    found = summarise(read_results(folder, study), level, bootstrap)
    if csv is not None:
        write_text(csv, found.table.csv())
    if markdown is not None:
        write_text(markdown, markdown_text(found))
    if json:
        say_json(summary_document(found))
        return
    say(summary_text(found))
    for written in (csv, markdown):
        if written is not None:
            say("", f"written: {written}")


@app.command()
def plot(
    folder: Folder,
    kind: Annotated[str, typer.Option(help="The name of a figure: goalward list figures.")] = "regret",
    study: StudyName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A name that ends in .png, .pdf, .svg or .jpg. Without an ending, the first three."
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="regret, gap_regret or steps (of each episode).  [default: regret; on log axes gap_regret]"),
    ] = None,
    axes: Annotated[str, typer.Option(help="linear or log.")] = "linear",
    level: Level = 0.95,
    agent: Annotated[
        str | None, typer.Option(help="For a grid: which agent. The default is the learner with the least regret.")
    ] = None,
    world: Annotated[str | None, typer.Option(help="For a grid: which world. The default is the first grid.")] = None,
    number: Annotated[int, typer.Option("--run", min=0, help="For causes and grids: which run.")] = 0,
) -> None:
    """Draw the results of a study."""
    from goalward.figures import checked_kind
    from goalward.figures import plot as draw
    from goalward.figures.drawing import FORMATS, figure_files, save_figure
    from goalward.results.results import CURVES, checked_measure
    from goalward.statistics import checked_level

    checked_kind(kind)
    if measure is not None:
        checked_measure(measure, CURVES)
    checked_level(level)
    files = [] if out is None else figure_files(out)
    results = read_results(folder, study)
    if out is None:
        name = f"{results.design.name}-{kind}{'-log' * (kind == 'regret' and axes == 'log')}"
        files = [folder / f"{name}.{ending}" for ending in FORMATS]
    figure = draw(results, kind, measure=measure, axes=axes, level=level, agent=agent, world=world, run=number)
    save_figure(figure, files)
    say(*(f"written: {path}" for path in files))


@app.command()
def compare(
    folder: Folder,
    first: Annotated[str, typer.Argument(metavar="A", help="The label of an agent.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The label of another agent.")],
    study: StudyName = None,
    measure: Measure = "gap_regret",
    level: Level = 0.95,
    json: Json = False,
) -> None:
    """Compare two agents run by run."""
    from goalward.errors import SettingError
    from goalward.results.comparison_text import comparison_document, comparison_text
    from goalward.results.results import checked_measure, named
    from goalward.results.summary import compare as compare_agents
    from goalward.statistics import checked_level

    checked_measure(measure)
    checked_level(level)
    results = read_results(folder, study)
    found = compare_agents(results, named(results, first), named(results, second), measure, level)
    if not found:
        raise SettingError(f"{first} and {second} share no world in {results.design.name}; there is nothing to compare")
    if json:
        say_json(comparison_document(first, second, measure, found, level))
    else:
        say(comparison_text(first, second, measure, found, level))
