"""Certified optimal values and a proper optimal policy.

Bellman's equation
    V*(s) = min_a { c(s, a) + Σ_s' p(s' | s, a) V*(s') },  V*(goal) = 0.

Method
    First, the model is reduced (`reduction.py`): dead ends get infinity, zero-cost loops become single states,
    self-loops are divided out, and states are sorted by their distance to the goal. Policy iteration with
    subtraction-free elimination solves problems of up to 128 states. Larger problems are solved by sweeps, corrections
    and direct solvers (`sweeps.py`). Both methods can start from an earlier solution. If the result of the sweeps
    cannot be proved, policy iteration is tried in problems of up to 1,000 states.

Stopping rule
    A small residual proves nothing about the error. So every solution has lower and upper bounds (`certificate.py`):
    lower <= V* <= V_policy <= upper with upper - lower <= tolerance * upper at every state, rounding included.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from goalward.arrays import Floats, Int64s
from goalward.errors import PolicyError, PrecisionError, SettingError, UnreachableGoalError
from goalward.formatting import number
from goalward.planning import bellman
from goalward.planning.certificate import Bounds, policy_values, prove
from goalward.planning.policy_iteration import policy_equation, policy_iteration
from goalward.planning.reduction import Reduction
from goalward.planning.state_order import DEAD
from goalward.planning.sweeps import run_sweeps
from goalward.progress import Phase, phase
from goalward.signals import interruptible
from goalward.ssp.graph import sure_states
from goalward.ssp.model import SSP, check_model
from goalward.table import Column, Columns, Table

if TYPE_CHECKING:
    from goalward.planning.goal_first import GoalFirstSolution

DENSE_STATES = 128  # up to here policy iteration is faster than sweeps
MOST_ROWS = 12  # rows of the table that a notebook shows
ELIMINATED_STATES = 1000  # up to here, elimination takes less than a second and has an error below 1e-6


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal values with proved bounds.

    Attributes
    ----------
    values
        V*(s) to the requested precision, with infinity only at dead ends.
    policy
        An action for each state; -1 at dead ends. The policy is proper, and optimal within the bounds.
    lower, upper
        Proved: lower <= V* <= V_policy <= upper.
    method
        ``"policy iteration"``, ``"sweeps"``, or ``"graph"`` if no arithmetic was needed. In the solution of a
        `PrecisionError`, ``", unproved"`` is appended.
    iterations
        The number of policy evaluations, or of rounds of sweeps.
    width
        The largest (upper - lower) / upper over all states with a positive finite value.
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

    @classmethod
    def to_start_from(cls, values: Floats, policy: Int64s) -> Solution:
        """Return a solution with these `values` and this `policy`, from which `solve` can start."""
        return cls(values, policy, values, values, "given", 0, np.inf, None)  # type: ignore[arg-type]

    def chain(self) -> SSP:
        """Return the Markov chain of the policy in the model: an SSP with one action."""
        from goalward.planning.evaluate import markov_chain

        return markov_chain(self.ssp, self.policy)

    def save(self, path: str | Path) -> None:
        """Write the values, the bounds and the policy to a ``.csv`` file at `path`."""
        from goalward.interchange.solutions import write_solution

        write_solution(Path(path), self.ssp, self)

    def _repr_html_(self) -> str:
        """Return an HTML table of the first states, for notebooks."""
        ssp = self.ssp
        columns: Columns = ["state", Column("value", write=lambda value: number(value, 6)), "action"]
        pairs = zip(self.values[:MOST_ROWS].tolist(), self.policy[:MOST_ROWS].tolist(), strict=True)
        rows = [
            {"state": ssp.state_name(state), "value": value, "action": ssp.action_name(action)}
            for state, (value, action) in enumerate(pairs)
        ]
        notes = [f"{ssp.states - MOST_ROWS:,} more states"] if ssp.states > MOST_ROWS else []
        return Table(rows, columns, title=f"Solution, proved to a relative {self.width:.1e}", notes=notes).html()

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
    """Return the optimal values of a model, with proved bounds, and an optimal policy.

    Parameters
    ----------
    ssp
        The model.
    tolerance
        The relative precision to prove: upper - lower <= tolerance * upper at every state with a finite value.
    start
        A solution of a similar model (with the same numbers of states and actions), used as the starting point.
    goal_first
        First maximise the probability of reaching the goal (``solution.goal_probability``). Then minimise the expected
        cost up to the goal or a state that cannot reach the goal. `start` is ignored. The module
        `goalward.planning.goal_first` has the exact definition.

    Raises
    ------
    UnreachableGoalError
        If no policy reaches the goal almost surely from the initial state. `goal_first` only needs a path to the goal.
    PrecisionError
        If double precision cannot prove the tolerance. The attribute `solution` of the error has the best bounds.

    Examples
    --------
    >>> import goalward as gw
    >>> solution = gw.solve(gw.worlds.grid_world())
    >>> print(f"{solution.values[0]:.4f}")
    6.0365
    """
    check_model(ssp)
    if not 0.0 < tolerance < 1.0:
        raise SettingError(f"tolerance is {tolerance!r}; it must be a number between 0 and 1, both excluded")
    if start is not None and len(start.policy) != ssp.states:
        raise PolicyError(f"start has {len(start.policy)} states; pass a solution with {ssp.states} states")
    if goal_first:
        from goalward.planning.goal_first import solve_goal_first

        return solve_goal_first(ssp, tolerance)
    solution = solve_all(ssp, tolerance, start)
    if solution.policy[ssp.initial_state] < 0:
        dead = np.count_nonzero(solution.policy < 0)
        raise UnreachableGoalError(
            f"no policy reaches the goal almost surely from the initial state {ssp.state_name(ssp.initial_state)}"
            f" ({dead} of {ssp.states} states are dead ends; goalward.structure or goalward show lists the dead ends)."
            " Choose another start, add an action that gives up at a price with ssp.with_give_up (--give-up-cost), or"
            " maximise the probability of the goal with goal_first=True (--goal-first)"
        )
    return proved(solution, tolerance, "the values")


def proved(solution: Solution, tolerance: float, what: str) -> Solution:
    """Return `solution`, or raise PrecisionError if the width of its bounds exceeds the tolerance."""
    if not solution.width <= tolerance:
        raise PrecisionError(
            f"double precision cannot prove {what} to a relative tolerance of {tolerance:g}: the best bounds are"
            f" {solution.width:.1e} apart. {remedy(solution.width)}. This error's attribute solution has"
            " the unproved values of a policy that reaches the goal",
            solution,
        )
    return solution


def remedy(width: float) -> str:
    """Return the advice in the message of a PrecisionError, given the `width` of the best bounds."""
    return "Raise the tolerance" if width < 0.5 else "No tolerance would help"


@interruptible()
def solve_all(ssp: SSP, tolerance: float = 1e-6, start: Solution | None = None) -> Solution:
    """Solve a model without raising errors: the tolerance may be missed, and the initial state may be a dead end."""
    with phase(f"solving a model of {ssp.states:,} states", 100, "%", "rounds") as progress:
        return solve_reduced(ssp, tolerance, start, progress)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve_reduced(ssp: SSP, tolerance: float, start: Solution | None, progress: Phase) -> Solution:
    """Remove dead ends and zero-cost loops from a model, and solve the reduced problem."""
    reduction = Reduction.of(ssp, DENSE_STATES)
    extended, policy = reduction.extended(), np.empty(reduction.states, dtype=np.int64)
    if reduction.states == 0:
        bounds, method, iterations = Bounds(extended, extended, 0.0), "graph", 0
    elif reduction.states <= DENSE_STATES:
        method = "policy iteration"
        bounds, iterations = iterate_policies(ssp, reduction, extended, policy, tolerance, start)
    else:
        method = "sweeps"
        known = None if start is None else start.values
        bounds, iterations = run_sweeps(reduction, extended, policy, tolerance, known, progress)
        if not bounds.width <= tolerance and start is None and reduction.states <= ELIMINATED_STATES:
            # Loops that cost little compared with the values slow down sweeps, but not elimination.
            bounds, iterations = iterate_policies(ssp, reduction, extended, policy, tolerance, None)
    if not bounds.width <= tolerance:
        if start is not None:  # it may have been a bad starting point
            return solve_all(ssp, tolerance)
        method += ", unproved"
        if not is_proper(ssp, reduction.expand_policy(ssp, policy)):
            bellman.initial_policy(reduction.problem, 0, reduction.states, np.zeros_like(extended), policy)
        exact = reduction.states <= ELIMINATED_STATES
        played = policy_values(reduction, policy, reduction.problem.cost[policy], tolerance, exact=exact)
        if played is not None:
            extended[:DEAD] = np.clip(played, bounds.lower[:DEAD], bounds.upper[:DEAD])
        np.nan_to_num(extended[:DEAD], copy=False, nan=np.finfo(np.float64).max)
    return Solution(
        reduction.expand(extended),
        reduction.expand_policy(ssp, policy),
        reduction.expand(bounds.lower),
        reduction.expand(bounds.upper),
        method,
        iterations,
        bounds.width,
        ssp,
    )


def is_proper(ssp: SSP, policy: Int64s) -> bool:
    """Return whether a policy reaches the goal almost surely from every state in which it plays an action."""
    distance, _, _ = sure_states(ssp, np.arange(ssp.actions) == policy[:, None])
    return bool((distance[policy >= 0] >= 0).all())


def iterate_policies(
    ssp: SSP, reduction: Reduction, extended: Floats, policy: Int64s, tolerance: float, start: Solution | None
) -> tuple[Bounds, int]:
    """Solve a reduced problem by policy iteration, starting from the policy of `start` if this policy is proper."""
    problem, equation, before = reduction.problem, policy_equation(reduction.states), np.empty(reduction.states)
    bellman.initial_policy(problem, 0, reduction.states, extended, policy)
    proper = policy.copy()
    iterate = policy_iteration
    if reduction.states > DENSE_STATES:  # from Python, so that Ctrl-C is answered between two evaluations
        iterate = getattr(iterate, "py_func", iterate)
    iterations = 0
    if start is not None:
        bellman.adopt_policy(problem, ssp.actions, start.policy, policy)
        iterations = iterate(problem, equation, extended, before, policy, proper)
    if not iterations:
        iterations = iterate(problem, equation, extended, before, policy, proper)
    return prove(reduction, extended, policy, tolerance, exact=True), iterations
