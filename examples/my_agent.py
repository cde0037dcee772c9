"""An epsilon-greedy agent: it plans in the estimated model and plays a random action with probability 0.1."""

import numpy as np

import goalward as gw
from goalward.agents import Agent, Plan


class EpsilonGreedy(Agent):
    """Follows the optimal policy of the estimated model, but plays a random action with probability `epsilon`."""

    epsilon: float = 0.1

    def begin(self, task, rng):
        """Prepare for a task, without experience."""
        super().begin(task, rng)
        # Count one imagined transition to the goal for each available action, so every estimate can reach the goal.
        self.counts = np.zeros((task.states, task.actions, task.states + 1))
        self.counts[task.available, task.goal] = 1.0

    def plan(self, state):
        """Return a plan that ends at the goal, or when the visits of some state-action pair have doubled."""
        visits = np.maximum(self.counts.sum(axis=2), 1.0)
        rows = self.counts / visits[..., np.newaxis]
        model = gw.SSP.from_dense(rows, self.task.costs, initial_state=self.task.initial_state)
        best = gw.solve(model).policy
        available = self.task.available
        chances = self.epsilon * available / available.sum(axis=1, keepdims=True)
        chances[np.arange(self.task.states), best] += 1.0 - self.epsilon
        return Plan(chances, stop_after_goals=1, stop_after_visits=visits.astype(np.int64))

    def observe(self, steps):
        """Count the transitions of some steps."""
        np.add.at(self.counts, (steps.states, steps.actions, steps.next_states), 1.0)
