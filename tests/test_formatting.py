"""How numbers are written."""

import math

import pytest

from goalward.formatting import Interval, duration, number, with_margin, with_range


@pytest.mark.parametrize(
    ("value", "text"),
    [(361241.24, "361,241"), (99.96, "100"), (12.345, "12.3"), (0.01234, "0.0123"), (0.0, "0"), (-5.0, "-5.00"),
     (1e-12, "1.00e-12"), (math.nan, "-"), (math.inf, "inf"), (-math.inf, "-inf")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value, zeros=True) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((804.96, 761.2, 848.7), "805 ± 44"),
        ((360525.0, 358190.0, 362860.0), "360,525 ± 2,335"),
        ((0.1404, 0.1216, 0.1592), "0.140 ± 0.019"),
        ((805.0, 768.0, 850.0), "805 [768, 850]"),
        ((3.0, math.nan, math.nan), "3.00"),
        ((3.0, 3.0, 3.0), "3.00"),
        ((2e-12, 1e-12, 3e-12), "2.00e-12 ± 1.0e-12"),
    ],
)
def test_intervals(interval, text):
    assert with_margin(Interval(*interval, runs=5)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (59.6, "1 min 0 s"), (3599.0, "59 min 59 s"), (7500.0, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_digits_before_the_point_are_kept_up_to_a_billion():
    assert [number(value) for value in (999.6, 1234.5, 999_999_999.0, 2e9)] == [
        "1,000",
        "1,234",
        "999,999,999",
        "2e+09",
    ]
    assert number(1234567.25, 9) == "1,234,567.25"
    assert (number(6.0), number(6.0, 5, zeros=True), number(-0.0, zeros=True)) == ("6", "6.0000", "0")


def test_both_ends_of_an_interval():
    assert with_range(Interval(12345.6, 0.001234, 2e12, 3)) == "12,346 [0.00123, 2e+12]"
    assert with_range(Interval(0.3, math.nan, math.nan, 1)) == "0.3 [-, -]"
