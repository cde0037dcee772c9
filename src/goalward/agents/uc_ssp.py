"""UC-SSP: optimism in L1 balls, in two phases, with a horizon for every attempt.

Reference
    Tarbouriech, Garcelon, Valko, Pirotta, Lazaric: No-Regret Exploration in Goal-Oriented Reinforcement Learning
    (ICML 2020), Algorithms 1 and 2; for zero costs the variant of its appendix, UC-SSP-L_eta.

Pseudo-code
     1  t <- 1, G <- 0
     2  for episodes k = 1, ..., K:
     3      s <- s_init, j <- 0
     4      while s is not the goal:
     5          t_0 <- t; if j > 0: G <- G + 1
     6          (pi, H) <- EVI-SSP(k, j, t_0, G)
     7          play pi until the goal is reached or H steps are done
     8          add the visits of this attempt to the counts
     9          if s is not the goal: j <- j + 1

    EVI-SSP
    10      if j = 0: eps <- c_min / (2 t_0), gamma <- 1 / sqrt(k), plan with the costs          (phase 1)
    11      else:     eps <- 1 / (2 t_0), gamma <- 1 / sqrt(G), plan with all costs 1            (phase 2)
    12      beta(s, a) <- sqrt(8 S log(2 A N⁺(s, a) / delta) / N⁺(s, a))
    13      v <- extended value iteration over the balls |p~ - p^|_1 <= beta, from 0, until a sweep changes at most eps
    14      pi <- greedy at v; Q~ <- its minimising transitions between non-goal states
    15      H <- min { n > 1 : |Q~^(n-1)|_inf <= gamma }

How it maps
    `plan` is lines 5, 6 and 10 to 15, `observe` line 8, line 7 is ``stop_after_goals=1, stop_after_steps=H``. With a
    cost of zero somewhere, phase 1 plans with c + k^(-1/3) and eps = c_max / t_0.

The operators
    Line 13 needs min { sum_y p~(y) v(y) : |p~ - p^|_1 <= beta }. V(goal) = 0 is the smallest value, so the minimum
    gives beta/2 more to the goal and takes as much from the successors of largest value (Jaksch, Ortner and Auer 2010,
    section 3.1.2, for costs instead of rewards). A row never visited has beta >= 2 and goes to the goal at once. From
    v_0 = 0 all iterates lie below the fixed point. For line 15, |Q~^(n-1)|_inf is the largest entry of Q~^(n-1) applied
    to the vector of ones: one product for each n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalward._jit import exercise, kernel
from goalward.agents.base import Agent, Plan, Steps, Task, register
from goalward.agents.optimist import Optimist, at_least_one
from goalward.arrays import Floats, Int32s, Int64s
from goalward.settings import checked_integer

__all__ = ["UCSSP", "Ball", "cost_offset", "extended_value_iteration", "minimise", "pivot_horizon", "radius"]


@register("uc-ssp")
@dataclass(eq=False, kw_only=True)
class UCSSP(Optimist, Agent):
    """Optimism in L1 balls; it is told the costs and needs neither B*, T* nor K."""

    max_horizon: int = 10_000_000
    """Where the search for the pivot horizon of line 15 ends; how often it did is in the notes of the run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_integer("max_horizon", self.max_horizon, 2)

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Line 1."""
        super().begin(task, rng)
        self.t = 1
        self.k = 0
        self.G = 0
        self.at_goal = True
        self._c_min, self._c_max = float(self._costs.min()), float(self._costs[task.available].max())
        self._unit_costs = np.where(task.available, 1.0, np.inf)
        self.largest_horizon = 0
        self.capped_horizons = 0
        self._values, self._following, self._weight = (np.zeros(task.states) for _ in range(3))
        self._ball = Ball(task.costs.size, self.counts.width)

    def plan(self, state: int) -> Plan:
        """Lines 5 and 6: phase 1 at the start of an episode, phase 2 where the last attempt has failed."""
        self.epoch += 1
        if self.at_goal:
            self.k += 1
            gamma = 1.0 / np.sqrt(self.k)
            if self._c_min > 0.0:
                policy, H = self.evi(self._costs, self._c_min / (2.0 * self.t), gamma)
            else:
                policy, H = self.evi(self._costs + cost_offset(self.k), self._c_max / self.t, gamma)
        else:
            self.G += 1
            policy, H = self.evi(self._unit_costs, 1.0 / (2.0 * self.t), 1.0 / np.sqrt(self.G))
        self.at_goal = False
        values = self._unit * self._values
        return Plan(policy, stop_after_goals=1, stop_after_steps=H, stop_when_cut=True, values=values)

    def evi(self, costs: Floats, eps: float, gamma: float) -> tuple[Int64s, int]:
        """Lines 12 to 15."""
        ball = self.ball()
        beta = self.scale * radius(self.counts.visits, self.delta)
        rows = (beta, ball.kept, ball.near, ball.mass)
        work = (self._values, self._following, self.Q)
        sweeps, change = extended_value_iteration(*rows, costs, eps, self.max_sweeps, *work)
        self.check_settled(change, eps, sweeps)
        policy = self.greedy(self.Q)
        H = pivot_horizon(policy, costs.shape[1], *rows, gamma, self.max_horizon, self._following, self._weight)
        self.largest_horizon = max(self.largest_horizon, H)
        self.capped_horizons += int(self.max_horizon == H)
        return policy, H

    def ball(self) -> Ball:
        """Return the empirical rows, from which extended value iteration starts."""
        counts = self.counts
        if self._ball.width < counts.width:
            self._ball = Ball(counts.visits.size, counts.width)
        empirical(counts.goal, *counts.rows, self._ball.kept, self._ball.near, self._ball.mass)
        return self._ball

    def observe(self, steps: Steps) -> None:
        """Line 8."""
        super().observe(steps)
        self.t += len(steps.states)
        self.at_goal = bool(steps.next_states[-1] == self.task.goal)

    def restart(self) -> None:
        """Line 3: an episode starts in phase 1."""
        self.at_goal = True

    def notes(self) -> dict[str, int | float | str]:
        """Return what was cut off, beside the scale and the rule for ties."""
        horizons = {"largest_horizon": self.largest_horizon, "capped_horizons": self.capped_horizons}
        return super().notes() | {"phase_2_attempts": self.G} | horizons


def radius(visits: Int64s, delta: float) -> Floats:
    """Return beta = sqrt(8 S log(2 A N⁺ / delta) / N⁺) for each row of ``visits[s, a]``; checked against the paper.

    A pair that was never played may lead anywhere: at N⁺ = 1 beta is above 2, the diameter of the simplex. Where a
    small `scale` takes it below, the empirical row of such a pair is empty, which also stands for the goal.
    """
    S, A = visits.shape
    N = at_least_one(visits)
    return np.asarray(np.sqrt(8.0 * S * np.log(2.0 * A * N / delta) / N))


def cost_offset(k: int) -> float:
    """Return eta_k = k^(-1/3), added to all costs in phase 1 of episode k where some cost is zero."""
    return float(k ** (-1.0 / 3.0))


class Ball:
    """Room for extended value iteration on so many rows: the empirical rows without the goal, largest value first."""

    def __init__(self, rows: int, width: int):
        self.kept = np.zeros(rows, dtype=np.int64)
        self.near = np.zeros((rows, width), dtype=np.int32)
        self.mass = np.zeros((rows, width))
        self.width = width


@kernel
def empirical(
    goal: int, size: Int64s, successors: Int32s, counts: Int64s, visits: Int64s,
    kept: Int64s, near: Int32s, mass: Floats,
) -> None:  # fmt: skip
    """Write the empirical rows without the goal."""
    for row in range(size.size):
        end = 0
        for entry in range(size[row]):
            if successors[row, entry] != goal and counts[row, entry] > 0:
                near[row, end] = successors[row, entry]
                mass[row, end] = counts[row, entry] / visits[row]
                end += 1
        kept[row] = end


@kernel
def sort_row(row: int, end: int, values: Floats, near: Int32s, mass: Floats) -> None:
    """Put the entries of a row in falling order of value; quick on a row that is nearly so, as between sweeps."""
    for entry in range(1, end):
        state = near[row, entry]
        share = mass[row, entry]
        place = entry
        while place > 0 and values[near[row, place - 1]] < values[state]:
            near[row, place] = near[row, place - 1]
            mass[row, place] = mass[row, place - 1]
            place -= 1
        near[row, place] = state
        mass[row, place] = share


@kernel
def minimise(row: int, radius: float, kept: Int64s, near: Int32s, mass: Floats, values: Floats) -> float:
    """Return the least Σ p̃ V over the ball of a row; the row is left in falling order of value."""
    if radius >= 2.0:
        return 0.0
    end = kept[row]
    sort_row(row, end, values, near, mass)
    excess = 0.5 * radius
    total = 0.0
    for entry in range(end):
        share = mass[row, entry]
        if excess >= share:
            excess -= share
        else:
            total += (share - excess) * values[near[row, entry]]
            excess = 0.0
    return total


@kernel
def extended_value_iteration(
    radius: Floats, kept: Int64s, near: Int32s, mass: Floats, costs: Floats, accuracy: float, max_sweeps: int,
    values: Floats, following: Floats, Q: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Iterate from zero; return the sweeps and the last change.

    `values` is left as v_m, `following` as v_{m+1} and ``Q[s, a]`` as the extended operator at v_m; the rows are left
    in the order of v_m, which is what `pivot_horizon` needs.
    """
    S, A = costs.shape
    for state in range(S):
        following[state] = 0.0
    change = np.inf
    sweeps = 0
    while change > accuracy and sweeps < max_sweeps:
        sweeps += 1
        for state in range(S):
            values[state] = following[state]
        change = 0.0
        for state in range(S):
            best = np.inf
            for action in range(A):
                Q[state, action] = costs[state, action]
                if costs[state, action] < np.inf:
                    row = state * A + action
                    Q[state, action] += minimise(row, radius[row], kept, near, mass, values)
                best = min(best, Q[state, action])
            following[state] = best
            change = max(change, abs(best - values[state]))
    return sweeps, change


