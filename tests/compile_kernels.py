"""Compiles every kernel into an empty folder, on two cores, and writes down how often each was compiled.

    GOALWARD_CACHE_DIR=FOLDER python tests/compile_kernels.py RECORD

`make tests` does this before the tests, which then find the kernels compiled; tests/test_jit.py checks the record.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import goalward as gw
from goalward import jit
from goalward.learning.warm_up import toy
from goalward.planning.bellman import Chain, hurry, optimal_sweep
from goalward.planning.certificate import by_covering, by_elimination
from goalward.planning.reduction import Reduction
from goalward.planning.rounds import direct_step, direct_work


def overloads() -> Counter[str]:
    """Return how many specialisations of each kernel the folder holds."""
    folder = jit.cache_directory()
    assert folder is not None
    return Counter(path.name.rsplit(".", 2)[0] for path in folder.rglob("*.nbc"))


def work() -> None:
    """Plan in models of different size and form, which must need no other specialisation."""
    small, large = gw.worlds.grid_world(), gw.worlds.grid_world(rows=20, columns=20)
    free = gw.SSP.from_rows([0, 2, 3, 4, 4], [0, 2, 1, 0], [0.5, 0.5, 1.0, 1.0], [[1.0, 0.0], [0.0, 0.0]])
    for ssp in (small, large, free):
        solution = gw.solve(ssp)
        gw.solve(ssp, 1e-3, start=solution)
        gw.evaluate(ssp, solution.policy)
        gw.evaluate(ssp, ssp.available / ssp.available.sum(axis=1, keepdims=True))
        gw.hardness(ssp)
        gw.structure(ssp)


def compile_rare_kernels() -> None:
    """Call the kernels that only hard models or large files reach, so that none is left out."""
    reduction = Reduction.of(toy(), 0)
    extended = reduction.extended()
    extended[: reduction.states] = 1.0
    policy = np.zeros(reduction.states, dtype=np.int64)
    chain = Chain.empty(reduction.states, len(reduction.problem.target))
    hurry(reduction.problem, 0, reduction.states, policy)
    optimal_sweep(reduction.problem, 0, reduction.states, extended, policy, chain)
    direct_work(chain, 0, reduction.states)
    direct_step(chain, 0, reduction.states, extended)
    by_covering(reduction, extended, policy, 0.5)
    by_elimination(reduction, extended, policy, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy.drn")
        toy().save(path)
        gw.SSP.load(path)


def main(record: Path) -> None:
    assert not overloads(), "the folder holds kernels already"
    # The other process starts with the last agent. Each loads what the other one has compiled.
    other = subprocess.Popen([sys.executable, "-W", "error", __file__])
    gw.warm_up()
    if other.wait():
        sys.exit("the kernels of agents could not be compiled")
    compile_rare_kernels()
    compiled = overloads()
    work()
    record.write_text(json.dumps({"warmed_up": compiled, "worked": overloads()}))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        gw.warm_up(reversed(gw.agents.known()))
