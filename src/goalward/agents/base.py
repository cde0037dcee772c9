"""What an agent is.

Every algorithm here computes a policy, follows it until something happens, and learns from what it saw. So an `Agent`
is two methods in plain Python::

    plan(state) -> Plan        called when the previous plan has ended
    observe(steps) -> None     what happened since: arrays in order, in pieces of bounded size, always before the
                               next plan(); also called when the run ends

and the loop in `goalward.learning` does the acting. Algorithms that change their mind at every step are the second
shape, `StepAgent`: they choose one action at a time, and bring a compiled `advance` if that must be fast.

Both are a `Learner`. `begin(task, rng)` comes first and must leave it as if it had never learnt. Its settings are the
fields of its dataclass. `learn` works on a copy, so a run never changes the object it is given. What it learns are its
other attributes: arrays, numbers, and objects that save themselves, such as beliefs and counts. These are saved;
attributes with a leading underscore are caches and are not.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from goalward.acting.next_state import Dynamics, draw_successor
from goalward.acting.plan import NEVER, Plan
from goalward.acting.task import Steps, Task
from goalward.arrays import Floats
from goalward.beliefs.base import LARGEST_NUMBER, Prior, restored_array, restored_number
from goalward.beliefs.base import registry as priors
from goalward.continuous.task import GoalTask
from goalward.errors import PolicyError, SettingError
from goalward.registry import MISSING, Registry, Schema, Setting
from goalward.settings import plain
from goalward.ssp.model import SSP

__all__ = ["CAVEAT", "NEVER", "Agent", "Learner", "Plan", "StepAgent", "Steps", "Task", "register", "registry"]

CAVEAT = "caveat"
"""The note of a run that its tables and figures must show."""


@runtime_checkable
class Memory(Protocol):
    """A part of what was learnt that saves itself, such as a belief or counts."""

    def to_state(self) -> dict[str, Any]:
        """Return what was learnt as names with plain data and arrays."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `to_state` returned; raises ValueError if it does not fit."""


class Constructor(ABCMeta):
    """Checks the names of settings before Python does: an unknown or missing one is an error of goalward's."""

    def __call__(cls, *values: Any, **settings: Any) -> Any:
        """Build an agent."""
        if not values and "__dataclass_fields__" in vars(cls):
            cls.check_settings(settings)  # type: ignore[attr-defined]
        return super().__call__(*values, **settings)


