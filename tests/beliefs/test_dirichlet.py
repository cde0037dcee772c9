"""Dirichlet beliefs against the exact moments and marginals, at every concentration."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import special, stats

from goalward import SSP, Dirichlet, worlds
from goalward.acting.contract import Steps, Task
from goalward.agents.agent_file import decode, encode
from goalward.beliefs.base import FLOOR
from goalward.beliefs.dirichlet import DirichletBelief, dirichlet_rows
from goalward.errors import BeliefError, SettingError, ShapeError, UnreachableGoalError

CONCENTRATIONS = [1e-6, 1e-4, 1e-3, 0.1, 1.0, 30.0]


def task(S: int, A: int) -> Task:
    """A task with unit costs."""
    costs = np.ones((S, A))
    costs.flags.writeable = False
    return Task(costs, 0, 1)


def steps(*rows: tuple[int, int, int]) -> Steps:
    """Steps (state, action, next state) of unit cost."""
    states, actions, successors = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Steps.in_table(states, actions, np.ones(len(rows)), successors, -1)


def draws(belief: DirichletBelief, count: int, seed: int) -> np.ndarray:
    """Dense rows of `count` samples: [count, S, A, S + 1]."""
    rng = np.random.default_rng(seed)
    return np.array([belief.sample(rng).to_dense() for _ in range(count)])


@pytest.mark.parametrize("concentration", [5e-324, 1e-310, 1e-300])
@pytest.mark.parametrize("states", [2, 40])
def test_models_can_be_built_at_the_smallest_concentrations(concentration: float, states: int) -> None:
    """Below the smallest normal double, probabilities would be refused."""
    belief = Dirichlet(concentration).belief(task(states, 2))
    rng = np.random.default_rng(0)
    for drawn in (belief.mean(), *(belief.sample(rng) for _ in range(50))):
        assert SSP.from_rows(drawn.indptr, drawn.successors, drawn.probabilities, drawn.costs) == drawn


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
class TestPrior:
    """60,000 rows of four successors from the prior."""

    def rows(self, concentration: float) -> np.ndarray:
        belief = Dirichlet(concentration).belief(task(3, 100))
        return draws(belief, 200, seed=1).reshape(-1, 4)

    def test_rows_are_distributions_on_the_whole_support(self, concentration: float) -> None:
        rows = self.rows(concentration)
        assert np.isfinite(rows).all()
        assert (rows >= FLOOR).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-14)

    def test_mean_and_variance(self, concentration: float) -> None:
        """Each of eight figures within five standard errors: a correct sampler fails with probability below 5e-6."""
        rows = self.rows(concentration)
        variance = 0.25 * 0.75 / (4 * concentration + 1.0)
        assert (abs(rows.mean(axis=0) - 0.25) < 5.0 * np.sqrt(variance / len(rows))).all()
        squares = (rows - 0.25) ** 2
        assert (abs(squares.mean(axis=0) - variance) < 5.0 * squares.std(axis=0) / np.sqrt(len(rows))).all()

    def test_marginal_is_beta(self, concentration: float) -> None:
        """Kolmogorov-Smirnov against the beta law; a correct sampler fails with probability 1e-6."""
        sample = np.sort(self.rows(concentration)[:, 1])
        # The mass below the floor and within a rounding of one is in one point each; compare the law in between.
        inside = (sample > 1e-290) & (sample < 1.0 - 1e-12)
        law = special.betainc(concentration, 3 * concentration, sample[inside])
        empirical = (np.flatnonzero(inside) + 0.5) / len(sample)
        assert inside.any() or concentration < 1e-4
        assert (abs(law - empirical) < np.sqrt(np.log(2e6) / 2.0 / len(sample))).all()


def test_posterior_has_exact_mean_and_variance() -> None:
    """20,000 draws; each of eight figures within five standard errors, so a correct one fails below 5e-6."""
    belief = Dirichlet(0.1).belief(task(3, 1))
    belief.update(steps(*[(1, 0, 3)] * 7, *[(1, 0, 0)] * 2, (1, 0, 1)))
    alpha = np.array([2.1, 1.1, 0.1, 7.1])
    rows = draws(belief, 20_000, seed=2)[:, 1, 0]
    mean = alpha / alpha.sum()
    variance = mean * (1.0 - mean) / (alpha.sum() + 1.0)
    assert (abs(rows.mean(axis=0) - mean) < 5.0 * np.sqrt(variance / len(rows))).all()
    squares = (rows - mean) ** 2
    assert (abs(squares.mean(axis=0) - variance) < 5.0 * squares.std(axis=0) / np.sqrt(len(rows))).all()
    np.testing.assert_allclose(belief.mean().to_dense()[1, 0], mean, rtol=1e-14)
    np.testing.assert_allclose(belief.mean().to_dense()[0, 0], 0.25, rtol=1e-14)


@pytest.mark.parametrize("alpha", [(0.02, 0.02, 0.02), (0.1, 2.1, 5.1), (1.7, 0.7, 30.0), (1e-3, 1.0, 40.0)])
def test_marginals_are_beta(alpha: tuple[float, ...]) -> None:
    """Near 1 doubles are coarse, so only values below 1/2 are compared; a correct sampler fails below 1e-4."""
    rows, length = 20_000, len(alpha)
    rng = np.random.default_rng(3)
    drawn = dirichlet_rows(rng, np.arange(rows + 1) * length, np.tile(alpha, rows)).reshape(rows, length)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    for entry, a in enumerate(alpha):
        law = stats.beta(a, sum(alpha) - a)
        below = law.cdf(0.5)
        small = drawn[:, entry][drawn[:, entry] < 0.5]
        assert abs(len(small) - rows * below) < 3.9 * np.sqrt(rows * below * (1.0 - below)) + 1.0
        if len(small):
            # The mass below the floor lies in one point.
            found = np.where(small == FLOOR, rng.uniform(0.0, law.cdf(FLOOR), len(small)), law.cdf(small))
            assert stats.kstest(found / below, "uniform").pvalue > 1e-5


@pytest.mark.parametrize("known", [False, True])
def test_counting(known: bool) -> None:
    """Many steps in pieces against NumPy's counting."""
    world = worlds.grid_world()
    belief = Dirichlet(0.5, support=world if known else None).belief(Task.of(world, 1))
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 44, 5000)
    kernel = world.to_dense().reshape(44, 12)
    reached = np.array([rng.choice(12, p=kernel[row]) for row in rows])
    seen = Steps.in_table(rows // 4, rows % 4, np.ones(5000), reached, -1)
    for start in range(0, 5000, 700):
        belief.update(seen.part(start, start + 700))
    counts = np.zeros((44, 12))
    np.add.at(counts, (rows, reached), 1)
    allowed = (kernel > 0) | (not known)
    alpha = np.where(allowed, counts + 0.5, 0.0)
    np.testing.assert_allclose(belief.mean().to_dense().reshape(44, 12), alpha / alpha.sum(axis=1, keepdims=True))
    assert len(belief.counts) == np.count_nonzero(allowed)


def test_samples_share_their_support() -> None:
    belief = Dirichlet(0.1).belief(task(4, 2))
    rng = np.random.default_rng(0)
    one, other = belief.sample(rng), belief.sample(rng)
    assert one.indptr is other.indptr
    assert one.successors is other.successors
    assert one != other
    assert not one.probabilities.flags.writeable


def test_a_sample_is_a_model_like_any_other() -> None:
    """What `_trusted` took on trust passes every check of the front door."""
    costs = np.array([[1.0, np.inf], [0.5, 2.0]])
    belief = Dirichlet(1e-3).belief(Task(costs, 1, 1))
    model = belief.sample(np.random.default_rng(0))
    again = SSP.from_rows(
        model.indptr, model.successors, model.probabilities, np.where(np.isfinite(costs), costs, 0.0), 1
    )
    assert again == model
    assert model.row(0, 1)[0].size == 0


def test_bad_concentration() -> None:
    for bad in (0.0, np.inf, "0.1"):
        with pytest.raises(SettingError, match=r"concentration is .* positive"):
            Dirichlet(bad)  # type: ignore[arg-type]


def test_support_that_excludes_what_is_seen() -> None:
    world = worlds.grid_world()
    belief = Dirichlet(0.1, support=world).belief(Task.of(world, 1))
    with pytest.raises(BeliefError, match=r"\(state 0, action 1\) led to state 7"):
        belief.update(steps((0, 1, 1), (0, 1, 7), (0, 1, 1)))
    with pytest.raises(BeliefError, match=r"the goal, but the support of the prior excludes this step; add this"):
        belief.update(steps((0, 0, 11)))


def test_support_that_does_not_fit() -> None:
    world = worlds.grid_world()
    with pytest.raises(ShapeError, match="11 states and 4 actions, but the task has 3 and 4"):
        Dirichlet(0.1, support=world).belief(task(3, 4))
    with pytest.raises(SettingError, match=r"support is (.|\n)* of type SSP or None"):
        Dirichlet(0.1, support=world.to_dense())  # type: ignore[arg-type]
    rows = world.to_dense()
    rows[5, 2] = 0.0
    with pytest.raises(ShapeError, match=r"\(state 5, action 2\) needs a successor"):
        Dirichlet(0.1, support=SSP.from_dense(rows, world.costs)).belief(Task.of(world, 1))
    rows = world.to_dense()
    rows[:, :, 10] += rows[:, :, 11]
    rows[:, :, 11] = 0.0
    with pytest.raises(UnreachableGoalError, match=r"in the support, no policy .* from the start \(state 0\)"):
        Dirichlet(0.1, support=SSP.from_dense(rows, world.costs)).belief(Task.of(world, 1))


def test_too_large_without_a_support() -> None:
    with pytest.raises(SettingError, match=r"pass the possible successors.*use Neighbourhoods\(\)"):
        Dirichlet(0.1).belief(task(20_000, 1))


@pytest.mark.parametrize("known", [False, True])
def test_state(known: bool) -> None:
    world = worlds.grid_world()
    prior = Dirichlet(0.3, support=world if known else None)
    belief = prior.belief(Task.of(world, 1))
    belief.update(steps((0, 1, 1), (1, 1, 2)))
    again = decode(encode("prior", prior))
    assert again.settings() == prior.settings()
    copy = again.belief(Task.of(world, 1))
    copy.restore(belief.to_state())
    assert copy.sample(np.random.default_rng(1)) == belief.sample(np.random.default_rng(1))
    with pytest.raises(ValueError, match="must lie between their initial values"):
        copy.restore({"counts": -belief.counts - 1})
    with pytest.raises(ValueError, match="counts must have shape"):
        copy.restore({"counts": belief.counts[1:]})


def test_a_deep_copy_learns_on_its_own() -> None:
    belief = Dirichlet(0.1).belief(task(3, 2))
    twin = copy.deepcopy(belief)
    belief.update(steps((0, 0, 1)))
    assert twin.counts.sum() == 0
    assert belief.counts.sum() == 1
    assert twin.indptr is belief.indptr
    assert twin.mean() != belief.mean()


def test_the_costs_of_the_caller_stay_writable() -> None:
    costs = np.ones((2, 1))
    given = Task(costs, 0, 1)
    Dirichlet().belief(given).sample(np.random.default_rng(0))
    assert costs.flags.writeable
    costs[0, 0] = 5.0
    assert given.costs[0, 0] == 1.0
