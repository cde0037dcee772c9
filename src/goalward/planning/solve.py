"""Certified optimal values and a proper optimal policy.

Bellman's equation
    V*(s) = min_a { c(s, a) + Σ_s' p(s' | s, a) V*(s') },  V*(goal) = 0.

Method
    The model is reduced (`reduction.py`): dead ends get infinity, zero-cost loops become single states, self-loops are
    divided out, states are put in order of their distance to the goal. Problems of up to 128 states are solved by
    policy iteration with subtraction-free elimination. Larger ones by rounds of a correction that is constant on groups
    of equal distance to the goal (it carries at once what sweeps carry one state at a time; where rounds stall, a
    Krylov solve under the policy takes its place), up to twelve Gauss-Seidel sweeps over the rows of the policy, and
    one over all rows. Both methods start from an earlier solution if given. What sweeps cannot prove, because loops
    cost next to nothing beside the values, goes to policy iteration, which comes to the values from above.

Stopping rule
    A sweep's residual proves nothing about the error. The answer ends with two-sided bounds (`certificate.py`):
    lower <= V* <= V_policy <= upper with upper - lower <= tolerance * upper at every state, rounding included.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from goalward._jit import exercise
from goalward.arrays import Floats, Int64s
from goalward.errors import PolicyError, PrecisionError, SettingError, UnreachableGoalError
from goalward.html_tables import facts_html, table_html
from goalward.model.ssp import SSP
from goalward.model.structure import sure_states
from goalward.number_format import number
from goalward.planning import bellman
from goalward.planning.certificate import Bounds, Certifier, trivial_bounds
from goalward.planning.chain import POLICY_SWEEPS, PolicyChain
from goalward.planning.parts import sweep_parts
from goalward.planning.problem import Problem, adopt_policy, hurry, initial_policy
from goalward.planning.reduction import DEAD, Reduction

if TYPE_CHECKING:
    from goalward.planning.goal_first import GoalFirstSolution

__all__ = ["DENSE_STATES", "Solution", "proved", "solve", "solve_all"]

DENSE_STATES = 128
MOST_ROWS = 12  # of the table that a notebook shows
ELIMINATED_STATES = 1000  # for so many, elimination takes less than a second, and its own error is below 1e-6
MOST_POLICIES = 50
DIRECT_AFTER = 3  # rounds
MOST_DIRECT_WORK = 1e9  # about a second
PART_CHANGE = 0.4  # of a sweep over a component, as a share of the tolerance
PART_ROUNDS = 40
MOST_HARM = 2  # corrections after which the change doubled; where levels are no good groups, they undo what sweeps did
PATIENCE = 300  # rounds without a new smallest change after which double precision is taken to be exhausted


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal values with proof.

    Attributes
    ----------
    values
        V*(s) to the promised precision; infinity at dead ends, and the largest double where V* is beyond that.
    policy
        An action per state, proper and optimal within the bounds; -1 at dead ends.
    lower, upper
        Proved: lower <= V* <= V_policy <= upper.
    method
        ``"policy iteration"``, ``"sweeps"``, or ``"graph"`` where no arithmetic was needed.
    iterations
        Policy evaluations, or rounds of sweeps.
    width
        The largest (upper - lower) / upper of any state with a positive finite value.
    ssp
        The model.
    """

    values: Floats
    policy: Int64s
    lower: Floats
    upper: Floats
    method: str
    iterations: int
    width: float
    ssp: SSP

    def chain(self) -> SSP:
        """Return the Markov chain that the policy makes of the model: an SSP with one action."""
        from goalward.planning.evaluate import markov_chain

        return markov_chain(self.ssp, self.policy)

    def save(self, path: str | Path) -> None:
        """Write values, bounds and policy to ``.csv`` or ``.json``, or with the model to ``.umb``."""
        from goalward.planning.solution_files import write_solution

        write_solution(Path(path), self.ssp, self)

    @classmethod
    def load(cls, path: str | Path, ssp: SSP | None = None) -> Solution:
        """Read the solution of a model from a file; a ``.umb`` file brings its model with it.

        The bounds are those of the file. Pass the solution to `solve` as its start to have them proved.
        """
        from goalward.planning.solution_files import read_numbers

        model = SSP.load(path) if ssp is None else ssp
        values, policy, lower, upper = read_numbers(Path(path), model)
        inside = (upper > 0.0) & (upper < np.inf)
        width = float((1.0 - lower[inside] / upper[inside]).max(initial=0.0))
        return cls(values, policy, lower, upper, f"read from {Path(path).name}", 0, width, model)

    def _repr_html_(self) -> str:
        """Return the solution as a notebook shows it: the value of the start, and the first states."""
        ssp, start = self.ssp, self.ssp.initial_state
        facts = [
            ("cost from the start", f"{number(self.values[start], 6)}, proved to a relative {self.width:.1e}"),
            ("states", f"{ssp.states:,}"),
            ("method", f"{self.method}, {self.iterations} iterations"),
        ]
        rows = [
            (ssp.state_name(state), number(self.values[state], 6), ssp.action_name(int(self.policy[state])))
            for state in range(min(ssp.states, MOST_ROWS))
        ]
        rest = ssp.states - len(rows)
        more = f"{rest:,} more states" if rest else ""
        return facts_html("Solution", facts, table_html(("state", "value", "action"), rows, right="1"), more)

    def __repr__(self) -> str:
        finite = np.isfinite(self.values)
        largest = self.values[finite].max(initial=0.0)
        dead = f", dead_ends={np.count_nonzero(~finite)}" if not finite.all() else ""
        return (
            f"Solution(states={len(self.values)}, largest_value={largest:.6g}, width={self.width:.1e}{dead}, "
            f"method={self.method!r}, iterations={self.iterations})"
        )


