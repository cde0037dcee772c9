"""Statistical tests of the lemma on posterior sampling, on worlds drawn from the prior.

Lemma: if t_l is a stopping time and theta_l is drawn from the posterior at t_l, then for every function f and every X
known at t_l, E[f(theta_l, X) | F_{t_l}] = E[f(theta_*, X) | F_{t_l}].

Given F_{t_l}, theta_l and theta_* are independent draws from the same distribution, so they can be exchanged: over
worlds drawn from the prior, swapping f(theta_l) and f(theta_*) in some of the runs changes no probability. This allows
exact tests, which compare a statistic of the pairs with its values after random swaps. If the lemma holds, a test of
level alpha rejects it with probability at most alpha, for any number of worlds and any f.

    mean     |sum of f(theta_l) - f(theta_*)|                 detects a shifted posterior
    shape    the largest distance of the two empirical        detects a posterior that is too narrow or too wide
             distribution functions

The index of the epoch is fixed beforehand, so its start is a stopping time. Runs that end before it are left out, which
is also known at that time. The last epoch of a run cannot be chosen, because later steps decide whether it is the last.
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
    """The result of the tests for one quantity f."""

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
    """Draw a world for `task` from a prior with `rng`; draw again while an optimal value is above `value_limit`."""
    belief = prior.belief(task)
    for _ in range(10_000):
        world = belief.sample(rng)
        if value_limit is None or solve_all(world).values.max() <= value_limit:
            return world
    raise SettingError(f"10,000 consecutive worlds had a value above value_limit={value_limit:g}; raise value_limit")


def quantities(task: Task) -> list[Quantity]:
    """Return the default quantities of the tests.

    These are V(s_init) and, for the first and the last action, the probabilities of transitions from the start to
    itself, to the last state and to the goal.
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
    """Draw a world with these costs from a prior, learn in it, and return the quantities of theta_l and of theta_*.

    The agent must sample its posterior; its `value_limit`, if set, also limits the world. `prior` should be the prior
    of the agent; with another prior the lemma is false, which shows what the test can detect. `seed` determines the
    world, which starts in state 0, and the run of `episodes` episodes. The index l is `epoch`, counted from 1; the
    result is None if the run ends before this epoch. For `wanted`, see `quantities`.
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
    """Test for each quantity in `names` whether sampled and true values, ``[world, quantity]``, can be exchanged."""
    if len(sampled) < 2:
        raise TheoryError(f"only {len(sampled)} of the runs reach the epoch; at least two are needed")
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
    """Return the p-value: the share of swaps, including none, with a statistic at least as large as `observed`."""
    return float((1 + np.count_nonzero(swapped >= observed * (1.0 - 1e-12))) / (1 + len(swapped)))


def distances(pair: Floats, signs: Floats) -> Floats:
    """Return, for each swap, the largest distance of the two distribution functions, times the number of pairs."""
    values = pair.ravel()
    order = np.argsort(values, kind="stable")
    steps = np.stack([signs, -signs], axis=2).reshape(len(signs), -1)[:, order]
    sums = np.abs(np.cumsum(steps, axis=1))
    # Among equal values, only the sum at the last one is a value of the distribution functions.
    last = np.append(values[order][1:] > values[order][:-1], True)
    return np.asarray(sums[:, last].max(axis=1))
