"""The lemma on posterior sampling, tested on worlds drawn from the prior.

Lemma: if t_l is a stopping time and theta_l is drawn from the posterior at t_l, then for every function f and every X
known at t_l, E[f(theta_l, X) | F_{t_l}] = E[f(theta_*, X) | F_{t_l}].

Given F_{t_l}, theta_l and theta_* are independent draws from the same distribution. So the two can be exchanged: over
worlds drawn from the prior, swapping f(theta_l) and f(theta_*) in some of the runs changes no probability. That allows
exact tests. A statistic of the pairs is compared with its values after random swaps; a test of level alpha rejects a
true property with probability at most alpha, for any number of worlds and any f.

    mean     |sum of f(theta_l) - f(theta_*)|                 detects a posterior that is shifted
    shape    the largest distance of the two empirical        detects one that is too narrow or too wide
             distribution functions

The number of the epoch is fixed beforehand, so its start is a stopping time. Runs that end before it are left out,
which is also known at that time. The last epoch of a run cannot be used: whether it is the last depends on what
follows.
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
    """One quantity in sampled and in true models."""

    name: str
    worlds: int  # the number of pairs
    difference: float  # the mean of f(theta_l) - f(theta_*)
    error: float  # its standard error
    p_mean: float  # the levels at which the exact tests reject
    p_shape: float

    @property
    def p(self) -> float:
        """The level at which the two tests together reject, by Bonferroni."""
        return min(1.0, 2.0 * min(self.p_mean, self.p_shape))


def draw_world(prior: Prior, task: Task, rng: np.random.Generator, value_limit: float | None = None) -> SSP:
    """Draw a world for `task` from a prior with `rng`, again while some optimal value is above `value_limit`."""
    belief = prior.belief(task)
    for _ in range(10_000):
        world = belief.sample(rng)
        if value_limit is None or solve_all(world).values.max() <= value_limit:
            return world
    raise SettingError(f"10,000 worlds in a row had a value above value_limit={value_limit:g}; raise it")


def quantities(task: Task) -> list[Quantity]:
    """Return the quantities that are compared by default.

    These are V(s_init) and the probabilities of going from the start to itself, to the last state and to the goal, for
    the first and for the last action.
    """
    start, S, A = task.initial_state, task.states, task.actions
    return [None, *((start, a, s) for a in dict.fromkeys((0, A - 1)) for s in dict.fromkeys((start, S - 1, S)))]


def features(model: SSP, wanted: Sequence[Quantity]) -> Floats:
    """Return some quantities of a model."""
    P = model.to_dense()
    return np.array([solve_all(model).values[model.initial_state] if q is None else P[q] for q in wanted])


def sample_pair(
    agent: Agent,
    prior: Prior,
    costs: Floats,
    epoch: int,
    episodes: int,
    seed: int,
    wanted: Sequence[Quantity],
) -> tuple[Floats, Floats] | None:
    """Draw a world with these costs from a prior, learn in it, and return the quantities of theta_l and of theta_*.

    The agent must sample its posterior; if it has a `value_limit`, the world stays within it. The prior is that of the
    agent: with another one the lemma is false, which shows what the test can detect. `seed` decides the world, which
    starts in state 0, and the run of `episodes` episodes. l is `epoch`, counted from 1 as in the paper; None is
    returned if the run ends before it. For `wanted` see `quantities`.
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
        raise TheoryError(f"{agent.name} keeps no sampled models in its plans")
    return features(sampled, wanted), features(world, wanted)


def agreement(sampled: Floats, true: Floats, names: Sequence[str]) -> list[Agreement]:
    """Test whether sampled and true values, ``[world, quantity]``, can be exchanged; `names` names the quantities."""
    if len(sampled) < 2:
        raise TheoryError(f"{len(sampled)} worlds have runs that reach the epoch; at least two are needed")
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
    """Return the share of swaps after which a statistic is at least as large as observed, with no swap as one more."""
    return float((1 + np.count_nonzero(swapped >= observed * (1.0 - 1e-12))) / (1 + len(swapped)))


def distances(pair: Floats, signs: Floats) -> Floats:
    """Return the largest distance of the two distribution functions, times the number of pairs, for each swap."""
    values = pair.ravel()
    order = np.argsort(values, kind="stable")
    steps = np.stack([signs, -signs], axis=2).reshape(len(signs), -1)[:, order]
    sums = np.abs(np.cumsum(steps, axis=1))
    # Among equal values only the last one is a value of the distribution functions.
    last = np.append(values[order][1:] > values[order][:-1], True)
    return np.asarray(sums[:, last].max(axis=1))