@overload
def solve(
    ssp: SSP, tolerance: float = 1e-6, start: Solution | None = None, *, goal_first: Literal[True]
) -> GoalFirstSolution: ...
@overload
def solve(
    ssp: SSP, tolerance: float = 1e-6, start: Solution | None = None, *, goal_first: bool = False
) -> Solution: ...
def solve(ssp: SSP, tolerance: float = 1e-6, start: Solution | None = None, *, goal_first: bool = False) -> Solution:
    """Solve a model.

    Parameters
    ----------
    ssp
        The model.
    tolerance
        The promise: upper - lower <= tolerance * upper at every state of finite value.
    start
        The solution of a similar model with the same numbers of states and actions, to start from.
    goal_first
        Where the goal may be missed: find the largest probability of reaching it, ``solution.goal_probability``, and
        among the policies that have it the smallest expected cost until the goal is reached or cannot be reached any
        more. See `goalward.planning.goal_first` for the exact definition; `start` is not used.

    Raises
    ------
    UnreachableGoalError
        If no policy reaches the goal surely from the initial state; with `goal_first`, if no path leads there.
    PrecisionError
        If the promise cannot be proved in double precision; its `solution` holds the best bounds.

    Examples
    --------
    >>> import goalward as gw
    >>> solution = gw.solve(gw.worlds.grid_world())
    >>> print(f"{solution.values[0]:.4f}")
    6.0365
    """
    if not 0.0 < tolerance < 1.0:
        raise SettingError(f"tolerance is {tolerance!r}; it must lie between 0 and 1, both excluded")
    if start is not None and len(start.policy) != ssp.states:
        raise PolicyError(f"start is a solution of {len(start.policy)} states; the model has {ssp.states}")
    if goal_first:
        from goalward.planning.goal_first import solve_goal_first

        return solve_goal_first(ssp, tolerance)
    solution = solve_all(ssp, tolerance, start)
    if solution.policy[ssp.initial_state] < 0:
        dead = np.count_nonzero(solution.policy < 0)
        raise UnreachableGoalError(
            f"no policy reaches the goal surely from the initial state {ssp.state_name(ssp.initial_state)}"
            f" ({dead} of {ssp.states} states cannot): see goalward.structure(ssp), choose another start with"
            " ssp.with_initial_state, or pass goal_first=True to reach it with the largest probability"
        )
    return proved(solution, tolerance, "the values")


