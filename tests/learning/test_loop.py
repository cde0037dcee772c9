"""`learn`: what it records, how it ends, what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from goalward import SSP, Dirichlet, Environment, agents, learn, worlds
from goalward.acting.stop_conditions import Ended
from goalward.agents import PSRL, Agent, EpisodePSRL, Plan, Steps, Task
from goalward.errors import BeliefError, PolicyError, SettingError, StateError, UnreachableGoalError
from sample_environments import Counter, Fickle, ModelEnvironment, chain


class TestEnds:
    """Why runs end."""

    def test_all_episodes(self) -> None:
        run = learn(Fickle(), worlds.grid_world(2, 2), 30, seed=1)
        assert run.ended == Ended.EPISODES
        assert not run.truncated
        assert run.reached.all()
        assert len(run.costs) == len(run.steps) == len(run.regret) == len(run.gap_regret) == 30

    @pytest.mark.parametrize("limit", [1, 7, 100])
    def test_max_steps(self, limit: int) -> None:
        run = learn(agents.make("uniform"), worlds.grid_world(), 1000, seed=1, max_steps=limit, keep_steps=True)
        assert run.ended == Ended.MAX_STEPS
        assert run.truncated
        assert run.total_steps == limit
        assert run.trajectory is not None
        assert len(run.reached) == np.count_nonzero(run.trajectory.next_states[:-1] == 11) + 1
        assert run.reached[:-1].all()
        assert "truncated (max_steps ended the run)" in repr(run)

    def test_limit_on_the_last_step_of_an_episode(self) -> None:
        run = learn(agents.make("optimal", model=chain(3)), chain(3), 5, max_steps=6)
        assert run.reached.tolist() == [True, True]
        assert run.truncated

    def test_watch(self) -> None:
        seen: list[tuple[int, int]] = []

        def watch(episodes: int, steps: int) -> bool:
            seen.append((episodes, steps))
            return episodes < 10

        run = learn(PSRL(), worlds.grid_world(), 1000, seed=0, watch=watch)
        assert run.ended == Ended.STOPPED
        assert run.truncated
        assert seen[-1] == (np.count_nonzero(run.reached), run.total_steps)
        assert seen == sorted(seen)

    def test_dead_end(self) -> None:
        """Action 1 may lead to a state in which nothing can be done."""
        P = np.zeros((2, 2, 3))
        P[0, 0, 2], P[0, 1, 1] = 1.0, 1.0
        world = SSP.from_dense(P, np.ones((2, 2)))
        for place in (world, ModelEnvironment(world)):
            run = learn(agents.make("uniform"), place, 1000, seed=0, max_steps=10_000)
            assert run.ended == Ended.DEAD_END
            assert run.truncated
            assert np.isinf(run.gap_regret[-1])
        with pytest.raises(StateError, match="no action is available in state 1, but counter needs"):
            learn(Counter(), world, 10, max_steps=100)

    def test_environment_that_breaks_off(self) -> None:
        environment = ModelEnvironment(chain(3, back=0.5), limit=4)
        run = learn(agents.make("optimal", model=environment.ssp), environment, 200, seed=0, keep_steps=True)
        assert run.ended == Ended.EPISODES
        assert run.truncated
        assert 0 < np.count_nonzero(run.reached) < 200
        assert (run.steps[~run.reached] == 4).all()
        assert environment.resets == 200
        assert run.epochs.goals.sum() == np.count_nonzero(run.reached)
        cut = np.count_nonzero(~run.reached)
        assert f"truncated (the environment cut off {cut} of 200 episodes, also late ones; allow" in repr(run)
        counter = learn(Counter(), ModelEnvironment(chain(3, back=0.5), limit=4), 200, seed=0)
        assert len(counter.costs) == 200

    @pytest.mark.parametrize("shape", [Fickle, Counter])
    def test_agents_are_told_of_episodes_that_are_cut_off(self, shape: type[Fickle | Counter]) -> None:
        """After the steps that led there, once for each of them, and never on a model."""

        @dataclass(eq=False)
        class Told(shape):  # type: ignore[misc, valid-type]
            def begin(self, task: Task, rng: np.random.Generator) -> None:
                super().begin(task, rng)
                self.steps, self.restarts = 0, []

            def observe(self, steps: Steps) -> None:
                super().observe(steps)
                self.steps += len(steps.states)

            def restart(self) -> None:
                self.restarts.append(self.steps)

        world = worlds.grid_world(2, 2)
        run = learn(Told(), ModelEnvironment(world, limit=3), 50, seed=0, max_steps=1000)
        assert 0 < np.count_nonzero(run.reached) < 50
        assert run.agent.restarts == np.cumsum(run.steps)[~run.reached].tolist()
        assert learn(Told(), world, 50, seed=0, max_steps=1000).agent.restarts == []

    def test_a_plan_ends_with_an_episode_that_is_cut_off_if_it_says_so(self) -> None:
        environment = ModelEnvironment(chain(9), limit=4)
        run = learn(EpisodePSRL(), environment, 10, seed=0)
        assert len(run.epochs) == 10
        assert run.epochs.ended_by(Ended.TRUNCATED).all()
        assert not learn(PSRL(), environment, 10, seed=0).epochs.ended_by(Ended.TRUNCATED).any()

    def test_several_reasons(self) -> None:
        """Two episodes are cut off after four steps each, the third is under way when the run ends."""
        run = learn(agents.make("uniform"), ModelEnvironment(chain(9), limit=4), 10, seed=0, max_steps=10)
        assert run.truncation.startswith("max_steps ended the run and the environment cut off 2 of 2 episodes; check")
        assert learn(agents.make("uniform"), chain(2), 2).truncation == ""


class TestEnvironments:
    """Environments without a model."""

    class Bare:
        """Walks 0, 1, goal; says no more about itself than that it has one action."""

        action_space = 1

        def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, object]]:
            self.place = 0
            return 0, {}

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, object]]:
            self.place += 1
            return self.place, -0.5, self.place == 2, False, {}

    def test_learning_without_a_model(self) -> None:
        run = learn(PSRL(), Environment(self.Bare(), cost="reward", max_states=2), 10)
        assert run.costs.tolist() == [1.0] * 10
        with pytest.raises(SettingError, match="regret needs the true model"):
            _ = run.regret
        with pytest.raises(SettingError, match="regret needs the true model"):
            _ = run.gap_regret
        assert "regret" not in repr(run)

    @pytest.mark.parametrize("limits", [np.full((11, 4), np.inf), np.full((11, 4), 1.5), np.ones(11, dtype=np.int64)])
    def test_limits_of_visits(self, limits: np.ndarray) -> None:
        class Limited(Fickle):
            def plan(self, state: int) -> Plan:
                return Plan(super().plan(state).policy, stop_after_visits=limits)

        for place in (worlds.grid_world(), ModelEnvironment(worlds.grid_world())):
            with pytest.raises(PolicyError, match=r"visit limits .* pass integers of shape \(11, 4\)"):
                learn(Limited(), place, 1)

    def test_agents_that_remember(self) -> None:
        """What a class keeps in a container of its own stays with the run."""

        class Hoarder(Fickle):
            def __init__(self) -> None:
                super().__init__()
                self.lengths: list[int] = []

            def observe(self, steps: Steps) -> None:
                self.lengths.append(len(steps.states))

        agent = Hoarder()
        first = learn(agent, worlds.grid_world(2, 2), 5, seed=0)
        again = learn(agent, worlds.grid_world(2, 2), 5, seed=0)
        assert agent.lengths == []
        assert first.agent.lengths == again.agent.lengths != []  # type: ignore[attr-defined]

    def test_the_number_of_actions_is_asked_for(self) -> None:
        class Silent(self.Bare):
            action_space = None

        with pytest.raises(SettingError, match=r"Silent has no action_space; set action_space to"):
            learn(PSRL(), Silent(), 10)


class TestResume:
    """Going on with what was learnt."""

    def test_going_on(self) -> None:
        world = worlds.grid_world()
        first = learn(PSRL(), world, 400, seed=0)
        second = learn(first.agent, world, 400, seed=1, resume=True)
        fresh = learn(PSRL(), world, 400, seed=1)
        assert second.gap_regret[-1] < 0.5 * fresh.gap_regret[-1]
        assert isinstance(first.agent, PSRL)
        assert isinstance(second.agent, PSRL)
        # The first agent has stayed as it was.
        assert first.agent.visits.sum() == first.total_steps
        assert second.agent.visits.sum() == first.total_steps + second.total_steps

    def test_nothing_learnt(self) -> None:
        with pytest.raises(SettingError, match="has not learnt anything yet"):
            learn(PSRL(), worlds.grid_world(), 10, resume=True)

    def test_another_world(self) -> None:
        run = learn(PSRL(), worlds.grid_world(), 10)
        with pytest.raises(SettingError, match="another world"):
            learn(run.agent, worlds.grid_world(2, 2), 10, resume=True)


class TestKept:
    """Plans and steps are kept when asked for."""

    def test_nothing_by_default(self) -> None:
        run = learn(PSRL(), worlds.grid_world(), 10)
        assert run.plans is None
        assert run.trajectory is None

    def test_steps(self) -> None:
        run = learn(PSRL(), worlds.grid_world(), 50, keep_steps=True)
        assert run.trajectory is not None
        ends = np.flatnonzero(run.trajectory.next_states == 11)
        np.testing.assert_array_equal(np.diff(ends, prepend=-1), run.steps)
        np.testing.assert_array_equal(np.add.reduceat(run.trajectory.costs, np.append(0, ends[:-1] + 1)), run.costs)

    def test_instrumentation_changes_nothing(self) -> None:
        plain = learn(PSRL(), worlds.grid_world(), 100, seed=5)
        kept = learn(PSRL(), worlds.grid_world(), 100, seed=5, keep_plans=True, keep_steps=True)
        np.testing.assert_array_equal(plain.costs, kept.costs)


class TestRefusals:
    """Bad input, before anything runs."""

    @pytest.mark.parametrize("episodes", [0, -1, 1.5, "ten", None, 10**26])
    def test_episodes(self, episodes: object) -> None:
        with pytest.raises(SettingError, match="episodes is"):
            learn(PSRL(), worlds.grid_world(), episodes)  # type: ignore[arg-type]

    @pytest.mark.parametrize("seed", [-1, 0.5, "0", None, True])
    def test_seed(self, seed: object) -> None:
        with pytest.raises(SettingError, match="seed is"):
            learn(PSRL(), worlds.grid_world(), 10, seed)  # type: ignore[arg-type]

    def test_max_steps(self) -> None:
        with pytest.raises(SettingError, match="max_steps is 0"):
            learn(PSRL(), worlds.grid_world(), 10, max_steps=0)

    def test_agent(self) -> None:
        with pytest.raises(SettingError, match="agent is 'psrl'; pass an Agent"):
            learn("psrl", worlds.grid_world(), 10)  # type: ignore[arg-type]

    def test_goal_out_of_reach(self) -> None:
        stuck = SSP.from_dense([[[1.0, 0.0]]], [[1.0]])
        with pytest.raises(UnreachableGoalError):
            learn(PSRL(), stuck, 10)

    def test_support_without_an_observed_transition(self) -> None:
        world = worlds.grid_world()
        sure = worlds.grid_world(success=1.0)
        with pytest.raises(BeliefError, match="the support of the prior excludes"):
            learn(PSRL(prior=Dirichlet(0.1, support=sure)), world, 100)

    def test_wrong_policy(self) -> None:
        class Wrong(Agent):
            name = "wrong"

            def plan(self, state: int) -> Plan:
                return Plan(np.full(3, 5))

            def observe(self, steps: Steps) -> None:
                pass

        with pytest.raises(PolicyError, match="plays action 5, which is not available in state 0"):
            learn(Wrong(), chain(3), 10)


def test_epochs_say_that_several_conditions_may_end_one() -> None:
    epochs = learn(PSRL(), worlds.grid_world(), 50, seed=0).epochs
    both = epochs.ended_by(Ended.AFTER_VISITS) & epochs.ended_by(Ended.GOALS)
    assert both.any()
    assert repr(epochs).endswith(", some by several at once)")


@dataclass(eq=False)
class Confused(Agent):
    """Returns an action where a plan is asked for."""

    name = "confused"

    def plan(self, state: int) -> Plan:
        return 0  # type: ignore[return-value]

    def observe(self, steps: Steps) -> None:
        """Learn nothing."""


def test_a_plan_that_is_none_is_named() -> None:
    with pytest.raises(PolicyError, match=r"the agent returned 0; make it return a Plan, such as Plan\(policy\)"):
        learn(Confused(), worlds.grid_world(), 1)
