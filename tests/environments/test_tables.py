"""Models from tables of transitions, against value iteration on the tables themselves."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import goalward as gw
from goalward.environments.goal_and_cost_rules import Outcome
from goalward.errors import CostError, ModelError, SettingError, ShapeError, UnknownNameError


def table_values(env: Any, restart: float | None = None) -> np.ndarray:
    """Solve the table by plain value iteration: 1 or minus a negative reward a step, ends without gain cost `restart`.

    A terminal step of positive reward, or any in CliffWalking, is the goal. Without `restart` the others never end.
    """
    P, n, A = env.unwrapped.P, env.observation_space.n, env.action_space.n
    always = type(env.unwrapped).__name__ == "CliffWalkingEnv"
    start = int(np.argmax(env.unwrapped.initial_state_distrib))
    V = np.zeros(n)
    for _ in range(20_000):
        lost = np.inf if restart is None else restart + V[start]
        Q = np.zeros((n, A))
        for s in range(n):
            for a in range(A):
                for p, y, r, end in P[s][a]:
                    after = (0.0 if r > 0 or always else lost) if end else V[y]
                    Q[s, a] += p * ((1.0 if r >= 0 else -r) + after)
        new = Q.min(axis=1)
        # Without restarts the values of states that cannot avoid an end are infinite from some sweep on.
        finite = np.isfinite(new)
        if np.array_equal(finite, np.isfinite(V)) and np.abs(new[finite] - V[finite]).max() < 1e-9:
            return new
        V = new
    raise AssertionError("value iteration has not settled")


@pytest.mark.parametrize(
    ("id", "settings"),
    [("FrozenLake-v1", {"is_slippery": False}), ("CliffWalking-v1", {}), ("Taxi-v4", {})],
)
def test_the_values_are_those_of_the_table(id: str, settings: dict[str, Any]) -> None:
    env = gymnasium.make(id, **settings)
    ssp = gw.from_gymnasium(env)
    values = gw.solve(ssp).values
    expected = table_values(env)
    states = [state for state in range(ssp.states) if state < env.observation_space.n]
    np.testing.assert_allclose(values[states], expected[states], rtol=1e-6)


def test_random_starts_are_one_state_more() -> None:
    """Taxi: the value of the start is the mean over the states in which episodes start."""
    env = gymnasium.make("Taxi-v4")
    ssp = gw.from_gymnasium(env)
    assert ssp.state_name(ssp.initial_state) == "start"
    starts = env.unwrapped.initial_state_distrib
    values = gw.solve(ssp).values
    assert values[ssp.initial_state] == pytest.approx(float(starts @ values[:500]), rel=1e-9)
    assert values[ssp.initial_state] == pytest.approx(13.07, abs=1e-9)
    layout = ssp.layout
    assert layout is not None
    for state in range(500):
        row, column, passenger, destination = env.unwrapped.decode(state)
        floor = 4 * passenger + destination
        assert layout.cells[state] == 5 * (5 * floor + row) + column
        assert layout.floors[floor].endswith(f"to {'RGYB'[destination]}")


def test_holes_are_dead_ends_and_the_restart_is_that_of_the_table() -> None:
    """Slippery FrozenLake: nobody reaches the goal almost surely; restarts of known cost have the table's value."""
    env = gymnasium.make("FrozenLake-v1")
    lake = gw.from_gymnasium(env)
    found = gw.structure(lake)
    assert found.never.tolist() == [5, 7, 11, 12]
    assert len(found.surely) == 0
    assert lake.layout == gw.GridLayout(4, 4, range(15), [15])
    assert lake.action_names == ("left", "down", "right", "up")
    value = gw.solve(lake.with_give_up(10.0)).values[0]
    # The table has no giving up elsewhere; at this price nobody would.
    assert value == pytest.approx(table_values(env, restart=10.0)[0], rel=1e-6)


def test_maps_of_any_size() -> None:
    env = gymnasium.make("FrozenLake-v1", desc=["SFG", "FHG"], is_slippery=False)
    lake = gw.from_gymnasium(env)
    assert gw.solve(lake).values[0] == 2.0
    # The goals 2 and 5 are merged, so the numbers of the environment become names.
    assert lake.state_names == ("0", "1", "3", "4")


class Corridor(gymnasium.Env):
    """Three states; action 1 goes on, action 0 may end the episode in state 1, which others pass."""

    def __init__(self, **changes: Any):
        self.observation_space = gymnasium.spaces.Discrete(3)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.P = {
            0: {0: [(0.5, 1, -1.0, True), (0.5, 2, -1.0, False)], 1: [(1.0, 1, -2.0, False)]},
            1: {0: [(1.0, 0, -1.0, False)], 1: [(1.0, 2, -2.0, False)]},
            2: {0: [(1.0, 2, 5.0, True)], 1: [(1.0, 2, 5.0, True)]},
        }
        self.P |= changes.pop("P", {})

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return 0, {}


