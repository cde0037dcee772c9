"""The loop: an agent plans, the world carries it out, the agent learns.

It ends when all episodes are over, when `max_steps` are done, when `watch` returns False, or where nothing can be done
any more. Whatever the reason, the Run says it. An episode that did not end at the goal is marked, and never learnt as
one that did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goalward.acting.compiled_stretches import SelfActing
from goalward.acting.rollout import Ended, Rollout
from goalward.acting.stepping import Stepwise
from goalward.agents.base import Agent, Plan, StepAgent
from goalward.continuous.base import ContinuousAgent
from goalward.continuous.box_task import BoxSteps
from goalward.continuous.stepping import BoxStage
from goalward.errors import PolicyError
from goalward.learning.ledger import Ledger
from goalward.learning.regret import Optimum
from goalward.learning.replay import Observer, Recorder
from goalward.learning.run import Run
from goalward.long_work import phase
from goalward.ssp.model import SSP

__all__ = ["AnyAgent", "Loop", "Watch"]

Watch = Callable[[int, int], object]
AnyAgent = Agent | StepAgent | ContinuousAgent
# Plain integers: arithmetic on flags is slow, and this is done for every plan.
EPISODES, MAX_STEPS, STOPPED = int(Ended.EPISODES), int(Ended.MAX_STEPS), int(Ended.STOPPED)
RUN_OVER = EPISODES | MAX_STEPS | STOPPED | int(Ended.DEAD_END)


def join(pieces: list[Any]) -> Any:
    """Return pieces of a trajectory as one, copied."""
    return type(pieces[0])(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


class Loop:
    """One run in progress."""

    def __init__(
        self,
        agent: AnyAgent,
        stage: Rollout | Stepwise | BoxStage,
        ledger: Ledger,
        max_steps: int,
        keep_plans: bool,
        keep_steps: bool,
        watch: Watch | None,
        observer: Observer | None,
    ):
        self.agent, self.ledger = agent, ledger
        # A stage, its plans and its agents fit together, which types cannot say.
        self.stage: Any = stage
        self.max_steps, self.watch, self.observer = max_steps, watch, observer
        self.plans: list[Any] | None = [] if keep_plans else None
        self.pieces: list[Any] | None = [] if keep_steps else None

    def go(self) -> Ended:
        """Learn until the run is over; return why."""
        ended = 0
        agent, stage = self.agent, self.stage
        with phase(f"{agent.name} learns", len(self.ledger.costs), "episodes", "steps") as self.progress:
            while not ended & RUN_OVER:
                if isinstance(agent, StepAgent):
                    ended = self.epoch_of_steps(agent)
                elif isinstance(agent, SelfActing) and isinstance(stage, Rollout) and self.leaves_alone(agent):
                    ended = self.epochs_alone(agent, stage)
                else:
                    ended = self.epoch(agent)
        return Ended(ended & RUN_OVER)

    def epoch(self, agent: Agent | ContinuousAgent) -> int:
        """Make a plan, follow it to its end and learn; return what ended it."""
        ledger = self.ledger
        start_step, start_episode, goals = ledger.total_steps, ledger.episodes_over, 0
        plan: Any = agent.plan(self.stage.state)
        if isinstance(agent, Agent) and not isinstance(plan, Plan):
            raise PolicyError(
                f"plan of {agent.name} returned {plan!r:.60}; it must return a Plan, such as Plan(policy)"
            )
        if self.plans is not None:
            self.plans.append(plan)
        if self.observer is not None:
            self.observer.plan(plan, self.stage.state)
        self.stage.begin(plan)
        ended = 0
        while not ended:
            steps, ended = self.stage.advance(*self.room())
            arrivals = self.enter(steps)
            if len(steps.states):
                agent.observe(steps)
            goals += arrivals
            ended |= self.outside()
        ledger.close_epoch(start_step, start_episode, goals, ended)
        if self.observer is not None:
            self.observer.close(ended, self.stage.state)
        return ended

    def epoch_of_steps(self, agent: StepAgent) -> int:
        """Let an agent without plans act to the end of the run; return what ended it."""
        goals = ended = 0
        while not ended:
            episodes, steps_left = self.room()
            if self.observer is not None:
                steps_left = min(steps_left, self.observer.look())
            steps, ended = self.stage.advance_with(agent, episodes, steps_left)
            goals += self.enter(steps)
            ended |= self.outside()
        self.ledger.close_epoch(0, 0, goals, ended)
        if self.observer is not None:
            self.observer.close(ended, self.stage.state)
        return ended

    def leaves_alone(self, agent: SelfActing) -> bool:
        """Return whether the agent may act by itself: nobody looks at its plans."""
        return agent.acts_itself and self.plans is None and self.observer is None

    def epochs_alone(self, agent: SelfActing, stage: Rollout) -> int:
        """Let an agent plan, act and learn by itself to the end of the run; return what ended it."""
        over = 0
        while not over:
            before = self.ledger.total_steps
            steps, ends, ended = stage.advance_alone(agent, *self.room())
            self.enter(steps)
            self.ledger.close_epochs(before + ends, ended)
            over = self.outside()
        self.ledger.close_run(over)
        return over

    def room(self) -> tuple[int, int]:
        """Return how many episodes and steps are left."""
        return len(self.ledger.costs) - self.ledger.episodes_over, self.max_steps - self.ledger.total_steps

    def enter(self, steps: Any) -> int:
        """Enter steps in the books; return how often they reached the goal."""
        before = self.ledger.episodes_over
        self.ledger.enter(steps.counted() if isinstance(steps, BoxSteps) else steps)
        if self.pieces is not None:
            self.pieces.append(join([steps]))
        if self.observer is not None:
            self.observer.enter(steps)
        return self.ledger.episodes_over - before

    def outside(self) -> int:
        """Return what ends the run for a reason outside the plan."""
        ledger = self.ledger
        self.progress.advance(ledger.episodes_over, ledger.total_steps)
        if self.stage.cut:
            ledger.break_off()
            self.agent.restart()
        over = 0
        if ledger.episodes_over == len(ledger.costs):
            over |= EPISODES
        elif ledger.total_steps >= self.max_steps:
            over |= MAX_STEPS
        if self.watch is not None and self.watch(ledger.episodes_over, ledger.total_steps) is False:
            over |= STOPPED
        return over

    def run(self, seed: int, best: Optimum, ended: Ended, world: SSP | None) -> Run:
        """Close the books."""
        ledger = self.ledger
        count = ledger.started
        return Run(
            agent=self.agent,
            seed=seed,
            episodes=len(ledger.costs),
            costs=ledger.costs[:count],
            steps=ledger.steps[:count],
            gaps=ledger.gaps[:count],
            reached=ledger.reached[:count],
            epochs=ledger.columns(),
            optimal_value=best.value,
            ended=ended,
            plans=None if self.plans is None else tuple(self.plans),
            trajectory=None if self.pieces is None else join(self.pieces),
            world=world,
            replay=self.observer.replay() if isinstance(self.observer, Recorder) else None,
        )
