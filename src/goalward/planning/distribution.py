"""The distribution of a policy's cost: variance, quantiles, the mean of the worst episodes, P(cost <= b).

Costs lie on a grid: cost = units * step, with integer units. Let y_k(s) be the expected visits to state s at a total
cost of k units. The expected arrivals in s' at this cost are

    x_k(s')  =  Σ_(s, a)  π(a | s) p(s' | s, a) y_{k - units(s, a)}(s).

At the goal, x_k is P(cost = k units). In other states, the sum leaves out zero-cost actions. A sparse LU computes y_k
from x_k by adding the visits that follow zero-cost actions.

If all costs are multiples of a common step, the result is exact up to rounding errors. Otherwise, the computation is
done twice, with costs rounded up and with costs rounded down. The true probabilities, quantiles and means of the worst
episodes lie between the two results. The bounds also cover the episodes that cost more than the last level.

The mean comes from `evaluate`. The variance solves the same equation with one-step variances in place of costs:

    Var(s) = Σ π(a | s) p(s' | s, a) (c(s, a) + V(s') - V(s))² + Σ π(a | s) p(s' | s, a) Var(s').

The mean of the worst episodes uses E[(X - v)+] = E[X] - ∫_0^v P(X > x) dx, so the tail beyond v is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np

from goalward.arrays import Floats, Int32s, Int64s
from goalward.errors import SettingError
from goalward.jit import kernel
from goalward.planning.evaluate import markov_chain, row_sums
from goalward.planning.solve import solve_all
from goalward.progress import phase
from goalward.settings import Positive, Share, check
from goalward.ssp.checks import checked_state
from goalward.ssp.model import SSP

LARGEST_DENOMINATOR = 10_000  # the nearest double to a fraction with at most this denominator counts as the fraction
EXACT_UNITS = 4096  # a common step is the default grid only if the largest cost has at most this many units
MOST_CELLS = 1 << 27  # limit on the cells of the ring buffer of levels, 1 GB
MOST_LEVELS = 10_000_000
LEVELS_AT_ONCE = 256


class Range(NamedTuple):
    """A lower and an upper bound on a number; if the number is known exactly, the bounds are equal."""

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class CostDistribution:
    """The distribution of the cost of an episode under a policy in a known model.

    Attributes
    ----------
    costs, lower, upper
        ``lower[i] <= P(cost <= costs[i]) <= upper[i]``. The grid `costs` is increasing.
    mean, variance
        The mean and the variance of the cost. Both are infinite if the goal is not reached almost surely.
    mean_error
        An upper bound on the error of `mean`.
    goal_probability
        The probability of reaching the goal; an episode that misses the goal has infinite cost.
    exact
        Whether all costs lie on the grid, so that `lower` and `upper` differ only by rounding.
    """

    costs: Floats
    lower: Floats
    upper: Floats
    mean: float
    mean_error: float
    variance: float
    goal_probability: float
    exact: bool

    def probability(self, cost: float) -> Range:
        """Return bounds on the probability that an episode costs at most `cost`."""
        index = int(np.searchsorted(self.costs, check("cost", cost, float), side="right")) - 1
        if index < 0:
            return Range(0.0, 0.0)
        inside = index < len(self.costs) - 1
        return Range(float(self.lower[index]), float(self.upper[index]) if inside else self.goal_probability)

    def quantile(self, level: float) -> Range:
        """Return bounds on the smallest cost b with P(cost <= b) >= `level`."""
        check("level", level, Share)
        bounds = []
        for bound in (self.upper, self.lower):
            index = int(np.searchsorted(bound, level))
            # A quantile beyond the last level is finite, but its only known lower bound is the last level.
            last = float(self.costs[-1]) if bound is self.upper and level <= self.goal_probability else np.inf
            bounds.append(float(self.costs[index]) if index < len(bound) else last)
        return Range(*bounds)

    def cvar(self, level: float) -> Range:
        """Return bounds on the conditional value at risk, min over v of v + E[(X - v)+] / (1 - `level`).

        This is the mean cost of the most expensive episodes that have a total probability of 1 - `level`.
        """
        if check("level", level, Share) == 1.0 or not np.isfinite(self.mean):
            return Range(self.quantile(level).lower if np.isfinite(self.mean) else np.inf, np.inf)
        steps = np.diff(self.costs, prepend=0.0)
        bounds = []
        for bound, mean in ((self.lower, self.mean - self.mean_error), (self.upper, self.mean + self.mean_error)):
            above = np.append(1.0, 1.0 - bound[:-1])  # P(X > x) for x in each interval before a level
            excess = np.maximum(mean - np.cumsum(above * steps), 0.0)
            bounds.append(float(np.min(self.costs + excess / (1.0 - level))))
        return Range(max(bounds[0], self.mean - self.mean_error), bounds[1])

    def __repr__(self) -> str:
        median, worst = self.quantile(0.5), self.quantile(0.95)
        return (
            f"CostDistribution(mean={self.mean:.6g}, std={np.sqrt(self.variance):.6g}, median={interval(median)},"
            f" quantile(0.95)={interval(worst)}, cvar(0.95)={interval(self.cvar(0.95))})"
        )


def interval(bounds: Range) -> str:
    """Return bounds as a string, with a single number if both bounds agree to six digits."""
    lower, upper = f"{bounds.lower:.6g}", f"{bounds.upper:.6g}"
    return lower if lower == upper else f"{lower}..{upper}"


class Moves(NamedTuple):
    """The state-action pairs that a policy plays, with their probabilities (`weight`), costs and successors."""

    state: Int64s
    weight: Floats
    cost: Floats
    start: Int64s
    target: Int32s
    share: Floats


def cost_distribution(
    ssp: SSP, weights: Floats, values: Floats, tolerance: float, goal_probability: Floats | None, start: int | None,
    grid: float | None, tail: float,
) -> CostDistribution:  # fmt: skip
    """Return the distribution of the cost of a policy; see `Evaluation.distribution`."""
    origin = ssp.initial_state if start is None else checked_state(start, ssp.states)
    check("tail", tail, Share)
    moves = moves_of(ssp, weights)
    mean = float(values[origin])
    reached = 1.0 if goal_probability is None else float(goal_probability[origin])
    if goal_probability is None and not np.isfinite(mean):
        raise SettingError(
            f"the policy does not reach the goal almost surely from state {ssp.state_name(origin)}; to give an infinite"
            " cost to episodes without the goal, use evaluate(ssp, policy, goal_first=True).distribution(...)"
        )
    step = common_step(moves.cost) if grid is None else float(check("grid", grid, Positive))
    # Costs may be multiples of the step up to rounding only.
    exact = step is not None and bool(np.allclose(moves.cost / step, np.round(moves.cost / step), rtol=1e-14, atol=0.0))
    if step is None:
        steps = solve_all(markov_chain(ssp, weights).with_costs(np.ones((ssp.states, 1)))).values[origin]
        step = mean / max(float(steps), 1.0) / 100.0
    roundings = (np.round,) if exact else (np.ceil, np.floor)
    curves = [
        arrivals(moves, rounding(moves.cost / step), origin, ssp.states, reached - tail) for rounding in roundings
    ]
    length = max(len(curve) for curve, _ in curves)
    (low, rounding), (high, _) = curves[0], curves[-1]
    low = np.append(low, np.full(length - len(low), low[-1]))
    # After the end of its curve, the upper bound includes all episodes that may still reach the goal.
    high = np.append(high, np.full(length - len(high), reached))
    surely = goal_probability is None or reached == 1.0
    return CostDistribution(
        np.asarray(step * np.arange(length), dtype=np.float64),
        np.maximum(low * (1.0 - rounding), 0.0),
        np.minimum(high * (1.0 + rounding), reached),
        mean if surely else np.inf,
        mean * (tolerance + np.finfo(np.float64).eps * length),  # the errors of `evaluate` and of the sum
        variance_at(ssp, weights, moves, values, origin) if surely else np.inf,
        reached,
        exact,
    )


def moves_of(ssp: SSP, weights: Floats) -> Moves:
    """Return the state-action pairs that a policy plays, with normalised probabilities of successors."""
    state, action = np.nonzero(weights)
    rows = state * ssp.actions + action
    lengths = np.diff(ssp.indptr)[rows]
    start = np.append(0, np.cumsum(lengths))
    entries = np.arange(start[-1]) + np.repeat(ssp.indptr[rows] - start[:-1], lengths)
    share = ssp.probabilities[entries] / np.repeat(row_sums(ssp)[rows], lengths)
    return Moves(state, weights[state, action], ssp.costs[state, action], start, ssp.successors[entries], share)


def common_step(costs: Floats) -> float | None:
    """Return the greatest common divisor of all costs, or None if no divisor exists or all divisors are too small."""
    distinct = np.unique(costs).tolist()
    fractions = [Fraction(cost).limit_denominator(LARGEST_DENOMINATOR) for cost in distinct]
    if [float(fraction) for fraction in fractions] != distinct:
        return None
    denominator = reduce(lcm, (fraction.denominator for fraction in fractions), 1)
    units = [int(fraction * denominator) for fraction in fractions]
    divisor = reduce(gcd, units, 0) or 1
    step = divisor / denominator
    return step if max(units, default=0) // divisor <= EXACT_UNITS else None


def arrivals(moves: Moves, units: Floats, origin: int, states: int, enough: float) -> tuple[Floats, float]:
    """Return P(cost <= k units) for k = 0, 1, 2, ..., and the relative rounding error of these probabilities.

    The array ends when the probability reaches `enough`, or after `MOST_LEVELS` levels.
    """
    whole = units.astype(np.int64)
    depth = int(whole.max(initial=0)) + 1
    if depth * (states + 1) > MOST_CELLS:
        raise SettingError(
            f"the largest cost is {depth - 1:,} grid steps, too many for {states:,} states; pass a larger grid="
        )
    ring = np.zeros((depth, states + 1))
    ring[0, origin] = 1.0
    free = free_moves(moves, whole, states)
    at_once = LEVELS_AT_ONCE if free is None else 1
    blocks: list[Floats] = []
    arrived, level = 0.0, 0
    with phase("computing the distribution of cost", MOST_LEVELS, "levels") as progress:
        while arrived < enough and level < MOST_LEVELS:
            if free is not None:
                mass = ring[level % depth]
                mass[:states] = np.maximum(free.solve(mass[:states]), 0.0)
            block = np.empty(at_once)
            move_mass(ring, level, moves.state, moves.weight, whole, moves.start, moves.target, moves.share, block)
            block = arrived + np.cumsum(block)
            blocks.append(block)
            arrived, level = float(block[-1]), level + at_once
            progress.advance(level)
    curve = np.concatenate(blocks) if blocks else np.zeros(1)
    curve = curve[: int(np.searchsorted(curve, enough)) + 1]
    terms = int(np.bincount(moves.target, minlength=1).max(initial=1)) + 3
    return curve, float(np.finfo(np.float64).eps * terms * len(curve))


def free_moves(moves: Moves, units: Int64s, states: int) -> Any:
    """Return the LU factors of I - P' for the matrix P of zero-cost moves between states; None if no move is free."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    lengths = np.diff(moves.start)
    free = np.repeat(units == 0, lengths) & (moves.target < states)
    if not free.any():
        return None
    source = np.repeat(moves.state, lengths)[free]
    mass = (np.repeat(moves.weight, lengths) * moves.share)[free]
    kernel = sparse.csc_array((mass, (moves.target[free], source)), shape=(states, states))
    return splu(sparse.csc_array(sparse.eye_array(states) - kernel))


