"""Policy evaluation: the expected cost and the expected number of steps of a policy.

Under a policy π, the model is a Markov chain (an SSP with one action). The expected cost V_π and the expected number of
steps h_π solve the equations

    V_π(s) = c_π(s) + Σ_s' p_π(s' | s) V_π(s'),    h_π(s) = 1 + Σ_s' p_π(s' | s) h_π(s').

Both are infinite in states from which the goal is not reached almost surely. `solve.py` solves the equations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Bools, Floats
from goalward.errors import PolicyError
from goalward.planning.solve import proved, solve_all
from goalward.ssp.checks import LEAST_PROBABILITY, ROW_SUM_TOLERANCE
from goalward.ssp.model import SSP, check_model
from goalward.table import ShownAsFacts

if TYPE_CHECKING:
    from goalward.planning.distribution import CostDistribution


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ShownAsFacts):
    """Expected `costs` and `steps` from each state to the goal; infinity if the goal is not reached almost surely."""

    costs: Floats
    steps: Floats
    goal_probability: Floats | None = None
    """The probability of reaching the goal from each state; None without ``goal_first``."""
    model: SSP | None = field(default=None, repr=False)  #: the model that the policy acts in
    weights: Floats | None = field(default=None, repr=False)
    """The probability of each action in each state under the policy."""
    tolerance: float = 0.0
    """The relative precision to which the costs are proved."""

    def distribution(
        self, start: int | None = None, *, grid: float | None = None, tail: float = 1e-9
    ) -> CostDistribution:
        """Return the distribution of the cost of an episode: variance, quantiles, CVaR and P(cost <= b), with bounds.

        Parameters
        ----------
        start
            The state in which the episode starts. The default is the initial state of the model.
        grid
            Costs are rounded up and down to multiples of this number. The default is the greatest common divisor of
            the costs, which gives exact results, or 1/100 of the mean cost of a step if no divisor exists.
        tail
            Stop when more expensive episodes have at most this probability. The bounds include these episodes.

        Examples
        --------
        >>> import goalward as gw
        >>> world = gw.worlds.grid_world()
        >>> cost = gw.evaluate(world, gw.solve(world).policy).distribution()
        >>> cost.quantile(0.95).upper, round(cost.probability(6).lower, 3)
        (9.0, 0.706)
        """
        from goalward.planning.distribution import cost_distribution

        assert self.model is not None
        assert self.weights is not None
        return cost_distribution(
            self.model, self.weights, self.costs, self.tolerance, self.goal_probability, start, grid, tail
        )

    def _facts(self) -> dict[str, object]:
        cost, steps = (numbers[np.isfinite(numbers)].max(initial=0.0) for numbers in (self.costs, self.steps))
        facts = {"states": len(self.steps), "largest_cost": f"{cost:.6g}", "largest_steps": f"{steps:.6g}"}
        lost = "never_sure" if self.goal_probability is None else "lost"
        return facts | {lost: np.count_nonzero(np.isinf(self.steps))}


def evaluate(ssp: SSP, policy: ArrayLike, tolerance: float = 1e-9, *, goal_first: bool = False) -> Evaluation:
    """Return the expected cost and number of steps of a policy from each state.

    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> gw.evaluate(world, gw.solve(world).policy)
    Evaluation(states=11, largest_cost=6.03648, largest_steps=6.03648, never_sure=0)

    Parameters
    ----------
    ssp
        The model.
    policy
        An array ``[S]`` of actions, with -1 for no action, or an array ``[S, A]`` of action probabilities.
    tolerance
        The relative precision of costs and steps. If this precision cannot be proved, `PrecisionError` is raised.
    goal_first
        Also compute the probability of reaching the goal. Costs and steps then count until the goal is reached or can
        no longer be reached. But a state that cannot reach the goal has infinite cost and steps.
    """
    chain = markov_chain(ssp, policy)
    if goal_first:
        from goalward.planning.goal_first import evaluate_goal_first

        found = evaluate_goal_first(chain, tolerance)
        return replace(found, model=ssp, weights=policy_weights(ssp, policy), tolerance=tolerance)
    timed = chain.with_costs(np.ones((ssp.states, 1)))
    return Evaluation(
        proved(solve_all(chain, tolerance), tolerance, "the policy's cost").values,
        proved(solve_all(timed, tolerance), tolerance, "the policy's hitting time").values,
        model=ssp,
        weights=policy_weights(ssp, policy),
        tolerance=tolerance,
    )


def markov_chain(ssp: SSP, policy: ArrayLike) -> SSP:
    """Return the Markov chain of a policy in a model, as an SSP with one action."""
    from scipy import sparse

    check_model(ssp)
    weights = policy_weights(ssp, policy)
    lengths = np.diff(ssp.indptr)
    shares = ssp.probabilities / np.repeat(row_sums(ssp), lengths)
    likelihood = shares * np.repeat(np.where(weights > 0.0, weights, np.inf).ravel(), lengths)
    # Half the limit, because rescaling a row of a valid model may lower its smallest probability.
    if likelihood.min() < 0.5 * LEAST_PROBABILITY:
        raise PolicyError(
            f"the policy gives a transition a probability below {LEAST_PROBABILITY:.3g}, the smallest normal double;"
            " play the action of this transition more often, or never"
        )
    kernel = sparse.csr_array((shares, ssp.successors, ssp.indptr), shape=(ssp.states * ssp.actions, ssp.states + 1))
    states, actions = np.nonzero(weights)
    mixture = sparse.csr_array(
        (weights[states, actions], (states, states * ssp.actions + actions)), shape=(ssp.states, kernel.shape[0])
    )
    rows = mixture @ kernel
    rows.sort_indices()
    played = weights > 0.0
    costs = np.where(played, weights, 0.0) * np.where(played, ssp.costs, 0.0)
    total = np.where(played.any(axis=1, keepdims=True), costs.sum(axis=1, keepdims=True), np.inf)
    return SSP._trusted(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        rows.data.astype(np.float64),
        total,
        ssp.initial_state,
        ssp.state_names,
        layout=ssp.layout,
    )


def policy_weights(ssp: SSP, policy: ArrayLike) -> Floats:
    """Return the probability of each action in each state; raise PolicyError if `policy` is not valid for the model."""
    table = np.asarray(policy)
    if table.shape == (ssp.states,) and table.dtype.kind in "iu":
        weights = one_hot(ssp, table)
    elif table.shape == (ssp.states, ssp.actions) and table.dtype.kind == "f":
        weights = table
    else:
        raise PolicyError(
            f"the policy has shape {table.shape} and dtype {table.dtype}; pass integers of shape ({ssp.states},)"
            f" or floats of shape ({ssp.states}, {ssp.actions})"
        )
    check_probabilities(ssp, weights)
    return weights


def one_hot(ssp: SSP, actions: Floats) -> Floats:
    """Return the action probabilities of a deterministic policy; action -1 gives a row of zeros."""
    wrong = (actions < -1) | (actions >= ssp.actions)
    if wrong.any():
        state = int(np.argmax(wrong))
        raise PolicyError(
            f"the policy plays action {actions[state]} in state {state}; use 0..{ssp.actions - 1}, or -1 for no action"
        )
    weights = np.zeros((ssp.states, ssp.actions))
    played = np.flatnonzero(actions >= 0)
    weights[played, actions[played]] = 1.0
    return weights


def check_probabilities(ssp: SSP, weights: Floats) -> None:
    """Raise PolicyError unless the action probabilities of each state sum to one or are all zero."""
    sums = weights.sum(axis=1)
    bad = ~((weights >= 0.0).all(axis=1) & ((np.abs(sums - 1.0) <= ROW_SUM_TOLERANCE) | (weights == 0.0).all(axis=1)))
    if bad.any():
        state = int(np.argmax(bad))
        raise PolicyError(f"the action probabilities in state {state} are {weights[state]}, but they must sum to 1")
    missing = (weights > 0.0) & ~ssp.available
    if missing.any():
        state, action = np.argwhere(missing)[0]
        raise PolicyError(f"the policy plays action {action} in state {state}, but this action is not available there")


def action_values(ssp: SSP, values: Floats) -> Floats:
    """Return Q[s, a] = c(s, a) + Σ_s' p(s' | s, a) values(s'), with infinity for unavailable actions."""
    return ssp.costs + step_mean(ssp, values, 0.0)


def step_mean(ssp: SSP, numbers: Floats | Bools, goal: float) -> Floats:
    """Return the expectation of ``numbers[next state]`` for each state-action pair; 0 for unavailable actions."""
    mean = np.zeros(ssp.costs.size)
    filled = np.flatnonzero(ssp.available.ravel())
    weighted = ssp.probabilities * np.append(numbers, goal)[ssp.successors]
    mean[filled] = np.add.reduceat(weighted, ssp.indptr[filled]) / row_sums(ssp)[filled]
    return mean.reshape(ssp.costs.shape)


def row_sums(ssp: SSP) -> Floats:
    """Return the sum of the probabilities in each row: 1 up to rounding, or 0 for unavailable actions."""
    sums = np.zeros(len(ssp.indptr) - 1)
    filled = np.flatnonzero(np.diff(ssp.indptr))
    sums[filled] = np.add.reduceat(ssp.probabilities, ssp.indptr[filled])
    return sums
