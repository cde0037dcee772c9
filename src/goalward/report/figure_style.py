"""How figures look and how they are saved: plain axes, files without dates. Colours are those of `agent_styles`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from goalward.errors import SettingError
from goalward.escapes import mathtext
from goalward.report.documents import writing

__all__ = [
    "FORMATS", "caveat_handles", "figure_files", "finish_axes", "grouped_ticks", "new_figure", "save_figure",
    "save_png",
]  # fmt: skip

FORMATS = ("png", "pdf", "svg")
"""The formats that are written if none is asked for."""
MORE_FORMATS = ("jpg", "jpeg")


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


def caveat_handles(caveats: Mapping[str, str]) -> list[Line2D]:
    """Return the lines of a legend that say what is behind the marks at the agents' names."""
    return [Line2D([], [], linestyle="none", label=mathtext(f"* {text}")) for text in dict.fromkeys(caveats.values())]


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
