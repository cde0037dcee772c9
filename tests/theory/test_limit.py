"""The limit of regret against closed forms, a convex solver and changes of single rows."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy import optimize, special

from goalward import SSP, solve, worlds
from goalward.errors import TheoryError
from goalward.theory.limit import RegretLimit, regret_limit


def kl(p: float, q: float) -> float:
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


def one_state(chances: list[float], costs: list[float]) -> SSP:
    return SSP.from_dense(np.array([[[1 - p, p] for p in chances]]), np.array([costs]))


def detour(c1: float, d: float, q: float) -> SSP:
    """s0: cost 1 surely to the goal, or c1 surely to x; x: cost d, to the goal with chance q, else stays."""
    rows = ([0, 1, 2, 4, 4], [2, 1, 1, 2], [1.0, 1.0, 1 - q, q])
    return SSP.from_rows(*rows, costs=[[1.0, c1], [d, np.inf]])


@pytest.mark.parametrize(("p", "expected"), [((0.8, 0.5), 1.6805325441467058), ((0.3, 0.1), 5.73122936098162)])
def test_one_state(p: tuple[float, float], expected: float) -> None:
    limit = regret_limit(one_state(list(p), [1.0, 1.0]))
    assert limit.constant == pytest.approx((p[0] - p[1]) / (p[0] * kl(p[1], p[0])), rel=1e-12)
    assert limit.constant == pytest.approx(expected, rel=1e-12)
    assert np.isnan(limit.information[0, 0])
    assert limit.visits[0, 0] == 0.0
    # An action that costs as much as the optimal value of its state adds nothing, whatever it may lead to.
    dear = one_state([*p, 0.9], [1.0, 1.0, 1.0 / p[0]])
    assert regret_limit(dear).constant == pytest.approx(expected, rel=1e-12)


def test_a_state_off_the_path() -> None:
    c1, d, q = 0.2, 0.5, 0.3
    V, t = d / q, d / (1 - c1)
    gap = c1 + V - 1
    constant = regret_limit(detour(c1, d, q)).constant
    assert constant == pytest.approx(gap * max(q / kl(q, t), 1 / log(V / (1 - c1))), rel=1e-10)
    assert constant == pytest.approx(1.199719834998973, rel=1e-10)


def test_a_deterministic_detour() -> None:
    world = SSP.from_rows([0, 1, 2, 3, 3], [2, 1, 2], [1.0, 1.0, 1.0], costs=[[1.0, 0.7], [0.5, np.inf]])
    limit = regret_limit(world)
    assert limit.constant == pytest.approx(0.3915230377942435, rel=1e-10)
    assert limit.on_path.tolist() == [True, False]


@pytest.mark.parametrize(
    ("world", "constant", "precision"),
    [
        ("river-swim-v0", 76.258, 1e-5),
        ("random-mdp-v1", 419.424, 1e-5),
        ("grid-world-v0", 24531.1, 1e-4),
        ("four-rooms-v0", 3214.76, 1e-5),
    ],
)
def test_constants_of_worlds(world: str, constant: float, precision: float) -> None:
    """Computed before by another program, with a convex solver and a full linear program of occupations."""
    assert regret_limit(worlds.make(world)).constant == pytest.approx(constant, rel=precision)


def permuted(ssp: SSP, order: np.ndarray) -> SSP:
    """Return the model whose state ``order[s]`` is the state s of another."""
    old = np.argsort(order)
    rows = ssp.to_dense()[old][:, :, np.append(old, ssp.states)]
    return SSP.from_dense(rows, ssp.costs[old], initial_state=int(order[ssp.initial_state]))


def with_lonely_state(ssp: SSP) -> SSP:
    """Return a model with one more state, which nothing leads to and which leads nowhere else."""
    rows = np.zeros((ssp.states + 1, ssp.actions, ssp.states + 2))
    rows[:-1, :, np.append(np.arange(ssp.states), ssp.states + 1)] = ssp.to_dense()
    rows[-1, :, -2] = 1.0
    return SSP.from_dense(rows, np.vstack([ssp.costs, np.ones(ssp.actions)]), initial_state=ssp.initial_state)


def small_world(seed: int, states: int = 5) -> SSP:
    """Return a sparse random world in which some states are off the path."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(states + 1, 0.2), (states, 3))
    rows[rows < 0.1] = 0.0
    rows[:, :, -1] += 0.05
    return SSP.from_dense(rows / rows.sum(axis=2, keepdims=True), rng.uniform(0.1, 1.0, (states, 3)))


@pytest.mark.parametrize("world", [worlds.river_swim(), small_world(3)], ids=["river", "random"])
def test_what_leaves_the_limit_alone(world: SSP) -> None:
    limit = regret_limit(world)
    K = 3_000
    order = np.random.default_rng(0).permutation(world.states)
    for other, factor in (
        (world.with_costs(10.0 * world.costs), 10.0),
        (permuted(world, order), 1.0),
        (with_lonely_state(world), 1.0),
    ):
        changed = regret_limit(other)
        assert changed.constant == pytest.approx(factor * limit.constant, rel=1e-7)
        assert changed.reference(K) == pytest.approx(factor * limit.reference(K), rel=1e-7)
        assert changed.resolved(K) == pytest.approx(limit.resolved(K), rel=1e-7)


