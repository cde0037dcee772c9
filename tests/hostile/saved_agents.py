"""Saved agents whose fields were changed by somebody who also made the checksum right.

Every agent of the registry is saved after some learning. One to three leaves of its tree are changed: arrays in their
values, shape or type, numbers in their value or type, and leaves are removed, added or exchanged. The file is refused
with one error of goalward's, or the agent in it can go on learning: it acts, saves itself and plays only what exists.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import numpy as np

from goalward import agents, archive, learn, worlds
from goalward.agents import storage
from goalward.errors import GoalwardError

NUMBERS = (0, 1, -1, 7, 2**31, 2**62, -(2**63), 1e308, -1e308, float("nan"), float("inf"), 0.5, True, None, "x", [1])
EPISODES = 12


@functools.cache
def saved(name: str, world: str) -> bytes:
    """Return the file of an agent that has learnt a little."""
    import tempfile

    ssp = worlds.make(world)
    run = learn(agents.find(name).from_world(ssp, episodes=EPISODES), ssp, EPISODES, 0, max_steps=2_000)
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


def attack(rng: random.Random, folder: Path) -> str:
    """Change a saved agent and go on with it."""
    name = rng.choice([name for name in agents.known() if not agents.find(name).continuous])
    world = rng.choice(["grid-world-v0", "random-mdp-v0"])
    path = folder / "agent.npz"
    path.write_bytes(saved(name, world))
    tree = archive.read(path, storage.FORMAT, storage.VERSION)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutate(rng, tree)
    archive.write(path, storage.FORMAT, storage.VERSION, tree)
    ssp = worlds.make(world)
    try:
        agent = agents.load(path)
        run = learn(agent, ssp, EPISODES, 1, max_steps=500, resume=True)
        agents.save(run.agent, path)
    except GoalwardError:
        return "refused"
    assert run.total_steps > 0
    return "used"
