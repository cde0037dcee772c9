"""Dirichlet rows of large worlds against the law of their marginals; the tests fail by chance once in 10,000 times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from goalward import Dirichlet, worlds
from goalward.agents import Task
from goalward.beliefs import bulk_gammas
from goalward.beliefs.bulk_gammas import CELLS, LEFT_TAIL, bulk_rows, decline, strips
from goalward.long_work import Phase, current

ROWS = 20_000


def rows_of(shape: tuple[int, ...], concentration: float, sharpness: float = 1.0) -> np.ndarray:
    """Draw many rows of the same counts."""
    counts = np.tile(np.array(shape), ROWS)
    indptr = np.arange(ROWS + 1) * len(shape)
    drawn = bulk_rows(np.random.default_rng(3), indptr, counts, concentration, sharpness)
    return drawn.reshape(ROWS, len(shape))


@pytest.mark.parametrize("concentration", [0.02, 0.1, 0.7])
@pytest.mark.parametrize("counts", [(0, 0, 0), (0, 2, 5), (1, 0, 0)])
def test_marginals_are_beta(concentration: float, counts: tuple[int, ...]) -> None:
    """Each entry is a beta variate. Near 1 doubles are coarse, so only what lies below 1/2 is compared."""
    drawn = rows_of(counts, concentration)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    alpha = concentration + np.array(counts)
    for entry, a in enumerate(alpha):
        law = stats.beta(a, alpha.sum() - a)
        below = law.cdf(0.5)
        small = drawn[:, entry][drawn[:, entry] < 0.5]
        assert abs(len(small) - ROWS * below) < 3.9 * np.sqrt(ROWS * below * (1.0 - below)) + 1.0
        assert stats.kstest(law.cdf(small) / below, "uniform").pvalue > 1e-5


@pytest.mark.parametrize("shape", [1e-4, 0.1, 0.95])
def test_strips_cover_the_density(shape: float) -> None:
    """They touch, none is lower than the density in it, its share is not higher, and the tails have room."""
    table = strips(shape)
    used = np.flatnonzero(np.isfinite(table.width) & (table.width > 0.0))
    order = used[np.argsort(table.left[used])]
    left, width = table.left[order], table.width[order]
    np.testing.assert_allclose(left[1:], (left + width)[:-1], rtol=1e-12)
    assert left[0] == table.leftmost
    np.testing.assert_allclose(left[-1] + width[-1], table.rightmost, rtol=1e-12)
    inside = left[:, np.newaxis] + width[:, np.newaxis] * np.linspace(0.0, 1.0, 21)
    density = np.exp(shape * inside - np.exp(inside) - table.top)
    height = table.area / width
    assert (density <= height[:, np.newaxis] * (1.0 + 1e-12)).all()
    assert (density >= (height * table.share[order])[:, np.newaxis] * (1.0 - 1e-12)).all()
    assert np.exp(shape * table.leftmost - table.top) / shape <= LEFT_TAIL * table.area
    assert np.exp(shape * table.rightmost - np.exp(table.rightmost) - table.top) <= table.area * (
        np.exp(table.rightmost) - shape
    )
    mass = np.exp(special.gammaln(shape) - table.top)
    assert 0.98 < mass / (CELLS * table.area) <= 1.0
    assert table.share.sum() / CELLS > 0.98


def test_the_own_exponential_function_is_right_to_the_last_two_bits() -> None:
    for y in np.concatenate([np.linspace(0.0, 700.0, 2001), np.geomspace(1e-17, 700.0, 500)]):
        assert decline(y) == pytest.approx(math.exp(-y), rel=2.0**-51, abs=0.0)
    assert decline(np.inf) < 1e-300


def test_sharpness_multiplies_the_counts() -> None:
    drawn = rows_of((1, 3), 0.1, sharpness=2.0)
    law = stats.beta(2.1, 6.1)
    assert stats.kstest(drawn[:, 0], law.cdf).pvalue > 1e-4


def test_a_belief_over_many_states_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And pieces of any size, in which some blocks do not suffice, keep every row a distribution."""
    world = worlds.grid_world(12, 12)
    monkeypatch.setattr(bulk_gammas, "CHUNK", 300)
    belief = Dirichlet(0.1, support=world).belief(Task.of(world, 1))
    model = belief.sample(np.random.default_rng(0))
    sums = np.add.reduceat(model.probabilities, model.indptr[:-1])
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)
    assert model.probabilities.min() > 0.0


def test_a_long_draw_says_how_far_it_is_and_what_would_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    monkeypatch.setattr(bulk_gammas, "LONG_DRAW", 1)
    monkeypatch.setattr(bulk_gammas, "CHUNK", 200)
    monkeypatch.setattr(Phase, "advance", lambda self, row: said.append((row, current())))
    for length, faster in ((100, True), (3, False)):
        said.clear()
        bulk_rows(np.random.default_rng(0), np.arange(201) * length, np.zeros(200 * length, dtype=np.int64), 0.1)
        rows, lines = zip(*said, strict=True)
        assert rows[-1] == 200
        assert len(rows) > 2
        assert all(f"drawing {200 * length:,} probabilities" in line for line in lines)
        assert all(("TiedDirichlet" in line) == faster for line in lines)
