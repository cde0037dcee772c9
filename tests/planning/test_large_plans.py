"""Planning on large samples in a row, against `solve` and `evaluate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import goalward as gw
from goalward import SSP, Dirichlet, Neighbourhoods, TiedDirichlet, worlds
from goalward.acting.contract import Task
from goalward.planning import large_plans
from goalward.planning.large_plans import LargePlanner
from goalward.planning.replan import Replanner

GRID = worlds.grid_world(12, 12)
PRIORS = {
    "known": lambda: Dirichlet(0.1, support=GRID),
    "dense": lambda: Dirichlet(0.1),
    "tied": lambda: TiedDirichlet.slip(GRID),
    "unknown": Neighbourhoods,
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_policies_are_optimal_to_the_tolerance(name: str, tolerance: float) -> None:
    belief = PRIORS[name]().belief(Task.of(GRID, 1))
    rng, planner = np.random.default_rng(2), LargePlanner()
    for _ in range(6):
        model = belief.sample(rng)
        found = planner.solve(model, tolerance)
        assert found is not None
        values, policy = found
        best = gw.solve(model).values
        np.testing.assert_allclose(values, best, rtol=tolerance)
        paid = gw.evaluate(model, policy).costs
        assert (paid <= best * (1.0 + tolerance) / (1.0 - tolerance)).all()


def test_samples_that_hardly_differ_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = TiedDirichlet.slip(GRID).belief(Task.of(GRID, 1))
    seen = gw.learn(gw.agents.Uniform(), GRID, 10, max_steps=5000, keep_steps=True).trajectory
    assert seen is not None
    belief.update(seen)
    labelled = []
    plain = large_plans.label_states
    monkeypatch.setattr(large_plans, "label_states", lambda *arguments: labelled.append(1) or plain(*arguments))
    rng, planner = np.random.default_rng(0), LargePlanner()
    for _ in range(10):
        assert planner.solve(belief.sample(rng), 1e-2) is not None
    assert len(labelled) == 1


def test_dead_ends_and_what_cannot_be_proved() -> None:
    states = 200
    indptr = np.arange(states + 1)
    towards = np.append(np.arange(1, states), states).astype(np.int32)
    towards[50] = 50  # states up to here cannot pass
    chain = SSP.from_rows(indptr, towards, np.ones(states), np.ones((states, 1)))
    planned = Replanner().solve(chain, 1e-2)
    assert np.isinf(planned.values[:51]).all()
    np.testing.assert_allclose(planned.values[51:], np.arange(states - 51, 0, -1.0), rtol=1e-2)
    assert (planned.policy == 0).all()
    # A way out of probability 1e-300 overflows what sweeps can hold; `solve` takes over.
    lost = SSP.from_rows(
        np.arange(states + 1) * 2,
        np.column_stack([np.arange(states), np.full(states, states)]).ravel(),
        np.tile([1.0, 1e-300], states),
        np.ones((states, 1)),
    )
    assert LargePlanner().solve(lost, 1e-2) is None
    assert np.isfinite(Replanner().solve(lost, 1e-2).values).all()


def test_a_saved_agent_goes_on_as_a_copied_one(tmp_path: Path) -> None:
    """Orders and values that are kept from plan to plan do not outlive a run."""
    first = gw.learn(gw.agents.PSRL(prior=Dirichlet(0.1, support=GRID)), GRID, 100, seed=1, max_steps=300)
    gw.agents.save(first.agent, tmp_path / "agent.npz")
    loaded = gw.agents.load(tmp_path / "agent.npz")
    runs = [gw.learn(each, GRID, 100, seed=2, max_steps=300, resume=True) for each in (first.agent, loaded)]
    assert runs[0].costs.tolist() == runs[1].costs.tolist()
    assert runs[0].epochs.steps.tolist() == runs[1].epochs.steps.tolist()
    assert runs[0].gaps.tolist() == runs[1].gaps.tolist()
