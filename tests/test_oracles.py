"""The oracles themselves, held to closed forms and to brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from goalward import SSP
from oracles import Exact, exact_policy_steps, exact_policy_values, linear_program
from strategies import models


def infinite_last(value: Fraction | None) -> tuple[bool, Fraction]:
    return value is None, value or Fraction(0)


@given(models(max_states=4, max_actions=3))
@settings(max_examples=300)
def test_policy_iteration_finds_the_minimum_over_all_policies(ssp: SSP) -> None:
    values, policy = Exact.of(ssp).best()
    choices = [np.flatnonzero(row).tolist() or [-1] for row in ssp.available]
    everything = [exact_policy_values(ssp, actions) for actions in product(*choices)]
    assert values == [min(column, key=infinite_last) for column in zip(*everything, strict=True)]
    assert values == exact_policy_values(ssp, [policy.get(state, -1) for state in range(ssp.states)])


def test_a_chain_in_closed_form() -> None:
    """Each of n steps succeeds with probability p and costs c: n c / p in total, n / p steps."""
    n, p, cost = 4, 0.25, 3.0
    kernel = np.zeros((n, 1, n + 1))
    for state in range(n):
        kernel[state, 0, state], kernel[state, 0, state + 1] = 1 - p, p
    ssp = SSP.from_dense(kernel, np.full((n, 1), cost))
    assert exact_policy_values(ssp, [0] * n) == [48, 36, 24, 12]
    assert exact_policy_steps(ssp, [0] * n) == [16, 12, 8, 4]
    assert linear_program(ssp, np.ones(n, dtype=bool)) == pytest.approx([48, 36, 24, 12])


def test_rows_are_read_as_proportional_to_their_entries() -> None:
    ssp = SSP.from_rows([0, 2], [0, 1], [0.5, 0.5 + 9e-10], [[1.0]])
    stay, leave = Fraction(0.5), Fraction(0.5 + 9e-10)
    assert Exact.of(ssp).best()[0] == [(stay + leave) / leave]


def test_free_loops_and_fastest_ties() -> None:
    # 0 and 1 can circle for free; from 0 the goal costs 2 at once, or 1 each way through 2.
    table = [(0, "circle", 1, 1, 0), (1, "circle", 0, 1, 0), (0, "direct", "g", 1, 2), (0, "detour", 2, 1, 1)]
    ssp = SSP.from_transitions([*table, (2, "direct", "g", 1, 1)], goals=["g"])
    exact = Exact.of(ssp)
    values, _ = exact.best()
    assert values == [2, 2, 1]
    assert exact.free_loops() == [{0, 1}]
    assert exact.fastest(exact.ties(values)) == [1, 2, 1]
    assert set(exact.gaps(values).values()) == {0}
    assert exact.unreachable(2) == {0, 1}


@given(models(tiny=False, costs=("unit", "ties", "free", "real")))
@settings(max_examples=100)
def test_the_linear_program_agrees(ssp: SSP) -> None:
    values, _ = Exact.of(ssp).best()
    sure = np.array([value is not None for value in values])
    if sure.any():
        expected = [np.inf if value is None else float(value) for value in values]
        assert linear_program(ssp, sure) == pytest.approx(expected, rel=1e-7, abs=1e-7)
