"""Regret relative to one agent, world by world and over many worlds.

Ratio in a world
    The ratio of the mean gap regrets over the runs. Run r of both agents uses the same random numbers, so the logarithm
    of the ratio has the standard error sd(d) / sqrt(n), where d_r = x_r / mean(x) - y_r / mean(y) (the delta method).
    The interval is the t-interval of the logarithm.

Over worlds
    The geometric mean of the ratios. Its logarithm is the mean of the logarithms, whose errors are independent. Tables
    also show the worst ratio.

Sticking
    A run that keeps playing a wrong action has regret in every episode. The late regret of a run is its regret per
    episode over the last two thirds of its episodes, in units of B*. An agent is flagged if its largest late regret
    exceeds `STICKS`, and also exceeds `TIMES` times the largest late regret of the reference.

Runs that were cut off
    A run that was ended by a step limit counts with its regret until then. So the ratio is a lower bound. Every mean
    that includes this ratio is a lower bound, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from goalward.arrays import Floats
from goalward.formatting import Interval
from goalward.results.results import CellResults, Results
from goalward.statistics import mean_interval
from goalward.table import Table

MEASURE = "gap_regret"
NO_INTERVAL = Interval(math.nan, math.nan, math.nan, 0)
STICKS, TIMES = 0.02, 5.0


@dataclass(frozen=True)
class Ratio:
    """The regret of one agent in one world, relative to the reference agent."""

    world: str
    agent: str
    ratio: Interval = NO_INTERVAL  # of the mean gap regrets; NaN if there is none
    regret: Interval = NO_INTERVAL  # the mean gap regret with its t-interval
    late: float = math.nan  # the worst run's regret per episode over the last two thirds, divided by B*
    sticks: bool = False  # whether `late` exceeds 0.02 and five times that of the reference
    cut_off: int = 0  # how many runs were cut off; if any, the ratio is a lower bound
    failed: int = 0  # how many runs failed
    missing: int = 0  # how many runs are missing or damaged
    cpu: float = math.nan  # the ratio of the processor times
    refusal: str = ""  # why the agent does not learn in this world


@dataclass(frozen=True)
class Overall:
    """The regret of one agent over many worlds, relative to the reference agent."""

    agent: str
    mean: Interval  # the geometric mean of the ratios
    worst: float
    worst_world: str
    late: float  # the largest of all worlds
    sticks: int  # the worlds in which a run sticks
    cut_off: int
    failed: int
    refused: int  # the worlds that the agent refuses
    cpu: float


@dataclass(frozen=True)
class Ratios:
    """The ratios of a study: one ratio for each world and agent."""

    reference: str  # the agent whose regret is 1
    cells: list[Ratio]
    groups: dict[str, list[str]]  # the worlds of each group
    runs: int
    episodes: list[int]
    caveats: dict[str, str] = field(default_factory=dict)  # the caveats of agents, by their labels

    @property
    def agents(self) -> list[str]:
        """The agents in the order of the study."""
        return list(dict.fromkeys(cell.agent for cell in self.cells))

    @property
    def table(self) -> Table:
        """The ratios as a table."""
        return Table([vars(cell) for cell in self.cells], name="cells")

    def overall(self, group: str | None = None) -> list[Overall]:
        """Summarise each agent over a group of worlds, or over all worlds. Agents with smaller means come first."""
        worlds = [world for name, names in self.groups.items() if group in (None, name) for world in names]
        rows = [
            over_worlds(agent, [cell for cell in self.cells if cell.agent == agent and cell.world in worlds])
            for agent in self.agents
        ]
        return sorted(rows, key=lambda row: math.inf if math.isnan(row.mean.value) else row.mean.value)

    def find(self, world: str, agent: str) -> Ratio | None:
        """Return the ratio of an `agent` in a `world`; None if the agent is not in this world."""
        return next((cell for cell in self.cells if (cell.world, cell.agent) == (world, agent)), None)


def compare_all(
    results: Results,
    reference: str,
    refusals: Mapping[tuple[str, str], str] | None = None,
    largest_values: Mapping[str, float] | None = None,
) -> Ratios:
    """Compare every agent of a study with the reference.

    The keys of `refusals` are the labels of a world and an agent, and the values say why the agent refuses the world.
    `largest_values` has B* of each world, by the label of the world.
    """
    refused, known = dict(refusals or {}), largest_values or {}
    agents = list(dict.fromkeys([*results.agents(), *(agent for _, agent in refused)]))
    ratios: list[Ratio] = []
    groups: dict[str, list[str]] = {}
    for world, cells in results.worlds().items():
        groups.setdefault(cells[0].cell.world.group, []).append(world)
        by_agent = {cell.cell.agent.label: cell for cell in cells}
        label = cells[0].cell.world.label
        for agent in agents:
            if agent in by_agent:
                ratios.append(ratio_of(world, by_agent[agent], by_agent.get(reference), known.get(label, math.nan)))
            elif (label, agent) in refused:
                ratios.append(Ratio(world, agent, refusal=refused[label, agent]))
    lengths = sorted({cell.cell.episodes for cell in results.cells})
    return Ratios(reference, ratios, groups, results.design.runs, lengths, results.caveats())


def ratio_of(world: str, cell: CellResults, base: CellResults | None, B_star: float) -> Ratio:
    """Return the regret of an agent relative to the reference; the ratio is NaN if the agents share no runs."""
    without_ratio = Ratio(
        world,
        cell.cell.agent.label,
        cut_off=int(np.count_nonzero(cell.truncated)),
        failed=len(cell.failed),
        missing=len(cell.missing) + len(cell.damaged),
    )
    shared = [] if base is None else sorted({*cell.runs.tolist()} & {*base.runs.tolist()})
    if base is None or not shared:
        return without_ratio
    ours, theirs = (results.values[MEASURE][np.isin(results.runs, shared)] for results in (cell, base))
    late, base_late = (float(late_regrets(results).max()) / B_star for results in (cell, base))
    return replace(
        without_ratio,
        ratio=ratio_interval(ours, theirs),
        regret=mean_interval(ours),
        late=late,
        sticks=late > max(STICKS, TIMES * base_late),
        cpu=float(cell.values["seconds"].mean() / base.values["seconds"].mean()),
    )


def late_regrets(cell: CellResults) -> Floats:
    """Return each run's regret per episode over the last two thirds of its finished episodes."""
    curves, done = cell.curves[MEASURE], cell.episodes_done
    early = [np.interp(n / 3.0, cell.points, curve) for n, curve in zip(done, curves, strict=True)]
    return np.asarray((cell.values[MEASURE] - early) / np.maximum(done * 2.0 / 3.0, 1.0))


