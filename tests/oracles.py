"""Independent answers to check the planner against: exact ones in rational arithmetic, and a linear program.

A row of the model is read as the distribution proportional to its entries, so with integer weights W = sum of w the
equation of a pair is  W V(s) = W c(s, a) + sum of w V(s'), in which floats become integers after multiplication with
a power of two. Everything below is exact; nothing is shared with the package but the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np
from scipy import optimize, sparse

from goalward import SSP

__all__ = [
    "Exact",
    "Vector",
    "best_goal_first",
    "exact_goal_first",
    "exact_mixture_values",
    "exact_policy_steps",
    "exact_policy_values",
    "linear_program",
]

Row = tuple[int, dict[int, int]]  # the sum of the weights, and the weight of each successor
Vector = list[Fraction | None]  # None stands for infinity


def integers(numbers: Sequence[float]) -> tuple[list[int], int]:
    """Return integers and a power k of two with ``numbers = integers / 2^k``, exactly."""
    ratios = [float(number).as_integer_ratio() for number in numbers]
    k = max((bottom.bit_length() - 1 for _, bottom in ratios), default=0)
    return [top << (k - bottom.bit_length() + 1) for top, bottom in ratios], k


@dataclass
class Exact:
    """A model in integers, and what follows from it."""

    states: int
    actions: int
    rows: dict[tuple[int, int], Row]
    costs: dict[tuple[int, int], int | Fraction]  # integers once multiplied with the sum of the weights
    scale: int  # costs are in units of 2^-scale

    @classmethod
    def of(cls, ssp: SSP, *, unit_costs: bool = False) -> Exact:
        rows, prices = {}, []
        for state, action in np.argwhere(ssp.available).tolist():
            successors, probabilities = ssp.row(state, action)
            weights, _ = integers(probabilities.tolist())
            rows[state, action] = sum(weights), dict(zip(successors.tolist(), weights, strict=True))
            prices.append(1.0 if unit_costs else float(ssp.costs[state, action]))
        costs, scale = integers(prices)
        return cls(ssp.states, ssp.actions, rows, dict(zip(rows, costs, strict=True)), scale)

    @classmethod
    def of_mixture(cls, ssp: SSP, policy: np.ndarray, *, unit_costs: bool = False) -> Exact:
        """Make the chain, a model with one action, of a policy that plays at random; its rows are proportions too."""
        pure = cls.of(ssp, unit_costs=unit_costs)
        rows: dict[tuple[int, int], Row] = {}
        costs: dict[tuple[int, int], int | Fraction] = {}
        for state in range(ssp.states):
            played = {a: Fraction(float(policy[state, a])) for a in np.flatnonzero(policy[state]).tolist()}
            if not played:
                continue
            whole = sum(played.values())
            mixed: dict[int, Fraction] = {}
            for action, share in played.items():
                total, row = pure.rows[state, action]
                for successor, weight in row.items():
                    mixed[successor] = mixed.get(successor, Fraction(0)) + share / whole * Fraction(weight, total)
            cost = Fraction(sum(share * pure.costs[state, action] for action, share in played.items())) / whole
            total = lcm(cost.denominator, *(weight.denominator for weight in mixed.values()))
            rows[state, 0] = total, {successor: int(weight * total) for successor, weight in mixed.items()}
            costs[state, 0] = cost
        return cls(ssp.states, 1, rows, costs, pure.scale)

    def restricted(self, pairs: Iterable[tuple[int, int]], *, unit_costs: bool = False) -> Exact:
        """Keep only some pairs."""
        kept = {pair: self.rows[pair] for pair in pairs}
        if unit_costs:
            return Exact(self.states, self.actions, kept, dict.fromkeys(kept, 1), 0)
        return Exact(self.states, self.actions, kept, {pair: self.costs[pair] for pair in kept}, self.scale)

    def sure(self) -> tuple[set[int], dict[int, int]]:
        """Return the states that can reach the goal almost surely, with a policy that does so."""
        alive = set(range(self.states))
        while True:
            inside = [
                pair for pair, (_, row) in self.rows.items() if pair[0] in alive and row.keys() <= alive | {self.states}
            ]
            reached, policy = {self.states}, {}
            grown = True
            while grown:
                grown = False
                for state, action in inside:
                    if state not in reached and not reached.isdisjoint(self.rows[state, action][1]):
                        policy[state] = action
                        grown = True
                reached |= policy.keys()
            if policy.keys() == alive:
                return alive, policy
            alive = set(policy)

    def evaluate(self, policy: dict[int, int]) -> tuple[dict[int, int], int]:
        """Return numerators and a common denominator of the values of a policy that is proper on its states."""
        order = list(policy)
        matrix, right = [], []
        for state in order:
            total, row = self.rows[state, policy[state]]
            matrix.append([total * (state == other) - row.get(other, 0) for other in order])
            right.append(int(total * self.costs[state, policy[state]]))
        tops, bottom = solve_integers(matrix, right)
        return dict(zip(order, tops, strict=True)), bottom

    def backup(self, pair: tuple[int, int], tops: dict[int, int], bottom: int) -> int:
        """Return W (c + P V) times the common denominator, W being the sum of the pair's weights."""
        total, row = self.rows[pair]
        return int(total * self.costs[pair]) * bottom + sum(
            weight * tops[s] for s, weight in row.items() if s < self.states
        )

    def best(self) -> tuple[Vector, dict[int, int]]:
        """Return the least values of proper policies, and one that has them, by policy iteration.

        Started with a proper policy and changed only where that is strictly better, it stays proper: on a recurrent
        class of the new policy nothing can have been strictly better, so the old one had the class as well.
        """
        alive, policy = self.sure()
        inside = [
            pair for pair, (_, row) in self.rows.items() if pair[0] in alive and row.keys() <= alive | {self.states}
        ]
        while True:
            tops, bottom = self.evaluate(policy)
            changed = False
            best: dict[int, Fraction | int] = dict(tops)
            for pair in inside:
                total = self.rows[pair][0]
                candidate = Fraction(self.backup(pair, tops, bottom), total)
                if candidate < best[pair[0]]:
                    best[pair[0]], policy[pair[0]] = candidate, pair[1]
                    changed = True
            if not changed:
                unit = bottom << self.scale
                return [Fraction(tops[s], unit) if s in alive else None for s in range(self.states)], policy

    def gaps(self, values: Vector) -> dict[tuple[int, int], Fraction]:
        """Return Q*(s, a) - V*(s) of the pairs where both are finite."""
        found = {}
        for (state, action), (total, row) in self.rows.items():
            ahead = [(values[s], weight) for s, weight in row.items() if s < self.states]
            value = values[state]
            if value is None or any(v is None for v, _ in ahead):
                continue
            cost = Fraction(self.costs[state, action]) / (1 << self.scale)
            found[state, action] = (
                cost + sum(v * weight for v, weight in ahead if v is not None) / Fraction(total) - value
            )
        return found

    def ties(self, values: Vector, slack: Fraction = Fraction(0)) -> set[tuple[int, int]]:
        """Return the pairs whose gap is zero, or at most so large relative to their Q."""
        found = set()
        for pair, gap in self.gaps(values).items():
            value = values[pair[0]]
            assert value is not None
            if gap <= slack * (value + gap):
                found.add(pair)
        return found

    def fastest(self, pairs: Iterable[tuple[int, int]]) -> Vector:
        """Return the least hitting times of proper policies that play only the given pairs."""
        return self.restricted(pairs, unit_costs=True).best()[0]

    def free_loops(self) -> list[set[int]]:
        """Return the maximal end components of rows that cost nothing, by brute force over the sets of states."""
        free = [pair for pair, cost in self.costs.items() if cost == 0]
        loops: list[set[int]] = []
        subsets = sorted(
            (set(np.flatnonzero(chosen).tolist()) for chosen in product((0, 1), repeat=self.states)), key=len
        )
        for subset in reversed(subsets[1:]):
            inside = [pair for pair in free if pair[0] in subset and self.rows[pair][1].keys() <= subset]
            if {state for state, _ in inside} == subset and not any(subset <= loop for loop in loops):
                edges: dict[int, set[int]] = {state: set() for state in subset}
                for pair in inside:
                    edges[pair[0]] |= self.rows[pair][1].keys()
                if all(forward(edges, state) == subset for state in subset):
                    loops.append(subset)
        return loops

    def unreachable(self, start: int) -> set[int]:
        """Return the states without a path from the start."""
        edges: dict[int, set[int]] = {state: set() for state in range(self.states + 1)}
        for (state, _), (_, row) in self.rows.items():
            edges[state] |= row.keys()
        return set(range(self.states)) - forward(edges, start) - {start}


