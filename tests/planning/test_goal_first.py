"""The largest probability of reaching the goal, then the smallest cost: against enumeration, programs and tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy import optimize

import goalward as gw
from goalward import SSP
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.planning import goal_first
from goalward.planning.goal_first import win_probability
from oracles import best_goal_first
from strategies import models

LAKE = ("S...", ".O.O", "...O", "O..G")


def frozen_lake() -> SSP:
    """Return slippery FrozenLake 4x4: a step goes ahead or to either side, a third each; in a hole one stays."""
    moves = ((0, -1), (1, 0), (0, 1), (-1, 0))
    rows = []
    for row, column in np.ndindex(4, 4):
        hole = LAKE[row][column] == "O"
        for action, turn in product(range(1 if hole else 4), (-1, 0, 1)):
            down, right = (0, 0) if hole else moves[(action + turn) % 4]
            reached = (min(max(row + down, 0), 3), min(max(column + right, 0), 3))
            rows.append(((row, column), action, reached, 1.0 / 3.0, 1.0))
    return SSP.from_transitions([each for each in rows if each[0] != (3, 3)], goals=[(3, 3)], normalize=True)


@given(models(max_states=4, max_actions=2, costs=("unit", "ties", "free", "real"), tiny=False))
@settings(max_examples=150)
def test_against_every_policy(ssp: SSP) -> None:
    if ssp.initial_state in gw.structure(ssp).never:
        with pytest.raises(UnreachableGoalError, match="no path leads from the initial state"):
            gw.solve(ssp, goal_first=True)
        return
    largest, costs = best_goal_first(ssp)
    solution = gw.solve(ssp, goal_first=True)
    lost = gw.structure(ssp).never
    for state in range(ssp.states):
        own, p = solution.goal_probability[state], largest[state]
        assert Fraction(solution.probability_lower[state]) <= p <= Fraction(solution.probability_upper[state])
        assert abs(own - float(p)) <= 1e-9
        if state in lost:
            assert (solution.values[state], solution.policy[state]) == (np.inf, -1)
            continue
        assert Fraction(solution.lower[state]) <= costs[state] <= Fraction(solution.upper[state])
    again = gw.evaluate(ssp, solution.policy, goal_first=True)
    assert again.goal_probability is not None
    np.testing.assert_allclose(again.goal_probability, solution.goal_probability, rtol=1e-9)
    np.testing.assert_allclose(again.costs, solution.values, rtol=1e-6)


def reachability_program(ssp: SSP) -> NDArray[np.float64]:
    """Return the largest probabilities by a linear program: the least x >= P x with 1 at the goal."""
    P = ssp.to_dense().reshape(-1, ssp.states + 1)
    inner = P[:, :-1] - np.repeat(np.eye(ssp.states), ssp.actions, axis=0)
    found = optimize.linprog(np.ones(ssp.states), A_ub=inner, b_ub=-P[:, -1], bounds=(0.0, 1.0))
    assert found.success
    return np.asarray(found.x)


@pytest.mark.parametrize("seed", range(4))
def test_against_a_linear_program(seed: int) -> None:
    """Random models of 60 states with holes, and loops that decide nothing."""
    rng = np.random.default_rng(seed)
    S, A = 60, 3
    P = np.zeros((S, A, S + 1))
    for state, action in np.ndindex(S, A):
        if state >= 8:  # the first eight are holes
            P[state, action, rng.choice(S + 1, 3, replace=False)] = rng.dirichlet(np.ones(3)) * 0.95
            P[state, action, rng.integers(8)] += 0.05
        else:
            P[state, action, state] = 1.0
    P[20, 0], P[21, 0] = np.eye(S + 1)[21], np.eye(S + 1)[20]
    ssp = SSP.from_dense(P, rng.uniform(0.0, 1.0, (S, A)), 59)
    solution = gw.solve(ssp, goal_first=True)
    np.testing.assert_allclose(solution.goal_probability, reachability_program(ssp), atol=1e-7)
    assert 0.0 < solution.goal_probability[59] < 1.0


def test_slippery_frozen_lake() -> None:
    """14/17 is the known probability of the optimal policy of the 4x4 map."""
    lake = frozen_lake()
    solution = gw.solve(lake, goal_first=True, tolerance=1e-9)
    p, cost = solution.goal_probability[0], solution.values[0]
    assert p == pytest.approx(14 / 17, abs=1e-12)
    assert repr(solution).startswith("GoalFirstSolution(states=15, goal_probability=0.823529 and cost=48.7059 from")
    with pytest.raises(UnreachableGoalError, match="goal_first=True"):
        gw.solve(lake)
    # Where giving up is dear, the best policy that may give up is the goal-first one, tried until it works.
    dear = 1e5
    assert gw.solve(lake.with_give_up(dear)).values[0] == pytest.approx((cost + (1 - p) * dear) / p, rel=1e-9)


def test_a_model_without_dead_ends_is_solved_as_ever() -> None:
    grid = gw.worlds.grid_world()
    usual, first = gw.solve(grid), gw.solve(grid, goal_first=True)
    np.testing.assert_array_equal(first.goal_probability, 1.0)
    np.testing.assert_allclose(first.values, usual.values, rtol=1e-6)
    ways = gw.evaluate(grid, usual.policy, goal_first=True)
    np.testing.assert_allclose(ways.costs, usual.values, rtol=1e-6)


def test_the_cheaper_of_two_equally_likely_ways_and_never_the_cheaper_but_riskier() -> None:
    ssp = SSP.from_transitions(
        [
            ("s", "dear", "goal", 0.5, 9.0),
            ("s", "dear", "lost", 0.5, 9.0),
            ("s", "fair", "goal", 0.5, 3.0),
            ("s", "fair", "lost", 0.5, 3.0),
            ("s", "risky", "goal", 0.4, 0.1),
            ("s", "risky", "lost", 0.6, 0.1),
            ("lost", "fair", "lost", 1.0, 1.0),
        ],
        goals=["goal"],
    )
    solution = gw.solve(ssp, goal_first=True)
    assert ssp.action_name(solution.policy[0]) == "fair"
    assert (solution.goal_probability[0], solution.values[0]) == (0.5, 3.0)


def test_a_probability_far_below_the_last_digit_of_one_is_kept() -> None:
    """From each of eight states one action is lost at once, the other goes on with probability 1e-3."""
    n = 8
    P = np.zeros((n + 1, 2, n + 2))
    for k in range(n):
        P[k, 0, n] = 1.0
        P[k, 1, k + 1 if k + 1 < n else n + 1], P[k, 1, n] = 1e-3, 1.0 - 1e-3
    P[n, :, n] = 1.0
    costs = np.ones((n + 1, 2))
    costs[:, 1] = 2.0
    solution = gw.solve(SSP.from_dense(P, costs), goal_first=True)
    np.testing.assert_allclose(solution.goal_probability[:n], 10.0 ** (-3.0 * np.arange(n, 0, -1)), rtol=1e-6)
    assert (solution.policy[:n] == 1).all()


def test_a_loop_is_no_improvement_on_a_subnormal_probability() -> None:
    """Half of 1.5e-323 is rounded up, so waiting, which leads to either of two equal states, seems to be better."""
    rows = [("c", "try", "goal", 1.5e-123, 1.0), ("c", "try", "lost", 1.0, 1.0), ("lost", "try", "lost", 1.0, 1.0)]
    for state in "ab":
        rows += [(state, "try", "c", 1e-200, 1.0), (state, "try", "lost", 1.0, 1.0)]
        rows += [(state, "wait", "a", 0.5, 1.0), (state, "wait", "b", 0.5, 1.0)]
    solution = gw.solve(SSP.from_transitions(rows, goals=["goal"], initial_state="a"), goal_first=True)
    names = solution.ssp.state_names
    assert names is not None
    for state in map(names.index, "ab"):
        assert solution.probability_lower[state] <= 1.5e-323 <= solution.probability_upper[state]
        assert solution.ssp.action_name(solution.policy[state]) == "try"
        assert solution.values[state] == 1.0


def test_a_tie_that_many_steps_would_lose_is_none() -> None:
    """Waiting loses 5e-10 a step, which looks like a tie, but one waits ten million steps to save a little."""
    P = np.zeros((2, 2, 3))
    P[0, 0] = [1.0 - 1e-7, 5e-10, 1e-7 - 5e-10]
    P[0, 1] = [0.0, 0.0, 1.0]
    P[1, :, 1] = 1.0
    solution = gw.solve(SSP.from_dense(P, [[1e-9, 1.0], [1.0, 1.0]]), goal_first=True)
    assert (solution.goal_probability[0], solution.values[0]) == (1.0, 1.0)


def test_what_cannot_be_proved_says_so() -> None:
    with pytest.raises(PrecisionError, match="apart") as raised:
        gw.solve(frozen_lake(), goal_first=True, tolerance=1e-17)
    assert raised.value.solution.values[0] == pytest.approx(48.7058823529)


def test_costs_that_cannot_be_proved_say_so_where_the_goal_is_reached_surely() -> None:
    ssp = SSP.from_rows([0, 1, 2, 4], [1, 2, 0, 3], [1.0, 1.0, 1.0, 1e-300], [[0.0], [1.0], [1.0]])
    with pytest.raises(PrecisionError, match=r"cost of reaching the goal .* bounds are 1\.0e\+00 apart") as raised:
        gw.solve(ssp, goal_first=True)
    assert raised.value.solution.goal_probability.tolist() == [1.0, 1.0, 1.0]


def test_sweeps_over_probabilities_next_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are counted in probabilities of 1e-307, so that their quotients overflow."""
    monkeypatch.setattr("goalward.planning.solve.DENSE_STATES", 0)
    monkeypatch.setattr("goalward.planning.solve.ELIMINATED_STATES", 0)
    rows = {0: {2: 2 / 3, 1: 1 / 3}, 1: {1: 1.0}, 2: {1: 1.0, 4: 1e-307}, 3: {1: 4 / 7, 4: 3 / 7}}
    ssp = SSP.from_transitions(
        [(state, "go", near, p, 1.0) for state, row in rows.items() for near, p in row.items()], goals=[4]
    )
    try:
        solution = gw.solve(ssp, goal_first=True)
    except PrecisionError as error:
        solution = error.solution
    assert solution.goal_probability.max() == pytest.approx(3 / 7)


