"""Tied rows against the exact posterior, which is a mixture of Dirichlet laws when outcomes cannot be told apart."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from goalward import SSP, TiedDirichlet, agents, learn, worlds
from goalward.acting.contract import Steps, Task
from goalward.agents import PSRL
from goalward.agents.saving import decode, encode
from goalward.errors import BeliefError, SettingError, ShapeError, UnreachableGoalError


def exact_moments(
    concentration: float, told: list[int], sets: dict[tuple[int, ...], int]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of phi: sum over every way to split the steps of each set among its outcomes."""
    m = len(told)
    ways = []
    for members, count in sets.items():
        splits = []
        for chosen in itertools.combinations_with_replacement(members, count):
            split = np.bincount(chosen, minlength=m)
            ways_of_split = math.lgamma(count + 1) - sum(math.lgamma(n + 1) for n in split)
            splits.append((split, ways_of_split))
        ways.append(splits)
    logs, means, seconds = [], [], []
    for combination in itertools.product(*ways):
        alpha = concentration + np.array(told) + sum((split for split, _ in combination), np.zeros(m))
        logs.append(
            sum(ways_of_split for _, ways_of_split in combination)
            + sum(math.lgamma(a) for a in alpha)
            - math.lgamma(alpha.sum())
        )
        means.append(alpha / alpha.sum())
        seconds.append(alpha * (alpha + 1.0) / alpha.sum() / (alpha.sum() + 1.0))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    return mean, weights @ np.array(seconds) - mean**2


# Three states, three outcomes: state 0 tells all apart, state 1 not the first two, state 2 not the last two.
OUTCOMES = np.array([[[0, 1, 3]], [[1, 1, 3]], [[0, 3, 3]]])
CASES = {
    "told apart": ([3, 2, 1], {}),
    "one set": ([3, 2, 1], {(0, 1): 6}),
    "two sets": ([2, 1, 1], {(0, 1): 5, (1, 2): 4}),
    "never told apart": ([0, 0, 2], {(0, 1): 8}),
    "nothing told": ([0, 0, 0], {(0, 1): 4, (1, 2): 3}),
}


def observed(told: list[int], sets: dict[tuple[int, ...], int]) -> Steps:
    rows = [(0, int(OUTCOMES[0, 0, j])) for j, count in enumerate(told) for _ in range(count)]
    rows += [(1, 1)] * sets.get((0, 1), 0) + [(2, 3)] * sets.get((1, 2), 0)
    states, successors = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Steps.in_table(states, np.zeros_like(states), np.ones(len(rows)), successors, -1)


def task() -> Task:
    return Task(np.ones((3, 1)), 0, 1)


