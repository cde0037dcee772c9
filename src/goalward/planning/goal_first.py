"""Goal-first planning: maximise the probability of reaching the goal, then minimise the cost.

Definitions
    p*(s) is the largest probability of reaching the goal from s, over all policies. A state is lost if no path leads
    from this state to the goal (*never* in `goalward.structure`); p* is zero in exactly these states. An episode is
    decided once it reaches the goal or a lost state. A policy is goal-first if it reaches the goal from every state s
    with probability p*(s), and if every episode is decided almost surely. C*(s) is the smallest expected cost of a
    goal-first policy until the episode is decided. If p* is 1 in all states, C* is V*.

Method
    A state is sure if some policy reaches the goal from this state almost surely. A step wins if it leads to the goal
    or a sure state, and loses if it leads to a lost state. Two SSPs contain only the states that are neither sure nor
    lost. In the first SSP, the cost of a step is the probability of losing, and the optimal value is the loss 1 - p*.
    In the second SSP, the cost is the probability of winning, and a policy's value is its probability of the goal.

    C* is the value of a third SSP, where lost states count as the goal and only rows that keep p* are available. In
    sure states, these are the rows that lead only to sure states. In other states, a row is available if it loses at
    most 1e-9 p*(s). This limit is lowered if the losses add up to too much. The bounds on C* and p* include the losses.

What is proved
    The policy's probability of reaching the goal is at least `probability_lower`, and p* is at most
    `probability_upper`. The difference of these bounds is at most `tolerance`. The cost of the policy lies between
    `lower` and `upper`, as in `solve`. No policy that plays only available rows costs less than `lower`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import PrecisionError, UnreachableGoalError
from goalward.planning.bellman import UNIT
from goalward.planning.evaluate import Evaluation, step_mean
from goalward.planning.solve import Solution, proved, remedy, solve_all
from goalward.ssp.graph import can_reach_goal, sure_states
from goalward.ssp.model import SSP

TIES = (1e-9, 1e-12, 0.0)
"""A row is available if it loses at most this fraction of p*. If all losses add up to too much, the next is tried."""

MOST_POLICIES = 50
COST = "the cost of reaching the goal"  # the subject in messages of PrecisionError


@dataclass(frozen=True, eq=False, repr=False)
class GoalFirstSolution(Solution):
    """A policy that maximises the probability of the goal, then minimises the cost, with proved bounds.

    Attributes
    ----------
    values, lower, upper
        C*(s), the smallest expected cost up to the goal or a lost state, and its bounds. Infinity in lost states.
    policy
        A goal-first policy; -1 in lost states.
    goal_probability
        p*(s), the largest probability of reaching the goal, to the precision of the tolerance.
    probability_lower, probability_upper
        Proved bounds on p*(s) and on the policy's probability, at most the tolerance apart.
    """

    goal_probability: Floats
    probability_lower: Floats
    probability_upper: Floats

    def __repr__(self) -> str:
        start = self.ssp.initial_state
        return (
            f"GoalFirstSolution(states={len(self.values)}, goal_probability={self.goal_probability[start]:.6g} and "
            f"cost={self.values[start]:.6g} from the start, lost={np.count_nonzero(np.isinf(self.values))}, "
            f"width={self.width:.1e}, method={self.method!r})"
        )


def solve_goal_first(ssp: SSP, tolerance: float) -> GoalFirstSolution:
    """Return a policy that maximises the probability of reaching the goal, then minimises the cost."""
    alive = can_reach_goal(ssp)
    if not alive[ssp.initial_state]:
        raise UnreachableGoalError(
            f"no path leads from the initial state {ssp.state_name(ssp.initial_state)} to the goal; list the dead ends"
            " with goalward.structure(ssp), or choose another initial state with ssp.with_initial_state"
        )
    distance, _, usable = sure_states(ssp, ssp.available)
    sure, inside = distance >= 0, usable.reshape(ssp.costs.shape)
    maybe = alive & ~sure
    if not maybe.any():
        solution = with_probability(ssp, alive, sure, inside, np.where(alive, 1.0, 0.0), tolerance)
        proved(solution, tolerance, COST)
        return solution
    loss = solve_all(part(ssp, maybe, ssp.available, step_mean(ssp, ~alive, 0.0)), min(0.1 * tolerance, 0.1 * TIES[0]))
    largest = np.where(sure, 1.0, 0.0)
    largest[maybe] = np.minimum(np.nextafter(1.0 - (1.0 - rounding(ssp)) * loss.lower, 2.0), 1.0)
    p, policy = best_policy(ssp, sure, maybe, loss.policy)
    after = step_mean(ssp, p, 1.0)
    for tie in TIES:
        keep = maybe[:, np.newaxis] & (after >= p[:, np.newaxis] * (1.0 - tie))
        keep[np.flatnonzero(maybe), policy[maybe]] = True
        solution = with_probability(ssp, alive, sure, keep | inside, largest, tolerance)
        apart = float((solution.probability_upper - solution.probability_lower).max())
        if apart <= tolerance:
            proved(solution, tolerance, COST)
            return solution
    raise PrecisionError(
        f"double precision cannot prove the probability of reaching the goal to a tolerance of {tolerance:g}: the best"
        f" bounds are {apart:.1e} apart. {remedy(apart)}. This error's attribute solution has the best bounds",
        solution,
    )


def with_probability(
    ssp: SSP, alive: Bools, sure: Bools, rows: Bools, largest: Floats, tolerance: float
) -> GoalFirstSolution:
    """Return the cheapest policy that plays only `rows`, and bounds on its probability of reaching the goal."""
    solution = solve_all(part(ssp, alive, rows, ssp.costs), tolerance)
    policy = np.full(ssp.states, -1)
    policy[alive] = solution.policy
    own, own_lower = win_probability(ssp, sure, alive & ~sure, policy, tolerance)
    return GoalFirstSolution(
        spread(alive, solution.values), policy, spread(alive, solution.lower), spread(alive, solution.upper),
        solution.method, solution.iterations, solution.width, ssp,
        goal_probability=own, probability_lower=own_lower, probability_upper=np.maximum(largest, own),
    )  # fmt: skip


def best_policy(ssp: SSP, sure: Bools, maybe: Bools, first: Int64s) -> tuple[Floats, Int64s]:
    """Return the largest probability of reaching the goal, and a policy that attains this probability.

    `first` is the policy of smallest loss. The loss has only an absolute precision, which is too coarse for tiny
    probabilities. So policy iteration improves `first` by maximising the probability of reaching the goal. Improvements
    as small as rounding errors are ignored, because they may come from loops that decide nothing.
    """
    policy = np.full(ssp.states, -1)
    policy[maybe] = first
    p, _ = win_probability(ssp, sure, maybe, policy, TIES[0])
    for _ in range(MOST_POLICIES):
        after = step_mean(ssp, p, 1.0)
        better = maybe & (after.max(axis=1) > p * (1.0 + TIES[0]))
        if not better.any():
            break
        improved = np.where(better, after.argmax(axis=1), policy)
        improved_p, _ = win_probability(ssp, sure, maybe, improved, TIES[0])
        if (improved_p < p * (1.0 - TIES[0])).any():
            break
        p, policy = improved_p, improved
    return p, policy


def evaluate_goal_first(chain: SSP, tolerance: float) -> Evaluation:
    """Return the cost and the steps of a chain up to the goal or a lost state, and its probability of the goal."""
    alive = can_reach_goal(chain)
    distance, _, _ = sure_states(chain, chain.available)
    sure = distance >= 0
    decided = part(chain, alive, chain.available, chain.costs)
    timed = decided.with_costs(np.ones(decided.costs.shape))
    probability, _ = win_probability(chain, sure, alive & ~sure, np.where(alive, 0, -1), tolerance)
    return Evaluation(
        spread(alive, proved(solve_all(decided, tolerance), tolerance, "the policy's cost").values),
        spread(alive, proved(solve_all(timed, tolerance), tolerance, "the policy's number of steps").values),
        probability,
    )


def win_probability(ssp: SSP, sure: Bools, maybe: Bools, policy: Int64s, tolerance: float) -> tuple[Floats, Floats]:
    """Return a policy's probability of reaching the goal, with a lower bound; both are 0 if episodes may never end."""
    value, lower = np.where(sure, 1.0, 0.0), np.where(sure, 1.0, 0.0)
    if maybe.any():
        played = np.arange(ssp.actions) == policy[:, np.newaxis]
        solution = solve_all(part(ssp, maybe, played, step_mean(ssp, sure, 1.0)), 0.1 * tolerance)
        decided = np.isfinite(solution.values)
        value[maybe] = np.where(decided, np.minimum(solution.values, 1.0), 0.0)
        lower[maybe] = np.where(decided, np.minimum((1.0 - rounding(ssp)) * solution.lower, 1.0), 0.0)
    return value, lower


