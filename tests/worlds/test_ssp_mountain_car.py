"""The compiled car against Gymnasium's own, step for step."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import goalward as gw
from goalward.agents import Task
from goalward.errors import SettingError
from goalward.worlds import SSPMountainCar


def theirs(**bins: tuple[int, int]) -> gw.Discretize:
    """Gymnasium's car without its time limit, seen in cells."""
    return gw.Discretize(gymnasium.make("MountainCar-v0").unwrapped, **(bins or {"bins": (18, 7)}))


def test_every_step_is_gymnasium_s() -> None:
    """Positions and velocities to the last bit, over random and over energetic driving."""
    car, env = SSPMountainCar(), theirs()
    rng = np.random.default_rng(0)
    assert car.reset(seed=5)[0] == env.reset(seed=5)[0]
    goals = 0
    for i in range(30_000):
        # Pushing the way it moves gets the car out of the valley.
        action = int(rng.integers(3)) if (i // 500) % 2 else 2 * int(env.unwrapped.state[1] >= 0.0)
        state, reward, reached, _, _ = car.step(action)
        seen, paid, terminated, _, _ = env.step(action)
        assert car.body.tolist() == [float(part) for part in env.unwrapped.state]
        assert (reward, reached) == (paid, terminated)
        assert reached or state == seen
        goals += reached
        if reached:
            assert state == car.states == 126
            assert car.reset()[0] == env.reset()[0]
    assert goals > 20


def test_the_left_end_stops_the_car() -> None:
    car = SSPMountainCar()
    car.reset(seed=0)
    car.body[:] = -1.19, -0.07
    car.step(0)
    assert car.body.tolist() == [-1.2, 0.0]


@pytest.mark.parametrize("agent", ["psrl", "tsde", "uniform", "vi-ssp"])
def test_a_compiled_run_is_that_through_gymnasium(agent: str) -> None:
    """Plans that are fixed, drawn and made step by step; the same seed gives the same luck."""
    made = gw.agents.make(agent)
    car = SSPMountainCar(6, 5)
    run = gw.learn(made, car, 3, seed=4, keep_steps=True, max_steps=6000)
    told = Task(np.ones((30, 3)), car.task(3).initial_state, 3)
    same = gw.learn(made, theirs(bins=(6, 5)), 3, seed=4, keep_steps=True, max_steps=6000, task=told)
    for ours, other in zip(run.trajectory, same.trajectory, strict=True):
        np.testing.assert_array_equal(ours, other)
    assert not run.has_model
    assert run.agent.task.states == 30


def test_what_it_takes() -> None:
    with pytest.raises(SettingError, match=r"positions is 0; it must be an integer in 1\.\.1000"):
        SSPMountainCar(positions=0)
    with pytest.raises(SettingError, match="the mountain car has its goal and its costs"):
        gw.learn(gw.agents.PSRL(), SSPMountainCar(), 1, give_up_cost=3.0)
    assert SSPMountainCar(1, 1).states == 1
