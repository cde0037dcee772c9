"""The directives `watch-page`, a page of goalward inside a page of the documentation, and `world-pictures`.

Both are made while the pages are built, so they show what the version at hand does, and no picture is kept in the
repository. The argument of `watch-page` is a world; `:rival:`, `:episodes:` and `:view:` are as on the command line.
"""

import html
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import goalward as gw
from goalward import agents
from goalward.errors import GoalwardError
from goalward.ssp.layout import grid_svg


class WatchPage(SphinxDirective):
    """Let agents learn and embed the page on which they can be watched."""

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
            f'<p class="watch-link"><a href="{address}">The same page on its own</a></p>'
        )
        return [nodes.raw("", frame, format="html")]


class WorldPictures(SphinxDirective):
    """Draw every built-in world that lies on a grid: the darker a cell, the more it costs to get to the goal."""

    def run(self) -> list[nodes.Node]:
        """Return the pictures with their names."""
        pictures = []
        for name in gw.worlds.known():
            with suppress(GoalwardError):  # those with continuous states are made elsewhere
                world = gw.worlds.make(name)
                pictures += [picture(name, world)] if world.layout is not None else []
        return [nodes.raw("", f'<div class="world-pictures">{"".join(pictures)}</div>', format="html")]


def picture(name: str, world: gw.SSP) -> str:
    """Return a small drawing of a world on a grid, as a figure of HTML."""
    values = gw.solve(world).values
    most = values[values < float("inf")].max()
    drawing = grid_svg(world, [f"hsl(205 70% {92 - 60 * min(value / most, 1):.0f}%)" for value in values])
    return f"<figure>{drawing}<figcaption>{name}, {world.states} states</figcaption></figure>"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("watch-page", WatchPage)
    app.add_directive("world-pictures", WorldPictures)
    return {"parallel_read_safe": True}
