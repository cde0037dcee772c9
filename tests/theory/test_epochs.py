"""The number of epochs: the lemma on runs, on every order of visits, and where the natural logarithm breaks."""

from __future__ import annotations

from dataclasses import replace
from math import log2, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import WORLDS, recorded

from goalward import learn
from goalward.acting.stop_conditions import Ended
from goalward.agents import TSDE
from goalward.errors import TheoryError
from goalward.learning.run import Epochs
from goalward.theory.epochs import check_invariants, count_epochs, epoch_bound, macro_epoch_bound
from goalward.theory.trace import trace_of

S, A = 2, 2


def epochs_of(moves: list[tuple[int, bool]]) -> Epochs:
    """Cut a sequence of (pair, whether the goal follows) into epochs by line 6 of Algorithm 1."""
    n = [0] * (S * A)
    start = list(n)
    rows: list[list[int]] = []
    goals_before = 1
    for step, (pair, goal) in enumerate(moves):
        if not rows or rows[-1][4]:
            goals_before = rows[-1][3] if rows else goals_before
            rows.append([step, 0, 0, 0, 0])
            start = list(n)
        n[pair] += 1
        row = rows[-1]
        row[2] += 1
        row[3] += goal
        row[4] |= int(Ended.AFTER_VISITS) * (n[pair] > 2 * start[pair]) | int(Ended.GOALS) * (row[3] > goals_before)
    return Epochs(*np.array(rows, dtype=np.int64).T)


@given(st.lists(st.tuples(st.integers(0, S * A - 1), st.booleans()), min_size=2, max_size=300))
def test_the_lemma_holds_for_every_order_of_visits(moves: list[tuple[int, bool]]) -> None:
    count = count_epochs(epochs_of(moves), S, A)
    assert count.holds, count
    visits = np.bincount([pair for pair, _ in moves], minlength=S * A)
    assert 1 + np.log2(visits + 1.0).sum() + 1e-9 >= count.N


@given(st.integers(2, 10**9), st.integers(2, 50), st.integers(2, 50))
def test_the_repaired_proof_ends_where_the_paper_does(T: int, S: int, A: int) -> None:
    assert macro_epoch_bound(S, A, T) <= S * A * log2(T) + 1e-9


def test_base_two_is_needed() -> None:
    """One pair after the other, in one episode: epochs double n to 2 n + 1 each, j times for each of S A pairs."""
    j = 30
    steps = [2**i for _ in range(S * A) for i in range(j)]
    ended = [int(Ended.AFTER_VISITS)] * (len(steps) - 1) + [int(Ended.EPISODES)]
    zeros = np.zeros(len(steps), dtype=np.int64)
    goals = zeros.copy()
    goals[-1] = 1
    count = count_epochs(Epochs(np.cumsum(steps) - steps, zeros, np.array(steps), goals, np.array(ended)), S, A)
    assert (S * A * j, S * A * (2**j - 1)) == (count.L, count.T)
    doublings = S * A * np.log(count.T)  # with the natural logarithm
    assert sqrt(2 * doublings * count.K) + doublings < count.L <= count.bound


def test_the_papers_count_of_doublings_is_one_too_few() -> None:
    """Visits 1, 3 and 7 end epochs: three of seven, and log2 7 is less than 3."""
    count = count_epochs(epochs_of([(0, False)] * 8), S, A)
    assert count.N - 1 == 3 > log2(7)


def test_numbers_by_hand() -> None:
    assert epoch_bound(2, 3, 50, 64) == pytest.approx(sqrt(2 * 6 * 50 * 6) + 36)
    assert macro_epoch_bound(2, 3, 18) == pytest.approx(1 + 6 * 2)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(4))
def test_runs_respect_the_lemma_and_the_invariants(world: str, seed: int) -> None:
    run = recorded(world, seed=seed)
    count = count_epochs(run.epochs, *WORLDS[world].costs.shape)
    assert (len(run.epochs), 200, run.total_steps) == (count.L, count.K, count.T)
    assert count.holds
    assert all(check_invariants(trace_of(run)))


def test_what_breaks_the_rules_is_noticed() -> None:
    run = recorded("grid")
    goals = run.epochs.goals.copy()
    goals[5] += 2
    assert not count_epochs(replace(run.epochs, goals=goals), 11, 4).goals_grow_by_one
    trace = trace_of(run)
    # Two epochs taken for one: somewhere a pair is played more often than that allows.
    for first in range(len(run.epochs) - 1):
        columns = [np.delete(getattr(run.epochs, name), first + 1) for name in vars(run.epochs)]
        visits = np.delete(trace.visits, first + 1, axis=0)
        if not check_invariants(replace(trace, visits=visits, run=replace(run, epochs=Epochs(*columns)))).doubling:
            return
    pytest.fail("no two epochs together break the doubling rule")


def test_epochs_that_were_left_out_are_noticed() -> None:
    epochs = recorded("grid").epochs
    thinned = Epochs(*(np.delete(column, 7) for column in vars(epochs).values()))
    with pytest.raises(TheoryError, match="are only a part of the run"):
        count_epochs(thinned, 11, 4)


def test_epochs_of_another_kind_need_not_obey() -> None:
    run = learn(TSDE(), WORLDS["grid"], 300, 1, keep_plans=True, keep_steps=True)
    assert check_invariants(trace_of(run)).doubling
    assert not count_epochs(run.epochs, 11, 4).goals_grow_by_one


def test_too_small_problems_are_refused() -> None:
    with pytest.raises(
        TheoryError, match="S=1, A=2, T=9: the bound on the number of epochs needs S >= 2, A >= 2 and T >= 2"
    ):
        epoch_bound(1, 2, 3, 9)
