"""A known model as a world: drawing successors, and following plans in compiled code.

A row of the model stands for the distribution proportional to its entries. A uniform number u in [0, 1) selects the
first successor whose cumulative entry exceeds u times the sum of the row. Binary search finds this successor in a time
that is logarithmic in the length of the row.

The kernel `follow` follows a tabular policy until a stop condition holds (`goalward.acting.stop_conditions`) or a block
of uniform numbers is used up. Then Python passes the steps to the agent and draws the next block. Every step takes the
next number of the environment stream, and every random action takes the next number of the acting stream. The random
numbers of a run therefore depend neither on the block size nor on the agent's plans. Online policies have their own
kernels, which call `has_room` and `take_step`.

A `ModelWorld` can hide the costs from the agent, and can make the costs random with the model's costs as means. With
random costs, every step takes the next number of a third stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalward.acting.contract import Chunk, Plan, Policy, Stage, Step, Steps, Task, World, checked_range
from goalward.acting.stop_conditions import NEVER, Ended, TableStop, stop_after, stop_before
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import CostError, PolicyError, SettingError
from goalward.jit import kernel
from goalward.seeds import generator, run_seed, streams
from goalward.ssp.model import SSP

BLOCK = 8192
"""The number of uniform numbers drawn at once, and the largest number of steps passed to an agent at once."""

EPISODES = int(Ended.EPISODES)
UNAVAILABLE = -1
CONDITIONS = tuple(name for name in Plan._fields if name.startswith("stop_"))  # what ends a plan
# A tabular policy has actions [S] or cumulative probabilities [S, A]; the other array is empty.
NO_ACTIONS, NO_CHANCES = np.empty(0, dtype=np.int64), np.empty((0, 0))
NO_NOISE = np.empty(0)
# Indices into the cursor of a walk: the state, the episodes left, the steps done and allowed, how many numbers of
# `luck` and of `choices` are used, the epochs ended, and why the plan ended.
STATE, EPISODES_LEFT, DONE, ROOM, USED, CHOSEN, EPOCHS, ENDED = range(8)


class Dynamics(NamedTuple):
    """The true model in read-only arrays for kernels, with cumulative probabilities in each row."""

    indptr: Int64s
    successors: Int32s
    cumulative: Floats
    costs: Floats
    initial_state: int


def dynamics(ssp: SSP) -> Dynamics:
    """Return the model `ssp` with cumulative probabilities, which kernels need to draw successors."""
    cumulative = np.empty(len(ssp.probabilities))
    cumulate(ssp.indptr, ssp.probabilities, cumulative)
    cumulative.flags.writeable = False
    return Dynamics(ssp.indptr, ssp.successors, cumulative, ssp.costs, ssp.initial_state)


@kernel
def cumulate(indptr: Int64s, probabilities: Floats, cumulative: Floats) -> None:
    """Write the cumulative sums of the `probabilities` of each row to `cumulative`."""
    for row in range(len(indptr) - 1):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += probabilities[entry]
            cumulative[entry] = total


@kernel
def draw_successor(indptr: Int64s, successors: Int32s, cumulative: Floats, row: int, chance: float) -> int:
    """Return the successor that the uniform number `chance` in [0, 1) selects in a row that is not empty."""
    low = indptr[row]
    high = indptr[row + 1] - 1
    target = chance * cumulative[high]
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return int(successors[low])


@kernel
def draw_action(chances: Floats, state: int, chance: float) -> int:
    """Return the action that the uniform number `chance` in [0, 1) selects; ``chances[s, a]`` are cumulative."""
    last = int(chances.shape[1]) - 1
    target = chance * chances[state, last]
    for action in range(last):
        if chances[state, action] > target:
            return action
    return last


class Uniforms:
    """Uniform numbers of one stream, drawn in blocks. Passing a generator to a kernel would take 7.5 us a call."""

    def __init__(self, stream: int):
        self.rng = generator(stream)
        self.block = np.empty(BLOCK)
        self.blocks, self.used = 0, BLOCK

    def refill(self) -> None:
        """Draw the next block if the current block is used up."""
        if self.used == BLOCK:
            self.rng.random(out=self.block)
            self.blocks, self.used = self.blocks + 1, 0

    @property
    def drawn(self) -> int:
        """How many numbers of the stream have been used."""
        return BLOCK * (self.blocks - 1) + self.used

    def skip(self, numbers: int) -> None:
        """Skip `numbers` numbers at the start of the stream."""
        self.blocks, used = divmod(numbers, BLOCK)
        self.rng.bit_generator.advance(BLOCK * self.blocks)  # type: ignore[attr-defined]
        if used:
            self.refill()
            self.used = used

    def draw(self) -> float:
        """Return the next number of the stream."""
        self.refill()
        self.used += 1
        return float(self.block[self.used - 1])


class Walk(NamedTuple):
    """The arrays of one rollout call: random numbers, the columns for the new steps, and the `cursor`.

    `luck` has the uniform numbers for successors, and `choices` has the uniform numbers for random actions. If costs
    are random, `noise` has the uniform numbers for costs, and `noise_form` is the argument `form` of `draw_cost`.
    """

    luck: Floats
    noise: Floats
    noise_form: Floats
    choices: Floats
    states: Int64s
    actions: Int64s
    costs: Floats
    next_states: Int64s
    reached: Bools
    epoch_ends: Int64s
    epoch_flags: Int64s
    cursor: Int64s


@kernel
def has_room(cursor: Int64s) -> bool:
    """Return whether the plan has not ended and the block has room for another step."""
    return bool(cursor[ENDED] == 0 and cursor[DONE] < cursor[ROOM])


@kernel
def take_step(model: Dynamics, walk: Walk, action: int) -> int:
    """Play an available `action` in the current state, record the step and return the successor."""
    cursor = walk.cursor
    i = cursor[DONE]
    state = cursor[STATE]
    S, A = model.costs.shape
    walk.states[i] = state
    walk.actions[i] = action
    cost = model.costs[state, action]
    if len(walk.noise) > 0:
        cost = draw_cost(cost, action, walk.noise[cursor[USED]], walk.noise_form)
    walk.costs[i] = cost
    walk.next_states[i] = draw_successor(
        model.indptr, model.successors, model.cumulative, state * A + action, walk.luck[cursor[USED]]
    )
    # Read back as a 64-bit integer, like all states in other kernels, so that each kernel is compiled once.
    successor = walk.next_states[i]
    walk.reached[i] = successor == S
    cursor[DONE] = i + 1
    cursor[USED] += 1
    if successor == S:
        cursor[STATE] = model.initial_state
        cursor[EPISODES_LEFT] -= 1
        if cursor[EPISODES_LEFT] == 0:
            cursor[ENDED] += EPISODES
    else:
        cursor[STATE] = successor
    return int(successor)


@kernel
def draw_cost(cost: float, action: int, chance: float, form: Floats) -> float:
    """Return a random cost with the mean `cost`.

    `form` has three numbers: the least cost, the largest cost, and the action whose cost is not random. The result is
    either the least or the largest cost. If both are equal, the result is uniform between 0 and twice the mean.
    """
    if action == form[2]:
        return cost
    if form[0] == form[1]:
        return 2.0 * chance * cost
    return float(form[1] if chance * (form[1] - form[0]) < cost - form[0] else form[0])


@kernel
def end_epoch(walk: Walk, flags: int) -> None:
    """Record that the last step ended an epoch of an online policy; `flags` are the policy's reasons."""
    cursor = walk.cursor
    walk.epoch_ends[cursor[EPOCHS]] = cursor[DONE]
    walk.epoch_flags[cursor[EPOCHS]] = flags + cursor[ENDED]
    cursor[EPOCHS] += 1


