"""How figures look and how they are saved: colours for every kind of colour vision, plain axes, files without dates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from goalward.errors import SettingError
from goalward.report.documents import writing

__all__ = [
    "COLOURS", "FORMATS", "LineStyle", "figure_files", "finish_axes", "grouped_ticks", "line_style", "new_figure",
    "save_figure", "save_png",
]  # fmt: skip

# Okabe and Ito's colours, without the yellow, which is hard to see on white paper.
COLOURS = ("#d55e00", "#e69f00", "#009e73", "#56b4e9", "#0072b2", "#cc79a7", "#000000")
DASHES: tuple[Any, ...] = ((0, ()), (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FORMATS = ("png", "pdf", "svg")
"""The formats that are written if none is asked for."""
MORE_FORMATS = ("jpg", "jpeg")


class LineStyle(NamedTuple):
    """What tells a line from the others; while lines are few, each of the three is enough."""

    colour: str
    dashes: Any
    marker: str


def line_style(number: int) -> LineStyle:
    """Return the style of the line with this number, counted from 0."""
    # The dashes shift by one whenever the colours start again, so that no two lines share both.
    dashes = DASHES[(number + number // len(COLOURS)) % len(DASHES)]
    return LineStyle(COLOURS[number % len(COLOURS)], dashes, MARKERS[number % len(MARKERS)])


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish_axes(axes: Axes) -> None:
    """Remove the upper and the right edge and draw a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def grouped_ticks() -> FuncFormatter:
    """Return a formatter that groups thousands."""
    return FuncFormatter(lambda value, _: f"{value:,.6g}" if abs(value) < 1 else f"{value:,.0f}")


def figure_files(path: Path) -> list[Path]:
    """Return the files that a name asks for: itself if its ending is a format, three files if it has no ending."""
    ending = path.suffix.removeprefix(".").lower()
    if not ending:
        return [path.with_name(f"{path.name}.{each}") for each in FORMATS]
    if ending not in (*FORMATS, *MORE_FORMATS):
        known = ", ".join(f".{each}" for each in (*FORMATS, *MORE_FORMATS))
        raise SettingError(
            f"{path}: figures are not written as {path.suffix}; the ending must be one of {known}."
            f" Without an ending, {', '.join(FORMATS)} are written"
        )
    return [path]


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whatever the ending of the file."""
    with writing(path):
        figure.savefig(path, format="png")


def save_figure(figure: Figure, files: Iterable[Path]) -> None:
    """Write a figure to files in the formats of their endings; the same figure gives the same bytes."""
    # The layout takes longer than the drawing and is the same for all formats.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for path in files:
        form = path.suffix.removeprefix(".").lower()
        options: dict[str, Any] = {}
        if form in MORE_FORMATS:
            options["pil_kwargs"] = {"quality": 95}
        elif form != "png":
            options["metadata"] = {"Date": None} if form == "svg" else {"CreationDate": None}
        with writing(path), mpl.rc_context({"svg.hashsalt": "goalward", "pdf.fonttype": 42}):
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, format=form, **options)
