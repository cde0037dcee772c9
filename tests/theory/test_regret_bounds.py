"""The theorems' numbers against the formulas worked out by hand."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from goalward import SSP, worlds
from goalward.acting.contract import Task
from goalward.agents.posterior.psrl import cost_floor
from goalward.errors import TheoryError
from goalward.theory.regret_bounds import theorem_1, theorem_2, third_term_bound, world_bounds


def test_theorem_1_by_hand() -> None:
    found = theorem_1(S=3, A=2, K=100, B=4.0, c_min=0.25)
    L = log(4 * 3 * 2 * 100 / 0.25)
    assert found.logarithm == pytest.approx(L)
    assert found.main == pytest.approx(4 * 3 * sqrt(200) * L**2)
    assert found.lower_order == pytest.approx(9 * 2 * sqrt(64 / 0.25) * L**2)
    assert found.total == pytest.approx(found.main + found.lower_order)


def test_theorem_2_by_hand() -> None:
    found = theorem_2(S=3, A=2, K=1000, B=4.0, T_star=9.0)
    L = log(1000 * 4 * 9 * 3 * 2)
    assert found.main == pytest.approx(4 * 3 * sqrt(2000) * L**2)
    middle = 18 ** (2 / 3) * 10 * (8 * L**2 + 9)
    assert found.lower_order == pytest.approx(middle + 18 * 27 * L**2)


@pytest.mark.parametrize("B", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("c_min", [0.01, 1.0])
def test_the_main_term_leads_from_where_the_paper_says(B: float, c_min: float) -> None:
    """Theorem 1: K >> B S² A / c_min. There the two terms are equal, but for their logarithms, which are the same."""
    K = round(theorem_1(4, 3, 10**4, B, c_min).dominant_from)
    found = theorem_1(4, 3, max(K, 48), B, c_min)
    assert found.main == pytest.approx(found.lower_order * sqrt(max(K, 48) / K), rel=0.02)


@pytest.mark.parametrize(("B", "T_star"), [(2.0, 2.0), (2.0, 6.0), (5.0, 10.0)])
def test_theorem_2_becomes_its_main_term(B: float, T_star: float) -> None:
    K = round(1000 * theorem_2(4, 3, 10**4, B, T_star).dominant_from)
    found = theorem_2(4, 3, K, B, T_star)
    assert found.lower_order < found.main


def test_worlds_bring_their_own_numbers() -> None:
    first, second = world_bounds(worlds.grid_world(), 10_000)
    assert first is not None
    assert first.total == pytest.approx(theorem_1(11, 4, 10_000, 6.0365, 1.0).total, rel=1e-4)
    assert second.main > 0.0
    assert second.logarithm == pytest.approx(log(10_000 * 6.0365**2 * 44), rel=1e-4)


def test_zero_costs_leave_theorem_2() -> None:
    world = worlds.grid_world()
    costs = world.costs.copy()
    costs[3] = 0.0
    first, second = world_bounds(world.with_costs(costs), 10_000)
    assert first is None
    assert second.total > 0.0
    assert cost_floor(Task(costs, 0, 10_000)) == pytest.approx((121 * 4 / 10_000) ** (2 / 3))


def test_the_third_term_by_hand() -> None:
    root = log(3 * 2 * 500 / 0.1)
    expected = 288 * 4 * 3 * sqrt(200 * 2 * root**2) + 1632 * 4 * 9 * 2 * root**2 + 4 * 3 * 4 * 0.1 * 20
    assert third_term_bound(3, 2, 4.0, 200, 500, 20, 0.1) == pytest.approx(expected)


def test_what_the_theorems_leave_out_is_said() -> None:
    for theorem in (theorem_1, theorem_2):
        with pytest.raises(TheoryError, match=r"K=483 episodes are too few: Theorem . needs K >= S² A = 484"):
            theorem(11, 4, 483, 6.0, 1.0)
        with pytest.raises(TheoryError, match=r"S=1 and A=4: Theorem . needs at least two"):
            theorem(1, 4, 483, 6.0, 1.0)
    with pytest.raises(TheoryError, match=r"c_min=0: Theorem 1 needs positive costs; theorem_2"):
        theorem_1(2, 2, 100, 6.0, 0.0)
    with pytest.raises(TheoryError, match="costs reach 3; the theorems are about costs in"):
        world_bounds(worlds.grid_world().with_costs(np.full((11, 4), 3.0)), 10_000)
    P = np.zeros((2, 2, 3))
    P[0, :, 2] = P[1, :, 1] = 1.0
    with pytest.raises(TheoryError, match="the world has dead ends"):
        world_bounds(SSP.from_dense(P, np.ones((2, 2))), 10_000)
