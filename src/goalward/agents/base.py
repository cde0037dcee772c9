"""What agents share: settings, saving, and the two kinds of tabular agents.

`goalward.acting.contract` says what an agent is. An `Agent` for tables computes a policy, follows it until something
happens, and learns from what it saw::

    plan(state) -> Plan        called when the previous plan has ended
    observe(steps) -> None     what happened since: arrays in order, in chunks of bounded size, always before the
                               next plan(); also called when the run ends

An `OnlineAgent` learns at every step, and is its own policy::

    act(state, draw) -> action
    learn(step) -> flags

Both start with `begin(task, rng)`, which must leave an agent as if it had never learnt. Its settings are its annotated
attributes, as in a dataclass. `learn` works on a copy, so a run never changes the object it is given. What an agent
learns are its other attributes: arrays, numbers, and objects that save themselves, such as beliefs and counts. These
are saved; attributes with a leading underscore are caches and are not.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field
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
"""The note of a run that its tables and figures must show."""


@dataclass_transform(field_specifiers=(field,))
class Learner(Declared, ShownAsFacts, Memory, contract.Agent[TaskT, PlanT]):
    """An agent with settings that can be saved.

    The annotated attributes of a subclass are its settings, as in a dataclass, and the constructor checks them. `needs`
    names those that describe the true model: some of ``B_star, T_star, D, c_min, episodes``.
    """

    name: ClassVar[str]
    """The name in tables and messages; that of the class, unless it is registered under another."""

    continuous: ClassVar[bool] = False
    """Whether it learns in goal tasks with continuous states, and not in models."""

    bound: ClassVar[str] = ""
    """The order of its regret that is proved, for K episodes; empty if nothing is. Not inherited."""

    assumes: ClassVar[str] = ""
    """What the proof assumes beside a proper policy and costs of at most 1."""

    samples_posterior: ClassVar[bool] = False
    """Whether the models of its plans are draws from its `belief`, if it has one; `goalward.theory` asks."""

    recommended: ClassVar[str] = ""
    """For what it is recommended, by the measurements of docs/results/arena.md; not inherited."""

    given: Mapping[str, Any] = MappingProxyType({})
    """What `from_world` read off the true model."""

    def __init_subclass__(cls, kw_only: bool = False, **arguments: Any) -> None:
        """Make the class a dataclass and name the algorithm after it."""
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        dataclass(init="__init__" not in vars(cls), eq=False, kw_only=kw_only)(cls)
        for name in fields.keys() - vars(cls).keys():
            # Defaults made by a function: so the class also works below @dataclass, although that is not needed.
            setattr(cls, name, fields[name])
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
        """Whether the agent almost surely leaves zero-cost loops, as algorithms that plan with positive costs do."""
        return False

    @classmethod
    def check_world(cls, world: object, continuous: bool | None = None) -> None:
        """Raise SettingError if the algorithm cannot learn in a world; `continuous` is its kind, if known."""
        continuous = getattr(world, "continuous", False) if continuous is None else continuous
        if continuous and not cls.continuous:
            raise SettingError(
                f"{cls.name} learns in models with finitely many states; in {world} use an agent for continuous"
                " states, such as continuous-psrl"
            )
        if cls.continuous and not continuous:
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

    def best_policy(self) -> Any:
        """Return the policy to deploy, without exploration: a table, or a `FrozenPolicy`."""
        raise SettingError(f"{self.name} does not say what to deploy; define best_policy(self) in its class")

    def mean_model(self) -> SSP | None:
        """Return the model that the agent estimates, in the state numbers of its task; None if it has none."""
        return None

    @property
    def learnt(self) -> Sequence[str]:
        """The names of the learnt attributes: all but settings, task, generator and caches."""
        apart = {"task", "rng", "given", *settings_of(type(self))}
        return [name for name in vars(self) if name not in apart and not name.startswith("_")]

    @staticmethod
    def task_to_state(task: Any) -> dict[str, Any]:
        """Return a task as plain data and arrays, for saving."""
        raise NotImplementedError

    @staticmethod
    def task_from_state(state: dict[str, Any]) -> Any:
        """Return the task that `task_to_state` saved, checked."""
        raise NotImplementedError

    @classmethod
    def from_world(cls, world: Any, *, episodes: int, **settings: Any) -> Self:
        """Build an agent that knows what its algorithm needs to know about the model of `world` and about `episodes`.

        Facts in `settings` are not looked up; `given` records those that were.
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
        """Return the named facts about a world."""
        facts: dict[str, Any] = {"episodes": episodes}
        if set(names) - set(facts):
            from goalward.planning.hardness import hardness

            measured = hardness(world)
            facts |= {name: float(getattr(measured, name)) for name in names if name not in facts}
        return {name: facts[name] for name in names}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], world: Any, episodes: int) -> Self:
        """Build an agent from plain settings, as given in a study or on a command line; see `from_world`."""
        declared = settings_of(cls)
        check_names(cls.name, settings, declared)
        values = {name: declared[name].check(name, value, world) for name, value in settings.items()}
        return cls.from_world(world, episodes=episodes, **values)


