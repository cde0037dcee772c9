"""The claims of the paper's experiments, tested on stored runs.

Regret means the sum of the optimality gaps along the path. This sum has the same expectation as the realised regret,
but varies far less. Agents are compared run by run, with the same random numbers. Some claims compare PSRL-SSP with
several rivals or priors. Their intervals are widened (Bonferroni), so that all of them hold together with probability
0.95. The two intervals of ULCVI (one for each world) are not widened.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from goalward import agents
from goalward.arrays import Floats
from goalward.formatting import number, with_range
from goalward.paper.claims.claims import Finding, above, all_of, below, between, certain
from goalward.paper.claims.runs import OURS, PAPER_WORLDS, RunSource, cell_of
from goalward.planning.evaluate import evaluate
from goalward.planning.solve import solve
from goalward.results.results import Results
from goalward.ssp.model import SSP
from goalward.statistics import compare_pairs, mean_interval, share

RIVALS = ("UC-SSP", "Bernstein-SSP", "ULCVI", "EB-SSP")
BOTH = " and ".join(PAPER_WORLDS)
QUALITY = 1.5  # "of the quality of" is taken to mean: at most this many times the regret
CHANGE = 0.05  # a regret per episode that changes by less than this share shows no learning


def finals(results: Results, world: str, agent: str) -> Floats:
    """Return the final gap regret of each run; NaN for runs that were cut off."""
    return cell_of(results, world, agent).finals["gap_regret"]


def level_for(count: int) -> float:
    """Return the confidence level at which `count` intervals hold together with probability 0.95."""
    return 1.0 - 0.05 / count


def rivals(source: RunSource) -> Iterator[Finding]:
    """Test whether PSRL-SSP beats every rival in both worlds, with a larger gap in GridWorld."""
    runs, episodes = source.size(10), source.size(10_000)
    results = source.results("paper-theory", runs=runs, episodes=episodes)
    ran = f"{OURS} and {', '.join(RIVALS)}; {BOTH}; {runs} runs, K={episodes:,}, widths of the theory"
    level = level_for(len(PAPER_WORLDS) * len(RIVALS))
    verdicts, parts = [], []
    excess: dict[str, dict[str, Floats]] = {}
    for world, build in PAPER_WORLDS.items():
        ours = finals(results, world, OURS)
        optimal = solve(build()).values[build().initial_state] * episodes
        compared = {rival: compare_pairs(finals(results, world, rival), ours, level) for rival in RIVALS}
        verdicts += [above(comparison.difference, 0.0) for comparison in compared.values()]
        excess[world] = {rival: (finals(results, world, rival) - ours) / optimal for rival in RIVALS}
        nearest = min(compared, key=lambda rival: compared[rival].difference.value)
        gap, mean = compared[nearest].difference, float(ours.mean())
        parts.append(
            f"{world}: {number(mean)}; {nearest} is nearest: {with_range(gap)} more, {1 + gap.value / mean:.0f} times"
        )
    yield Finding("rivals", ran, "; ".join(parts), all_of(*verdicts))
    grid, random = excess["GridWorld"], excess["RandomMDP"]
    differences = {rival: mean_interval(grid[rival] - random[rival], level_for(len(RIVALS))) for rival in RIVALS}
    smallest = min(differences, key=lambda rival: differences[rival].value)
    figure = (
        "excess over PSRL-SSP in units of K V*, GridWorld against RandomMDP: "
        + ", ".join(f"{rival} {grid[rival].mean():.2g} / {random[rival].mean():.2g}" for rival in RIVALS)
        + f"; smallest difference ({smallest}) {with_range(differences[smallest])}"
    )
    yield Finding("gap", ran, figure, all_of(*(above(difference, 0.0) for difference in differences.values())))


def ulcvi(source: RunSource) -> Iterator[Finding]:
    """Test whether ULCVI shows signs of learning after 80,000 episodes."""
    runs, episodes = source.size(4), source.size(80_000)
    results = source.results("claims-ulcvi", runs=runs, episodes=episodes)
    verdicts, parts = [], []
    for world, build in PAPER_WORLDS.items():
        cell = cell_of(results, world, "ULCVI")
        tenth, last_tenth = np.searchsorted(cell.points, [0.1 * episodes, 0.9 * episodes])
        curve = cell.curves["gap_regret"]
        first = curve[:, tenth] / cell.points[tenth]
        last = (curve[:, -1] - curve[:, last_tenth]) / (episodes - cell.points[last_tenth])
        change = mean_interval(last / first - 1.0)
        verdicts.append(between(change, -CHANGE, CHANGE))
        parts.append(
            f"{world}: {last.mean():.3g} per episode at the end, the uniform policy {uniform_gap(build()):.3g};"
            f" change since the first tenth {with_range(change)}"
        )
    ran = f"ULCVI with true B* and T*, random ties; {BOTH}; {runs} runs, K={episodes:,}"
    yield Finding("ulcvi", ran, "; ".join(parts), all_of(*verdicts))


def uniform_gap(world: SSP) -> float:
    """Return the expected regret of the uniformly random policy in one episode."""
    uniform = world.available / world.available.sum(axis=1, keepdims=True)
    return float(evaluate(world, uniform).costs[world.initial_state] - solve(world).values[world.initial_state])


def tuned(source: RunSource) -> Iterator[Finding]:
    """Compare untuned PSRL-SSP with rivals whose confidence widths were tuned to the world."""
    runs, episodes = source.size(10), source.size(10_000)
    results = source.results("paper-tuned", runs=runs, episodes=episodes)
    level = level_for(len(PAPER_WORLDS) * len(RIVALS))
    verdicts, parts = [], []
    for world in PAPER_WORLDS:
        ours = finals(results, world, OURS)
        theirs = {rival: finals(results, world, rival) for rival in RIVALS}
        verdicts += [below(mean_interval(ours - QUALITY * regret, level), 0.0) for regret in theirs.values()]
        best = min(theirs, key=lambda rival: float(theirs[rival].mean()))
        listed = ", ".join(f"{rival} {with_range(mean_interval(regret))}" for rival, regret in theirs.items())
        times = f"{ours.mean() / theirs[best].mean():.1f} times {best}, the best"
        parts.append(f"{world}: {OURS} {with_range(mean_interval(ours))}, {times}; {listed}")
    ran = f"{OURS} as it is, rivals with tuned scales; {BOTH}; {runs} runs, K={episodes:,}"
    note = f"taken to mean: at most {QUALITY:g} times the regret of each rival; the scales were tuned with other seeds"
    yield Finding("tuned", ran, "; ".join(parts), all_of(*verdicts), note)


def withheld(source: RunSource) -> Iterator[Finding]:
    """Test that PSRL-SSP needs neither B* nor T*, and list the facts about the world that each agent needs."""
    needs = {name: agents.find(name).needs for name in ("psrl", "uc-ssp", "bernstein-ssp", "ulcvi", "eb-ssp")}
    known = ", ".join(f"{name} {' and '.join(needs[name]) or 'nothing'}" for name in needs)
    ran = "nothing: the agents declare what they must know about the true world"
    yield Finding("withheld", ran, f"agents must know: {known}", certain(not needs["psrl"]))


def priors(source: RunSource) -> Iterator[Finding]:
    """Test whether an informed prior lowers the regret."""
    runs, episodes = source.size(20), source.size(10_000)
    results = source.results("claims-priors", runs=runs, episodes=episodes)
    regrets = {agent: finals(results, "GridWorld", agent) for agent in ("nothing known", "neighbours known")}
    plain, informed = regrets.values()
    verdict = below(compare_pairs(informed, plain, level_for(1)).difference, 0.0)
    figure = "; ".join(f"{agent} {with_range(mean_interval(regret))}" for agent, regret in regrets.items())
    ran = f"PSRL-SSP with two priors of concentration 0.1; GridWorld; {runs} runs, K={episodes:,}"
    yield Finding("prior", ran, figure, verdict)


def resampling(source: RunSource) -> Iterator[Finding]:
    """Test whether an agent that samples only at the start of episodes can get stuck where PSRL-SSP does not."""
    runs, world = source.size(40), "GridWorld without slips"
    results = source.results("claims-resampling", runs=runs, episodes=100)
    stuck = [cell_of(results, world, agent).truncated for agent in (OURS, "at episode starts")]
    ours, theirs = (share(int(cut.sum()), len(cut)) for cut in stuck)
    figure = f"stuck for good: {with_range(theirs)} of the runs at episode starts, {with_range(ours)} of {OURS}"
    ran = f"{world}; {runs} runs of 100 episodes, cut off after 1,000,000 steps"
    yield Finding("resampling", ran, figure, all_of(above(theirs, 1e-9), certain(ours.value == 0.0)))
