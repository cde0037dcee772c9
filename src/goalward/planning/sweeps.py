"""Rounds of sweeps for problems of many states, and when a correction, a Krylov step or a direct solve joins them.

A round is one correction of the values, up to twelve Gauss-Seidel sweeps over the rows of the policy, and one over all
rows. The correction is constant on groups of equal distance to the goal: it carries at once what sweeps carry one state
at a time. Where rounds stall, a Krylov solve under the policy takes its place. Where sweeps spend their time on the
values of one policy and its matrix does not fill, a sparse LU takes over: policy iteration. Problems of many components
are first swept component by component (`component_sweeps.py`).
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.planning.certificate import Bounds, Certifier, trivial_bounds
from goalward.planning.component_sweeps import Progress, sweep_parts
from goalward.planning.policy_chain import MOST_WORK, POLICY_SWEEPS, PolicyChain
from goalward.planning.reduced_problem import Problem, hurry, initial_policy
from goalward.planning.reduction import DEAD, Reduction
from goalward.progress import advance

__all__ = ["MOST_DIRECT_WORK", "SWEEPING", "run_sweeps", "solve_parts"]

DIRECT_AFTER = 3  # rounds
FEW_PASSES = 8  # what is not covered by then has long ways without costs, for which errors are better summed up
FREE_PRECISION = 0.1  # of the tolerance, from which on errors are summed up in problems with free rows
MOST_DIRECT_WORK = 1e9  # about a second
MOST_HARM = 2  # corrections after which the change doubled; where levels are no good groups, they undo what sweeps did
PART_CHANGE, FREE_CHANGE = 0.4, 0.1  # of a sweep over a component, as a share of the tolerance; with free rows
PART_ROUNDS = 40
SWEEPING = "sweeping"  # the phase in which `solve` runs rounds
PATIENCE = 300  # rounds without progress after which sweeps are given up
PROGRESS = 0.9  # the share of the smallest change so far below which a change counts as progress


def solve_parts(reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float) -> tuple[Bounds, int]:
    """Solve one component after the other; without components, find a policy and values to start from."""
    if reduction.parts is None:
        initial_policy(reduction.problem, 0, reduction.states, extended[:DEAD], policy)
        return trivial_bounds(extended), 0
    problem = reduction.problem
    change = (FREE_CHANGE if has_free_rows(problem) else PART_CHANGE) * tolerance
    found = Progress(0, 0, np.inf, 1)
    while found.part < len(reduction.parts) - 1:
        if found.rounds == PART_ROUNDS:
            return trivial_bounds(extended), found.longest
        found = sweep_parts(problem, reduction.parts, extended[:DEAD], policy, change, PART_ROUNDS, MOST_WORK, found)
    certifier = Certifier(reduction, PolicyChain(reduction, exact=False))
    return certifier.by_covering(extended, policy, tolerance), found.longest


def run_sweeps(
    reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Floats | None
) -> tuple[Bounds, int]:
    """Run rounds until the bounds are close enough or nothing moves any more; `start` has values of a similar model."""
    problem, chain = reduction.problem, PolicyChain(reduction, exact=False)
    certifier = Certifier(reduction, chain)
    values = extended[:DEAD]
    if start is not None:
        known = (reduction.place >= 0) & np.isfinite(start) & (start > 0.0)
        values[reduction.place[known]] = start[known]
        chain.optimal_sweep(values, policy)
    else:
        chain.choose(policy)
    free_rows = has_free_rows(problem)
    threshold = 2.0 * tolerance  # a change of a sweep; what it leaves is some ten times smaller
    window = 5 + int(reduction.levels.max()) // 40  # waves over the whole depth look like a stall for that long
    changes = [np.inf]
    smallest = certified = propagated = harm = 0
    shallow, by_value, uncovered = chain.shallow, False, False
    direct = DirectSteps(chain, problem)
    while True:
        rounds = len(changes)
        corrected = solved = False
        if direct.pays(rounds):
            solved = direct.step(values, policy)
        elif rounds % window == 0 and changes[-1] > 0.1 * changes[-window]:
            chain.krylov_step(values)
        elif harm < MOST_HARM and rounds - smallest < PATIENCE // 4:
            if by_value:
                chain.group_by_value(values)
            chain.correct(values)
            corrected = True
        enough = max(0.02 * changes[-1], threshold)
        sweeps, change = chain.sweep_until(values, enough, 1 if solved else POLICY_SWEEPS)
        by_value = by_value or (shallow and sweeps == POLICY_SWEEPS)
        settled = change <= threshold and rounds > certified + 1 and not solved  # the certificate looks at all rows
        if not settled:
            swept, change = change, chain.optimal_sweep(values, policy)
            direct.note(sweeps, swept, change)
        harm += corrected and change > 2.0 * changes[-1]
        smallest = rounds if change < PROGRESS * changes[smallest] else smallest
        changes.append(change)
        advance(SWEEPING, percent_done(changes[1], change, threshold), rounds)
        exhausted = rounds - smallest > PATIENCE or threshold < 1e-15
        if change <= threshold or exhausted:
            bounds = certifier.by_ratio(extended, policy, greedy=True)
            if not bounds.width <= tolerance and free_rows and not uncovered:
                covered = certifier.by_covering(extended, policy, tolerance, FEW_PASSES)
                bounds, uncovered = min(bounds, covered, key=attrgetter("width")), covered.width == 1.0
            hard = threshold < (FREE_PRECISION if free_rows else 1e-3) * tolerance and rounds >= 2 * propagated
            if not bounds.width <= tolerance and (hard or exhausted):
                bounds = min(bounds, certifier.by_propagation(extended, policy), key=attrgetter("width"))
                propagated = rounds  # it takes as long as many rounds
            if bounds.width <= tolerance or exhausted:
                return bounds, rounds
            certified = rounds
            chain.choose(policy)
            if not settled:
                threshold = min(threshold, change) * max(0.1, min(0.5, 0.5 * tolerance / bounds.width))


def has_free_rows(problem: Problem) -> bool:
    """Return whether some row costs nothing."""
    return not problem.cost[: problem.first[-1]].min() > 0.0


def percent_done(first: float, change: float, threshold: float) -> int:
    """Return how much of the way from the first change to the threshold is done, counted in digits.

    >>> percent_done(1.0, 1e-3, 1e-6), percent_done(1.0, 2.0, 1e-6), percent_done(1.0, 0.0, 1e-6)
    (50, 0, 100)
    """
    if not first > threshold or not change > threshold:
        return 100
    if threshold == 0.0 or first == np.inf or change == np.inf:
        return 0  # sums overflow, or nothing is close enough
    # Quotients of the changes may overflow.
    return max(0, int(100.0 * (np.log(first) - np.log(change)) / (np.log(first) - np.log(threshold))))


class DirectSteps:
    """Decides when a sparse LU takes the place of sweeps: where sweeps spend their time on the values of one policy.

    It may take as long as the sweeps before it have taken, by an estimate that knows how much a matrix fills. So it
    never more than doubles the time, and it is not tried where it would never end.
    """

    def __init__(self, chain: PolicyChain, problem: Problem):
        self.chain, self.problem = chain, problem
        self.rows = int(problem.start[problem.first[-1]])
        self.spent, self.work = 0.0, np.inf
        self.limited = self.lost = False

    def note(self, sweeps: int, swept: float, change: float) -> None:
        """Count the work of a round; its last sweep changed values by `swept`, that over all rows by `change`."""
        self.spent += sweeps * self.chain.entries + self.rows
        self.limited = change <= 2.0 * swept  # better rows are not what moves the values

    def pays(self, rounds: int) -> bool:
        """Return whether a direct step is due."""
        limit = min(self.spent, MOST_DIRECT_WORK)
        if rounds >= DIRECT_AFTER and self.work == np.inf:
            self.work = self.chain.direct_work(limit)
        return self.limited and not self.lost and self.work <= limit

    def step(self, values: Floats, policy: Int64s) -> bool:
        """Solve for the values of the policy, or else of one that hurries to the goal; return whether one worked."""
        if self.chain.direct_step(values):
            return True
        hurry(self.problem, policy)
        self.chain.choose(policy)
        self.lost = not self.chain.direct_step(values)
        return not self.lost
