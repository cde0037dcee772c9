"""The planner on models too large for rational arithmetic: linear solves, linear programs, Bellman's inequality."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg

import goalward as gw
from goalward import SSP, Neighbourhoods, Solution, worlds
from goalward.acting.contract import Task
from oracles import Exact, linear_program
from strategies import random_model

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def proportions(ssp: SSP) -> sparse.csr_array:
    """Return the kernel without the goal's column, each row divided by its sum."""
    kernel = sparse.csr_array(
        (ssp.probabilities, ssp.successors, ssp.indptr), shape=(ssp.states * ssp.actions, ssp.states + 1)
    )
    sums = np.asarray(kernel.sum(axis=1)).reshape(-1)
    inverse = sparse.diags_array(np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0))
    return sparse.csr_array((inverse @ kernel)[:, :-1])


def check_by_linear_solve(ssp: SSP, solution: Solution, tolerance: float) -> None:
    """Check a solution of a model without dead ends: the cost of its policy, and that no action betters it."""
    kernel = proportions(ssp)
    chosen = np.arange(ssp.states) * ssp.actions + solution.policy
    system = sparse.eye_array(ssp.states) - kernel[chosen]
    costs = ssp.costs.reshape(-1)
    played = linalg.spsolve(sparse.csc_array(system), costs[chosen])
    rounding = 1e-10 * played
    assert (solution.upper - solution.lower <= tolerance * solution.upper).all()
    assert (played <= solution.upper + rounding).all()
    assert (played >= solution.lower - rounding).all()
    # The lower bound is below its own backup everywhere; so it is below the values of every proper policy.
    backups = (costs + kernel @ solution.lower).reshape(ssp.costs.shape)
    assert (backups.min(axis=1) >= solution.lower * (1.0 - 1e-10)).all()
    # And the upper bound is above its backup under the policy, which is what makes it a bound and the policy proper.
    assert (costs[chosen] + kernel[chosen] @ solution.upper <= solution.upper * (1.0 + 1e-10)).all()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(
    ("states", "successors", "goal", "costs"),
    [
        (1000, 5, 0.02, (0.5, 1.5)),
        (2000, 3, 0.002, (0.5, 1.5)),
        (1500, 8, 0.1, (0.0, 1.0)),
        (1000, 2, 0.02, (1e-9, 1e-3)),
        (129, 129, 0.01, (0.5, 1.5)),
        (128, 128, 0.01, (0.5, 1.5)),
    ],
)
def test_random_models(states: int, successors: int, goal: float, costs: tuple[float, float], tolerance: float) -> None:
    for seed in range(2):
        ssp = random_model(seed, states=states, actions=3, successors=successors, goal=goal, costs=costs)
        solution = gw.solve(ssp, tolerance)
        assert solution.method == ("policy iteration" if states <= 128 else "sweeps")
        check_by_linear_solve(ssp, solution, tolerance)


@pytest.mark.parametrize("shuffled", [False, True])
def test_grids(shuffled: bool) -> None:
    ssp = gw.worlds.grid_world(rows=40, columns=40)
    if shuffled:
        order = np.random.default_rng(0).permutation(ssp.states + 1)
        order = np.append(order[order != ssp.goal], ssp.goal)
        kernel = ssp.to_dense()[order[:-1]][:, :, order]
        ssp = SSP.from_dense(kernel, ssp.costs[order[:-1]])
    solution = gw.solve(ssp, 1e-8)
    check_by_linear_solve(ssp, solution, 1e-8)


def test_warm_starts() -> None:
    """A chain of slightly different models, each started from the solution of the one before, as an agent does it."""
    rng = np.random.default_rng(7)
    for states in (60, 600):
        ssp = random_model(3, states=states, actions=3, successors=4, goal=0.02)
        solution = None
        for _ in range(5):
            noise = rng.uniform(0.8, 1.2, len(ssp.probabilities))
            ssp = SSP.from_rows(
                ssp.indptr, ssp.successors, np.minimum(ssp.probabilities * noise, 1.0), ssp.costs, normalize=True
            )
            solution = gw.solve(ssp, start=solution)
            check_by_linear_solve(ssp, solution, 1e-6)


def maze(seed: int, states: int) -> SSP:
    """Make a model of few edges: traps, dead ends, unavailable actions, free loops, two successors a row."""
    rng = np.random.default_rng(seed)
    kernel = np.zeros((states, 3, states + 1))
    for state in range(states):
        for action in range(3):
            if rng.random() < 0.15:
                continue
            near = np.clip(state + rng.integers(-4, 6, size=2), 0, states)
            if rng.random() < 0.03:
                near[:] = rng.integers(0, states, 2)
            share = rng.choice([0.1, 0.5, 0.8])
            kernel[state, action, near[0]] += share
            kernel[state, action, near[1]] += 1.0 - share
    costs = rng.choice([0.0, 0.0, 0.3, 1.0, 2.0], size=(states, 3))
    for trap in rng.integers(1, states, 5):
        kernel[trap] = 0.0
        kernel[trap, :, trap] = 1.0
    return SSP.from_dense(kernel, costs)


def test_mazes_against_linear_programs() -> None:
    """In 12 mazes of 150 states; HiGHS works to absolute tolerances of 1e-7."""
    dead = free = 0
    for seed in range(12):
        ssp = maze(seed, 150)
        sure = np.zeros(ssp.states, dtype=bool)
        sure[list(Exact.of(ssp).sure()[0])] = True
        if not sure.any():
            continue
        solution = gw.solve(ssp.with_initial_state(int(np.argmax(sure))), 1e-8)
        assert np.array_equal(np.isfinite(solution.values), sure)
        assert solution.values == pytest.approx(linear_program(ssp, sure), rel=1e-6, abs=1e-6)
        costs = gw.evaluate(ssp, solution.policy).costs
        assert costs == pytest.approx(solution.values, rel=1e-7, abs=1e-12)
        dead += int(np.count_nonzero(~sure))
        free += len(gw.structure(ssp).zero_cost_loops)
    assert dead > 50
    assert free > 20


