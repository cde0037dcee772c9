"""What ended the epochs in which an agent paid its regret. Epochs are not stored, so runs are repeated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from goalward.errors import SettingError
from goalward.figures import figure
from goalward.figures.drawing import caveat_handles, finish_axes, new_figure
from goalward.figures.styles import COLOURS
from goalward.figures.symbols import cause_name, marked
from goalward.formatting import mathtext
from goalward.progress import phase
from goalward.results.results import Results, world_name
from goalward.ssp.model import SSP
from goalward.studies.rerun import regret_by_cause, rerun
from goalward.studies.run_spec import make_world

__all__ = ["causes_figure", "draw_shares"]

SMALLEST_SHARE = 0.005
HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++")


@figure("causes")
def causes_figure(results: Results, run: int = 0) -> Figure:
    """Draw which causes ended the epochs in which regret was paid."""
    design = results.design
    cells = [cell.cell for cell in results.cells if run in cell.runs] or design.cells
    # In continuous worlds V* is not known, and without it there is no regret.
    cells = [cell for cell in cells if isinstance(make_world(design.spec(cell, run).world, results.attachments), SSP)]
    if not cells:
        worlds = ", ".join(dict.fromkeys(cell.world.label for cell in design.cells))
        raise SettingError(f"causes are shares of the regret, and V* is not known in {worlds}; choose another kind")
    regrets: dict[str, dict[str, dict[str, float]]] = {}
    with phase("repeating runs to find out what ended their epochs", len(cells), "runs") as progress:
        for done, cell in enumerate(cells):
            progress.advance(done)
            causes: dict[str, float] = {}
            for ended, regret in regret_by_cause(*rerun(results.stored_spec(cell, run), results.attachments)).items():
                causes[cause_name(ended)] = causes.get(cause_name(ended), 0.0) + regret
            label = marked(cell.agent.label, results.caveats())
            regrets.setdefault(world_name(design, cell), {})[label] = causes
    return draw_shares(regrets, results.caveats())


def draw_shares(
    worlds: Mapping[str, Mapping[str, Mapping[str, float]]], caveats: Mapping[str, str] | None = None
) -> Figure:
    """Draw the share of each cause as a bar for each agent, with the total regret beside it.

    ``worlds[world][agent][cause]`` is a regret; `caveats` go below the legend.
    """
    shares = {
        world: {agent: shown_shares(parts) for agent, parts in agents.items()} for world, agents in worlds.items()
    }
    causes = list(dict.fromkeys(cause for agents in shares.values() for parts in agents.values() for cause in parts))
    looks = {cause: bar_look(number) for number, cause in enumerate(causes)}
    bars = max(len(agents) for agents in worlds.values())
    figure = new_figure(1.5 + 4.8 * len(worlds), 1.6 + 0.42 * bars)
    panels = figure.subplots(1, len(worlds), squeeze=False).ravel()
    for panel, (world, agents) in zip(panels, shares.items(), strict=True):
        for row, (agent, parts) in enumerate(agents.items()):
            start = 0.0
            for cause, share in parts.items():
                panel.barh(row, share, left=start, height=0.7, **looks[cause])
                start += share
            panel.text(1.02, row, f"{math.fsum(worlds[world][agent].values()):,.0f}", va="center", fontsize=9)
        panel.set_yticks(range(len(agents)), list(map(mathtext, agents)))
        panel.invert_yaxis()
        panel.set_xlim(0.0, 1.25)
        panel.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
        panel.set_xlabel("share of the gap regret; its sum at the right")
        panel.set_title(mathtext(world))
        finish_axes(panel)
        panel.grid(visible=False, axis="y")
    handles: list[Artist] = [Patch(label=cause, **looks[cause]) for cause in causes]
    handles += caveat_handles(caveats or {})
    figure.legend(
        handles=handles, loc="outside lower center", ncols=max(1, min(3, len(handles))), frameon=False,
        title="the epoch was ended by", fontsize=9, title_fontsize=9,
    )  # fmt: skip
    return figure


def shown_shares(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each cause; those too small to be seen are added up."""
    total = math.fsum(parts.values())
    if total <= 0.0:
        return {}
    shares = {cause: part / total for cause, part in parts.items() if part >= SMALLEST_SHARE * total}
    rest = 1.0 - math.fsum(shares.values())
    return shares | ({"something else": rest} if rest >= SMALLEST_SHARE else {})


def bar_look(number: int) -> dict[str, Any]:
    """Return the colour and the hatching of a cause."""
    hatch = HATCHES[number % len(HATCHES)]
    return {"facecolor": COLOURS[number % len(COLOURS)], "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
