"""PSRL-SSP against Algorithm 1 read literally, and its options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import goalward as gw
from goalward import SSP, Dirichlet, FinitePrior, learn, worlds
from goalward.acting.contract import Steps, Task
from goalward.acting.stop_conditions import Ended
from goalward.agents import PSRL, TSDE, DoublingPSRL, EpisodePSRL, PosteriorMean, StepPSRL
from goalward.agents.posterior.psrl import cost_floor
from goalward.beliefs.base import Prior
from goalward.beliefs.base import registry as priors
from goalward.errors import SettingError, UnknownNameError
from goalward.learning.run import Run
from sample_environments import ModelEnvironment, chain


def literal_epochs(steps: Steps, S: int, A: int) -> tuple[list[int], list[int]]:
    """Walk through a trajectory with the pseudo-code of Algorithm 1; return t_l - 1 and K_l, l = 1, 2, ...

    Everything is numbered as in the paper: t and k from 1, n_t(s, a) counts steps before t.
    """
    n = np.zeros((S, A), dtype=int)
    n_start = n.copy()
    ell, k_start, K = 0, 0, {-1: 0}
    starts = []
    t, k = 1, 1
    for s, a, s_next in zip(steps.states, steps.actions, steps.next_states, strict=True):
        if k - k_start > K[ell - 1] or (n > 2 * n_start).any():
            K[ell] = k - k_start
            ell += 1
            starts.append(t - 1)
            k_start = k
            n_start = n.copy()
        n[s, a] += 1
        if s_next == S:
            k += 1
        t += 1
    K[ell] = k - k_start
    return starts, [K[i] for i in range(1, ell + 1)]


@pytest.mark.parametrize(("states", "prior"), [(50, Dirichlet(0.1)), (51, gw.Neighbourhoods())])
def test_the_number_of_states_chooses_the_default_prior(states: int, prior: Prior, tmp_path: Path) -> None:
    world = worlds.sparse_mdp(states)
    run, named = (learn(agent, world, 3, seed=1, keep_steps=True) for agent in (PSRL(), PSRL(prior)))
    assert np.array_equal(run.trajectory, named.trajectory)  # type: ignore[arg-type]
    assert run.notes == {"prior": repr(prior)}
    assert named.notes == {}
    gw.agents.save(run.agent, tmp_path / "agent.npz")
    loaded = gw.agents.load(tmp_path / "agent.npz")
    assert isinstance(loaded, PSRL)
    assert loaded.prior is None
    one, other = (learn(agent, world, 2, seed=2, resume=True) for agent in (run.agent, loaded))
    assert np.array_equal(one.costs, other.costs)


@pytest.mark.parametrize("world", [worlds.grid_world(), worlds.random_mdp(), chain(3, back=0.3)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_epochs_are_those_of_algorithm_1(world: SSP, seed: int) -> None:
    run = learn(PSRL(), world, 300, seed, keep_steps=True)
    assert run.trajectory is not None
    starts, goals = literal_epochs(run.trajectory, world.states, world.actions)
    assert run.epochs.start_step.tolist() == starts
    assert run.epochs.goals.tolist() == goals
    assert run.epochs.steps.tolist() == np.diff([*starts, run.total_steps]).tolist()


def test_first_epoch_may_reach_the_goal_twice() -> None:
    """K_0 = 1. With every pair visited a hundred times before, no doubling is in the way."""
    world = chain(1)
    agent = PSRL()
    agent.begin(Task.of(world, 10), np.random.default_rng(0))
    agent.visits += 100
    assert agent.plan(0).stop_after_goals == 2
    one = np.zeros(1, dtype=np.int64)
    agent.observe(Steps.in_table(one, one, np.ones(1), one + 1, world.goal))
    agent.observe(Steps.in_table(one, one, np.ones(1), one + 1, world.goal))
    assert agent.plan(0).stop_after_goals == 3
    assert agent.plan(0).stop_after_goals == 1


def test_policies_are_optimal_for_their_models() -> None:
    run = learn(PSRL(), worlds.grid_world(), 200, seed=3, keep_plans=True)
    assert run.plans is not None
    assert len(run.plans) == len(run.epochs)
    for plan in run.plans[::5]:
        assert plan.model is not None
        assert plan.values is not None
        best = gw.solve(plan.model)
        np.testing.assert_allclose(gw.evaluate(plan.model, plan.policy).costs, best.values, rtol=1e-5)
        np.testing.assert_allclose(plan.values, best.values, rtol=1e-5)


def test_belief_has_seen_every_step() -> None:
    world = worlds.grid_world()
    run = learn(PSRL(), world, 100, seed=3, keep_steps=True)
    assert run.trajectory is not None
    agent = run.agent
    assert isinstance(agent, PSRL)
    fresh = Dirichlet(0.1).belief(Task.of(world, 100))
    fresh.update(run.trajectory)
    assert agent.belief.mean() == fresh.mean()
    assert agent.visits.sum() == run.total_steps
    assert agent.k == 101


@pytest.mark.parametrize("concentration", [1e-6, 1e-3, 10.0])
def test_extreme_concentrations_finish(concentration: float) -> None:
    """Samples in which the goal is out of reach in practice neither stall nor overflow anything."""
    run = learn(PSRL(prior=Dirichlet(concentration)), worlds.grid_world(), 60, seed=1, max_steps=200_000)
    assert not run.truncated


def test_regret_on_the_grid_of_the_paper() -> None:
    """The mean over eight fixed seeds lies where the published figure does, 550 at 10,000 episodes."""
    runs = [learn(PSRL(), worlds.grid_world(), 10_000, seed) for seed in range(8)]
    assert 400 < np.mean([run.gap_regret[-1] for run in runs]) < 700
    assert 400 < np.mean([run.regret[-1] for run in runs]) < 700


def test_regret_on_the_random_mdp() -> None:
    """The median run of nine stays below three per cent of the uniformly random policy."""
    world = worlds.random_mdp(states=8, seed=5, rows="uniform")
    psrl = np.median([learn(PSRL(), world, 10_000, seed).gap_regret[-1] for seed in range(9)])
    uniform = learn(gw.agents.make("uniform"), world, 10_000, 0).gap_regret[-1]
    assert psrl < 0.03 * uniform


def test_knowing_more_costs_less() -> None:
    """Informed priors in order: any successor, the right successors, three candidates."""
    world = worlds.grid_world()
    priors = [
        Dirichlet(0.1),
        Dirichlet(0.1, support=world),
        FinitePrior([worlds.grid_world(success=success) for success in (0.5, 0.85, 1.0)]),
    ]
    mean = [
        np.mean([learn(PSRL(prior=prior), world, 200, seed).gap_regret[-1] for seed in range(4)]) for prior in priors
    ]
    assert mean[0] > mean[1] > 5 * mean[2]


class TestPerturbedCosts:
    """Theorem 2: plan with max(c, eps), measure with c."""

    world = chain(3, back=0.2).with_costs(np.array([[0.0, 0.5]] * 3))

    def test_epsilon(self) -> None:
        assert cost_floor(Task.of(self.world, 1000)) == pytest.approx((9 * 2 / 1000) ** (2 / 3), rel=1e-12)
        run = learn(PSRL(perturb_costs=True), self.world, 1000, seed=0)
        assert run.notes == {"prior": "Dirichlet(0.1)", "cost_floor": cost_floor(Task.of(self.world, 1000))}

    def test_caveats(self) -> None:
        """S² A is 18: with fewer episodes epsilon is above 1, and Theorem 2 does not hold."""
        few = learn(PSRL(perturb_costs=True), self.world, 17, seed=0)
        assert "Theorem 2 needs at least S² A = 18 episodes" in str(few.notes["caveat"])
        above = learn(PSRL(perturb_costs=0.6, sharpness=2.0), self.world, 50, seed=0)
        assert "above every cost" in str(above.notes["caveat"])
        assert "sharpness" in str(above.notes["caveat"])
        for covered in (PSRL(perturb_costs=True), PSRL(perturb_costs=0.4)):
            assert "caveat" not in learn(covered, self.world, 60, seed=0).notes

    def test_planning_and_paying(self) -> None:
        run = learn(PSRL(perturb_costs=0.25), self.world, 50, seed=0, keep_plans=True, keep_steps=True)
        assert run.plans is not None
        assert run.trajectory is not None
        assert run.plans[-1].model is not None
        perturbed = run.plans[-1].model.with_costs(np.array([[0.25, 0.5]] * 3))
        np.testing.assert_allclose(run.plans[-1].values, gw.solve(perturbed).values, rtol=1e-5)
        assert set(run.trajectory.costs.tolist()) <= {0.0, 0.5}
        assert run.optimal_value == 0.0

    def test_positive_costs_stay(self) -> None:
        with_eps = learn(PSRL(perturb_costs=0.5), worlds.grid_world(), 50, seed=0)
        without = learn(PSRL(), worlds.grid_world(), 50, seed=0)
        np.testing.assert_array_equal(with_eps.costs, without.costs)


class TestValueLimit:
    """Rejection sampling of models with max V > B."""

    def test_all_samples_obey(self) -> None:
        run = learn(PSRL(value_limit=6.5), worlds.grid_world(), 100, seed=0, keep_plans=True)
        assert run.plans is not None
        assert max(plan.values.max() for plan in run.plans if plan.values is not None) <= 6.5
        assert run.notes["rejections"] > 0

    def test_no_weight_there(self) -> None:
        with pytest.raises(SettingError, match=r"51 consecutive samples .* value_limit=1.5"):
            learn(PSRL(value_limit=1.5, max_rejections=50), worlds.grid_world(), 30)


def test_bad_settings() -> None:
    """One or two values each: tests of settings have the others."""
    for settings, message in (
        ({"prior": 0.1}, "prior is 0.1"),
        ({"perturb_costs": -1.0}, "perturb_costs is -1.0"),
        ({"perturb_costs": "yes"}, "perturb_costs is 'yes'; it must be True or False or a number from 0"),
        ({"value_limit": 0.0}, "value_limit is 0.0; it must be a positive number or None"),
        ({"max_rejections": -1}, "max_rejections is -1"),
        ({"sharpness": 0.5}, r"sharpness is 0.5; it must be a number from 1 to 1e\+06"),
    ):
        with pytest.raises(SettingError, match=message):
            PSRL(**settings)  # type: ignore[arg-type]


def test_the_kind_of_a_prior_is_a_text() -> None:
    with pytest.raises(
        UnknownNameError, match=r"no prior is called \[1\]; there are: dirichlet, finite, neighbourhoods"
    ):
        priors.complete({"kind": [1]})


def test_the_concentration_of_a_named_prior_is_a_float() -> None:
    """So 1 and 1.0 name the same runs."""
    assert repr(priors.complete({"kind": "dirichlet", "concentration": 1})["concentration"]) == "1.0"


def test_a_truncated_episode_is_not_a_visit_to_the_goal() -> None:
    """The environment breaks every episode off one step before the goal could be reached."""
    environment = ModelEnvironment(chain(3), limit=2)
    run = learn(PSRL(), environment, 20, seed=0, keep_steps=True)
    assert run.trajectory is not None
    assert run.truncated
    assert not run.reached.any()
    assert (run.trajectory.next_states < 3).all()
    assert isinstance(run.agent, PSRL)
    assert run.agent.k == 1
    assert run.epochs.goals.sum() == 0
    assert len(run.costs) == 20


class TestSharpness:
    """Draws as if everything had been seen several times."""

    def test_one_is_psrl(self) -> None:
        one, other = (learn(agent, worlds.grid_world(), 50) for agent in (PSRL(), PSRL(sharpness=1)))
        np.testing.assert_array_equal(one.costs, other.costs)
        assert one.notes == {"prior": "Dirichlet(0.1)"}

    def test_more_than_one_is_labelled(self) -> None:
        run = learn(PSRL(sharpness=2.0), worlds.grid_world(), 50)
        assert "no theorem applies" in str(run.notes["caveat"])
        assert not np.array_equal(run.costs, learn(PSRL(), worlds.grid_world(), 50).costs)


class TestVariants:
    """Each differs from PSRL in what ends an epoch."""

    def run(self, agent: PSRL, **options: object) -> Run:
        return learn(agent, worlds.grid_world(), 100, seed=1, keep_plans=True, **options)  # type: ignore[arg-type]

    def test_tsde_epochs_grow_by_a_step(self) -> None:
        epochs = self.run(TSDE()).epochs
        assert epochs.steps[0] <= 2
        assert (np.diff(epochs.steps) <= 1).all()
        by_length = epochs.ended_by(Ended.STEPS)
        assert (epochs.steps[1:][by_length[1:]] == epochs.steps[:-1][by_length[1:]] + 1).all()
        assert by_length.any()

    def test_epochs_that_double_the_goals(self) -> None:
        epochs = self.run(DoublingPSRL()).epochs
        limits = np.maximum(1, 2 * np.append(1, epochs.goals[:-1]))
        by_goals = epochs.ended_by(Ended.GOALS)
        assert (epochs.goals <= limits).all()
        assert (epochs.goals[by_goals] == limits[by_goals]).all()
        assert by_goals.any()
        assert (by_goals | epochs.ended_by(Ended.AFTER_VISITS))[:-1].all()

    def test_episode_sampling(self) -> None:
        run = self.run(EpisodePSRL(prior=Dirichlet(1.0)), max_steps=100_000)
        assert (run.epochs.goals == 1).all()
        assert len(run.epochs) == 100

    def test_episode_sampling_can_hang(self) -> None:
        """Where staying looks good and nothing ends the epoch, the step limit does."""
        prior = FinitePrior([chain(2, back=0.2), chain_that_stays()])
        run = learn(EpisodePSRL(prior=prior), chain(2, back=0.2), 50, seed=0, max_steps=5000)
        assert run.truncated
        assert run.ended == Ended.MAX_STEPS
        assert run.total_steps == 5000
        saved = learn(PSRL(prior=prior), chain(2, back=0.2), 50, seed=0, max_steps=5000)
        assert not saved.truncated

    def test_step_sampling(self) -> None:
        run = self.run(StepPSRL())
        assert (run.epochs.steps == 1).all()

    def test_posterior_mean(self) -> None:
        run = self.run(PosteriorMean())
        assert run.plans is not None
        uniform = run.plans[0].model
        assert uniform is not None
        np.testing.assert_allclose(uniform.probabilities, 1.0 / 12.0)


def chain_that_stays() -> SSP:
    """A wrong idea of the chain: its second action leads to the goal at once, with a small probability to stay."""
    rows: list[tuple[int, int, int, float, float]] = []
    for state in range(2):
        rows += [(state, 0, state + 1, 0.8, 1.0), (state, 0, 0, 0.2, 1.0)]
        rows += [(state, 1, 2, 0.9, 0.5), (state, 1, state, 0.1, 0.5)]
    return SSP.from_transitions(rows, goals=[2], initial_state=0)
