"""How regret and the number of epochs grow, compared with the theorems.

Exponents are slopes on logarithmic scales, with 95 % intervals. The slope in K is taken over the last decade of K in
each world. The slopes in S, A and B* are taken across worlds. A theorem is an upper bound up to a constant and
logarithms, so a smaller exponent agrees with the theorem. A finite range of sizes cannot refute a theorem. The verdict
"does not hold" means only that in this range, the whole interval lies above the theorem's exponent. The exponents in K
of Theorem 1 and of the number of epochs may exceed 1/2 by as much as their interval. For all other exponents, the whole
interval must lie below the limit.

In K, the exponent of the regret is compared with 1/2. In S, A and B, both terms of the bound matter at every K that can
be run. So the regret is divided by the bound, and the exponent of the ratio is compared with 0. In the theorem, B
bounds the values of all worlds of a prior. Here, B is the largest value that was drawn in the sweep. The sweep over B
varies the number of states that can reach the goal in one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.posterior.psrl import PSRL, cost_floor
from goalward.arrays import Floats, Int64s
from goalward.beliefs.dirichlet import Dirichlet
from goalward.formatting import Interval, number, with_range
from goalward.learning.learn import run_agent
from goalward.paper.claims.claims import Finding, above, all_of, at_most, below, certain
from goalward.paper.claims.runs import OURS, RunSource, cell_of, drawn_worlds
from goalward.planning.hardness import hardness
from goalward.results.results import CellResults, Results
from goalward.seeds import generator, run_seed
from goalward.ssp.model import SSP
from goalward.statistics import compare_pairs, growth_along, growth_of_means, mean_interval
from goalward.studies.rerun import rerun
from goalward.studies.run_spec import RunSpec
from goalward.theory.epochs import EpochCount, count_epochs
from goalward.theory.posterior_lemma import draw_world
from goalward.theory.regret_bounds import theorem_1, theorem_2

EPOCH_WORLDS = ("GridWorld", "RandomMDP", "GridWorld, success 0.4")
ZERO_COSTS = np.array([[0.0, 0.3], [0.6, 0.0], [1.0, 0.4], [0.0, 0.8], [0.5, 1.0]])
GOAL_STATES, GOAL_NEAR = 8, (8, 4, 2, 1)


def exponent(cell: CellResults) -> Interval:
    """Return the exponent with which the gap regret of a cell grows in K."""
    return growth_along(cell.points.astype(np.float64), cell.curves["gap_regret"][cell.complete])


def epochs_of(spec: RunSpec, S: int, A: int) -> tuple[EpochCount, Int64s]:
    """Repeat a run; return the number of its epochs with bounds, and the episodes in which the epochs began."""
    epochs = rerun(spec, keep_steps=False)[1].epochs
    return count_epochs(epochs, S, A), epochs.start_episode


def epochs(source: RunSource) -> Iterator[Finding]:
    """Test the claims about the number of epochs, about TSDE's epochs, and about regret in fixed worlds."""
    runs, episodes = source.size(20), source.size(20_000)
    results = source.results("claims-epochs", runs=runs, episodes=episodes)
    ran = f"{', '.join(EPOCH_WORLDS)}; {runs} runs, K={episodes:,}"
    yield sqrt_epochs(source, results, ran)
    yield tsde(results, ran)
    growth = {world: exponent(cell_of(results, world, OURS)) for world in EPOCH_WORLDS}
    figure = f"exponent in K: {'; '.join(f'{world} {with_range(slope)}' for world, slope in growth.items())}"
    verdict = all_of(*(below(slope, 0.5) for slope in growth.values()))
    yield Finding("conjecture", f"PSRL-SSP with Dirichlet(0.1); {ran}", figure, verdict)


def sqrt_epochs(source: RunSource, results: Results, ran: str) -> Finding:
    """Test whether the number of epochs grows at most like sqrt(K) and stays within the bound of the lemma."""
    parts, verdicts = [], []
    within_bound: list[bool] = []
    for world in EPOCH_WORLDS:
        cell = cell_of(results, world, OURS)
        shape = drawn_worlds(results, cell)[0].costs.shape
        repeated = source.map(epochs_of, [(spec, *shape) for spec in results.design.specs(cell.cell)])
        begun = [np.searchsorted(starts, cell.points, side="left") for _, starts in repeated]
        growth = growth_along(cell.points.astype(np.float64), np.array(begun, dtype=np.float64))
        verdicts.append(at_most(growth, 0.5))
        within_bound += [count.holds for count, _ in repeated]
        parts.append(f"{world} {with_range(growth)}")
    outside = within_bound.count(False)
    lemma = f"{outside} of {len(within_bound)} runs not within" if outside else "all runs within"
    figure = f"exponent of L in K: {'; '.join(parts)}; {lemma} the lemma's bound"
    return Finding("sqrt-epochs", f"PSRL-SSP; {ran}", figure, all_of(*verdicts, certain(not outside)))


