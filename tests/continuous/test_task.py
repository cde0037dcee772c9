"""Goal tasks from functions and from Gymnasium environments, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from goalward import ContinuousTask, learn
from goalward.agents import PSRL, ContinuousPSRL
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
    play.reset()
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
        ({"high": [np.inf]}, SettingError, "coordinate 0 goes from 0 to inf; .* both must be finite"),
        ({"low": [2.0]}, SettingError, "coordinate 0 goes from 2 to 1; low must be below high"),
        ({"low": [0.0, 0.0]}, ShapeError, r"low has shape \(2,\), high has \(1,\)"),
        ({"low": [np.nan]}, SettingError, "coordinate 0 goes from nan to 1"),
        ({"actions": 0}, SettingError, "actions is 0; it must be an integer of at least 1"),
        ({"goal": 3}, SettingError, "goal is 3; it must be a function of states"),
        ({"goal": lambda x: x}, ShapeError, "return one truth value for each state"),
        ({"goal": lambda x: x[:, 0] * 1.0}, ShapeError, "return one truth value for each state"),
        ({"goal": lambda x: x.nothing}, ShapeError, "no attribute 'nothing'"),
        ({"cost": 0.0}, CostError, "action 0 costs 0.0 at .*; costs must be known, positive and finite"),
        ({"cost": [1.0, np.nan]}, CostError, "action 1 costs nan"),
        ({"cost": None}, CostError, "costs must be known"),
        ({"cost": [1.0, 2.0, 3.0]}, CostError, r"a list of 2 numbers \(one for each action"),
        ({"cost": "reward"}, CostError, "agents for continuous states must know the costs"),
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
    with pytest.raises(StateError, match=r"the state is .*; it must be 1 finite numbers"):
        play.step(0)


@pytest.mark.parametrize(
    ("name", "dimensions", "actions"),
    [
        ("MountainCar-v0", 2, [0, 1, 2]),
        ("MountainCarContinuous-v0", 2, [[-1.0], [0.0], [1.0]]),
        ("Acrobot-v1", 4, [0, 1, 2]),
        ("Pendulum-v1", 2, [[-2.0], [0.0], [2.0]]),
    ],
)
def test_known_environments_need_no_arguments(name: str, dimensions: int, actions: list[Any]) -> None:
    environment = gymnasium.make(name)
    assert repr(ContinuousTask.from_gymnasium(name)) == repr(ContinuousTask.from_gymnasium(environment))
    task = ContinuousTask.from_gymnasium(environment)
    assert (task.spec.dimensions, task.spec.encoding.actions.tolist()) == (dimensions, actions)
    play = task.simulator(3)
    for _ in range(20):
        assert not play.step(0).truncated
    assert not task.spec.goal(play.state[np.newaxis])[0]
    assert environment.action_space.contains(task.spec.encoding.action(2))


@pytest.mark.parametrize(("name", "flag"), [("MountainCar-v0", 0.5), ("MountainCarContinuous-v0", 0.45)])
@pytest.mark.parametrize("velocity", [0.0, 0.02])
def test_the_goal_of_the_cars_is_where_gymnasium_ends_the_episode(name: str, flag: float, velocity: float) -> None:
    environment = gymnasium.make(name, max_episode_steps=None, goal_velocity=velocity)
    goal = ContinuousTask.from_gymnasium(environment).spec.goal
    rng = np.random.default_rng(0)
    environment.reset(seed=0)
    ends = 0
    for _ in range(300):
        environment.unwrapped.state = np.array([flag + rng.uniform(-0.06, 0.0), rng.uniform(0.0, 0.04)])  # type: ignore[attr-defined]
        observation, _, terminated, _, _ = environment.unwrapped.step(environment.action_space.sample())
        assert goal(observation[np.newaxis].astype(np.float64)) == [terminated]
        ends += bool(terminated)
    assert 30 < ends < 270


def test_a_rounded_observation_at_the_edge_of_the_goal_set_is_the_goal() -> None:
    """In single precision 0.9 is below 0.9."""

    class Rounded(Line):
        def step(self, action: Any) -> Any:
            observation, *others = super().step(action)
            return observation.astype(np.float32), *others

    play = ContinuousTask.from_gymnasium(Rounded(end=0.85), goal=lambda x: x[:, 0] >= 0.9).simulator(0)
    assert [play.step(1).reached for _ in range(4)] == [False] * 3 + [True]


def test_wrappers_that_may_change_steps_leave_nothing_known() -> None:
    car = gymnasium.make("MountainCar-v0")
    slower = gymnasium.wrappers.TransformObservation(car, lambda x: x / 2.0, car.observation_space)
    with pytest.raises(SettingError, match="the goal set of MountainCar-v0 is not known"):
        ContinuousTask.from_gymnasium(slower)


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
    play.reset()
    assert play.state[1] == 0.0


class Line(gymnasium.Env[Any, Any]):
    """An environment that ends where it is told to."""

    def __init__(self, end: float = 0.95, high: float = 1.0, action_space: Any = None, observation_space: Any = None):
        self.observation_space = observation_space or gymnasium.spaces.Box(0.0, high, (1,), np.float64)
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


def test_an_old_style_step_is_refused() -> None:
    class Old(Line):
        def step(self, action: Any) -> Any:
            return super().step(action)[:4]

    with pytest.raises(SettingError, match=r"Old\.step returned .*; it must return \(observation, reward"):
        ContinuousTask.from_gymnasium(Old(), goal=flag).simulator(0).step(0)


def test_the_line_that_box_observations_are_advised_to_take_works() -> None:
    env = gymnasium.make("MountainCar-v0")
    with pytest.raises(SettingError, match=r"gw\.ContinuousTask\.from_gymnasium\(env"):
        learn(PSRL(), env, 1)
    run = learn(ContinuousPSRL(), ContinuousTask.from_gymnasium(env), 1, seed=0)
    assert run.steps[0] <= 200


def test_an_episode_that_ends_outside_the_goal_is_refused() -> None:
    play = ContinuousTask.from_gymnasium(Line(end=0.55), goal=flag, cost=1.0).simulator(0)
    with pytest.raises(StateError, match=r"the environment ended an episode in .*, which is not in the goal set"):
        play.step(1)


BOX = gymnasium.spaces.Box(-1.0, 1.0, (1,))


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        (
            Line(action_space=BOX),
            {"goal": flag, "actions": [[0.0], [5.0]]},
            r"action 1 is \[5.0\], which is outside Box",
        ),
        (Line(), {"goal": flag, "actions": [0, 1]}, "action 0 is 0, which is outside Discrete"),
        (object(), {}, "has no reset and no step"),
        (Line(action_space=gymnasium.spaces.MultiDiscrete([2, 2])), {"goal": flag}, r"wrappers\.TransformAction"),
        (Line(), {}, r"the goal set of Line is not known: .*goalward learn my_env\.py:make_task"),
        (Line(high=np.inf), {"goal": flag}, "coordinate 0 goes from 0 to inf; .* Pass low= and high="),
        (Line(action_space=gymnasium.spaces.Box(-1.0, np.inf, (1,))), {"goal": flag}, r"some actions, actions=\["),
        (Line(action_space=gymnasium.spaces.Box(-1.0, 1.0, (2,))), {"goal": flag}, r"some actions, actions=\["),
        (Line(), {"goal": flag, "state": lambda x: x}, r"also pass low=\[...\] and high=\[...\]"),
        (Line(observation_space=gymnasium.spaces.Box(0.0, 1.0, (2, 2))), {"goal": flag}, "pass a function state="),
        (Line(observation_space=gymnasium.spaces.Dict(x=BOX)), {"goal": flag}, "pass a function state="),
    ],
)
def test_environments_that_are_refused(environment: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ContinuousTask.from_gymnasium(environment, **options)


def test_actions_of_a_box() -> None:
    def actions(given: Any) -> Any:
        task = ContinuousTask.from_gymnasium(Line(action_space=BOX), goal=flag, actions=given)
        return task.spec.encoding.actions.tolist(), task.spec.action_names

    assert actions(None) == ([[-1.0], [0.0], [1.0]], ("-1", "+0", "+1"))
    assert actions(5)[0] == [[-1.0], [-0.5], [0.0], [0.5], [1.0]]
    assert actions([0.5, 1.0]) == actions([[0.5], [1.0]]) == ([[0.5], [1.0]], ("+0.5", "+1"))


def test_a_state_is_computed_from_the_observation() -> None:
    task = ContinuousTask.from_gymnasium(Line(), goal=lambda x: x[:, 1] >= 1.9, low=[0, 0], high=[1, 2],
                                         state=lambda x: [x[0], 2.0 * x[0]])  # fmt: skip
    play = task.simulator(0)
    assert play.state.tolist() == [0.5, 1.0]
    assert [play.step(1).reached for _ in range(5)] == [False] * 4 + [True]