class TabularPolicy(Policy[int]):
    """A policy for a table, whose `rollout` acts and learns in a known model; subclasses may compile `rollout`."""

    @property
    def has_kernel(self) -> bool:
        """Whether the stage may call the `rollout` of a subclass; if not, the stage calls `act` and `learn`."""
        return True

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        """Act and learn in `model` until the block has no room or a condition in `stop` holds."""
        S, A = model.costs.shape
        cursor = walk.cursor

        def draw() -> float:
            cursor[CHOSEN] += 1
            return float(walk.choices[cursor[CHOSEN] - 1])

        while has_room(cursor):
            state = int(cursor[STATE])
            action = self.act(state, draw)
            if not 0 <= action < A or model.costs[state, action] == np.inf:
                raise unavailable(state, action)
            cursor[ENDED] += stop.before(state, action)
            if cursor[ENDED]:
                break
            successor = take_step(model, walk, action)
            step = Step(state, action, float(walk.costs[cursor[DONE] - 1]), successor, successor == S)
            cursor[ENDED] += stop.after(step)
            flags = self.learn(step)
            if flags:
                end_epoch(walk, flags)


def unavailable(state: int, action: int) -> PolicyError:
    """Return the error for a policy that plays an unavailable `action` in `state`."""
    return PolicyError(f"the policy plays action {action}, which is not available in state {state}; see task.available")


