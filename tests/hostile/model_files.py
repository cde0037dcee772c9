"""Damaged and forged model files of every format: refused with one line, or read as a model that can be solved."""

from __future__ import annotations

import functools
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from mutations import call, mutate_bytes, mutate_text

from goalward import SSP, solve, worlds
from goalward.errors import GoalwardError, PrecisionError

MAPS = ("S..\n.#.\n..G\n", "S.G\n", "####\n#SG#\n####\n", "S" + "." * 40 + "G\n")


@functools.cache
def saved(world: str, ending: str) -> bytes:
    """Return a model as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{ending}"
        worlds.make(world).save(path)
        return path.read_bytes()


def forge(rng: random.Random, data: bytes) -> bytes:
    """Change one number or list of a model in JSON."""
    document: dict[str, Any] = json.loads(data)
    name = rng.choice(sorted(document))
    value = document[name]
    wrong = rng.choice([-1, 10**9, 2**63, 10**30, 1e308, -0.5, None, "x", [], {}, True, [[]], "9" * 5000])
    if isinstance(value, list) and value and rng.random() < 0.8:
        value[rng.randrange(len(value))] = wrong
    else:
        document[name] = wrong
    return json.dumps(document).encode()


def attack(rng: random.Random, folder: Path) -> str:
    """Change a model file and show and solve what it holds."""
    kind = rng.randrange(6)
    if kind == 0:
        path = folder / "map.txt"
        path.write_text(mutate_text(rng, rng.choice(MAPS)), encoding="utf-8", errors="replace")
    elif kind == 1:
        path = folder / "model.npz"
        path.write_bytes(mutate_bytes(rng, saved(rng.choice(["grid-world", "random-mdp"]), ".npz")))
    elif kind > 3:
        # Names of states are written by all of them, so goal and start need not be given.
        ending = rng.choice([".csv", ".parquet", ".umb", ".drn"])
        path, data = folder / f"model{ending}", saved(rng.choice(["grid-world", "random-mdp"]), ending)
        textual = ending in (".csv", ".drn") and rng.random() < 0.5
        path.write_bytes(mutate_text(rng, data.decode()).encode() if textual else mutate_bytes(rng, data))
    else:
        path = folder / "model.json"
        data = saved(rng.choice(["grid-world", "random-mdp"]), ".json")
        path.write_bytes(forge(rng, data) if kind == 2 else mutate_bytes(rng, data))
    code, _, err = call("solve", str(path))
    assert code in (0, 2), (code, err)
    assert len(err.strip().splitlines()) <= 1, err
    try:
        ssp = worlds.load(str(path))
    except GoalwardError:
        assert code == 2
        return "refused"
    check(ssp)
    return "used"


def check(ssp: SSP) -> None:
    """See that a model is one, and that it can be solved."""
    rows = np.diff(ssp.indptr)
    assert (rows >= 0).all()
    assert ssp.indptr[-1] == len(ssp.successors) == len(ssp.probabilities)
    assert ((ssp.successors >= 0) & (ssp.successors <= ssp.states)).all()
    assert (ssp.probabilities > 0).all()
    sums = np.add.reduceat(ssp.probabilities, ssp.indptr[:-1][rows > 0])
    np.testing.assert_allclose(sums, 1.0, rtol=1e-6)
    try:
        solution = solve(ssp)
    except PrecisionError as error:
        solution = error.solution
    except GoalwardError:
        return
    assert (solution.lower <= solution.upper).all()
