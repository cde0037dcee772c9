"""Planning on sample after sample, against `solve` and rational arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import goalward as gw
from goalward import SSP, Dirichlet, Neighbourhoods, worlds
from goalward.acting.contract import Task
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.planning import replan
from goalward.planning.replan import Replanner
from goalward.planning.solve import solve_all


@pytest.mark.parametrize("concentration", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("world", [worlds.grid_world(), worlds.random_mdp(), worlds.grid_world(6, 6)])
@pytest.mark.parametrize("known", [False, True])
def test_same_values_as_solve(world: SSP, concentration: float, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On samples in a row; `solve` itself is asked only where the certificate is not enough."""
    belief = Dirichlet(concentration, support=world if known else None).belief(Task.of(world, 1))
    rng = np.random.default_rng(1)
    planner = Replanner()
    asked = []
    scratch = Replanner.solve_from_scratch
    monkeypatch.setattr(Replanner, "solve_from_scratch", lambda self, m: asked.append(m) or scratch(self, m))
    samples = [belief.sample(rng) for _ in range(40)]
    for model in samples:
        planned = planner.solve(model)
        assert not np.isnan(planned.values).any()
        try:
            with np.errstate(all="ignore"):
                solution = gw.solve(model)
        except PrecisionError:
            continue
        if not solution.values.max() < 1e100:
            continue
        np.testing.assert_allclose(planned.values, solution.values, rtol=2e-6)
        np.testing.assert_allclose(gw.evaluate(model, planned.policy).costs, solution.values, rtol=2e-6)
    if concentration >= 0.1:
        assert not asked


