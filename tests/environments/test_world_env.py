"""Every world as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import goalward as gw
from goalward import worlds
from goalward.environments.world_env import environment_id
from goalward.errors import PolicyError, UnknownNameError

RIGHT, DOWN = (worlds.grid_world().action_names.index(name) for name in ("right", "down"))


@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
@pytest.mark.parametrize("id", [id for id in worlds.known() if not worlds.find(id).continuous])
class TestEveryWorld:
    """Warnings are errors here, but for that of Gymnasium about worlds that have a newer version."""

    def test_passes_gymnasium_s_own_check(self, id: str) -> None:
        check_env(gymnasium.make(environment_id(worlds.find(id))).unwrapped)

    def test_says_what_a_step_means(self, id: str) -> None:
        env = gymnasium.make(environment_id(worlds.find(id)))
        ssp = env.unwrapped.ssp
        assert ssp == worlds.make(id)
        rng = np.random.default_rng(0)
        state, _ = env.reset(seed=1)
        for _ in range(300):
            action = int(rng.integers(ssp.actions))
            reached, reward, terminated, truncated, info = env.step(action)
            if ssp.available[state, action]:
                assert reached in ssp.row(state, action)[0]
                assert info["cost"] == -reward == ssp.costs[state, action]
            assert info["goal"] == (reached == ssp.goal)
            assert terminated or not info["goal"]
            assert not truncated
            state = env.reset()[0] if terminated else reached


def test_names() -> None:
    assert "goalward/GridWorld-v0" in gymnasium.registry
    assert "goalward/RandomMDP-v1" in gymnasium.registry
    assert gymnasium.make("goalward/GridWorld-v0", rows=5).unwrapped.ssp == worlds.grid_world(rows=5)
    with pytest.raises(UnknownNameError, match="did you mean 'rows'"):
        gymnasium.make("goalward/GridWorld-v0", row=5)


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium; print(gymnasium.make('goalward.environments:goalward/FourRooms-v0').spec.id)",
        "import goalward.environments, gymnasium; print(gymnasium.make('goalward/FourRooms-v0').spec.id)",
    ],
    ids=["by the id", "by an import"],
)
def test_worlds_are_registered(code: str, run_python: Callable[..., str]) -> None:
    assert run_python(code) == "goalward/FourRooms-v0"


def test_without_gymnasium_objects_with_reset_and_step_are_environments(run_python: Callable[..., str]) -> None:
    code = """
import sys
sys.modules["gymnasium"] = None
import goalward as gw

class Walk:
    action_space = 1

    def reset(self, *, seed=None):
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place += 1
        return self.place, -1.0, self.place == 2, False, {}

print(gw.learn(gw.agents.PSRL(), gw.Environment(Walk(), max_states=2), 3).costs.tolist())
try:
    gw.from_gymnasium("FrozenLake-v1")
except gw.errors.SettingError as error:
    print(error)
"""
    costs, message = run_python(code).splitlines()
    assert costs == "[2.0, 2.0, 2.0]"
    assert "needs gymnasium: install it" in message


@pytest.mark.parametrize("agent", ["psrl", "q-learning"])
def test_a_run_is_that_in_the_model(agent: str) -> None:
    world = worlds.random_mdp(states=5, seed=2)
    env = gw.to_gymnasium(world)
    run, same = (gw.learn(gw.agents.make(agent), each, 40, seed=3, keep_steps=True) for each in (world, env))
    for ours, theirs in zip(run.trajectory, same.trajectory, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(run.gap_regret, same.gap_regret)


def cliff() -> gw.SSP:
    """Action 1 reaches the goal; action 0 leaps into a pit, or up to a ledge with a single action."""
    return gw.SSP.from_transitions(
        [("edge", "leap", "pit", 0.5, 1.0), ("edge", "leap", "ledge", 0.5, 1.0), ("edge", "walk", "home", 1.0, 3.0),
         ("pit", "leap", "pit", 1.0, 1.0), ("ledge", "walk", "home", 1.0, 2.0)],
        goals=["home"],
    )  # fmt: skip


class TestDeadEnds:
    """States from which no path leads to the goal end an episode, and it is said that they are not the goal."""

    def test_entering_one_ends_the_episode(self) -> None:
        env = gw.to_gymnasium(cliff())
        ends = set()
        for seed in range(20):
            env.reset(seed=seed)
            state, _, terminated, _, info = env.step(0)
            assert terminated == (env.ssp.state_name(state) == "pit")
            assert not info["goal"]
            ends.add(terminated)
        assert ends == {True, False}

    def test_learning_is_refused_or_costs(self) -> None:
        env = gw.to_gymnasium(cliff())
        with pytest.raises(gw.errors.EndlessRunError, match="the agent can get to state pit"):
            gw.learn(gw.agents.PSRL(), env, 10)
        run = gw.learn(gw.agents.PSRL(), gw.Environment(env, give_up_cost=5.0), 300, seed=1)
        assert run.reached.all()
        assert run.optimal_value == gw.solve(cliff().with_give_up(5.0)).values[0] == 3.0

    def test_actions_that_are_not_available(self) -> None:
        env = gw.to_gymnasium(cliff())
        _, info = env.reset(seed=0)
        assert info["action_mask"].tolist() == [1, 1]
        while env.ssp.state_names[env.state] != "ledge":
            env.reset()
            _, _, _, _, info = env.step(0)
        assert info["action_mask"].tolist() == [0, 1]
        before = env.state
        state, reward, terminated, _, info = env.step(0)
        assert (state, reward, terminated, info["cost"]) == (before, -3.0, False, 3.0)


def test_the_goal_is_the_end() -> None:
    env = gw.to_gymnasium(worlds.grid_world(1, 2, success=1.0))
    env.reset(seed=0)
    assert env.step(RIGHT)[:3] == (1, -1.0, True)
    assert env.step(RIGHT) == (1, 0.0, True, False, {"cost": 0.0, "goal": True})


def test_actions_outside_the_space_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"action is 9; this world has the actions 0\.\.3"):
        gw.to_gymnasium(worlds.grid_world()).step(9)
