"""Goal tasks from functions and from Gymnasium environments, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from goalward import ContinuousTask
from goalward.errors import CostError, GoalwardError, SettingError, ShapeError, StateError


def line(**changes: Any) -> ContinuousTask:
    settings: dict[str, Any] = {
        "low": [0.0],
        "high": [1.0],
        "actions": 2,
        "step": lambda x, a, rng: x + (0.1 if a else -0.1),
        "goal": lambda x: x[:, 0] >= 0.95,
        "start": [0.5],
    }
    return ContinuousTask(**(settings | changes))


def test_a_play_ends_in_the_goal_and_starts_again() -> None:
    play = line().simulator(0)
    moves = [play.step(1) for _ in range(5)]
    assert [move.reached for move in moves] == [False, False, False, False, True]
    assert moves[-1].next_state == pytest.approx([1.0])
    assert play.state == pytest.approx([0.5])


def test_starts_in_the_goal_are_drawn_again() -> None:
    task = line(start=lambda rng: [rng.uniform(0.0, 1.0)])
    assert all(task.simulator(seed).state[0] < 0.95 for seed in range(100))
    with pytest.raises(StateError, match="1000 starts in a row lie in the goal set"):
        line(start=[0.99]).simulator(0)


def test_costs_are_known_for_all_actions() -> None:
    points = np.zeros((3, 1))
    assert line(cost=2.0).spec.cost(points).tolist() == [[2.0, 2.0]] * 3
    assert line(cost=[1.0, 3.0]).spec.cost(points).tolist() == [[1.0, 3.0]] * 3
    assert line(cost=lambda x: np.ones((len(x), 2))).spec.cost(points).shape == (3, 2)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"high": [np.inf]}, SettingError, "coordinate 0 goes from 0 to inf; .* the box must be bounded"),
        ({"low": [2.0]}, SettingError, "coordinate 0 goes from 2 to 1; low must be below high"),
        ({"low": [0.0, 0.0]}, ShapeError, r"low has shape \(2,\), high \(1,\)"),
        ({"low": [np.nan]}, SettingError, "coordinate 0 goes from nan to 1"),
        ({"actions": 0}, SettingError, "actions is 0; it must be an integer of at least 1"),
        ({"actions": []}, SettingError, "actions is empty"),
        ({"goal": 3}, SettingError, "goal is 3; it must be a function of points"),
        ({"goal": lambda x: True}, ShapeError, "it must return one truth value for each"),
        ({"cost": 0.0}, CostError, "action 0 costs 0.0 at .*; costs must be known, positive and finite"),
        ({"cost": [1.0, np.nan]}, CostError, "action 1 costs nan"),
        ({"cost": None}, CostError, "costs must be known"),
        ({"cost": [1.0, 2.0, 3.0]}, CostError, "one for each of the 2 actions"),
        ({"cost": lambda x: np.ones(len(x))}, CostError, r"cost returned shape \(3,\) for 3 points"),
        ({"periodic": [True, False]}, ShapeError, "the task has 1 coordinates"),
        ({"start": [np.nan]}, StateError, "it must be 1 finite numbers"),
        ({"start": [0.1, 0.2]}, StateError, "it must be 1 finite numbers"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[GoalwardError], message: str) -> None:
    with pytest.raises(error, match=message):
        line(**changes)


def test_a_state_that_is_not_a_number_is_refused_when_it_comes() -> None:
    play = line(step=lambda x, a, rng: [np.nan]).simulator(0)
    with pytest.raises(StateError, match=r"gave the state .*; it must be 1 finite numbers"):
        play.step(0)


@pytest.mark.parametrize(
    ("name", "dimensions", "actions"), [("MountainCar-v0", 2, 3), ("Acrobot-v1", 4, 3), ("Pendulum-v1", 2, 3)]
)
def test_known_environments_need_no_arguments(name: str, dimensions: int, actions: int) -> None:
    task = ContinuousTask.from_gymnasium(gymnasium.make(name, max_episode_steps=None))
    assert (task.spec.dimensions, task.spec.actions) == (dimensions, actions)
    play = task.simulator(3)
    for _ in range(20):
        assert not play.step(0).truncated
    assert not task.spec.goal(play.state[np.newaxis])[0]


def test_states_of_an_environment_are_those_of_its_simulator() -> None:
    """Observations are rounded to single precision, and angles come as cosines and sines."""
    environment = gymnasium.make("Acrobot-v1", max_episode_steps=None)
    play = ContinuousTask.from_gymnasium(environment).simulator(4)
    for action in (0, 2, 2, 0, 1, 2):
        moved = play.step(action)
        np.testing.assert_allclose(moved.next_state, environment.unwrapped.state, atol=1e-6)


def test_a_step_limit_cuts_episodes_off() -> None:
    play = ContinuousTask.from_gymnasium(gymnasium.make("MountainCar-v0", max_episode_steps=4)).simulator(0)
    moves = [play.step(1) for _ in range(4)]
    assert [move.truncated for move in moves] == [False, False, False, True]
    assert not moves[-1].reached
    assert play.state[1] == 0.0


class Line(gymnasium.Env[Any, Any]):
    """An environment that ends where it is told to."""

    def __init__(self, end: float = 0.95, high: float = 1.0, action_space: Any = None):
        self.observation_space = gymnasium.spaces.Box(0.0, high, (1,), np.float64)
        self.action_space = action_space or gymnasium.spaces.Discrete(2, start=1)
        self.end = end

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.x = 0.5
        return np.array([self.x]), {}

    def step(self, action: Any) -> Any:
        self.x += 0.1 if action == 2 else -0.1
        return np.array([self.x]), -1.0, self.x >= self.end, False, {}


def flag(points: Any) -> Any:
    return points[:, 0] >= 0.95


def test_an_environment_of_the_user() -> None:
    play = ContinuousTask.from_gymnasium(Line(), goal=flag, cost=1.0).simulator(0)
    assert [play.step(1).reached for _ in range(5)] == [False] * 4 + [True]


def test_an_episode_that_ends_outside_the_goal_is_refused() -> None:
    play = ContinuousTask.from_gymnasium(Line(end=0.55), goal=flag, cost=1.0).simulator(0)
    with pytest.raises(StateError, match=r"the environment ended an episode in .*, which is not in the goal set"):
        play.step(1)


@pytest.mark.parametrize(
    ("environment", "options", "error", "message"),
    [
        (Line(), {"cost": 1.0}, SettingError, "the goal set of Line is not known; pass goal"),
        (Line(), {"goal": flag}, CostError, "the costs of Line are not known; pass cost"),
        (Line(high=np.inf), {"goal": flag, "cost": 1.0}, SettingError, "coordinate 0 goes from 0 to inf"),
        (
            Line(action_space=gymnasium.spaces.Box(-1.0, 1.0, (1,))),
            {"goal": flag, "cost": 1.0},
            SettingError,
            r"the actions of Line are Box.*; pass actions",
        ),
        (
            Line(action_space=gymnasium.spaces.Box(-1.0, 1.0, (1,))),
            {"goal": flag, "cost": 1.0, "actions": [[0.0], [5.0]]},
            SettingError,
            r"action 1 is \[5.0\], which is outside Box",
        ),
        (
            Line(),
            {"goal": flag, "cost": 1.0, "actions": [0, 1]},
            SettingError,
            "action 0 is 0, which is outside Discrete",
        ),
        (object(), {}, SettingError, "has no reset; pass a Gymnasium environment"),
    ],
)
def test_environments_that_say_too_little(
    environment: Any, options: dict[str, Any], error: type[GoalwardError], message: str
) -> None:
    with pytest.raises(error, match=message):
        ContinuousTask.from_gymnasium(environment, **options)


def test_cart_pole_is_refused_for_its_unbounded_box() -> None:
    with pytest.raises(SettingError, match=r"coordinate 1 goes from -inf to inf; .* the box must be bounded"):
        ContinuousTask.from_gymnasium(gymnasium.make("CartPole-v1"), goal=lambda x: x[:, 0] > 2.0, cost=1.0)
