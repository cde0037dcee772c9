"""Seeds: integers in, the same streams everywhere out."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from goalward import seeds
from goalward.errors import SettingError


def test_streams_are_apart() -> None:
    found = [stream for seed in range(200) for stream in seeds.streams(seed)]
    assert len(set(found)) == 600
    assert all(0 <= stream < 2**63 for stream in found)


def test_streams_stay_as_they_are() -> None:
    """A moved bit here moves every result."""
    assert seeds.streams(0) == (4334430513956379144, 2440950710608614359, 8226343694796210948)


def test_run_seeds() -> None:
    found = {seeds.run_seed(root, world, i) for root in (0, 1) for world in ("a", "b") for i in range(50)}
    assert len(found) == 200
    assert seeds.run_seed(0, "ab", 1) != seeds.run_seed(0, "a", "b1")
    assert seeds.run_seed(3, "grid-world-v0", "psrl", 7) == seeds.run_seed(3, "grid-world-v0", "psrl", 7)


def test_generator_is_what_gymnasium_makes_of_the_same_seed() -> None:
    gymnasium = importlib.import_module("gymnasium")
    stream = seeds.streams(5).environment
    theirs, _ = gymnasium.utils.seeding.np_random(stream)
    np.testing.assert_array_equal(seeds.generator(stream).random(50), theirs.random(50))


@pytest.mark.parametrize("seed", [-1, 1.0, "1", None, True, np.float64(2)])
def test_no_seeds(seed: object) -> None:
    with pytest.raises(SettingError, match=r"seed is .*; it must be an integer of at least 0"):
        seeds.checked_seed(seed)


def test_integers_of_any_kind() -> None:
    assert seeds.checked_seed(np.uint8(7)) == 7
    assert seeds.checked_seed(2**80) == 2**80
