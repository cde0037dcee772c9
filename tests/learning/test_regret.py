"""Both regrets: their definitions, and that they agree."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given

import goalward as gw
from goalward import SSP, agents, learn, worlds
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.learning import regret
from goalward.learning.regret import optimum
from sample_environments import chain
from strategies import models


@given(models(costs=("unit", "ties", "real", "free"), tiny=False))
def test_gaps(ssp: SSP) -> None:
    """Against dense arithmetic on the planner's values."""
    try:
        best = optimum(ssp)
    except UnreachableGoalError:
        return
    solution = gw.solve(ssp, tolerance=1e-10)
    kernel = ssp.to_dense()
    for state in range(ssp.states):
        for action in range(ssp.actions):
            if not np.isfinite(solution.values[state]) or not ssp.available[state, action]:
                assert best.gaps[state, action] == np.inf
                continue
            row = kernel[state, action]
            reached = row > 0.0
            values = np.append(solution.values, 0.0)
            Q = ssp.costs[state, action] + row[reached] @ values[reached] / row.sum()
            if np.isfinite(Q):
                gap = max(Q - solution.values[state], 0.0)
                assert best.gaps[state, action] == pytest.approx(gap, rel=1e-9, abs=1e-9 * values[state] + 1e-15)
            else:
                assert best.gaps[state, action] == np.inf


def test_definitions() -> None:
    """On a chain: V* = 3, and staying once costs 0.5 and nothing else."""
    world = chain(3)
    run = learn(agents.make("uniform"), world, 50, seed=1, keep_steps=True)
    assert run.optimal_value == pytest.approx(3.0, rel=1e-12)
    stays = run.steps - 3
    np.testing.assert_allclose(run.costs, 3.0 + 0.5 * stays)
    np.testing.assert_allclose(run.regret, 0.5 * np.cumsum(stays), atol=1e-9)
    np.testing.assert_allclose(run.gap_regret, 0.5 * np.cumsum(stays), atol=1e-9)


@pytest.mark.parametrize(("name", "episodes", "runs"), [("psrl", 200, 60), ("uniform", 20, 150), ("tsde", 100, 60)])
def test_both_regrets_have_the_same_mean(name: str, episodes: int, runs: int) -> None:
    """The mean of the difference within 4.5 standard errors of zero, which a true zero leaves with probability 7e-6."""
    world = worlds.grid_world()
    pairs = np.array(
        [
            (run.regret[-1], run.gap_regret[-1])
            for run in (learn(agents.make(name), world, episodes, seed) for seed in range(runs))
        ]
    )
    difference = pairs[:, 0] - pairs[:, 1]
    assert abs(difference.mean()) < 4.5 * difference.std(ddof=1) / np.sqrt(runs)
    if name == "uniform":
        return
    assert pairs[:, 1].std() < pairs[:, 0].std()


@pytest.mark.parametrize("name", ["grid-world-v0", "random-mdp-v1", "four-rooms-v0", "traps-v0"])
def test_the_optimal_policy_has_no_gap_regret(name: str) -> None:
    """Exactly none, also where actions tie: rounding errors would add up to a curve that looks like regret."""
    world = worlds.make(name)
    run = learn(agents.make("optimal", model=world), world, 200, seed=0)
    assert run.gap_regret[-1] == 0.0
    assert abs(run.regret[-1]) > 1.0


def test_small_gaps_that_are_proved_count() -> None:
    """Two actions whose costs differ by 1e-9 of the value."""
    world = SSP.from_dense([[[0.5, 0.5], [0.5, 0.5]]], [[1.0, 1.0 + 1e-9]])
    assert optimum(world).gaps[0] == pytest.approx([0.0, 1e-9], rel=1e-5)


def test_gap_regret_varies_far_less() -> None:
    """Ten thousand episodes of the grid: the luck of the transitions is most of the realised regret's variance."""
    runs = [learn(agents.PSRL(), worlds.grid_world(), 10_000, seed) for seed in range(10)]
    assert np.var([run.gap_regret[-1] for run in runs]) < 0.5 * np.var([run.regret[-1] for run in runs])


def test_rows_off_by_rounding_are_read_as_proportional() -> None:
    """A row that sums to 1 + 9e-10 has the same gaps as the row divided by its sum."""
    off = SSP.from_dense([[[0.5, 0.5 + 9e-10], [0.25, 0.75]]], [[1.0, 1.0]])
    exact = SSP.from_dense([[[0.5, 0.5 + 9e-10], [0.25, 0.75]]], [[1.0, 1.0]], normalize=True)
    np.testing.assert_allclose(optimum(off).gaps, optimum(exact).gaps, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("width", [1e-8, 1e-3])
def test_values_that_are_not_proved(width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a relative 1e-6 they will do; beyond that, regret would be measured against anything."""
    solution = dataclasses.replace(gw.solve(worlds.grid_world()), width=width)

    def give_up(*_: object, **__: object) -> None:
        raise PrecisionError("no", solution)

    monkeypatch.setattr(regret, "solve", give_up)
    if width < 1e-6:
        assert regret.optimum(worlds.grid_world()).value == solution.values[0]
    else:
        with pytest.raises(PrecisionError, match=r"known only to a relative 1.0e-03, but regret needs 1e-06"):
            regret.optimum(worlds.grid_world())


def test_a_world_is_solved_once_in_a_process() -> None:
    """However often it is built; another one is solved again."""
    regret.known_optimum.cache_clear()
    for columns in (3, 4, 3, 4):
        best = regret.known_optimum(worlds.grid_world(3, columns))
        assert best.value == optimum(worlds.grid_world(3, columns)).value
    assert regret.known_optimum.cache_info()[:2] == (2, 2)  # hits and misses
