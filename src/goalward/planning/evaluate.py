"""What a policy costs and how long it takes.

Under a policy π the model is a Markov chain, an SSP with one action. Its cost and its hitting time solve

    V_π(s) = c_π(s) + Σ_s' p_π(s' | s) V_π(s'),    h_π(s) = 1 + Σ_s' p_π(s' | s) h_π(s'),

and both are infinite where the goal is not reached with probability one, which the graph decides. The equations are
solved, and the answers proved, by the same means as Bellman's (`solve.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from goalward.arrays import Floats
from goalward.errors import PolicyError
from goalward.planning.solve import proved, solve_all
from goalward.ssp.checks import LEAST_PROBABILITY, ROW_SUM_TOLERANCE
from goalward.ssp.model import SSP, check_model

__all__ = ["Evaluation", "action_values", "evaluate", "markov_chain", "policy_weights", "row_sums"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Expected cost and number of steps to the goal from each state; infinite where it is not reached surely."""

    costs: Floats
    steps: Floats
    goal_probability: Floats | None = None
    """The probability of reaching the goal; only with ``goal_first``, and then costs and steps end with the hope."""

    def __repr__(self) -> str:
        infinite = np.count_nonzero(np.isinf(self.steps))
        cost, steps = (each[np.isfinite(each)].max(initial=0.0) for each in (self.costs, self.steps))
        lost = f"{'never_sure' if self.goal_probability is None else 'lost'}={infinite}"
        return f"Evaluation(states={len(self.steps)}, largest_cost={cost:.6g}, largest_steps={steps:.6g}, {lost})"


def evaluate(ssp: SSP, policy: ArrayLike, tolerance: float = 1e-9, *, goal_first: bool = False) -> Evaluation:
    """Evaluate a policy.

    Parameters
    ----------
    ssp
        The model.
    policy
        An action per state, ``[S]``, with -1 where none is played; or probabilities of actions, ``[S, A]``.
    tolerance
        Costs and steps are proved to this relative precision, or a `PrecisionError` is raised.
    goal_first
        Also compute the probability of reaching the goal; costs and steps are then those until the goal is reached or
        cannot be reached any more. Where it cannot, they are infinite.
    """
    chain = markov_chain(ssp, policy)
    if goal_first:
        from goalward.planning.goal_first import evaluate_goal_first

        return evaluate_goal_first(chain, tolerance)
    timed = chain.with_costs(np.ones((ssp.states, 1)))
    return Evaluation(
        proved(solve_all(chain, tolerance), tolerance, "the policy's cost").values,
        proved(solve_all(timed, tolerance), tolerance, "the policy's hitting time").values,
    )


def markov_chain(ssp: SSP, policy: ArrayLike) -> SSP:
    """Return the SSP with one action that a policy makes of a model."""
    from scipy import sparse

    check_model(ssp)
    weights = policy_weights(ssp, policy)
    shares = ssp.probabilities / np.repeat(row_sums(ssp), np.diff(ssp.indptr))
    check_underflow(ssp, weights, shares)
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
    """Return the probability of each action in each state; raises PolicyError if the policy does not fit the model."""
    given = np.asarray(policy)
    if given.shape == (ssp.states,) and given.dtype.kind in "iu":
        weights = one_hot(ssp, given)
    elif given.shape == (ssp.states, ssp.actions) and given.dtype.kind == "f":
        weights = given
    else:
        raise PolicyError(
            f"the policy has shape {given.shape} and dtype {given.dtype}; it must be integers of shape ({ssp.states},)"
            f" or floats of shape ({ssp.states}, {ssp.actions})"
        )
    check_probabilities(ssp, weights)
    return weights


def one_hot(ssp: SSP, actions: Floats) -> Floats:
    """Return a deterministic policy as probabilities; a state that plays -1 gets none."""
    wrong = (actions < -1) | (actions >= ssp.actions)
    if wrong.any():
        state = int(np.argmax(wrong))
        raise PolicyError(
            f"the policy plays action {actions[state]} in state {state}; it may play 0..{ssp.actions - 1}, or -1: none"
        )
    weights = np.zeros((ssp.states, ssp.actions))
    played = np.flatnonzero(actions >= 0)
    weights[played, actions[played]] = 1.0
    return weights


def check_probabilities(ssp: SSP, weights: Floats) -> None:
    """Check that a policy plays available actions with probabilities that sum to one, or nothing at all."""
    sums = weights.sum(axis=1)
    bad = ~((weights >= 0.0).all(axis=1) & ((np.abs(sums - 1.0) <= ROW_SUM_TOLERANCE) | (weights == 0.0).all(axis=1)))
    if bad.any():
        state = int(np.argmax(bad))
        raise PolicyError(f"in state {state} the policy plays with probabilities {weights[state]}; they must sum to 1")
    missing = (weights > 0.0) & ~ssp.available
    if missing.any():
        state, action = np.argwhere(missing)[0]
        raise PolicyError(f"the policy plays action {action} in state {state}, where it is not available")


def check_underflow(ssp: SSP, weights: Floats, shares: Floats) -> None:
    """Check that no step of the policy is so unlikely that its probability loses digits or becomes zero."""
    played = np.repeat(weights.ravel(), np.diff(ssp.indptr))
    # A half, because rescaling a row may bring the least probability of a model below itself.
    small = (played > 0.0) & (played * shares < 0.5 * LEAST_PROBABILITY)
    if small.any():
        entry = int(np.argmax(small))
        state, action = divmod(int(np.searchsorted(ssp.indptr, entry, side="right")) - 1, ssp.actions)
        raise PolicyError(
            f"in state {state} the policy plays action {action} with probability {weights[state, action]:g}, which"
            f" makes a step of it less likely than {LEAST_PROBABILITY:.3g}, the smallest normal double: play it more"
            " often, or never"
        )


def action_values(ssp: SSP, values: Floats) -> Floats:
    """Return Q[s, a] = c(s, a) + Σ_s' p(s' | s, a) values(s'); infinity where the action is not available."""
    Q = ssp.costs.copy().reshape(-1)
    filled = np.flatnonzero(np.diff(ssp.indptr))
    next_values = ssp.probabilities * np.append(values, 0.0)[ssp.successors]
    Q[filled] += np.add.reduceat(next_values, ssp.indptr[filled]) / row_sums(ssp)[filled]
    return Q.reshape(ssp.costs.shape)


def row_sums(ssp: SSP) -> Floats:
    """Return what the entries of each row add up to: 1 but for rounding, 0 where the action is not available."""
    sums = np.zeros(len(ssp.indptr) - 1)
    filled = np.flatnonzero(np.diff(ssp.indptr))
    sums[filled] = np.add.reduceat(ssp.probabilities, ssp.indptr[filled])
    return sums