def test_every_action_twice() -> None:
    world = worlds.random_mdp()
    twice = SSP.from_dense(np.repeat(world.to_dense(), 2, axis=1), np.repeat(world.costs, 2, axis=1))
    assert regret_limit(world).on_path.all()
    assert regret_limit(twice).constant == pytest.approx(2.0 * regret_limit(world).constant, rel=1e-9)
    nothing_to_choose = regret_limit(worlds.random_mdp(actions=1))
    assert (nothing_to_choose.constant, nothing_to_choose.resolved(100), nothing_to_choose.reference(100)) == (0, 1, 0)


def least_divergence(p: np.ndarray, values: np.ndarray, bound: float) -> float:
    """The smallest KL(p, q) with q values <= bound, by a solver of convex programs."""
    answer = optimize.minimize(
        lambda q: float(special.rel_entr(p, q).sum()),
        0.5 * p + 0.5 * (np.arange(len(p)) == np.argmin(values)),
        jac=lambda q: -p / q,
        bounds=[(1e-12, 1.0)] * len(p),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": lambda q: np.ones(len(p))},
            {"type": "ineq", "fun": lambda q: bound - q @ values, "jac": lambda q: -values},
        ],
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return float(answer.fun)


def test_information_of_rows_against_a_convex_solver() -> None:
    world = worlds.random_mdp(states=5, actions=3, seed=1)
    limit, values = regret_limit(world), solve(world, 1e-9).values
    checked = 0
    for state, action in np.argwhere(np.isfinite(limit.information) & (limit.information < 5.0)):
        p, bound = world.to_dense()[state, action], values[state] - world.costs[state, action]
        found = least_divergence(p, np.append(values, 0.0), bound)
        assert limit.information[state, action] == pytest.approx(found, rel=1e-4, abs=1e-7)
        checked += 1
    assert checked >= 5


@pytest.mark.parametrize("seed", [3, 13])
def test_rows_nearer_than_the_information_change_nothing(seed: int) -> None:
    """No row with KL(P, q) < I lowers the value of the start."""
    world = small_world(seed)
    limit, rng = regret_limit(world), np.random.default_rng(seed)
    best, dense = solve(world, 1e-10).values[world.initial_state], world.to_dense()
    assert not limit.on_path.all()
    lowered = 0
    for state, action in np.argwhere(np.isfinite(limit.information)):
        p = dense[state, action]
        aims = [*rng.dirichlet(np.full(len(p), 0.3), 3), *np.eye(len(p))[[-1]]]
        for aim in aims:
            for share in np.linspace(0.05, 0.95, 7):
                q = (1 - share) * p + share * aim
                rows = dense.copy()
                rows[state, action] = q
                value = solve(SSP.from_dense(rows, world.costs), 1e-10).values[world.initial_state]
                if value < best * (1 - 1e-8):
                    assert special.rel_entr(p, q).sum() >= limit.information[state, action] * (1 - 1e-7)
                    lowered += 1
    assert lowered > 20


def test_scale_and_share() -> None:
    limit = regret_limit(worlds.grid_world())
    assert 0.0 <= limit.resolved(1_000) < limit.resolved(10**11) <= 1.0
    assert limit.reference(1_000) < limit.reference(30_000)
    shown = f"{100 * limit.resolved(30_000):.3g} % at K = 30,000"
    assert shown in repr(limit)
    assert shown in limit._repr_html_()
    # With one state of two actions the scale has a closed form in z: n I = z²/2 and T (phi - z Phi(-z)) = n z.
    bandit: RegretLimit = regret_limit(one_state([0.8, 0.5], [1.0, 1.0]))
    n = bandit.reference(10_000) / bandit.gaps[0, 1]
    z = np.sqrt(2 * n * bandit.information[0, 1])
    T = 10_000 / 0.8
    assert T * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - z * special.ndtr(-z)) == pytest.approx(n * z, rel=1e-9)


def test_giving_up_is_known() -> None:
    world = small_world(2).with_give_up(0.01)
    limit = regret_limit(world)
    needless = np.isinf(limit.information[:, -1]) | np.isnan(limit.information[:, -1])
    assert needless.all()
    assert np.isinf(limit.information[:, -1]).any()


def test_models_without_a_limit() -> None:
    with pytest.raises(TheoryError, match="a cost is zero"):
        regret_limit(one_state([0.5, 0.5], [0.0, 1.0]))
    trap = SSP.from_rows([0, 2, 3], [1, 2, 1], [0.5, 0.5, 1.0], costs=[[1.0], [1.0]])
    safe = SSP.from_rows([0, 2, 3, 4, 4], [1, 2, 2, 1], [0.5, 0.5, 1.0, 1.0], costs=[[0.1, 1.0], [1.0, np.inf]])
    for world in (trap, safe):
        with pytest.raises((TheoryError,), match="dead end"):
            regret_limit(world)


def test_large_models_leave_out_what_is_off_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    world = small_world(13)
    whole = regret_limit(world)
    monkeypatch.setattr("goalward.theory.limit.MANY_STATES", 1)
    part = regret_limit(world)
    assert (whole.path_only, part.path_only) == (False, True)
    on_path = whole.on_path[:, None] & (whole.gaps > 0.0) & np.isfinite(whole.information)
    assert part.constant == pytest.approx((whole.gaps[on_path] / whole.information[on_path]).sum(), rel=1e-9)
    assert 0.0 < part.constant < whole.constant
    assert 0.0 < part.reference(1_000) < whole.reference(1_000)