class Agent(Learner[Task, Plan]):
    """A tabular agent that follows plans."""

    unknown_costs_covered: ClassVar[bool] = False
    """Whether what is proved about the algorithm, if anything, also holds where it has to learn the costs."""

    def notes(self) -> dict[str, int | float | str]:
        caveats = self.caveats()
        return {CAVEAT: "; ".join(caveats)} if caveats else {}

    def caveats(self) -> list[str]:
        """Return the reasons why no theorem covers the run, such as costs that have to be learnt."""
        if not self.task.costs_unknown or self.unknown_costs_covered:
            return []
        where = ", in the range seen so far" if self.task.cost_range is None else ""
        return [f"costs are learnt{where}: no theorem covers it"]

    def best_policy(self) -> Int64s | Floats:
        """Return the policy to deploy: actions ``[S]``, or probabilities ``[S, A]``.

        If there is a `mean_model`, this is its optimal policy, restricted to what was tried
        (`goalward.agents.best_policy`); if not, the policy that a copy of the agent plans next.
        """
        model, visits = self.mean_model(), self.pair_visits()
        if model is not None and visits is not None:
            from goalward.agents.best_policy import policy_from_seen

            return policy_from_seen(self.task, model, visits)
        policy = copy.deepcopy(self).plan(self.task.initial_state).policy
        if not isinstance(policy, np.ndarray):
            raise SettingError(
                f"{self.name} learns at every step and has no table to deploy; define best_policy(self) in its class,"
                " which returns actions [S] or probabilities [S, A]"
            )
        return policy

    def pair_visits(self) -> Int64s | None:
        """Return how often each pair was played, ``[S, A]``: ``self.visits`` or those of ``self.counts``, if any."""
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
    """A tabular agent that learns at every step: it is its own policy.

    Override `rollout` with a kernel that does what `act` and `learn` do, built from `has_room` and `take_step` of
    `goalward.acting.model_world`, if acting must be fast. An algorithm that plans in epochs does so inside `act` when
    no plan is in progress; its `learn` returns flags when an epoch ends.
    """

    online = True

    def begin(self, task: Task, rng: np.random.Generator) -> None:
        """Start from scratch on a task in which every state has an action; `rng` is the source of randomness."""
        super().begin(task, rng)
        check_actions(self.name, task)

    def plan(self, state: int) -> Plan:
        """Return a plan that follows the agent itself until the end of the run."""
        return Plan(self)

    def observe(self, steps: Steps) -> None:
        """Do nothing: `learn` has seen every step."""

    def values(self) -> Floats | None:
        """Return the cost that the agent expects from each state, ``[S]``; None if it has no such estimate."""
        return None

    def current_plan(self) -> Plan | None:
        """Return the plan of the current epoch, for display; None if the agent does not plan in epochs."""
        return None


def check_actions(name: str, task: Task) -> None:
    """Raise StateError if some state of a task has no action."""
    idle = ~task.available.any(axis=1)
    if idle.any():
        raise StateError(
            f"in state {int(np.argmax(idle))} no action is available; {name} cannot plan around such states: leave them"
            " out, or give them an action that resets to the start at a cost"
        )


def enter(name: str, learner: type[Learner]) -> type[Learner]:
    if not (isinstance(learner, type) and issubclass(learner, Learner)):
        raise SettingError(f"{described(name)} is not an agent; derive it from goalward.agents.Agent or OnlineAgent")
    if ":" not in name:  # one in a user's file is called like its class
        learner.name = name
    return learner


registry: Registry[type[Learner]] = Registry("agent", ("goalward.agents",), enter)
find, known, register = registry.find, registry.known, registry.register


def make(name: str, /, **settings: Any) -> Learner:
    """Build an agent by the name of its algorithm and its settings."""
    return find(name)(**settings)
