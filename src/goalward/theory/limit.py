"""The asymptotic lower bound on regret: a constant C with E[R_K] >= C log K in the limit, and a scale for finite K.

Setting
    The costs c >= c_min > 0 are known, and the kernel P is unknown. Every episode starts in s0. Each row of P may be
    any distribution on the states and the goal, but rows of giving up are known. R_K is the sum of the gaps
    D(s, a) = Q*(s, a) - V*(s) up to the K-th arrival at the goal. A learner is uniformly good if, in every model that
    has a proper policy, E[R_K] = o(K^a) for every a > 0.

Proposition
    Let S* be the states that can be reached from s0 by actions of gap zero. For s in S*, let v_s = V*(s) and W_s = V*.
    For any other s, let W(v) be the optimal values of the model in which s is terminal at cost v. Let
    v_s = inf{v : W(v)(s0) = V*(s0)} and W_s = W(v_s). With

        I(s, a) = inf{ KL(P(. | s, a), q) : c(s, a) + q W_s < v_s }
                = max over 0 <= x <= 1/theta of  sum_s' P(s' | s, a) log(1 + x (W_s(s') - theta)),

    theta = v_s - c(s, a), and I infinite if theta <= 0, every uniformly good learner has

        liminf E[R_K] / log K  >=  C  =  min  sum D(s, a) eta(s, a)   over all pairs except those of gap zero in S*,
            eta(s, a) >= 1 / I(s, a),   sum_a eta(s, a) = sum P(s | s', a') eta(s', a')  for every s outside S*.

    docs/explanation/theory.md has the proof and the sources. This form for shortest paths was derived for goalward and
    has not been reviewed independently.

C log K is not a useful scale in practice, because pairs with tiny gaps matter only for an impractically large K. The
method `resolved` returns the share of C due to pairs that K episodes can distinguish from optimal pairs. The method
`reference` returns a scale for finite K. This scale is a heuristic and not a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse, special
from scipy.sparse import linalg

from goalward.arrays import Bools, Floats
from goalward.errors import TheoryError
from goalward.formatting import number
from goalward.planning.evaluate import action_values, markov_chain, row_sums
from goalward.planning.solve import Solution, proved, solve_all
from goalward.ssp.graph import reached_from, state_graph
from goalward.ssp.model import SSP, check_model, restrict_actions
from goalward.table import ShownAsFacts

__all__ = ["RegretLimit", "regret_limit"]

WANTED, NEEDED = 1e-11, 1e-8  # relative precision of the values: the target, and what must be proved
TIED = 1e-9  # gaps up to this fraction of the largest value count as ties
AGAIN = 1e-9  # relative tolerance within which the value of the start equals the optimum
BISECTIONS = 100
MANY_STATES = 2_000
"""In models with more states, `regret_limit` leaves out the states outside S*, because each state takes long."""
SHOWN = (1_000, 30_000, 1_000_000)
"""The numbers of episodes K for which the repr of a `RegretLimit` shows `resolved`."""


@dataclass(frozen=True, eq=False, repr=False)
class RegretLimit(ShownAsFacts):
    """The asymptotic lower bound on regret in a model, as returned by `regret_limit`."""

    constant: float  #: C: no uniformly good learner has a regret below C log K in the limit
    information: Floats  #: [s, a]: I; infinite if no visit is needed, NaN for optimal pairs on the path
    visits: Floats  #: [s, a]: eta, how often a learner that attains C plays the pair, divided by log K
    gaps: Floats  #: [s, a]: zero for ties, infinite for actions that are not available
    on_path: Bools  #: [s]: whether s is in S*
    path_only: bool  #: whether states outside S* were left out; C is then a valid but possibly weaker bound
    ssp: SSP  #: the model
    opportunities: Floats  #: [s]: d(s), visits per episode if optimal actions are mixed evenly; 1 outside S*

    def resolved(self, K: int) -> float:
        """Return the share of C due to the pairs that `K` episodes can resolve, where K d(s) I / A(s) >= log K."""
        if self.constant == 0.0:
            return 1.0
        shares = np.where(self.visits > 0.0, self.gaps, 0.0) * self.visits
        enough = self.trials(K) * np.nan_to_num(self.information, posinf=np.inf) >= math.log(K)
        return float(shares[enough].sum() / shares.sum())

    def _facts(self) -> dict[str, Any]:
        shares = [f"{100.0 * self.resolved(K):.3g} % at K = {K:,}" for K in SHOWN]
        return {"constant": number(self.constant), "resolved": ", ".join(shares), "path_only": self.path_only}

    def reference(self, K: int) -> float:
        """Return a scale for the regret after K episodes: a heuristic, not a bound.

        The scale is the smallest regret, under the flow constraints of C, if every pair is played n(s, a) times.
        docs/explanation/theory.md defines n(s, a).
        """
        trials = self.trials(K)
        information = np.where(np.isnan(self.information), np.inf, self.information)
        T = trials * self.ssp.available.sum(axis=1, keepdims=True)
        # Solve for z by bisection: n = z²/(2 I), and n / T = (phi(z) - z Phi(-z)) / z decreases in z.
        low, high = np.zeros(T.shape), np.full(T.shape, 40.0)
        with np.errstate(invalid="ignore"):
            for _ in range(BISECTIONS):
                z = (low + high) / 2.0
                density = np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi)
                smaller = T * information * (density - z * special.ndtr(-z)) > z**3 / 2.0
                low, high = np.where(smaller, z, low), np.where(smaller, high, z)
            needed = np.where(np.isfinite(information), np.minimum(low**2 / (2.0 * information), trials), 0.0)
        return least_regret(self.ssp, self.gaps, self.on_path, needed, flow=not self.path_only)[0]

    def trials(self, K: int) -> Floats:
        """Return the number of plays of each pair in `K` episodes if each state plays all actions equally often."""
        return np.asarray(
            K * self.opportunities[:, None] / np.maximum(self.ssp.available.sum(axis=1, keepdims=True), 1)
        )


def regret_limit(ssp: SSP) -> RegretLimit:
    """Return the asymptotic lower bound on regret in a model.

    Parameters
    ----------
    ssp
        The true model. All costs must be positive, and no dead end may be reachable.

    Examples
    --------
    >>> import goalward as gw
    >>> limit = regret_limit(gw.worlds.river_swim())
    >>> print(f"{limit.constant:.3f}")
    76.258
    """
    check_model(ssp)
    reachable = reached_from(state_graph(ssp), ssp.initial_state)
    solution = proved(solve_all(ssp, WANTED), NEEDED, "the values")
    refuse(ssp, reachable, solution)
    # Dead ends that cannot be reached do not matter.
    gaps, Q = np.full(ssp.costs.shape, np.inf), action_values(ssp, solution.values)
    np.subtract(Q, solution.values[:, None], out=gaps, where=np.isfinite(Q))
    values = np.where(reachable, solution.values, 0.0)
    gaps[gaps <= TIED * values.max()] = 0.0
    tied = restrict_actions(ssp, gaps == 0.0)
    on_path = reached_from(state_graph(tied), ssp.initial_state)
    off_path = np.flatnonzero(reachable & ~on_path)
    path_only = ssp.states > MANY_STATES and len(off_path) > 0
    needed_values = np.where(on_path, values, 0.0)  # v_s; 0 if no value makes the state useful
    successor_values = np.tile(values, (1 if path_only else ssp.states, 1))  # W_s
    for state in () if path_only else off_path:
        needed_values[state], successor_values[state] = interesting_value(ssp, int(state), solution, values)
    information = row_information(ssp, needed_values, successor_values)
    information[~reachable] = np.inf
    information[on_path[:, None] & (gaps == 0.0)] = np.nan
    with np.errstate(divide="ignore"):
        needed = np.nan_to_num(1.0 / information)
    constant, visits = least_regret(ssp, gaps, on_path, needed, flow=not path_only)
    return RegretLimit(constant, information, visits, gaps, on_path, path_only, ssp, path_visits(tied, on_path))


def refuse(ssp: SSP, reachable: Bools, solution: Solution) -> None:
    """Raise TheoryError if the model has zero costs or reachable dead ends, which the proposition excludes."""
    if not ssp.costs.min() > 0.0:
        raise TheoryError("a cost is zero, but the limit of regret needs positive costs; raise costs to max(c, eps)")
    lost = reachable & ~np.isfinite(solution.values)
    if lost.any():
        raise TheoryError(
            f"state {ssp.state_name(int(np.argmax(lost)))} is a dead end and reachable, but the limit of regret needs"
            " a model without reachable dead ends; let the agent give up (with_give_up)"
        )


def interesting_value(ssp: SSP, state: int, solution: Solution, values: Floats) -> tuple[float, Floats]:
    """Return v_s and W_s of a state s outside S*; v_s is 0 if even the least possible value of s is too large.

    As a function of v, W(v)(s0) is concave and piecewise linear, and its slope is the probability of reaching s. So
    Newton's method from the left reaches v_s after finitely many steps.
    """
    start = ssp.initial_state
    first = state * ssp.actions
    v = smallest = float(ssp.costs[state].min())
    # The state's first row leads to the goal at cost v; its other rows are removed.
    begin, end = ssp.indptr[first], ssp.indptr[first + ssp.actions]
    indptr = ssp.indptr.copy()
    indptr[first + 1 : first + ssp.actions + 1] = begin + 1
    indptr[first + ssp.actions + 1 :] -= end - begin - 1
    successors = np.concatenate([ssp.successors[:begin], [ssp.states], ssp.successors[end:]]).astype(np.int32)
    probabilities = np.concatenate([ssp.probabilities[:begin], [1.0], ssp.probabilities[end:]])
    costs = ssp.costs.copy()
    costs[state] = np.inf
    while True:
        costs[state, 0] = v
        model = SSP._trusted(indptr, successors, probabilities, costs.copy(), start)
        solution = solve_all(model, WANTED)
        missing = values[start] - solution.values[start]
        if missing <= AGAIN * values[start]:
            return (0.0 if v == smallest else v), np.where(np.isfinite(solution.values), solution.values, 0.0)
        chain = solution.chain()
        visits = expected_visits(chain, np.ones(ssp.states, dtype=bool))
        v += missing / visits[state]


def expected_visits(chain: SSP, states: Bools) -> Floats:
    """Return the expected number of visits to each state in an episode; `states` is a mask of the reachable states."""
    kernel = sparse.csr_array((chain.probabilities, chain.successors, chain.indptr), (chain.states, chain.states + 1))
    inside = np.flatnonzero(states)
    among = kernel[inside][:, inside]
    visits = np.zeros(chain.states)
    start = (inside == chain.initial_state).astype(np.float64)
    visits[inside] = linalg.spsolve(sparse.csc_array(sparse.eye_array(len(inside)) - among.T), start)
    return visits


def path_visits(tied: SSP, on_path: Bools) -> Floats:
    """Return d(s), the expected visits to s per episode if optimal actions are mixed evenly; d(s) = 1 outside S*."""
    playing = tied.available & on_path[:, None]
    chain = markov_chain(tied, playing / np.maximum(playing.sum(axis=1, keepdims=True), 1))
    return np.asarray(np.where(on_path, expected_visits(chain, on_path), 1.0))


def row_information(ssp: SSP, needed: Floats, values: Floats) -> Floats:
    """Return I(s, a) for v_s = ``needed[s]`` and W_s = ``values[s]``; `values` may also have one row for all states."""
    rows = ssp.costs.size
    pair = np.repeat(np.arange(rows), np.diff(ssp.indptr))
    W = np.pad(values, ((0, 0), (0, 1)))[pair // ssp.actions if len(values) > 1 else 0, ssp.successors]
    theta = np.where(np.isfinite(ssp.costs), needed[:, None] - ssp.costs, -np.inf).ravel()
    possible = theta > 0.0
    if ssp.give_up is not None:
        possible.reshape(ssp.costs.shape)[:, ssp.give_up] = False
    p = ssp.probabilities / row_sums(ssp)[pair]
    difference = np.where(possible[pair], W - np.where(possible, theta, 0.0)[pair], 0.0)

    def sums(entries: Floats) -> Floats:
        return np.asarray(np.bincount(pair, weights=entries, minlength=rows), dtype=np.float64)

    # The sum of logarithms is concave in x, so find the root of its slope by bisection.
    low, high = np.zeros(rows), np.divide(1.0, theta, out=np.zeros(rows), where=possible)
    for _ in range(BISECTIONS):
        x = (low + high) / 2.0
        rising = sums(p * difference / (1.0 + x[pair] * difference)) > 0.0
        low, high = np.where(rising, x, low), np.where(rising, high, x)
    information = sums(p * np.log1p(low[pair] * difference))
    return np.where(possible, np.maximum(information, 0.0), np.inf).reshape(ssp.costs.shape)


def least_regret(ssp: SSP, gaps: Floats, on_path: Bools, needed: Floats, *, flow: bool) -> tuple[float, Floats]:
    """Return the smallest regret if every pair is played at least `needed` times, and the number of plays of each pair.

    With `flow`, the number of plays in each state outside S* must equal the number of transitions into the state.
    """
    pairs = np.isfinite(gaps) & ~(on_path[:, None] & (gaps == 0.0))
    needed = np.where(pairs, needed, 0.0)
    off_path = np.flatnonzero(~on_path)
    if not flow or len(off_path) == 0 or not needed.any():
        return float(np.where(needed > 0.0, gaps, 0.0).ravel() @ needed.ravel()), needed
    chosen = np.flatnonzero(pairs)
    size = (ssp.costs.size, ssp.states + 1)
    kernel = sparse.csr_array((ssp.probabilities, ssp.successors, ssp.indptr), size)[chosen][:, off_path]
    plays = sparse.csr_array(
        (np.ones(len(chosen)), (np.arange(len(chosen)), chosen // ssp.actions)), (len(chosen), size[1])
    )
    unit, scale = needed.max(), gaps[pairs].max()
    answer = optimize.linprog(
        gaps.ravel()[chosen] / scale,
        A_eq=(plays[:, off_path] - kernel).T,
        b_eq=np.zeros(len(off_path)),
        bounds=np.stack([needed.ravel()[chosen] / unit, np.full(len(chosen), np.inf)], axis=1),
        method="highs",
    )
    if answer.x is None:
        raise TheoryError(f"the linear program for the limit could not be solved: {answer.message}")
    visits = np.zeros(ssp.costs.size)
    visits[chosen] = answer.x * unit
    return float(answer.fun * unit * scale), visits.reshape(ssp.costs.shape)
