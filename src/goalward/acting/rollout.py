"""Acting on a known model, compiled.

One kernel follows a plan until one of its conditions holds or its block of uniform numbers is used up; then Python
takes over, hands the steps to the agent, draws the next block and goes on. Every step takes the next number of the
environment's stream, every action left to chance the next one of the acting stream, so neither the size of a block nor
the plans of an agent move the luck.

What ends a plan, tested after each step from s by a to s'::

    AFTER_VISITS    (s, a) has been played stop_after_visits[s, a] times in this plan
    GOALS           s' is the goal, for the stop_after_goals-th time in this plan
    STEPS           this was step number stop_after_steps of this plan
    EPISODES        s' is the goal and the run has had all its episodes

and before each step from s by a but the plan's first::

    BEFORE_VISITS   (s, a) has been played stop_before_visits[s, a] times in this plan

A model never cuts an episode off. An environment may, which ends a plan that says so (`goalward.acting.stepping`)::

    CUT             the environment cut the episode off, and stop_when_cut holds

With continuous states (`goalward.continuous.stepping`) a plan ends instead when it has seen enough::

    INFORMATION     what is known about an action has doubled

Several can hold at once; `ended` is the sum of their flags.
"""

from __future__ import annotations

import numpy as np

from goalward.acting.compiled_stretches import Ended, SelfActing, Stretch
from goalward.acting.next_state import draw_action, draw_successor, dynamics
from goalward.agents.base import NEVER, Plan, StepAgent, Steps
from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import PolicyError
from goalward.jit import exercise, kernel
from goalward.seeds import generator
from goalward.ssp.model import SSP

__all__ = ["BLOCK", "STATE", "Ended", "Luck", "Rollout", "prepare_policy", "visit_limits"]

BLOCK = 8192
"""The number of uniform numbers drawn at once, and the largest number of steps handed to an agent at once."""


AFTER_VISITS, BEFORE_VISITS, GOALS, STEPS, EPISODES = (int(flag) for flag in list(Ended)[:5])
UNAVAILABLE = -1
NO_CHANCES = np.empty((0, 0))
# Places in the cursor, the integers that a kernel reads and writes.
STATE, STEP, PLAN_GOALS, PLAN_STEPS, LUCK, CHANCE, ENDED = range(7)


class Luck:
    """Uniform numbers of one stream, drawn in blocks."""

    def __init__(self, stream: int):
        self.rng = generator(stream)
        self.block = np.empty(BLOCK)
        self.used = BLOCK

    def refill(self) -> None:
        """Draw the next block if this one is used up."""
        if self.used == BLOCK:
            self.rng.random(out=self.block)
            self.used = 0

    def draw(self) -> float:
        """Return the next number."""
        self.refill()
        self.used += 1
        return float(self.block[self.used - 1])


