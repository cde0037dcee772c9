"""The directive `picture`: a figure for an explanation page, drawn while the pages are built.

Its argument is the name of a function in `PICTURES`. The content of the directive replaces the default caption.
"""

import base64
import html
import io
from typing import Any

import numpy as np
from docutils import nodes
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy import stats
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import goalward as gw
from goalward.agents import find
from goalward.figures.drawing import finish_axes, new_figure
from goalward.figures.styles import agent_styles

TRUTH, LOWER, UPPER, SOFT = "#000000", "#0072b2", "#b04800", "#777777"


def panel(width: float = 6.0, height: float = 3.4, **labels: str) -> tuple[Figure, Axes]:
    """Return a figure with one panel."""
    figure = new_figure(width, height)
    axes = figure.subplots()
    axes.set(**labels)
    finish_axes(axes)
    return figure, axes


def ssp() -> Figure:
    """Draw a door: two actions with their costs and probabilities."""
    figure, axes = panel(6.0, 2.6)
    axes.set(xlim=(-1.2, 6.2), ylim=(-1.5, 1.6), aspect="equal")
    axes.axis("off")
    for x, name, ground in ((0.0, "door", "#dce9f5"), (5.0, "goal: out", "#ffe9a8")):
        axes.text(x, 0.0, name, ha="center", va="center", zorder=3)
        axes.scatter([x], [0.0], s=3600, color=ground, edgecolor=TRUTH, zorder=2)
    line: dict[str, Any] = {"arrowstyle": "-|>", "color": LOWER, "linewidth": 1.6, "mutation_scale": 14}
    key = line | {"color": UPPER}
    axes.annotate("", (4.3, 0.35), (0.7, 0.35), arrowprops=line | {"connectionstyle": "arc3,rad=-0.3"})
    axes.annotate("", (-0.5, 0.4), (0.1, 0.6), arrowprops=line | {"connectionstyle": "arc3,rad=1.6"})
    axes.annotate("", (4.3, -0.35), (0.7, -0.35), arrowprops=key | {"connectionstyle": "arc3,rad=0.3"})
    axes.text(2.5, 1.12, "push, cost 1: opens with probability ½", ha="center", color=LOWER)
    axes.text(-1.1, 1.3, "½: stays shut", ha="left", color=LOWER)
    axes.text(2.5, -1.25, "fetch the key, cost 3: always opens", ha="center", color=UPPER)
    return figure


def regret() -> Figure:
    """Draw the regret of an agent that plans, one that does not, and one that never learns, in the same world."""
    study = {
        "name": "three",
        "runs": 5,
        "episodes": 300,
        "worlds": [{"world": "grid-world", "label": "GridWorld"}],
        "agents": [{"agent": name} for name in ("psrl", "q-learning", "uniform")],
    }
    return gw.plot(gw.run(study, workers=1), measure="gap_regret", axes="log")


def posterior() -> Figure:
    """Draw PSRL-SSP's posterior for one transition probability, after 3 to 300 tries in a run."""
    world = gw.worlds.grid_world()
    run = gw.learn(find("psrl").from_settings({}, world, 3_000), world, 3_000, seed=5, keep_steps=True)
    state, action = world.initial_state, world.action_names.index("right")
    tried = (run.trajectory.states == state) & (run.trajectory.actions == action)
    successors, chances = world.row(state, action)
    target, truth = int(successors[chances.argmax()]), float(chances.max())
    hits = run.trajectory.next_states[tried] == target
    concentration, others = 0.1, world.states * 0.1
    figure, axes = panel(xlabel="probability that “right” leads right", ylabel="posterior density")
    x = np.linspace(0.001, 0.999, 800)
    for index, tries in enumerate((3, 10, 30, 100, 300)):
        seen = int(hits[:tries].sum())
        density = stats.beta(concentration + seen, others + tries - seen).pdf(x)
        axes.plot(x, density, color=LOWER, alpha=0.25 + 0.15 * index, linewidth=1.8, label=f"after {tries} tries")
    axes.axvline(truth, color=TRUTH, linewidth=1.0, linestyle=(0, (4, 2)), label=f"truth: {truth:.2f}")
    axes.set(ylim=(0.0, None), xlim=(0.2, 1.0))
    axes.legend(frameon=False, loc="upper left")
    return figure


def bounds() -> Figure:
    """Draw value iteration from below and from above, and mark where a rule based on small changes stops."""
    ways = [("push", "out", 0.01, 1.0), ("push", "door", 0.99, 1.0), ("key", "out", 1.0, 200.0)]
    door = gw.SSP.from_transitions([("door", *way) for way in ways], goals=["out"])
    best = float(gw.solve(door).values[0])
    low, high = [0.0], [float(gw.evaluate(door, [1]).costs[0])]
    for bound in (low, high):
        for _ in range(600):
            bound.append(float((door.costs + door.to_dense() @ [bound[-1], 0.0]).min()))
    stop = int(np.argmax(np.diff(low) < 0.1))
    figure, axes = panel(xlabel="sweeps of value iteration", ylabel="value of the start")
    axes.fill_between(np.arange(len(low)), low, high, color=LOWER, alpha=0.12, linewidth=0)
    axes.plot(high, color=UPPER, label="upper bound")
    axes.plot(low, color=LOWER, label="lower bound")
    axes.axhline(best, color=TRUTH, linewidth=1.0, linestyle=(0, (4, 2)), label=f"V* = {best:.0f}")
    axes.plot([stop], [low[stop]], "o", color=LOWER)
    axes.annotate(
        f"rule “change below 0.1”:\nstops at {low[stop]:.1f}", (stop, low[stop]), (24, -36),
        textcoords="offset points", arrowprops={"arrowstyle": "-", "color": SOFT},
    )  # fmt: skip
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False)
    return figure


