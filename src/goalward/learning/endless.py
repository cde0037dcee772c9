"""Runs that might never end, refused before the first step.

An episode ends at the goal. From a dead end no policy reaches it surely, so a learner that gets there may pay for ever.
In a loop that costs nothing a learner may stay because nothing tells it to leave. `learn` refuses both where they can
be reached from the start, unless

* the agent may give up (``give_up_cost``, see `goalward.model.give_up`), which leaves no dead ends;
* the run has a limit (``max_steps``), and says that it was truncated;
* the loop is free, and the agent surely leaves such loops (`Learner.leaves_free_loops`).
"""

from __future__ import annotations

import numpy as np

from goalward.agents.base import Learner
from goalward.arrays import Bools, Int64s
from goalward.errors import EndlessRunError, UnreachableGoalError
from goalward.model.ssp import SSP
from goalward.model.structure import can_reach_goal, reached_from, state_graph, sure_states, zero_cost_components

__all__ = ["check_end"]


def check_end(ssp: SSP, agent: Learner, limited: bool) -> None:
    """Raise EndlessRunError if a run might never end, UnreachableGoalError if none can end well."""
    distance, _, _ = sure_states(ssp, ssp.available)
    dead = distance < 0
    if dead[ssp.initial_state]:
        raise hopeless(ssp)
    if limited:
        return
    if dead.any():
        check_dead_ends(ssp, dead)
    if not agent.leaves_free_loops:
        check_free_loops(ssp, agent.name)


def check_dead_ends(ssp: SSP, dead: Bools) -> None:
    reached = np.flatnonzero(dead & reached_from(state_graph(ssp), ssp.initial_state))
    if len(reached):
        raise EndlessRunError(
            f"the run might never end: from the start one can get to {named(ssp, reached)}, from which no policy"
            " reaches the goal surely; pass give_up_cost=..., so that the agent may give up and start again at that"
            " cost, or max_steps=..., which ends the run"
        )


def check_free_loops(ssp: SSP, agent: str) -> None:
    component, count, _ = zero_cost_components(ssp, ssp.available)
    if not count:
        return
    inside = np.flatnonzero((component >= 0) & reached_from(state_graph(ssp), ssp.initial_state))
    if len(inside):
        loop = np.flatnonzero(component == component[inside[0]])
        raise EndlessRunError(
            f"the run might never end: one can stay in {named(ssp, loop)} for ever at no cost, and {agent} may do so;"
            " take an agent that plans with costs above zero, such as psrl with perturb_costs=True or uc-ssp, or pass"
            " max_steps=..., which ends the run"
        )


def hopeless(ssp: SSP) -> UnreachableGoalError:
    """Return the error for a start from which no policy reaches the goal surely."""
    start = ssp.state_name(ssp.initial_state)
    if can_reach_goal(ssp)[ssp.initial_state]:
        return UnreachableGoalError(
            f"no policy reaches the goal surely from the start, state {start}; pass give_up_cost=..., so that the agent"
            " may give up and start again at that cost"
        )
    return UnreachableGoalError(
        f"no path leads from the start, state {start}, to the goal; see goalward.structure(ssp), or choose another"
        " start with ssp.with_initial_state"
    )


def named(ssp: SSP, states: Int64s) -> str:
    """Return some states in words."""
    names = ", ".join(ssp.state_name(int(state)) for state in states[:3])
    more = f" and {len(states) - 3:,} more" if len(states) > 3 else ""
    return f"state{'s' * (len(states) > 1)} {names}{more}"