def proved(solution: Solution, tolerance: float, what: str) -> Solution:
    """Return a solution whose bounds are as close as promised."""
    if not solution.width <= tolerance:
        raise PrecisionError(
            f"the bounds of {what} are {solution.width:.1e} apart, relative to the value; {tolerance:g} was asked for,"
            " and double precision proves no more: raise tolerance, or use .solution of this error",
            solution,
        )
    return solution


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve_all(ssp: SSP, tolerance: float = 1e-6, start: Solution | None = None) -> Solution:
    """Solve a model wherever it starts, to the tolerance or as far as double precision goes."""
    reduction = Reduction.of(ssp, DENSE_STATES)
    extended = reduction.extended()
    policy = np.empty(reduction.states, dtype=np.int64)
    if reduction.states == 0:
        bounds, method, iterations = Bounds(extended, extended, 0.0), "graph", 0
    elif reduction.states <= DENSE_STATES:
        method = "policy iteration"
        initial_policy(reduction.problem, 0, reduction.states, extended[:DEAD], policy)
        bounds, iterations = iterate_policies(ssp, reduction, extended, policy, tolerance, start)
    else:
        method = "components"
        bounds, iterations = solve_parts(reduction, extended, policy, tolerance, start)
        if not bounds.width <= tolerance:
            method = "sweeps"
            bounds, iterations = run_sweeps(reduction, extended, policy, tolerance, start)
            if not bounds.width <= tolerance and start is None:
                bounds = rescue(ssp, reduction, extended, policy, tolerance, bounds)
    if not bounds.width <= tolerance:
        if start is not None:  # it may have been a bad place to start from
            return solve_all(ssp, tolerance)
        np.nan_to_num(extended[:DEAD], copy=False, nan=np.finfo(np.float64).max)
        if not is_proper(ssp, reduction.expand_policy(ssp, policy)):
            initial_policy(reduction.problem, 0, reduction.states, np.empty(reduction.states), policy)
    return Solution(
        extended.take(reduction.place),
        reduction.expand_policy(ssp, policy),
        bounds.lower.take(reduction.place),
        bounds.upper.take(reduction.place),
        method,
        iterations,
        bounds.width,
        ssp,
    )


def is_proper(ssp: SSP, policy: Int64s) -> bool:
    """Return whether a policy reaches the goal surely from every state in which it plays."""
    distance, _, _ = sure_states(ssp, np.arange(ssp.actions) == policy[:, None])
    return bool((distance[policy >= 0] >= 0).all())


def iterate_policies(
    ssp: SSP, reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Solution | None
) -> tuple[Bounds, int]:
    """Iterate policies with exact evaluation, from the policy of an earlier solution if that is still proper."""
    problem, chain = reduction.problem, PolicyChain(reduction, exact=True)
    certifier = Certifier(reduction, chain)
    values, before, proper = extended[:DEAD], np.empty(reduction.states), policy.copy()
    iterations = 0
    if start is not None:
        adopt_policy(problem, ssp.actions, start.policy, policy)
        iterations = bellman.policy_iteration(problem, chain.equation, values, before, policy, proper)
    if not iterations:
        iterations = bellman.policy_iteration(problem, chain.equation, values, before, policy, proper)
    bounds = certifier.by_ratio(extended, policy, greedy=False)
    for prove in (certifier.by_elimination, certifier.by_propagation):
        if not bounds.width <= tolerance:
            bounds = min(bounds, prove(extended, policy), key=attrgetter("width"))
    return bounds, iterations


def solve_parts(
    reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Solution | None
) -> tuple[Bounds, int]:
    """Solve one component after the other; without components, find a policy and values to start from."""
    if reduction.parts is None or start is not None:
        initial_policy(reduction.problem, 0, reduction.states, extended[:DEAD], policy)
        return trivial_bounds(extended), 0
    done, rounds = sweep_parts(
        reduction.problem, reduction.parts, extended[:DEAD], policy, PART_CHANGE * tolerance, PART_ROUNDS
    )
    if done < len(reduction.parts) - 1:
        return trivial_bounds(extended), rounds
    certifier = Certifier(reduction, PolicyChain(reduction, exact=False))
    return certifier.by_covering(extended, policy, tolerance), rounds


