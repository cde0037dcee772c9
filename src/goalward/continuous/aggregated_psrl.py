"""PSRL-SSP on the cells of a box. This is how the paper treats continuous states.

The box is cut into equal cells. PSRL-SSP (see `psrl.py`) treats each cell as one state. Its goal is the goal set. The
next cell depends on the exact position of the agent in the current cell. So the cells do not have the Markov property,
and nothing about the algorithm is proved. The algorithm serves as a baseline for continuous PSRL-SSP.

A policy on cells may go in circles forever, although the policy reaches the goal in the sampled model. In PSRL-SSP,
such an epoch lasts until the visits to a state–action pair have doubled, which takes longer each time. TSDE (see
`psrl_variants.py`) makes each epoch at most one step longer than the previous epoch.
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
    """PSRL-SSP with the equal cells of a box as states, as in the paper's mountain car experiment."""

    cells: Size | Sequence[Size] = 12
    """The number of cells on each axis: one number, or a list with one number per axis. The paper uses 18 by 7."""

    prior: Prior = Dirichlet()
    """The prior over the transition probabilities between cells."""

    epochs: Literal["psrl", "tsde"] = "psrl"
    """The rule that ends epochs. If a policy goes in circles, "tsde" ends the epoch sooner than "psrl"."""

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
    """Applies the policy and the stop conditions of a plan on cells to the points of the box."""

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