def ratio_interval(ours: Floats, theirs: Floats) -> Interval:
    """Return the ratio of two means over paired runs, with a 95 % interval; NaN if a mean is not positive.

    >>> ratio_interval(np.array([1.0, 3.0]), np.array([2.0, 6.0])).value
    0.5
    """
    means = float(np.mean(ours)), float(np.mean(theirs))
    if min(means) <= 0.0 or not np.isfinite(means).all():
        return replace(NO_INTERVAL, runs=len(ours))
    return around(
        math.log(means[0] / means[1]), mean_interval(ours / means[0] - theirs / means[1]).half_width, len(ours)
    )


def around(logarithm: float, reach: float, runs: int) -> Interval:
    """Return the interval from exp(logarithm - reach) to exp(logarithm + reach)."""
    return Interval(math.exp(logarithm), math.exp(logarithm - reach), math.exp(logarithm + reach), runs)


def over_worlds(agent: str, cells: Sequence[Ratio]) -> Overall:
    """Summarise the ratios of an agent over several worlds."""
    known = [cell for cell in cells if not math.isnan(cell.ratio.value)]
    worst = max(known, key=lambda cell: cell.ratio.value, default=Ratio("", agent))
    return Overall(
        agent,
        mean=geometric_mean([cell.ratio for cell in known]),
        worst=worst.ratio.value,
        worst_world=worst.world,
        late=max((cell.late for cell in known if not math.isnan(cell.late)), default=math.nan),
        sticks=sum(cell.sticks for cell in known),
        cut_off=sum(cell.cut_off for cell in cells),
        failed=sum(cell.failed for cell in cells),
        refused=sum(bool(cell.refusal) for cell in cells),
        cpu=geometric([cell.cpu for cell in known]),
    )


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean of the positive values; NaN if no value is positive."""
    known = [value for value in values if value > 0.0]
    return math.exp(float(np.mean(np.log(known)))) if known else math.nan


def geometric_mean(ratios: Sequence[Interval]) -> Interval:
    """Return the geometric mean, with an interval, of ratios whose errors are independent."""
    if not ratios:
        return NO_INTERVAL
    # Half an interval is t times a standard error; squares of standard errors add up.
    reach = math.hypot(*(math.log(ratio.high / ratio.low) / 2.0 for ratio in ratios)) / len(ratios)
    mean = math.log(geometric([ratio.value for ratio in ratios]))
    return around(mean, reach, min(ratio.runs for ratio in ratios))
