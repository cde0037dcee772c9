"""Policies to deploy: they act on observations, can be saved, and can be evaluated in a world.

``run.policy`` is the best policy that the agent knows, without exploration. The policy takes an observation of the
environment and returns an action of the environment, or None. None means to give up: reset the environment. A saved
policy is plain data (`goalward.archive`) and can be loaded without the environment and without Gymnasium.

Unknown observations
    If the agent never acted on an observation, the policy gives up. If giving up is not allowed, the policy plays a
    random available action, because a fixed action could repeat forever. See `FrozenPolicy.knows`.

Evaluation
    An *episode* runs until the goal is reached. Its cost includes restarts after giving up or a truncation, so the mean
    cost can be compared with V*. An *attempt* runs from a reset to the goal, a dead end, a truncation or giving up. An
    episode that does not reach the goal in `max_steps` steps is a failure, and the mean cost is then a lower bound.
    With the same seed, episode k has the same environment seed for every policy.
"""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

from goalward import archive
from goalward.acting.contract import Plan, Task, World
from goalward.acting.encoding import Encoding
from goalward.acting.model_world import TablePolicy
from goalward.agents.base import Agent
from goalward.arrays import Bools, Floats, Int64s
from goalward.errors import FileError, GoalwardError, SettingError, StateError
from goalward.formatting import Interval, with_margin
from goalward.seeds import checked_seed, generator, run_seed, streams
from goalward.settings import Confidence, Size, between, check
from goalward.statistics import mean_interval, share

FORMAT, VERSION = "goalward-policy", 1
KINDS = {
    "table": "goalward.learning.deployed_policy:LearntPolicy",
    "lattice": "goalward.continuous.policy:LatticePolicy",
}
"""The class of each kind of policy in a file."""
MOST_ACTIONS = 1_000_000


@dataclass(frozen=True, eq=False)
class Trial:
    """The costs of a policy in a number of episodes, as returned by `FrozenPolicy.evaluate`.

    Attributes
    ----------
    costs, steps
        The cost and the number of steps of each episode, including restarts.
    reached
        Whether each episode reached the goal. A failed episode has the cost of all its steps.
    attempts
        The number of attempts in each episode; only the last attempt can have reached the goal.
    max_steps
        The limit on the steps of an episode.
    """

    costs: Floats
    steps: Int64s
    reached: Bools
    attempts: Int64s
    max_steps: int

    @cached_property
    def cost(self) -> Interval:
        """The mean cost of an episode with a 95 % interval; it is a lower bound if an episode missed the goal."""
        return mean_interval(self.costs)

    @cached_property
    def success_rate(self) -> Interval:
        """The share of attempts that reached the goal, with a 95 % interval (Clopper-Pearson)."""
        return share(self.successes, int(self.attempts.sum()))

    def probability(self, bound: float) -> Interval:
        """Return the share of episodes that reached the goal at a cost of at most `bound`, with a 95 % interval."""
        return share(int(np.count_nonzero(self.reached & (self.costs <= bound))), len(self.costs))

    def quantile(self, level: float) -> Interval:
        """Return the `level` quantile of the cost of an episode, with a 95 % interval of order statistics.

        An episode that did not reach the goal has an infinite cost. The interval is valid for every distribution. If
        too few episodes lie below or above the quantile, that end of the interval is infinite.
        """
        from scipy.stats import binom

        check("level", level, Confidence)
        n = len(self.costs)
        padded = np.concatenate([[-np.inf], np.sort(np.where(self.reached, self.costs, np.inf)), [np.inf]])
        low, high = int(binom.ppf(0.025, n, level)), int(binom.ppf(0.975, n, level)) + 1
        return Interval(float(padded[int(np.ceil(n * level))]), float(padded[low]), float(padded[high]), n)

    def cvar(self, level: float) -> Interval:
        """Return the mean cost of the worst episodes (a share of 1 - `level`), with a 95 % interval.

        The result is v + E[(X - v)+] / (1 - level), where v is the quantile. It is a lower bound if an episode did not
        reach the goal. The interval assumes many episodes: with fewer than about 30 episodes beyond the quantile, the
        interval is too narrow.
        """
        check("level", level, Annotated[float, Ge(0.0), Lt(1.0)])
        v = np.sort(self.costs)[max(int(np.ceil(len(self.costs) * level)) - 1, 0)]
        return mean_interval(v + np.maximum(self.costs - v, 0.0) / (1.0 - level))

    @property
    def successes(self) -> int:
        """The number of attempts that reached the goal, which is at most one in each episode."""
        return int(np.count_nonzero(self.reached))

    def __str__(self) -> str:
        failures = len(self.reached) - self.successes
        bound = "at least " if failures else ""
        why = f"; {failures:,} did not reach the goal in {self.max_steps:,} steps" if failures else ""
        return (
            f"mean cost:    {bound}{with_margin(self.cost)} ({len(self.costs):,} episodes{why})\n"
            f"success rate: {with_margin(self.success_rate)} ({int(self.attempts.sum()):,} attempts; 95 % intervals)"
        )

    __repr__ = __str__