class Rollout:
    """A known model in which plans are followed; `state` is where the agent is."""

    cut = False
    """Whether the environment broke the last episode off; a model never does."""

    def __init__(self, ssp: SSP, environment: int, acting: int):
        self.dynamics = dynamics(ssp)
        self.S, self.A = ssp.states, ssp.actions
        self.environment, self.acting = Luck(environment), Luck(acting)
        self.cursor = np.zeros(7, dtype=np.int64)
        self.cursor[STATE] = ssp.initial_state
        self.visits = np.zeros(ssp.costs.shape, dtype=np.int64)
        self.never = np.full(ssp.costs.shape, NEVER)
        self.record = Steps.empty(BLOCK)
        self.ends, self.ended = (np.empty(BLOCK, dtype=np.int64) for _ in range(2))

    @property
    def state(self) -> int:
        """Where the agent is."""
        return int(self.cursor[STATE])

    def begin(self, plan: Plan) -> None:
        """Take up a plan."""
        self.policy, self.chances = prepare_policy(plan, self.S, self.A)
        self.visits.fill(0)
        self.stop_after = visit_limits(plan.stop_after_visits, self.never)
        self.stop_before = visit_limits(plan.stop_before_visits, self.never)
        self.cursor[STEP] = 0
        self.cursor[PLAN_GOALS] = NEVER if plan.stop_after_goals is None else plan.stop_after_goals
        self.cursor[PLAN_STEPS] = NEVER if plan.stop_after_steps is None else plan.stop_after_steps

    def advance(self, episodes: int, steps: int) -> tuple[Steps, int]:
        """Follow the plan for a while: at most so many episodes and steps; return the steps and what ended the plan."""
        self.environment.refill()
        self.cursor[LUCK] = self.environment.used
        if len(self.chances):
            self.acting.refill()
            self.cursor[CHANCE] = self.acting.used
        written = follow(
            *self.dynamics,
            self.policy,
            self.chances,
            self.stop_after,
            self.stop_before,
            self.visits,
            self.cursor,
            episodes,
            min(steps, BLOCK),
            self.environment.block,
            self.acting.block,
            *self.record,
        )
        self.environment.used = int(self.cursor[LUCK])
        if len(self.chances):
            self.acting.used = int(self.cursor[CHANCE])
        ended = int(self.cursor[ENDED])
        if ended == UNAVAILABLE:
            ended = self.without_action()
        return self.record.part(0, written), ended

    def without_action(self) -> int:
        """Say whether the agent stands where nothing can be done; otherwise its policy is wrong."""
        indptr = self.dynamics.indptr
        if indptr[self.state * self.A] == indptr[(self.state + 1) * self.A]:
            return int(Ended.DEAD_END)
        if len(self.chances):
            chosen = f"may play an action that is not available in state {self.state}"
        else:
            row = min(int(self.cursor[STEP]), len(self.policy) - 1)
            chosen = f"plays action {self.policy[row, self.state]} in state {self.state}, which is not available there"
        raise PolicyError(f"the policy {chosen}; see task.available")

    def advance_with(self, agent: StepAgent, episodes: int, steps: int) -> tuple[Steps, int]:
        """Let an agent act and learn by itself for a while."""
        self.environment.refill()
        self.acting.refill()
        start = self.environment.used
        size = min(steps, BLOCK - start)
        luck, chances = (source.block[start : start + size] for source in (self.environment, self.acting))
        record = self.record.part(0, size)
        written = agent.advance(self.dynamics, self.state, episodes, luck, chances, record)
        self.environment.used = self.acting.used = start + written
        happened = record.part(0, written)
        last = int(happened.next_states[-1])
        self.cursor[STATE] = self.dynamics.initial_state if last == self.S else last
        arrivals = int(np.count_nonzero(happened.next_states == self.S))
        return happened, int(Ended.EPISODES) if arrivals >= episodes else 0

    def advance_alone(self, agent: SelfActing, episodes: int, steps: int) -> tuple[Steps, Int64s, Int64s]:
        """Let an agent plan, act and learn by itself; return the steps, where epochs ended among them, and why."""
        self.environment.refill()
        self.acting.refill()
        start = self.environment.used
        size = min(steps, BLOCK - start)
        luck, choices = self.environment.block[start : start + size], self.acting.block[self.acting.used :]
        record = self.record.part(0, size)
        stretch = Stretch.begin(self.state, episodes, luck, choices, record, self.ends, self.ended)
        agent.advance(self.dynamics, stretch)
        state, _, written, chosen, epochs = stretch.cursor.tolist()
        self.cursor[STATE] = state
        self.environment.used += written
        self.acting.used += chosen
        return record.part(0, written), self.ends[:epochs], self.ended[:epochs]


def visit_limits(given: Int64s | None, never: Int64s) -> Int64s:
    """Return a table of visit limits, or the one that is never reached."""
    if given is None:
        return never
    table = np.asarray(given)
    if table.shape != never.shape or table.dtype.kind not in "iu":
        raise PolicyError(
            f"limits of visits have shape {table.shape} and dtype {table.dtype}; they must be integers of shape"
            f" {never.shape}"
        )
    return np.array(table, dtype=np.int64, order="C")