def tsde(results: Results, ran: str) -> Finding:
    """Test whether the epochs of TSDE lead to more regret than the epochs of PSRL-SSP."""
    parts, verdicts = [], []
    for world in EPOCH_WORLDS:
        ours, theirs = cell_of(results, world, OURS), cell_of(results, world, "TSDE")
        final = compare_pairs(theirs.finals["gap_regret"], ours.finals["gap_regret"], 1.0 - 0.05 / len(EPOCH_WORLDS))
        verdicts.append(above(final.difference, 0.0))
        mean = number(float(ours.finals["gap_regret"].mean()))
        exponents = f"exponents {exponent(theirs).value:.2f} and {exponent(ours).value:.2f}"
        parts.append(f"{world}: {with_range(final.difference)} more than {mean}; {exponents}")
    figure = f"regret with TSDE's epochs minus regret of PSRL-SSP: {'; '.join(parts)}"
    note = "the paper's argument compares upper bounds, K^(2/3) and sqrt(K); neither is reached here"
    return Finding("tsde", f"both agents; {ran}", figure, all_of(*verdicts), note)


class Sweep(NamedTuple):
    """A sweep over S, A or B: the `sizes`, the ``regrets[size, run]``, and the `bounds` of Theorem 1."""

    sizes: Floats
    regrets: Floats
    bounds: Floats


def theorem_1_claims(source: RunSource) -> Iterator[Finding]:
    """Test Theorem 1: how the regret grows in K, S, A and B."""
    runs, episodes = source.size(40), source.size(10_000)
    results = source.results("claims-theorem", runs=runs, episodes=episodes)
    growth = [exponent(cell) for cell in results.cells]
    largest = max(growth, key=lambda slope: slope.low)
    sweeps = {name: swept(results, setting) for name, setting in (("S", "states"), ("A", "actions"))}
    sweeps["B"] = goal_sweep(source, runs, episodes)
    ratios = np.concatenate([sweep.regrets.mean(axis=1) / sweep.bounds for sweep in sweeps.values()])
    ran = "PSRL-SSP; worlds drawn from the agent's prior, Dirichlet(1), costs in [0.2, 1]"
    size = f"{runs} worlds each, K={episodes:,}"
    figure = (
        f"exponent in K, the largest of {len(growth)} settings: {with_range(largest)}; regret over the bound without"
        f" its constant: {ratios.min():.1e} to {ratios.max():.1e}"
    )
    verdict = all_of(*(at_most(slope, 0.5) for slope in growth))
    note = "the claim holds if the exponent is at most 1/2 plus half its interval"
    yield Finding("theorem-1-K", f"{ran}; S in 4..32 with A=2, A in 2..16 with S=8; {size}", figure, verdict, note)
    yield sizes(sweeps, f"{ran}; four values of each; {size}")


def swept(results: Results, setting: str) -> Sweep:
    """Return the sweep of a study over one `setting` of its random worlds."""
    cells = [cell for cell in results.cells if setting in cell.cell.world.swept]
    drawn = [drawn_worlds(results, cell) for cell in cells]
    hard = [hardness(world) for worlds in drawn for world in worlds]
    B, c_min = max(world.B_star for world in hard), min(world.c_min for world in hard)
    K = cells[0].cell.episodes
    return Sweep(
        np.array([float(cell.cell.world.swept[setting]) for cell in cells]),
        np.array([cell.finals["gap_regret"] for cell in cells]),
        np.array([theorem_1(worlds[0].states, worlds[0].actions, K, B, c_min) for worlds in drawn]),
    )


