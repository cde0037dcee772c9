"""The directives `watch-page`, which embeds a page made by `goalward.watch`, and `world-pictures`, which draws worlds.

Both run while the documentation is built, so they show the current version, and the repository stores no pictures.
The argument of `watch-page` is a world; its options are the rival agent, the number of episodes and the initial view.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import goalward as gw
from goalward import agents
from goalward.formatting import plural
from goalward.worlds.base import build

MOST_STATES_DRAWN = 60
MOST_CELLS_DRAWN = 2500


class WatchPage(SphinxDirective):
    """Embeds a page that shows agents learning in a world."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "rival": directives.unchanged,
        "episodes": directives.nonnegative_int,
        "view": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Write the page beside the documentation, and return a frame that shows it."""
        name, episodes = self.arguments[0], self.options.get("episodes", 300)
        world = gw.worlds.make(name)
        names = ["psrl", *([self.options["rival"]] if "rival" in self.options else [])]
        runs = [
            gw.learn(agents.find(agent).from_settings({}, world, episodes), world, episodes, keep_replay=True)
            for agent in names
        ]
        folder = Path(self.env.app.outdir) / "watch"
        folder.mkdir(parents=True, exist_ok=True)
        page = gw.watch(*runs, world=name)
        page.save(folder / f"{name}.html")
        up = "../" * self.env.docname.count("/")
        # An empty fragment would scroll the page that embeds this one.
        view = f"#{self.options['view']}" if "view" in self.options else ""
        address = html.escape(f"{up}watch/{name}.html{view}")
        frame = (
            f'<iframe class="watch-page" src="{address}" title="{html.escape(page.title)}" loading="lazy"></iframe>'
            f'<p class="watch-link"><a href="{address}">Open this page on its own</a></p>'
        )
        return [nodes.raw("", frame, format="html")]


class WorldPictures(SphinxDirective):
    """Draws the built-in worlds; a state is darker if its expected cost to the goal is higher."""

    def run(self) -> list[nodes.Node]:
        """Return the pictures with their names."""
        pictures = [picture(name, build(name, {})) for name in gw.worlds.known()]
        return [nodes.raw("", f'<div class="world-pictures">{"".join(pictures)}</div>', format="html")]


def picture(name: str, world: Any) -> str:
    """Return a small drawing of a world as an HTML figure; an empty string if the world is too large."""
    if isinstance(world, gw.SSP):
        values = gw.solve(world).values
        most = values[values < float("inf")].max()
        colours = [f"hsl(205 70% {92 - 60 * min(value / most, 1):.0f}%)" for value in values]
        drawing, size = grid_svg(world, colours) or graph_svg(world, colours), plural(world.states, "state")
    else:
        drawing, size = plane_svg(world.spec), f"{world.spec.dimensions} dimensions"
    return drawing and f"<figure>{drawing}<figcaption>{name}, {size}</figcaption></figure>"


def grid_svg(ssp: gw.SSP, colours: Sequence[str]) -> str:
    """Return a small SVG of a grid with its start and goals; an empty string without a small grid of one floor.

    `colours` has the colour of each state.
    """
    layout = ssp.layout
    if layout is None or layout.floors is not None or layout.rows * layout.columns > MOST_CELLS_DRAWN:
        return ""

    def drawn(cell: int, fill: str, sign: str = "") -> str:
        row, column = divmod(int(cell), layout.columns)
        square = f'<rect x="{column + 0.04:g}" y="{row + 0.04:g}" width=".92" height=".92" fill="{fill}"/>'
        place = f'x="{column + 0.5:g}" y="{row + 0.78:g}" font-size=".8" text-anchor="middle" fill="#111111"'
        return square + (f"<text {place}>{sign}</text>" if sign else "")

    signs = ["○" if state == ssp.initial_state else "" for state in range(ssp.states)]
    parts = [f'<rect width="{layout.columns}" height="{layout.rows}" fill="#595959"/>']
    parts += [drawn(cell, fill, sign) for cell, fill, sign in zip(layout.cells, colours, signs, strict=True)]
    parts += [drawn(cell, "#ffffff", "★") for cell in layout.goals]
    side = min(24, 480 / layout.columns)
    size = f'width="{side * layout.columns:g}" height="{side * layout.rows:g}"'
    view = f'viewBox="0 0 {layout.columns} {layout.rows}"'
    return f'<svg {size} {view} role="img" aria-label="map of the states">{"".join(parts)}</svg>'


def graph_svg(world: gw.SSP, colours: Sequence[str]) -> str:
    """Return an SVG with the states in columns by distance from the start, and lines to possible successors."""
    if world.states > MOST_STATES_DRAWN:
        return ""
    reached = [
        set(world.successors[world.indptr[s * world.actions] : world.indptr[(s + 1) * world.actions]].tolist())
        for s in range(world.states)
    ]
    layers: list[list[int]] = [[world.initial_state]]
    seen = {world.initial_state, world.goal}
    while layers[-1]:
        layers.append(sorted(set().union(*(reached[state] for state in layers[-1])) - seen))
        seen.update(layers[-1])
    layers[-1] = [world.goal]
    tallest = max(map(len, layers))
    places = {
        state: (column + 0.5, row + (tallest - len(layer) + 1) / 2)
        for column, layer in enumerate(layers)
        for row, state in enumerate(layer)
    }
    lines = [
        'M{},{}L{},{}'.format(*places[s], *places[t])
        for s in range(world.states) if s in places
        for t in reached[s] - {s} if t in places
    ]  # fmt: skip
    dots = [
        f'<circle cx="{x}" cy="{y}" r=".3" fill="{"#ffd75e" if state == world.goal else colours[state]}"/>'
        for state, (x, y) in places.items()
    ]
    edges = f'<path d="{"".join(lines)}" fill="none" stroke="#999999" stroke-width=".04"/>'
    return f'<svg viewBox="0 0 {len(layers)} {tallest}" role="img" aria-label="graph">{edges}{"".join(dots)}</svg>'


def plane_svg(task: Any) -> str:
    """Return an SVG with the goal set of a continuous task in its first two coordinates."""
    side = 40
    axes = [low + (np.arange(side) + 0.5) / side * (high - low) for low, high in zip(task.low, task.high, strict=True)]
    points = np.tile((task.low + task.high) / 2.0, (side * side, 1))
    points[:, :2] = np.stack(np.meshgrid(*axes[:2]), axis=-1).reshape(-1, 2)
    goal = "".join(
        f'<rect x="{cell % side}" y="{side - 1 - cell // side}" width="1.02" height="1.02"/>'
        for cell in np.flatnonzero(task.goal(points))
    )
    ground = f'<rect width="{side}" height="{side}" fill="hsl(205 70% 80%)"/>'
    return f'<svg viewBox="0 0 {side} {side}" role="img" aria-label="plane">{ground}<g fill="#ffd75e">{goal}</g></svg>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("watch-page", WatchPage)
    app.add_directive("world-pictures", WorldPictures)
    return {"parallel_read_safe": True}
