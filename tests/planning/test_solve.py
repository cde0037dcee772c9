"""The planner on thousands of small models, its promises held against exact values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from promises import check_promises, check_solve

import goalward as gw
from goalward import SSP, Solution
from goalward.errors import PolicyError, PrecisionError, SettingError, UnreachableGoalError
from goalward.planning import solve as solving
from oracles import Exact
from strategies import model_pairs, models

fixed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["policy iteration", "sweeps", "coarse sweeps", "direct"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Send small models down each path; all but the first are meant for more than 128 states."""
    if request.param != "policy iteration":
        monkeypatch.setattr(solving, "DENSE_STATES", 0)
        monkeypatch.setattr(solving, "ELIMINATED_STATES", 0)
    if request.param == "direct":
        monkeypatch.setattr("goalward.planning.rounds.LU_STATE", 0.0)
        monkeypatch.setattr("goalward.planning.rounds.LU_LEVELS", 0.0)
        monkeypatch.setattr("goalward.planning.rounds.DIRECT_AFTER", 1)
    if request.param == "coarse sweeps":
        monkeypatch.setattr("goalward.planning.rounds.GROUPS", 1)
    return str(request.param)


def chain(costs: list[float], success: float = 1.0) -> SSP:
    """Make states in a row, each a step from the next, the last from the goal."""
    n = len(costs)
    kernel = np.zeros((n, 1, n + 1))
    for state in range(n):
        kernel[state, 0, state] = 1.0 - success
        kernel[state, 0, state + 1] = success
    return SSP.from_dense(kernel, np.array(costs)[:, None])


# State 0 can gamble (0.9 goal, 0.1 a dead end) at cost 1 or try until it works at cost 5; 1 and 2 circle for free.
GAMBLE = SSP.from_transitions(
    [
        (0, "gamble", "goal", 0.9, 1.0),
        (0, "gamble", "trap", 0.1, 1.0),
        (0, "try", "goal", 0.5, 5.0),
        (0, "try", 0, 0.5, 5.0),
        (1, "circle", 2, 1.0, 0.0),
        (2, "circle", 1, 1.0, 0.0),
        (2, "leave", 0, 1.0, 1.0),
        ("trap", "stay", "trap", 1.0, 1.0),
    ],
    goals=["goal"],
)


