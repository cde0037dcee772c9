"""Learning through `step` in environments without a model: what is told, what is the goal, what is refused."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import goalward as gw
from goalward.agents import PSRL
from goalward.errors import CostError, EndlessRunError, SettingError, StateError, UnknownNameError, UnreachableGoalError


class Walk(gymnasium.Env):
    """From 0 to 3 by action 1; action 0 goes back, from 0 it ends the episode if there is a cliff."""

    def __init__(self, space: spaces.Space | None = None, cliff: bool = False, reward: float = -1.0, first: int = 0):
        self.observation_space = space or spaces.Discrete(4, start=first)
        self.action_space = spaces.Discrete(2, start=first)
        self.cliff, self.reward, self.first = cliff, reward, first

    def observed(self) -> Any:
        if isinstance(self.observation_space, spaces.Tuple):
            return self.place // 2, self.place % 2
        if isinstance(self.observation_space, spaces.MultiDiscrete):
            return np.array([self.place // 2, self.place % 2])
        if isinstance(self.observation_space, spaces.Dict):
            return {"a": self.place // 2, "b": self.place % 2}
        return self.place + self.first

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return self.observed(), {}

    def step(self, action: Any) -> Any:
        forward = action - self.first
        lost = self.cliff and self.place == 0 and not forward
        self.place = self.place + 1 if forward else max(self.place - 1, 0)
        reached = self.place == 3
        return self.observed(), self.reward, reached or lost, False, {"is_success": reached}


class TestFrozenLake:
    """Falling into a hole ends an episode and is not the goal."""

    def test_it_is_refused_before_the_first_step(self) -> None:
        steps = 0

        def counted(action: Any) -> Any:
            nonlocal steps
            steps += 1

        slippery = gymnasium.make("FrozenLake-v1")
        slippery.unwrapped.step = counted
        with pytest.raises(
            UnreachableGoalError, match=r"no policy reaches the goal almost surely .* let the agent give up"
        ):
            gw.learn(PSRL(), slippery, 10)
        dry = gymnasium.make("FrozenLake-v1", is_slippery=False)
        dry.unwrapped.step = counted
        with pytest.raises(
            EndlessRunError,
            match=r"get to row 1, column 1; .* and 1 more, .* let the agent give up",
        ):
            gw.learn(PSRL(), dry, 10)
        assert steps == 0

    @pytest.mark.parametrize("agent", ["psrl", "q-learning", "uniform"])
    @pytest.mark.parametrize("wrapped", [False, True])
    def test_a_run_with_a_limit_ends_in_a_hole(self, agent: str, wrapped: bool) -> None:
        env = gymnasium.make("FrozenLake-v1", is_slippery=False)
        if wrapped:
            env = ThreeMoves(env)
        run = gw.learn(gw.agents.make(agent), env, 10_000, max_steps=5_000, keep_steps=True)
        assert run.truncation == "a dead end ended the run"
        assert not run.reached[-1]
        assert run.trajectory.next_states[-1] in (5, 7, 11, 12)
        assert not np.isin(run.trajectory.states, (5, 7, 11, 12)).any()
        short = gw.learn(gw.agents.make(agent), env, 10_000, max_steps=2)
        assert short.truncation == "max_steps ended the run"

    @pytest.mark.parametrize("cost", [1.0, "penalty"])
    def test_learning_with_restarts(self, cost: Any) -> None:
        """It learns to reach the goal; every arrival is a real one, counted below all wrappers."""

        class Counted(FrozenLakeEnv):
            goals = holes = 0

            def step(self, action: Any) -> Any:
                state, reward, terminated, truncated, info = super().step(action)
                self.goals += reward == 1.0
                self.holes += terminated and reward == 0.0
                return state, reward, terminated, truncated, info

        env = Counted(is_slippery=False)
        lake = gw.Environment(env, goal=1.0, cost=cost, give_up_cost=10.0)
        run = gw.learn(PSRL(), lake, 60, seed=2, keep_steps=True)
        assert run.reached.all()
        assert env.goals == 60
        assert env.holes > 0
        assert run.costs[-10:].tolist() == [6.0] * 10
        steps = run.trajectory
        # State 16 stands for all ends away from the goal; only giving up, action 4, leaves it, for the start.
        lost = steps.states == 16
        assert np.count_nonzero(steps.next_states == 16) == np.count_nonzero(lost) == env.holes
        assert (steps.actions[lost] == 4).all()
        assert (steps.next_states[steps.actions == 4] == 0).all()
        assert (steps.costs[steps.actions == 4] == 10.0).all()

    def test_the_optimum_is_approached(self) -> None:
        """The mean cost of the last episodes is near the optimum of the table with restarts, without the time limit.

        V* is 58.5. An episode costs about 60 with a standard deviation below 60, so the mean of 400 lies within 12 of
        its expectation but for a chance of 1e-4; what is left to learn costs a few percent.
        """
        env = gymnasium.make("FrozenLake-v1").unwrapped
        run = gw.learn(PSRL(), gw.Environment(env, give_up_cost=10.0), 900, seed=0)
        best = gw.solve(gw.from_gymnasium(env).with_give_up(10.0)).values[0]
        assert best == pytest.approx(58.5)
        assert abs(run.costs[-400:].mean() - best) < 16.0

    def test_a_time_limit_is_no_goal(self) -> None:
        env = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=4)
        run = gw.learn(PSRL(), gw.Environment(env, give_up_cost=5.0), 30, seed=0, max_steps=5000)
        assert not run.reached.any()
        assert "the environment cut off 30 of 30 episodes; check the goal rule" in run.truncation


class TestOtherTables:
    """CliffWalking and Taxi."""

    def test_cliff_walking(self) -> None:
        run = gw.learn(PSRL(), gymnasium.make("CliffWalking-v1"), 250, seed=0)
        assert run.reached.all()
        assert np.median(run.costs[-100:]) == 13.0

    def test_blackjack(self) -> None:
        """A tuple of Discrete spaces, random starts, and every lost or drawn game is a restart; the goal is a win."""
        env = gw.Environment(gymnasium.make("Blackjack-v1"), goal=1.0, give_up_cost=1.0)
        run = gw.learn(gw.agents.QLearning(), env, 3000, seed=0)
        assert run.reached.all()
        stick, hit = 0, 1
        assert [run.policy.act((total, 10, 0)) for total in (20, 21)] == [stick, stick]
        assert hit in [run.policy.act((total, 7, 0)) for total in (9, 10, 11)]
        assert run.policy.evaluate(env, 200, seed=1).success_rate.low > 0.1

    def test_taxi_starts_anywhere(self) -> None:
        """Its costs are those of the table, also where it is fined; the starts differ."""
        env = gymnasium.make("Taxi-v4").unwrapped
        run = gw.learn(gw.agents.make("uniform"), env, 20, seed=0, keep_steps=True)
        steps = run.trajectory
        ends = np.flatnonzero(steps.next_states == 500)
        assert len(set(steps.states[ends[:-1] + 1].tolist())) > 5
        assert set(steps.costs.tolist()) == {1.0, 10.0}
        assert len(ends) == np.count_nonzero(run.reached)

    def test_taxi_with_restarts_anywhere(self) -> None:
        """Giving up leads to one more state, which draws the first observation at no cost."""
        world = gw.Environment(gymnasium.make("Taxi-v4"), give_up_cost=50.0)
        run = gw.learn(gw.agents.make("uniform"), world, 3, max_steps=300, keep_steps=True)
        task, steps = run.agent.task, run.trajectory
        assert (task.give_up, task.initial_state, task.costs.shape) == (6, 501, (502, 7))
        assert task.encoding.name(501) == "start"
        gave_up, started = steps.actions == 6, steps.states == 501
        assert gave_up.any()
        assert (steps.next_states[gave_up] == 501).all()
        assert (steps.costs[gave_up] == 50.0).all()
        assert (steps.costs[started] == 0.0).all()
        assert started[0]
        assert len(set(steps.next_states[started].tolist())) > 5


class Charge(gymnasium.Wrapper):
    """CliffWalking in which every step into row 2 costs 30."""

    def step(self, action: Any) -> Any:
        state, reward, terminated, truncated, info = super().step(action)
        return state, -30.0 if state // 12 == 2 else reward, terminated, truncated, info


class Cells(gymnasium.ObservationWrapper):
    """The states of a grid observed as rows and columns."""

    def __init__(self, env: gymnasium.Env, columns: int, kind: type = np.array):
        super().__init__(env)
        self.columns, self.kind = columns, kind
        rows = int(env.observation_space.n) // columns
        self.observation_space = spaces.MultiDiscrete([rows, columns])
        if kind is tuple:
            self.observation_space = spaces.Tuple([spaces.Discrete(rows), spaces.Discrete(columns)])

    def observation(self, observation: Any) -> Any:
        return self.kind(divmod(int(observation), self.columns))


class ThreeMoves(gymnasium.ActionWrapper):
    """FrozenLake without moving up."""

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        self.action_space = spaces.Discrete(3)

    def action(self, action: Any) -> Any:
        return action


class TestWrappers:
    """What `step` of the outermost wrapper returns is what is learnt."""

    def test_rewards(self) -> None:
        """Up, up, eleven steps along row 1, down, down: 30 + 1 + 11 + 30 + 1."""
        env = Charge(gymnasium.make("CliffWalking-v1"))
        run = gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 400)
        assert run.agent.task.costs_unknown
        assert np.median(run.costs[-50:]) == 73.0

    def test_observations_of_the_cliff(self) -> None:
        env = Cells(gymnasium.make("CliffWalking-v1"), 12)
        run = gw.learn(PSRL(), gw.Environment(env), 400, keep_steps=True)
        assert run.trajectory.states[0] == run.agent.task.initial_state == 36
        assert np.median(run.costs[-50:]) == 13.0

    @pytest.mark.parametrize("kind", [np.array, tuple])
    def test_observations_of_the_lake(self, kind: Any) -> None:
        env = Cells(gymnasium.make("FrozenLake-v1", is_slippery=False), 4, kind)
        run = gw.learn(PSRL(), gw.Environment(env, give_up_cost=10.0), 150, seed=2)
        assert run.reached.all()
        assert np.median(run.costs[-20:]) == 6.0

    def test_renumbered_states(self) -> None:
        """The lake counted backwards: the goal is state 0."""
        lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
        env = gymnasium.wrappers.TransformObservation(lake, lambda state: 15 - state, lake.observation_space)
        run = gw.learn(PSRL(), gw.Environment(env, give_up_cost=10.0), 150, seed=2, keep_steps=True)
        assert run.trajectory.states[0] == 15
        assert run.reached.all()
        assert np.median(run.costs[-20:]) == 6.0

    def test_actions(self) -> None:
        env = ThreeMoves(gymnasium.make("FrozenLake-v1", is_slippery=False))
        run = gw.learn(PSRL(), gw.Environment(env, give_up_cost=10.0), 150, seed=2)
        assert run.agent.task.actions == 4  # three moves, and giving up
        assert np.median(run.costs[-20:]) == 6.0

    def test_ends(self) -> None:
        """A wrapper may end episodes itself, so the known rule for goals does not hold."""

        class Fall(gymnasium.Wrapper):
            def step(self, action: Any) -> Any:
                state, reward, terminated, truncated, info = super().step(action)
                return state, -1.0, terminated or reward == -100, truncated, info

        env = Fall(gymnasium.make("CliffWalking-v1"))
        with pytest.raises(SettingError, match=r"the goal of CliffWalking-v1 is not known"):
            gw.learn(PSRL(), env, 10)
        goal = lambda outcome: outcome.next_state == 47  # noqa: E731
        run = gw.learn(PSRL(), gw.Environment(env, goal=goal, cost=1.0, give_up_cost=20.0), 250)
        assert np.median(run.costs[-50:]) == 13.0

    def test_the_model_below_a_wrapper_is_not_that_of_the_steps(self) -> None:
        env = gymnasium.make("goalward/GridWorld-v0", rows=2)
        assert gw.learn(PSRL(), env, 5).has_model
        dear = gymnasium.wrappers.TransformReward(env, lambda reward: 3.0 * reward)
        run = gw.learn(PSRL(), gw.Environment(dear, cost=3.0), 5)
        assert not run.has_model
        assert run.costs.tolist() == (3.0 * run.steps).tolist()

    def test_wrappers_that_pass_everything_on(self) -> None:
        class Log(gymnasium.Wrapper):
            def render(self) -> None: ...

        env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CliffWalking-v1", max_episode_steps=10_000))
        run = gw.learn(PSRL(), Log(env), 250, seed=0)
        bare = gw.learn(PSRL(), gymnasium.make("CliffWalking-v1").unwrapped, 250, seed=0)
        assert run.costs.tolist() == bare.costs.tolist()


class TestGoals:
    """One rule says which steps reach the goal."""

    @pytest.mark.parametrize("rule", ["terminated", lambda outcome: outcome.info["is_success"]])
    def test_named_and_by_a_function(self, rule: Any) -> None:
        run = gw.learn(PSRL(), gw.Environment(Walk(), goal=rule), 40)
        assert run.reached.all()
        assert run.costs[-5:].tolist() == [3.0] * 5

    def test_by_the_reward(self) -> None:
        """An end without that reward is none of the goal; an arrival that the environment does not end is one."""

        class Gain(Walk):
            def step(self, action: Any) -> Any:
                state, _, terminated, truncated, info = super().step(action)
                return state, 1.0 if info["is_success"] else 0.0, terminated and not info["is_success"], truncated, info

        run = gw.learn(PSRL(), gw.Environment(Gain(cliff=True), goal=1.0, give_up_cost=4.0), 40)
        assert run.reached.all()
        assert run.costs[-5:].tolist() == [3.0] * 5
        with pytest.raises(
            EndlessRunError, match=r"Gain ended an episode away from the goal: action 0 in state 0.*give"
        ):
            gw.learn(gw.agents.make("uniform"), gw.Environment(Gain(cliff=True), goal=1.0), 40)

    def test_a_task_without_a_goal_is_recognised(self) -> None:
        balance = gymnasium.make("CartPole-v1")
        for door in (gw.Environment, gw.ContinuousTask.from_gymnasium):
            with pytest.raises(SettingError, match=r"goal.*cannot learn to keep an episode going"):
                door(balance)
        cells = gw.Discretize(balance, bins=3, low=[-1.0] * 4, high=[1.0] * 4)
        with pytest.raises(SettingError, match=r"CartPole-v1 rewarded every step of its first 10 episodes"):
            gw.learn(PSRL(), gw.Environment(cells, goal="terminated"), 20)
        gw.learn(PSRL(), gw.Environment(cells, goal="terminated", cost=1.0), 11)
        with pytest.raises(SettingError, match=r"each of the first 10 steps of Walk reached the goal"):
            gw.learn(PSRL(), gw.Environment(Walk(), goal=-1.0), 20)

    def test_it_must_be_said(self) -> None:
        with pytest.raises(SettingError, match="the goal of Walk is not known"):
            gw.learn(PSRL(), Walk(), 3)
        with pytest.raises(UnknownNameError, match="no rule for goals is called 'goal'"):
            gw.learn(PSRL(), gw.Environment(Walk(), goal="goal"), 3)

    def test_an_environment_that_never_reaches_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("goalward.environments.environment.PATIENCE", 20_000)
        never = lambda outcome: False  # noqa: E731
        env = Walk(cliff=False)
        env.step = lambda action: (0, -1.0, False, False, {})  # type: ignore[method-assign]
        with pytest.raises(EndlessRunError, match=r"Walk has not reached the goal in .* steps; .* another rule"):
            gw.learn(gw.agents.make("uniform"), gw.Environment(env, goal=never), 3)
        limited = gymnasium.wrappers.TimeLimit(env, 100)
        with pytest.raises(EndlessRunError, match=r"Walk has not reached the goal in"):
            gw.learn(gw.agents.make("uniform"), gw.Environment(limited, goal=never), 1_000)
        assert (
            gw.learn(gw.agents.make("uniform"), gw.Environment(limited, goal=never), 100).steps.tolist() == [100] * 100
        )
        run = gw.learn(gw.agents.make("uniform"), gw.Environment(env, goal=never), 3, max_steps=30_000)
        assert run.truncation == "max_steps ended the run"


class TestCosts:
    """What is paid is what the agent was told, and never negative."""

    def test_told_and_paid(self) -> None:
        assert gw.learn(PSRL(), gw.Environment(Walk(reward=0.0), goal="terminated"), 20).costs[-1] == 3.0
        assert gw.learn(PSRL(), gw.Environment(Walk(reward=-7.0), goal="terminated", cost=2.0), 20).costs[-1] == 6.0

    def test_noisy_costs_are_learnt(self) -> None:
        """Two ways to the goal; the one with the smaller mean cost, 1.5 against 2.5, is taken in the end."""

        class Fork(gymnasium.Env):
            observation_space, action_space = spaces.Discrete(1), spaces.Discrete(2)

            def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
                super().reset(seed=seed)
                return 0, {}

            def step(self, action: Any) -> Any:
                return 0, -self.np_random.uniform(0.0, 5.0 if action else 3.0), True, False, {}

        world = gw.Environment(Fork(), goal="terminated", cost_range=(0.0, 5.0))
        run = gw.learn(PSRL(), world, 400, seed=1, keep_steps=True)
        assert np.isnan(run.agent.task.costs).all()
        assert run.agent.task.cost_range == (0.0, 5.0)
        assert np.mean(run.trajectory.actions[-100:] == 0) > 0.9
        with pytest.raises(CostError, match=r"was 2\.\d+, but cost_range is 0 to 2; pass a wider cost_range"):
            gw.learn(PSRL(), gw.Environment(Fork(), goal="terminated", cost_range=(0.0, 2.0)), 400)

    def test_negative_costs_are_refused(self) -> None:
        with pytest.raises(
            CostError, match=r"gave the reward 2\.0, which makes a cost of -2; costs must be finite and not negative"
        ):
            gw.learn(PSRL(), gw.Environment(Walk(reward=2.0), goal="terminated", cost="reward"), 20)
        with pytest.raises(CostError, match="gave the reward nan"):
            gw.learn(PSRL(), gw.Environment(Walk(reward=np.nan), goal="terminated"), 20)


class Room(gymnasium.Env):
    """A 5 x 5 room, from corner to corner by four moves; the space says how the row and the column are observed."""

    def __init__(self, space: spaces.Space):
        self.observation_space, self.action_space = space, spaces.Discrete(4)

    def observed(self) -> Any:
        row, column = self.place
        if isinstance(self.observation_space, spaces.MultiBinary):
            return np.array([row >> 2, row >> 1 & 1, row & 1, column >> 2, column >> 1 & 1, column & 1], dtype=np.int8)
        if isinstance(self.observation_space, spaces.Dict):
            return {"column": column, "row": np.array([row])}
        if isinstance(self.observation_space, spaces.Tuple):
            return row, column + 1
        return np.array([row, column]) + self.observation_space.start

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0, 0
        return self.observed(), {}

    def step(self, action: Any) -> Any:
        down, right = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
        row, column = self.place
        self.place = min(max(row + down, 0), 4), min(max(column + right, 0), 4)
        return self.observed(), -1.0, self.place == (4, 4), False, {}


ROOMS = {
    "multi-discrete": (spaces.MultiDiscrete([5, 5]), lambda row, column: 5 * row + column),
    "multi-discrete from 3": (spaces.MultiDiscrete([5, 6], start=[3, 7]), lambda row, column: 6 * row + column),
    "multi-binary": (spaces.MultiBinary(6), lambda row, column: 8 * row + column),
    "tuple": (
        spaces.Tuple([spaces.Discrete(5), spaces.Discrete(5, start=1)]),
        lambda row, column: 5 * row + column,
    ),
    "dict": (
        spaces.Dict({"row": spaces.MultiDiscrete([5]), "column": spaces.Discrete(5)}),
        lambda row, column: 5 * column + row,
    ),
}


class TestSpaces:
    """The number of a state depends on the observation and its space alone."""

    @pytest.mark.parametrize("kind", ROOMS)
    def test_numbers_of_structured_observations(self, kind: str) -> None:
        space, number = ROOMS[kind]
        run = gw.learn(PSRL(), gw.Environment(Room(space), goal="terminated"), 3, keep_steps=True)
        assert run.agent.task.initial_state == 0
        row = column = 0
        for state, action, _, successor, _ in zip(*(array.tolist() for array in run.trajectory), strict=True):
            assert state == number(row, column)
            down, right = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
            row, column = min(max(row + down, 0), 4), min(max(column + right, 0), 4)
            if (row, column) == (4, 4):
                assert successor == run.agent.task.goal
                row = column = 0

    @pytest.mark.parametrize("saved", [False, True])
    @pytest.mark.parametrize("kind", ["multi-discrete", "dict"])
    def test_a_resumed_agent_knows_the_states_again(self, kind: str, saved: bool, tmp_path: Any) -> None:
        space, _ = ROOMS[kind]
        run = gw.learn(PSRL(), gw.Environment(Room(space), goal="terminated"), 200, seed=1)
        agent = run.agent
        if saved:
            gw.agents.save(agent, tmp_path / "agent.npz")
            agent = gw.agents.load(tmp_path / "agent.npz")
        assert run.costs[-10:].mean() < 12.0
        again = gw.learn(agent, gw.Environment(Room(space), goal="terminated"), 20, seed=2, resume=True)
        assert again.costs.mean() < 20.0, "with other numbers for the states it was 129"

    @pytest.mark.parametrize(
        ("space", "observed"),
        [
            (spaces.MultiDiscrete([2, 2]), np.array([2, 0])),
            (spaces.MultiDiscrete([2, 2]), np.array([0, -1])),
            (spaces.MultiDiscrete([2, 2]), np.array([0.5, 0.0])),
            (spaces.MultiDiscrete([2, 2]), np.array([0, 1, 0])),
            (spaces.MultiBinary(2), np.array([0, 2])),
            (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), (0, 2)),
            (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), (0,)),
            (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), 1),
            (spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)}), {"a": 0, "b": 7}),
            (spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)}), {"a": 0}),
            (spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)}), {"a": 0, "b": 0, "c": 0}),
            (spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2)}), None),
            (spaces.Discrete(4), 0.7),
            (spaces.Discrete(4), 4),
            (spaces.Discrete(4), float("inf")),
            (spaces.Discrete(4), "1"),
            (spaces.Discrete(4, start=10), 0),
        ],
        ids=str,
    )
    def test_observations_outside_the_space(self, space: spaces.Space, observed: Any) -> None:
        first = 10 if isinstance(space, spaces.Discrete) and space.start else 0
        env = Walk(space, first=first)
        env.step = lambda action: (observed, -1.0, False, False, {})  # type: ignore[method-assign]
        with pytest.raises(
            StateError, match=r"the observation .* is not in observation_space, which allows only .*\.\."
        ):
            gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 3)

    def test_numbers_that_start_elsewhere(self) -> None:
        run = gw.learn(PSRL(), gw.Environment(Walk(first=10), goal="terminated"), 30, keep_steps=True)
        assert run.costs[-1] == 3.0
        assert set(run.trajectory.states.tolist()) == {0, 1, 2}

    @pytest.mark.parametrize(
        ("env", "message"),
        [
            (gymnasium.make("CartPole-v1"), r"observations of CartPole-v1 are Box.*at most 4 dimensions"),
            (
                Walk(spaces.Box(0, 3, (2, 2), np.uint8)),
                r"cut the observations into cells.*ravel\(\)\.tolist\(\)\), \.\.\.",
            ),
            (gymnasium.make("Pendulum-v1"), r"observations of Pendulum-v1 are Box.*ContinuousPSRL.*Discretize"),
            (gymnasium.make("Acrobot-v1"), r"ContinuousTask\.from_gymnasium.*Discretize\(env"),
            (gymnasium.make("MountainCarContinuous-v0"), "ContinuousPSRL"),
            (Walk(spaces.MultiDiscrete([10_000, 10_000])), "take 100,000,000 values, but at most"),
            (gymnasium.make_vec("FrozenLake-v1", 2), "is a vector of environments; pass a single environment"),
            (7, "world is 7, which has no reset and no step; it must be an SSP, or an environment"),
            (PSRL, "which has no reset"),
            (None, "world is None, which has no reset"),
        ],
    )
    def test_other_shapes_are_refused(self, env: Any, message: str) -> None:
        with pytest.raises(SettingError, match=message):
            gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 3)

    def test_continuous_actions(self) -> None:
        env = gw.Discretize(gymnasium.make("MountainCarContinuous-v0"), bins=4)
        with pytest.raises(SettingError, match=r"actions of MountainCarContinuous-v0 are Box.* at most 10,000 actions"):
            gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 3)


class TestSteps:
    """What `reset` and `step` return, and errors of their own."""

    @pytest.mark.parametrize(
        "reset",
        [
            lambda seed=None: 0,
            lambda seed=None: np.array([0, 1]),
            lambda seed=None: (0, 0),
            lambda seed=None: (0, {}, {}),
            lambda seed=None: None,
        ],
    )
    def test_a_reset_in_the_old_manner(self, reset: Any) -> None:
        env = Walk()
        env.reset = reset  # type: ignore[method-assign]
        with pytest.raises(SettingError, match=r"Walk\.reset .*reset\(seed=\.\.\.\) must return \(observation, info\)"):
            gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 3)

    @pytest.mark.parametrize("result", [(1, -1.0, False, {}), (1, -1.0), None, 1])
    def test_a_step_in_the_old_manner(self, result: Any) -> None:
        env = Walk()
        env.step = lambda action: result  # type: ignore[method-assign]
        with pytest.raises(
            SettingError, match=r"Walk\.step returned .*\(observation, reward, terminated, truncated, info"
        ):
            gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 3)

    @pytest.mark.parametrize("reward", [None, "much", [1.0, 2.0]])
    @pytest.mark.parametrize("goal", ["terminated", 1.0])
    def test_a_reward_that_is_no_number(self, reward: Any, goal: Any) -> None:
        env = Walk(reward=reward)
        with pytest.raises(CostError, match=r"action \d in state 0 gave the reward .*, which is not a number"):
            gw.learn(PSRL(), gw.Environment(env, goal=goal, give_up_cost=1.0), 3)

    def test_a_reward_that_nobody_reads(self) -> None:
        env = Walk(reward=None)  # type: ignore[arg-type]
        assert gw.learn(PSRL(), gw.Environment(env, goal="terminated", cost=1.0), 30).costs[-1] == 3.0

    @pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, IndexError])
    @pytest.mark.parametrize("method", ["reset", "step"])
    def test_errors_of_the_environment_are_its_own(self, method: str, error: type[Exception]) -> None:
        def broken(*_: Any, **__: Any) -> Any:
            raise error("the sensor is off")

        env = Walk()
        setattr(env, method, broken)
        with pytest.raises(error, match="the sensor is off") as raised:
            gw.learn(PSRL(), gw.Environment(env, goal="terminated"), 3)
        assert raised.type is error


class TestRun:
    """What the run says."""

    def test_there_is_no_regret(self) -> None:
        run = gw.learn(PSRL(), gw.Environment(Walk(), goal="terminated"), 5)
        assert not run.has_model
        assert "optimum unknown" in repr(run)
        with pytest.raises(SettingError, match="regret needs the true model"):
            _ = run.regret

    def test_it_can_be_resumed_wherever_it_starts(self) -> None:
        env = gymnasium.make("Taxi-v4")
        agent = gw.agents.UCSSP(rescale=True)
        first = gw.learn(agent, env, 3, seed=0, max_steps=100)
        again = gw.learn(first.agent, env, 3, seed=1, max_steps=100, resume=True)
        assert again.agent.counts.visits.sum() == 200

    @pytest.mark.parametrize("agent", ["psrl", "uc-ssp", "q-learning", "uniform"])
    def test_every_kind_of_agent(self, agent: str) -> None:
        run = gw.learn(
            gw.agents.make(agent),
            gw.Environment(Walk(cliff=True), goal=lambda o: o.info["is_success"], cost=1.0, give_up_cost=1.0),
            10,
        )
        assert run.reached.all()

    @pytest.mark.parametrize("agent", ["ulcvi", "eb-ssp", "optimal"])
    def test_facts_about_the_true_model_are_not_known(self, agent: str) -> None:
        world = gw.Environment(Walk(), goal="terminated")
        for build in (lambda: gw.agents.make(agent), lambda: gw.agents.find(agent).from_settings({}, world, 10)):
            with pytest.raises(SettingError, match=f"{agent} needs .* use psrl or q-learning"):
                build()


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ((2, 2, 2, 2), "cut off 4 of 4 episodes; check the goal rule, or allow more steps"),
        ((9, 9, 9, 2), "cut off 1 of 4 episodes, also late ones; allow more steps"),
        ((2, 9, 9, 9), "cut off 1 of 4 episodes, none of the last quarter"),
    ],
)
def test_cut_off_episodes_come_with_advice(limits: tuple[int, ...], said: str) -> None:
    class Limited(Walk):
        left: ClassVar[list[int]] = list(limits)

        def reset(self, **options: Any) -> Any:
            self.steps = 0
            return super().reset(**options)

        def step(self, action: Any) -> Any:
            *result, _, info = super().step(1)
            self.steps += 1
            cut = self.steps == self.left[0]
            if cut or result[2]:
                self.left.pop(0)
            return *result, cut, info

    run = gw.learn(gw.agents.make("uniform"), gw.Environment(Limited(), goal="terminated"), 4)
    assert said in run.truncation
    assert said in repr(run)


def test_mistaken_arguments() -> None:
    world = gw.worlds.grid_world()
    with pytest.raises(SettingError, match="agent and world are swapped"):
        gw.learn(world, PSRL(), 3)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="world is the name 'grid-world'; load it with"):
        gw.learn(PSRL(), "grid-world", 3)  # type: ignore[arg-type]


def test_a_run_does_not_depend_on_an_earlier_one() -> None:
    """Observations that are numbered as they appear: the second run starts with none of the first one's."""

    class Jumps:
        action_space = 2

        def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
            if seed is not None:
                self.rng = np.random.default_rng(seed)
            self.place = int(self.rng.integers(5))
            return ("place", self.place), {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.place = int(self.rng.integers(6)) if self.rng.random() < 0.3 else self.place + 2 * action - 1
            return ("place", self.place), -1.0, self.place >= 6, False, {}

    shared = gw.Environment(Jumps(), max_states=50)
    gw.learn(PSRL(), shared, 10, seed=1)
    again, alone = (gw.learn(PSRL(), env, 10, seed=2) for env in (shared, gw.Environment(Jumps(), max_states=50)))
    assert again.agent.task.encoding == alone.agent.task.encoding
    assert again.costs.tolist() == alone.costs.tolist()
