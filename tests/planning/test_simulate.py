"""Simulated episodes: the luck of a run, means that agree with the exact cost, and policies that do not end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goalward as gw
from goalward.agents import make
from goalward.errors import GoalwardError, PolicyError
from goalward.seeds import generator, streams
from strategies import models

WORLD = gw.worlds.grid_world()


def test_the_optimal_policy_has_the_luck_of_a_run() -> None:
    """The same seed gives the same episodes as the agent that plays the optimal policy, in a world without ties."""
    world = gw.worlds.random_mdp(states=8, seed=5, rows="uniform")
    run = gw.learn(make("optimal", model=world), world, 500, seed=7)
    simulation = gw.simulate(world, gw.solve(world), 500, seed=7)
    assert np.array_equal(run.costs, simulation.costs)
    assert np.array_equal(run.steps, simulation.steps)
    assert simulation.reached.all()


@settings(max_examples=50)
@given(ssp=models(dead_ends=False, tiny=False, costs=("ties", "real")), seed=st.integers(0, 2**32), mixed=st.booleans())
def test_against_a_plain_loop(ssp: gw.SSP, seed: int, mixed: bool) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(ssp.actions), ssp.states) * ssp.available
    weights[:, 0] += 1e-3
    weights /= weights.sum(axis=1, keepdims=True)
    policy = weights if mixed else np.array([rng.choice(np.flatnonzero(row)) for row in ssp.available])
    found = gw.simulate(ssp, policy, 5, seed, max_steps=30)
    luck, choices = generator(streams(seed).environment), generator(streams(seed).acting)
    for episode in range(5):
        state, cost, steps = ssp.initial_state, 0.0, 0
        while state != ssp.goal and steps < 30:
            if mixed and (weights > 0).sum(axis=1).max() > 1:
                cumulated = np.cumsum(weights[state])
                action = min(
                    int(np.searchsorted(cumulated, choices.random() * cumulated[-1], side="right")), ssp.actions - 1
                )
            else:
                action = int(weights[state].argmax()) if mixed else int(policy[state])
            successors, probabilities = ssp.row(state, action)
            cumulated = np.cumsum(probabilities)
            place = int(np.searchsorted(cumulated, luck.random() * cumulated[-1], side="right"))
            cost += ssp.costs[state, action]
            state = int(successors[min(place, len(successors) - 1)])
            steps += 1
        assert (found.costs[episode], found.steps[episode], found.reached[episode]) == (cost, steps, state == ssp.goal)


def test_the_mean_is_the_cost_of_the_policy() -> None:
    uniform = WORLD.available / WORLD.available.sum(axis=1, keepdims=True)
    for policy in (uniform, gw.solve(WORLD).policy):
        simulation = gw.simulate(WORLD, policy, 40_000, seed=1)
        exact = gw.evaluate(WORLD, policy)
        assert abs(simulation.mean_cost - exact.costs[0]) < 4 * simulation.standard_error
        assert simulation.steps.mean() == pytest.approx(exact.steps[0], rel=0.05)


def test_many_blocks_of_luck_are_one_stream() -> None:
    """More steps than a block has numbers; the first episodes are those of a shorter simulation."""
    policy = gw.solve(WORLD).policy
    long, short = gw.simulate(WORLD, policy, 30_000, seed=2), gw.simulate(WORLD, policy, 100, seed=2)
    assert long.steps.sum() > 2 * 65_536
    assert np.array_equal(long.costs[:100], short.costs)


def test_episodes_that_do_not_end_are_cut_off() -> None:
    ssp = gw.SSP.from_dense([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]]], [[2.0], [1.0]], state_names=["a", "pit"])
    with pytest.raises(PolicyError, match="not reach the goal almost surely from the start, state a; pass max_steps"):
        gw.simulate(ssp, np.array([0, 0]), 10)
    found = gw.simulate(ssp, np.array([0, 0]), 1000, max_steps=5)
    assert set(zip(found.costs.tolist(), found.steps.tolist(), found.reached.tolist(), strict=True)) == {
        (2.0, 1, True),
        (6.0, 5, False),
    }
    assert 400 < np.count_nonzero(found.reached) < 600
    assert re.fullmatch(r"Simulation\(episodes=1000, mean_cost=\S+ ± \S+, mean_steps=\S+, cut_off=\d+\)", repr(found))
    stuck = gw.simulate(ssp, np.array([0, -1]), 1000, max_steps=5)
    assert (set(stuck.steps.tolist()), set(stuck.costs.tolist())) == ({1}, {2.0})
    assert 400 < np.count_nonzero(stuck.reached) < 600


def test_a_mixture_that_can_be_trapped_is_noticed() -> None:
    """One action of the mixture reaches the goal almost surely, the other never: together they need not."""
    ssp = gw.SSP.from_dense(
        [[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]], [[1.0, 1.0], [1.0, 1.0]]
    )
    with pytest.raises(PolicyError, match="does not reach the goal almost surely"):
        gw.simulate(ssp, np.full((2, 2), 0.5), 1)


@pytest.mark.parametrize(
    ("policy", "episodes", "options", "message"),
    [
        (np.zeros(3, dtype=int), 1, {}, r"the policy has shape \(3,\)"),
        (np.full(WORLD.states, 9), 1, {}, "plays action 9"),
        (gw.solve(WORLD), 0, {}, "episodes is 0; it must be an integer of at least 1"),
        (gw.solve(WORLD), 1, {"max_steps": 0}, "max_steps is 0"),
        (gw.solve(WORLD), 1, {"seed": -3}, "seed is -3"),
    ],
)
def test_what_does_not_fit(policy: object, episodes: int, options: dict[str, int], message: str) -> None:
    with pytest.raises(GoalwardError, match=message):
        gw.simulate(WORLD, policy, episodes, **options)  # type: ignore[arg-type]
