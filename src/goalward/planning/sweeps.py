"""Rounds of sweeps for problems of many states.

A round is up to twelve Gauss-Seidel sweeps over the rows of the policy, and one over all rows, which improves the
policy. Once twelve did not settle the values, rounds begin with a correction that is constant on groups of states of
similar value: it carries at once what sweeps carry one state at a time. Where sweeps spend their time on the values of
one policy and its matrix does not fill, a sparse LU takes over: policy iteration. Rounds end with a proof
(`certificate.py`).
"""

from __future__ import annotations

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.planning.bellman import hurry, initial_policy
from goalward.planning.certificate import Bounds, prove
from goalward.planning.policy_chain import MOST_DIRECT_WORK, POLICY_SWEEPS, PolicyChain
from goalward.planning.reduction import DEAD, Problem, Reduction
from goalward.progress import Phase, phase

__all__ = ["run_sweeps"]

DIRECT_AFTER = 12  # rounds before a sparse LU is considered: on dense samples, an early one takes 1.6 times as long
FREE_PRECISION = 0.1  # of the tolerance, from which on errors are summed up in problems with free rows
PRECISION = 1e-3  # the same in other problems
MOST_HARM = 2  # corrections after which the change doubled: where values are no good groups, they do harm
SETTLED = 0.02  # sweeps over the policy end at this share of the change of the last sweep over all rows
THRESHOLD = 0.5  # of the tolerance: the change of a sweep at which a proof is tried, which costs several sweeps
PATIENCE = 300  # rounds without progress after which sweeps are given up
PROGRESS = 0.9  # the share of the smallest change so far below which a change counts as progress


def run_sweeps(
    reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Floats | None = None
) -> tuple[Bounds, int]:
    """Solve a problem; return bounds as close as asked for, or the best if nothing moves any more, and the rounds.

    Values are written to `extended` and the policy to `policy`. `start` has values of a similar model.
    """
    with phase("sweeping", 100, "% of the digits", "rounds") as progress:
        return run_rounds(reduction, extended, policy, tolerance, start, progress)


def run_rounds(
    reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Floats | None, progress: Phase
) -> tuple[Bounds, int]:
    problem, chain = reduction.problem, PolicyChain(reduction, exact=False)
    values = extended[:DEAD]
    initial_policy(problem, values, policy)
    if start is not None:
        reduced = reduction.reduced[:-1]
        known = (reduced >= 0) & np.isfinite(start) & (start > 0.0)
        values[reduced[known]] = start[known]
        chain.optimal_sweep(values, policy)
    else:
        if reduction.acyclic:  # the first pass has found the values
            bounds = prove(chain, extended, policy, tolerance)
            if bounds.width <= tolerance:
                return bounds, 1
        chain.choose(policy)
    free_rows = reduction.has_free_rows
    threshold = THRESHOLD * tolerance
    changes = [np.inf]
    smallest = certified = propagated = harm = 0
    stalled = False  # whether a round's sweeps over the policy did not settle
    direct = DirectSteps(chain, problem)
    while True:
        rounds = len(changes)
        corrected = solved = False
        if direct.pays(rounds):
            solved = direct.step(values, policy)
        elif stalled and harm < MOST_HARM and rounds - smallest < PATIENCE // 4:
            chain.group_by_value(values)
            chain.correct(values)
            corrected = True
        enough = max(SETTLED * changes[-1], threshold)
        sweeps, change = chain.sweep_until(values, enough, 1 if solved else POLICY_SWEEPS)
        stalled = stalled or sweeps == POLICY_SWEEPS
        settled = change <= threshold and rounds > certified + 1 and not solved  # the certificate looks at all rows
        if not settled:
            swept, change = change, chain.optimal_sweep(values, policy)
            direct.note(sweeps, swept, change)
        harm += corrected and change > 2.0 * changes[-1]
        smallest = rounds if change < PROGRESS * changes[smallest] else smallest
        changes.append(change)
        progress.advance(percent_done(changes[1], change, threshold), rounds)
        exhausted = rounds - smallest > PATIENCE or threshold < 1e-15
        if change <= threshold or exhausted:
            precision = FREE_PRECISION if free_rows else PRECISION
            patient = exhausted or (threshold < precision * tolerance and rounds >= 2 * propagated)
            policy.fill(-1)
            bounds = prove(chain, extended, policy, tolerance, patient=patient)
            if bounds.width <= tolerance or exhausted:
                return bounds, rounds
            propagated = rounds if patient else propagated  # it takes as long as many rounds
            certified = rounds
            chain.choose(policy)
            if not settled:
                threshold = min(threshold, change) * max(0.1, min(0.5, 0.5 * tolerance / bounds.width))


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