class TablePolicy(TabularPolicy):
    """A policy in a checked table: actions ``[S]`` or probabilities ``[S, A]``."""

    def __init__(self, table: NDArray[Any], S: int, A: int):
        table = np.asarray(table)
        self.actions, self.chances = NO_ACTIONS, NO_CHANCES
        if table.dtype.kind == "f" and table.shape == (S, A):
            if not table.min() >= 0.0 or not np.abs(table.sum(axis=1) - 1.0).max() <= 1e-9:
                raise PolicyError("the probabilities of a policy must not be negative and must sum to 1 in every state")
            self.chances = np.cumsum(table, axis=1)
        elif table.dtype.kind in "iu" and table.shape == (S,):
            self.actions = np.array(table, dtype=np.int64)  # a copy: the kernel takes no read-only policies
        else:
            raise PolicyError(
                f"the policy has shape {table.shape} and dtype {table.dtype}; pass integers of shape ({S},) or"
                f" floats of shape ({S}, {A})"
            )

    def act(self, state: int, draw: Callable[[], float]) -> int:
        if len(self.actions):
            return self.actions.item(state)
        return int(draw_action(self.chances, state, draw()))

    def rollout(self, model: Dynamics, stop: TableStop, walk: Walk) -> None:
        follow(
            *model, self.actions, self.chances, stop.after_visits, stop.before_visits, stop.visits, stop.counters,
            walk.luck, walk.noise, walk.noise_form, walk.choices, walk.states, walk.actions, walk.costs,
            walk.next_states, walk.reached, walk.cursor,
        )  # fmt: skip


def policy_of(plan: Plan, S: int, A: int) -> Policy[int]:
    """Return the policy of `plan` as a `Policy` object."""
    if not isinstance(plan, Plan):
        raise PolicyError(f"plan() of the agent returned {plan!r:.60}; make it return a Plan, such as Plan(policy)")
    return plan.policy if isinstance(plan.policy, Policy) else TablePolicy(plan.policy, S, A)


@kernel
def follow(
    indptr: Int64s, successors: Int32s, cumulative: Floats, costs: Floats, initial_state: int,
    policy: Int64s, chances: Floats,
    after_visits: Int64s, before_visits: Int64s, visits: Int64s, counters: Int64s,
    luck: Floats, noise: Floats, noise_form: Floats, choices: Floats,
    states: Int64s, actions: Int64s, paid: Floats, next_states: Int64s, reached: Bools, cursor: Int64s,
) -> None:  # fmt: skip
    """Follow a tabular policy until a stop condition holds or there is no room for another step.

    The kernel does not call `take_step`, because passing tuples of arrays makes a step take 98 instead of 17 ns.
    """
    S, A = costs.shape
    state, episodes, i, used, chosen = cursor[STATE], cursor[EPISODES_LEFT], cursor[DONE], cursor[USED], cursor[CHOSEN]
    ended = 0
    while ended == 0 and i < cursor[ROOM]:
        if len(chances) > 0:
            action = draw_action(chances, state, choices[chosen])
            chosen += 1
        else:
            action = policy[state]
        states[i] = state
        actions[i] = action
        row = state * A + action
        if action < 0 or action >= A or indptr[row] == indptr[row + 1]:
            ended = UNAVAILABLE
            break
        ended = stop_before(before_visits, visits, counters, state, action)
        if ended > 0:
            break
        paid[i] = costs[state, action]
        if len(noise) > 0:
            paid[i] = draw_cost(paid[i], action, noise[used], noise_form)
        successor = draw_successor(indptr, successors, cumulative, row, luck[used])
        next_states[i] = successor
        reached[i] = successor == S
        used += 1
        i += 1
        ended = stop_after(after_visits, visits, counters, state, action, successor == S)
        if successor == S:
            episodes -= 1
            if episodes == 0:
                ended += EPISODES
            state = initial_state
        else:
            state = successor
    cursor[STATE], cursor[EPISODES_LEFT], cursor[DONE], cursor[USED], cursor[CHOSEN] = state, episodes, i, used, chosen
    cursor[ENDED] = ended


