"""Measures how much unknown costs increase regret, and how good deployed policies are.

    python benchmarks/environments.py > benchmarks/results/environments.md

Unknown costs: PSRL-SSP and Q-learning learn for 3,000 episodes in worlds whose costs are hidden, or hidden and noisy.
The table shows their gap regret, its ratio to the gap regret of runs with the same seeds and known costs, and its
growth exponent in K with a 95 % interval, as in the summaries of studies. The aim is a ratio of at most 2.5 and an
interval below 1.

Deployed policies: PSRL-SSP with its default prior learns for 1,000 episodes in the warehouse of the examples, and for
500 episodes in Taxi. The warehouse policy is evaluated exactly in the hidden model of the warehouse.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import gymnasium
import numpy as np

import goalward as gw
from goalward.statistics import growth_along, mean_interval

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from warehouse import Warehouse

EPISODES, RUNS = 3000, 10
POINTS = np.unique(np.geomspace(1, EPISODES, 100).astype(int))
AGENTS = {"psrl": gw.agents.PSRL, "q-learning": gw.agents.QLearning}
WORLDS = {"random-mdp": gw.worlds.random_mdp, "sand-grid": gw.worlds.sand_grid, "layers": gw.worlds.layers}
COSTS = {
    "hidden": {"costs": "hidden"},
    "hidden, Bernoulli noise": {"noise": "bernoulli"},
    "hidden, uniform noise": {"noise": "uniform"},
}


def regrets(agent: str, world: str, options: dict[str, str]) -> np.ndarray:
    """Return the gap regret of each run after each number of episodes in `POINTS`, ``[runs, points]``."""
    place = gw.ModelWorld(WORLDS[world](), **options)  # type: ignore[arg-type]
    runs = [gw.learn(AGENTS[agent](), place, EPISODES, seed=seed) for seed in range(RUNS)]
    return np.array([run.gap_regret[POINTS - 1] for run in runs])


def unknown_costs() -> None:
    print(f"## Unknown costs, {EPISODES:,} episodes, {RUNS} runs\n")
    print("| world | agent | costs | gap regret | ratio to known costs | exponent |")
    print("| --- | --- | --- | --- | ---: | --- |")
    for world in WORLDS:
        for agent in AGENTS:
            known = regrets(agent, world, {})
            for label, options in {"known": {}, **COSTS}.items():
                found = regrets(agent, world, options) if options else known
                total, ratio = mean_interval(found[:, -1]), found[:, -1].mean() / known[:, -1].mean()
                slope = growth_along(POINTS.astype(float), found)
                print(
                    f"| {world} | {agent} | {label} | {total.value:.0f} [{total.low:.0f}, {total.high:.0f}] |"
                    f" {ratio:.2f} | {slope.value:.2f} [{slope.low:.2f}, {slope.high:.2f}] |",
                    flush=True,
                )


def warehouse() -> None:
    model = Warehouse.model(give_up_cost=20.0)
    start, optimum = model.initial_state, gw.solve(model).values[model.initial_state]
    excess = []
    for seed in range(RUNS):
        env = gw.Environment(Warehouse(), goal=lambda step: step.info["is_success"], give_up_cost=20.0)
        policy = gw.learn(gw.agents.PSRL(), env, 1000, seed=seed).policy
        excess.append(100.0 * (gw.evaluate(model, policy.table).costs[start] / optimum - 1.0))  # type: ignore[attr-defined]
    print(f"\n## Warehouse, 1,000 episodes, {RUNS} runs\n")
    print(f"The optimal cost in the hidden model is {optimum:.2f}. Excess cost of each deployed policy, in per cent:\n")
    print(f"{', '.join(f'{max(value, 0.0):.1f}' for value in sorted(excess))}; mean {np.mean(excess):.1f}.")


def taxi() -> None:
    gw.learn(gw.agents.PSRL(), gymnasium.make("Taxi-v4"), 1, max_steps=3)  # loads or compiles the kernels
    print("\n## Taxi, default settings, 500 episodes\n")
    print("| seed | CPU seconds | goal reached in last 100 episodes | deployed policy, 200 episodes |")
    print("| ---: | ---: | ---: | --- |")
    for seed in range(3):
        began = time.process_time()
        run = gw.learn(gw.agents.PSRL(), gymnasium.make("Taxi-v4"), 500, seed=seed)
        seconds = time.process_time() - began
        cost = run.policy.evaluate(gymnasium.make("Taxi-v4"), 200, seed=1).cost
        reached = np.count_nonzero(run.reached[-100:])
        print(
            f"| {seed} | {seconds:.0f} | {reached} | {cost.value:.2f} [{cost.low:.2f}, {cost.high:.2f}] |", flush=True
        )


if __name__ == "__main__":
    print("# Environments\n")
    print("Written by `benchmarks/environments.py`; steps per second by `benchmarks/gymnasium_steps.py`.\n")
    unknown_costs()
    warehouse()
    taxi()
