"""The decomposition of the regret of a run into three terms (section 4 of the paper).

The regret of K episodes is sum_t c(s_t, a_t) - K V(s_init; theta_*). By the Bellman equation of theta_l, each cost is
c(s_t, a_t) = V(s_t; theta_l) - sum_s' theta_l(s' | s_t, a_t) V(s'; theta_l). So the regret is the sum of

    R1 = sum_t V(s_t; theta_l) - V(s_{t+1}; theta_l)                                  the cost of changing the model
    R2 = sum_t V(s_{t+1}; theta_l) - V(s'_t; theta_l)  -  K V(s_init; theta_*)        the error of V at the start
    R3 = sum_t V(s'_t; theta_l) - sum_s' theta_l(s' | s_t, a_t) V(s'; theta_l)        the error of theta_l at each step

The sum equals the regret on every path, not only in expectation. R1 telescopes within epochs. R2 is the same as
sum_l K_l V(s_init; theta_l) - K V(s_init; theta_*), where K_l is the number of arrivals at the goal in epoch l.

If an agent plans with the costs max(c, floor), the Bellman equation holds with these costs. The regret then has a
fourth term: the sum of c - max(c, floor) along the path, which is never positive.

Let L be the number of epochs, and B the largest value of any model in the run. Two lemmas bound the terms: R1 <= B L on
every path, and E[R2] <= B E[L] if the world is drawn from the prior.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from goalward.arrays import Floats
from goalward.planning.evaluate import step_mean
from goalward.theory.trace import Trace


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The regret of a run as a sum of the terms R1, R2 and R3."""

    R1: float
    R2: float
    R3: float
    raised_costs: float  # the sum of c - max(c, floor); 0 unless the agent has a cost floor
    regret: float  # the realised regret of the run
    total_cost: float  # all costs paid
    L: int  # the number of epochs
    B: float  # the largest value of the true and the sampled models, where the goal can be reached
    by_episode: Floats = field(repr=False)  # [k, 3]: the parts of R1, R2 and R3 that belong to episode k

    @property
    def sum(self) -> float:
        """The sum of all terms. This sum equals the regret up to the tolerance of the planner."""
        return self.R1 + self.R2 + self.R3 + self.raised_costs

    @property
    def error(self) -> float:
        """The absolute difference between `sum` and `regret`, divided by `total_cost`."""
        return abs(self.sum - self.regret) / self.total_cost

    @property
    def bound(self) -> float:
        """The bound B L. On every path, R1 <= B L. In expectation over worlds drawn from the prior, R2 <= B L."""
        return self.B * self.L


def decompose(trace: Trace) -> Decomposition:
    """Return the decomposition of the regret of a run, computed from the `trace` of the run."""
    run, V, (epoch, states, actions) = trace.run, trace.values, trace.pairs
    reached = trace.steps.next_states
    start = trace.world.initial_state if reached[-1] == trace.world.goal else reached[-1]
    ahead, next_value = V[epoch, np.append(states[1:], start)], V[epoch, reached]
    means = np.array([step_mean(model, v[:-1], 0.0) for model, v in zip(trace.models, V, strict=True)])
    terms = (V[epoch, states] - ahead, ahead - next_value, next_value - means[trace.pairs])
    episode = np.repeat(np.arange(len(run.costs)), run.steps)
    by_episode = np.array([np.bincount(episode, weights=term, minlength=len(run.costs)) for term in terms]).T
    by_episode[:, 1] -= run.optimal_value
    R1, R2, R3 = by_episode.sum(axis=0).tolist()
    return Decomposition(
        R1=R1,
        R2=R2,
        R3=R3,
        raised_costs=float(np.sum(trace.steps.costs - trace.planning_costs[states, actions])),
        regret=float(run.regret[-1]),
        total_cost=float(run.costs.sum()),
        L=len(run.epochs),
        B=trace.B,
        by_episode=by_episode,
    )