class ModelStage(Stage[Plan]):
    """A stage that follows plans in a known model and never truncates episodes."""

    def __init__(self, ssp: SSP, seed: int, noise_form: Floats | None = None):
        environment, _, acting = streams(seed)
        self.dynamics = dynamics(ssp)
        self.shape: tuple[int, int] = (ssp.states, ssp.actions)
        self.luck, self.choices = Uniforms(environment), Uniforms(acting)
        self.noise = None if noise_form is None else Uniforms(run_seed(seed, "costs"))
        noise = NO_NOISE if self.noise is None else self.noise.block
        form = NO_NOISE if noise_form is None else noise_form
        self.cursor = np.zeros(8, dtype=np.int64)
        states, actions, next_states, ends, flags = np.empty((5, BLOCK), dtype=np.int64)
        self.record = Steps(states, actions, np.empty(BLOCK), next_states, np.empty(BLOCK, dtype=np.bool_))
        self.walk = Walk(self.luck.block, noise, form, self.choices.block, *self.record, ends, flags, self.cursor)
        self.plan: Plan | None = None
        self.restart()

    @property
    def state(self) -> int:
        return int(self.cursor[STATE])

    def restart(self) -> None:
        self.cursor[STATE] = self.dynamics.initial_state

    def follow(self, plan: Plan, episodes: int, steps: int = NEVER) -> Chunk:
        self.cursor[DONE:] = 0
        if plan is None or plan is not self.plan:
            self.begin(plan)
        if self.noise is not None:
            self.noise.used = self.luck.used
            self.noise.refill()
        self.luck.refill()
        self.choices.refill()
        # A step takes one number for its successor and at most one for its action.
        room = min(steps, BLOCK - max(self.luck.used, self.choices.used))
        self.cursor[1:] = (episodes, 0, room, self.luck.used, self.choices.used, 0, 0)
        rollout = self.policy.rollout if self.policy.has_kernel else partial(TabularPolicy.rollout, self.policy)
        rollout(self.dynamics, self.stop, self.walk)
        if self.cursor[ENDED] == UNAVAILABLE:
            self.cursor[ENDED] = self.without_action()
        return self.unfinished()

    def unfinished(self) -> Chunk:
        _, _, done, _, self.luck.used, self.choices.used, epochs, ended = self.cursor.tolist()
        if ended:
            self.plan = None  # the agent may return the same plan again
        return Chunk(self.record.part(0, done), ended, self.walk.epoch_ends[:epochs], self.walk.epoch_flags[:epochs])

    def begin(self, plan: Plan) -> None:
        """Begin to follow a plan."""
        policy = policy_of(plan, *self.shape)
        if not isinstance(policy, TabularPolicy):
            raise PolicyError(f"the policy of the plan is {policy!r:.60}; use a table or a TabularPolicy")
        self.plan, self.policy, self.stop = plan, policy, TableStop(plan, self.shape)

    def without_action(self) -> int:
        """Return DEAD_END if no action is available in the current state; otherwise raise PolicyError."""
        indptr, A, state = self.dynamics.indptr, self.shape[1], self.state
        if indptr[state * A] == indptr[(state + 1) * A]:
            return int(Ended.DEAD_END)
        raise unavailable(state, self.record.actions.item(self.cursor[DONE]))

    def position(self) -> dict[str, Any]:
        where: dict[str, Any] = {"state": self.state, "noise": self.walk.noise_form, "plan": None}
        where |= {"luck": self.luck.drawn, "choices": self.choices.drawn}
        if self.plan is None:
            return where
        plan = {name: getattr(self.plan, name) for name in CONDITIONS}
        plan["policy"] = None if isinstance(self.plan.policy, Policy) else np.asarray(self.plan.policy)
        return where | {"plan": plan, "visits": self.stop.visits, "counters": self.stop.counters}

    def restore(self, position: dict[str, Any], policy: Policy[int]) -> Plan | None:
        """Restore `position` in a new stage; return the plan in progress, without its model and values."""
        if not 0 <= position["state"] < self.shape[0]:
            raise ValueError(f"the model has no state {position['state']}")
        if not np.array_equal(position["noise"], self.walk.noise_form):
            raise ValueError("the random costs had another distribution")
        self.cursor[STATE] = position["state"]
        self.luck.skip(position["luck"])
        self.choices.skip(position["choices"])
        if self.noise is not None:
            self.noise.skip(position["luck"])  # every step takes one number of both
        if position["plan"] is None:
            return None
        conditions = dict(position["plan"])
        table = conditions.pop("policy")
        self.begin(Plan(policy if table is None else table, **conditions))
        self.stop.visits[:], self.stop.counters[:] = position["visits"], position["counters"]
        return self.plan