class FrozenPolicy(ABC):
    """The base class of policies to deploy. A policy acts on observations and no longer learns."""

    kind: ClassVar[str]
    """The kind of policy in a saved file: a key of `KINDS`."""

    continuous: ClassVar[bool] = False
    """Whether the policy is for continuous states."""

    give_up: int | None = None
    """The number of the action that gives up; None if the policy may not give up."""

    @abstractmethod
    def act(self, observation: Any) -> Any:
        """Return the action for `observation`; None means to give up by resetting the environment."""

    @abstractmethod
    def knows(self, observation: Any) -> bool:
        """Return whether the agent has acted on `observation`; if not, `act` gives up or plays a random action."""

    @abstractmethod
    def plan(self, world: World[Any, Any]) -> Any:
        """Return the policy as a plan for `world`; raise SettingError if the states or actions do not match."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return the policy as plain data and arrays."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any], key: Callable[[Any], Any] | None) -> Self:
        """Return the policy from the data of `to_state`; raise an error if the data are invalid."""

    def save(self, path: str | Path) -> None:
        """Save the policy to the file `path`, for `load_policy`."""
        archive.write(Path(path), FORMAT, VERSION, {"kind": self.kind, "policy": self.to_state()})

    def evaluate(self, world: Any, episodes: int = 200, seed: int = 0, *, max_steps: int = 10_000) -> Trial:
        """Run the policy in a world and return its costs.

        Parameters
        ----------
        world
            A model, a Gymnasium environment, or a world such as `goalward.Environment`.
        episodes
            The number of episodes.
        seed
            Determines all random numbers. Episode k starts with the same environment seed for every policy.
        max_steps
            The limit on the steps of an episode. An episode that does not reach the goal within the limit is a failure.

        Examples
        --------
        >>> import goalward as gw
        >>> world = gw.worlds.grid_world()
        >>> run = gw.learn(gw.agents.PSRL(), world, episodes=500, seed=1)
        >>> trial = run.policy.evaluate(world)
        >>> bool(trial.cost.low <= gw.solve(world).values[world.initial_state] <= trial.cost.high)
        True
        """
        from goalward.learning.learn import as_world

        check("episodes", episodes, Size)
        check("max_steps", max_steps, Size)
        target = as_world(world, self.continuous)
        plan = self.plan(target)
        rows = [self.episode(target, plan, run_seed(seed, "trial", k), max_steps) for k in range(episodes)]
        costs, steps, reached, attempts = (np.array(column) for column in zip(*rows, strict=True))
        return Trial(costs, steps, reached, attempts, max_steps)

    def episode(self, world: World[Any, Any], plan: Any, seed: int, max_steps: int) -> tuple[float, int, bool, int]:
        """Return the cost and the steps of one episode, whether the goal was reached, and the number of attempts."""
        stage = world.stage(seed, limited=True)
        cost, steps, attempts, reached, ended, starts = 0.0, 0, 0, False, 0, True
        while not ended and steps < max_steps:
            chunk = stage.follow(plan, 1, max_steps - steps)
            actions, gave_up = chunk.steps.actions, chunk.steps.actions == self.give_up
            cost += float(chunk.steps.costs.sum())
            steps += len(actions)
            reached = bool(chunk.steps.reached.any())
            # The first step of an attempt follows a restart, which may be in an earlier chunk.
            attempts += int(np.count_nonzero(gave_up[:-1])) + int(starts and len(actions) > 0)
            starts = stage.truncated or bool(len(actions) and gave_up[-1])
            ended = chunk.ended
        return cost, steps, reached, max(attempts, 1)


@dataclass(eq=False, repr=False)
class LearntPolicy(FrozenPolicy):
    """A policy for finitely many observations.

    Attributes
    ----------
    table
        Actions ``[S]``, or probabilities ``[S, A]``.
    visited
        ``[S]``: whether the agent has acted in each state or knows the state from its prior. In other states, the table
        gives up or plays a random action.
    actions, give_up
        The number of actions, A, and the number of the action that gives up (None if no action gives up).
    encoding
        Converts observations and actions of the environment to numbers; None if both are already numbers.
    seed
        The seed of the random actions of `act`.
    """

    table: NDArray[Any]
    visited: Bools
    actions: int
    give_up: int | None = None
    encoding: Encoding | None = None
    seed: int = field(default=0, kw_only=True)

    kind: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        self._policy = TablePolicy(self.table, len(self.visited), self.actions)
        self._rng = generator(streams(self.seed).acting)

    @classmethod
    def of(cls, agent: Agent, table: NDArray[Any]) -> LearntPolicy:
        """Return a policy that plays `table`, but gives up or acts at random in states where the agent never acted."""
        task, encoding, visits = agent.task, copy.deepcopy(agent.task.encoding), agent.pair_visits()
        give_up = encoding.actions if encoding is not None and encoding.give_up else task.give_up
        model = agent.mean_model()
        if visits is None:
            visited = np.ones(task.states, dtype=np.bool_)
        else:  # `model` also has pairs never played if the prior learns about one pair from another
            known = visits > 0 if model is None else (visits > 0) | model.available
            visited = np.asarray(known[:, : task.give_up].any(axis=1))
        weights = np.eye(task.actions)[table] if np.ndim(table) == 1 else np.array(table)
        choices = task.available & ~visited[:, np.newaxis]
        if give_up is not None:
            choices[choices[:, give_up], :give_up] = False
        fallback = choices.any(axis=1)
        weights[fallback] = choices[fallback] / choices[fallback].sum(axis=1, keepdims=True)
        table = weights.argmax(axis=1) if (weights.max(axis=1) == 1.0).all() else weights
        return cls(table, visited, task.actions, give_up, encoding)

    def act(self, observation: Any) -> Any:
        state = self.find(observation)
        if state is not None:
            action = self._policy.act(state, self._rng.random)
        elif self.give_up is not None:
            action = self.give_up
        else:
            action = int(self._rng.integers(self.actions))
        if action == self.give_up:
            return None
        return action if self.encoding is None else self.encoding.action(action)

    def knows(self, observation: Any) -> bool:
        state = self.find(observation)
        return state is not None and bool(self.visited[state])

    def find(self, observation: Any) -> int | None:
        """Return the state of `observation` (None if unknown); raise StateError if `observation` is invalid."""
        if self.encoding is not None:
            return self.encoding.find(observation)
        if not (isinstance(observation, int | np.integer) and 0 <= observation < len(self.visited)):
            raise StateError(f"observation {observation!r:.80} is not a state; pass a state 0..{len(self.visited) - 1}")
        return int(observation)

    def plan(self, world: World[Any, Any]) -> Plan:
        """Return the table as a plan for `world`, and pass the policy's numbering of observations to `world`."""
        task = world.task(1)
        if not isinstance(task, Task) or task.costs.shape != (len(self.visited), self.actions):
            raise SettingError(
                f"the policy has {len(self.visited)} states and {self.actions} actions, but {world} does not; evaluate"
                " the policy in its own world, or in a world with the same observations and actions"
            )
        world.task(1, replace(task, encoding=self.encoding))
        return Plan(self.table)

    def to_state(self) -> dict[str, Any]:
        names = ("table", "visited", "actions", "give_up", "seed")
        state = {name: getattr(self, name) for name in names}
        return state | {"encoding": None if self.encoding is None else self.encoding.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any], key: Callable[[Any], Any] | None) -> Self:
        table, visited, give_up = state["table"], state["visited"], state["give_up"]
        A = check("actions", state["actions"], between(1, MOST_ACTIONS))
        if visited.dtype != np.bool_ or visited.ndim != 1 or (table.ndim == 1 and not np.isin(table, range(A)).all()):
            raise ValueError("visited needs a truth value for each state, and table needs an action for each state")
        if give_up is not None and (type(give_up) is not int or give_up != A - 1):
            raise ValueError(f"give_up must be None or the last action, {A - 1}")
        encoding = None if state["encoding"] is None else Encoding.from_state(state["encoding"], key)
        if encoding is not None and (encoding.states > len(visited) or encoding.actions + encoding.give_up != A):
            raise ValueError("the encoding and the table have different states or actions")
        if encoding is not None and state["encoding"]["needs_key"] != (key is not None):
            wanted = "with the same function: load_policy(path, key=function)" if key is None else "without key"
            raise SettingError(f"pass key as in the training, here {wanted}")
        if encoding is not None:  # raises an error if the encoding cannot be used or saved
            json.dumps([encoding.to_state(), [str(encoding.action(action)) for action in range(A)]])
        return cls(table, visited, A, give_up, encoding, seed=checked_seed(state["seed"]))

    def __repr__(self) -> str:
        known = int(np.count_nonzero(self.visited))
        return f"LearntPolicy(states={len(self.visited)}, visited={known}, actions={self.actions})"


def load_policy(path: str | Path, key: Callable[[Any], Any] | None = None) -> FrozenPolicy:
    """Return the policy that `FrozenPolicy.save` wrote to a file; the environment and Gymnasium are not needed.

    Parameters
    ----------
    path
        The file.
    key
        The function that was passed as ``gw.Environment(..., key=function)``, if any. Files cannot hold functions.

    Raises
    ------
    FileError
        If the file is damaged or does not hold a policy.
    """
    tree = archive.read(Path(path), FORMAT, VERSION)
    try:
        module, name = KINDS[tree["kind"]].split(":")
        policy: FrozenPolicy = getattr(import_module(module), name).from_state(tree["policy"], key)
        return policy
    except (GoalwardError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
        raise FileError(f"{path}: the saved policy cannot be restored ({error})") from None
