"""What comes out of learning: valid policies, the same after saving, and trials that agree with exact evaluation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import goalward as gw
from goalward import SSP, agents
from goalward.acting.contract import Plan, Step, Steps, Task
from goalward.acting.encoding import Encoding
from goalward.agents.base import Agent, OnlineAgent
from goalward.agents.best_policy import policy_from_seen
from goalward.errors import FileError, SettingError, StateError
from goalward.learning.run import Run, seen_states
from goalward.planning.evaluate import markov_chain
from goalward.seeds import run_seed, streams
from sample_environments import ModelEnvironment

GRID = gw.worlds.grid_world()
# The start leads to the last state before the goal, or into a pit that only giving up leaves.
PIT = SSP.from_rows([0, 2, 3, 4], [1, 2, 3, 2], [0.5, 0.5, 1.0, 1.0], np.ones((3, 1))).with_give_up(3.0)
PIT_TABLE = np.array([0, 0, 1])
TABULAR = [name for name in agents.known() if not agents.find(name).continuous]


def run_of(name: str, world: SSP = GRID, episodes: int = 150, seed: int = 0) -> Run:
    return gw.learn(agents.find(name).from_world(world, episodes=episodes), world, episodes, seed, max_steps=50_000)


def exact_cost(world: SSP, table: Any) -> float:
    return float(gw.evaluate(world, table).costs[world.initial_state])


def policy_for(world: SSP, table: Any, **fields: Any) -> gw.LearntPolicy:
    visited = np.ones(world.states, dtype=np.bool_)
    return gw.LearntPolicy(np.asarray(table), visited, world.actions, world.give_up, **fields)


class TestEveryAgent:
    """Over the registry."""

    @pytest.mark.parametrize("name", TABULAR)
    def test_a_policy_that_is_saved_and_loaded(self, name: str, tmp_path: Path) -> None:
        run = run_of(name)
        before = run.agent.to_state()
        policy = run.policy
        assert isinstance(policy, gw.LearntPolicy)
        np.testing.assert_equal(run.agent.to_state(), before, "asking for the policy changes the agent")
        uniform = GRID.available / GRID.available.sum(axis=1, keepdims=True)
        assert exact_cost(GRID, policy.table) <= exact_cost(GRID, uniform) * (1 + 1e-9)
        policy.save(tmp_path / "policy.npz")
        loaded = gw.load_policy(tmp_path / "policy.npz")
        for state in range(GRID.states):
            actions = [policy.act(state) for _ in range(5)]
            assert actions == [loaded.act(state) for _ in range(5)]
            assert GRID.available[state, actions].all()
            assert policy.knows(state) == loaded.knows(state)

    @pytest.mark.parametrize(
        "model",
        [gw.worlds.four_rooms(), gw.worlds.random_mdp(), gw.worlds.grid_map("S.O..\n...O.\n.O..G").with_give_up(20.0)],
        ids=["four-rooms", "random-mdp", "pits"],
    )
    def test_at_least_as_good_as_the_last_plan(self, model: SSP) -> None:
        """In the mean over five fixed runs of psrl, exactly evaluated, but for one percent: a plan can be lucky."""
        runs = [run_of("psrl", model, 200, seed) for seed in range(5)]
        deployed = [exact_cost(model, run.policy.table) for run in runs]
        plans = [exact_cost(model, run.agent.plan(model.initial_state).policy) for run in runs]
        assert np.mean(deployed) <= 1.01 * np.mean(plans)
        assert np.mean(deployed) <= 1.1 * gw.solve(model).values[model.initial_state]


class TestWhatIsDeployed:
    """What was only imagined is not deployed."""

    def test_an_action_that_was_never_tried_does_not_win(self) -> None:
        """One state; action 0 reached the goal in 2 of 8 tries, action 1 was never played."""
        task = Task(np.array([[1.0, 1.0]]), 0, 10)
        belief = gw.Dirichlet(1.0).belief(task)
        goals = np.array([0, 1] + [0] * 5 + [1])
        columns = np.zeros(8, dtype=np.int64), np.zeros(8, dtype=np.int64), np.ones(8), goals
        belief.update(Steps.in_table(*columns, 1))
        visits = np.array([[8, 0]])
        assert gw.solve(belief.mean()).policy[0] == 1, "the prior imagines that it reaches the goal half of the time"
        assert policy_from_seen(task, belief.seen_mean(), visits)[0] == 0
        assert not belief.seen_mean().available[0, 1]

    def test_one_lucky_try_does_not_win(self) -> None:
        """Action 1 is a third cheaper by what was seen once; action 0 was played a hundred times."""
        model = SSP.from_rows([0, 1, 2], [1, 1], [1.0, 1.0], [[1.0, 0.7]])
        assert policy_from_seen(Task.of(model, 1), model, np.array([[100, 1]]))[0] == 0
        assert policy_from_seen(Task.of(model, 1), model, np.array([[100, 5]]))[0] == 1

    def test_without_a_way_to_the_goal_something_new_is_tried(self) -> None:
        model = SSP.from_rows([0, 1, 1], [0], [1.0], [[1.0, np.inf]])
        task = Task(np.array([[1.0, 1.0]]), 0, 1)
        assert policy_from_seen(task, model, np.array([[5, 0]]))[0] == 1

    def test_priors_that_share_rows_are_taken_as_they_are(self) -> None:
        """The mean of a finite prior knows pairs that were never played."""
        other = GRID.with_costs(GRID.costs)
        run = gw.learn(agents.PSRL(gw.FinitePrior([GRID, other])), GRID, 3, max_steps=500)
        assert exact_cost(GRID, run.policy.table) == pytest.approx(gw.solve(GRID).values[0], rel=1e-5)

    def test_a_broken_off_episode_leads_to_the_start(self) -> None:
        """State 1 was reached and never acted in."""
        belief = gw.Dirichlet(0.1).belief(Task(np.ones((2, 1)), 0, 1))
        columns = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.ones(4), np.array([0, 1, 1, 2])
        belief.update(Steps.in_table(*columns, 2))
        model = belief.seen_mean()
        np.testing.assert_allclose(model.row(0, 0)[1], [3.2 / 4.3, 1.1 / 4.3])
        assert model.row(0, 0)[0].tolist() == [0, 2]

    @pytest.mark.parametrize("name", ["psrl", "kl-index", "bernstein-ssp", "uc-ssp"])
    def test_the_estimated_model_is_close_to_the_true_one(self, name: str) -> None:
        run = run_of(name, episodes=2000)
        model = run.model()
        assert model.layout is GRID.layout
        assert gw.solve(model).values[0] == pytest.approx(gw.solve(GRID).values[0], rel=0.1)

    def test_agents_without_a_model_say_so(self) -> None:
        with pytest.raises(SettingError, match="q-learning does not estimate a model"):
            run_of("q-learning").model()

    def test_states_that_never_appeared_are_left_out(self) -> None:
        space = {"kind": "discrete", "n": 2, "start": 0}
        encoding = Encoding(None, space, max_states=5, keys=["a", "b", "c"])
        model = SSP.from_rows([0, 1, 1, 1, 3, *[3] * 6], [2, 1, 5], [1.0, 0.5, 0.5], np.ones((5, 2)), 0)
        model = model._replace(successors=np.array([1, 1, 5], dtype=np.int32))
        seen = seen_states(model, np.array([[1, 0], [0, 2], [0, 0], [0, 0], [0, 0]]), encoding)
        assert (seen.state_names, seen.action_names) == (("a", "b"), ("0", "1"))
        assert gw.solve(seen).values.tolist() == pytest.approx([3.0, 2.0])


class Fixed(Agent):
    """A user's agent that plans one table."""

    table: Any = None

    def plan(self, state: int) -> Plan:
        return Plan(np.asarray(self.table))

    def observe(self, steps: Steps) -> None:
        pass


