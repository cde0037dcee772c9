"""The figure and the table of the mountain-car experiment: what an episode costs on average."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from goalward.figures.drawing import figure_files, finish_axes, grouped_ticks, new_figure, save_figure
from goalward.figures.styles import agent_styles
from goalward.json_documents import write_text
from goalward.paper.mountain_car_runs import PUBLISHED, CarRun
from goalward.text_tables import Rows, columns, markdown_table

__all__ = ["car_figure", "car_table", "publish_car"]

LAST = 100


def by_label(runs: Sequence[CarRun]) -> dict[str, list[CarRun]]:
    groups: dict[str, list[CarRun]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def car_figure(runs: Sequence[CarRun]) -> Figure:
    """Draw the mean cost of the first k episodes of every run; a cross marks where a run was ended by its limit."""
    figure = new_figure(8.6, 4.2)
    axes = figure.add_subplot()
    styles = agent_styles((run.label, run.agent) for run in runs)
    for label, group in by_label(runs).items():
        style = styles[label]
        for i, run in enumerate(group):
            if not run.costs:
                continue
            episodes = np.arange(1, len(run.costs) + 1)
            axes.plot(
                episodes, run.averages, color=style.colour, linestyle=style.dashes, linewidth=1.4,
                label=label if i == 0 else None,
            )  # fmt: skip
            if run.truncation:
                axes.plot(episodes[-1], run.averages[-1], "x", color=style.colour, markersize=7)
    for value in PUBLISHED:
        axes.axhline(value, color="#888888", linewidth=0.8, linestyle=":")
    axes.set_yscale("log")
    axes.set_xlabel("episodes")
    axes.set_ylabel("average cost of an episode so far")
    axes.set_title("SSP-MountainCar; dotted: the published beginning and end of PSRL-SSP", fontsize=9)
    axes.yaxis.set_major_formatter(grouped_ticks())
    axes.xaxis.set_major_formatter(grouped_ticks())
    finish_axes(axes)
    # Beside the axes: a legend inside would cover curves, which lie at all heights.
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure


def rows_of(runs: Sequence[CarRun]) -> Rows:
    rows: Rows = [("agent", "run", "reached", "steps", "first 10", "average", f"median of last {LAST}", "CPU s")]
    for run in runs:
        figures = [run.costs[:10], run.costs]
        means = [f"{np.mean(part):,.0f}" if part else "" for part in figures]
        median = f"{np.median(run.costs[-LAST:]):,.0f}" if run.costs else ""
        reached = f"{len(run.costs):,} of {run.episodes:,}"
        rows.append((run.label, str(run.number), reached, f"{run.steps:,}", *means, median, f"{run.seconds:.1f}"))
    return rows


def car_table(runs: Sequence[CarRun]) -> str:
    """Write what the episodes cost, and which runs their limit ended."""
    notes = [f"{run.label}, run {run.number}: {run.truncation}" for run in runs if run.truncation]
    parts = [
        columns(rows_of(runs), right=range(1, 8)),
        "published for PSRL-SSP: from about 3,000 to about 250 an episode",
    ]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def publish_car(runs: Sequence[CarRun], folder: Path) -> str:
    """Write the figure and the table into a folder; return the table and the names of the files as text."""
    files = figure_files(folder / "mountain-car")
    save_figure(car_figure(runs), files)
    table = folder / "mountain-car.md"
    write_text(table, markdown_table(rows_of(runs), right=range(1, 8)) + "\n")
    return "\n\n".join([car_table(runs), "\n".join(str(path) for path in (*files, table))])
