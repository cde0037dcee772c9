"""EB-SSP: its constants by hand, its triggers, costs that are learnt and a bound that is doubled."""

from __future__ import annotations

import numpy as np
import pytest
from pseudo_code import eb_ssp

from goalward import Environment, ModelWorld, learn, solve, worlds
from goalward.acting.stop_conditions import Ended
from goalward.agents import EBSSP, Task
from goalward.agents.optimistic.eb_ssp import bonus, cost_floor, iota, least_bound, next_power
from sample_environments import ModelEnvironment

GRID = worlds.grid_world()


def test_bonus() -> None:
    """S = 3, A = 2, n = 10, delta = 0.1, B = 2: iota = ln(288000); each part of the bonus with and without costs."""
    visits = np.full((3, 2), 10)
    assert iota(visits, 0.1) == pytest.approx(12.5707158)
    spread, floor, extra, *_ = bonus(visits, 0.1, 2.0, None, 1.0)
    assert spread == pytest.approx(45.2545767)
    assert floor == pytest.approx(90.5091535)
    assert extra == pytest.approx(4.0112986)
    with_costs = bonus(visits, 0.1, 2.0, np.full((3, 2), 0.5), 1.0)
    assert with_costs.extra - extra == pytest.approx(2.2423841)


def test_when_grid_world_is_first_seen() -> None:
    """With B = 6 the bonus of a pair falls below its cost of 1 between 4,096 and 8,192 visits."""
    for visits, floor in ((4096, 1.4603267), (8192, 0.7667160)):
        assert bonus(np.full((11, 4), visits), 0.1, 6.0, None, 1.0).floor == pytest.approx(floor)


def test_other_constants() -> None:
    task = Task(np.zeros((4, 2)), 0, 1000)
    assert cost_floor(task) == pytest.approx(1e-6)
    assert least_bound(512, task) == pytest.approx(2.0)
    assert next_power(np.array([0, 1, 2, 8])).tolist() == [1, 2, 4, 16]


def test_plans_end_at_powers_of_two() -> None:
    agent = EBSSP.from_world(GRID, episodes=200, scale=0.01)
    run = learn(agent, GRID, 200, seed=3, keep_steps=True)
    assert run.trajectory is not None
    visits = np.zeros(GRID.costs.shape, dtype=int)
    starts = [0]
    for t, pair in enumerate(zip(run.trajectory.states, run.trajectory.actions, strict=True)):
        visits[pair] += 1
        if visits[pair].bit_count() == 1:
            starts.append(t + 1)
    starts = [start for start in starts if start < run.total_steps]
    assert run.epochs.start_step.tolist() == starts
    assert run.epochs.ended_by(Ended.AFTER_VISITS)[:-1].all()


@pytest.mark.parametrize("scale", [1.0, 0.002])
def test_learnt_costs(scale: float) -> None:
    """With hidden costs, step by step as in the pseudo-code."""
    world = worlds.random_mdp(states=4, seed=3, rows="uniform")
    order = [1, 0]
    agent = EBSSP.from_world(world, episodes=40, scale=scale, ties="first", action_order=order)
    hidden = ModelWorld(world, costs="hidden", cost_range=(0.0, 1.0))
    run = learn(agent, hidden, 40, seed=5, keep_steps=True)
    assert run.trajectory is not None
    pairs = eb_ssp(world, 40, 5, 0.1, scale, order, agent.B_star, False)
    assert list(zip(run.trajectory.states.tolist(), run.trajectory.actions.tolist(), strict=True)) == pairs


def test_costs_of_an_environment_are_averaged_over_the_latest_half() -> None:
    class Noisy(ModelEnvironment):
        paid: list[float]
        action_space = 4

        def step(self, action: int):
            reached, _, terminated, truncated, info = super().step(action)
            self.paid.append(0.25 * (1 + len(self.paid) % 3))
            return reached, -self.paid[-1], terminated, truncated, info

    world = worlds.grid_world(1, 2)
    environment = Noisy(world)
    environment.paid = []
    unknown = Environment(environment, cost="reward", max_states=1, cost_range=(0.0, 1.0))
    run = learn(EBSSP.from_world(world, episodes=50), unknown, 50, seed=1, keep_steps=True)
    agent = run.agent
    assert isinstance(agent, EBSSP)
    assert run.trajectory is not None
    for action in range(4):
        costs = run.trajectory.costs[run.trajectory.actions == action]
        n = int(agent.refreshed.visits[0, action])
        assert agent.c_hat[0, action] == pytest.approx(costs[n // 2 : n].mean())


def test_the_bound_is_doubled() -> None:
    """Without B*, B starts at 1 and doubles until it is no longer exceeded; it never passes twice the true one."""
    agent = EBSSP(B_star="doubling", scale=0.001)
    run = learn(agent, GRID, 2000, seed=1)
    learner = run.agent
    assert isinstance(learner, EBSSP)
    assert run.notes["B"] == 8.0
    assert learner.V.max() <= 8.0
    assert solve(GRID).values.max() == pytest.approx(6.04, abs=0.01)
    assert run.gap_regret[-1] < 2000


def test_an_episode_count_alone_raises_the_bound() -> None:
    world = worlds.grid_world(1, 2)
    run = learn(EBSSP(B_star="doubling"), world, 300, seed=1)
    assert run.notes["B"] >= 0.4 * np.sqrt(300 / 4)
