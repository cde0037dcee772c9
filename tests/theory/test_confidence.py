"""The Bernstein set: by hand, by simulation, by exact probabilities, and its lemmas."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from recorded import WORLDS, recorded

from goalward import FinitePrior, learn, worlds
from goalward.agents import PSRL
from goalward.errors import SettingError
from goalward.theory import confidence
from goalward.theory.confidence import (
    Coverage,
    coverage,
    inspect,
    miss_probabilities,
    miss_probability,
    promise,
    rate,
    width,
)
from goalward.theory.trace import trace_of


def test_numbers_by_hand() -> None:
    A_l = rate(50, 3, 2, 0.1)
    assert A_l == pytest.approx(log(3 * 2 * 50 / 0.1) / 50)
    assert width(np.array([0.0, 0.25]), A_l) == pytest.approx([28 * A_l, 4 * sqrt(0.25 * A_l) + 28 * A_l])
    assert promise(50, 3, 2, 0.1) == pytest.approx(0.1 / (2 * 3 * 2 * 50))
    assert promise(0, 3, 2, 0.1) == promise(1, 3, 2, 0.1)


def test_membership_by_hand() -> None:
    """With n = 10,000 and S A = 4 the set is 4 sqrt(theta_hat A) + 28 A wide, about 0.124 at 1/2."""
    counts = np.array([[5000, 5000, 0]])
    A_l = float(rate(10_000, 2, 2, 0.1))
    edge = 4 * sqrt(0.5 * A_l) + 28 * A_l
    inner, outer = 0.5 + 0.999 * edge, 0.5 + 1.001 * edge
    found = inspect(counts, np.array([[inner, 1 - inner, 0.0]]), np.array([[outer, 1 - outer, 0.0]]), 2, 2, 0.1)
    assert (found.checks, found.informative, found.true_misses, found.sampled_misses) == (1, 1, 0, 1)
    assert found.true_ratio == pytest.approx(0.999)
    assert found.sampled_ratio == pytest.approx(1.001)
    # The third successor was never seen; 28 A alone is allowed there.
    third = 1.001 * 28 * A_l
    found = inspect(counts, np.array([[0.5, 0.5 - third, third]]), np.array([[0.5, 0.5, 0.0]]), 2, 2, 0.1)
    assert found.true_misses == 1


def test_few_visits_exclude_nothing() -> None:
    found = inspect(np.array([[3, 0]]), np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), 2, 2, 0.1)
    assert (found.checks, found.informative, found.true_misses) == (1, 0, 0)


def literal_coverage(world: str, delta: float) -> tuple[int, int, float]:
    """Count the sets, the true kernel's misses and the promises of a run, one successor at a time."""
    run, model = recorded(world), WORLDS[world]
    assert run.trajectory is not None
    S, A = model.costs.shape
    P = model.to_dense()
    counts: dict[tuple[int, int, int], int] = {}
    checks, misses, promised, step = 0, 0, 0.0, 0
    for length in run.epochs.steps.tolist():
        for s in range(S):
            for a in range(A):
                n = sum(counts.get((s, a, s2), 0) for s2 in range(S + 1))
                if n == 0:
                    continue
                A_l = log(S * A * n / delta) / n
                checks += 1
                promised += delta / (2 * S * A * n)
                hats = [counts.get((s, a, s2), 0) / n for s2 in range(S + 1)]
                misses += any(abs(P[s, a, i] - hat) > 4 * sqrt(hat * A_l) + 28 * A_l for i, hat in enumerate(hats))
        for _ in range(length):
            key = tuple(int(column[step]) for column in (run.trajectory[0], run.trajectory[1], run.trajectory[3]))
            counts[key] = counts.get(key, 0) + 1  # type: ignore[index, arg-type]
            step += 1
    return checks, misses, promised


@pytest.mark.parametrize("world", ["random", "sticky"])
def test_a_run_is_counted_as_the_paper_says(world: str) -> None:
    found = sum(coverage(trace_of(recorded(world)), 0.1), Coverage())
    checks, misses, promised = literal_coverage(world, 0.1)
    assert (found.checks, found.true_misses) == (checks, misses)
    assert found.promised == pytest.approx(promised)


@pytest.mark.parametrize("world", WORLDS)
def test_kernels_lie_in_their_sets(world: str) -> None:
    found = sum(coverage(trace_of(recorded(world, episodes=1000))), Coverage())
    assert found.true_misses == found.sampled_misses == 0
    assert found.informative > 0


def test_a_wrong_kernel_is_found_outside() -> None:
    """A prior that knows one wrong model samples nothing else; with enough visits its set shows it."""
    world, wrong = worlds.grid_world(), worlds.grid_world(success=0.5)
    run = learn(PSRL(FinitePrior([wrong])), world, 3000, keep_plans=True, keep_steps=True)
    found = sum(coverage(trace_of(run)), Coverage())
    assert found.sampled_misses > 0
    assert found.sampled_ratio > 1.0
    assert found.true_misses == 0


@pytest.mark.parametrize(("p", "n"), [(0.5, 300), (0.05, 2000), (0.9, 2000)])
def test_exact_misses_agree_with_simulation(p: float, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set is narrowed to 3 % to see misses at all. 200,000 draws; four standard errors: wrong once in 15,000."""
    monkeypatch.setattr(confidence, "width", lambda f, A_l: 0.03 * (4.0 * np.sqrt(f * A_l) + 28.0 * A_l))
    exact = miss_probability(p, n, 2, 2, 0.1)
    frequencies = np.random.default_rng(0).binomial(n, p, 200_000) / n
    seen = np.mean(np.abs(frequencies - p) > confidence.width(frequencies, rate(n, 2, 2, 0.1)))
    assert exact > 1e-4
    assert abs(seen - exact) < 4 * sqrt(exact / 200_000)


@pytest.mark.parametrize("world", ["grid", "random"])
@pytest.mark.parametrize("n", [1, 100, 3000, 30_000])
def test_the_promise_is_kept_at_every_pair(world: str, n: int) -> None:
    model = WORLDS[world]
    found = miss_probabilities(model, n, 0.1)
    assert found.shape == model.costs.shape
    assert (found <= promise(n, *model.costs.shape, 0.1)).all()


@pytest.mark.parametrize("n", [50, 200, 1000, 5000])
def test_misses_fall_fast_enough_to_sum_over_visits(n: int) -> None:
    """The repair in the docs: at most 2 n (delta / (S A n))^4 for each successor, even with delta = 1."""
    S = A = 2
    misses = [miss_probability(p, n, S, A, 1.0) for p in np.linspace(0.001, 0.999, 333)]
    assert max(misses) <= 2 * n * (1.0 / (S * A * n)) ** 4
    assert n < 1000 or max(misses) > 0.0  # the set excludes something


def test_misses_add_up_over_runs() -> None:
    one = Coverage(10, 5, 1, 2, 0.25, 1.5, 2.0)
    both = one + Coverage(5, 1, 0, 0, 0.5, 0.5, 3.0)
    assert both == Coverage(15, 6, 1, 2, 0.75, 1.5, 3.0)


def test_bad_input() -> None:
    run = recorded("sticky")
    for delta in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(SettingError, match=r"delta is .*; it must be a number between 0 and 1"):
            coverage(trace_of(run), delta)
        with pytest.raises(SettingError, match="delta is "):
            miss_probabilities(WORLDS["sticky"], 5, delta)
