"""B*, T*, D and gaps against rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import goalward as gw
from goalward import SSP
from goalward.errors import SettingError
from goalward.planning.evaluate import action_values
from oracles import Exact, Vector
from strategies import models


def largest(values: Vector) -> float:
    return float(max((value for value in values if value is not None), default=Fraction(0)))


@given(models(tiny=False, costs=("unit", "ties", "free", "real", "small", "large")))
@settings(max_examples=700)
def test_against_exact_values(ssp: SSP) -> None:
    exact = Exact.of(ssp)
    values, _ = exact.best()
    ties = exact.ties(values, Fraction(1, 10**9))
    assume(ties == exact.ties(values, Fraction(1, 10**7)))
    found = gw.hardness(ssp)
    assert found.proper == (None not in values)
    assert found.c_min == min(ssp.costs[ssp.available].tolist())
    if not found.sure_states:
        assert (found.B_star, found.T_star, found.D) == (np.inf, np.inf, np.inf)
        return
    assert found.B_star == pytest.approx(largest(values), rel=1e-9, abs=0.0)
    assert found.T_star == pytest.approx(largest(exact.fastest(ties)), rel=1e-9, abs=0.0)
    assert pytest.approx(largest(exact.fastest(exact.rows)), rel=1e-9, abs=0.0) == found.D

    expected = np.full(ssp.costs.shape, np.inf)
    room = np.zeros(ssp.costs.shape)
    for (state, action), gap in exact.gaps(values).items():
        expected[state, action] = 0.0 if (state, action) in ties else float(gap)
        room[state, action] = 1e-9 * float((values[state] or 0) + gap)  # Q and V are proved to 1e-10, relative to Q
    close = np.isfinite(expected)
    assert np.array_equal(np.isfinite(found.gaps), close)
    assert (np.abs(found.gaps[close] - expected[close]) <= room[close]).all()
    assert np.array_equal(found.gaps == 0.0, expected == 0.0)
    assert found.smallest_gap == found.gaps[found.gaps > 0.0].min(initial=np.inf)


def test_the_paper_grid() -> None:
    """Unit costs: steps and costs are one thing."""
    found = gw.hardness(gw.worlds.grid_world(rows=3, columns=4, success=0.85))
    assert found.B_star == pytest.approx(6.0365, abs=5e-5)
    assert found.T_star == pytest.approx(found.B_star, rel=1e-9)
    assert pytest.approx(found.B_star, rel=1e-9) == found.D
    assert (found.c_min, found.proper) == (1.0, True)


def test_a_slow_bargain() -> None:
    """From state 0 the goal is a step of cost 10, or a walk of two steps of cost 1; T* goes by cost, D by steps."""
    ssp = SSP.from_transitions([(0, "dash", "g", 1, 10), (0, "walk", 1, 1, 1), (1, "walk", "g", 1, 1)], goals=["g"])
    found = gw.hardness(ssp)
    assert (found.B_star, found.T_star, found.D, found.smallest_gap) == pytest.approx((2.0, 2.0, 1.0, 8.0))
    assert found.gaps.tolist() == [[pytest.approx(8.0), 0.0], [np.inf, 0.0]]


def test_the_fastest_of_tied_policies() -> None:
    ssp = SSP.from_transitions([(0, "dash", "g", 1, 2), (0, "walk", 1, 1, 1), (1, "walk", "g", 1, 1)], goals=["g"])
    found = gw.hardness(ssp)
    assert found.T_star == pytest.approx(1.0)
    assert found.smallest_gap == np.inf


def test_rows_that_sum_almost_to_one_are_proportions() -> None:
    """Read as it stands, the second row would seem to lose probability, which would make it the better one."""
    kernel = [[[0.5, 0.5], [0.5, 0.5 - 9e-10]]]
    ssp = SSP.from_dense(kernel, [[1.0, 1.0]])
    stay, leave = Fraction(0.5), Fraction(0.5 - 9e-10)
    gap = 1 + 2 * stay / (stay + leave) - 2
    assert gap > Fraction(1, 10**10)
    values = np.array([2.0])
    assert action_values(ssp, values)[0, 1] - 2.0 == pytest.approx(float(gap), rel=1e-5)


def test_what_it_is_about_where_some_values_are_infinite() -> None:
    ssp = SSP.from_dense([[[0.5, 0.0, 0.5]], [[0.0, 1.0, 0.0]]], [[1.0], [1.0]])
    found = gw.hardness(ssp)
    assert (found.states, found.sure_states, found.proper, found.B_star) == (2, 1, False, 2.0)
    lost = gw.hardness(SSP.from_dense([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]]], [[1.0], [1.0]]))
    assert (lost.sure_states, lost.B_star, lost.T_star, lost.D) == (0, np.inf, np.inf, np.inf)


@pytest.mark.parametrize("thing", [None, 3, "grid-world", [1.0]])
@pytest.mark.parametrize(
    "call",
    [
        gw.solve, gw.structure, gw.hardness,
        lambda world: gw.evaluate(world, [0]),
    ],
)  # fmt: skip
def test_what_is_no_model_is_named(call: Callable[[Any], object], thing: object) -> None:
    with pytest.raises(SettingError, match=r"world is .*(gw\.worlds\.load)"):
        call(thing)
