"""Bernstein-SSP: its constants by hand, its epochs and its optimistic model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import goalward as gw
from goalward import learn, worlds
from goalward.acting.stop_conditions import Ended
from goalward.agents import BernsteinSSP, Task
from goalward.agents.optimistic import bernstein_ssp as module
from goalward.agents.optimistic.bernstein_ssp import cost_floor, log_ratio, width
from goalward.errors import ConvergenceError, PrecisionError

GRID = worlds.grid_world()


def test_constants() -> None:
    """S = A = 2, delta = 0.1, 100 visits: A = ln(4000) / 100; the width is 28 A + 4 sqrt(A) sqrt(P)."""
    A = log_ratio(np.array([[100, 0], [1, 5]]), 0.1)
    assert A[0] == pytest.approx(0.0829405)
    assert A[1] == A[2] == pytest.approx(np.log(40.0))
    constant, root = width(A[:1], 1.0)
    assert constant == pytest.approx(2.3223339)
    assert root == pytest.approx(1.1519757)
    assert width(A, 0.5)[0] == pytest.approx(0.5 * width(A, 1.0)[0])


def test_cost_floor() -> None:
    task = Task(np.zeros((8, 2)), 0, 10_000)
    assert cost_floor(task) == pytest.approx(0.0128)


def test_only_zero_costs_are_raised() -> None:
    for costs, floor in ((np.full((11, 4), 1e-6), 1e-6), (np.zeros((11, 4)), 11**2 * 4 / 10_000)):
        agent = BernsteinSSP()
        agent.begin(Task.of(GRID.with_costs(costs), 10_000), np.random.default_rng(0))
        plan = agent.plan(0)
        assert plan.values == pytest.approx(np.full(11, floor))


def test_when_successors_become_visible() -> None:
    """On GridWorld with delta = 0.1: probability 0.85 after about 900 visits, 0.05 after about 18,000."""
    for p, few, many in ((0.85, 850, 950), (0.05, 17_000, 19_000)):
        positive = []
        for n in (few, many):
            visits = np.full((11, 4), n)
            constant, root = width(log_ratio(visits, 0.1), 1.0)
            positive.append(p - constant[0] - root[0] * np.sqrt(p) > 0.0)
        assert positive == [False, True]


def test_epochs_end_before_a_pair_doubles() -> None:
    """Walk through the trajectory with line 6: an epoch starts exactly where the pair to be played is used up."""
    run = learn(BernsteinSSP(), GRID, 60, seed=3, keep_plans=True, keep_steps=True)
    assert run.plans is not None
    assert run.trajectory is not None
    assert (run.epochs.ended[:-1] == int(Ended.BEFORE_VISITS)).all()
    assert run.epochs.ended[-1] == int(Ended.EPISODES)
    N, n = np.zeros((2, *GRID.costs.shape), dtype=int)
    states, epoch, starts = run.trajectory.states, 0, []
    for t, s in enumerate(states.tolist()):
        a = run.plans[epoch].policy[s]
        if t == 0 or n[s, a] >= N[s, a]:
            starts.append(t)
            epoch = len(starts) - 1
            N, n = N + n, np.zeros_like(n)
            a = run.plans[epoch].policy[s]
        assert run.trajectory.actions[t] == a
        n[s, a] += 1
    assert run.epochs.start_step.tolist() == starts


def test_the_model_is_optimistic() -> None:
    """Its values lie below the true ones, and its policy is its best."""
    run = learn(BernsteinSSP(scale=0.3), GRID, 2000, seed=1, keep_plans=True)
    true = gw.solve(GRID).values
    assert run.plans is not None
    for plan in run.plans[::10]:
        assert plan.model is not None
        assert plan.values is not None
        assert (plan.values <= true).all()
        np.testing.assert_allclose(gw.evaluate(plan.model, plan.policy).costs, plan.values, rtol=1e-7)
        assert (plan.model.to_dense()[..., -1] > 0.0).all()


def test_what_cannot_be_proved_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = gw.solve(GRID)
    wide = dataclasses.replace(solution, iterations=7, width=0.5)

    def fail(*_: object, **__: object) -> None:
        raise PrecisionError("too wide", wide)

    monkeypatch.setattr(module, "solve", fail)
    with pytest.raises(ConvergenceError, match=r"bernstein-ssp: the plan of epoch 1 has a residual of 0\.5 after 7"):
        learn(BernsteinSSP(), GRID, 3)