@kernel
def move_mass(
    ring: Floats, level: int, state: Int64s, weight: Floats, units: Int64s, start: Int64s, target: Int32s,
    share: Floats, arrived: Floats,
) -> None:  # fmt: skip
    """Process the levels of cost from `level` on; `arrived` gets the probability of reaching the goal at each level."""
    depth, goal = ring.shape[0], ring.shape[1] - 1
    for i in range(arrived.size):
        now = (level + i) % depth
        for move in range(state.size):
            mass = ring[now, state[move]] * weight[move]
            if mass > 0.0:
                then = (level + i + units[move]) % depth
                for entry in range(start[move], start[move + 1]):
                    # The visits already include zero-cost moves between states.
                    if units[move] > 0 or target[entry] == goal:
                        ring[then, target[entry]] += mass * share[entry]
        arrived[i] = ring[now, goal]
        for column in range(goal + 1):
            ring[now, column] = 0.0


def variance_at(ssp: SSP, weights: Floats, moves: Moves, values: Floats, origin: int) -> float:
    """Return the variance of the cost of an episode that starts in `origin` and reaches the goal almost surely."""
    values = np.append(np.where(np.isfinite(values), values, 0.0), 0.0)
    lengths = np.diff(moves.start)
    change = np.repeat(moves.cost - values[moves.state], lengths) + values[moves.target]
    spread = np.repeat(moves.weight, lengths) * moves.share * change**2
    source = np.repeat(moves.state, lengths)
    one_step = np.bincount(source, weights=spread, minlength=ssp.states).reshape(-1, 1)
    return float(solve_all(markov_chain(ssp, weights).with_costs(one_step)).values[origin])