def run_sweeps(
    reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Solution | None
) -> tuple[Bounds, int]:
    """Run rounds of sweeps and group corrections until the bounds are close enough or nothing moves any more."""
    problem, chain = reduction.problem, PolicyChain(reduction, exact=False)
    certifier = Certifier(reduction, chain)
    values = extended[:DEAD]
    if start is not None:
        known = (reduction.place >= 0) & np.isfinite(start.values) & (start.values > 0.0)
        values[reduction.place[known]] = start.values[known]
        chain.optimal_sweep(values, policy)
    else:
        chain.choose(policy)
    free_rows = not problem.cost[: problem.first[-1]].min() > 0.0
    threshold = 2.0 * tolerance  # a change of a sweep; what it leaves is some ten times smaller
    window = 5 + int(reduction.distance.max()) // 40  # waves over the whole depth look like a stall for that long
    changes = [np.inf]
    smallest = certified = propagated = harm = 0
    direct = DirectSteps(chain, problem)
    while True:
        rounds = len(changes)
        corrected = solved = False
        if direct.pays(rounds):
            solved = direct.step(values, policy)
        elif rounds % window == 0 and changes[-1] > 0.1 * changes[-window]:
            chain.krylov_step(values)
        elif harm < MOST_HARM and rounds - smallest < PATIENCE // 4:
            chain.correct(values)
            corrected = True
        for sweeps in range(1, POLICY_SWEEPS + 1):
            change = chain.sweep(values)
            if solved or change <= max(0.02 * changes[-1], threshold):
                break
        settled = change <= threshold and rounds > certified + 1 and not solved  # the certificate looks at all rows
        if not settled:
            swept, change = change, chain.optimal_sweep(values, policy)
            direct.note(sweeps, swept, change)
        harm += corrected and change > 2.0 * changes[-1]
        smallest = rounds if change < changes[smallest] else smallest
        changes.append(change)
        exhausted = rounds - smallest > PATIENCE or threshold < 1e-15
        if change <= threshold or exhausted:
            bounds = certifier.by_ratio(extended, policy, greedy=True)
            if not bounds.width <= tolerance and free_rows:
                bounds = min(bounds, certifier.by_covering(extended, policy, tolerance), key=attrgetter("width"))
            hard = threshold < 1e-3 * tolerance and rounds >= 2 * propagated
            if not bounds.width <= tolerance and (hard or exhausted):
                bounds = min(bounds, certifier.by_propagation(extended, policy), key=attrgetter("width"))
                propagated = rounds  # it takes as long as many rounds
            if bounds.width <= tolerance or exhausted:
                return bounds, rounds
            certified = rounds
            chain.choose(policy)
            if not settled:
                threshold = 0.1 * min(threshold, change)


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
        if rounds == DIRECT_AFTER:
            self.work = self.chain.direct_work()
        return self.limited and not self.lost and self.work <= min(self.spent, MOST_DIRECT_WORK)

    def step(self, values: Floats, policy: Int64s) -> bool:
        """Solve for the values of the policy, or else of one that hurries to the goal; return whether one worked."""
        if self.chain.direct_step(values):
            return True
        hurry(self.problem, policy)
        self.chain.choose(policy)
        self.lost = not self.chain.direct_step(values)
        return not self.lost


def rescue(
    ssp: SSP, reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, bounds: Bounds
) -> Bounds:
    """Iterate policies where sweeps did not prove enough; what proves more is taken."""
    other, rows = extended.copy(), policy.copy()
    initial_policy(reduction.problem, 0, reduction.states, other[:DEAD], rows)
    if reduction.states <= ELIMINATED_STATES:
        found, _ = iterate_policies(ssp, reduction, other, rows, tolerance, None)
        better = found.width <= bounds.width  # unproved they may be, but they are those of a proper policy
    else:
        found = iterate_from_above(reduction, other, rows, tolerance)
        better = found.width < bounds.width
    if better:
        extended[:], policy[:], bounds = other, rows, found
    return bounds


def iterate_from_above(reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float) -> Bounds:
    """Iterate policies from a proper one, for models in which sweeps circle in loops of next to no cost.

    Low values climb by no more than the cost of such a loop in a round. Those of a proper policy lie above V*, and rows
    that improve on them make no loop: along one, the residuals would sum to its cost, which is positive.
    """
    problem, precision = reduction.problem, 0.1 * tolerance
    chain = PolicyChain(reduction, exact=False)
    certifier = Certifier(reduction, chain)
    costs = problem.cost[: problem.first[-1]]
    least = costs[costs > 0.0].min()
    extended[:DEAD] = np.inf
    rows = policy.copy()
    for _ in range(MOST_POLICIES):
        values = chain.accumulate(rows, problem.cost[rows], precision)
        if values is None or not (values < extended[:DEAD] * (1.0 - precision)).any():
            break
        for _ in range(2):  # to the last digits, four at a time: behind free rows a loop's cost may hide in any
            chain.krylov_step(values)
        extended[:DEAD], policy[:] = values, rows
        if not values.max() * bellman.UNIT < least:  # a step is less than the last digit: more work proves no more
            break
        bellman.improve(problem, values, rows)
    bounds = certifier.by_ratio(extended, policy, greedy=False)
    if not bounds.width <= tolerance:
        bounds = min(bounds, certifier.by_propagation(extended, policy), key=attrgetter("width"))
    return bounds


@exercise
def exercise_planning() -> None:
    """Run every kernel of planning once."""
    ssp = SSP.from_dense(
        [[[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]], [[1.0, 0.0], [1.0, 1.0]]
    )
    solution = solve_all(ssp, start=solve_all(ssp))
    reduction = Reduction.of(ssp, 0)
    extended = reduction.extended()
    extended[:DEAD] = 1.0
    run_sweeps(reduction, extended, np.zeros(2, dtype=np.int64), 0.5, solution)
    chain = PolicyChain(reduction, exact=True)
    chain.choose(np.zeros(2, dtype=np.int64))
    chain.krylov_step(np.ones(2))
    Certifier(reduction, chain).by_elimination(extended, np.zeros(2, dtype=np.int64))