# 3e22 from the goal, where a step's cost is far below the last digit: the loop 0 -> 2 -> 0 looks as good as free.
FAR = SSP.from_transitions(
    [
        (0, "loop", 2, 1.0, 2.0),
        (0, "try", "goal", 1e-10, 2.0),
        (0, "try", 1, 1.0 - 1e-10, 2.0),
        (1, "try", 0, 1e-12, 3.0),
        (1, "try", 1, 1.0 - 1e-12, 3.0),
        (2, "loop", 0, 1.0, 1.0),
    ],
    goals=["goal"],
)
# Costs of nothing, a little and a lot beside each other.
FREE = SSP.from_rows(
    [0, 2, 4, 7, 8, 10, 10, 12, 12],
    [1, 2, 2, 3, 2, 3, 4, 0, 0, 4, 3, 4],
    [0.999, 0.001, 0.9, 0.1, 0.25, 0.5, 0.25, 1.0, 0.001, 0.999, 0.9, 0.1],
    [[0.0, 1.0], [1.0, 1e-9], [1e-9, 0.0], [1e-9, 0.0]],
)
# 0 and 1 are one free loop, two steps and one step from the goal, beside 2, which is one step from it.
LOOPED = SSP.from_rows(
    [0, 1, 1, 1, 2, 2, 2, 3, 5, 5, 5, 5, 6],
    [2, 1, 3, 0, 1, 3],
    [1.0, 1.0, 1.0, 0.01, 0.99, 1.0],
    [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
)
# 0 and 1 circle for 2e-9, next to nothing beside the value of 0, 18/11.
CIRCLE = SSP.from_transitions(
    [
        (0, "on", 3, 0.9, 1e-9),
        (0, "on", "goal", 0.1, 1e-9),
        (0, "circle", 1, 1.0, 1e-9),
        (1, "circle", 0, 1.0, 1e-9),
        (3, "on", 0, 0.5, 1.0),
        (3, "on", "goal", 0.5, 1.0),
    ],
    goals=["goal"],
)
# 0 and 1 circle for 1e-9, and the way back costs nothing at all.
FREE_WAY_BACK = SSP.from_transitions(
    [
        (0, "circle", 1, 1.0, 1e-9),
        (0, "on", 1, 1 / 3, 1.0),
        (0, "on", "goal", 2 / 3, 1.0),
        (1, "back", 0, 1.0, 0.0),
    ],
    goals=["goal"],
)


@given(models())
@settings(fixed, max_examples=1000)
@example(chain([1e-6, 1e6]))
@example(chain([1e9] * 5 + [1e-9]))
@example(GAMBLE)
@example(FAR)
@example(FREE)
@example(LOOPED)
def test_promises_hold(method: str, ssp: SSP) -> None:
    check_solve(ssp, 1e-6)


@given(models())
@settings(fixed, max_examples=200)
def test_coarse_promises_hold(method: str, ssp: SSP) -> None:
    check_solve(ssp, 1e-3)


@given(models())
@settings(fixed, max_examples=450)
def test_narrow_promises_hold(method: str, ssp: SSP) -> None:
    check_solve(ssp, 1e-10)


@given(models(tiny=False, costs=("free", "nearly free")))
@settings(fixed, max_examples=450)
@example(CIRCLE)
@example(FREE_WAY_BACK)
def test_promises_hold_among_free_loops(method: str, ssp: SSP) -> None:
    check_solve(ssp, 1e-6)


@given(models(tiny=False, costs=("free", "nearly free")))
@settings(fixed, max_examples=100)
@example(CIRCLE)
@example(FREE_WAY_BACK)
def test_elimination_comes_to_the_rescue_of_sweeps(monkeypatch: pytest.MonkeyPatch, ssp: SSP) -> None:
    monkeypatch.setattr(solving, "DENSE_STATES", 0)
    check_solve(ssp, 1e-6)


def test_values_that_cannot_be_proved_are_those_of_a_policy() -> None:
    """Costs 18 orders of magnitude apart: a step of 1e-9 cannot be seen in values of 1e9."""
    grid = gw.worlds.grid_world(15, 15, success=1.0)
    ssp = grid.with_costs(np.random.default_rng(0).choice([1e-9, 1e9], size=grid.costs.shape))
    with pytest.raises(PrecisionError) as caught:
        gw.solve(ssp)
    # The cheapest path has four expensive steps, by Dijkstra's algorithm.
    assert caught.value.solution.values[0] == pytest.approx(4e9, rel=1e-12)


@given(models(tiny=False, costs=("unit", "ties", "real")), st.sampled_from([1e-3, 1e-5, 1e-7, 1e-9]))
@settings(fixed, max_examples=450)
def test_tame_models_are_always_solved(method: str, ssp: SSP, tolerance: float) -> None:
    check_solve(ssp, tolerance)


def uphill(way_out: float) -> SSP:
    """Make a loop of cost 1 with a way out: started low, values climb to that by 1 a round."""
    table = [(0, "on", 1, 1.0, 0.0), (1, "back", 0, 1.0, 1.0), (1, "out", "goal", 1.0, way_out)]
    return SSP.from_transitions(table, goals=["goal"])


@given(model_pairs(), st.sampled_from([1e-3, 1e-6]))
@settings(fixed, max_examples=400)
def test_warm_starts_change_no_promise(method: str, pair: tuple[SSP, SSP], tolerance: float) -> None:
    """The start solves a model with some other costs, probabilities or support, so other dead ends and free loops."""
    first, second = pair
    start = solving.solve_all(first, tolerance)
    check_solve(second, tolerance, start)


def test_a_start_far_too_low(method: str) -> None:
    """Sweeps climb from there one unit of cost at a time; the planner must start anew."""
    check_solve(uphill(1e9), 1e-6, gw.solve(uphill(1e-9)))


@given(models(max_actions=2), models(max_actions=4))
@settings(fixed, max_examples=100)
def test_a_start_from_a_stranger(method: str, stranger: SSP, ssp: SSP) -> None:
    start = solving.solve_all(stranger)
    if stranger.states == ssp.states:
        check_solve(ssp, 1e-6, start)
    else:
        with pytest.raises(PolicyError, match=f"has {stranger.states} states; pass a solution with {ssp.states}"):
            gw.solve(ssp, start=start)


def test_garbage_to_start_from(method: str) -> None:
    """Values of no meaning cost time, never truth."""
    ssp = GAMBLE
    for number in (0.0, np.inf, np.nan, -1.0, 1e300, 5e-324):
        numbers = np.full(4, number)
        for action in range(-1, 4):
            start = Solution(numbers, np.full(4, action), numbers, numbers, "made up", 0, 1.0, ssp)
            check_solve(ssp, 1e-6, start)


@given(models(), st.sampled_from([-30, -3, 1, 30]))
@settings(max_examples=200)
def test_the_unit_of_cost_does_not_matter(ssp: SSP, power: int) -> None:
    """Scaled by a power of two, every number of the solution is scaled by it, to the bit."""
    solution, scaled = solving.solve_all(ssp), solving.solve_all(ssp.with_costs(np.ldexp(ssp.costs, power)))
    assert np.array_equal(solution.policy, scaled.policy)
    for name in ("values", "lower", "upper"):
        assert np.array_equal(np.ldexp(getattr(solution, name), power), getattr(scaled, name)), name


@given(models())
@settings(max_examples=100)
def test_solving_twice_gives_the_same_bits(ssp: SSP) -> None:
    one, two = solving.solve_all(ssp), solving.solve_all(ssp)
    for name in ("values", "policy", "lower", "upper", "method", "iterations"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_a_gamble_with_a_dead_end_is_no_bargain(method: str) -> None:
    """Storm's optimistic value iteration claims 10 and gambles, at an infinite cost."""
    solution = gw.solve(GAMBLE)
    assert solution.values == pytest.approx([10.0, 11.0, 11.0, np.inf])
    assert solution.policy.tolist() == [1, 2, 3, -1]


def test_a_large_grid_is_not_free() -> None:
    """Storm's policy iteration returns zero everywhere on this grid."""
    ssp = gw.worlds.grid_world(rows=100, columns=100)
    solution = gw.solve(ssp)
    assert solution.method == "sweeps"
    # From the far corner the goal is 198 cells away, and a step brings it at most 0.9 cells nearer in the mean.
    assert solution.lower[ssp.initial_state] > 198 / 0.9
    assert solution.lower.min() >= 1.0 - 1e-9


def test_the_grid_of_the_paper() -> None:
    ssp = gw.worlds.grid_world(rows=3, columns=4, success=0.85)
    assert gw.solve(ssp).values[ssp.initial_state] == pytest.approx(6.0365, abs=5e-5)


def test_a_chain_in_closed_form(method: str) -> None:
    solution = gw.solve(chain([1.0, 2.0, 3.0], success=0.25), 1e-9)
    assert solution.values == pytest.approx([24.0, 20.0, 12.0], rel=1e-9)


def test_nothing_costs_nothing(method: str) -> None:
    solution = gw.solve(chain([0.0, 0.0]))
    assert (solution.values.tolist(), solution.upper.tolist(), solution.policy.tolist()) == ([0, 0], [0, 0], [0, 0])
    assert solution.method == "graph"


def test_unlikely_goals_are_still_certain() -> None:
    """One try in 1e12 succeeds, and after each failure the whole way starts again: 1e12 (1e12 + 1) steps."""
    p = 1e-12
    ssp = SSP.from_dense([[[1 - p, p, 0]], [[1 - p, 0, p]]], [[1.0], [1.0]])
    solution = check_solve(ssp, 1e-6)
    assert solution.width <= 1e-6
    assert solution.values == pytest.approx([1e24, 1e24], rel=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-6, 2.0, np.nan, np.inf])
def test_tolerances_out_of_range(tolerance: float) -> None:
    with pytest.raises(SettingError, match=rf"tolerance is {tolerance!r}; it must be a number between 0 and 1"):
        gw.solve(GAMBLE, tolerance)


def test_a_start_that_cannot_reach_the_goal() -> None:
    with pytest.raises(UnreachableGoalError, match=r"from the initial state trap \(1 of 4 .*goal_first=True"):
        gw.solve(GAMBLE.with_initial_state(3))


def test_more_than_double_precision(method: str) -> None:
    ssp = chain([0.1, 0.2, 0.3], success=0.3)
    with pytest.raises(PrecisionError, match=r"tolerance of 1e-17: the best bounds .*\. Raise the tolerance") as info:
        gw.solve(ssp, 1e-17)
    solution = info.value.solution
    assert 0.0 < solution.width < 1e-13
    check_promises(ssp, solution, 1e-13, Exact.of(ssp).best()[0])


@pytest.mark.parametrize(
    ("costs", "success"), [([1e308, 1e308], 1.0), ([1e308], 0.01), ([5e-324, 5e-324], 1.0), ([5e-324], 0.3)]
)
def test_beyond_the_range_of_doubles(method: str, costs: list[float], success: float) -> None:
    """Sums that overflow, or numbers so small that rounding is no longer relative, prove nothing, and it is said so."""
    ssp = chain(costs, success)
    with pytest.raises(PrecisionError, match="apart") as info:
        gw.solve(ssp)
    # No tolerance is as large as the width of these bounds, so raising it is not advised.
    assert ("Raise the tolerance" in str(info.value)) == (info.value.solution.width < 0.5)
    check_promises(ssp, info.value.solution, None, Exact.of(ssp).best()[0])


@pytest.mark.parametrize("leave", [5e-324, 5e-315, 2.2e-308, 2.3e-308, 1e-300])
@pytest.mark.parametrize("cost", [0.0, 1e-300, 1.0, 1e10])
def test_ways_that_are_hardly_ever_taken(method: str, leave: float, cost: float) -> None:
    """A row that stays, but for a subnormal probability, as no constructor lets it in: nothing false is proved."""
    ssp = SSP._trusted(
        np.array([0, 2, 2, 3, 4]), np.array([0, 1, 2, 1], dtype=np.int32), np.array([1.0, leave, 1.0, 1.0]),
        np.array([[cost, np.inf], [1.0, 1.0]]), 0,
    )  # fmt: skip
    gw.solve(SSP.from_rows([0, 1, 2, 3, 4], [2, 2, 2, 2], np.ones(4), np.ones((2, 2))))
    try:
        solution = gw.solve(ssp)
    except PrecisionError as error:
        solution = error.solution
    check_promises(ssp, solution, None, Exact.of(ssp).best()[0])


Step = tuple[int, int, float, float]  # state, next state, probability, cost
UNDERFLOWS: dict[str, list[Step]] = {
    # In a free loop that is left once in 1e307 steps, what a residual has besides the loop underflows.
    "a residual": [(0, 1, 1.0, 0.0), (1, 0, 1.0, 0.0), (1, 2, 3e-307, 0.0), (2, 3, 1.0, 2e-10)],
    # From 0, two unlikely steps lead to a huge cost. The probability of both is subnormal, their cost is not.
    "elimination": [
        (0, 1, 1.0, 1e-200), (0, 2, 1.1e-160, 1e-200), (1, 4, 1.0, 1e-200), (2, 1, 1.0, 1e-200),
        (2, 3, 1.2e-160, 1e-200), (3, 4, 1.0, 1e280),
    ],
    # A subnormal cost is rounded when its self-loop is divided out, and paid 1e300 times.
    "a cost": [(0, 0, 0.3, 5e-324), (0, 1, 0.7, 5e-324), (1, 0, 1.0, 0.0), (1, 2, 1e-300, 0.0)],
}  # fmt: skip


@pytest.mark.parametrize("what", UNDERFLOWS)
def test_what_underflows_is_not_proved(method: str, what: str) -> None:
    rows = [(str(state), "go", str(near), p, cost) for state, near, p, cost in UNDERFLOWS[what]]
    ssp = SSP.from_transitions(rows, goals=[str(max(near for _, near, _, _ in UNDERFLOWS[what]))])
    try:
        solution = gw.solve(ssp)
    except PrecisionError as error:
        solution = error.solution
    check_promises(ssp, solution, None, Exact.of(ssp).best()[0])


def test_sweeps_that_hardly_move_are_given_up() -> None:
    """Two states circle at a cost of 1e290 and leave once in a million steps; beside them others cost 1e307.

    Sums overflow, so corrections and direct solves fail, and sweeps come nearer by a hundred-thousandth each.
    """
    states, q = 129, 1e-6
    successors, probabilities, indptr = [1, states, 0], [1.0 - q, q, 1.0], [0, 2, 3]
    for state in range(2, states):
        successors += [state - 1, state + 1 if state + 1 < states else 2]
        probabilities += [0.5, 0.5]
        indptr.append(len(successors))
    costs = np.full((states, 1), 1e307)
    costs[:2] = 1e290
    with pytest.raises(PrecisionError) as info:
        gw.solve(SSP.from_rows(indptr, successors, probabilities, costs))
    assert info.value.solution.iterations < 10_000


def test_a_start_saves_work() -> None:
    ssp = gw.worlds.grid_world(rows=30, columns=30)
    cold = gw.solve(ssp)
    warm = gw.solve(ssp, start=cold)
    assert warm.iterations < cold.iterations
    small = gw.worlds.random_mdp(states=20, actions=5, seed=1, rows="uniform")
    assert gw.solve(small, start=gw.solve(small)).iterations == 1


def test_repr() -> None:
    text = repr(gw.solve(GAMBLE))
    assert text.startswith("Solution(states=4, largest_value=11, width=")
    assert text.endswith(", dead_ends=1, method='policy iteration', iterations=1)")


def test_solutions_do_not_change() -> None:
    with pytest.raises(AttributeError, match="cannot assign"):
        gw.solve(GAMBLE).values = np.zeros(4)  # type: ignore[misc]
