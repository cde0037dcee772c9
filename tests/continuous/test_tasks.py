"""The goal tasks with continuous states: their motion is Gymnasium's, step by step."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from goalward import continuous, worlds
from goalward.continuous.task import ContinuousTask
from goalward.continuous.tasks import acrobot_step, car_step, navigation, pendulum_step
from goalward.errors import SettingError

TASKS = [id for id in worlds.known() if worlds.find(id).continuous]


def test_the_car_moves_as_gymnasium_s() -> None:
    environment = gymnasium.make("MountainCar-v0", max_episode_steps=None).unwrapped
    rng = np.random.default_rng(0)
    environment.reset(seed=0)
    walls = 0
    for step in range(3_000):
        # Pushing with the motion reaches the wall and the flag; chance pushes elsewhere.
        push = 1 + int(np.sign(environment.state[1]))
        action = push if step % 5 else int(rng.integers(3))
        expected = car_step(float(environment.state[0]), float(environment.state[1]), action)
        _, _, terminated, _, _ = environment.step(action)
        assert expected == pytest.approx(tuple(map(float, environment.state)), abs=1e-15)
        assert continuous.make("mountain-car").spec.goal(np.array([expected]))[0] == terminated
        walls += expected[0] == -1.2
        if terminated:
            environment.reset()
    assert walls > 0


def test_the_acrobot_moves_as_gymnasium_s() -> None:
    environment = gymnasium.make("Acrobot-v1", max_episode_steps=None).unwrapped
    rng = np.random.default_rng(1)
    environment.reset(seed=1)
    moved = np.empty(4)
    goal = continuous.make("acrobot").spec.goal
    ended = 0
    for _ in range(2_000):
        action = int(rng.integers(3))
        acrobot_step(np.asarray(environment.state, dtype=np.float64), action - 1.0, moved)
        _, _, terminated, _, _ = environment.step(action)
        np.testing.assert_allclose(moved, environment.state, rtol=1e-9, atol=1e-9)
        assert goal(moved[np.newaxis])[0] == terminated
        ended += terminated
        if terminated:
            environment.reset()
    assert ended > 0


def test_the_pendulum_moves_as_gymnasium_s() -> None:
    environment = gymnasium.make("Pendulum-v1", max_episode_steps=None).unwrapped
    rng = np.random.default_rng(2)
    environment.reset(seed=2)
    for _ in range(1_000):
        torque = rng.choice([-2.0, 0.0, 2.0])
        expected = pendulum_step(float(environment.state[0]), float(environment.state[1]), torque)
        environment.step(np.array([torque]))
        np.testing.assert_allclose(expected, environment.state, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("id", TASKS)
def test_plays_stay_in_the_box_and_repeat(id: str) -> None:
    task = continuous.make(id)
    assert isinstance(task, ContinuousTask)
    assert task.spec.origin == {"id": id, "settings": worlds.find(id).complete({})}
    plays = [task.simulator(stream) for stream in (5, 5, 6)]
    actions = np.random.default_rng(3).integers(0, task.spec.actions, 200)
    paths = [np.array([play.step(int(action)).next_state for action in actions]) for play in plays]
    np.testing.assert_array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])
    assert (paths[0] >= task.spec.low).all()
    assert (paths[0] <= task.spec.high).all()


def test_nothing_crosses_the_wall() -> None:
    """Below its upper end; above it the field is open."""
    play = navigation().simulator(0)
    rng = np.random.default_rng(4)
    crossings = 0
    for _ in range(20_000):
        before = play.state
        after = play.step(int(rng.integers(4))).next_state
        if (before[0] - 4.0) * (after[0] - 4.0) < 0.0:
            crossings += 1
            assert max(before[1], after[1]) > 6.0 - 1e-9
    assert crossings > 0


def test_the_wind_blows_down_where_it_is_said_to() -> None:
    task = navigation(gusts=0.0)
    play = task.simulator(0)
    for x, expected in ((2.0, 0.0), (5.0, -0.25), (6.0, -0.1875), (8.0, 0.0)):
        play.state = np.array([x, 8.0])
        assert play.step(0).next_state == pytest.approx([x + 0.5, 8.0 + expected])


@pytest.mark.parametrize(
    ("id", "settings", "message"),
    [
        ("pendulum", {"torques": 1}, "torques is 1; it must be an integer of at least 2"),
        ("pendulum", {"angle": 0.0}, "angle is 0.0; it must be a number between 0 and 3.14159"),
        ("navigation", {"wind": 3}, "wind is 3; it must be a number from 0 to 0.45"),
        ("navigation", {"gusts": -1.0}, "gusts is -1.0"),
    ],
)
def test_settings_out_of_range(id: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        continuous.make(id, **settings)


def test_a_model_is_asked_for_where_a_table_is_needed() -> None:
    with pytest.raises(SettingError, match="mountain-car is a goal task with continuous states"):
        worlds.load("mountain-car")
    assert worlds.load("grid-world").states == 11
    with pytest.raises(SettingError, match=r"mountain-car has continuous states .*goalward\.continuous\.make"):
        worlds.make("mountain-car")
    with pytest.raises(SettingError, match=r"grid-world has finitely many states; use goalward\.worlds\.make"):
        continuous.make("grid-world")
