"""Saved agents whose fields were changed by somebody who also made the checksum right.

Every agent of the registry is saved after some learning, with every kind of prior if it has one. One to three leaves of
its tree are changed: arrays in their values, shape or type, numbers in their value or type, and leaves are removed,
added or exchanged. The file is refused with one error of goalward's, or the agent in it can go on learning: it acts,
saves itself and plays only what exists. The policies of the agents are attacked in the same way.
"""

from __future__ import annotations

import functools
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from goalward import SSP, Dirichlet, FinitePrior, LearntPolicy, Neighbourhoods, agents, archive, learn, load_policy
from goalward.acting.encoding import Encoding
from goalward.agents import agent_file as storage
from goalward.beliefs.base import Prior
from goalward.errors import FileError, GoalwardError
from goalward.learning import deployed_policy as policies
from goalward.settings import settings_of
from goalward.worlds.base import build

NUMBERS = (0, 1, -1, 7, 2**31, 2**62, -(2**63), 1e308, -1e308, float("nan"), float("inf"), 0.5, True, None, "x", [1])
EPISODES = 12


PRIORS = ("dirichlet", "support", "finite", "neighbourhoods")
SMALL = {"continuous-psrl": {"nodes": 9, "features": 8}, "aggregated-psrl": {"cells": 5}}
"""Settings with which agents in continuous worlds are quick."""


def prior_of(kind: str, world: SSP) -> Prior:
    """Return a prior for a world; not every world has all of them."""
    if kind == "support":
        return Dirichlet(0.5, support=world)
    if kind == "finite":
        other = world.probabilities + 0.01
        sums = np.repeat(np.add.reduceat(other, world.indptr[:-1]), np.diff(world.indptr))
        rows = world.indptr, world.successors
        return FinitePrior([world, SSP.from_rows(*rows, other / sums, world.costs, world.initial_state)])
    return Neighbourhoods() if kind == "neighbourhoods" else Dirichlet()


@functools.cache
def saved(name: str, world: str, prior: str) -> bytes:
    """Return the file of an agent that has learnt a little."""
    made, kind = build(world, {}), agents.find(name)
    settings = dict(SMALL.get(name, {}))
    if "prior" in settings_of(kind) and not kind.continuous:
        settings["prior"] = prior_of(prior, made)
    steps = 100 if kind.continuous else 2_000
    run = learn(kind.from_world(made, episodes=EPISODES, **settings), made, EPISODES, 0, max_steps=steps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        agents.save(run.agent, path)
        return path.read_bytes()


def leaves(tree: dict[str, Any], place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the places of all leaves of a tree."""
    found: list[tuple[str, ...]] = []
    for name, value in tree.items():
        found += leaves(value, (*place, name)) if isinstance(value, dict) else [(*place, name)]
    return found


def change_array(rng: random.Random, array: np.ndarray) -> Any:
    """Return an array with something wrong with it."""
    kind = rng.randrange(9)
    changed = array.copy()
    if kind == 0 or not array.size:
        return rng.choice(NUMBERS)
    if kind == 1:
        return changed.reshape(-1)[: rng.randrange(array.size)]
    if kind == 2:
        return changed.astype(rng.choice([np.int8, np.uint64, np.float32, np.float64, np.int64, np.bool_]))
    if kind == 3:
        return np.concatenate([changed.reshape(-1)] * 2)
    if kind == 4:
        return changed[..., None]
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f":
            value = rng.choice([np.nan, np.inf, -np.inf, -1.0, 1e308, 0.0])
        elif array.dtype.kind == "i":
            limits = np.iinfo(array.dtype)
            value = rng.choice([-1, limits.max, limits.min, 0, 1, int(array.max()) + 1, 1000])
        else:
            return rng.choice(NUMBERS)
        flat = changed.reshape(-1)
        if kind == 5:
            flat[:] = value
        else:
            flat[rng.randrange(flat.size)] = value
    return changed


def mutate(rng: random.Random, tree: dict[str, Any]) -> None:
    """Change one leaf of a tree in place."""
    place = rng.choice(leaves(tree))
    parent = tree
    for name in place[:-1]:
        parent = parent[name]
    last = place[-1]
    kind = rng.randrange(12)
    if kind == 0:
        del parent[last]
    elif kind == 1:
        parent[rng.choice(["x", "task", "costs", "counts"])] = parent.pop(last)
    elif kind == 2:
        other = rng.choice(leaves(tree))
        donor: Any = tree
        for name in other:
            donor = donor[name]
        parent[last] = donor
    elif isinstance(parent[last], np.ndarray):
        parent[last] = change_array(rng, parent[last])
    else:
        parent[last] = rng.choice(NUMBERS)


@functools.cache
def saved_policy(name: str, numbered: bool) -> bytes:
    """Return the file of the policy of an agent that has learnt a little, with or without names of observations."""
    made = build("grid-world-v0", {})
    policy = learn(agents.find(name).from_world(made, episodes=EPISODES), made, EPISODES, 0, max_steps=200).policy
    assert isinstance(policy, LearntPolicy)
    if numbered:
        space = {"kind": "discrete", "n": made.actions, "start": 0}
        policy.encoding = Encoding(None, space, max_states=made.states, keys=[f"cell {k}" for k in range(made.states)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        policy.save(path)
        return path.read_bytes()


def attack_policy(rng: random.Random, path: Path) -> str:
    """Change a saved policy, act with it on everything that it numbers, and save it again."""
    path.write_bytes(saved_policy(rng.choice(["psrl", "q-learning", "uniform"]), rng.random() < 0.5))
    tree = archive.read(path, policies.FORMAT, policies.VERSION)
    for _ in range(rng.choice([1, 1, 2])):
        mutate(rng, tree)
    archive.write(path, policies.FORMAT, policies.VERSION, tree)
    try:
        policy = load_policy(path)
    except FileError:
        return "refused"
    assert isinstance(policy, LearntPolicy)
    known = range(len(policy.visited)) if policy.encoding is None else [*policy.encoding.keys, "nothing"]
    for observation in known:
        policy.act(observation)
    policy.save(path)
    return "used"


def attack(rng: random.Random, folder: Path) -> str:
    """Change a saved agent and go on with it, or a saved policy and act with it."""
    if rng.random() < 0.25:
        return attack_policy(rng, folder / "policy.npz")
    name = rng.choice(agents.known())
    continuous = agents.find(name).continuous
    world = "navigation-v0" if continuous else rng.choice(["grid-world-v0", "random-mdp-v1"])
    path = folder / "agent.npz"
    path.write_bytes(saved(name, world, rng.choice(PRIORS)))
    tree = archive.read(path, storage.FORMAT, storage.VERSION)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutate(rng, tree)
    archive.write(path, storage.FORMAT, storage.VERSION, tree)
    try:
        agent = agents.load(path)
        run = learn(agent, build(world, {}), EPISODES, 1, max_steps=50 if continuous else 500, resume=True)
        agents.save(run.agent, path)
    except GoalwardError:
        return "refused"
    assert run.total_steps > 0
    return "used"
