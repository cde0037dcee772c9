"""A recorded run of posterior sampling in the notation of the analysis.

The paper numbers epochs l = 1, 2, ... and steps t = 1, 2, ...; arrays here count both from 0. Epoch l starts at step
t_l with the sampled model theta_l and follows a policy that is optimal for it, with values V(. ; theta_l). n_t(s, a) is
the number of visits before step t. The state that follows step t, which may be the goal, is s'_t. The state of the next
action is s_{t+1}: it is s'_t, or the initial state after a goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from goalward.acting.contract import Steps
from goalward.agents.posterior.psrl import PSRL
from goalward.agents.posterior.psrl_variants import PosteriorMean
from goalward.arrays import Floats, Int64s
from goalward.beliefs.base import Belief
from goalward.errors import TheoryError
from goalward.learning.run import Run
from goalward.ssp.model import SSP

__all__ = ["RECORD", "Trace", "check_posterior", "trace_of", "visits_at_starts"]

RECORD = "record it with learn(..., keep_plans=True, keep_steps=True)"


@dataclass(frozen=True, eq=False)
class Trace:
    """The quantities of the lemmas in one run.

    Attributes
    ----------
    run
        The run itself.
    models
        theta_l, one for each epoch.
    values
        ``values[l, s]`` = V(s; theta_l), with a last column of zeros for the goal.
    epoch
        ``epoch[t]``, the epoch of each step.
    steps
        s_t, a_t, c(s_t, a_t) and s'_t: `states`, `actions`, `costs` and `next_states`.
    following
        s_{t+1}.
    visits
        ``visits[l, s, a]`` = n_{t_l}(s, a); one more row at the end has the visits of the whole run.
    planning_costs
        The costs that theta_l was solved with: c, or max(c, floor) if the agent has a cost floor.
    """

    run: Run
    models: tuple[SSP, ...]
    values: Floats
    epoch: Int64s
    steps: Steps
    following: Int64s
    visits: Int64s
    planning_costs: Floats

    def epoch_slices(self) -> list[slice]:
        """Return the steps of each epoch."""
        ends = np.cumsum(self.run.epochs.steps).tolist()
        return [slice(first, end) for first, end in pairwise([0, *ends])]


def trace_of(run: Run, world: SSP) -> Trace:
    """Return the trace of a run; raises TheoryError if it lacks the records this needs or was in another world."""
    check_posterior(run)
    if run.plans is None or run.trajectory is None:
        missing = "its epochs' models" if run.plans is None else "its steps"
        raise TheoryError(f"the run was recorded without {missing}; {RECORD}")
    costs, start = run.agent.task.costs, run.agent.task.initial_state
    fits = np.array_equal(costs, world.costs) and start == world.initial_state
    if not fits or (run.world is not None and run.world != world):
        raise TheoryError("the world is not the one of the run; pass run.world, the model in which the agent learnt")
    goal = len(costs)
    states, actions, _, next_states, _ = run.trajectory
    values = np.array([np.append(plan.values, 0.0) for plan in run.plans])
    following = np.append(states[1:], start if next_states[-1] == goal else next_states[-1])
    epoch = np.repeat(np.arange(len(run.epochs)), run.epochs.steps)
    lost = ~np.isfinite(values[epoch, states]) | ~np.isfinite(values[epoch, next_states])
    if lost.any():
        step = int(np.argmax(lost))
        raise TheoryError(
            f"at step {step} the run is in a state from which the sampled model of epoch {epoch[step]} cannot reach the"
            " goal; the analysis needs finite values: take a prior with a wider support"
        )
    floor = float(run.notes.get("cost_floor", 0.0))
    return Trace(
        run=run,
        models=tuple(plan.model for plan in run.plans),
        values=values,
        epoch=epoch,
        steps=run.trajectory,
        following=following,
        visits=visits_at_starts(run, states, actions, epoch),
        planning_costs=np.maximum(costs, floor),
    )


def check_posterior(run: Run) -> None:
    """Raise TheoryError if the agent of a run draws no models from a posterior."""
    agent = run.agent
    if not isinstance(agent, PSRL) or not isinstance(getattr(agent, "belief", None), Belief):
        raise TheoryError(
            f"{agent.name} has no posterior; the lemmas are about agents that draw their models from one, such as psrl"
        )
    if isinstance(agent, PosteriorMean):
        raise TheoryError(f"{agent.name} plans with the mean of its posterior and draws no models from it; use psrl")
    if agent.task.costs_unknown:
        raise TheoryError(f"{agent.name} had to learn the costs; the lemmas assume that they are known to it")
    if agent.sharpness != 1.0:
        raise TheoryError(
            f"{agent.name} with sharpness {agent.sharpness:g} does not draw from its posterior, as the lemmas assume;"
            " use sharpness=1"
        )


def visits_at_starts(run: Run, states: Int64s, actions: Int64s, epoch: Int64s) -> Int64s:
    """Return n_{t_l}(s, a) for each epoch, and in one more row the visits of the whole run."""
    S, A = run.agent.task.costs.shape
    L = len(run.epochs)
    inside = np.bincount((epoch * S + states) * A + actions, minlength=L * S * A).reshape(L, S, A)
    visits = np.zeros((L + 1, S, A), dtype=np.int64)
    np.cumsum(inside, axis=0, out=visits[1:])
    if not np.array_equal(visits[-1], run.agent.visits):  # type: ignore[attr-defined]
        raise TheoryError("the run resumes an earlier one; the lemmas are about runs from scratch")
    return visits
