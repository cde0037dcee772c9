"""Policies of continuous agents: in Gymnasium's environments, saved and loaded, against a look ahead in the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

import goalward as gw
from goalward import ContinuousTask
from goalward.continuous.encoding import BoxEncoding
from goalward.continuous.policy import LatticePolicy
from goalward.errors import FileError, SettingError, StateError


@pytest.mark.parametrize(
    ("name", "episodes", "settings", "first", "later", "deployed"),
    [
        ("MountainCar-v0", 6, {}, 400, 110, 110),
        ("MountainCarContinuous-v0", 6, {}, 400, 80, 75),
        ("Pendulum-v1", 6, {}, 200, 100, 45),
        ("Acrobot-v1", 3, {"nodes": 9, "features": 64}, 500, 300, 200),
    ],
)
def test_classic_control_is_learnt_and_deployed(
    name: str, episodes: int, settings: Any, first: int, later: int, deployed: int, tmp_path: Path
) -> None:
    environment = gymnasium.make(name)
    task = ContinuousTask.from_gymnasium(environment)
    run = gw.learn(gw.agents.ContinuousPSRL(**settings), task, episodes, seed=2)
    assert run.steps[0] <= first
    assert np.median(run.steps[1:]) <= later
    policy: Any = run.policy
    trial = policy.evaluate(environment, episodes=10, seed=1)
    assert trial.reached.all()
    assert trial.costs.mean() <= deployed
    policy.save(tmp_path / "policy")
    loaded = gw.load_policy(tmp_path / "policy")
    observation, _ = environment.reset(seed=7)
    steps = 0
    ended = False
    while not ended and steps < 2 * deployed:
        action = loaded.act(observation)
        np.testing.assert_array_equal(action, policy.act(observation))
        assert environment.action_space.contains(action)
        assert loaded.knows(observation) == policy.knows(observation)
        observation, _, terminated, truncated, _ = environment.step(action)
        assert not truncated
        steps += 1
        ended = terminated or bool(task.spec.goal(task.spec.encoding.state(observation)[np.newaxis])[0])
    assert ended


def made_up(periodic: list[bool], nodes: list[int], interpolated: bool) -> LatticePolicy:
    values = np.random.default_rng(0).random((nodes[0] * nodes[1], 3))
    encoding = BoxEncoding(2, np.arange(3))
    seen = values[:, 0] < 0.5
    low, high = np.array([0.0, -1.0]), np.array([1.0, 1.0])
    return LatticePolicy(low, high, np.array(periodic), np.array(nodes), values, seen, interpolated, encoding)


def test_the_action_is_that_of_the_least_interpolated_value() -> None:
    """SciPy interpolates; for the axis that wraps around, its first node is repeated at the end."""
    policy = made_up([False, True], [5, 6], True)
    table = policy.values.reshape(5, 6, 3)
    axes = [np.linspace(0.0, 1.0, 5), np.linspace(-1.0, 1.0, 7)]
    expected = RegularGridInterpolator(axes, np.concatenate([table, table[:, :1]], axis=1))
    points = np.random.default_rng(1).uniform([0.0, -1.0], [1.0, 1.0], (300, 2))
    np.testing.assert_array_equal([policy.act(x) for x in points], expected(points).argmin(axis=1))
    np.testing.assert_array_equal(
        [policy.act(x) for x in points + np.array([0.0, 2.0])], expected(points).argmin(axis=1)
    )
    corners = np.array([[1.0, -1.0], [3.0, 0.4], [-2.0, 0.4]])
    np.testing.assert_array_equal(
        [policy.act(x) for x in corners], expected(np.clip(corners, [0.0, -1.0], 1.0)).argmin(axis=1)
    )


def test_in_cells_the_action_is_that_of_the_cell() -> None:
    policy = made_up([False, False], [4, 3], False)
    points = np.random.default_rng(1).uniform([-0.2, -1.2], [1.2, 1.2], (300, 2))
    cells = np.clip(np.floor((points - [0.0, -1.0]) / [0.25, 2.0 / 3.0]).astype(int), 0, [3, 2])
    numbers = cells[:, 0] * 3 + cells[:, 1]
    np.testing.assert_array_equal([policy.act(x) for x in points], policy.values.argmin(axis=1)[numbers])
    np.testing.assert_array_equal([policy.knows(x) for x in points], policy.seen[numbers])


def test_a_policy_knows_states_next_to_which_the_agent_has_acted() -> None:
    line = ContinuousTask(
        [0.0], [1.0], 2, lambda x, a, rng: x + (0.1 if a else -0.1), lambda x: x[:, 0] >= 0.95, start=[0.5]
    )
    run = gw.learn(gw.agents.ContinuousPSRL(nodes=101), line, 4, seed=0, keep_steps=True)
    visited = run.trajectory.states[:, 0]
    points = np.linspace(0.0, 0.9, 181)
    known = np.array([run.policy.knows([x]) for x in points])
    distance = np.abs(points[:, np.newaxis] - visited).min(axis=1)
    assert known[distance < 0.005 - 1e-9].all()
    assert not known[distance > 0.015 + 1e-9].any()


class Angle(gymnasium.Env[Any, Any]):
    """A needle that turns; it observes the cosine and sine of its angle, and four numbers that do not matter."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (6,))
    action_space = gymnasium.spaces.Box(-0.3, 0.3, (1,))

    def observation(self) -> Any:
        return np.float32([np.cos(self.angle), np.sin(self.angle), 0.0, 0.0, 0.0, 0.0])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.angle = 2.1
        return self.observation(), {}

    def step(self, action: Any) -> Any:
        self.angle += float(action[0])
        return self.observation(), 0.0, False, False, {}


