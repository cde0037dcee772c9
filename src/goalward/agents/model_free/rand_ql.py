"""RandQL-SSP: Q-learning with random learning rates.

Reference
    Tiapkin and others: Model-free Posterior Sampling via Learning Rate Randomization (NeurIPS 2023),
    for a finite horizon. Our form for shortest paths uses n_0 = 1, kappa = 1, the value 0 of the goal as the best
    possible value, and the rule for H below. Nothing is proved about this form.

Pseudo-code
     1  Q_j(s, a) <- 0 for j = 1..J, Q <- 0, V <- 0, n(s, a) <- 0
     2  in every step, in state s:
     3      play a = argmin Q(s, .), observe s'
     4      n(s, a) <- n(s, a) + 1
     5      for each j:  u ~ Beta(n(s, a), 1),  w ~ Beta(H + 1, n(s, a))
     6                   Q_j(s, a) <- (1 - w) Q_j(s, a) + w u (c(s, a) + V(s'))
     7      Q(s, a) <- min_j Q_j(s, a);  V(s) <- min_a Q(s, a)

    The factor u < 1 makes targets smaller, as if some imagined visits had led to the goal at no cost. In the paper,
    values can only move in one direction. Here they can move in both directions, because without a horizon the running
    maximum of noisy values would drift above V*.

The rule for H
    The mean learning rate of line 5 is about (H + 1)/(H + n), so most weight goes to the last n/H visits. A small H
    gives too much weight to old targets, which are too low. A cheap loop can then look optimal forever. A large H makes
    the estimates noisy. We use H = max(m, l)/2, where l is the length of the current episode so far. The mean length m
    is updated by m <- m + max(1/k, 1/20) (l_k - m) after episode k of length l_k. In an episode that does not end, H
    grows until the rate is close to 1. Then values rise fast, and the agent leaves the loop.

Implementation
    `act` computes the argmin in line 3, `learn` executes lines 4 to 7, and `rollout` does both in one kernel.

Beta variates
    If E is exponential, exp(-E/n) is Beta(n, 1). If X and Y are gamma with shapes a and b, X/(X + Y) is Beta(a, b).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from goalward.acting.contract import Step, Task
from goalward.acting.model_world import CHOSEN, DONE, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop_conditions import TableStop
from goalward.agents.base import register
from goalward.agents.model_free.q_learning import QTable
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel

# Positions in the clock: the length of the current episode, the mean length of recent episodes, the number of episodes.
LENGTH, MEAN, EPISODES = range(3)


@register("rand-ql")
class RandQL(QTable, kw_only=True):
    """Q-learning with random learning rates. The agent stores S A J estimates and has no theorem."""

    members: Annotated[int, Ge(1), Le(100)] = 2
    """J, the number of estimates of each pair. Q is the smallest estimate."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` (line 1 of the algorithm)."""
        super().begin(task, rng)
        self.estimates = np.zeros((task.states, task.actions, self.members))
        self.V = np.zeros(task.states + 1)
        self.clock = np.zeros(3)

    def restart(self) -> None:
        self.clock[LENGTH] = 0.0

    def notes(self) -> dict[str, int | float | str]:
        return super().notes() | {"horizon": float(horizon(self.clock))}

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Return the action for `state` (line 3 of the algorithm). Ties are broken at random."""
        return int(pick(self.Q, state, self._order, draw()))

    def learn(self, step: Step[int]) -> int:
        """Update the estimates after `step` (lines 4 to 7 of the algorithm)."""
        update(self.rng, step.state, step.action, step.next_state, step.cost, *self.memory())
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        roll_out(self.rng, model, walk, self._order, *self.memory())

    def memory(self) -> tuple[Any, ...]:
        """Return the arrays that the kernels read and change."""
        return self.estimates, self.Q, self.V, self.visits, self.clock


@kernel
def horizon(clock: Floats) -> float:
    """Return H. The docstring of the module explains the rule for H."""
    return float(0.5 * max(clock[MEAN], clock[LENGTH], 1.0))


@kernel
def note_step(clock: Floats, goal: bool) -> None:
    """Add one step to `clock`. If `goal` is true, also update the mean length of episodes."""
    clock[LENGTH] += 1.0
    if goal:
        clock[EPISODES] += 1.0
        clock[MEAN] += max(1.0 / clock[EPISODES], 0.05) * (clock[LENGTH] - clock[MEAN])
        clock[LENGTH] = 0.0


@kernel
def update(
    rng: np.random.Generator, state: int, action: int, successor: int, cost: float,
    estimates: Floats, Q: Floats, V: Floats, visits: Int64s, clock: Floats,
) -> None:  # fmt: skip
    """Update `estimates`, `Q`, `V` and `visits` after a step (lines 4 to 7 of the algorithm)."""
    H = horizon(clock)
    note_step(clock, successor == len(Q))
    visits[state, action] += 1
    n = float(visits[state, action])
    target = cost + V[successor]
    best = np.inf
    for j in range(estimates.shape[2]):
        u = math.exp(-rng.standard_exponential() / n)
        X = rng.standard_gamma(H + 1.0)
        w = X / (X + rng.standard_gamma(n))
        estimates[state, action, j] += w * (u * target - estimates[state, action, j])
        best = min(best, estimates[state, action, j])
    Q[state, action] = best
    for other in range(Q.shape[1]):
        best = min(best, Q[state, other])
    V[state] = best


@kernel
def roll_out(
    rng: np.random.Generator, model: Dynamics, walk: Walk, order: Int64s,
    estimates: Floats, Q: Floats, V: Floats, visits: Int64s, clock: Floats,
) -> None:  # fmt: skip
    """Act and learn until `walk` is full."""
    cursor, choices = walk.cursor, walk.choices
    while has_room(cursor):
        state = cursor[STATE]
        action = pick(Q, state, order, choices[cursor[CHOSEN]])
        cursor[CHOSEN] += 1
        successor = take_step(model, walk, action)
        update(rng, state, action, successor, walk.costs[cursor[DONE] - 1], estimates, Q, V, visits, clock)
