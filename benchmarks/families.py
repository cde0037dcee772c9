"""All models of the planner benchmark, by family. Each model is made once and stored in benchmarks/.models.

    python benchmarks/families.py           lists the models
    python benchmarks/families.py NAME...   makes the named models

Numbers in a name are the number of states or arguments of the function in `models`, `maps`, `graphs` or `protocols`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import graphs
import maps
import models
from protocols import PROGRAMS

__all__ = ["FAMILIES", "MAKERS", "PEERS_PYTHON", "family_of", "kept"]

HERE = Path(__file__).resolve().parent
KEPT = HERE / ".models"
PEERS_PYTHON = HERE.parent / ".venv-peers" / "bin" / "python"
Maker = Callable[[], models.Model]

FAMILIES: dict[str, dict[str, Maker]] = {
    "grid": {
        "g100": lambda: models.grid(100),
        "g300": lambda: models.grid(300),
        "g300s": lambda: models.shuffled(models.grid(300), seed=0),
        "g1000": lambda: models.grid(1000),
    },
    "random": {
        "r1e4": lambda: models.random_sparse(10**4, 0.02, seed=1),
        "r1e5": lambda: models.random_sparse(10**5, 0.02, seed=2),
        "r1e5h": lambda: models.random_sparse(10**5, 0.002, seed=3),
    },
    "random, ill-conditioned": {
        "ill1e4": lambda: models.random_sparse(10**4, 1e-7, seed=4),
        "ill1e5": lambda: models.random_sparse(10**5, 1e-7, seed=5),
    },
    "rescue grid": {
        "rescue1e4-4": lambda: maps.rescue_grid(100, 1e-4),
        "rescue1e4-6": lambda: maps.rescue_grid(100, 1e-6),
        "rescue1e4-12": lambda: maps.rescue_grid(100, 1e-12),
        "rescue1e5-6": lambda: maps.rescue_grid(316, 1e-6),
    },
    "drunk grid": {
        "drunk1e4": lambda: maps.drunk_grid(100),
        "drunk1e5": lambda: maps.drunk_grid(316),
    },
    "3-d grid": {"box1e4": lambda: maps.box(22), "box1e5": lambda: maps.box(46)},
    "rooms": {"rooms1e4": lambda: maps.rooms(100, 10, seed=6), "rooms1e5": lambda: maps.rooms(316, 10, seed=7)},
    "maze": {"maze1e4": lambda: maps.maze(100, seed=8), "maze1e5": lambda: maps.maze(316, seed=9)},
    "cost range 1e-4..1": {
        "range1e4": lambda: graphs.wide_costs(models.grid(100), seed=10),
        "range1e5": lambda: graphs.wide_costs(models.grid(316), seed=11),
    },
    "tireworld": {
        "tire4e3": lambda: maps.tireworld(32, seed=27),
        "tire4e4": lambda: maps.tireworld(100, seed=12),
        "tire1e6": lambda: maps.tireworld(500, seed=13),
    },
    "racetrack": {
        "race1e4": lambda: maps.racetrack(24, 16, 2),
        "race7e4": lambda: maps.racetrack(60, 40, 5),
        "race9e5": lambda: maps.racetrack(420, 300, 8),
    },
    "components": {
        "parts1e4": lambda: graphs.components(40, 250, seed=26),
        "parts1e5": lambda: graphs.components(200, 500, seed=14),
    },
    "power-law graph": {
        "power1e4": lambda: graphs.power_law(10**4, seed=15),
        "power1e5": lambda: graphs.power_law(10**5, seed=16),
    },
    "clusters": {
        "clusters2e3": lambda: graphs.clusters(20, 100, 1e-4, seed=1),
        "clusters2e4": lambda: graphs.clusters(20, 1000, 1e-4, seed=17),
    },
    "chain": {"chain1e3": lambda: graphs.chain(10**3, seed=18), "chain1e4": lambda: graphs.chain(10**4, seed=19)},
    "queue": {"queue1e4": lambda: graphs.queue(10**4), "queue1e5": lambda: graphs.queue(10**5)},
    "layers with loops": {
        "layers1e4": lambda: graphs.layers(50, 200, seed=28),
        "layers1e5": lambda: graphs.layers(200, 500, seed=20),
        "layers1e6": lambda: graphs.layers(1000, 1000, seed=21),
    },
    "half of all actions free": {
        "free1e4": lambda: graphs.half_free(10**4, seed=22),
        "free1e5": lambda: graphs.half_free(10**5, seed=23),
    },
    "posterior sample": {
        "sample3e2": lambda: graphs.posterior_sample(17, 100, seed=24),
        "sample9e2": lambda: graphs.posterior_sample(30, 100, seed=25),
    },
    **{
        family: {name: lambda name=name: built(name) for name in PROGRAMS if name.startswith(family)}
        for family in ("consensus", "csma", "wlan", "zeroconf", "firewire", "election", "stabilise", "lifts")
    },
}
MAKERS = {name: make for makers in FAMILIES.values() for name, make in makers.items()}


def family_of(model: str) -> str:
    return next(family for family, makers in FAMILIES.items() if model in makers)


def built(program: str) -> models.Model:
    """Return the explicit model of a protocol, built by Storm in the environment .venv-peers."""
    path = KEPT / f"{program}-explored.npz"
    subprocess.run([str(PEERS_PYTHON), str(HERE / "explicit.py"), program, str(path)], check=True)
    try:
        return models.load(path)
    finally:
        path.unlink()


def kept(name: str) -> Path:
    """Return the path of a model's file, and make the file if it is missing; delete the folder to remake all files."""
    path = KEPT / f"{name}.npz"
    if not path.exists():
        KEPT.mkdir(exist_ok=True)
        partial = path.with_suffix(".partial.npz")
        models.save(MAKERS[name](), partial)
        partial.rename(path)
    return path


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(kept(given))
    if not sys.argv[1:]:
        for title, makers in FAMILIES.items():
            print(f"{title:26} {' '.join(makers)}")
