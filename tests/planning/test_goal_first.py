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
from strategies import models

LAKE = ("S...", ".O.O", "...O", "O..G")
Vector = list[Fraction]


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


def exact_rows(ssp: SSP, policy: tuple[int, ...]) -> list[Vector]:
    """Return the kernel of a policy in fractions, rows read as proportions."""
    rows = []
    for state, action in enumerate(policy):
        row = [Fraction(0)] * (ssp.states + 1)
        if action >= 0:
            successors, probabilities = ssp.row(state, action)
            weights = [Fraction(weight) for weight in probabilities.tolist()]
            for successor, weight in zip(successors.tolist(), weights, strict=True):
                row[successor] = weight / sum(weights)
        rows.append(row)
    return rows


def solved(matrix: list[Vector], right: Vector) -> Vector:
    """Solve x = matrix x + right by elimination in fractions."""
    n = len(right)
    table = [[Fraction(i == j) - matrix[i][j] for j in range(n)] + [right[i]] for i in range(n)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if table[k][i])
        table[i], table[pivot] = table[pivot], table[i]
        for k in range(n):
            if k != i and table[k][i]:
                factor = table[k][i] / table[i][i]
                table[k] = [a - factor * b for a, b in zip(table[k], table[i], strict=True)]
    return [table[i][n] / table[i][i] for i in range(n)]


def enumerated(ssp: SSP) -> tuple[Vector, Vector]:
    """Try every policy: the largest probabilities, and the smallest cost of those that have them and always decide."""
    choices = [np.flatnonzero(ssp.available[state]).tolist() or [-1] for state in range(ssp.states)]
    S = ssp.states
    alive = np.zeros(S, dtype=bool)
    alive[np.setdiff1d(np.arange(S), gw.structure(ssp).never)] = True  # tested by itself
    found = []
    for policy in product(*choices):
        rows = exact_rows(ssp, policy)
        hopeful = np.array([row[S] > 0 for row in rows])
        for _ in range(S):
            hopeful |= [any(row[y] > 0 and hopeful[y] for y in range(S)) for row in rows]
        inner = [i for i in range(S) if hopeful[i]]
        matrix = [[rows[i][j] for j in inner] for i in inner]
        chances = dict(zip(inner, solved(matrix, [rows[i][S] for i in inner]), strict=True))
        probability = [chances.get(state, Fraction(0)) for state in range(S)]
        cost = None
        if (hopeful == alive).all():
            prices = [Fraction(float(ssp.costs[i, policy[i]])) for i in inner]
            paid = dict(zip(inner, solved(matrix, prices), strict=True))
            cost = [paid.get(state, Fraction(-1)) for state in range(S)]
        found.append((probability, cost))
    largest = [max(column) for column in zip(*(probability for probability, _ in found), strict=True)]
    costs = [cost for probability, cost in found if probability == largest and cost is not None]
    return largest, [min(column) for column in zip(*costs, strict=True)]


@given(models(max_states=4, max_actions=2, costs=("unit", "ties", "free", "real"), tiny=False))
@settings(max_examples=150)
def test_against_every_policy(ssp: SSP) -> None:
    if ssp.initial_state in gw.structure(ssp).never:
        with pytest.raises(UnreachableGoalError, match="no path leads from the initial state"):
            gw.solve(ssp, goal_first=True)
        return
    largest, costs = enumerated(ssp)
    solution = gw.solve(ssp, goal_first=True)
    lost = gw.structure(ssp).never
    for state in range(ssp.states):
        own, p = solution.goal_probability[state], largest[state]
        assert solution.probability_lower[state] <= float(p) + 1e-15
        assert float(p) - 1e-15 <= solution.probability_upper[state]
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
    with pytest.raises(UnreachableGoalError, match="pass goal_first=True"):
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


@pytest.mark.parametrize(("proved", "helps"), [(0.8, True), (0.2, False)])
def test_a_tolerance_is_advised_only_where_one_would_help(
    monkeypatch: pytest.MonkeyPatch, proved: float, helps: bool
) -> None:
    def unproved(*arguments: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, lower = win_probability(*arguments)
        return value, lower * proved

    monkeypatch.setattr(goal_first, "win_probability", unproved)
    lake = frozen_lake().with_initial_state(14)
    with pytest.raises(PrecisionError, match="apart; 1e-06 was asked for") as raised:
        gw.solve(lake, goal_first=True)
    assert ("raise tolerance" in str(raised.value)) == helps
    assert ("no tolerance would help" in str(raised.value)) != helps


@pytest.mark.parametrize("ending", [".csv", ".json", ".umb"])
def test_files_show_the_probability(tmp_path: Path, ending: str) -> None:
    lake = frozen_lake()
    solution = gw.solve(lake, goal_first=True)
    path = tmp_path / f"policy{ending}"
    solution.save(path)
    again = gw.Solution.load(path, lake)
    np.testing.assert_array_equal(again.policy, solution.policy)
    np.testing.assert_array_equal(again.values, solution.values)
    if ending == ".csv":
        assert path.read_text().splitlines()[0] == "state,action,value,lower,upper,goal_probability"
        assert float(path.read_text().splitlines()[1].rpartition(",")[2]) == solution.goal_probability[0]
