"""From one integer to every random draw of a run.

An experiment has a seed. A run's own seed comes out of it and of the run's key, the content that names the run, so a
run added to an experiment changes no other. A run's seed gives three streams::

    environment   one uniform number for every step: which successor is drawn. Two agents of the same seed face the
                  same random numbers, step for step.
    planning      what an agent draws when it plans, such as a model from its posterior.
    acting        one uniform number for every action that a policy leaves to chance.

Streams are handed on as integers and become generators where they are used: `generator(stream)` is what
``gymnasium.Env.reset(seed=stream)`` makes of the same integer, so a world drawn through an environment is the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import numpy as np

from goalward.settings import Count, check


class Streams(NamedTuple):
    """The three streams of a run, each an integer of 63 bits."""

    environment: int
    planning: int
    acting: int


def checked_seed(seed: object) -> int:
    """Return a seed; raises SettingError."""
    return int(check("seed", seed, Count))


def streams(seed: int) -> Streams:
    """Return the streams of a run.

    >>> streams(0).environment != streams(1).environment
    True
    """
    root = checked_seed(seed)
    return Streams(*(integer(np.random.SeedSequence(root, spawn_key=(stream,))) for stream in range(3)))


def run_seed(seed: int, *key: str | int) -> int:
    """Return the seed of the run with the given key in the experiment with the given seed.

    >>> run_seed(7, "grid-world-v0", 3) == run_seed(7, "grid-world-v0", 3) != run_seed(7, "grid-world-v0", 4)
    True
    """
    words = np.frombuffer(hashlib.sha256(json.dumps(key).encode()).digest(), dtype="<u4")
    return integer(np.random.SeedSequence(checked_seed(seed), spawn_key=tuple(int(word) for word in words)))


def generator(stream: int) -> np.random.Generator:
    """Return the generator of a stream."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(stream)))


def integer(sequence: np.random.SeedSequence) -> int:
    """Return 63 bits of a seed sequence: what every library that takes a seed can hold."""
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