def goal_run(near: int, episodes: int, seed: int) -> tuple[float, float, float]:
    """Run PSRL-SSP in a random world in which only `near` states can step to the goal.

    Returns the regret, and B* and c_min of the world.
    """
    possible = np.ones((GOAL_STATES, 2, GOAL_STATES + 1))
    possible[: GOAL_STATES - near, :, GOAL_STATES] = 0.0
    prior = Dirichlet(1.0, support=SSP.from_dense(possible, np.ones((GOAL_STATES, 2)), normalize=True))
    rng = generator(run_seed(seed, "goal", near))
    costs = rng.uniform(0.2, 1.0, (GOAL_STATES, 2))
    world = draw_world(prior, Task(costs, 0, episodes), rng)
    run = run_agent(PSRL(prior), world, episodes, run_seed(seed, "goal run", near))
    hard = hardness(world)
    return float(run.gap_regret[-1]), hard.B_star, hard.c_min


def goal_sweep(source: RunSource, runs: int, episodes: int) -> Sweep:
    """Return the sweep over B, which is larger if fewer states can step to the goal."""
    tasks = [(near, episodes, seed) for near in GOAL_NEAR for seed in range(runs)]
    outcomes = np.array(source.map(goal_run, tasks)).reshape(len(GOAL_NEAR), runs, 3)
    largest, least = outcomes[:, :, 1].max(axis=1), outcomes[:, :, 2].min()
    bounds = [theorem_1(GOAL_STATES, 2, episodes, B, least) for B in largest.tolist()]
    return Sweep(largest, outcomes[:, :, 0], np.array(bounds))


def sizes(sweeps: dict[str, Sweep], ran: str) -> Finding:
    """Test Theorem 1: how the regret grows in S, A and B."""
    parts, verdicts = [], []
    for name, sweep in sweeps.items():
        regret, ratio = (growth_of_means(sweep.sizes, sweep.regrets.T / per) for per in (1.0, sweep.bounds))
        bound = regret.value - ratio.value
        verdicts.append(below(ratio, 0.0))
        span = f"{sweep.sizes.min():.3g} to {sweep.sizes.max():.3g}"
        parts.append(f"{name} from {span}: regret {with_range(regret)}, bound {bound:.2g}, ratio {with_range(ratio)}")
    return Finding("theorem-1-sizes", ran, f"exponents in {'; in '.join(parts)}", all_of(*verdicts))


def perturbed_run(episodes: int, seed: int) -> tuple[float, float, float]:
    """Run PSRL-SSP with and without perturbed costs in a random world in which some costs are zero.

    Returns both regrets, measured in true costs, and the bound of Theorem 2 for this world.
    """
    prior = Dirichlet(1.0)
    world = draw_world(prior, Task(ZERO_COSTS, 0, episodes), generator(run_seed(seed, "zero costs")))
    perturbed, plain = (
        float(run_agent(PSRL(prior, perturb), world, episodes, run_seed(seed, "perturbed")).gap_regret[-1])
        for perturb in (True, False)
    )
    hard = hardness(world)
    return perturbed, plain, theorem_2(world.states, world.actions, episodes, hard.B_star, hard.T_star)


def theorem_2_claim(source: RunSource) -> Iterator[Finding]:
    """Test Theorem 2: with raised costs, the regret grows at most like sqrt(K) even if some costs are zero."""
    runs = source.size(60)
    lengths = [500, 1_000, 2_000, 4_000, 8_000, 16_000]
    tasks = [(K, seed) for K in lengths for seed in range(runs)]
    outcomes = np.array(source.map(perturbed_run, tasks)).reshape(len(lengths), runs, 3)
    means = outcomes.mean(axis=1)
    growth = growth_of_means(np.array(lengths, dtype=np.float64), outcomes[:, :, 0].T)
    effect = mean_interval(outcomes[-1, :, 0] - outcomes[-1, :, 1])
    epsilon = cost_floor(Task(ZERO_COSTS, 0, lengths[-1]))
    figure = (
        f"exponent in K {with_range(growth)}; at K={lengths[-1]:,}, epsilon={epsilon:.3g}, the perturbation adds"
        f" {with_range(effect)} to {number(means[-1, 1])}; regret over the bound without its constant"
        f" {means[-1, 0] / means[-1, 2]:.1e}"
    )
    ran = (
        f"PSRL-SSP with epsilon = (S²A/K)^(2/3); worlds drawn from the prior, 3 of 10 costs zero; {runs} worlds for"
        f" each K in {lengths}"
    )
    yield Finding("theorem-2", ran, figure, below(growth, 0.5))
