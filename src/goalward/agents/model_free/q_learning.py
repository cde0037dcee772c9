"""Q-learning with epsilon-greedy actions: the textbook's baseline.

Reference
    Watkins and Dayan: Q-learning (1992); Yu and Bertsekas: On boundedness of Q-learning iterates for stochastic
    shortest path problems (2013).

Pseudo-code
     1  Q(s, a) <- 0, n(s, a) <- 0
     2  in every step, in state s:
     3      play a uniformly random action with probability epsilon, else a = argmin Q(s, .); observe s'
     4      n(s, a) <- n(s, a) + 1
     5      Q(s, a) <- (1 - alpha) Q(s, a) + alpha (c(s, a) + min Q(s', .)),  alpha = n(s, a)^(-rate)

How it maps
    `act` is line 3, `learn` lines 4 and 5, `rollout` both in one kernel. Its regret grows linearly: epsilon never
    falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from goalward.acting.contract import Step, Task
from goalward.acting.rollout import CHOSEN, STATE, Dynamics, Walk, has_room, take_step
from goalward.acting.stop import TableStop
from goalward.agents.base import OnlineAgent, register
from goalward.agents.ties import checked_order, pick
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel
from goalward.settings import Share

__all__ = ["QLearning"]


class Memory(NamedTuple):
    """What the kernels read and change."""

    costs: Floats
    Q: Floats
    visits: Int64s
    order: Int64s
    epsilon: float
    rate: float


@register("q-learning")
class QLearning(OnlineAgent, kw_only=True):
    """Q-learning with epsilon-greedy actions, from optimistic values of zero."""

    epsilon: Share = 0.1
    """The probability of a uniformly random action."""

    rate: Share = 0.7
    """How fast the learning rate falls with the visits of a pair: n^(-rate)."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.Q = np.where(task.available, 0.0, np.inf)
        self.visits: Int64s = np.zeros(task.costs.shape, dtype=np.int64)
        self._costs = np.array(task.costs)
        self._order = checked_order(None, task.actions)

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Line 3."""
        return int(choose(state, draw(), self.memory()))

    def learn(self, step: Step[int]) -> int:
        """Lines 4 and 5."""
        update(step.state, step.action, step.next_state, self.memory())
        return 0

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn in one kernel."""
        roll_out(model, walk, self.memory())

    def values(self) -> Floats:
        """Return the smallest estimate in each state."""
        return np.asarray(self.Q.min(axis=1))

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        return Memory(self._costs, self.Q, self.visits, self._order, float(self.epsilon), float(self.rate))


@kernel
def choose(state: int, chance: float, memory: Memory) -> int:
    """Line 3: the first part of the unit interval is for random actions, the rest breaks ties."""
    if chance >= memory.epsilon:
        return pick(memory.Q, state, memory.order, (chance - memory.epsilon) / (1.0 - memory.epsilon))
    available = 0
    for action in range(memory.Q.shape[1]):
        if memory.Q[state, action] < np.inf:
            available += 1
    left = int(chance / memory.epsilon * available)
    chosen = -1
    for action in range(memory.Q.shape[1]):
        if memory.Q[state, action] < np.inf:
            if left >= 0:
                chosen = action
            left -= 1
    return chosen


@kernel
def update(state: int, action: int, successor: int, memory: Memory) -> None:
    """Lines 4 and 5."""
    memory.visits[state, action] += 1
    target = memory.costs[state, action]
    if successor < len(memory.Q):
        best = np.inf
        for other in range(memory.Q.shape[1]):
            best = min(best, memory.Q[successor, other])
        target += best
    alpha = float(memory.visits[state, action]) ** -memory.rate
    memory.Q[state, action] += alpha * (target - memory.Q[state, action])


@kernel
def roll_out(model: Dynamics, walk: Walk, memory: Memory) -> None:
    """Act and learn while there is room."""
    cursor = walk.cursor
    while has_room(cursor):
        state = cursor[STATE]
        action = choose(state, walk.choices[cursor[CHOSEN]], memory)
        cursor[CHOSEN] += 1
        update(state, action, take_step(model, walk, action), memory)
