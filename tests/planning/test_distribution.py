"""The distribution of a policy's cost, against closed forms, enumeration in fractions, and simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import goalward as gw
from goalward.errors import SettingError


def chain(p: float, cost: float) -> gw.SSP:
    """One state that is left for the goal with probability p: the cost is `cost` times a geometric variate."""
    return gw.SSP.from_dense(np.array([[[1.0 - p, p]]]), np.array([[cost]]))


@pytest.mark.parametrize("cost", [1.0, 0.3, 2.5])
def test_geometric_cost(cost: float) -> None:
    p = 0.25
    found = gw.evaluate(chain(p, cost), [0]).distribution()
    assert found.exact
    n = np.arange(1, 40)
    for k in n:
        low, high = found.probability(k * cost * (1.0 + 1e-12))
        truth = 1.0 - (1.0 - p) ** k
        assert low <= truth * (1.0 + 1e-14)
        assert truth <= high * (1.0 + 1e-14)
        assert high - low < 1e-9
    assert found.mean == pytest.approx(cost / p, rel=1e-9)
    assert found.variance == pytest.approx(cost**2 * (1.0 - p) / p**2, rel=1e-6)
    assert found.quantile(0.5) == pytest.approx((3 * cost, 3 * cost))  # 1 - 0.75^2 < 0.5 <= 1 - 0.75^3
    # Without memory: the worst share begins at v = n cost, and what follows costs a mean of cost / p more.
    level = 1.0 - (1.0 - p) ** 5
    assert found.cvar(level) == pytest.approx((5 * cost + cost / p,) * 2, rel=1e-6)


def enumerate_costs(ssp: gw.SSP, weights: np.ndarray, most: int) -> dict[Fraction, Fraction]:
    """Return P(cost = c) for all c up to `most`, in exact arithmetic on the doubles of the model."""
    arrived: dict[Fraction, Fraction] = {}
    mass = {(ssp.initial_state, Fraction(0)): Fraction(1)}
    while mass:
        later: dict[tuple[int, Fraction], Fraction] = {}
        for (state, paid), probability in mass.items():
            for action in np.flatnonzero(weights[state]):
                row = state * ssp.actions + action
                entries = range(ssp.indptr[row], ssp.indptr[row + 1])
                total = sum(Fraction(ssp.probabilities[i]) for i in entries)
                cost = paid + Fraction(ssp.costs[state, action]).limit_denominator(10_000)
                if cost > most:
                    continue
                for i in entries:
                    share = probability * Fraction(weights[state, action]) * Fraction(ssp.probabilities[i]) / total
                    if ssp.successors[i] == ssp.goal:
                        arrived[cost] = arrived.get(cost, Fraction(0)) + share
                    else:
                        key = (int(ssp.successors[i]), cost)
                        later[key] = later.get(key, Fraction(0)) + share
        mass = later
    return arrived


def random_model(seed: int, costs: list[float]) -> gw.SSP:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(4), size=(3, 2))
    return gw.SSP.from_dense(rows, rng.choice(costs, size=(3, 2)))


@pytest.mark.parametrize("seed", range(8))
def test_exact_on_a_common_grid(seed: int) -> None:
    ssp = random_model(seed, [0.1, 0.25, 1.5])
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
    found = gw.evaluate(ssp, weights).distribution()
    truth = enumerate_costs(ssp, weights, 2)
    assert found.exact
    for bound in np.arange(0.0, 2.0, 0.05):
        below = float(sum(share for cost, share in truth.items() if float(cost) <= bound + 1e-12))
        low, high = found.probability(bound + 1e-12)
        assert low <= below + 1e-15
        assert below <= high + 1e-15
        assert high - low < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_rounding_up_and_down_encloses_the_truth(seed: int) -> None:
    ssp = random_model(seed, [0.5, 1.0, 1.5])
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
    evaluation = gw.evaluate(ssp, weights)
    exact, rough = evaluation.distribution(), evaluation.distribution(grid=0.07)
    assert exact.exact
    assert not rough.exact
    for bound in np.linspace(0.0, 12.0, 97):
        low, high = exact.probability(bound)
        outer = rough.probability(bound)
        assert outer.lower <= low
        assert high <= outer.upper
    for level in (0.1, 0.5, 0.9, 0.99):
        for name in ("quantile", "cvar"):
            inner, outer = getattr(exact, name)(level), getattr(rough, name)(level)
            assert outer.lower <= inner.lower * (1.0 + 1e-9)
            assert inner.upper <= outer.upper * (1.0 + 1e-9)
    assert rough.variance == exact.variance
    finer = evaluation.distribution(grid=0.011).cvar(0.9)
    assert finer.upper - finer.lower < rough.cvar(0.9).upper - rough.cvar(0.9).lower


def test_cvar_is_the_mean_of_the_worst_share() -> None:
    ssp = random_model(3, [0.5, 1.0, 1.5])
    found = gw.evaluate(ssp, [0, 1, 0], tolerance=1e-12).distribution(tail=1e-13)
    mass = np.diff(found.lower, prepend=0.0)
    assert found.cvar(0.0) == pytest.approx((found.mean,) * 2, rel=1e-9)
    for level in (0.3, 0.9):
        worst = found.quantile(level).lower
        beyond = mass[found.costs > worst]
        rest = 1.0 - level - beyond.sum()
        direct = (worst * rest + (found.costs[found.costs > worst] * beyond).sum()) / (1.0 - level)
        assert found.cvar(level) == pytest.approx((direct, direct), rel=1e-8)
    assert found.cvar(1.0).upper == np.inf
    assert found.variance == pytest.approx((mass * found.costs**2).sum() - found.mean**2, rel=1e-6)


def test_bounds_of_cvar_hold_whatever_the_precision_of_the_mean() -> None:
    ssp = gw.worlds.grid_world(rows=6, columns=6)
    policy = gw.solve(ssp).policy
    sharp = gw.evaluate(ssp, policy, tolerance=1e-13).distribution(tail=1e-14).cvar(0.95)
    for tolerance in (1e-3, 1e-6, 1e-9):
        bounds = gw.evaluate(ssp, policy, tolerance=tolerance).distribution().cvar(0.95)
        assert bounds.lower <= sharp.upper
        assert sharp.lower <= bounds.upper


def test_simulation_agrees_on_a_grid_with_slips() -> None:
    world = gw.worlds.grid_world(rows=5, columns=5)
    policy = gw.solve(world).policy
    found = gw.evaluate(world, policy).distribution()
    n = 20_000
    costs = gw.learn(gw.agents.make("optimal", model=world), world, n, seed=1).costs
    # Dvoretzky, Kiefer, Wolfowitz: a larger distance has probability below 1e-6.
    most = np.sqrt(np.log(2e6) / (2 * n))
    shares = np.array([np.mean(costs <= bound) for bound in found.costs])
    assert np.abs(shares - found.lower).max() < most


def test_free_actions() -> None:
    # Two states that lead to each other at no cost, and then a step that costs 2: a random policy in a free loop.
    rows = np.zeros((2, 2, 3))
    rows[0, 0, 1] = rows[1, 0, 0] = 1.0
    rows[0, 1, 2] = rows[1, 1, 2] = 1.0
    ssp = gw.SSP.from_dense(rows, np.array([[0.0, 2.0], [0.0, 4.0]]))
    found = gw.evaluate(ssp, np.full((2, 2), 0.5)).distribution()
    # From the first state: 1/2 + 1/8 + ... = 2/3 end with 2, 1/3 with 4.
    assert found.probability(2.0) == pytest.approx((2 / 3, 2 / 3))
    assert found.probability(4.0).lower == pytest.approx(1.0)
    assert found.variance == pytest.approx(4 * 2 / 9, rel=1e-6)
    free = ssp.with_costs(np.zeros((2, 2)))
    assert gw.evaluate(free, [1, 1]).distribution().probability(0.0).lower == pytest.approx(1.0)


def test_dead_ends_cost_more_than_any_number() -> None:
    rows = np.array([[[0.25, 0.25, 0.5]], [[0.0, 1.0, 0.0]]])
    ssp = gw.SSP.from_dense(rows, np.ones((2, 1)))
    with pytest.raises(gw.errors.SettingError, match="goal_first=True"):
        gw.evaluate(ssp, [0, 0]).distribution()
    found = gw.evaluate(ssp, [0, 0], goal_first=True).distribution()
    assert found.probability(100.0) == pytest.approx((2 / 3, 2 / 3))
    assert found.quantile(0.4) == (1.0, 1.0)
    assert found.quantile(0.9).lower == np.inf
    assert found.mean == found.variance == found.cvar(0.5).lower == np.inf


def test_bad_input() -> None:
    evaluation = gw.evaluate(chain(0.5, 1.0), [0])
    for arguments in ({"grid": 0.0}, {"grid": -1.0}, {"tail": 2.0}, {"start": 5}, {"grid": 1e-12}):
        with pytest.raises(gw.GoalwardError):
            evaluation.distribution(**arguments)
    with pytest.raises(gw.GoalwardError):
        evaluation.distribution().quantile(1.5)


def test_the_figure_shows_the_curve() -> None:
    ssp = random_model(1, [0.5, 1.0, 1.5])
    for grid in (None, 0.07):
        figure = gw.plot(gw.evaluate(ssp, [0, 1, 0]).distribution(grid=grid))
        line = figure.axes[0].lines[0]
        assert np.all(np.diff(line.get_ydata()) >= 0.0)
        assert line.get_ydata()[-1] > 0.99
    with pytest.raises(gw.errors.SettingError, match="only one kind of figure"):
        gw.plot(gw.evaluate(ssp, [0, 1, 0]).distribution(), "growth")


def test_intervals_of_a_trial_cover_the_distribution() -> None:
    """Of 400 trials of a geometric cost, about 95 % of the intervals hold the truth."""
    rng, n, p = np.random.default_rng(1), 60, 0.25
    covered = np.zeros(2, dtype=int)
    for _ in range(400):
        costs = rng.geometric(p, n).astype(float)
        trial = gw.Trial(costs, costs.astype(int), np.ones(n, dtype=bool), np.ones(n, dtype=int), 1000)
        share, median = trial.probability(4.0), trial.quantile(0.5)
        covered += [share.low <= 1.0 - 0.75**4 <= share.high, median.low <= 3.0 <= median.high]
    assert (covered >= 364).all()
    lost = gw.Trial(np.ones(4), np.ones(4, dtype=int), np.array([True, True, True, False]), np.ones(4, dtype=int), 9)
    assert lost.quantile(0.9).value == np.inf
    assert lost.probability(1.0).value == 0.75


def test_the_worst_episodes_of_a_trial() -> None:
    def trial(costs: np.ndarray) -> gw.Trial:
        n = len(costs)
        return gw.Trial(costs, np.ones(n, dtype=int), np.ones(n, dtype=bool), np.ones(n, dtype=int), 9)

    ten = trial(np.arange(1.0, 11.0))
    assert ten.cvar(0.8).value == pytest.approx(9.5)
    assert ten.cvar(0.75).value == pytest.approx((0.5 * 8.0 + 9.0 + 10.0) / 2.5)  # half of one episode counts
    assert ten.cvar(0.0) == ten.cost
    # Of an exponential cost, the worst tenth cost a mean of log(10) + 1. About 95 % of the intervals hold that.
    rng, truth = np.random.default_rng(1), np.log(10.0) + 1.0
    intervals = [trial(rng.exponential(size=1000)).cvar(0.9) for _ in range(400)]
    assert 364 <= sum(interval.low <= truth <= interval.high for interval in intervals) < 400
    with pytest.raises(SettingError, match="level"):
        ten.cvar(1.0)
