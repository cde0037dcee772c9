"""The golden runs. ``python tests/agents/golden_runs.py`` records their digests.

It adds the runs of new agents, which need no new version of the results, and leaves recorded runs alone. It records all
runs again after RESULTS_VERSION was raised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from goalward import SSP, Dirichlet, agents, learn, worlds
from goalward.agents import Agent
from goalward.studies.run_spec import RESULTS_VERSION

FILE = Path(__file__).with_name("golden_runs.json")
WORLDS = {
    "grid-world": worlds.grid_world(),
    "random-mdp with uniform rows": worlds.random_mdp(states=8, seed=5, rows="uniform"),
    "random-mdp": worlds.random_mdp(),
}
GRID, UNIFORM, RANDOM = WORLDS
EPISODES, MAX_STEPS = 100, 20_000
# Scales at which something is learnt within the episodes: with the theory's, several agents act at random throughout.
SCALES = {"bernstein-ssp": 0.01, "eb-ssp": 0.002, "uc-ssp": 0.05, "ulcvi": 1e-9}
PAPER = ("bernstein-ssp, scaled", "eb-ssp, scaled", "psrl", "tsde", "uc-ssp, scaled", "ulcvi, scaled")
"""What learns in the default RandomMDP, too."""
OTHERS: dict[str, tuple[Callable[[SSP], Agent], str]] = {
    "psrl, known support": (lambda world: agents.PSRL(prior=Dirichlet(0.1, support=world)), GRID),
    "psrl, raised costs": (lambda world: agents.PSRL(perturb_costs=0.5), UNIFORM),
    "psrl, limited values": (lambda world: agents.PSRL(value_limit=6.0), UNIFORM),
}


def told(name: str, **settings: object) -> Callable[[SSP], Agent]:
    return lambda world: agents.find(name).from_world(world, episodes=EPISODES, **settings)


AGENTS: dict[str, Callable[[SSP], Agent]] = {
    name: told(name) for name in agents.known() if not agents.find(name).continuous
}
for name, scale in SCALES.items():
    AGENTS[f"{name}, scaled"] = told(name, scale=scale)
    AGENTS[f"{name}, first ties"] = told(name, scale=scale, ties="first")
RUNS = {f"{agent} in {world}": (make, world) for world in (GRID, UNIFORM) for agent, make in AGENTS.items()}
RUNS |= {f"{agent} in {RANDOM}": (AGENTS[agent], RANDOM) for agent in PAPER}
RUNS |= {f"{agent} in {world}": (make, world) for agent, (make, world) in OTHERS.items()}


def outcome(run_name: str) -> list[int | str]:
    """Steps, epochs, and a digest of every step and every epoch: integers alone, which no other rounding moves."""
    make, world = RUNS[run_name]
    ssp = WORLDS[world]
    run = learn(make(ssp), ssp, EPISODES, seed=0, max_steps=MAX_STEPS, keep_steps=True)
    steps = run.trajectory
    assert steps is not None
    digest = hashlib.sha256()
    for column in (steps.states, steps.actions, steps.next_states, run.epochs.steps, run.epochs.ended):
        digest.update(column.astype("<i8").tobytes())
    return [run.total_steps, len(run.epochs), digest.hexdigest()[:20]]


if __name__ == "__main__":
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    kept = recorded["runs"] if recorded["results_version"] == RESULTS_VERSION else {}
    outcomes = {name: kept[name] if name in kept else outcome(name) for name in sorted(RUNS)}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in outcomes.items())
    FILE.write_text(f'{{"results_version": {RESULTS_VERSION}, "runs": {{\n{lines}\n}}}}\n', encoding="utf-8")