class Learner(metaclass=Constructor):
    """An algorithm that learns to reach the goal: what `Agent` and `StepAgent` share.

    Subclasses are dataclasses whose fields are their settings. `needs` names the fields that describe the true model
    and that the algorithm must be told: some of ``B_star, T_star, D, c_min, episodes``.
    """

    name: ClassVar[str]
    """The name in tables and messages; that of the class, unless it is registered under another."""
    needs: ClassVar[tuple[str, ...]] = ()

    continuous: ClassVar[bool] = False
    """Whether it learns in goal tasks with continuous states, and not in models."""

    task: Task
    rng: np.random.Generator
    given: Mapping[str, Any] = MappingProxyType({})
    """What `from_world` read off the true model."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Name the algorithm after its class."""
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    @property
    def leaves_free_loops(self) -> bool:
        """Whether it surely leaves loops that cost nothing, as algorithms that plan with positive costs do."""
        return False

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task, and forget all that was learnt before."""
        self.task, self.rng = task, rng

    @abstractmethod
    def observe(self, steps: Steps) -> None:
        """Learn from what happened."""

    def restart(self) -> None:
        """Note that the next step starts an episode although the last one did not reach the goal.

        Called when the environment cuts an episode off, and when a run is resumed.
        """

    @classmethod
    def check_world(cls, world: object) -> None:
        """Raise SettingError if the algorithm cannot learn in a world of this kind."""
        if isinstance(world, GoalTask) and not cls.continuous:
            raise SettingError(
                f"{cls.name} learns in models with finitely many states; in {world} use an agent for continuous"
                " states, such as continuous-psrl"
            )
        if cls.continuous and not isinstance(world, GoalTask):
            raise SettingError(
                f"{cls.name} learns in goal tasks with continuous states, such as mountain-car; in a world with"
                " finitely many states use another agent, such as psrl"
            )

    def notes(self) -> dict[str, int | float | str]:
        """Return what a run should record about the agent, such as the number of rejected samples.

        A note called `CAVEAT` is a sentence that every table and figure with the run shows, such as that no theorem
        covers these settings.
        """
        return {}

    def to_state(self) -> dict[str, Any]:
        """Return what was learnt, for saving: all attributes but settings, task, generator and caches."""
        apart = {"task", "rng", "given", *self.settings()}
        learnt = {name: value for name, value in vars(self).items() if name not in apart and not name.startswith("_")}
        state: dict[str, Any] = {}
        for name, value in learnt.items():
            if isinstance(value, Memory):
                state[name] = value.to_state()
            elif value is None or isinstance(value, np.ndarray | np.generic | int | float | str):
                state[name] = value
            else:
                kind = type(value).__name__
                raise SettingError(f"{self.name} cannot be saved: {name} is of type {kind}, not an array or a number")
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `to_state` returned, right after `begin`; raises ValueError if it does not fit.

        The numbers of goalward's own agents never fall below their values after `begin`, and their kernels rely on
        that, so smaller numbers are refused. Agents defined elsewhere get back whatever they saved.
        """
        fresh = self.to_state()
        if set(fresh) != set(state):
            raise ValueError(f"{self.name} learns {sorted(fresh)}; the state holds {sorted(state)}")
        only_grows = type(self).__module__.startswith("goalward.")
        for name, value in state.items():
            now = getattr(self, name)
            if isinstance(now, Memory):
                now.restore(value)
            elif only_grows and isinstance(now, np.ndarray):
                # An estimate is at most what 2^53 steps cost.
                largest_cost = float(self.task.costs[self.task.available].max(initial=1.0))
                setattr(self, name, restored_array(name, value, now, LARGEST_NUMBER * largest_cost))
            elif only_grows:
                setattr(self, name, restored_number(name, value, now))
            else:
                setattr(self, name, copy.copy(value))

    @classmethod
    def from_world(cls, world: SSP | GoalTask, *, episodes: int, **settings: Any) -> Self:
        """Build an agent that is told what its algorithm must know of the true model; for benchmarks.

        What `settings` holds is not looked up. `given` holds what was looked up.
        """
        cls.check_world(world)
        names = [name for name in cls.needs if name not in settings]
        given = {} if isinstance(world, GoalTask) else cls.look_up(world, episodes, names)
        agent = cls(**given, **settings)
        agent.given = given
        return agent

    @classmethod
    def look_up(cls, world: SSP, episodes: int, names: list[str]) -> dict[str, Any]:
        """Return the named facts about a world."""
        facts: dict[str, Any] = {"episodes": episodes}
        if set(names) - set(facts):
            from goalward.planning.hardness import hardness

            measured = hardness(world)
            facts |= {name: float(getattr(measured, name)) for name in names if name not in facts}
        return {name: facts[name] for name in names}

    @classmethod
    def schema(cls) -> Schema:
        """Return the settings of the algorithm, its fields; one whose default is a prior takes the names of priors."""
        settings: dict[str, Setting] = {}
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            if not field.init:
                continue
            default = field.default if field.default_factory is MISSING else field.default_factory()
            named = priors if isinstance(default, Prior) else None
            settings[field.name] = Setting(default, named, from_world=field.name in cls.needs)
        return Schema(cls.name, settings)

    @classmethod
    def complete(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings as plain data, without those that are read off the true world and were not given."""
        return cls.schema().complete(settings)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: SSP | GoalTask, episodes: int) -> Self:
        """Build the agent of plain settings, as a study or a command line gives them; see `from_world`."""
        schema = cls.schema()
        schema.check_names(settings)
        return cls.from_world(world, episodes=episodes, **schema.resolve(settings, world))

    @classmethod
    def check_settings(cls, settings: Mapping[str, Any]) -> None:
        """Raise an error if a name is unknown, or if a setting without a default is missing."""
        schema = cls.schema()
        schema.check_names(settings)
        for name, setting in schema.settings.items():
            if setting.default is MISSING and name not in settings:
                raise SettingError(f"{cls.name} needs {name}; pass it, or use {cls.__name__}.from_world")

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {
            field.name: plain(getattr(self, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if field.init
        }


class Agent(Learner):
    """An algorithm that follows plans."""

    @abstractmethod
    def plan(self, state: int) -> Plan:
        """Return what to do from this state on."""


class StepAgent(Learner):
    """An algorithm that changes its mind at every step.

    It chooses one action at a time (`choose`) and learns from every step at once (`observe`, steps of length one).
    `advance` does both on a known world. Override it with a compiled kernel that draws its steps with
    `goalward.acting.next_state.draw_successor` and decides exactly as `choose` does. It must choose available actions
    only, because a row without successors cannot be drawn from. (`learn` refuses step agents in worlds with states in
    which no action is available.)
    """

    @abstractmethod
    def choose(self, state: int, chance: float) -> int:
        """Return the action to play; `chance` is a uniform number in [0, 1) for random decisions."""

    def values(self) -> Floats | None:
        """Return the cost that the agent expects from each state, ``[S]``; None if it has no such estimate."""
        return None

    def advance(self, world: Dynamics, state: int, goals: int, luck: Floats, chances: Floats, steps: Steps) -> int:
        """Act and learn until all of `luck` is used or the goal was reached `goals` times; return the number of steps.

        Step i takes ``chances[i]`` for the choice and ``luck[i]`` for the successor and is written to entry i of the
        arrays of `steps`. After a goal the next step starts in ``world.initial_state``.
        """
        for i in range(len(luck)):
            action = self.choose(state, chances[i])
            row = state * world.costs.shape[1] + action
            if not np.isfinite(world.costs[state, action]):
                raise PolicyError(f"{self.name} plays action {action} in state {state}, which is not available there")
            successor = draw_successor(world.indptr, world.successors, world.cumulative, row, luck[i])
            steps.states[i], steps.actions[i] = state, action
            steps.costs[i], steps.next_states[i] = world.costs[state, action], successor
            self.observe(steps.part(i, i + 1))
            state = successor
            if successor == len(world.costs):
                state = world.initial_state
                goals -= 1
                if goals == 0:
                    return i + 1
        return len(luck)


def enter(name: str, learner: type[Learner]) -> type[Learner]:
    learner.name = name
    return learner


registry: Registry[type[Learner]] = Registry(
    "agent", ("goalward.agents", "goalward.continuous.psrl", "goalward.continuous.aggregated_psrl"), enter
)
register = registry.register
