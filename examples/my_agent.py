"""Epsilon-greedy: plan in the world as estimated so far, and play any action one time in ten."""

import numpy as np

import goalward as gw
from goalward.agents import Agent, Plan


class EpsilonGreedy(Agent):
    """Follows the best policy of the estimated model, with some chance in every action."""

    epsilon: float = 0.1

    def begin(self, task, rng):
        """Start from scratch."""
        super().begin(task, rng)
        # One imagined arrival at the goal for each available action, so that every estimate has a way there.
        self.counts = np.zeros((task.states, task.actions, task.states + 1))
        self.counts[task.available, task.goal] = 1.0

    def plan(self, state):
        """Return what to do for the next episode."""
        rows = self.counts / np.maximum(self.counts.sum(axis=2, keepdims=True), 1.0)
        model = gw.SSP.from_dense(rows, self.task.costs, initial_state=self.task.initial_state)
        best = gw.solve(model).policy
        available = self.task.available
        chances = self.epsilon * available / available.sum(axis=1, keepdims=True)
        chances[np.arange(self.task.states), best] += 1.0 - self.epsilon
        return Plan(chances, stop_after_goals=1)

    def observe(self, steps):
        """Count what happened."""
        np.add.at(self.counts, (steps.states, steps.actions, steps.next_states), 1.0)
