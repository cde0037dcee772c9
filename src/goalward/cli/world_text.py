"""A world and its solution as tables for a terminal and as plain data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from goalward.arrays import Int64s
from goalward.figures.terminal_grid import cost_range, step_costs
from goalward.formatting import number
from goalward.planning.goal_first import GoalFirstSolution
from goalward.planning.hardness import Hardness
from goalward.planning.solve import Solution
from goalward.ssp.graph import Structure
from goalward.ssp.layout import state_label
from goalward.ssp.model import SSP
from goalward.text_tables import Rows, columns

__all__ = [
    "hardness_facts",
    "model_facts",
    "solution_document",
    "solution_facts",
    "solution_table",
    "structure_facts",
]


def model_facts(ssp: SSP) -> Rows:
    """Return the size, the costs and the start of a model."""
    missing = np.count_nonzero(~ssp.available)
    price = None if ssp.give_up is None else cost_range(ssp.costs[:, ssp.give_up])
    giving_up = [("giving up", f"{price}, back to the start")] if price else []
    names = f": {', '.join(ssp.action_names)}" if ssp.action_names else ""
    return [
        ("states", f"{ssp.states:,} and the goal"),
        ("actions", f"{ssp.actions}{names}" + (f" ({missing:,} pairs not available)" if missing else "")),
        ("transitions", f"{len(ssp.successors):,}"),
        ("costs", cost_range(step_costs(ssp))),
        *giving_up,
        ("start", state_label(ssp, ssp.initial_state)),
        ("digest", ssp.digest[:16]),
    ]


def structure_facts(ssp: SSP, structure: Structure) -> Rows:
    """Return what the graph of a model says: dead ends, unreachable states, free loops."""
    loops = [f"{{{some_states(ssp, loop, 4)}}}" for loop in structure.zero_cost_loops[:4]]
    more = "; ..." if len(structure.zero_cost_loops) > 4 else ""
    return [
        ("goal reached surely", reached_text(ssp, structure)),
        ("dead ends", counted_states(ssp, structure.dead_ends)),
        *([("  goal maybe", counted_states(ssp, structure.maybe))] if len(structure.dead_ends) else []),
        *([("  goal never", counted_states(ssp, structure.never))] if len(structure.dead_ends) else []),
        ("not reachable", counted_states(ssp, structure.unreachable)),
        ("zero-cost loops", f"{len(structure.zero_cost_loops):,}: {'; '.join(loops)}{more}" if loops else "none"),
    ]


def reached_text(ssp: SSP, structure: Structure) -> str:
    if structure.reaches_goal:
        return "yes"
    lost = ssp.initial_state in structure.never
    return "NO: no path leads there from the start" if lost else "NO: from the start maybe, but no policy does surely"


def hardness_facts(hardness: Hardness) -> Rows:
    """Return the quantities that bounds on regret depend on, and which states they are about if not all."""
    share = f"{hardness.sure_states:,} of {hardness.states:,}"
    return [
        *(
            []
            if hardness.proper
            else [("states", share, "all this is about those from which the goal is reached surely")]
        ),
        ("B*", number(hardness.B_star, 5), "the largest optimal cost of a state"),
        ("T*", number(hardness.T_star, 5), "the largest expected number of steps of the optimal policy"),
        ("D", number(hardness.D, 5), "the SSP-diameter: the largest expected number of steps of the fastest policy"),
        ("c_min", number(hardness.c_min, 5), "the smallest cost"),
        ("gap", number(hardness.smallest_gap, 5), "the smallest loss of one wrong action"),
    ]


def counted_states(ssp: SSP, states: Int64s) -> str:
    return f"{len(states):,}: {some_states(ssp, states, 4)}" if len(states) else "none"


def some_states(ssp: SSP, states: Int64s, limit: int) -> str:
    named = "; ".join(state_label(ssp, int(state)) for state in states[:limit])
    return named + ("; ..." if len(states) > limit else "")


def solution_facts(ssp: SSP, solution: Solution, tolerance: float) -> Rows:
    """Return the value of the start, its proved bounds and how they were found."""
    start, digits = ssp.initial_state, digits_of(tolerance)
    value, lower, upper = (number(each[start], digits) for each in (solution.values, solution.lower, solution.upper))
    dead = np.count_nonzero(np.isinf(solution.values))
    first: Rows = [("cost from the start", f"{value}, proved to lie in {lower} .. {upper}")]
    if isinstance(solution, GoalFirstSolution):
        p, p_lower, p_upper = (
            number(each[start], digits)
            for each in (solution.goal_probability, solution.probability_lower, solution.probability_upper)
        )
        first = [
            ("goal reached", f"with probability {p}, proved to lie in {p_lower} .. {p_upper}"),
            ("cost until then", f"{value}, or until the goal is lost; proved to lie in {lower} .. {upper}"),
        ]
    return [
        *first,
        ("start", state_label(ssp, start)),
        ("method", f"{solution.method}, {solution.iterations} iterations; bounds within {solution.width:.1e}"),
        *(
            [("lost" if len(first) > 1 else "dead ends", f"{dead:,} of {ssp.states:,} states, at infinite cost")]
            if dead
            else []
        ),
    ]


def solution_table(ssp: SSP, solution: Solution, tolerance: float, limit: int) -> str:
    """Write the values, bounds and actions of the first states, one row each."""
    digits = digits_of(tolerance)
    labelled = ssp.state_names is not None or ssp.layout is not None
    label = ("name" if ssp.state_names else "place",) if labelled else ()
    chances = solution.goal_probability if isinstance(solution, GoalFirstSolution) else None
    extra = () if chances is None else ("goal",)
    rows: Rows = [("state", *label, "value", "lower", "upper", *extra, "action")]
    for state in range(min(limit, ssp.states)):
        numbers = (
            number(each[state], digits, zeros=True) for each in (solution.values, solution.lower, solution.upper)
        )
        name = (state_label(ssp, state),) if labelled else ()
        chance = () if chances is None else (number(chances[state], digits, zeros=True),)
        rows.append((str(state), *name, *numbers, *chance, ssp.action_name(int(solution.policy[state]))))
    return columns(rows, right=[0, *range(1 + labelled, len(rows[0]) - 1)])


def digits_of(tolerance: float) -> int:
    """Return how many digits to print: those that the tolerance guarantees and two more, from 5 to 17."""
    return min(max(2 - math.floor(math.log10(tolerance)), 5), 17)


def solution_document(ssp: SSP, solution: Solution) -> dict[str, Any]:
    """Return a solution as plain data."""
    chances: dict[str, Any] = {}
    if isinstance(solution, GoalFirstSolution):
        names = ("goal_probability", "probability_lower", "probability_upper")
        chances = {name: getattr(solution, name).tolist() for name in names}
    return chances | {
        "states": ssp.states,
        "actions": ssp.actions,
        "initial_state": ssp.initial_state,
        "state_names": ssp.state_names,
        "action_names": ssp.action_names,
        "digest": ssp.digest,
        "method": solution.method,
        "iterations": solution.iterations,
        "width": solution.width,
        "values": solution.values.tolist(),
        "lower": solution.lower.tolist(),
        "upper": solution.upper.tolist(),
        "policy": solution.policy.tolist(),
    }
