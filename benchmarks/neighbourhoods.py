"""The Neighbourhoods prior compared with Dirichlet(0.1), on a large grid and on the paper's GridWorld.

``python benchmarks/neighbourhoods.py`` writes benchmarks/results/neighbourhoods.md. Times are processor times.
"""

from __future__ import annotations

import platform
import resource
import sys
import time
from pathlib import Path

import numpy as np

import goalward as gw
from goalward.beliefs.base import Prior
from goalward.paper.ratios import ratio_interval

RESULTS = Path(__file__).with_name("results") / "neighbourhoods.md"
SIDE, STEPS = 100, 60
EPISODES, RUNS = 10_000, 20


def large_grid(prior: Prior, world: gw.SSP) -> tuple[float, int]:
    """Return the mean seconds per epoch on a large grid, and the number of epochs."""
    gw.learn(gw.agents.PSRL(prior), world, 1, seed=0, max_steps=3)
    start = time.process_time()
    run = gw.learn(gw.agents.PSRL(prior), world, 1, seed=1, max_steps=STEPS)
    return (time.process_time() - start) / len(run.epochs), len(run.epochs)


def grid_world(prior: Prior) -> tuple[np.ndarray, float]:
    """Return the gap regret of each run on GridWorld, and the mean seconds per run."""
    world, agent = gw.worlds.grid_world(), gw.agents.PSRL(prior)
    gw.learn(agent, world, 10)
    start = time.process_time()
    regrets = np.array([gw.learn(agent, world, EPISODES, seed).gap_regret[-1] for seed in range(RUNS)])
    return regrets, (time.process_time() - start) / RUNS


def main() -> None:
    """Measure and write the table."""
    gw.warm_up()
    world = gw.worlds.grid_world(SIDE, SIDE)
    unknown, epochs = large_grid(gw.Neighbourhoods(), world)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    known, _ = large_grid(gw.Dirichlet(0.1, support=world), world)
    ours, seconds = grid_world(gw.Neighbourhoods())
    theirs, base = grid_world(gw.Dirichlet(0.1))
    ratio = ratio_interval(ours, theirs)
    lines = [
        "# The Neighbourhoods prior",
        "",
        "Written by `python benchmarks/neighbourhoods.py`. "
        f"Python {platform.python_version()}, {platform.machine()}; processor times.",
        "",
        "| what | measured |",
        "| --- | ---: |",
        f"| {SIDE} x {SIDE} grid, successors unknown: an epoch (mean of {epochs}) | {1000 * unknown:.0f} ms |",
        f"| the same with Dirichlet(0.1) on the known support | {1000 * known:.0f} ms |",
        f"| ratio | {unknown / known:.2f} |",
        f"| peak memory of the process, successors unknown | {memory:.0f} MB |",
        f"| GridWorld, K = {EPISODES:,}, {RUNS} runs: gap regret with neighbourhoods | {ours.mean():.0f} |",
        f"| the same with Dirichlet(0.1) | {theirs.mean():.0f} |",
        f"| ratio with 95 % interval | {ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] |",
        f"| ratio of the processor times of a run | {seconds / base:.2f} |",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