def optimists() -> Figure:
    """Draw the costs from the start that the plans of an optimistic agent and of a posterior sampler predict."""
    world, episodes = gw.worlds.grid_world(), 1_000
    figure, axes = panel(xlabel="episode", ylabel="cost predicted by the plan")
    names = ("bernstein-ssp", "psrl")
    styles = agent_styles((name, name) for name in names)
    for name in names:
        run = gw.learn(find(name).from_settings({}, world, episodes), world, episodes, keep_plans=True)
        ends = np.cumsum(run.steps)
        began = 1 + np.searchsorted(ends, run.epochs.start_step, side="right")
        expected = [plan.values[world.initial_state] for plan in run.plans]
        axes.step(began, expected, where="post", color=styles[name].colour, label=f"{name}: {run.costs.mean():.0f}")
    best = run.optimal_value
    axes.axhline(best, color=TRUTH, linewidth=1.0, linestyle=(0, (4, 2)), label=f"optimal policy: {best:.0f}")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.legend(frameon=False, title="mean cost of an episode")
    return figure


def theory() -> Figure:
    """Draw one run and the bounds of the paper's lemmas."""
    run = gw.learn(
        gw.agents.PSRL(gw.Dirichlet(0.1)), gw.worlds.grid_world(), 3_000, seed=1, keep_plans=True, keep_steps=True
    )
    return gw.plot(gw.theory.report(run))


def limit() -> Figure:
    """Draw the regret of a run, the heuristic scale and the bound C log K, in the same world."""
    world, episodes = gw.worlds.grid_world(), 30_000
    bound = gw.theory.regret_limit(world)
    run = gw.learn(gw.agents.PSRL(gw.Dirichlet(0.1)), world, episodes, seed=0)
    points = np.unique(np.geomspace(2, episodes, 60).astype(int))
    figure, axes = panel(xlabel="episodes K", ylabel="gap regret")
    axes.plot(points, bound.constant * np.log(points), color=UPPER, label="C log K: a bound only as K → ∞")
    axes.plot(points, run.gap_regret[points - 1], color=TRUTH, label="PSRL-SSP, one run")
    axes.plot(points, [bound.reference(k) for k in points], color=LOWER, label="reference(K): heuristic, no bound")
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.legend(frameon=False)
    return figure


LAYERS = {
    "foundations": ["errors, settings, registry, seeds, jit, files, tables, statistics, progress"],
    "core": ["ssp", "acting", "planning", "beliefs", "agents", "learning", "worlds", "theory"],
    "extensions": ["environments", "continuous", "interchange"],
    "experiments": ["studies", "results", "figures", "pages"],
    "paper": ["reproduce, claims, arena"],
    "command line": ["cli"],
}


def layers() -> Figure:
    """Draw the packages in the order in which they may import each other."""
    figure, axes = panel(8.0, 4.2)
    axes.set(xlim=(-2.0, 10.0), ylim=(-len(LAYERS) + 0.4, 0.6))
    axes.axis("off")
    shades = ("#dce9f5", "#c9dff2", "#ffe9a8", "#dff0d8", "#f3e0ee", "#eeeeee")
    for row, ((name, packages), shade) in enumerate(zip(LAYERS.items(), shades, strict=True)):
        axes.text(-0.2, -row, name, ha="right", va="center", fontweight="bold")
        width = 10.0 / len(packages)
        for column, package in enumerate(packages):
            box = {"width": width - 0.08, "height": 0.66, "facecolor": shade, "edgecolor": SOFT}
            axes.add_patch(Rectangle((column * width, -row - 0.33), **box))
            axes.text((column + 0.5) * width - 0.04, -row, package, ha="center", va="center", fontsize=9)
        if row:
            axes.annotate("", (5.0, 0.64 - row), (5.0, 0.36 - row), arrowprops={"arrowstyle": "-|>", "color": SOFT})
    return figure


PICTURES = {
    ssp: "A door as a stochastic shortest path problem: one state and two actions, with their costs and successors.",
    regret: "Regret of two agents that learn and one that does not, in the same world; log K and √K for comparison.",
    posterior: "PSRL-SSP's posterior for one transition probability, after 3 to 300 tries in one run.",
    bounds: "Value iteration from below and from above, for a door that opens with probability 0.01 per push, or with"
    " a key that costs 200. Stopping when the lower bound hardly changes leaves it far from V*.",
    theory: "One run of PSRL-SSP on GridWorld and the bounds of the paper's lemmas.",
    limit: "GridWorld: the regret of one run, the heuristic scale, and the asymptotic bound, which is far above both.",
    layers: "Layers of goalward: a package may import from the rows above it and from packages to its left.",
    optimists: "Costs predicted by the plans of an optimistic agent and of a posterior sampler, in the same world.",
}


class Picture(SphinxDirective):
    """Draws one of the `PICTURES`."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture and its caption."""
        draw, usual = {draw.__name__: (draw, caption) for draw, caption in PICTURES.items()}[self.arguments[0]]
        file = io.BytesIO()
        draw().savefig(file, format="svg")
        data = base64.b64encode(file.getvalue()).decode("ascii")
        caption = " ".join(self.content) or usual
        picture = f'<img class="curve" alt="{html.escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        return [nodes.raw("", picture, format="html"), nodes.paragraph("", caption)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
