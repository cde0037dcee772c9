"""What ended the epochs in which an agent paid its regret. Epochs are not stored, so runs are repeated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from goalward.errors import SettingError
from goalward.figures import figure
from goalward.figures.drawing import add_legend, caveat_handles, finish_axes, new_figure
from goalward.figures.styles import COLOURS
from goalward.figures.symbols import cause_name, marked
from goalward.formatting import mathtext
from goalward.progress import counted
from goalward.results.results import Results, world_name
from goalward.settings import Count
from goalward.ssp.model import SSP
from goalward.studies.rerun import regret_by_cause, rerun
from goalward.studies.run_spec import make_world

__all__ = ["causes_figure", "draw_shares"]

SMALLEST_SHARE = 0.005
HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++")


@figure("causes")
def causes_figure(results: Results, run: Count = 0) -> Figure:
    """Draw which causes ended the epochs in which regret was paid."""
    design = results.design
    cells = [cell.cell for cell in results.cells if run in cell.runs] or design.cells
    # In continuous worlds V* is not known, and without it there is no regret.
    cells = [cell for cell in cells if isinstance(make_world(design.spec(cell, run).world, results.attachments), SSP)]
    if not cells:
        worlds = ", ".join(dict.fromkeys(cell.world.label for cell in design.cells))
        raise SettingError(f"causes are shares of the regret, and V* is not known in {worlds}; choose another kind")
    regrets: dict[str, dict[str, dict[str, float]]] = {}
    repeating = "repeating runs to find out what ended their epochs"
    for cell in counted(repeating, "runs", cells, len(cells)):
        causes: dict[str, float] = defaultdict(float)
        for ended, regret in regret_by_cause(*rerun(results.stored_spec(cell, run), results.attachments)).items():
            causes[cause_name(ended)] += regret
        regrets.setdefault(world_name(design, cell), {})[marked(cell.agent.label, results.caveats())] = causes
    return draw_shares(regrets, results.caveats())


def draw_shares(
    worlds: Mapping[str, Mapping[str, Mapping[str, float]]], caveats: Mapping[str, str] | None = None
) -> Figure:
    """Draw the share of each cause as a bar for each agent, with the total regret beside it.

    ``worlds[world][agent][cause]`` is a regret; `caveats` go below the legend.
    """
    looks: dict[str, dict[str, Any]] = {}
    figure = new_figure(1.5 + 4.8 * len(worlds), 1.6 + 0.42 * max(map(len, worlds.values())))
    panels = figure.subplots(1, len(worlds), squeeze=False).ravel()
    for panel, (world, agents) in zip(panels, worlds.items(), strict=True):
        for row, regrets in enumerate(agents.values()):
            start = 0.0
            for cause, share in shown_shares(regrets).items():
                number = len(looks)
                colours = {"facecolor": COLOURS[number % len(COLOURS)], "edgecolor": "white", "linewidth": 0.5}
                look = looks.setdefault(cause, colours | {"hatch": HATCHES[number % len(HATCHES)]})
                panel.barh(row, share, left=start, height=0.7, **look)
                start += share
            panel.text(1.02, row, f"{math.fsum(regrets.values()):,.0f}", va="center", fontsize=9)
        panel.set_yticks(range(len(agents)), list(map(mathtext, agents)))
        panel.invert_yaxis()
        panel.set_xlim(0.0, 1.25)
        panel.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
        panel.set_xlabel("share of the gap regret; its sum at the right")
        panel.set_title(mathtext(world))
        finish_axes(panel)
        panel.grid(visible=False, axis="y")
    handles = [Patch(label=cause, **look) for cause, look in looks.items()]
    style: dict[str, Any] = {"fontsize": 9, "title_fontsize": 9}
    add_legend(figure, [*handles, *caveat_handles(caveats or {})], title="the epoch was ended by", **style)
    return figure


def shown_shares(regrets: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each cause; those too small to be seen are added up."""
    total = math.fsum(regrets.values())
    if total <= 0.0:
        return {}
    shares = {cause: regret / total for cause, regret in regrets.items() if regret >= SMALLEST_SHARE * total}
    rest = 1.0 - math.fsum(shares.values())
    return shares | ({"something else": rest} if rest >= SMALLEST_SHARE else {})
