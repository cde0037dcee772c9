"""`Trace`: a recorded run of posterior sampling in the notation of the analysis.

The paper numbers epochs l = 1, 2, ... and steps t = 1, 2, ...; arrays in this module count both from 0. Epoch l starts
at step t_l. The agent then samples the model theta_l, and follows an optimal policy of this model until the next epoch.
V(. ; theta_l) are the optimal values of theta_l. n_t(s, a) is the number of visits before step t. Step t leads from s_t
to s'_t, which may be the goal. The next state s_{t+1} is s'_t, or the initial state if s'_t is the goal.

The agent must have a `belief`, and its plans must contain the model that was drawn from the belief (`Plan.model`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from goalward.acting.contract import Steps
from goalward.arrays import Floats, Int64s
from goalward.errors import TheoryError
from goalward.learning.run import Run
from goalward.planning.solve import solve_all
from goalward.ssp.model import SSP


@dataclass(frozen=True, eq=False)
class Trace:
    """The quantities of one run that appear in the lemmas."""

    run: Run
    world: SSP  #: theta_*
    models: tuple[SSP, ...]  #: theta_l, one for each epoch
    values: Floats  #: [l, s]: V(s; theta_l), with a last column of zeros for the goal
    epoch: Int64s  #: [t]: the epoch of each step
    steps: Steps  #: s_t, a_t, c(s_t, a_t) and s'_t: `states`, `actions`, `costs` and `next_states`
    visits: Int64s  #: [l, s, a]: n_{t_l}(s, a); one more row at the end has the visits of the whole run
    planning_costs: Floats  #: the costs with which theta_l was solved: c, or max(c, floor) with a cost floor
    B: float  #: the largest finite value of the true and of all sampled models, which is B in the lemmas

    @property
    def pairs(self) -> tuple[Int64s, Int64s, Int64s]:
        """The epoch, the state and the action of each step, as indices into arrays ``[l, s, a]``."""
        return self.epoch, self.steps.states, self.steps.actions

    def epoch_slices(self) -> list[slice]:
        """Return the slices that select the steps of each epoch."""
        ends = np.cumsum(self.run.epochs.steps).tolist()
        return [slice(first, end) for first, end in pairwise([0, *ends])]


def trace_of(run: Run) -> Trace:
    """Return the trace of a `run`; raise TheoryError if the run lacks plans, steps or the true model."""
    check_posterior(run)
    if run.plans is None or run.trajectory is None:
        missing = "its plans" if run.plans is None else "its steps"
        raise TheoryError(
            f"the run was recorded without {missing}; record it with learn(..., keep_plans=True, keep_steps=True)"
        )
    if run.world is None:
        raise TheoryError("the run has no true model or continues an earlier run; start a new run in an SSP")
    world = run.world
    models = tuple(plan.model for plan in run.plans)
    if any(model is None or model.costs.shape != world.costs.shape for model in models):
        raise TheoryError(f"the plans of {run.agent.name} have no sampled models; return Plan(..., model=theta)")
    states, actions, _, next_states, _ = run.trajectory
    values = np.array(
        [
            np.append(solve_all(plan.model).values if plan.values is None else plan.values, 0.0)  # no values: solve it
            for plan in run.plans
        ]
    )
    epoch = np.repeat(np.arange(len(run.epochs)), run.epochs.steps)
    lost = ~np.isfinite(values[epoch, states]) | ~np.isfinite(values[epoch, next_states])
    if lost.any():
        step = int(np.argmax(lost))
        raise TheoryError(
            f"the run visits a dead end of the sampled model of epoch {epoch[step]} at step {step}, but the analysis"
            " needs finite values; use a prior with a larger support"
        )
    true, (S, A) = solve_all(world).values, world.costs.shape
    plays = np.bincount((epoch * S + states) * A + actions, minlength=len(models) * S * A)
    return Trace(
        run=run,
        world=world,
        models=models,
        values=values,
        epoch=epoch,
        steps=run.trajectory,
        visits=np.concatenate([np.zeros((1, S, A), dtype=np.int64), plays.reshape(-1, S, A).cumsum(axis=0)]),
        planning_costs=np.maximum(world.costs, float(run.notes.get("cost_floor", 0.0))),
        B=float(max(true[np.isfinite(true)].max(initial=0.0), values[np.isfinite(values)].max())),
    )


def check_posterior(run: Run) -> None:
    """Raise TheoryError unless the agent of a run knows the costs and plans with models drawn from its posterior."""
    agent, reason = run.agent, ""
    if getattr(agent, "belief", None) is None:
        reason = "has no posterior"
    elif not agent.samples_posterior or getattr(agent, "sharpness", 1.0) != 1.0:
        reason = "does not plan with draws from its posterior"
    elif agent.task.costs_unknown:
        reason = "has to learn the costs"
    if reason:
        raise TheoryError(
            f"{agent.name} {reason}, but the lemmas cover only agents that know the costs and draw each model from"
            " their posterior; use psrl with sharpness 1"
        )
