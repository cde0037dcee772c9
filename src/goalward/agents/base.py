"""The base classes of agents, which handle settings and saving.

`goalward.acting.contract` defines the interface of agents. There are two kinds of tabular agents. An `Agent` computes a
plan, and the loop follows the plan until a stop condition of the plan holds::

    plan(state) -> Plan        is called when the previous plan has ended
    observe(steps) -> None     receives all new steps, in chunks of bounded size, before every plan() and at the end of
                               the run

An `OnlineAgent` chooses every action itself, and learns from every step::

    act(state, draw) -> action
    learn(step) -> flags

Both kinds also have a method `begin(task, rng)`, which must discard everything learnt. The annotated attributes of an
agent are the settings, as in a dataclass. Attributes with a leading underscore are caches, which are not saved. All
other attributes are learnt state, which is saved. Possible types are arrays, numbers, and objects with a method
`to_state`, such as beliefs. `goalward.learn` trains a copy of an agent and leaves the original agent unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from inspect import get_annotations
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from goalward.acting import contract
from goalward.acting.contract import Plan, PlanT, Steps, Task, TaskT
from goalward.acting.encoding import Encoding
from goalward.acting.model_world import TabularPolicy
from goalward.arrays import Floats, Int64s
from goalward.errors import SettingError, StateError
from goalward.memory import LARGEST_NUMBER, Memory
from goalward.registry import Registry
from goalward.settings import Declared, between, check, check_names, missing, settings_of
from goalward.ssp.model import SSP
from goalward.table import ShownAsFacts
from goalward.user_code import described

CAVEAT = "caveat"
"""The key of the note that all tables and figures of a run must show."""


@dataclass_transform(field_specifiers=(field,))
class Learner(Declared, ShownAsFacts, Memory, contract.Agent[TaskT, PlanT]):
    """The base class of all agents.

    The annotated attributes of a subclass are the settings, as in a dataclass. The constructor checks the settings.
    `needs` lists the settings that `from_world` can compute, such as ``B_star, T_star, D, c_min, episodes``.
    """

    name: ClassVar[str]
    """The name in tables and messages: the registered name, otherwise the name of the class."""

    continuous: ClassVar[bool] = False
    """Whether the agent needs continuous states. Other agents need finitely many states."""

    bound: ClassVar[str] = ""
    """The proved regret bound for K episodes, up to constants, or "" without a proof. Subclasses do not inherit it."""

    assumes: ClassVar[str] = ""
    """The assumptions of the proof. All proofs also assume a proper policy and costs of at most 1."""

    samples_posterior: ClassVar[bool] = False
    """Whether the agent plans in models drawn from its `belief`."""

    recommended: ClassVar[str] = ""
    """The use for which docs/results/arena.md recommends the agent. Subclasses do not inherit it."""

    given: Mapping[str, Any] = MappingProxyType({})
    """The settings that `from_world` computed from the true model."""

    def __init_subclass__(cls, kw_only: bool = False, **arguments: Any) -> None:
        """Turn the subclass into a dataclass. By default, the `name` of the agent is the name of the class."""
        # A new value for an inherited setting needs no annotation.
        inherited: dict[str, Any] = {each.name: each.type for each in fields(cls)} if is_dataclass(cls) else {}
        changed = {name for name, value in vars(cls).items() if name in inherited and not hasattr(value, "__get__")}
        if changed:
            cls.__annotations__ = {name: inherited[name] for name in sorted(changed)} | get_annotations(cls)
        factories = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        dataclass(init="__init__" not in vars(cls), eq=False, kw_only=kw_only)(cls)
        for name in factories.keys() - vars(cls).keys():
            # Restores fields with a default_factory, so that an additional @dataclass on the subclass does no harm.
            setattr(cls, name, factories[name])
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def _facts(self) -> Mapping[str, Any]:
        return {name: str(value) for name, value in self.settings().items() if value is not None}

    @classmethod
    def owner(cls) -> str:
        return cls.name

    @property
    def leaves_free_loops(self) -> bool:
        """Whether the agent almost surely leaves zero-cost loops, for example because it plans with positive costs."""
        return False

    @classmethod
    def check_world(cls, world: object, continuous: bool | None = None) -> None:
        """Raise SettingError if the agent cannot learn in `world`. `continuous` overrides ``world.continuous``."""
        continuous = getattr(world, "continuous", False) if continuous is None else continuous
        if continuous and not cls.continuous:
            raise SettingError(
                f"{cls.name} needs finitely many states, but {world} has continuous states; use an agent for continuous"
                " states, such as continuous-psrl"
            )
        if cls.continuous and not continuous:
            raise SettingError(
                f"{cls.name} needs a goal task with continuous states, such as mountain-car; in a world with"
                " finitely many states, use another agent, such as psrl"
            )

    def notes(self) -> dict[str, int | float | str]:
        """Return notes for the record of a run, such as the number of rejected samples.

        All tables and figures of the run show the note with the key `CAVEAT`, for example that no theorem covers the
        settings.
        """
        return {}

    def best_policy(self) -> Any:
        """Return the policy to deploy, which is a table or a `FrozenPolicy` and does not explore."""
        raise SettingError(f"{self.name} has no policy to deploy; define best_policy(self) in the class of the agent")

    def mean_model(self) -> SSP | None:
        """Return the agent's estimate of the model, or None if the agent estimates no model."""
        return None

    @property
    def learnt(self) -> Sequence[str]:
        """The names of the learnt attributes. Settings, task, generator and caches are not learnt."""
        apart = {"task", "rng", "given", *settings_of(type(self))}
        return [name for name in vars(self) if name not in apart and not name.startswith("_")]

    @staticmethod
    def task_to_state(task: Any) -> dict[str, Any]:
        """Return a task as plain data and arrays, for saving."""
        raise NotImplementedError

    @staticmethod
    def task_from_state(state: dict[str, Any]) -> Any:
        """Return the task that `task_to_state` has converted to `state`. The data are checked."""
        raise NotImplementedError

    @classmethod
    def from_world(cls, world: Any, *, episodes: int, **settings: Any) -> Self:
        """Build an agent with `settings`. Other settings in `needs` are computed from `world` and `episodes`.

        The attribute `given` of the agent records the computed settings.
        """
        cls.check_world(world)
        names = [name for name in cls.needs if name not in settings]
        if not isinstance(world, SSP) and set(names) - {"episodes"}:
            raise missing(cls.name, cls, names[0])
        given = cls.look_up(world, episodes, names) if names else {}
        agent = cls(**given, **settings)
        agent.given = given
        return agent

    @classmethod
    def look_up(cls, world: SSP, episodes: int, names: list[str]) -> dict[str, Any]:
        """Compute the settings listed in `names`, such as B_star, from the model `world`."""
        facts: dict[str, Any] = {"episodes": episodes}
        if set(names) - set(facts):
            from goalward.planning.hardness import hardness

            measured = hardness(world)
            facts |= {name: float(getattr(measured, name)) for name in names if name not in facts}
        return {name: facts[name] for name in names}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: Any, episodes: int) -> Self:
        """Build an agent from plain-data `settings`, as in a study or on a command line. See `from_world`."""
        declared = settings_of(cls)
        check_names(cls.name, settings, declared)
        values = {name: declared[name].check(name, value, world) for name, value in settings.items()}
        return cls.from_world(world, episodes=episodes, **values)


