"""Statistical tests of the lemma on posterior sampling, using worlds drawn from the prior.

Lemma: if t_l is a stopping time and theta_l is drawn from the posterior at t_l, then for every function f and every X
known at t_l, E[f(theta_l, X) | F_{t_l}] = E[f(theta_*, X) | F_{t_l}].

Given F_{t_l}, theta_l and theta_* are independent draws from the same distribution. So if worlds are drawn from the
prior, swapping f(theta_l) and f(theta_*) in some of the runs changes no probability. An exact test compares a statistic
of the pairs (f(theta_l), f(theta_*)) with the same statistic after random swaps. If the lemma holds, a test of level
alpha rejects the lemma with probability at most alpha, for any number of worlds and any f.

    mean     |sum of f(theta_l) - f(theta_*)|                 detects a shifted posterior
    shape    the largest distance between the two empirical   detects a posterior that is too narrow or too wide
             distribution functions

The index l must be fixed before the run, so that the start of epoch l is a stopping time. Runs without an epoch l are
left out. The last epoch of a run cannot be tested, because only later steps decide which epoch is the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goalward.acting.contract import Task
from goalward.agents.base import Agent
from goalward.arrays import Floats
from goalward.beliefs.base import Prior
from goalward.errors import SettingError, TheoryError
from goalward.learning.learn import run_agent
from goalward.planning.solve import solve_all
from goalward.seeds import generator, run_seed
from goalward.settings import Size, check
from goalward.ssp.model import SSP
from goalward.theory.trace import check_posterior

Quantity = tuple[int, int, int] | None
"""A transition (state, action, successor), or None for V(s_init)."""

SWAPS = 4999


@dataclass(frozen=True)
class Agreement:
    """The results of both tests for one quantity f."""

    name: str
    worlds: int  # the number of worlds
    difference: float  # the mean of f(theta_l) - f(theta_*)
    error: float  # the standard error of this mean
    p_mean: float  # the p-value of the test "mean"
    p_shape: float  # the p-value of the test "shape"

    @property
    def p(self) -> float:
        """The p-value of both tests together, by Bonferroni's correction."""
        return min(1.0, 2.0 * min(self.p_mean, self.p_shape))


def draw_world(prior: Prior, task: Task, rng: np.random.Generator, value_limit: float | None = None) -> SSP:
    """Return a world for `task`, drawn from `prior` with `rng`; no optimal value is above `value_limit`."""
    belief = prior.belief(task)
    for _ in range(10_000):
        world = belief.sample(rng)
        if value_limit is None or solve_all(world).values.max() <= value_limit:
            return world
    raise SettingError(f"10,000 consecutive worlds had a value above value_limit={value_limit:g}; raise value_limit")


def quantities(task: Task) -> list[Quantity]:
    """Return the default quantities of the tests.

    The first quantity is V(s_init). The others are transition probabilities of the first and the last action in the
    initial state: to the initial state, to the last state and to the goal.
    """
    start, S, A = task.initial_state, task.states, task.actions
    return [None, *((start, a, s) for a in dict.fromkeys((0, A - 1)) for s in dict.fromkeys((start, S - 1, S)))]


def features(model: SSP, wanted: Sequence[Quantity]) -> Floats:
    """Return the `wanted` quantities of a model."""
    P = model.to_dense()
    return np.array([solve_all(model).values[model.initial_state] if q is None else P[q] for q in wanted])


def sample_pair(
    agent: Agent, prior: Prior, costs: Floats, epoch: int, episodes: int, seed: int, wanted: Sequence[Quantity]
) -> tuple[Floats, Floats] | None:
    """Run `agent` in a world drawn from `prior`; return the `wanted` quantities of theta_l and of theta_*.

    The world has the given `costs`, and state 0 is the initial state. `seed` determines the world and the run of
    `episodes` episodes. The agent must sample its posterior. If the agent has a `value_limit`, the world respects this
    limit. To see what the tests can detect, pass a `prior` that is not the agent's prior. The index l is `epoch`,
    counted from 1. The result is None if the run ends before this epoch. See `quantities` for the form of `wanted`.
    """
    check("epoch", epoch, Size)
    task = Task(np.asarray(costs, dtype=np.float64), 0, episodes)
    rng = generator(run_seed(seed, "world"))
    world = draw_world(prior, task, rng, getattr(agent, "value_limit", None))
    run = run_agent(agent, world, episodes, run_seed(seed, "run"), keep_plans=True)
    check_posterior(run)
    if run.plans is None or len(run.plans) < epoch:
        return None
    sampled = run.plans[epoch - 1].model
    if sampled is None:
        raise TheoryError(f"the plans of {agent.name} have no sampled models; return Plan(..., model=theta)")
    return features(sampled, wanted), features(world, wanted)


def agreement(sampled: Floats, true: Floats, names: Sequence[str]) -> list[Agreement]:
    """Test for each quantity in `names` whether the columns of `sampled` and `true` have the same distribution."""
    if len(sampled) < 2:
        raise TheoryError(f"only {len(sampled)} of the runs reach the epoch, but the tests need two; run more worlds")
    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0]), (SWAPS, len(sampled)))
    agreements = []
    for column, name in enumerate(names):
        pair = np.stack([sampled[:, column], true[:, column]], axis=1)
        gaps = pair[:, 0] - pair[:, 1]
        agreements.append(
            Agreement(
                name=name,
                worlds=len(gaps),
                difference=float(gaps.mean()),
                error=float(gaps.std(ddof=1) / np.sqrt(len(gaps))),
                p_mean=level(abs(gaps.sum()), np.abs(signs @ gaps)),
                p_shape=level(float(distances(pair, np.ones((1, len(gaps))))[0]), distances(pair, signs)),
            )
        )
    return agreements


def level(observed: float, swapped: Floats) -> float:
    """Return the p-value: the share of values at least `observed`, among `observed` itself and `swapped`."""
    return float((1 + np.count_nonzero(swapped >= observed * (1.0 - 1e-12))) / (1 + len(swapped)))


def distances(pair: Floats, signs: Floats) -> Floats:
    """Return the largest distance between two distribution functions after each swap, times the number of pairs."""
    values = pair.ravel()
    order = np.argsort(values, kind="stable")
    steps = np.stack([signs, -signs], axis=2).reshape(len(signs), -1)[:, order]
    sums = np.abs(np.cumsum(steps, axis=1))
    # Among equal values, only the sum at the last one is a value of the distribution functions.
    last = np.append(values[order][1:] > values[order][:-1], True)
    return np.asarray(sums[:, last].max(axis=1))
