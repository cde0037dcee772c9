"""OPSRL-SSP: models side by side against their pairs, the prior of the goal, and PSRL-SSP as its simplest case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import goalward as gw
from goalward import SSP, Dirichlet, FinitePrior, Neighbourhoods, learn, worlds
from goalward.acting.contract import Steps, Task
from goalward.agents import OPSRL, PSRL
from goalward.agents.posterior.opsrl import side_by_side
from goalward.agents.saving import decode, encode
from goalward.beliefs.base import Prior
from goalward.errors import SettingError

GRID = worlds.grid_world()
PRIOR = Dirichlet(0.001, goal=1.0)


def samples(world: SSP, count: int, prior: Prior | None = None) -> list[SSP]:
    rng = np.random.default_rng(2)
    belief = (prior or Dirichlet(0.5, support=world)).belief(Task.of(world, 1))
    return [belief.sample(rng) for _ in range(count)]


@pytest.mark.parametrize("world", [GRID, worlds.make("maze")])
@pytest.mark.parametrize("prior", [None, Neighbourhoods()], ids=["one support", "several supports"])
def test_models_side_by_side_keep_their_rows(world: SSP, prior: Neighbourhoods | None) -> None:
    models = samples(world, 3, prior)
    joint = side_by_side(models)
    assert joint.actions == 3 * world.actions
    for state in range(0, world.states, 3):
        for action in range(world.actions):
            for j, model in enumerate(models):
                for ours, theirs in zip(joint.row(state, 3 * action + j), model.row(state, action), strict=True):
                    np.testing.assert_array_equal(ours, theirs)
                assert joint.costs[state, 3 * action + j] == world.costs[state, action]


def test_the_best_of_several_samples_is_no_worse_than_each() -> None:
    """The joint model may choose among the rows of all, so its values are below those of each; dense linear algebra."""
    models = samples(GRID, 4)
    joint = gw.solve(side_by_side(models)).values
    for model in models:
        assert (joint <= gw.solve(model).values * (1.0 + 1e-6)).all()


def test_one_draw_is_psrl_with_another_prior() -> None:
    ours = learn(OPSRL(), GRID, 60, seed=4, keep_steps=True)
    theirs = learn(PSRL(prior=PRIOR), GRID, 60, seed=4, keep_steps=True)
    assert ours.trajectory is not None
    assert theirs.trajectory is not None
    for one, other in zip(ours.trajectory, theirs.trajectory, strict=True):
        np.testing.assert_array_equal(one, other)


def test_plans_of_several_draws() -> None:
    run = learn(OPSRL(draws=4), GRID, 40, seed=0, keep_plans=True)
    assert run.plans is not None
    assert {plan.model for plan in run.plans} == {None}
    assert max(int(plan.policy.max()) for plan in run.plans) < GRID.actions
    assert learn(OPSRL(draws=4), GRID, 500, seed=0).gap_regret[-1] < 0.05 * 500 * 36.05


@pytest.mark.parametrize(
    "prior", [Neighbourhoods(), FinitePrior([worlds.grid_world(success=p) for p in (0.6, 0.85, 1.0)])], ids=repr
)
def test_priors_whose_samples_differ_in_their_support(prior: Prior) -> None:
    """Without slips rows have fewer successors."""
    run = learn(OPSRL(prior=prior, draws=2), GRID, 60, seed=0)
    assert run.costs[-20:].mean() < 1.2 * run.optimal_value + 3.0


def test_the_prior_of_the_goal() -> None:
    """The mean has 2 + n at the goal; a sampled probability of the goal is Beta(2 + n, rest); level 1e-3."""
    task = Task(np.ones((2, 1)), 0, 1)
    belief = Dirichlet(0.5, goal=2.0).belief(task)
    zeros = np.zeros(3, dtype=np.int64)
    belief.update(Steps.in_table(zeros, zeros, np.ones(3), np.array([0, 2, 2]), -1))
    np.testing.assert_allclose(belief.mean().to_dense()[0, 0], np.array([1.5, 0.5, 4.0]) / 6.0)
    np.testing.assert_allclose(belief.alpha, [1.5, 0.5, 4.0, 0.5, 0.5, 2.0])
    rng = np.random.default_rng(0)
    goal = [belief.sample(rng).to_dense()[0, 0, 2] for _ in range(4000)]
    assert stats.kstest(goal, stats.beta(4.0, 2.0).cdf).pvalue > 1e-3
    sharp = [belief.sample(rng, 3.0).to_dense()[0, 0, 2] for _ in range(4000)]
    assert stats.kstest(sharp, stats.beta(8.0, 4.0).cdf).pvalue > 1e-3


def test_the_goal_has_its_weight_at_the_smallest_concentrations() -> None:
    """Gamma variates of shape 1e-6 underflow; rows are distributions all the same."""
    rows = Dirichlet(1e-6, goal=1.0).belief(Task.of(GRID, 1)).sample(np.random.default_rng(1)).to_dense()
    np.testing.assert_allclose(rows.sum(axis=2), 1.0)
    assert (rows[:, :, -1] > 0.99).mean() > 0.99


def test_the_goal_is_a_setting_of_the_prior() -> None:
    assert repr(PRIOR) == "Dirichlet(0.001, goal=1.0)"
    assert decode(encode(PRIOR)) == PRIOR
    assert PRIOR.settings()["goal"] == 1.0
    built = gw.agents.find("psrl").from_settings({"prior": {"kind": "dirichlet", "goal": 1.0}}, GRID, 10)
    assert isinstance(built, PSRL)
    assert built.prior.settings() == Dirichlet(0.1, goal=1.0).settings()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draws": 0}, r"draws is 0; it must be an integer in 1\.\."),
        ({"draws": 2, "value_limit": 9.0}, "needs draws=1"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        OPSRL(**settings)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="goal is 0; it must be a positive number or None"):
        Dirichlet(goal=0)
