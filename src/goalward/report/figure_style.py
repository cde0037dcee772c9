"""How figures look: colours that every kind of colour vision tells apart, plain axes, files without a date."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from goalward.errors import SettingError
from goalward.report.documents import writing

__all__ = ["FORMATS", "LineStyle", "finish_axes", "grouped_ticks", "line_style", "new_figure", "save_figure"]

# Okabe and Ito, without the yellow, which white paper swallows.
COLOURS = ("#d55e00", "#e69f00", "#009e73", "#56b4e9", "#0072b2", "#cc79a7", "#000000")
DASHES: tuple[Any, ...] = ((0, ()), (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FORMATS = ("png", "pdf", "svg")


class LineStyle(NamedTuple):
    """How a line is told from the others: by colour, dashes and marker, each sufficient while there are few."""

    colour: str
    dashes: Any
    marker: str


def line_style(number: int) -> LineStyle:
    """Return the style of the line with this number."""
    # The dashes shift by one whenever the colours start again, so that no pair of lines agrees in both.
    dashes = DASHES[(number + number // len(COLOURS)) % len(DASHES)]
    return LineStyle(COLOURS[number % len(COLOURS)], dashes, MARKERS[number % len(MARKERS)])


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish_axes(axes: Axes) -> None:
    """Take away what shows nothing, and rule faint lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def grouped_ticks() -> FuncFormatter:
    """Return a formatter that groups thousands."""
    return FuncFormatter(lambda value, _: f"{value:,.6g}" if abs(value) < 1 else f"{value:,.0f}")


def save_figure(figure: Figure, stem: Path, formats: tuple[str, ...] = FORMATS) -> list[Path]:
    """Write a figure in some formats, the same bytes for the same figure; return the files."""
    files = []
    # Laying a figure out takes longer than drawing it, and is the same for all formats.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ending in formats:
        if ending not in FORMATS:
            raise SettingError(f"the format is {ending!r}; it must be one of {', '.join(FORMATS)}")
        path = stem.with_name(f"{stem.name}.{ending}")
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
        with writing(path), mpl.rc_context({"svg.hashsalt": "goalward", "pdf.fonttype": 42}):
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, format=ending, metadata=dateless)
        files.append(path)
    return files
