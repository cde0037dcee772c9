"""Dirichlet rows of large worlds against the law of their marginals; the tests fail by chance once in 10,000 times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goalward import Dirichlet, worlds
from goalward.agents import Task
from goalward.beliefs import bulk_gammas
from goalward.beliefs.bulk_gammas import bulk_rows
from goalward.phases import Phase, current

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


def test_sharpness_multiplies_the_counts() -> None:
    drawn = rows_of((1, 3), 0.1, sharpness=0.5)
    law = stats.beta(0.6, 1.6)
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
