"""The code that all figures share. Axes are plain, and equal figures are saved as equal bytes."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from goalward.errors import SettingError
from goalward.files import check_not_folder, write_bytes
from goalward.formatting import mathtext

FORMATS = ("png", "pdf", "svg")
"""The formats of figures; all of them are written if the file name has no ending."""
INCHES_PER_CHARACTER = 0.085
ONE_LINE = 0.3
"""The height in inches that figures leave for a legend of one line."""


class ShownFigure(Figure):
    """A figure that a notebook shows even if pyplot is not loaded."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure. `width` and `height` are in inches."""
    figure = ShownFigure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish_axes(axes: Axes) -> None:
    """Remove the top and right edges, draw a faint grid, and write large numbers with commas."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.10g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def caveat_handles(caveats: Mapping[str, str]) -> list[Line2D]:
    """Return the legend entries that explain the asterisks after agents' names."""
    return [Line2D([], [], linestyle="none", label=mathtext(f"* {text}")) for text in dict.fromkeys(caveats.values())]


def figure_files(path: Path) -> list[Path]:
    """Return the files to write. A `path` without an ending gives one file for each format."""
    check_not_folder(path)
    if path.suffix and path.suffix.removeprefix(".").lower() not in FORMATS:
        known = " or ".join(f".{ending}" for ending in FORMATS)
        raise SettingError(
            f"{path}: no figure can be written as {path.suffix}; use the ending {known}."
            f" Without an ending, {', '.join(FORMATS)} are written"
        )
    return [path] if path.suffix else [path.with_name(f"{path.name}.{ending}") for ending in FORMATS]


def add_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend below the panels, with long labels on several lines.

    The figure grows by the height of the legend, so that the panels keep their height.
    """
    width, height = figure.get_size_inches()
    characters = int((width - 1.0) / INCHES_PER_CHARACTER)
    columns = max(1, characters // (max(len(str(handle.get_label())) for handle in handles) + 6))
    for handle in handles:
        handle.set_label(textwrap.fill(str(handle.get_label()), characters, break_on_hyphens=False))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False, "handlelength": 3.2}
    box = figure.legend(handles=handles, **place).get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]
    figure.set_size_inches(width, height + max(0.0, box.height / figure.dpi - ONE_LINE))


def save_figure(figure: Figure, files: Iterable[Path]) -> None:
    """Write `figure` to each of `files`, in the format of the file's ending."""
    # The layout takes longer than the drawing and is the same for all formats.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for path in files:
        form = path.suffix.removeprefix(".").lower()
        undated: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
        file = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": "goalward", "pdf.fonttype": 42}):
            figure.savefig(file, format=form, metadata=undated)
        write_bytes(path, file.getvalue())