def forward(edges: dict[int, set[int]], start: int) -> set[int]:
    """Return what can be reached in one step or more."""
    seen: set[int] = set()
    heads = [start]
    while heads:
        new = edges[heads.pop()] - seen
        seen |= new
        heads += new
    return seen


def solve_integers(matrix: list[list[int]], right: list[int]) -> tuple[list[int], int]:
    """Solve a linear system whose leading minors are positive by Bareiss' elimination without fractions."""
    n = len(matrix)
    table = [[*row, last] for row, last in zip(matrix, right, strict=True)]
    previous = 1
    for k in range(n):
        pivot = table[k][k]
        assert pivot > 0, "the policy is not proper"
        for i in range(n):
            if i != k:
                factor = table[i][k]
                table[i] = [(pivot * x - factor * y) // previous for x, y in zip(table[i], table[k], strict=True)]
        previous = pivot
    return [row[n] for row in table], previous


def reached_surely(exact: Exact, policy: dict[int, int]) -> set[int]:
    """Return the states from which a policy, given on some states, reaches the goal with probability one."""
    followed = {(state, action) for state, action in policy.items() if (state, action) in exact.rows}
    return exact.restricted(followed).sure()[0]


def exact_policy_values(ssp: SSP, policy: Sequence[int], *, unit_costs: bool = False) -> Vector:
    """Return what a deterministic policy costs; None where it does not reach the goal almost surely."""
    exact = Exact.of(ssp, unit_costs=unit_costs)
    chosen = {state: int(action) for state, action in enumerate(policy)}
    sure = reached_surely(exact, chosen)
    tops, bottom = exact.evaluate({state: chosen[state] for state in sorted(sure)})
    return [Fraction(tops[s], bottom << exact.scale) if s in sure else None for s in range(ssp.states)]


def exact_mixture_values(ssp: SSP, policy: np.ndarray, *, unit_costs: bool = False) -> Vector:
    """Return what a policy that plays at random costs; None where it does not reach the goal almost surely."""
    return Exact.of_mixture(ssp, policy, unit_costs=unit_costs).best()[0]


def exact_policy_steps(ssp: SSP, policy: Sequence[int]) -> Vector:
    """Return the expected number of steps of a deterministic policy."""
    return exact_policy_values(ssp, policy, unit_costs=True)


def exact_goal_first(exact: Exact, policy: Sequence[int]) -> tuple[list[Fraction], list[Fraction] | None]:
    """Return the probability of reaching the goal under a policy, and its cost until the episode is decided.

    It is decided at the goal, and where no path leads to it. The cost is None if some episodes are never decided.
    """
    alive = can_reach(exact.states, exact.rows)
    played = {(state, action): exact.rows[state, action] for state, action in enumerate(policy) if action >= 0}
    decided = {  # all that are not alive are one with the goal
        pair: (total, {successor if successor in alive else exact.states: 0 for successor in row})
        for pair, (total, row) in played.items()
        if pair[0] in alive
    }
    wins = {pair: row.get(exact.states, 0) for pair, (_, row) in played.items()}
    prices = {pair: int(total * exact.costs[pair]) for pair, (total, _) in played.items()}
    probability = expected_sum(exact.states, played, sorted(can_reach(exact.states, played)), wins, 1)
    if can_reach(exact.states, decided) != alive:
        return probability, None
    return probability, expected_sum(exact.states, played, sorted(alive), prices, 1 << exact.scale)


def expected_sum(
    states: int, played: dict[tuple[int, int], Row], inner: list[int], amounts: dict[tuple[int, int], int], unit: int
) -> list[Fraction]:
    """Return what a chain is expected to collect before it leaves some states; amounts are times the sum of weights."""
    pairs = {state: (state, action) for state, action in played}
    matrix = []
    for state in inner:
        total, row = played[pairs[state]]
        matrix.append([total * (state == other) - row.get(other, 0) for other in inner])
    tops, bottom = solve_integers(matrix, [amounts[pairs[state]] for state in inner])
    collected = [Fraction(0)] * states
    for state, top in zip(inner, tops, strict=True):
        collected[state] = Fraction(top, bottom * unit)
    return collected


def best_goal_first(ssp: SSP) -> tuple[list[Fraction], list[Fraction]]:
    """Try every policy: the largest probabilities, and the smallest cost of those that have them and always decide."""
    exact = Exact.of(ssp)
    choices = [np.flatnonzero(ssp.available[state]).tolist() or [-1] for state in range(ssp.states)]
    found = [exact_goal_first(exact, policy) for policy in product(*choices)]
    largest = [max(column) for column in zip(*(probability for probability, _ in found), strict=True)]
    costs = [cost for probability, cost in found if probability == largest and cost is not None]
    return largest, [min(column) for column in zip(*costs, strict=True)]


def can_reach(states: int, rows: dict[tuple[int, int], Row]) -> set[int]:
    """Return the states from which some path leads to the goal."""
    reached = {states}
    grown = True
    while grown:
        new = {state for (state, _), (_, row) in rows.items() if not reached.isdisjoint(row)} - reached
        reached |= new
        grown = bool(new)
    return reached - {states}


def linear_program(ssp: SSP, sure: np.ndarray) -> np.ndarray:
    """Return V* on the sure states as the largest V with V <= c + P V for every row inside; infinity elsewhere."""
    number = np.cumsum(sure) - 1
    data: list[float] = []
    places: tuple[list[int], list[int]] = ([], [])
    right: list[float] = []
    for state, action in np.argwhere(ssp.available & sure[:, None]).tolist():
        successors, probabilities = ssp.row(state, action)
        ahead = successors < ssp.states
        if not sure[successors[ahead]].all():
            continue
        places[0].extend([len(right)] * (1 + np.count_nonzero(ahead)))
        places[1].extend([int(number[state]), *number[successors[ahead]].tolist()])
        data.extend([1.0, *(-probabilities[ahead] / probabilities.sum()).tolist()])
        right.append(float(ssp.costs[state, action]))
    matrix = sparse.csr_array((data, places), shape=(len(right), np.count_nonzero(sure)))
    found = optimize.linprog(-np.ones(matrix.shape[1]), A_ub=matrix, b_ub=right, bounds=(0.0, None), method="highs")
    assert found.status == 0, found.message
    values = np.full(ssp.states, np.inf)
    values[sure] = found.x
    return values
