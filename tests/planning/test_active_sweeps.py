"""Sweeps over active states against sweeps over all of them, and rows that are written again against fresh ones."""

from __future__ import annotations

import numpy as np
import pytest

import goalward as gw
from goalward import SSP, Dirichlet, worlds
from goalward.acting.contract import Task
from goalward.arrays import Floats
from goalward.planning.active_sweeps import active_sweeps, full_sweep
from goalward.planning.large_plans import Graph, Order
from goalward.planning.reduced_problem import Problem
from goalward.planning.reduction import rewrite_problem, write_problem

GRID = worlds.grid_world(9, 9)


def sample(seed: int) -> SSP:
    return BELIEF.sample(np.random.default_rng(seed))


def laid_out(model: SSP, values: Floats) -> tuple[Graph, Order, Problem]:
    """Lay out the rows of a model in the order of these values."""
    graph = Graph.of(model)
    order = Order.by_labels(values, np.argsort(values).astype(np.int32))
    problem = Problem.empty(model.states, len(graph.usable), len(model.successors))
    write_problem(model.arrays, graph.usable, order.place, order.members, problem)
    return graph, order, problem


BELIEF = Dirichlet(0.5, support=GRID).belief(Task.of(GRID, 1))


@pytest.mark.parametrize("enough", [1e-3, 1e-8])
def test_in_the_end_no_backup_moves_a_state_by_more_than_twice_the_threshold(enough: float) -> None:
    for seed in range(4):
        model = sample(seed)
        best = gw.solve(model, 1e-9).values
        graph, order, problem = laid_out(model, best)
        values, policy = best[order.members], np.zeros(model.states, dtype=np.int64)
        values[5:15] *= 1.5  # a few states are wrong
        before, moved, active = np.empty(80), np.empty(80, dtype=np.bool_), np.empty(80, dtype=np.bool_)
        count, change = full_sweep(problem, values, policy, before, moved, enough)
        assert count == np.count_nonzero(moved) > 0
        assert change > enough
        arguments = (problem, graph.predecessors, order.members, order.place, values, policy, before, moved, active)
        assert active_sweeps(*arguments, enough, 10**6)
        # All costs are at least 1, so residuals of so much bound the relative error of the values, too.
        bound = 2.0 * enough * problem.cost.max()
        moves = np.abs(values - [one_backup(problem, values, state) for state in range(80)])
        assert (moves <= bound).all()
        np.testing.assert_allclose(values, best[order.members], rtol=bound + 1e-9)


def one_backup(problem: Problem, values: Floats, state: int) -> float:
    totals = []
    for row in range(problem.first[state], problem.first[state + 1]):
        entries = slice(problem.start[row], problem.start[row + 1])
        totals.append(problem.cost[row] + problem.weight[entries] @ values[problem.target[entries]])
    return float(min(totals))


def test_they_give_up_after_so_many_backups() -> None:
    model = sample(0)
    graph, order, problem = laid_out(model, gw.solve(model).values)
    values, policy = np.zeros(80), np.zeros(80, dtype=np.int64)
    before, moved, active = np.empty(80), np.empty(80, dtype=np.bool_), np.empty(80, dtype=np.bool_)
    full_sweep(problem, values, policy, before, moved, 1e-9)
    arguments = (problem, graph.predecessors, order.members, order.place, values, policy, before, moved, active)
    assert not active_sweeps(*arguments, 1e-9, 10)


def test_rows_that_are_written_again_are_those_of_the_new_model() -> None:
    graph, order, problem = laid_out(sample(0), gw.solve(sample(0)).values)
    assert int(problem.first[-1]) == np.count_nonzero(graph.usable)
    other = sample(1)
    assert rewrite_problem(other.arrays, order.members, problem)
    fresh = Problem.empty(other.states, len(graph.usable), len(other.successors))
    write_problem(other.arrays, graph.usable, order.place, order.members, fresh)
    entries = int(fresh.start[int(fresh.first[-1])])
    for name in ("cost", "to_goal"):
        np.testing.assert_array_equal(getattr(problem, name), getattr(fresh, name))
    np.testing.assert_array_equal(problem.weight[:entries], fresh.weight[:entries])
