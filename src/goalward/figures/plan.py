"""What an agent has learnt on a grid: its last plan, and beside it how often it was where."""

from __future__ import annotations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from goalward.arrays import Int64s
from goalward.figures.grid import GridPanel, action_shares, ink_colours, legend_entries
from goalward.figures.terminal_grid import layout_of
from goalward.formatting import mathtext, short_count
from goalward.ssp.model import SSP
from goalward.studies.rerun import Final

__all__ = ["plan_figure"]


def plan_figure(world: SSP, final: Final | None, visits: Int64s, title: str = "") -> Figure:
    """Draw two grids: what the agent would do and expects at the end of a run, and its visits.

    Only what the agent has is drawn: cells have a value if the agent estimates values, and several arrows where it
    chooses among several actions. The arrows of the second grid are the actions played most often.

    Parameters
    ----------
    final
        What the agent would do; None if the run kept no plan.
    visits
        ``visits[s, a]``: how often each pair was played.
    """
    layout = layout_of(world)
    inches = min(1.1, 8.0 / max(layout.rows, layout.columns))
    width, height = layout.columns * inches, layout.rows * inches
    figure = Figure(figsize=(2 * width + 4.2, max(height, 1.6) + 1.7), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)

    values, shares = (None, None) if final is None else (final.values, final.shares)
    panel = GridPanel(left, world, inches, plan_title(final))
    nothing = np.full(world.states, np.nan)
    if values is not None:
        image = panel.draw_values(values)
        figure.colorbar(image, ax=left, shrink=0.8, label="expected cost to the goal")
    else:
        image = panel.colour_cells(nothing, vmin=0.0, vmax=1.0)
    if shares is not None:
        panel.draw_actions(shares, ink_colours(image, nothing if values is None else values))

    panel = GridPanel(right, world, inches, "visits and most frequent action")
    total = visits.sum(axis=1).astype(np.float64)
    image = panel.draw_counts(total, [short_count(int(count)) for count in total])
    frequent = action_shares(np.where(total > 0, visits.argmax(axis=1), -1), world.actions)
    panel.draw_actions(frequent, ink_colours(image, np.where(total > 0, total, np.nan)))
    figure.colorbar(image, ax=right, shrink=0.8, label="visits")

    handles = legend_entries(world, values, shares)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, borderpad=0.2)
    figure.suptitle(mathtext(title))
    return figure


def plan_title(final: Final | None) -> str:
    if final is None:
        return "the agent made no plan"
    if final.values is None:
        return "the last plan: action\n(the agent estimates no costs)"
    return "the last plan: expected cost and action"