@pytest.mark.parametrize("concentration", [0.1, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_sampling_is_exact(case: str, concentration: float) -> None:
    """4,000 chains; each mean within five standard errors, so a correct sampler fails with probability below 1e-5."""
    told, sets = CASES[case]
    mean, variance = exact_moments(concentration, told, sets)
    belief = TiedDirichlet(OUTCOMES, concentration=concentration, sweeps=250).belief(task())
    belief.update(observed(told, sets))
    rng = np.random.default_rng(7)
    alpha = belief.chains(rng, 4000)
    phi = rng.gamma(np.broadcast_to(alpha, (4000, 3)))
    phi /= phi.sum(axis=1, keepdims=True)
    assert (abs(phi.mean(axis=0) - mean) < 5.0 * np.sqrt(variance / 4000)).all()
    squares = (phi - mean) ** 2
    assert (abs(squares.mean(axis=0) - variance) < 5.0 * squares.std(axis=0) / np.sqrt(4000)).all()
    found = belief.mean().to_dense()[0, 0, [0, 1, 3]]
    np.testing.assert_allclose(found, mean, atol=5.0 * np.sqrt(variance.max() / 2000))


def test_rows_of_a_sample_share_one_distribution() -> None:
    belief = TiedDirichlet(OUTCOMES).belief(task())
    P = belief.sample(np.random.default_rng(0)).to_dense()[:, 0]
    phi = P[0, [0, 1, 3]]
    np.testing.assert_allclose(P[1, [1, 3]], [phi[0] + phi[1], phi[2]], rtol=1e-12)
    np.testing.assert_allclose(P[2, [0, 3]], [phi[0], phi[1] + phi[2]], rtol=1e-12)


@pytest.mark.parametrize("concentration", [1e-6, 1e-3])
def test_small_concentrations(concentration: float) -> None:
    """Mean over 3,000 draws within five standard errors: a correct sampler fails with probability below 2e-6."""
    belief = TiedDirichlet(OUTCOMES, concentration=concentration).belief(task())
    rng = np.random.default_rng(3)
    phi = np.array([belief.sample(rng).to_dense()[0, 0, [0, 1, 3]] for _ in range(3000)])
    assert np.isfinite(phi).all()
    assert (phi > 0.0).all()
    variance = 2.0 / 9.0 / (3.0 * concentration + 1.0)
    assert (abs(phi.mean(axis=0) - 1.0 / 3.0) < 5.0 * np.sqrt(variance / 3000)).all()


@pytest.mark.parametrize("concentration", [1e-6, 1e-3])
def test_small_concentrations_after_a_wall_step(concentration: float) -> None:
    """A step that tells two of four outcomes apart from the rest, but not from each other.

    By symmetry each of the two has half of what both have. Mean over 2,000 draws within five standard errors.
    """
    world = worlds.grid_world()
    belief = TiedDirichlet.slip(world, concentration, sweeps=5).belief(Task.of(world, 1))
    pair = next(
        pair
        for pair in range(world.states * world.actions)
        if (belief.masks[belief.cells[belief.indptr[pair]]].sum(), belief.successors[belief.indptr[pair]])
        == (2, pair // world.actions)
    )
    state, action = (np.array([index]) for index in divmod(pair, world.actions))
    belief.update(Steps.in_table(state, action, np.ones(1), state, -1))
    members = belief.masks[belief.cells[belief.indptr[pair]]]
    expected = (concentration + 0.5 * members) / (4.0 * concentration + 1.0)
    rng = np.random.default_rng(3)
    inside = next(row for row in range(len(belief.indptr) - 1) if belief.indptr[row + 1] - belief.indptr[row] == 4)
    entries = slice(*belief.indptr[inside : inside + 2])
    outcomes = belief.masks[belief.cells[entries]].argmax(axis=1)
    drawn = np.array([belief.sample(rng).probabilities[entries] for _ in range(2000)])
    assert np.isfinite(drawn).all()
    error = 5.0 * np.sqrt(0.25 / 2000)
    np.testing.assert_allclose(drawn.mean(axis=0), expected[outcomes], rtol=0.0, atol=error)
    mean = belief.mean()
    assert mean.to_dense()[state[0], action[0], state[0]] == pytest.approx(expected[members].sum())
    assert np.isfinite(mean.probabilities).all()


WINDY = """
    wind = 0 1 -1 2
    S...
    ....
    .#.O
    ...G
"""


@pytest.mark.parametrize(
    ("world", "success"),
    [
        (worlds.grid_world(), 0.85),
        (worlds.grid_map(success=0.7), 0.7),
        (worlds.grid_map(WINDY.replace("O", "."), success=0.7), 0.7),
        (worlds.grid_map(WINDY, success=0.7).with_give_up(20.0), 0.7),
    ],
)
def test_slip_describes_the_grid(world: SSP, success: float) -> None:
    """With the true slip the tied rows are the world's."""
    belief = TiedDirichlet.slip(world).belief(Task.of(world, 1))
    phi = np.array([success] + [(1.0 - success) / 3.0] * 3)
    np.testing.assert_array_equal(belief.indptr, world.indptr)
    np.testing.assert_array_equal(belief.successors, world.successors)
    np.testing.assert_allclose((belief.masks @ phi)[belief.cells], world.probabilities, rtol=1e-12)


def test_a_windy_grid_is_learnt_with_the_slip_prior() -> None:
    world = worlds.windy_grid()
    assert not learn(PSRL(TiedDirichlet.slip(world)), world, 20, seed=1, max_steps=20_000).truncated


def test_steps_that_no_slip_explains_are_refused_at_once() -> None:
    world = worlds.grid_world()
    rows = world.to_dense()
    rows[3, 2, [0, 3]] = 0.5  # from the top right corner to the top left one
    rows[3, 2, [2, 7]] = 0.0
    jump = SSP.from_dense(rows, world.costs, action_names=world.action_names, layout=world.layout)
    with pytest.raises(SettingError, match=r"\(state 3, action 2\) can lead to state 0, which no slip explains"):
        TiedDirichlet.slip(jump)


def test_giving_up_is_known() -> None:
    world = worlds.grid_map(WINDY, success=0.7)
    known = world.with_give_up(20.0)
    prior = TiedDirichlet.slip(world)  # it may come without the action
    belief = prior.belief(Task.of(known, 1))
    assert belief.sample(np.random.default_rng(0)) == TiedDirichlet.slip(known).belief(Task.of(known, 1)).sample(
        np.random.default_rng(0)
    )
    fresh = belief.mean()
    many = np.full(1000, 5)
    belief.update(
        Steps.in_table(many, np.full(1000, known.give_up), np.full(1000, 20.0), np.zeros(1000, dtype=np.int64), -1)
    )
    assert belief.mean() == fresh
    for model in (belief.mean(), belief.sample(np.random.default_rng(1))):
        np.testing.assert_allclose(model.to_dense()[:, 4], known.to_dense()[:, 4], rtol=1e-12)
    assert not learn(PSRL(prior), world.with_give_up(20.0), 20, seed=1, max_steps=20_000).truncated


def test_every_cell_teaches_every_other() -> None:
    """After 20 episodes every row is known to 0.03, whether it was played or not."""
    world = worlds.grid_world()
    run = learn(agents.make("uniform"), world, 20, seed=4, keep_steps=True)
    assert run.trajectory is not None
    belief = TiedDirichlet.slip(world).belief(Task.of(world, 1))
    belief.update(run.trajectory)
    assert abs(belief.mean().to_dense() - world.to_dense()).max() < 0.03


def test_bad_input() -> None:
    with pytest.raises(ShapeError, match="integers in 3 dimensions"):
        TiedDirichlet([[0]])
    with pytest.raises(ShapeError, match="outcomes has dtype float64; it must hold integers"):
        TiedDirichlet([[[0.5]]])
    with pytest.raises(ShapeError, match=r"outcomes is not an array: .*; pass nested lists of equal length"):
        TiedDirichlet([[[0, 1]], [[1]]])
    with pytest.raises(ShapeError, match=r"\(state 1, action 0\)"):
        TiedDirichlet([[[0, 1]], [[-1, 1]]])
    with pytest.raises(SettingError, match="concentration is 0"):
        TiedDirichlet(OUTCOMES, concentration=0)
    with pytest.raises(ShapeError, match="the table of outcomes has 3 states and 1 actions, the task 2 and 1"):
        TiedDirichlet(OUTCOMES).belief(Task(np.ones((2, 1)), 0, 1))
    with pytest.raises(UnreachableGoalError, match="without a sure way"):
        TiedDirichlet([[[0, 0]]]).belief(Task(np.ones((1, 1)), 0, 1))
    with pytest.raises(SettingError, match="layout"):
        TiedDirichlet.slip(worlds.random_mdp(states=8, seed=5, rows="uniform"))
    belief = TiedDirichlet(OUTCOMES).belief(task())
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(BeliefError, match=r"\(state 1, action 0\) led to state 0.* widen the support: give"):
        belief.update(Steps.in_table(one, one - 1, np.ones(1), one - 1, -1))


def test_state() -> None:
    prior = TiedDirichlet(OUTCOMES, concentration=0.2, sweeps=9)
    belief = prior.belief(task())
    belief.update(observed([1, 2, 3], {(0, 1): 4}))
    again = decode(encode(prior))
    assert again.settings() == prior.settings()
    copy = again.belief(task())
    copy.restore(belief.to_state())
    assert copy.sample(np.random.default_rng(1)) == belief.sample(np.random.default_rng(1))
    with pytest.raises(ValueError, match="counts must have shape"):
        copy.restore({"counts": belief.counts[1:]})
    with pytest.raises(SettingError, match="sweeps is 2147483648"):
        TiedDirichlet(OUTCOMES, sweeps=2**31)
