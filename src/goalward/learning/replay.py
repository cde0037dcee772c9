"""Replays: recordings of the epochs of a run, to be watched after the run.

A `Recorder` observes a run without changing the run. A frame records one epoch: the plan, the reason why the epoch
ended, and the transitions seen before the start of the next frame. The visit counts at the start of a frame are the
sums over all earlier frames.

Some agents do not plan in epochs: they choose an action at every step, or follow one plan for the whole run. Frames of
these agents are snapshots, taken after 1, 2, 3, ... steps, and later whenever the number of steps has grown by 5 %.

A frame also lists its first steps (at most `MOST_STEPS_OF_FRAME`), so that a page can animate the agent.

Thinning
    A replay keeps at most `MOST_FRAMES` frames, or fewer if there are many states or transitions. Beyond this limit,
    every second frame is dropped, except the first quarter and the epoch of the first goal. The transitions of a
    dropped frame are added to the previous frame, so the counts of every frame are exact.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np

from goalward.acting.contract import Chunk, Plan, Policy, Task
from goalward.acting.stop_conditions import NEVER, Ended
from goalward.agents.base import Learner, OnlineAgent
from goalward.arrays import Bools, Floats, Int64s
from goalward.beliefs.dirichlet import DirichletBelief
from goalward.ssp.model import SSP

MOST_FRAMES = 600
MOST_NUMBERS = 150_000
"""The maximum total size of the values of all frames, which permits fewer frames with more than 250 states."""
MOST_SEEN = 250_000
"""The largest total size of the seen transitions of all frames."""
FEWEST_FRAMES = 24
MOST_MODEL_NUMBERS = 270_000
"""The largest total number of probabilities of models in a replay."""
GROWTH = 0.05
MOST_STEPS_OF_FRAME = 1000
Look = tuple[Bools, Floats | None, Floats | None, SSP | None]
"""The attributes `played`, `shares`, `values` and `model` of a `Frame`."""


@dataclass(eq=False)
class Frame:
    """One epoch, or one snapshot of an agent without plans.

    Attributes
    ----------
    epoch, start_step, start_episode
        The number of the epoch, counted from 0, and the numbers of steps and of finished episodes before this epoch.
    played
        ``[S, A]``: whether the plan can play each action in each state.
    shares
        ``[S, A]``: the probabilities of the actions; None if all played actions of a state are equally likely.
    values, model
        The expected cost from each state, and the model from which the plan was computed. Both are None if the agent
        has neither. `model` is also None if costs are unknown.
    steps, goals, ended
        The number of steps of the epoch, the number of arrivals at the goal, and the `Ended` flags of the epoch.
    pair
        The row ``s * A + a`` whose visits ended the epoch; -1 if the epoch ended for another reason.
    seen, times
        The transitions seen before the next frame, encoded as ``(s * A + a) * (S + 1) + s'``, and their counts.
    path
        The transitions of the first steps in order, with the same encoding.
    """

    epoch: int
    start_step: int
    start_episode: int
    played: Bools
    shares: Floats | None
    values: Floats | None
    model: SSP | None
    steps: int = 0
    goals: int = 0
    ended: int = 0
    pair: int = -1
    seen: Int64s = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    times: Int64s = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    path: Int64s = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def count(self, seen: Int64s, times: Int64s) -> None:
        """Add the transitions `seen` with their counts `times`."""
        self.seen, indices = np.unique(np.concatenate([self.seen, seen]), return_inverse=True)
        self.times = np.bincount(indices, weights=np.concatenate([self.times, times])).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Replay:
    """A recorded run.

    Attributes
    ----------
    agent, task
        The agent after learning, and its task.
    frames
        The kept frames in order. The last frame has no steps and shows the end of the run.
    epochs
        The number of epochs of the run.
    has_plans
        Whether the agent plans in epochs. If True, frames are epochs; if False, frames are snapshots.
    costs, gaps, ends
        At each arrival at the goal: the total cost, the sum of the optimality gaps, and the number of steps so far.
    optimal_value
        V*(s_init); NaN if the true model is not known.
    belief
        The Dirichlet belief of the agent if learning started from the prior and costs are known, otherwise None. With
        this belief, the visit counts determine the posterior.
    """

    agent: Learner
    task: Task
    frames: list[Frame]
    epochs: int
    has_plans: bool
    costs: Floats
    gaps: Floats
    ends: Int64s
    optimal_value: float
    belief: DirichletBelief | None = None

    @property
    def regret(self) -> Floats:
        """The realised regret after each episode that reached the goal."""
        return self.costs - self.optimal_value * np.arange(1, len(self.costs) + 1)


class Recorder:
    """An observer that records a run; `replay` returns the replay at any time during the run.

    `learn` first calls `begin`. For each plan, `learn` calls `plan`, then `room` and `enter` in turn, and then `close`.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.stride = 1

    def begin(self, agent: Learner, task: Task, gaps: Floats | None, optimal_value: float) -> None:
        """Begin a run of `agent`; if the true model is not known, `gaps` is None and `optimal_value` is NaN."""
        self.agent, self.task, self.optimal_value = agent, task, optimal_value
        self.online = agent if isinstance(agent, OnlineAgent) else None
        self.gap_table = np.full(task.costs.shape, np.nan) if gaps is None else gaps
        self.limit = max(FEWEST_FRAMES, min(MOST_FRAMES, MOST_NUMBERS // task.states))
        self.epoch = self.total_steps = self.episodes = 0
        self.paid = self.gap_sum = 0.0
        self.marks: list[tuple[Floats, Floats, Int64s]] = []
        self.steady: Plan | None = None
        self.open: Frame | None = None
        self.first_goal = -1
        belief = getattr(agent, "belief", None)
        countable = isinstance(belief, DirichletBelief) and not belief.counts.any() and not task.costs_unknown
        self.belief = belief if countable else None

    def plan(self, plan: Plan, state: int) -> None:
        """Begin an epoch with a new plan."""
        if self.online is None:  # online agents end their epochs themselves
            self.start(look_at_plan(self.agent, plan))
            # A plan without stop conditions lasts until the end of the run.
            self.steady = None if plan.stop_when_truncated or any(limit is not None for limit in plan[1:5]) else plan

    def start(self, look: Look) -> None:
        """Open a frame with the given attributes."""
        self.open = Frame(self.epoch, self.total_steps, self.episodes, *look)

    def room(self) -> int:
        """Return the maximum size of the next chunk of steps; if the agent has no plans, take a snapshot."""
        if self.online is None and self.steady is None:
            return NEVER
        if self.online is not None and self.online.current_plan() is not None:
            return 1
        if self.open is not None and (self.online is not None or self.open.steps):
            self.finish(0, -1)
        if self.online is not None:
            self.start(look_at_agent(self.online))
        elif self.open is None and self.steady is not None:
            self.start(look_at_plan(self.agent, self.steady))
        return max(1, int(self.total_steps * GROWTH))

    def enter(self, chunk: Chunk, state: int) -> None:
        """Record the steps of `chunk` in the open frame; `state` is the state after these steps."""
        steps = chunk.steps
        if not len(steps.states):
            return
        current = None if self.online is None else self.online.current_plan()
        if self.open is None and current is not None:
            self.start(look_at_plan(self.agent, current))
        frame = self.open
        assert frame is not None
        S, A = self.task.costs.shape
        rows = steps.states * A + steps.actions
        transitions = rows * (S + 1) + steps.next_states
        frame.count(*np.unique(transitions, return_counts=True))
        frame.path = np.concatenate([frame.path, transitions[: MOST_STEPS_OF_FRAME - len(frame.path)]])
        costs = self.paid + np.cumsum(steps.costs)
        gaps = self.gap_sum + np.cumsum(self.gap_table[steps.states, steps.actions])
        goals = np.flatnonzero(steps.reached)
        self.marks.append((costs[goals], gaps[goals], self.total_steps + goals + 1))
        self.paid, self.gap_sum = float(costs[-1]), float(gaps[-1])
        self.total_steps += len(rows)
        self.episodes += len(goals)
        frame.steps += len(rows)
        frame.goals += len(goals)
        self.last_row = int(rows[-1])
        for flags in chunk.epoch_flags:
            self.close(int(flags), state)

    def close(self, ended: int, state: int) -> None:
        """Record that the epoch ended in `state`; `ended` is a sum of `Ended` flags."""
        if self.open is None:  # the epoch of an online agent ended with the last step
            return
        pair = -1
        if ended & Ended.AFTER_VISITS:
            pair = self.last_row
        elif ended & Ended.BEFORE_VISITS:
            chosen = np.flatnonzero(self.open.played[state])
            pair = state * self.task.actions + int(chosen[0]) if len(chosen) == 1 else -1
        self.finish(ended, pair)

    def finish(self, ended: int, pair: int) -> None:
        """Set the attributes `ended` and `pair` of the open frame and close the frame."""
        frame = self.open
        assert frame is not None
        frame.ended, frame.pair = ended, pair
        self.open = None
        self.epoch += 1
        if self.first_goal < 0 and frame.goals:
            self.first_goal = frame.epoch
        self.keep(frame)
        while len(self.frames) > self.limit or (
            len(self.frames) > FEWEST_FRAMES
            and self.stride < self.epoch
            and sum(len(frame.seen) for frame in self.frames) > MOST_SEEN
        ):
            self.stride *= 2
            frames, self.frames = self.frames, []
            for other in frames:
                self.keep(other)

    def keep(self, frame: Frame) -> None:
        """Keep `frame`, or add its transitions to the previous frame if the thinning rule drops `frame`."""
        if frame.epoch == self.first_goal or frame.epoch < self.limit // 4 or frame.epoch % self.stride == 0:
            self.frames.append(frame)
        else:
            self.frames[-1].count(frame.seen, frame.times)

    def replay(self) -> Replay:
        """Return the replay so far; its last frame shows the current state of the run."""
        frames = list(self.frames)
        # In the middle of a run, the replay shows the open epoch up to now.
        last = self.open or (frames[-1] if frames else None)
        if last is not None:
            end: Look = (last.played, last.shares, last.values, last.model)
            if self.open is not None:
                frames.append(copy.copy(self.open))
            elif self.online is not None and self.online.current_plan() is None:
                end = look_at_agent(self.online)
            frames.append(Frame(self.epoch, self.total_steps, self.episodes, *end))
        costs, gaps, ends = (np.concatenate([np.empty(0), *(mark[i] for mark in self.marks)]) for i in range(3))
        has_plans = self.steady is None and (self.online is None or self.online.current_plan() is not None)
        facts = (self.agent, self.task, frames, self.epoch, has_plans)
        return Replay(*facts, costs, gaps, ends.astype(np.int64), self.optimal_value, self.belief)


def look_at_plan(agent: Learner, plan: Plan) -> Look:
    """Return the attributes `played`, `shares`, `values` and `model` of a frame for a plan of `agent`."""
    assert not isinstance(plan.policy, Policy)
    policy = np.asarray(plan.policy)
    shares = None
    if policy.dtype.kind == "f":
        played = policy > 0.0
        equal = np.ptp(np.where(played, policy, policy.max(axis=1, keepdims=True)), axis=1).max(initial=0.0) <= 1e-9
        shares = None if equal else policy
    else:
        played = np.asarray(policy[:, np.newaxis] == np.arange(agent.task.actions))
    # Larger models are not kept, because not even a dozen would fit. Sampled costs have no place in a replay.
    small = plan.model is not None and 12 * len(plan.model.successors) <= MOST_MODEL_NUMBERS
    values = None if plan.values is None else np.array(plan.values, dtype=np.float64)
    return played, shares, values, plan.model if small and not agent.task.costs_unknown else None


def look_at_agent(agent: OnlineAgent) -> Look:
    """Return these attributes of a frame for an `agent` without plans, which may choose other actions later."""
    agent = copy.deepcopy(agent)  # in case `act` changes the agent
    S, A = agent.task.costs.shape
    chances = (np.arange(A) + 0.5) / A
    played: Bools = np.zeros((S, A), dtype=np.bool_)
    for state in range(S):
        for chance in chances:
            played[state, agent.act(state, iter([chance]).__next__)] = True
    return played, None, agent.values(), None