class StepByStep(OnlineAgent):
    """A user's agent without a table."""

    def act(self, state: int, draw: Any) -> int:
        return 0

    def learn(self, step: Step[int]) -> int:
        return 0


class Remembering(Fixed):
    """A user's agent that would learn, but plans only once."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.steps_seen = 0


class TestUserAgents:
    """Agents that only define what they must."""

    def test_the_plan_is_the_policy(self) -> None:
        best = gw.solve(GRID).policy
        run = gw.learn(Fixed(best.tolist()), GRID, 3)
        assert run.policy.table.tolist() == best.tolist()

    def test_an_online_agent_has_to_define_its_policy(self) -> None:
        run = gw.learn(StepByStep(), GRID, 3, max_steps=10)
        with pytest.raises(SettingError, match=r"StepByStep .* define a method best_policy\(self\)"):
            run.policy  # noqa: B018


class TestUnknownObservations:
    """Where the agent never acted."""

    def run(self, world: SSP) -> Run:
        return gw.learn(agents.PSRL(), world, 1, max_steps=3)

    def test_an_available_action_at_random(self) -> None:
        policy = self.run(GRID).policy
        unknown = next(state for state in range(GRID.states) if not policy.knows(state))
        actions = {policy.act(unknown) for _ in range(200)}
        assert actions == set(np.flatnonzero(GRID.available[unknown]).tolist())

    def test_give_up_where_that_is_possible(self) -> None:
        policy = self.run(GRID.with_give_up(2.0)).policy
        assert [policy.act(state) for state in range(GRID.states) if not policy.knows(state)][:3] == [None] * 3

    def test_an_observation_without_a_number(self) -> None:
        with pytest.raises(StateError, match="observation 'door' is not a state"):
            policy_for(GRID, np.zeros(GRID.states, dtype=np.int64)).act("door")
        space = {"kind": "discrete", "n": 2, "start": 5}
        numbered = Encoding(None, space, max_states=1, keys=["home"])
        policy = gw.LearntPolicy(np.array([1]), np.array([True]), 2, None, numbered)
        assert (policy.act("home"), policy.knows("home"), policy.knows("away")) == (6, True, False)
        assert {policy.act("away") for _ in range(50)} == {5, 6}
        numbered = Encoding(None, space, max_states=1, keys=["home"], give_up=True)
        policy = gw.LearntPolicy(np.array([1]), np.array([True]), 3, 2, numbered)
        assert (policy.act("home"), policy.act("away")) == (6, None)


class TestTrial:
    """Against exact evaluation; seeds are fixed."""

    def test_cost_and_success_rate_cover_the_truth(self) -> None:
        """200 trials of 60 episodes of skewed costs. The chance of a success is 1/2.

        With a true coverage of 0.93 of the mean, fewer than 172 of 200 have probability 2e-4; with at least 0.95 of
        the rate, fewer than 178 have probability 1e-4.
        """
        policy = policy_for(PIT, PIT_TABLE)
        cost = exact_cost(PIT, PIT_TABLE)
        trials = [policy.evaluate(PIT, 60, seed) for seed in range(200)]
        assert sum(trial.cost.low <= cost <= trial.cost.high for trial in trials) >= 172
        assert sum(trial.success_rate.low <= 0.5 <= trial.success_rate.high for trial in trials) >= 178
        # The mean of all 12,000 episodes is within four standard errors: probability 6e-5.
        costs = np.concatenate([trial.costs for trial in trials])
        assert abs(costs.mean() - cost) <= 4 * costs.std() / np.sqrt(len(costs))

    def test_probabilities(self) -> None:
        """Four standard errors: probability 6e-5."""
        uniform = GRID.available / GRID.available.sum(axis=1, keepdims=True)
        trial = policy_for(GRID, uniform).evaluate(GRID, 2000)
        assert abs(trial.costs.mean() - exact_cost(GRID, uniform)) <= 4 * trial.costs.std() / np.sqrt(2000)

    def test_an_environment_is_the_same_as_its_model(self) -> None:
        policy = run_of("psrl").policy
        in_model, in_environment = policy.evaluate(GRID, 30), policy.evaluate(ModelEnvironment(GRID), 30)
        np.testing.assert_array_equal(in_model.costs, in_environment.costs)
        np.testing.assert_array_equal(in_model.steps, in_environment.steps)

    def test_one_reset_for_each_episode(self) -> None:
        environment = ModelEnvironment(GRID)
        world = gw.Environment(environment)
        before = environment.resets
        run_of("psrl").policy.evaluate(world, 30)
        assert environment.resets == before + 30

    def test_attempts_are_counted(self) -> None:
        trial = policy_for(PIT, PIT_TABLE).evaluate(PIT, 300)
        # An episode: two steps, and two steps more and the price for each failed attempt.
        np.testing.assert_allclose(trial.costs, 2.0 + 4.0 * (trial.attempts - 1))
        np.testing.assert_array_equal(trial.steps, 2 + 2 * (trial.attempts - 1))
        assert trial.successes == 300

    def test_a_policy_that_never_reaches_the_goal_ends(self) -> None:
        loop = SSP.from_rows([0, 1, 2], [0, 1], [1.0, 1.0], [[1.0, 1.0]])
        trial = policy_for(loop, [0]).evaluate(loop, 5, max_steps=40)
        assert trial.steps.tolist() == [40] * 5
        assert (trial.successes, trial.success_rate.value) == (0, 0.0)
        assert "at least" in str(trial)
        assert "5 did not reach the goal" in str(trial)

    def test_a_dead_end_is_a_failure(self) -> None:
        pit = SSP.from_rows([0, 2, 2], [1, 2], [0.5, 0.5], [[1.0], [np.inf]])
        trial = policy_for(pit, [0, 0]).evaluate(pit, 400)
        assert trial.attempts.tolist() == [1] * 400
        assert trial.success_rate.low <= 0.5 <= trial.success_rate.high
        assert (trial.steps == 1).all()

    def test_truncations_restart_an_episode(self) -> None:
        class Cut(ModelEnvironment):
            """Breaks episodes off after some steps."""

            def __init__(self, ssp: SSP, limit: int = 9):
                super().__init__(ssp)
                self.limit = limit

            def reset(self, **options: Any) -> Any:
                self.left = self.limit
                return super().reset(**options)

            def step(self, action: int) -> Any:
                observation, reward, terminated, _, info = super().step(action)
                self.left -= 1
                return observation, reward, terminated, not terminated and self.left == 0, info

        policy = run_of("psrl").policy
        trial = policy.evaluate(Cut(GRID), 50)
        assert trial.reached.all()
        assert (trial.attempts > 1).any()
        np.testing.assert_array_equal(trial.attempts, -(-trial.steps // 9))
        cut = policy.evaluate(Cut(GRID, 4), 5, max_steps=8)
        assert (cut.attempts.tolist(), cut.successes) == ([2] * 5, 0)

    def test_episodes_are_paired_by_their_seeds(self) -> None:
        class Recorded(ModelEnvironment):
            """Records the seeds of its resets."""

            seeds: tuple[int, ...] = ()

            def reset(self, *, seed: int | None = None, **options: Any) -> Any:
                self.seeds += () if seed is None else (seed,)
                return super().reset(seed=seed, **options)

        worlds = Recorded(GRID), Recorded(GRID)
        for world, name in zip(worlds, ("psrl", "uniform"), strict=True):
            run_of(name).policy.evaluate(world, 4, seed=3)
        expected = tuple(streams(run_seed(3, "trial", k)).environment for k in range(4))
        assert worlds[0].seeds == worlds[1].seeds == expected

    def test_another_world_is_refused(self) -> None:
        with pytest.raises(SettingError, match="the policy has 3 states and 2 actions"):
            policy_for(PIT, PIT_TABLE).evaluate(GRID)

    def test_two_lines(self) -> None:
        trial = policy_for(PIT, PIT_TABLE).evaluate(PIT, 100)
        assert len(str(trial).splitlines()) == 2


class TestFiles:
    """Saved policies."""

    def save(self, path: Path, **options: Any) -> gw.LearntPolicy:
        space = {"kind": "discrete", "n": 2, "start": 0}
        encoding = Encoding(None, space, max_states=2, keys=[(1, "x"), (2, "y")], give_up=True, **options)
        policy = gw.LearntPolicy(np.array([1, 2]), np.array([True, True]), 3, 2, encoding)
        policy.save(path)
        return policy

    def test_without_gymnasium_and_environment(self, tmp_path: Path) -> None:
        self.save(tmp_path / "policy.npz")
        code = (
            "import sys; sys.modules['gymnasium'] = None\n"
            "import goalward as gw\n"
            f"policy = gw.load_policy({str(tmp_path / 'policy.npz')!r})\n"
            "print(policy.act((1, 'x')), policy.act((2, 'y')), policy.act('new'), policy.knows('new'))\n"
            "print('goalward.environments' in ' '.join(sys.modules))\n"
        )
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert answer.split() == ["1", "None", "None", "False", "False"]

    def test_an_observation_without_one_of_its_keys(self, tmp_path: Path) -> None:
        part = gymnasium.spaces.Discrete(2)

        class Doors(gymnasium.Env):
            """One step from the start to the goal."""

            observation_space, action_space = gymnasium.spaces.Dict({"row": part, "open": part}), part

            def reset(self, **options: Any) -> Any:
                return {"row": 0, "open": 0}, {}

            def step(self, action: int) -> Any:
                return {"row": 1, "open": 0}, -1.0, True, False, {}

        run = gw.learn(agents.PSRL(), gw.Environment(Doors(), goal="terminated"), 3)
        run.policy.save(tmp_path / "policy.npz")
        policy = gw.load_policy(tmp_path / "policy.npz")
        assert policy.knows({"row": 0, "open": 0})
        for observation in ({"open": 0}, {"rwo": 0, "open": 0}):
            with pytest.raises(StateError, match=r"allows only a dict of \(open: .*, row: "):
                policy.act(observation)

    def test_the_function_that_numbers_observations_is_needed(self, tmp_path: Path) -> None:
        self.save(tmp_path / "policy.npz", key=tuple)
        with pytest.raises(FileError, match=r"load_policy\(path, key=function\)"):
            gw.load_policy(tmp_path / "policy.npz")
        assert gw.load_policy(tmp_path / "policy.npz", key=tuple).act([1, "x"]) == 1
        self.save(tmp_path / "plain.npz")
        with pytest.raises(FileError, match="pass key as in the training, here without key"):
            gw.load_policy(tmp_path / "plain.npz", key=tuple)

    def test_an_agent_is_no_policy(self, tmp_path: Path) -> None:
        agents.save(run_of("psrl", episodes=2).agent, tmp_path / "agent.npz")
        with pytest.raises(FileError, match="expected 'goalward-policy'"):
            gw.load_policy(tmp_path / "agent.npz")

    def test_chains_of_loaded_policies_are_the_same(self, tmp_path: Path) -> None:
        policy = run_of("psrl").policy
        policy.save(tmp_path / "policy.npz")
        loaded = gw.load_policy(tmp_path / "policy.npz")
        assert isinstance(loaded, gw.LearntPolicy)
        assert markov_chain(GRID, loaded.table) == markov_chain(GRID, policy.table)