class Agent(Learner[Task, Plan]):
    """A tabular agent that follows plans."""

    unknown_costs_covered: ClassVar[bool] = False
    """Whether unknown costs need no caveat, because the theorem covers unknown costs or the agent has no theorem."""

    def notes(self) -> dict[str, int | float | str]:
        caveats = self.caveats()
        return {CAVEAT: "; ".join(caveats)} if caveats else {}

    def caveats(self) -> list[str]:
        """Return the reasons why no theorem covers the run, such as unknown costs."""
        if not self.task.costs_unknown or self.unknown_costs_covered:
            return []
        where = " within the range seen so far" if self.task.cost_range is None else ""
        return [f"costs are learnt{where}: no theorem covers this"]

    def best_policy(self) -> Int64s | Floats:
        """Return the policy to deploy, as actions ``[S]`` or probabilities ``[S, A]``.

        If `mean_model` returns a model, `goalward.agents.best_policy` computes the policy from this model and the tried
        actions. Otherwise, the result is the policy of the next plan. The agent does not change.
        """
        model, visits = self.mean_model(), self.pair_visits()
        if model is not None and visits is not None:
            from goalward.agents.best_policy import policy_from_seen

            return policy_from_seen(self.task, model, visits)
        policy = copy.deepcopy(self).plan(self.task.initial_state).policy
        if not isinstance(policy, np.ndarray):
            raise SettingError(
                f"{self.name} has no table to deploy, because it learns at every step; define a method"
                " best_policy(self) that returns actions [S] or probabilities [S, A]"
            )
        return policy

    def pair_visits(self) -> Int64s | None:
        """Return the visits of each pair, ``[S, A]``, or None if the agent has neither `counts` nor `visits`."""
        visits: Int64s | None = getattr(getattr(self, "counts", self), "visits", None)
        return visits

    @staticmethod
    def task_to_state(task: Task) -> dict[str, Any]:
        fields = {name: getattr(task, name) for name in ("costs", "initial_state", "episodes", "give_up", "cost_range")}
        return fields | {"encoding": None if task.encoding is None else task.encoding.to_state()}

    @staticmethod
    def task_from_state(state: dict[str, Any]) -> Task:
        episodes = check("episodes", state["episodes"], between(1, LARGEST_NUMBER))
        encoding = None if state["encoding"] is None else Encoding.from_state(state["encoding"])
        fields = {"costs": np.array(state["costs"]), "episodes": episodes, "encoding": encoding}
        return Task(**state | fields).checked()


