"""Episodes of a policy in a known model, drawn at random and counted.

The luck of a seed is that of `goalward.learn`: step t takes the t-th number of the environment's stream, and an action
that the policy leaves to chance takes the next number of the acting stream. So simulating the optimal policy gives the
costs of a run of the agent that plays it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from goalward.acting.next_state import draw_action, draw_successor, dynamics
from goalward.arrays import Bools, Floats, Int32s, Int64s
from goalward.errors import PolicyError
from goalward.jit import exercise, kernel
from goalward.planning.evaluate import markov_chain, policy_weights
from goalward.planning.solve import Solution
from goalward.seeds import generator, streams
from goalward.settings import checked_integer
from goalward.ssp.graph import sure_states
from goalward.ssp.model import SSP, check_model

__all__ = ["Simulation", "simulate"]

BLOCK = 1 << 16
# Places in the cursor, the integers that the kernel reads and writes.
STATE, EPISODE, STEP, LUCK, CHANCE = range(5)


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happened in each episode.

    Attributes
    ----------
    costs, steps
        What each episode cost and how many steps it took.
    reached
        Whether it reached the goal; an episode that did not was cut off.
    """

    costs: Floats
    steps: Int64s
    reached: Bools

    @property
    def mean_cost(self) -> float:
        """The mean cost of an episode."""
        return float(self.costs.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean cost; infinite for one episode."""
        if len(self.costs) == 1:
            return np.inf
        return float(self.costs.std(ddof=1) / np.sqrt(len(self.costs)))

    def __repr__(self) -> str:
        cut = np.count_nonzero(~self.reached)
        return (
            f"Simulation(episodes={len(self.costs)}, mean_cost={self.mean_cost:.6g} ± {self.standard_error:.2g},"
            f" mean_steps={self.steps.mean():.6g}" + (f", cut_off={cut})" if cut else ")")
        )


def simulate(
    ssp: SSP, policy: Solution | ArrayLike, episodes: int, seed: int = 0, *, max_steps: int | None = None
) -> Simulation:
    """Play a policy.

    Parameters
    ----------
    ssp
        The model.
    policy
        A solution, an action per state ``[S]``, or probabilities of actions ``[S, A]``.
    episodes
        How many episodes to play, each from the initial state.
    seed
        Of the luck.
    max_steps
        Cut an episode off after this many steps. Needed if the policy may never reach the goal.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> gw.simulate(world, gw.solve(world), 1000)
    Simulation(episodes=1000, mean_cost=6.086 ± 0.049, mean_steps=6.086)
    """
    check_model(ssp)
    checked_integer("episodes", episodes, 1)
    if max_steps is not None:
        checked_integer("max_steps", max_steps, 1)
    given = policy.policy if isinstance(policy, Solution) else policy
    weights = policy_weights(ssp, given)
    check_end(markov_chain(ssp, given), max_steps)
    pure = (weights > 0.0).sum(axis=1).max(initial=0) <= 1
    chances = np.empty((0, 0)) if pure else np.cumsum(weights, axis=1)
    actions = np.where(weights.any(axis=1), weights.argmax(axis=1), -1)
    luck = streams(seed)
    environment, acting = generator(luck.environment), generator(luck.acting)
    blocks = np.empty(BLOCK), np.empty(BLOCK)
    world = dynamics(ssp)
    costs, steps = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
    reached = np.zeros(episodes, dtype=np.bool_)
    cursor = np.array([ssp.initial_state, 0, 0, BLOCK, BLOCK])
    while cursor[EPISODE] < episodes:
        if cursor[LUCK] == BLOCK:
            environment.random(out=blocks[0])
            cursor[LUCK] = 0
        if not pure and cursor[CHANCE] == BLOCK:
            acting.random(out=blocks[1])
            cursor[CHANCE] = 0
        limit = np.iinfo(np.int64).max if max_steps is None else max_steps
        play(*world, actions, chances, *blocks, limit, cursor, costs, steps, reached)
    return Simulation(costs, steps, reached)


def check_end(chain: SSP, max_steps: int | None) -> None:
    """Refuse a policy that may play for ever."""
    distance, _, _ = sure_states(chain, chain.available)
    if distance[chain.initial_state] < 0 and max_steps is None:
        raise PolicyError(
            f"the policy does not reach the goal surely from the start, state {chain.state_name(chain.initial_state)};"
            " pass max_steps to cut episodes off"
        )


@kernel
def play(
    indptr: Int64s,
    successors: Int32s,
    cumulative: Floats,
    prices: Floats,
    initial_state: int,
    actions: Int64s,
    chances: Floats,
    luck: Floats,
    choices: Floats,
    limit: int,
    cursor: Int64s,
    costs: Floats,
    steps: Int64s,
    reached: Bools,
) -> None:
    """Play until the episodes are over or a block of uniform numbers is used up."""
    state, episode, step = cursor[STATE], cursor[EPISODE], cursor[STEP]
    used, chosen = cursor[LUCK], cursor[CHANCE]
    goal, A = prices.shape
    mixed = len(chances) > 0
    while episode < len(costs) and used < len(luck) and not (mixed and chosen == len(choices)):
        action = actions[state]
        ended = action < 0
        if not ended:
            if mixed:
                action = draw_action(chances, state, choices[chosen])
                chosen += 1
            costs[episode] += prices[state, action]
            state = draw_successor(indptr, successors, cumulative, state * A + action, luck[used])
            used += 1
            step += 1
            reached[episode] = state == goal
            ended = state == goal or step == limit
        if ended:
            steps[episode] = step
            episode += 1
            step = 0
            state = initial_state
    cursor[STATE], cursor[EPISODE], cursor[STEP] = state, episode, step
    cursor[LUCK], cursor[CHANCE] = used, chosen


@exercise
def exercise_simulation() -> None:
    """Play one episode of each kind of policy."""
    ssp = SSP.from_rows([0, 1, 2], [1, 1], [1.0, 1.0], [[1.0, 1.0]])
    simulate(ssp, np.array([0]), 1)
    simulate(ssp, np.array([[0.5, 0.5]]), 1)