def part(ssp: SSP, states: Bools, rows: Bools, costs: Floats) -> SSP:
    """Return the model restricted to `states` and `rows`, with new `costs`; all other states become the goal."""
    count = int(np.count_nonzero(states))
    number = np.full(ssp.states + 1, count, dtype=np.int32)
    number[:-1][states] = np.arange(count)
    available = rows & ssp.available & states[:, np.newaxis]
    length = np.diff(ssp.indptr)
    entries = np.repeat(available.ravel(), length)
    lengths = np.where(available.ravel(), length, 0)[np.repeat(states, ssp.actions)]
    kernel = sparse.csr_array(
        (ssp.probabilities[entries], number[ssp.successors[entries]], np.append(0, np.cumsum(lengths))),
        shape=(count * ssp.actions, count + 1),
    )
    kernel.sum_duplicates()
    return SSP._trusted(
        kernel.indptr.astype(np.int64),
        kernel.indices.astype(np.int32),
        kernel.data,
        np.where(available, costs, np.inf)[states],
        int(number[ssp.initial_state]) % count,
    )


def rounding(ssp: SSP) -> float:
    """Return a bound on the relative rounding error of `step_mean` followed by a multiplication."""
    return (int(np.diff(ssp.indptr).max()) + 2) * UNIT


def spread(states: Bools, numbers: Floats) -> Floats:
    """Return an array over all states: `numbers` where the mask `states` is true, and infinity elsewhere."""
    full = np.full(len(states), np.inf)
    full[states] = numbers
    return full