@kernel
def pivot_horizon(
    policy: Int64s, actions: int, radius: Floats, kept: Int64s, near: Int32s, mass: Floats,
    target: float, limit: int, weight: Floats, spare: Floats,
) -> int:  # fmt: skip
    """Return the first n > 1 with |Q̃^{n-1}|_inf <= target, or `limit`; call it after `extended_value_iteration`.

    The rows of the policy are replaced by the minimising ones.
    """
    S = policy.size
    for state in range(S):
        weight[state] = 1.0
        row = state * actions + policy[state]
        excess = 0.5 * radius[row] if radius[row] < 2.0 else np.inf
        for entry in range(kept[row]):
            taken = min(excess, mass[row, entry])
            mass[row, entry] -= taken
            excess -= taken
    horizon = 1
    largest = np.inf
    while largest > target and horizon < limit:
        horizon += 1
        largest = 0.0
        for state in range(S):
            row = state * actions + policy[state]
            total = 0.0
            for entry in range(kept[row]):
                total += mass[row, entry] * weight[near[row, entry]]
            spare[state] = total
            largest = max(largest, total)
        for state in range(S):
            weight[state] = spare[state]
    return horizon


@exercise
def exercise_uc_ssp() -> None:
    """Plan once, on one pair seen three times."""
    radius, ball = np.array([0.5]), Ball(1, 2)
    successors, counts = np.array([[0, 1]], dtype=np.int32), np.array([[1, 2]])
    empirical(1, np.array([2]), successors, counts, np.array([3]), ball.kept, ball.near, ball.mass)
    rows = (radius, ball.kept, ball.near, ball.mass)
    extended_value_iteration(*rows, np.ones((1, 1)), 0.1, 100, np.zeros(1), np.zeros(1), np.ones((1, 1)))
    pivot_horizon(np.zeros(1, dtype=np.int64), 1, *rows, 0.1, 100, np.zeros(1), np.zeros(1))