class ModelWorld(World[Task, Plan]):
    """A known model as a world; the agent may have to learn its costs.

    Parameters
    ----------
    ssp
        The model.
    costs
        "known" if the agent knows the costs, otherwise "hidden". The cost of giving up is always known.
    noise
        None if each step pays the cost of the model. Otherwise, costs are hidden, and a step pays a random cost whose
        mean is the cost of the model. "bernoulli" pays the least or the largest cost of `cost_range` (by default, 0 or
        the largest cost of the model). "uniform" pays between 0 and twice the mean.
    cost_range
        The least and largest possible cost, which the agent knows. If None, the agent uses the range seen so far.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.ModelWorld(gw.worlds.random_mdp(), noise="bernoulli")
    >>> gw.learn(gw.agents.PSRL(), world, episodes=50).notes["caveat"]
    'costs are learnt within the range seen so far: no theorem covers this'
    """

    def __init__(
        self,
        ssp: SSP,
        costs: Literal["known", "hidden"] = "known",
        noise: Literal["bernoulli", "uniform"] | None = None,
        cost_range: tuple[float, float] | None = None,
    ):
        if costs not in ("known", "hidden") or noise not in (None, "bernoulli", "uniform"):
            raise SettingError(
                f"costs is {costs!r} and noise is {noise!r}; costs must be 'known' or 'hidden', and noise must"
                " be None, 'bernoulli' or 'uniform'"
            )
        self.ssp = self.model = self.graph = ssp
        self.known = Task.of(ssp, 1)
        self.noise_form: Floats | None = None
        if costs == "known" and noise is None:
            return
        learnt = np.isfinite(ssp.costs)
        learnt[:, ssp.actions if ssp.give_up is None else ssp.give_up :] = False
        least, largest = ssp.costs[learnt].min(), ssp.costs[learnt].max()
        if noise == "uniform":
            least, largest = 0.0, 2.0 * largest
        low, high = (0.0, largest) if cost_range is None else checked_range(cost_range)
        if least < low or largest > high:
            raise CostError(
                f"cost_range is {cost_range!r}, but costs lie in {least:g}..{largest:g}; pass a wider cost_range"
            )
        self.known = replace(self.known, costs=np.where(learnt, np.nan, ssp.costs), cost_range=cost_range)
        if noise is not None:
            ends = (low, high) if noise == "bernoulli" else (0.0, 0.0)
            self.noise_form = np.array([*ends, -1 if ssp.give_up is None else ssp.give_up], dtype=np.float64)

    def task(self, episodes: int, resumed: Task | None = None) -> Task:
        return replace(self.known, episodes=episodes)

    def stage(self, seed: int, *, limited: bool = False) -> ModelStage:
        return ModelStage(self.ssp, seed, self.noise_form)
