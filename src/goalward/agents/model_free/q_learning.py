"""Q-learning with epsilon-greedy actions: the textbook baseline.

Reference
    Watkins and Dayan: Q-learning (1992); Yu and Bertsekas: On boundedness of Q-learning iterates for stochastic
    shortest path problems (2013).

Pseudo-code
     1  Q(s, a) <- 0, n(s, a) <- 0
     2  in every step, in state s:
     3      play a uniformly random action with probability epsilon, else a = argmin Q(s, .); observe s'
     4      n(s, a) <- n(s, a) + 1
     5      Q(s, a) <- (1 - alpha) Q(s, a) + alpha (c(s, a) + min Q(s', .)),  alpha = n(s, a)^(-rate)

Implementation
    `act` executes line 3, `learn` executes lines 4 and 5, and `rollout` executes all three lines in one kernel. The
    regret grows linearly, because epsilon is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.model_world import CHOSEN, DONE, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop_conditions import TableStop
from goalward.agents.base import OnlineAgent, register
from goalward.agents.ties import best_tried, checked_order, pick
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.settings import Share


class QTable(OnlineAgent):
    """An online agent that stores visits and estimates ``Q[s, a]``. The estimates start at zero."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        super().begin(task, rng)
        self.Q = np.where(task.available, 0.0, np.inf)
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self._order = checked_order(None, task.actions)

    def best_policy(self) -> Floats:
        """Return the policy that plays the tried actions of smallest Q with equal probability."""
        return best_tried(self.Q, self.visits)

    def values(self) -> Floats:
        return np.asarray(self.Q.min(axis=1))


@register("q-learning")
class QLearning(QTable, kw_only=True):
    """Q-learning with epsilon-greedy actions. All values start at zero, which is optimistic."""

    unknown_costs_covered: ClassVar[bool] = True

    epsilon: Share = 0.1
    """The probability of a uniformly random action."""

    rate: Share = 0.7
    """The learning rate after n visits of a pair is n^(-rate)."""

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Return the action for `state` (line 3 of the algorithm)."""
        return int(choose(state, draw(), self.Q, self._order, self.epsilon))

    def learn(self, step: Step[int]) -> int:
        """Update Q after `step` (lines 4 and 5 of the algorithm)."""
        update(step.state, step.action, step.next_state, step.cost, self.Q, self.visits, self.rate)
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        roll_out(model, walk, self.Q, self.visits, self._order, self.epsilon, self.rate)


@kernel
def choose(state: int, chance: float, Q: Floats, order: Int64s, epsilon: float) -> int:
    """Return a random action if `chance` < `epsilon`, otherwise an action of smallest `Q` (line 3 of the algorithm)."""
    if chance >= epsilon:
        return pick(Q, state, order, (chance - epsilon) / (1.0 - epsilon))
    available = 0
    for action in range(Q.shape[1]):
        if Q[state, action] < np.inf:
            available += 1
    left = int(chance / epsilon * available)
    chosen = -1
    for action in range(Q.shape[1]):
        if Q[state, action] < np.inf:
            if left >= 0:
                chosen = action
            left -= 1
    return chosen


@kernel
def update(
    state: int, action: int, successor: int, cost: float, Q: Floats, visits: Int64s, rate: float
) -> None:  # fmt: skip
    """Update `Q` and `visits` after a step (lines 4 and 5 of the algorithm)."""
    visits[state, action] += 1
    target = cost
    if successor < len(Q):
        best = np.inf
        for other in range(Q.shape[1]):
            best = min(best, Q[successor, other])
        target += best
    alpha = float(visits[state, action]) ** -rate
    Q[state, action] += alpha * (target - Q[state, action])


@kernel
def roll_out(
    model: Dynamics, walk: Walk, Q: Floats, visits: Int64s, order: Int64s, epsilon: float, rate: float
) -> None:
    """Act and learn until `walk` is full."""
    cursor, choices = walk.cursor, walk.choices
    while has_room(cursor):
        state = cursor[STATE]
        action = choose(state, choices[cursor[CHOSEN]], Q, order, epsilon)
        cursor[CHOSEN] += 1
        successor = take_step(model, walk, action)
        update(state, action, successor, walk.costs[cursor[DONE] - 1], Q, visits, rate)
