"""The property of posterior sampling: the exact tests themselves, then the agent under them."""

from __future__ import annotations

import numpy as np
import pytest

import goalward as gw
from goalward import Dirichlet, worlds
from goalward.acting.contract import Task
from goalward.agents import PSRL, PosteriorMean
from goalward.beliefs.base import Prior
from goalward.errors import SettingError, TheoryError
from goalward.theory.posterior_lemma import Agreement, agreement, draw_world, features, quantities, sample_pair

COSTS = np.linspace(0.2, 1.0, 8).reshape(4, 2)
WANTED = quantities(Task(COSTS, 0, 1))
NAMES = [str(wanted) for wanted in WANTED]


def compare(agent: PSRL, epoch: int, count: int, prior: Prior | None = None) -> list[Agreement]:
    pairs = [sample_pair(agent, prior or agent.prior, COSTS, epoch, 60, seed, WANTED) for seed in range(count)]
    sampled, true = (np.array([pair[side] for pair in pairs if pair is not None]) for side in (0, 1))
    return agreement(sampled, true, NAMES)


@pytest.mark.parametrize("epoch", [2, 15])
def test_sampled_and_true_models_agree(epoch: int) -> None:
    """Seven quantities, two tests each, at 0.001 / 14: together wrong with probability 0.001."""
    found = compare(PSRL(Dirichlet(1.0)), epoch, 150)
    assert all(each.worlds >= 140 for each in found)
    assert min(min(each.p_mean, each.p_shape) for each in found) > 0.001 / 14


def test_a_limit_on_the_values_is_part_of_the_prior() -> None:
    """Wrong with probability 0.001, as above."""
    found = compare(PSRL(Dirichlet(1.0), value_limit=3.0), 10, 100)
    assert min(min(each.p_mean, each.p_shape) for each in found) > 0.001 / 14


def test_another_prior_is_noticed() -> None:
    """Rows drawn with concentration 1, believed to be of 0.1: the posterior is too sure of itself."""
    found = compare(PSRL(Dirichlet(0.1)), 8, 100, prior=Dirichlet(1.0))
    assert min(each.p_shape for each in found) < 0.001


def test_levels_are_exact_for_pairs_that_can_be_exchanged() -> None:
    """p is below 0.05 in 5 % of cases; 400 cases, so above 35 of them is 3.4 standard errors: once in 3,000."""
    rng = np.random.default_rng(1)
    draws = rng.standard_cauchy((20, 400, 2)) + rng.standard_normal((20, 400, 1))
    found = agreement(draws[:, :, 0], draws[:, :, 1], ["x"] * 400)
    for p in ([each.p_mean for each in found], [each.p_shape for each in found]):
        assert np.count_nonzero(np.array(p) <= 0.05) <= 35


def test_shifts_and_widths_are_seen() -> None:
    rng = np.random.default_rng(2)
    true = rng.standard_normal((200, 1))
    shifted, narrow = rng.standard_normal((200, 1)) + 0.6, 0.2 * rng.standard_normal((200, 1))
    assert agreement(shifted, true, ["x"])[0].p_mean < 0.001
    assert agreement(narrow, true, ["x"])[0].p_mean > 0.05
    assert agreement(narrow, true, ["x"])[0].p_shape < 0.001
    assert agreement(narrow, true, ["x"])[0].p < 0.002


def test_statistics_by_brute_force() -> None:
    """All 2^6 swaps by hand: the share of swaps as extreme as observed, up to the error of drawing swaps at random."""
    rng = np.random.default_rng(3)
    pair = rng.integers(0, 4, (6, 2)) + np.array([0.0, 1.0])
    grid = np.unique(pair)

    def statistics(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
        return abs(a.sum() - b.sum()), max(abs(np.sum(a <= x) - np.sum(b <= x)) for x in grid)

    observed = statistics(pair[:, 0], pair[:, 1])
    beyond = np.zeros(2)
    for code in range(64):
        swap = np.array([code >> i & 1 for i in range(6)])
        a, b = (np.where(swap, pair[:, 1 - side], pair[:, side]) for side in (0, 1))
        beyond += np.array(statistics(a, b)) >= np.array(observed) - 1e-9
    found = agreement(pair[:, :1], pair[:, 1:], ["x"])[0]
    # 4,999 random swaps: five standard errors of a share are at most 0.036.
    assert (found.p_mean, found.p_shape) == pytest.approx(tuple(beyond / 64), abs=0.036)
    assert found.difference == pytest.approx(np.mean(pair[:, 0] - pair[:, 1]))


def test_worlds_of_the_prior_have_its_mean() -> None:
    """Entries have mean 0.2 and variance 0.16 / 6; 500 worlds, 40 entries, five standard errors: once in 40,000."""
    rng = np.random.default_rng(4)
    kernels = np.array([draw_world(Dirichlet(1.0), Task(COSTS, 0, 1), rng).to_dense() for _ in range(500)])
    assert np.abs(kernels.mean(axis=0) - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 6 / 500)


def test_worlds_stay_within_the_limit() -> None:
    rng = np.random.default_rng(5)
    drawn = [draw_world(Dirichlet(1.0), Task(COSTS, 0, 1), rng, 2.5) for _ in range(20)]
    assert max(gw.solve(world).values.max() for world in drawn) <= 2.5
    with pytest.raises(SettingError, match=r"10,000 consecutive worlds had a value above value_limit=0.1"):
        draw_world(Dirichlet(1.0), Task(np.ones((1, 1)), 0, 1), rng, 0.1)


def test_quantities() -> None:
    world = worlds.random_mdp(states=8, seed=5, rows="uniform")
    found = features(world, [None, (0, 0, 0), (0, 1, 8)])
    P = world.to_dense()
    assert found == pytest.approx([gw.solve(world).values[0], P[0, 0, 0], P[0, 1, 8]])
    assert quantities(Task(np.ones((1, 1)), 0, 1)) == [None, (0, 0, 0), (0, 0, 1)]
    assert len(WANTED) == 7


def test_runs_that_end_early_are_left_out() -> None:
    assert sample_pair(PSRL(Dirichlet(1.0)), Dirichlet(1.0), COSTS, 1000, 5, 0, WANTED) is None
    assert sample_pair(PSRL(Dirichlet(1.0)), Dirichlet(1.0), COSTS, 1, 5, 0, WANTED) is not None


def test_bad_input() -> None:
    with pytest.raises(TheoryError, match="only 1 of the runs reach the epoch"):
        agreement(np.ones((1, 1)), np.ones((1, 1)), ["x"])
    with pytest.raises(TheoryError, match="does not plan with draws"):
        sample_pair(PosteriorMean(Dirichlet(1.0)), Dirichlet(1.0), COSTS, 1, 5, 0, WANTED)
    with pytest.raises(TheoryError, match="does not plan with draws"):
        sample_pair(PSRL(Dirichlet(1.0), sharpness=4.0), Dirichlet(1.0), COSTS, 1, 5, 0, WANTED)
    with pytest.raises(SettingError, match="epoch"):
        sample_pair(PSRL(), Dirichlet(0.1), COSTS, 0, 5, 0, WANTED)