class TestRules:
    """What a step means."""

    def test_goals(self) -> None:
        for rule in (5.0, 1, lambda outcome: outcome.reward > 0.0):
            ssp = gw.from_gymnasium(Corridor(), goal=rule)
            # State 1 is passed and ended in, so the end is a state of its own; state 2 leads to the goal.
            assert ssp.state_names == ("0", "1", "2", "dead end")
            assert gw.solve(ssp).values.tolist() == [5.0, 3.0, 1.0, np.inf]
        everything = gw.from_gymnasium(Corridor(), goal="terminated")
        assert gw.solve(everything).values[0] == 1.5

    def test_costs(self) -> None:
        assert gw.solve(gw.from_gymnasium(Corridor(), goal=5.0, cost=2.0)).values[0] == 6.0
        doubled = gw.from_gymnasium(Corridor(), goal=5.0, cost=lambda outcome: 2.0 * abs(outcome.reward))
        assert gw.solve(doubled).values[0] == 18.0
        with pytest.raises(CostError, match=r"action 0 in state 2 gave the reward 5\.0, .* Pass cost=1\.0"):
            gw.from_gymnasium(Corridor(), goal=5.0, cost="reward")

    def test_a_function_sees_the_whole_step(self) -> None:
        seen: list[Outcome] = []
        gw.from_gymnasium(Corridor(), goal=lambda outcome: seen.append(outcome) or outcome.reward > 0.0)
        assert seen[0] == Outcome(0, 0, 1, -1.0, True, {})


@pytest.mark.parametrize(
    ("env", "options", "error", "message"),
    [
        (Corridor(), {}, SettingError, "the goal of Corridor is not known.*goal='terminated' if every end"),
        (Corridor(), {"goal": "terminate"}, UnknownNameError, "did you mean 'terminated'"),
        (Corridor(), {"goal": 7.0}, ModelError, "no transition of Corridor reaches the goal, which is a reward of"),
        (Corridor(), {"goal": None, "cost": "rewards"}, SettingError, "is not known. Pass"),
        (Corridor(), {"goal": 5.0, "cost": "rewards"}, UnknownNameError, "did you mean 'reward'"),
        (Corridor(), {"goal": 5.0, "cost": -1.0}, SettingError, "cost is -1.0; it must be a number from 0"),
        (
            Corridor(),
            {"goal": 5.0, "cost": lambda outcome: "a"},
            CostError,
            "passed as cost returned 'a' .* must return a number",
        ),
        (Corridor(), {"goal": [1]}, SettingError, r"goal is \[1\]"),
        (Corridor(P={1: {0: [(1.0, 0)]}}), {"goal": 5.0}, ShapeError, "is invalid at state 1, action 0"),
        (Corridor(P={1: {0: []}}), {"goal": 5.0}, ShapeError, "is invalid at state 1, action 1"),
        (Corridor(P={2: {0: [(1.0, 9, 5.0, True)]}}), {"goal": 5.0}, ShapeError, "action 0; each entry must be"),
        (Corridor(P={2: {0: [(0.9, 2, 5.0, True)], 1: []}}), {"goal": 5.0}, gw.errors.ProbabilityError, "sum to 0.9"),
        (gymnasium.make("CartPole-v1"), {"goal": "terminated"}, SettingError, "CartPole-v1 has no table of"),
        ("NoSuchLake-v1", {}, UnknownNameError, "no Gymnasium environment .*is called 'NoSuchLake-v1'"),
    ],
)
def test_bad_input(env: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gw.from_gymnasium(env, **options)


def test_a_fickle_passenger_is_in_no_table() -> None:
    with pytest.raises(SettingError, match="does not describe its fickle passenger; use"):
        gw.from_gymnasium(gymnasium.make("Taxi-v4", fickle_passenger=True))


@pytest.mark.parametrize("id", ["CliffWalking-v1", "goalward/GridWorld-v0"])
def test_a_wrapper_that_may_change_steps_is_refused(id: str) -> None:
    env = gymnasium.make(id)
    with pytest.raises(
        SettingError, match=r"wrapper TransformReward .* Pass env\.unwrapped .* gw\.learn\(agent, env\)"
    ):
        gw.from_gymnasium(gymnasium.wrappers.TransformReward(env, lambda reward: 2.0 * reward))
    passive = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(env, 10))
    assert gw.from_gymnasium(passive) == gw.from_gymnasium(env.unwrapped)


def test_an_environment_made_from_a_model_gives_it_back() -> None:
    assert gw.from_gymnasium("goalward/GridWorld-v0") == gw.worlds.grid_world()