@pytest.mark.parametrize("loss", [0.003, 7e-4, 4e-5, 1e-8, 2e-10, 8e-14, 6e-17])
def test_bounds_of_the_probability_are_rounded_outward(loss: float) -> None:
    """One step decides: 1 - loss is not a double, and the double next to it may be below the exact probability."""
    ssp = SSP.from_rows([0, 2, 3], [1, 2, 1], [loss, 1.0 - loss, 1.0], [[1.0], [1.0]])
    solution = gw.solve(ssp, goal_first=True)
    exact = Fraction(1.0 - loss) / (Fraction(loss) + Fraction(1.0 - loss))
    assert Fraction(solution.probability_lower[0]) <= exact <= Fraction(solution.probability_upper[0])
    assert solution.probability_upper[0] <= 1.0


@pytest.mark.parametrize(("proved", "helps"), [(0.8, True), (0.2, False)])
def test_a_tolerance_is_advised_only_where_one_would_help(
    monkeypatch: pytest.MonkeyPatch, proved: float, helps: bool
) -> None:
    def unproved(*arguments: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, lower = win_probability(*arguments)
        return value, lower * proved

    monkeypatch.setattr(goal_first, "win_probability", unproved)
    lake = frozen_lake().with_initial_state(14)
    with pytest.raises(PrecisionError, match="to a tolerance of 1e-06: the best bounds") as raised:
        gw.solve(lake, goal_first=True)
    assert ("Raise the tolerance" in str(raised.value)) == helps
    assert ("No tolerance would help" in str(raised.value)) != helps


def test_files_show_the_probability(tmp_path: Path) -> None:
    lake = frozen_lake()
    solution = gw.solve(lake, goal_first=True)
    path = tmp_path / "policy.csv"
    solution.save(path)
    assert path.read_text().splitlines()[0] == "state,action,value,lower,upper,goal_probability"
    assert float(path.read_text().splitlines()[1].rpartition(",")[2]) == solution.goal_probability[0]
