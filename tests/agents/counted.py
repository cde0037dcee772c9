"""Random counts of a small world, as the optimistic kernels take them and as dense arrays."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from goalward.agents.optimistic.uc_ssp import Balls, write_balls
from goalward.beliefs.counts import Counts, RowCounts


def dense_counts(counts: Counts) -> np.ndarray:
    """n(s, a, s') as an array ``[S, A, S + 1]``."""
    dense = np.zeros((len(counts.size), counts.goal + 1))
    for row, size in enumerate(counts.size):
        dense[row, counts.successors[row, :size]] = counts.counts[row, :size]
    return dense.reshape(*counts.visits.shape, -1)


class Counted:
    """Random counts of a small world: some rows never visited, some often, the goal seen or not."""

    def __init__(self, seed: int, states: int = 4, actions: int = 2):
        rng = np.random.default_rng(seed)
        self.S, self.A, rows = states, actions, states * actions
        visits = rng.choice([0, 1, 3, 20, 500], rows)
        self.dense = np.array([rng.multinomial(n, rng.dirichlet(np.full(states + 1, 0.4))) for n in visits])
        self.costs = rng.uniform(0.1, 1.0, (states, actions))
        self.visits = visits.astype(np.int64)
        self.size = np.count_nonzero(self.dense, axis=1)
        self.successors = np.zeros((rows, states + 1), dtype=np.int32)
        self.counts = np.zeros((rows, states + 1), dtype=np.int64)
        for row in range(rows):
            seen = np.flatnonzero(self.dense[row])
            self.successors[row, : len(seen)] = seen
            self.counts[row, : len(seen)] = self.dense[row, seen]
        self.radius = np.where(visits == 0, 3.0, rng.choice([1e-9, 0.03, 0.3, 0.9, 1.9, 2.5], rows))
        self.values = rng.choice([0.0, 1.0, 2.5, 2.5, 7.0], states)
        self.phat = self.dense / np.maximum(self.visits, 1)[:, np.newaxis]

    @property
    def rows(self) -> RowCounts:
        return RowCounts(self.size, self.successors, self.counts, self.visits)

    def balls(self) -> Balls:
        balls = Balls.empty(len(self.visits), self.S + 1)
        write_balls(self.rows, self.S, self.A, 0.1, 1.0, balls)
        return balls._replace(beta=self.radius)

    def least_over_ball(self, row: int, values: np.ndarray) -> float:
        """Σ p̃ V as a linear program in p̃ and |p̃ - p̂|; anything goes for a row never visited."""
        if not self.visits[row]:
            return 0.0
        n = self.S + 1
        eye = np.eye(n)
        found = optimize.linprog(
            np.concatenate([values, [0.0], np.zeros(n)]),
            A_ub=np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]]),
            b_ub=np.concatenate([self.phat[row], -self.phat[row], [self.radius[row]]]),
            A_eq=np.concatenate([np.ones(n), np.zeros(n)])[np.newaxis],
            b_eq=[1.0],
        )
        assert found.status == 0
        return float(found.fun)
