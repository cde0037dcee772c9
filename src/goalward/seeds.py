"""Random seeds: one integer determines all random draws of a run.

The seed of a run is computed from the seed of the experiment and the key that identifies the run. Adding a run to an
experiment therefore changes no other run. The seed of a run determines three streams of random numbers::

    environment   one uniform number for every step, which decides the successor. Two agents with the same seed get the
                  same random numbers, step for step.
    planning      the random draws of an agent's planning, such as a model from its posterior.
    acting        one uniform number for every random choice of an action.

Streams are passed as integers, and `generator` makes a generator from a stream. ``gymnasium.Env.reset(seed=stream)``
creates the same generator, so an environment of a model draws the same numbers as the model.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import numpy as np

from goalward.settings import Count, check


class Streams(NamedTuple):
    """The three streams of a run; each stream is an integer of 63 bits."""

    environment: int
    planning: int
    acting: int


def checked_seed(seed: object) -> int:
    """Return `seed` as an int; raise SettingError unless `seed` is an integer of at least 0."""
    return int(check("seed", seed, Count))


def streams(seed: int) -> Streams:
    """Return the three streams of the run with the given `seed`.

    >>> streams(0).environment != streams(1).environment
    True
    """
    root = checked_seed(seed)
    return Streams(*(integer(np.random.SeedSequence(root, spawn_key=(stream,))) for stream in range(3)))


def run_seed(seed: int, *key: str | int) -> int:
    """Return the seed of a run, computed from the `seed` of the experiment and the key of the run.

    >>> run_seed(7, "grid-world-v0", 3) == run_seed(7, "grid-world-v0", 3) != run_seed(7, "grid-world-v0", 4)
    True
    """
    words = np.frombuffer(hashlib.sha256(json.dumps(key).encode()).digest(), dtype="<u4")
    return integer(np.random.SeedSequence(checked_seed(seed), spawn_key=tuple(int(word) for word in words)))


def generator(stream: int) -> np.random.Generator:
    """Return a new random number generator for a `stream`."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(stream)))


def integer(sequence: np.random.SeedSequence) -> int:
    """Return an integer of 63 bits from a seed `sequence`; every library accepts such a seed."""
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