class OnlineAgent(Agent, TabularPolicy):
    """A tabular agent that chooses every action itself and learns from every step.

    For speed, override `rollout` with a kernel that has the same effect as `act` and `learn`. The kernel can call
    `has_room` and `take_step` of `goalward.acting.model_world`. An agent that plans in epochs makes the plans inside
    `act`, and `learn` returns flags when an epoch ends.
    """

    online = True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on `task` with the generator `rng`. Raises StateError if some state has no action."""
        super().begin(task, rng)
        check_actions(self.name, task)

    def plan(self, state: int) -> Plan:
        """Return a plan that lasts until the end of the run. The policy of the plan is the agent itself."""
        return Plan(self)

    def observe(self, steps: Steps) -> None:
        """Do nothing, because `learn` has already received every step."""

    def values(self) -> Floats | None:
        """Return the estimated cost to the goal from each state, ``[S]``, or None if the agent estimates no values."""
        return None

    def current_plan(self) -> Plan | None:
        """Return the plan of the current epoch, or None if the agent does not plan in epochs."""
        return None


def check_actions(name: str, task: Task) -> None:
    """Raise StateError if some state of `task` has no action."""
    idle = ~task.available.any(axis=1)
    if idle.any():
        raise StateError(
            f"no action is available in state {int(np.argmax(idle))}, but {name} needs an action in every state; remove"
            " this state, or add an action that leads from this state to the start"
        )


def enter(name: str, learner: type[Learner]) -> type[Learner]:
    if not (isinstance(learner, type) and issubclass(learner, Learner)):
        raise SettingError(f"{described(name)} is not an agent; derive it from goalward.agents.Agent or OnlineAgent")
    if ":" not in name:  # an agent in a user's file keeps the name of its class
        learner.name = name
    return learner


registry: Registry[type[Learner]] = Registry("agent", ("goalward.agents",), enter)
find, known, register = registry.find, registry.known, registry.register


def make(name: str, /, **settings: Any) -> Learner:
    """Build the agent that is registered as `name`, with these `settings`."""
    return find(name)(**settings)
