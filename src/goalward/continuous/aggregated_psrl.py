"""PSRL-SSP on the cells of a box: the paper's approach to continuous states.

The box is cut into equal cells, which are the states of PSRL-SSP (see `psrl.py`); its goal is the goal set. The next
cell depends on where in its cell the agent is. So the cells are not a Markov model of the task, and nothing about the
algorithm is proved. It is the baseline of continuous PSRL-SSP.

A policy on cells may go in circles forever, although the sampled model says that it reaches the goal. An epoch of
PSRL-SSP then lasts until the visits to a state–action pair have doubled, which takes longer and longer. An epoch of
TSDE (see `psrl_variants.py`) is at most one step longer than the previous epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from goalward.acting.contract import Plan, Policy, Step, Steps, Task
from goalward.acting.model_world import TablePolicy
from goalward.acting.stop_conditions import Stop, TableStop
from goalward.agents.base import register
from goalward.agents.posterior.psrl import PSRL
from goalward.agents.posterior.psrl_variants import TSDE
from goalward.arrays import Floats
from goalward.beliefs.base import Prior
from goalward.beliefs.dirichlet import Dirichlet
from goalward.continuous.encoding import Cells
from goalward.continuous.policy import LatticePolicy
from goalward.continuous.psrl import ContinuousAgent
from goalward.continuous.task import ContinuousPlan, TaskSpec, checked_costs, per_axis
from goalward.learning.deployed_policy import LearntPolicy
from goalward.settings import Size

MOST_CELLS = 100_000
EPOCHS = {"psrl": PSRL, "tsde": TSDE}


@register("aggregated-psrl")
class AggregatedPSRL(ContinuousAgent):
    """PSRL-SSP on equal cells of a box, as in the paper's experiment with the mountain car."""

    cells: Size | Sequence[Size] = 12
    """The number of cells on each axis: one number, or a list with one for each axis. The paper uses 18 by 7."""

    prior: Prior = Dirichlet()
    """The prior over the transition probabilities between cells."""

    epochs: Literal["psrl", "tsde"] = "psrl"
    """The rule that ends epochs: "psrl", or "tsde", which ends an epoch sooner if the policy goes in circles."""

    def set_up(self, task: TaskSpec) -> None:
        self._cells = Cells(task.low, task.high, per_axis("cells", self.cells, task.dimensions, MOST_CELLS))
        self._centres = self._cells.centres()
        costs = checked_costs(task.cost(self._centres), self._centres, task.actions)
        self.table: PSRL = EPOCHS[self.epochs](self.prior)
        self.table.begin(Task(costs, 0, task.episodes), self.rng)

    def plan(self, state: Floats) -> ContinuousPlan:
        plan = self.table.plan(self._cells.one(state))
        on_cells = PlanOnCells(self, plan)
        return ContinuousPlan(on_cells, on_cells, points=self._centres, values=plan.values)

    def observe(self, steps: Steps) -> None:
        ends = np.where(steps.reached, self.table.task.goal, self._cells.of(steps.next_states))
        self.table.observe(Steps(self._cells.of(steps.states), steps.actions, steps.costs, ends, steps.reached))

    def best_policy(self) -> LatticePolicy:
        task, on_cells = self.task, LearntPolicy.of(self.table, self.table.best_policy())
        plays = np.eye(task.actions)[on_cells.table] if on_cells.table.ndim == 1 else on_cells.table
        return LatticePolicy(
            task.low, task.high, task.periodic, self._cells.shape, -plays, on_cells.visited, False, task.encoding
        )

    def restart(self) -> None:
        super().restart()
        self.table.rng = self.rng
        self.table.restart()


class PlanOnCells(Policy[Floats], Stop[Floats]):
    """Applies a plan on cells, its policy and its stop conditions, to the points of the box."""

    def __init__(self, agent: AggregatedPSRL, plan: Plan):
        shape = agent.table.task.costs.shape
        self.cells = agent._cells
        self.policy, self.stop = TablePolicy(np.asarray(plan.policy), *shape), TableStop(plan, shape)

    def act(self, state: Floats, draw: Callable[[], float]) -> int:
        self.at = self.cells.one(state)
        return self.policy.act(self.at, draw)

    def before(self, state: Floats, action: int) -> int:
        return self.stop.before(self.at, action)

    def after(self, step: Step[Floats]) -> int:
        return self.stop.after(Step(self.at, step.action, step.cost, -1, step.reached, step.truncated))