def angle_of(observation: Any) -> Any:
    return [np.arctan2(observation[1], observation[0])]


def test_a_state_function_of_the_user_is_passed_again(tmp_path: Path) -> None:
    goal: Any = lambda x: np.abs(x[:, 0]) <= 0.2  # noqa: E731
    with pytest.raises(SettingError, match=r"the task has 6 dimensions, .* Pass a function state="):
        gw.learn(gw.agents.ContinuousPSRL(), ContinuousTask.from_gymnasium(Angle(), goal=goal), 1)
    task = ContinuousTask.from_gymnasium(Angle(), goal=goal, low=[-np.pi], high=[np.pi], periodic=True, state=angle_of)
    run = gw.learn(gw.agents.ContinuousPSRL(), task, 8, seed=0)
    trial: Any = run.policy.evaluate(task, episodes=3)
    assert trial.steps.tolist() == [7, 7, 7]  # 2.1 to 0.0 in steps of 0.3
    run.policy.save(tmp_path / "policy")
    with pytest.raises(FileError, match="pass it as key=function"):
        gw.load_policy(tmp_path / "policy")
    loaded = gw.load_policy(tmp_path / "policy", key=angle_of)
    observation, _ = Angle().reset()
    np.testing.assert_array_equal(loaded.act(observation), np.float32([-0.3]))
    with pytest.raises(SettingError, match=r"the goal set of .* is not known"):
        loaded.evaluate(Angle())
    with pytest.raises(SettingError, match="learnt in a task whose box or actions differ"):
        loaded.evaluate(gw.continuous.make("mountain-car"))


def test_a_policy_on_cells_is_deployed(tmp_path: Path) -> None:
    task = gw.continuous.make("navigation", gusts=0.0)
    run = gw.learn(gw.agents.AggregatedPSRL(cells=8), task, 30, seed=1, max_steps=3_000)
    run.policy.save(tmp_path / "policy")
    loaded = gw.load_policy(tmp_path / "policy")
    path = gw.learn(run.agent, task, 1, seed=1, resume=True, keep_steps=True, max_steps=300).trajectory.states
    known = [x for x in path if run.policy.knows(x)]
    assert known
    assert [run.policy.act(x) for x in known] == [loaded.act(x) for x in known]


def test_observations_that_do_not_fit() -> None:
    policy = made_up([False, False], [4, 3], True)
    for wrong in ([0.0], [0.0, np.nan], "north"):
        with pytest.raises(StateError, match="it must be 2 finite numbers"):
            policy.act(wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [("values", np.zeros((2, 3))), ("nodes", np.array([1, 12])), ("low", [0.0]), ("seen", np.zeros(3, dtype=bool))],
)
def test_files_that_do_not_fit(name: str, value: Any) -> None:
    state = made_up([False, False], [4, 3], True).to_state()
    with pytest.raises(ValueError, match=r"must|pass two lists"):
        LatticePolicy.from_state(state | {name: value}, None)
