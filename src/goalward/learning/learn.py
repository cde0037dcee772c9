"""`learn` lets an agent learn in a world and returns a `Run`.

A run is a pure function of the agent, the world, the number of episodes and the seed. `learn` checks these arguments
and copies the agent. Then it repeats four steps: the agent plans, the stage follows the plan, the ledger records the
steps, and the agent learns from them. The run ends when all episodes have ended, after `max_steps` steps, when `watch`
returns False, or in a state without actions. `Run.ended` gives the reason.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack, overload

import numpy as np

from goalward.acting.contract import Chunk, Plan, PlanT, Stage, Steps, Task, TaskT, World
from goalward.acting.model_world import ModelWorld
from goalward.acting.stop_conditions import NEVER, RUN_OVER, Ended
from goalward.agents import agent_file
from goalward.agents.base import Learner
from goalward.beliefs.base import Prior
from goalward.errors import GoalwardError, SettingError
from goalward.learning.checkpoint import Checkpoint, run_of
from goalward.learning.endless_runs import check_end
from goalward.learning.ledger import Ledger
from goalward.learning.regret import known_optimum
from goalward.learning.replay import Recorder
from goalward.learning.run import Run
from goalward.memory import LARGEST_NUMBER
from goalward.progress import phase, shown
from goalward.seeds import checked_seed, generator, run_seed, streams
from goalward.settings import Size, between, check
from goalward.signals import Interrupted, stop_requests
from goalward.ssp.model import SSP

Watch = Callable[[int, int], object]
# Plain integers, because arithmetic on flags is slow and is needed for every plan.
EPISODES, MAX_STEPS, STOPPED = int(Ended.EPISODES), int(Ended.MAX_STEPS), int(Ended.STOPPED)
ENDS_RUN = int(RUN_OVER)
KEEP = {"keep_plans", "keep_steps", "keep_replay"}
PATIENCE = 0.1  # the loop checks for Ctrl-C about this often, in seconds


class Steppable(Protocol):
    """An environment with the interface of Gymnasium."""

    def reset(self, *, seed: int | None = None) -> Any: ...
    def step(self, action: Any) -> Any: ...


class Options(TypedDict, total=False):
    """The options of `learn`, for type checkers."""

    max_steps: int | None
    resume: bool
    keep_plans: bool
    keep_steps: bool
    keep_replay: bool | Recorder
    watch: Watch | None
    checkpoint: str | Path | None
    every: float


@overload
def learn(agent: Learner[Task, Plan], world: SSP, episodes: int, seed: int = 0, **options: Unpack[Options]) -> Run: ...
@overload
def learn(
    agent: Learner[TaskT, PlanT],
    world: World[TaskT, PlanT] | Steppable,
    episodes: int,
    seed: int = 0,
    **options: Unpack[Options],
) -> Run: ...
def learn(
    agent: Learner[Any, Any],
    world: SSP | Steppable | World[Any, Any],
    episodes: int,
    seed: int = 0,
    *,
    max_steps: int | None = None,
    resume: bool = False,
    keep_plans: bool = False,
    keep_steps: bool = False,
    keep_replay: bool | Recorder = False,
    watch: Watch | None = None,
    checkpoint: str | Path | None = None,
    every: float = 60.0,
) -> Run:
    """Let an agent learn in a world, and return the run.

    After Ctrl-C, `learn` returns the run so far. A second Ctrl-C raises KeyboardInterrupt at once. If the environment
    or the agent raises an exception, `learn` raises the same exception with the run so far in its attribute `run`.

    Parameters
    ----------
    agent
        The agent. `learn` does not change this object: a copy learns, and ``run.agent`` is the copy.
    world
        A model, a Gymnasium environment with finitely many actions and observations, or a task with continuous states
        (for agents with continuous states). `goalward.Environment` wraps an environment and sets which steps reach the
        goal, the costs of steps, and whether the agent may give up. Regret is known only in models and in environments
        that contain a model.
    episodes
        The number of episodes, K.
    seed
        Determines all random numbers. With the same seed, all agents get the same random number at step t.
    max_steps
        End the run after this many steps, even in the middle of an episode.
    resume
        Start with the knowledge that the agent has from an earlier run, instead of learning from scratch.
    keep_plans
        Store the plans and their models in the Run.
    keep_steps
        Store all steps in the Run.
    keep_replay
        Store the data for `goalward.watch` in the Run (with continuous states, the plans and the steps). If you pass a
        `Recorder` of your own, `learn` calls its methods during the run.
    watch
        A function that is called regularly with two arguments, the numbers of finished episodes and steps. If the
        function returns False, the run ends.
    checkpoint, every
        The run is saved to the file `checkpoint` every `every` seconds and when the run ends or is interrupted. If the
        file exists, `learn` with the same arguments resumes the run: see `goalward.learning.checkpoint`.

    Returns
    -------
    Run
        The run, with the costs, steps and regret of each episode, the epochs, and the agent after learning.

    Raises
    ------
    EndlessRunError
        If the run might never end, because a dead end or a zero-cost loop can be reached from the start (see
        `goalward.learning.endless_runs`). The error is also raised if an environment ends an episode before the goal,
        unless the agent may give up or `max_steps` limits the run.
    UnreachableGoalError
        If no policy reaches the goal almost surely from the start.

    Examples
    --------
    >>> import goalward as gw
    >>> world = gw.worlds.grid_world()
    >>> run = gw.learn(gw.agents.PSRL(), world, episodes=500, seed=1)
    >>> run
    Run(psrl, episodes=500, steps=3300, seed=1, regret=281.762, epochs=193)
    >>> more = gw.learn(run.agent, world, episodes=500, seed=2, resume=True)
    >>> bool(more.gap_regret[-1] < run.gap_regret[-1])
    True
    """
    loop = Loop(**locals())
    with shown(), stop_requests() as loop.stop_requests:
        try:
            return loop.run()
        except BaseException as error:
            run = loop.interrupted(error)
            if isinstance(error, KeyboardInterrupt | Interrupted) and loop.stop_requests() < 2:
                return run
            vars(error)["run"] = run
            error.add_note(
                f"error.run holds the run of {run.agent.name} up to this error; continue with"
                " learn(error.run.agent, ..., resume=True)"
            )
            raise


def run_agent(
    agent: Learner[Any, Any],
    world: SSP | Steppable | World[Any, Any],
    episodes: int,
    seed: int = 0,
    **options: Unpack[Options],
) -> Run:
    """Return the same run as `learn`, but show no progress and handle neither signals nor exceptions."""
    return Loop(agent, world, episodes, seed, **options).run()


class Loop:
    """A run in progress, which starts from scratch or from its checkpoint; see `learn` for the arguments."""

    def __init__(
        self,
        agent: Learner[Any, Any],
        world: SSP | Steppable | World[Any, Any],
        episodes: int,
        seed: int,
        **options: Unpack[Options],
    ):
        check("episodes", episodes, between(1, LARGEST_NUMBER))
        check_arguments(agent, world)
        target, self.seed, self.watch = as_world(world, agent.continuous), checked_seed(seed), options.get("watch")
        limit, resume, path = options.get("max_steps"), options.get("resume", False), options.get("checkpoint")
        self.max_steps = NEVER if limit is None else check("max_steps", limit, Size)
        if resume and getattr(agent, "task", None) is None:
            raise SettingError(f"{agent.name} has not learnt anything yet; resume with the agent of an earlier run")
        agent.check_world(world, continuous=target.continuous)
        if target.graph is not None:
            check_end(target.graph, agent, limited=limit is not None)
        if path is not None and KEEP & {name for name, value in options.items() if value}:
            raise SettingError("a checkpoint stores no plans, steps or replays; omit the keep_... options")
        stage_seed, self.checkpoint = self.seed, None
        if path is not None:
            run = run_of(agent, target.model, episodes, self.seed, resume)
            self.checkpoint = Checkpoint(path, options.get("every", 60.0), run)
            saved = self.checkpoint.saved
            if saved is not None and saved["position"] is None:  # an environment, which starts a new episode
                agent, resume = self.checkpoint.agent(agent), True
                stage_seed = run_seed(self.seed, "checkpoint", int(saved["ledger"]["total_steps"]))
        best = None if target.model is None else known_optimum(target.model)
        gaps, self.optimal_value = (None, np.nan) if best is None else (best.gaps, best.value)
        task = target.task(episodes, agent.task if resume else None)
        self.agent = prepare(agent, task, generator(streams(stage_seed).planning), resume)
        self.stage: Stage[Any] = target.stage(stage_seed, limited=limit is not None)
        self.ledger = Ledger(episodes, gaps)
        self.world = None if resume else target.model
        # Plans and steps are kept if there is a list for them; with continuous states, they are the replay.
        replay = options.get("keep_replay", False)
        self.plans: list[Any] | None = [] if options.get("keep_plans") or (replay and target.continuous) else None
        self.pieces: list[Steps] | None = [] if options.get("keep_steps") or (replay and target.continuous) else None
        recorder = Recorder() if replay and not target.continuous else None
        self.observer = replay if isinstance(replay, Recorder) else recorder
        if self.observer is not None:
            self.observer.begin(self.agent, task, gaps, self.optimal_value)
        self.plan: Any = None  # in progress
        self.plan_ended = 0  # why the plan has ended, if it has
        self.pace = 1  # how many steps an online agent makes in about PATIENCE seconds
        self.stop_requests: Callable[[], int] = lambda: 0
        if self.checkpoint is not None:
            self.checkpoint.restore(self)

    def run(self) -> Run:
        ended = 0
        with phase(f"{self.agent.name} learns", len(self.ledger.costs), "episodes", "steps") as self.progress:
            while not ended & ENDS_RUN:
                ended = self.epoch()
        return self.result(Ended(ended & ENDS_RUN))

    def result(self, ended: Ended) -> Run:
        return Run(
            self.agent,
            self.seed,
            len(self.ledger.costs),
            *self.ledger.episode_columns(),
            epochs=self.ledger.epochs(),
            optimal_value=self.optimal_value,
            ended=ended,
            plans=None if self.plans is None else tuple(self.plans),
            trajectory=join(self.pieces) if self.pieces else None,
            world=self.world,
            replay=None if self.observer is None else self.observer.replay(),
        )

    def epoch(self) -> int:
        """Follow the current plan, or a new plan, until the plan ends; return the `Ended` flags of the epoch."""
        agent, stage, ledger, observer, file = self.agent, self.stage, self.ledger, self.observer, self.checkpoint
        if self.plan is None and not self.plan_ended:
            self.plan = self.make_plan()
        ended, plan = self.plan_ended, self.plan
        while not ended:
            episodes = len(ledger.costs) - ledger.episodes_over
            room = self.max_steps - ledger.total_steps
            if observer is not None:
                room = min(room, observer.room())
            start = time.monotonic()
            try:
                chunk = stage.follow(plan, episodes, min(room, self.pace) if agent.online else room)
            except BaseException:
                self.record(stage.unfinished())
                raise
            quick = time.monotonic() - start < PATIENCE
            self.pace = 1 + (2 * self.pace if quick else self.pace // 4)
            self.record(chunk)
            ended = chunk.ended | self.ended_outside()
            if file is not None and (ended & ENDS_RUN or time.monotonic() >= file.next_time):
                file.save(self, chunk.ended)
        ledger.close_epoch(ended)
        if observer is not None:
            observer.close(ended, stage.state)
        self.plan, self.plan_ended = None, 0
        return ended

    def make_plan(self) -> Any:
        if self.checkpoint is not None:
            self.checkpoint.before_plan = copy.deepcopy(agent_file.progress(self.agent))
        plan = self.agent.plan(self.stage.state)
        if self.checkpoint is not None:
            self.checkpoint.before_plan = None
        if self.plans is not None:
            self.plans.append(plan)
        if self.observer is not None:
            self.observer.plan(plan, self.stage.state)
        return plan

    def record(self, chunk: Chunk) -> None:
        """Record the steps of a chunk, and let the agent learn from them."""
        self.ledger.add(chunk)
        if self.pieces is not None:
            self.pieces.append(join([chunk.steps]))
        if self.observer is not None:
            self.observer.enter(chunk, self.stage.state)
        if len(chunk.steps.actions):
            self.agent.observe(chunk.steps)
        if self.stage.truncated:
            self.ledger.truncate_episode()
            self.agent.restart()

    def ended_outside(self) -> int:
        """Return the flags that end the run: all episodes are done, `max_steps` is reached, or a stop was requested."""
        ledger = self.ledger
        self.progress.advance(ledger.episodes_over, ledger.total_steps)
        over = 0
        if ledger.episodes_over == len(ledger.costs):
            over |= EPISODES
        elif ledger.total_steps >= self.max_steps:
            over |= MAX_STEPS
        if self.stop_requests() or (
            self.watch is not None and self.watch(ledger.episodes_over, ledger.total_steps) is False
        ):
            over |= STOPPED
        return over

    def interrupted(self, error: BaseException) -> Run:
        """Return the run up to the exception `error`, and save the run if there is a checkpoint."""
        file = self.checkpoint
        # In a model, the agent may be in the middle of a step unless it was planning; then the last checkpoint stays.
        if file is not None and (self.stage.position() is None or file.before_plan is not None):
            try:
                file.save(self, 0)
            except GoalwardError as refused:
                error.add_note(str(refused))
        self.ledger.break_off(STOPPED)
        if self.plans is not None:
            del self.plans[len(self.ledger.epochs()) :]
        return self.result(Ended.STOPPED)


def join(pieces: list[Steps]) -> Steps:
    """Return a copy of the trajectory that consists of `pieces`."""
    return Steps._make(np.concatenate(columns) for columns in zip(*pieces, strict=True))


def as_world(world: Any, continuous: bool = False) -> World[Any, Any]:
    """Return `world` as a `World`; `continuous` says whether the agent has continuous states."""
    if isinstance(world, World):
        return world
    if isinstance(world, SSP):
        return ModelWorld(world)
    # Imported here because only unwrapped environments need it.
    from goalward.continuous.task import world_of

    return world_of(world, continuous)


def check_arguments(agent: object, world: object) -> None:
    """Raise SettingError if `agent` and `world` are swapped, or if one of them is only a name."""
    if isinstance(world, Learner):
        raise SettingError("agent and world are swapped; write learn(agent, world, episodes)")
    if isinstance(world, str):
        raise SettingError(f"world is the name {world!r:.80}; load it with gw.worlds.load_world({world!r:.80})")
    if not isinstance(agent, Learner):
        raise SettingError(
            f"agent is {agent!r}; pass an Agent or an OnlineAgent: see gw.agents, or gw.agents.make(name)"
        )


def prepare(agent: Learner[TaskT, PlanT], task: TaskT, rng: np.random.Generator, resume: bool) -> Learner[TaskT, PlanT]:
    """Return a copy of `agent` that is ready to learn `task`; with `resume`, the copy keeps the learnt data."""
    before: Any = getattr(agent, "task", None)
    if resume and not before.is_like(task):
        raise SettingError(
            f"{agent.name} has learnt in another world and cannot resume in this world: states, actions, costs and the"
            " start must be the same"
        )
    # A run must not change the agent of another run, so everything mutable is copied.
    learner = copy.deepcopy(agent, {id(value): value for value in vars(agent).values() if is_constant(value)})
    if resume:
        learner.task, learner.rng = task, rng
        learner.restart()
    else:
        learner.begin(task, rng)
    return learner


def is_constant(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    return isinstance(value, Prior | SSP) or hasattr(value, "is_like")  # a task
