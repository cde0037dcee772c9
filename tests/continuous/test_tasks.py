"""The goal tasks with continuous states: their motion is Gymnasium's, step by step."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from goalward import continuous, worlds
from goalward.continuous.task import ContinuousTask
from goalward.continuous.tasks import car_step, navigation
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
        ("navigation", {"wind": 3}, "wind is 3; it must be a number from 0 to 0.45"),
        ("navigation", {"gusts": -1.0}, "gusts is -1.0"),
    ],
)
def test_settings_out_of_range(id: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        continuous.make(id, **settings)


def test_a_model_is_asked_for_where_a_table_is_needed() -> None:
    with pytest.raises(SettingError, match="mountain-car has continuous states, so it has no transition table"):
        worlds.load("mountain-car")
    assert worlds.load("grid-world").states == 11
    with pytest.raises(SettingError, match=r"mountain-car has continuous states.*goalward\.continuous\.make"):
        worlds.make("mountain-car")
    with pytest.raises(SettingError, match=r"grid-world has finitely many states; use goalward\.worlds\.make"):
        continuous.make("grid-world")
