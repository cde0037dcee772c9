"""The theorems' numbers against the formulas worked out by hand."""

from __future__ import annotations

from math import log, sqrt

import pytest

from goalward.errors import TheoryError
from goalward.theory.regret_bounds import theorem_1, theorem_2, third_term_bound


def test_theorem_1_by_hand() -> None:
    L = log(4 * 3 * 2 * 100 / 0.25)
    expected = 4 * 3 * sqrt(200) * L**2 + 9 * 2 * sqrt(64 / 0.25) * L**2
    assert theorem_1(S=3, A=2, K=100, B=4.0, c_min=0.25) == pytest.approx(expected)


def test_theorem_2_by_hand() -> None:
    L = log(1000 * 4 * 9 * 3 * 2)
    expected = 4 * 3 * sqrt(2000) * L**2 + 18 ** (2 / 3) * 10 * (8 * L**2 + 9) + 18 * 27 * L**2
    assert theorem_2(S=3, A=2, K=1000, B=4.0, T_star=9.0) == pytest.approx(expected)


def test_the_third_term_by_hand() -> None:
    root = log(3 * 2 * 500 / 0.1)
    expected = 288 * 4 * 3 * sqrt(200 * 2 * root**2) + 1632 * 4 * 9 * 2 * root**2 + 4 * 3 * 4 * 0.1 * 20
    assert third_term_bound(3, 2, 4.0, 200, 500, 20, 0.1) == pytest.approx(expected)


def test_what_the_theorems_leave_out_is_said() -> None:
    for theorem in (theorem_1, theorem_2):
        with pytest.raises(TheoryError, match=r"K=483 episodes are too few: Theorem . needs K >= S² A = 484"):
            theorem(11, 4, 483, 6.0, 1.0)
        with pytest.raises(TheoryError, match=r"S=1 and A=4 are too small: Theorem . needs at least two"):
            theorem(1, 4, 483, 6.0, 1.0)
    with pytest.raises(TheoryError, match=r"c_min is 0, but Theorem 1 needs positive costs;"):
        theorem_1(2, 2, 100, 6.0, 0.0)