def test_corrections_that_do_harm_are_given_up() -> None:
    """Half a grid that is known and half a random graph: levels are no groups there. It took 276 rounds once."""
    world = worlds.grid_world(30, 30)
    seen = gw.learn(gw.agents.Uniform(), world, 10**6, max_steps=3000, keep_steps=True).trajectory
    assert seen is not None
    belief = Neighbourhoods().belief(Task.of(world, 1))
    belief.update(seen)
    model = belief.sample(np.random.default_rng(2))
    solution = gw.solve(model)
    assert solution.iterations < 100
    check_by_linear_solve(model, solution, 1e-6)


def components(seed: int, count: int, size: int, onward: float, free: float = 0.0) -> SSP:
    """Make random components in a line, left for the next with a small probability; some rows cost nothing."""
    rng = np.random.default_rng(seed)
    states, actions = count * size, 3
    rows = states * actions
    own = np.repeat(np.arange(count), size * actions)
    inner = own[:, None] * size + rng.integers(0, size, (rows, 3))
    after = np.where(own + 1 < count, (own + 1) * size + rng.integers(0, size, rows), states)
    weights = rng.dirichlet(np.ones(3), rows) * (1.0 - onward)
    costs = rng.uniform(0.5, 1.5, (states, actions))
    costs[rng.random(costs.shape) < free] = 0.0
    return SSP.from_rows(
        np.arange(rows + 1) * 4,
        np.concatenate([inner, after[:, None]], axis=1).ravel(),
        np.concatenate([weights, np.full((rows, 1), onward)], axis=1).ravel(),
        costs,
        normalize=True,
    )


@pytest.mark.parametrize(("size", "onward"), [(1, 0.5), (2, 0.3), (40, 0.01), (40, 1e-5)])
@pytest.mark.parametrize("free", [0.0, 0.3])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_components(size: int, onward: float, free: float, tolerance: float) -> None:
    for seed in range(2):
        ssp = components(seed, 2000 // size // 2, size, onward, free)
        check_by_linear_solve(ssp, gw.solve(ssp, tolerance), tolerance)


def test_an_acyclic_model_takes_one_pass() -> None:
    """Each state leads to later ones only: values are those of one backup each, to the last digits."""
    rng = np.random.default_rng(0)
    n = 400
    kernel = np.zeros((n, 2, n + 1))
    for state in range(n):
        for action in range(2):
            kernel[state, action, rng.integers(state + 1, n + 1, 3)] = rng.dirichlet(np.ones(3))
    costs = rng.choice([0.0, 1.0, 3.0], (n, 2))
    solution = gw.solve(SSP.from_dense(kernel, costs, normalize=True), 1e-9)
    values = np.zeros(n + 1)
    for state in reversed(range(n)):
        share = kernel[state] / kernel[state].sum(axis=1, keepdims=True)
        values[state] = (costs[state] + share @ values).min()
    np.testing.assert_allclose(solution.values, values[:-1], rtol=1e-12, atol=1e-15)
    assert (solution.method, solution.iterations) == ("sweeps", 1)


def test_a_long_queue_whose_cheap_service_is_too_slow() -> None:
    """Of the three speeds of service two let the queue grow: their values exceed what doubles can hold apart."""
    states, arrival = 100_000, 0.49
    speeds, prices = np.array([0.45, 0.49, 0.50]), np.array([0.5, 1.0, 1.5])
    waiting = np.arange(states)
    fewer, more = np.where(waiting > 0, waiting - 1, states), np.minimum(waiting + 1, states - 1)
    transitions = {"fewer": (fewer, speeds), "more": (more, np.full(3, arrival)), "same": (waiting, 0.51 - speeds)}
    rows, successors, shares = [], [], []
    for targets, chances in transitions.values():
        for action, chance in enumerate(chances):
            rows.append(3 * waiting + action)
            successors.append(targets)
            shares.append(np.full(states, chance))
    kernel = sparse.coo_array(
        (np.concatenate(shares), (np.concatenate(rows), np.concatenate(successors))), shape=(3 * states, states + 1)
    ).tocsr()
    costs = prices + (waiting[:, np.newaxis] + 1) / states
    model = gw.SSP.from_rows(kernel.indptr, kernel.indices, kernel.data, costs, states // 2)
    check_by_linear_solve(model, gw.solve(model), 1e-6)


@pytest.mark.parametrize("seed", [0, 3])
def test_errors_are_summed_up_before_sweeps_reach_the_last_digit(seed: int) -> None:
    """Half of all actions cost nothing. With one proof by propagation only, seed 3 takes 81 rounds."""
    states, actions = 1000, 4
    rng = np.random.default_rng(seed)
    pairs = states * actions
    successors = np.column_stack([rng.integers(0, states, (pairs, 4)), np.full(pairs, states)])
    probabilities = np.column_stack([rng.dirichlet(np.ones(4), pairs) * 0.98, np.full(pairs, 0.02)])
    costs = np.where(rng.random((states, actions)) < 0.5, 0.0, rng.random((states, actions)) + 0.1)
    solution = gw.solve(SSP.from_rows(np.arange(pairs + 1) * 5, successors.ravel(), probabilities.ravel(), costs))
    assert solution.width <= 1e-6
    assert solution.iterations <= 20