def prepare_policy(plan: Plan, S: int, A: int) -> tuple[Int64s, Floats]:
    """Return the actions ``[H, S]`` and the cumulated probabilities ``[S, A]`` of a plan; one of them is empty."""
    policy = np.asarray(plan.policy)
    if policy.dtype == np.int64 and policy.shape == (S,):
        # A copy, for the kernel takes no read-only policies.
        return policy.reshape(1, S).copy(), NO_CHANCES
    if policy.dtype.kind == "f" and policy.shape == (S, A):
        if not policy.min() >= 0.0 or not np.abs(policy.sum(axis=1) - 1.0).max() <= 1e-9:
            raise PolicyError("the probabilities of a policy must not be negative and must sum to 1 in every state")
        return np.empty((0, S), dtype=np.int64), np.cumsum(policy, axis=1)
    if policy.dtype.kind not in "iu" or policy.shape[-1:] != (S,) or policy.ndim > 2 or not len(policy):
        raise PolicyError(
            f"the policy has shape {policy.shape} and dtype {policy.dtype}; it must hold integers of shape ({S},) or"
            f" (H, {S}), or floats of shape ({S}, {A})"
        )
    return np.array(policy, dtype=np.int64, ndmin=2, order="C"), NO_CHANCES


@kernel
def follow(
    indptr: Int64s,
    successors: Int32s,
    cumulative: Floats,
    costs: Floats,
    initial_state: int,
    policy: Int64s,
    chances: Floats,
    stop_after: Int64s,
    stop_before: Int64s,
    visits: Int64s,
    cursor: Int64s,
    episodes: int,
    room: int,
    luck: Floats,
    choices: Floats,
    states: Int64s,
    actions: Int64s,
    paid: Floats,
    next_states: Int64s,
) -> int:
    """Follow a plan until a condition holds, `room` steps are done or a block is used up; return the steps written."""
    S, A = costs.shape
    state = cursor[STATE]
    step = cursor[STEP]
    next_luck = cursor[LUCK]
    next_choice = cursor[CHANCE]
    ended = 0
    written = 0
    while ended == 0 and written < room and next_luck < len(luck):
        if len(chances) > 0:
            if next_choice == len(choices):
                break
            action = draw_action(chances, state, choices[next_choice])
            next_choice += 1
        else:
            action = policy[min(step, len(policy) - 1), state]
        row = state * A + action
        if action < 0 or action >= A or indptr[row] == indptr[row + 1]:
            ended = UNAVAILABLE
            break
        if step > 0 and visits[state, action] >= stop_before[state, action]:
            ended = BEFORE_VISITS
            break
        successor = draw_successor(indptr, successors, cumulative, row, luck[next_luck])
        next_luck += 1
        states[written] = state
        actions[written] = action
        paid[written] = costs[state, action]
        next_states[written] = successor
        written += 1
        step += 1
        visits[state, action] += 1
        if visits[state, action] >= stop_after[state, action]:
            ended += AFTER_VISITS
        if successor == S:
            cursor[PLAN_GOALS] -= 1
            if cursor[PLAN_GOALS] <= 0:
                ended += GOALS
            episodes -= 1
            if episodes == 0:
                ended += EPISODES
            state = initial_state
        else:
            state = successor
        if step >= cursor[PLAN_STEPS]:
            ended += STEPS
    cursor[STATE] = state
    cursor[STEP] = step
    cursor[LUCK] = next_luck
    cursor[CHANCE] = next_choice
    cursor[ENDED] = ended
    return written


@exercise
def exercise_rollout() -> None:
    """Follow a short plan."""
    world = Rollout(SSP.from_rows([0, 2], [0, 1], [0.5, 0.5], [[1.0]]), 0, 1)
    world.begin(Plan(np.zeros(1, dtype=np.int64)))
    world.advance(2, 10)
