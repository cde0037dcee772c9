"""RandQL-SSP: Q-learning with random learning rates.

Reference
    Tiapkin and others: Model-free Posterior Sampling via Learning Rate Randomization (NeurIPS 2023), for finite
    horizon, with n_0 = 1 and kappa = 1. The form for shortest paths is ours: the best value is 0, that of the goal, and
    H follows the rule of `model_free`. Nothing about it is proved.

Pseudo-code
     1  Q_j(s, a) <- 0 for j = 1..J, Q <- 0, V <- 0, n(s, a) <- 0
     2  in every step, in state s:
     3      play a = argmin Q(s, .), observe s'
     4      n(s, a) <- n(s, a) + 1
     5      for each j:  u ~ Beta(n(s, a), 1),  w ~ Beta(H + 1, n(s, a))
     6                   Q_j(s, a) <- (1 - w) Q_j(s, a) + w u (c(s, a) + V(s'))
     7      Q(s, a) <- min_j Q_j(s, a);  V(s) <- min_a Q(s, a)

    u is the chance that imagined visits, which led to the goal at no cost, do not decide the target. The paper lets
    values move in one direction only. That is left out here: in a problem without a horizon the running maximum of
    noise drifts above V*.

How it maps
    `act` is the argmin of line 3, `learn` lines 4 to 7, `rollout` both in one kernel.

Beta variates
    Beta(n, 1) is exp(-E/n) with E exponential. Beta(a, b) is X/(X + Y) with gamma variates X and Y of shapes a and b,
    drawn by the rejection of Marsaglia and Tsang (2000): with d = a - 1/3, x normal and v = (1 + x/sqrt(9 d))^3 > 0,
    d v is accepted with probability exp(x²/2 + d (1 - v + log v)), at least 0.95 of the time for a >= 1. After `TRIALS`
    trials the last one is taken, which happens with a probability below 1e-20.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from goalward.acting.contract import Step, Task
from goalward.acting.rollout import CHOSEN, STATE, Dynamics, Walk, has_room, take_step
from goalward.agents.base import register
from goalward.agents.model_free.horizon import ModelFree, horizon, note_step
from goalward.agents.ties import pick
from goalward.arrays import Floats, Int64s
from goalward.jit import kernel

__all__ = ["RandQL", "gamma_variate"]

TRIALS = 16
TINY = 1e-300
NORMAL, UNIFORM, EXPONENTIAL = range(3)


class Memory(NamedTuple):
    """What the kernels read and change."""

    costs: Floats
    members: Floats
    Q: Floats
    V: Floats
    visits: Int64s
    clock: Floats
    noise: Floats
    used: Int64s
    horizon: float


@register("rand-ql")
class RandQL(ModelFree, kw_only=True):
    """Q-learning whose learning rates are random; memory S A J, no planning, no theorem."""

    kinds: ClassVar[int] = 3

    members: Annotated[int, Ge(1), Le(100)] = 2
    """J, how many estimates of each pair there are; the smallest one counts."""

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.estimates = np.zeros((task.states, task.actions, self.members))
        self.V = np.zeros(task.states + 1)

    def need(self) -> int:
        """Two gamma variates for each member."""
        return self.members * 2 * TRIALS

    def draw(self, block: Floats) -> None:
        """Fill a block with normal, uniform and exponential numbers."""
        self.rng.standard_normal(out=block[NORMAL])
        self.rng.random(out=block[UNIFORM])
        self.rng.standard_exponential(out=block[EXPONENTIAL])

    def act(self, state: int, draw: Callable[[], float]) -> int:
        """Line 3: the argmin, ties broken at random."""
        return int(pick(self.Q, state, self._order, draw()))

    def learn(self, step: Step[int]) -> int:
        """Lines 4 to 7."""
        self.refill()
        update(step.state, step.action, step.next_state, self.memory())
        return 0

    def roll_out(self, model: Dynamics, walk: Walk, need: int) -> None:
        """Act and learn in one kernel."""
        roll_out(model, walk, need, self._order, self.memory())

    def memory(self) -> Memory:
        """Return what the kernels read and change."""
        return Memory(
            self._costs, self.estimates, self.Q, self.V, self.visits, self.clock, self._noise, self._used, self._horizon
        )


@kernel
def gamma_variate(d: float, c: float, noise: Floats, place: int) -> tuple[float, int]:
    """Return a gamma variate of shape d + 1/3 >= 1, with c = 1/sqrt(9 d), and the place of the next random numbers."""
    v = 0.0
    for trial in range(TRIALS):
        x = noise[NORMAL, place + trial]
        u = noise[UNIFORM, place + trial]
        root = 1.0 + c * x
        v = root * root * root
        square = x * x
        # The first test implies the second and costs no logarithm.
        if u < 1.0 - 0.0331 * square * square and v > 0.0:
            return d * v, place + trial + 1
        if v > 0.0 and math.log(max(u, TINY)) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v, place + trial + 1
    return d * abs(v), place + TRIALS


@kernel
def update(state: int, action: int, successor: int, memory: Memory) -> None:
    """Lines 4 to 7."""
    H = horizon(memory.clock, memory.horizon)
    note_step(memory.clock, successor == len(memory.Q))
    memory.visits[state, action] += 1
    n = float(memory.visits[state, action])
    target = memory.costs[state, action] + memory.V[successor]
    d_X = H + 2.0 / 3.0
    d_Y = n - 1.0 / 3.0
    c_X = 1.0 / np.sqrt(9.0 * d_X)
    c_Y = 1.0 / np.sqrt(9.0 * d_Y)
    place = memory.used[0]
    smallest = np.inf
    for j in range(memory.members.shape[2]):
        u = math.exp(-memory.noise[EXPONENTIAL, place] / n)
        X, place = gamma_variate(d_X, c_X, memory.noise, place)
        Y, place = gamma_variate(d_Y, c_Y, memory.noise, place)
        member = memory.members[state, action, j]
        member += X / (X + Y) * (u * target - member)
        memory.members[state, action, j] = member
        smallest = min(smallest, member)
    memory.used[0] = place
    memory.Q[state, action] = smallest
    memory.V[state] = smallest
    for other in range(memory.Q.shape[1]):
        memory.V[state] = min(memory.V[state], memory.Q[state, other])


@kernel
def roll_out(model: Dynamics, walk: Walk, need: int, order: Int64s, memory: Memory) -> None:
    """Act and learn while there is room and the random numbers last for another step."""
    cursor = walk.cursor
    while has_room(cursor) and memory.used[0] + need <= memory.noise.shape[1]:
        state = cursor[STATE]
        action = pick(memory.Q, state, order, walk.choices[cursor[CHOSEN]])
        cursor[CHOSEN] += 1
        update(state, action, take_step(model, walk, action), memory)