@pytest.mark.parametrize("steps", [0, 300])
def test_samples_with_graphs_of_their_own(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last policy does not reach the goal in the next graph, another one is the start."""
    world = worlds.grid_map()
    belief = Neighbourhoods().belief(Task.of(world, 1))
    if steps:
        seen = gw.learn(gw.agents.Uniform(), world, 1000, max_steps=steps, keep_steps=True).trajectory
        assert seen is not None
        belief.update(seen)
    rng, planner = np.random.default_rng(3), Replanner()
    planner.solve(belief.sample(rng))
    monkeypatch.setattr(Replanner, "solve_from_scratch", None)
    for _ in range(40):
        model = belief.sample(rng)
        planned, solution = planner.solve(model), gw.solve(model)
        np.testing.assert_allclose(planned.values, solution.values, rtol=2e-6)
        np.testing.assert_allclose(gw.evaluate(model, planned.policy).costs, solution.values, rtol=2e-6)


def test_where_no_policy_reaches_the_goal_the_planner_starts_from_scratch() -> None:
    ssp = SSP.from_dense([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], np.ones((2, 2)))
    planner = Replanner()
    assert planner.solve(ssp).values.tolist() == [1.0, 1.0]
    trap = SSP._trusted(np.arange(5), np.array([1, 2, 1, 1], dtype=np.int32), np.ones(4), ssp.costs, 0)
    found = planner.solve(trap)
    assert found.values.tolist() == [1.0, np.inf]
    assert found.policy.tolist() == [1, 0]


def test_free_actions_go_to_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cost of zero a policy may wander for free; the kernel's argument does not hold there."""
    world = worlds.random_mdp(states=8, seed=5, rows="uniform")
    free = world.with_costs(np.where(np.arange(2) == 0, 0.0, world.costs))
    belief = Dirichlet(0.1).belief(Task.of(free, 1))
    rng = np.random.default_rng(0)
    monkeypatch.setattr(replan, "replan", None)
    planner = Replanner()
    for _ in range(5):
        model = belief.sample(rng)
        np.testing.assert_allclose(planner.solve(model).values, gw.solve(model).values, rtol=2e-6)


def test_support_that_changes() -> None:
    planner = Replanner()
    for success in (0.7, 1.0, 0.85, 0.7):
        world = worlds.grid_world(success=success)
        np.testing.assert_allclose(planner.solve(world).values, gw.solve(world).values, rtol=2e-6)


def test_dead_ends_get_an_action() -> None:
    """State 1 cannot reach the goal; a policy must still name an action there."""
    P = np.zeros((2, 2, 3))
    P[0, 0, 2], P[0, 1, 1], P[1, 1, 1] = 1.0, 1.0, 1.0
    planned = Replanner().solve(SSP.from_dense(P, np.ones((2, 2))))
    assert planned.policy.tolist() == [0, 1]
    assert planned.values.tolist() == [1.0, np.inf]


def test_goal_out_of_reach_in_practice() -> None:
    """Nearly deterministic samples: plans come out finite in time, and no worse than the bounds of `solve` say."""
    world = worlds.grid_world()
    belief = Dirichlet(1e-6).belief(Task.of(world, 1))
    rng = np.random.default_rng(5)
    planner = Replanner()
    for _ in range(60):
        model = belief.sample(rng)
        planned = planner.solve(model)
        assert ((planned.policy >= 0) & (planned.policy < 4)).all()
        bounds = solve_all(model)
        assert (planned.values >= bounds.lower * (1.0 - 1e-6)).all()
        assert (planned.values <= bounds.upper * (1.0 + 1e-6)).all()


def test_actions_that_are_not_available() -> None:
    """Rows are fewer than pairs then; the policy must still name actions."""
    grid = worlds.grid_world()
    P = grid.to_dense()
    P[np.arange(grid.states), np.arange(grid.states) % 4] = 0.0
    world = SSP.from_dense(P, grid.costs)
    belief = Dirichlet(1.0, support=world).belief(Task.of(world, 1))
    rng = np.random.default_rng(2)
    planner = Replanner()
    for _ in range(10):
        model = belief.sample(rng)
        planned = planner.solve(model)
        np.testing.assert_allclose(planned.values, gw.solve(model).values, rtol=2e-6)
        np.testing.assert_allclose(gw.evaluate(model, planned.policy).costs, planned.values, rtol=2e-6)


def test_costs_that_change() -> None:
    planner = Replanner()
    world = worlds.grid_world()
    for factor in (1.0, 1.0, 3.0, 0.5):
        model = world.with_costs(world.costs * factor)
        np.testing.assert_allclose(planner.solve(model).values, gw.solve(model).values, rtol=2e-6)


GRID = worlds.grid_world(12, 12)
PRIORS = {
    "known": lambda: Dirichlet(0.1, support=GRID),
    "dense": lambda: Dirichlet(0.1),
    "unknown": Neighbourhoods,
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_large_samples(name: str, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are optimal to the tolerance, and the cached reduction suffices for all of them."""
    belief = PRIORS[name]().belief(Task.of(GRID, 1))
    rng, planner = np.random.default_rng(2), Replanner()
    monkeypatch.setattr(Replanner, "solve_from_scratch", None)
    for _ in range(6):
        model = belief.sample(rng)
        planned = planner.solve(model, tolerance)
        best = gw.solve(model).values
        np.testing.assert_allclose(planned.values, best, rtol=tolerance + 1e-6)
        paid = gw.evaluate(model, planned.policy).costs
        assert (paid <= best * (1.0 + tolerance) / (1.0 - tolerance) * (1.0 + 1e-6)).all()


def test_large_models_with_dead_ends_and_without_a_proof() -> None:
    states = 200
    indptr = np.arange(states + 1)
    towards = np.append(np.arange(1, states), states).astype(np.int32)
    towards[50] = 50  # states up to here cannot pass
    chain = SSP.from_rows(indptr, towards, np.ones(states), np.ones((states, 1)), initial_state=60)
    planned = Replanner().solve(chain, 1e-2)
    assert np.isinf(planned.values[:51]).all()
    np.testing.assert_allclose(planned.values[51:], np.arange(states - 51, 0, -1.0), rtol=1e-2)
    assert (planned.policy == 0).all()
    with pytest.raises(UnreachableGoalError, match="in the model that the agent plans with"):
        Replanner().solve(chain.with_initial_state(0), 1e-2)
    # Values overflow where the only way out has a probability of 1e-300 and a cost of 1e10.
    lost = SSP.from_rows(
        np.arange(states + 1) * 2,
        np.column_stack([np.arange(states), np.full(states, states)]).ravel(),
        np.tile([1.0, 1e-300], states),
        np.full((states, 1), 1e10),
    )
    assert not np.isnan(Replanner().solve(lost, 1e-2).values).any()


def test_a_saved_agent_goes_on_as_a_copied_one(tmp_path: Path) -> None:
    """What is kept from plan to plan does not outlive a run."""
    first = gw.learn(gw.agents.PSRL(prior=Dirichlet(0.1, support=GRID)), GRID, 100, seed=1, max_steps=300)
    gw.agents.save(first.agent, tmp_path / "agent.npz")
    loaded = gw.agents.load(tmp_path / "agent.npz")
    runs = [gw.learn(agent, GRID, 100, seed=2, max_steps=300, resume=True) for agent in (first.agent, loaded)]
    assert runs[0].costs.tolist() == runs[1].costs.tolist()
    assert runs[0].epochs.steps.tolist() == runs[1].epochs.steps.tolist()
    assert runs[0].gaps.tolist() == runs[1].gaps.tolist()
