"""Intervals against a walk through the run by the letter of the definition."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import WORLDS, recorded

from goalward import SSP, learn
from goalward.agents import PSRL
from goalward.errors import TheoryError
from goalward.learning.run import Run
from goalward.theory.analysis_intervals import cut_into_intervals, sufficient_visits
from goalward.theory.confidence import rate
from goalward.theory.trace import trace_of

FEW = 10  # pairs become known within 200 episodes


def literal_intervals(run: Run, world: SSP, B: float, threshold: float) -> list[int]:
    """Walk through a run step by step; return where intervals start."""
    assert run.trajectory is not None
    states, actions, costs, next_states = (column.tolist() for column in run.trajectory[:4])
    epoch_starts = {*run.epochs.start_step.tolist(), len(states)}
    visits = np.zeros(world.costs.shape, dtype=int)
    frozen = visits.copy()
    starts = [0]
    total = 0.0
    for t in range(len(states)):
        if t in epoch_starts:
            frozen = visits.copy()
        visits[states[t], actions[t]] += 1
        total += costs[t]
        if t + 1 == len(states):
            break
        at_start = visits if t + 1 in epoch_starts else frozen
        unknown = at_start[states[t + 1], actions[t + 1]] < threshold
        if total >= B - 1e-9 or next_states[t] == world.goal or t + 1 in epoch_starts or unknown:
            total = 0.0
            starts.append(t + 1)
    return starts


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("known_after", [FEW, 300, None])
def test_intervals_are_those_of_the_definition(world: str, known_after: float | None) -> None:
    run, model = recorded(world), WORLDS[world]
    found = cut_into_intervals(trace_of(run), known_after=known_after)
    assert found.starts.tolist() == literal_intervals(run, model, found.B, found.known_after)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("known_after", [FEW, None])
def test_what_the_analysis_says_about_them(world: str, known_after: float | None) -> None:
    run, model = recorded(world), WORLDS[world]
    found = cut_into_intervals(trace_of(run), known_after=known_after)
    assert found.bound >= found.M
    costs = np.add.reduceat(run.trajectory.costs, found.starts)
    assert costs.max() <= found.B + model.costs.max() <= 2 * max(found.B, 1.0)
    assert found.rates <= found.rates_bound
    assert found.variance_ratio <= 1.0
    trace = trace_of(run)
    unknown_plays = np.count_nonzero(trace.visits[trace.pairs] < found.known_after)
    assert unknown_plays <= model.costs.size * (2 * found.known_after + 1)


def test_pairs_become_known() -> None:
    run, model = recorded("grid"), WORLDS["grid"]
    few, many = (cut_into_intervals(trace_of(run), known_after=visits) for visits in (FEW, 10_000))
    assert 0 < few.known_pairs < model.costs.size
    assert few.M < many.M == run.total_steps
    assert many.known_pairs == 0
    assert np.array_equal(many.starts, np.arange(run.total_steps))


def test_variances_by_hand() -> None:
    """From the start to state 1 or to the goal with equal odds: the variance is V(1)² / 4."""
    run = recorded("sticky")
    found = cut_into_intervals(trace_of(run))
    assert run.plans is not None
    assert run.trajectory is not None
    epoch = np.repeat(np.arange(len(run.epochs)), run.epochs.steps)
    V = np.array([plan.values for plan in run.plans])[epoch]
    played = run.trajectory.states * 2 + run.trajectory.actions
    table = np.stack([np.zeros(len(V)), V[:, 1] ** 2 / 4, (V[:, 0] - V[:, 1]) ** 2 / 4, np.zeros(len(V))])
    assert found.variances == pytest.approx(np.add.reduceat(table[played, np.arange(len(V))], found.starts))


@given(
    st.integers(2, 200), st.integers(2, 20), st.floats(0.5, 1e3), st.floats(1e-4, 1.0), st.floats(1e-6, 0.5),
    st.floats(1e-9, 1.0),
)  # fmt: skip
def test_pairs_are_known_as_soon_as_the_proof_allows(
    S: int, A: int, B: float, c_min: float, delta: float, theta: float
) -> None:
    n = sufficient_visits(S, A, B, c_min, delta)
    A_l = log(S * A * n / delta) / n
    assert A_l == pytest.approx(c_min / (4096 * S * B))
    difference = 8 * sqrt(theta * A_l) + 136 * A_l
    assert difference <= (sqrt(c_min * theta / (S * B)) / 8 + c_min / (4 * S * B)) * (1 + 1e-9)


def test_known_pairs_need_millions_of_visits() -> None:
    """GridWorld with the paper's K: why every step is an interval of its own."""
    n = sufficient_visits(11, 4, 6.0365, 1.0, 1e-4)
    assert 1e6 < n < 1e8
    assert rate(int(n), 11, 4, 1e-4) == pytest.approx(1 / (4096 * 11 * 6.0365), rel=1e-3)


def test_bad_input() -> None:
    model = WORLDS["sticky"]
    free = model.with_costs(model.costs * [0.0, 1.0])
    with pytest.raises(TheoryError, match="c_min is 0, but intervals need positive costs"):
        cut_into_intervals(trace_of(learn(PSRL(), free, 5, max_steps=100, keep_plans=True, keep_steps=True)))
    perturbed = learn(PSRL(perturb_costs=0.1), free, 20, max_steps=1000, keep_plans=True, keep_steps=True)
    assert cut_into_intervals(trace_of(perturbed)).known_after < np.inf
