"""Rules that decide whether a step of an environment reached the goal, and what the step cost.

An environment reports a reward, two flags and `info` for each step. One rule decides which steps reach the goal::

    goal="terminated"    every step that terminates an episode
    goal=1.0             steps with a reward of at least 1
    goal=function        steps for which function(outcome) is true

Another rule decides what a step costs::

    cost="penalty"       minus the reward if the reward is negative, otherwise 1
    cost="reward"        minus the reward
    cost=2.0             2, whatever the reward
    cost=function        function(outcome)

The functions are called with an `Outcome`. A `truncated` step does not count as the end of an episode, because
truncation does not depend on the state of the agent.

Wrappers
    A wrapper may change observations, rewards or the ends of episodes. Then the task of the agent differs from the task
    of the bare environment. The table of transitions, the model and the initial states of the bare environment do not
    describe the task of the agent. `changing_wrapper` finds such wrappers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from goalward.errors import CostError, SettingError, UnknownNameError
from goalward.settings import NotNegative, check

PASSIVE = {
    "Wrapper", "OrderEnforcing", "PassiveEnvChecker", "TimeLimit", "RecordEpisodeStatistics", "RecordVideo",
    "RenderCollection", "HumanRendering", "AddWhiteNoise", "ObstructView",
}  # fmt: skip
"""Gymnasium's wrappers that do not change the task. `TimeLimit` is one of them, because truncation is not an end."""
NO_GOAL = "goalward learns to reach a goal at the least cost; it cannot learn to keep an episode going, as in CartPole"


class Outcome(NamedTuple):
    """One step as the environment reports it. If the step comes from a table of transitions, `info` is empty."""

    state: Any
    action: Any
    next_state: Any
    reward: float
    terminated: bool
    info: Mapping[str, Any]

    @property
    def gain(self) -> float:
        """The reward as a float; raises CostError if it is not a number."""
        try:
            return float(self.reward)
        except (TypeError, ValueError):
            raise CostError(
                f"action {self.action} in state {self.state} gave the reward {self.reward!r}, which is not a"
                " number; pass rules that do not use rewards: goal='terminated' and cost=1.0"
            ) from None


class GoalRule(NamedTuple):
    """A rule that decides which steps reach the goal; `text` describes these steps."""

    reached: Callable[[Outcome], object]
    text: str

    def __str__(self) -> str:
        return self.text


class CostRule(NamedTuple):
    """A rule that decides what a step costs. If all steps have the same cost, `fixed` is this cost."""

    function: Callable[[Outcome], float]
    fixed: float | None = None

    def cost(self, outcome: Outcome) -> float:
        """Return the cost of a step; raises CostError unless it is a finite number of at least 0."""
        result = self.function(outcome)
        try:
            paid = float(result)
        except (TypeError, ValueError):
            raise CostError(
                f"the function passed as cost returned {result!r:.60} for {outcome}; it must return a number"
            ) from None
        if not 0.0 <= paid < np.inf:
            raise CostError(
                f"action {outcome.action} in state {outcome.state} gave the reward {outcome.reward}, which makes a"
                f" cost of {paid:g}; costs must be finite and not negative. Pass cost=1.0 to count steps,"
                " cost='penalty' to charge 1 if the reward is not negative, or a function of the outcome"
            )
        return abs(paid)  # turns -0.0 into 0.0


ENDS = GoalRule(lambda outcome: outcome.terminated, "every end of an episode")


def goal_rule(rule: object, environment: Any) -> GoalRule:
    """Return the goal rule for the user's `rule`; None is allowed only if the goal of `environment` is known."""
    if rule is None and (preset := known_goal(environment)) is not None:
        return preset
    if rule is None:
        raise SettingError(
            f"the goal of {name_of(environment)} is not known. Pass goal='terminated' if every end of an episode is the"
            " goal, goal=1.0 if a reward of at least 1 is the goal, or a function of the outcome, such as"
            f' goal=lambda outcome: outcome.info["is_success"]. {NO_GOAL}'
        )
    if callable(rule):
        return GoalRule(rule, "any step for which the function passed as goal is true")
    if rule == "terminated":
        return ENDS
    if isinstance(rule, str):
        raise UnknownNameError("rule for goals", rule, ["terminated"])
    least = check("goal", rule, float, " (the least reward at the goal), 'terminated' or a function of the outcome")
    return GoalRule(lambda outcome: outcome.gain >= least, f"a reward of at least {least:g}")


def cost_rule(rule: object) -> CostRule:
    """Return the cost rule for the user's `rule`; None means "penalty"."""
    if callable(rule):
        return CostRule(rule)
    if rule is None or rule == "penalty":
        return CostRule(lambda outcome: 1.0 if outcome.gain >= 0.0 else -outcome.gain)
    if rule == "reward":
        return CostRule(lambda outcome: -outcome.gain)
    if isinstance(rule, str):
        raise UnknownNameError("rule for costs", rule, ["penalty", "reward"])
    fixed = check("cost", rule, NotNegative, " (the cost of every step), 'penalty', 'reward' or a function")
    return CostRule(lambda outcome: fixed, fixed)


def known_goal(environment: Any) -> GoalRule | None:
    """Return the goal rule of `environment`, or None if this module does not know its goal."""
    bare = getattr(environment, "unwrapped", environment)
    name = type(bare).__name__
    if name == "FrozenLakeEnv":
        goals = set(np.flatnonzero(np.asarray(bare.desc).ravel() == b"G").tolist())
        # Behind a wrapper, observations may not be cell numbers; then ask the environment where the agent is.
        where = (lambda outcome: int(bare.s)) if changing_wrapper(environment) else lambda outcome: outcome.next_state
        return GoalRule(lambda outcome: where(outcome) in goals, "the cells G of the map")
    if name in ("CliffWalkingEnv", "TaxiEnv", "MountainCarEnv", "AcrobotEnv"):
        # A wrapper that is not Gymnasium's own may end episodes away from the goal, so the goal is not known then.
        return ENDS if all(in_gymnasium(definer(layer, "step")) for layer in wrappers(environment)) else None
    if hasattr(bare, "ssp"):
        return GoalRule(lambda outcome: outcome.terminated and outcome.info.get("goal", True), "the goal of the model")
    return None if hasattr(environment, "observation_space") else ENDS


def name_of(environment: Any) -> str:
    """Return the name of an environment for messages. The name is the id or, without an id, the class."""
    spec = getattr(environment, "spec", None)
    return str(getattr(spec, "id", None) or type(getattr(environment, "unwrapped", environment)).__name__)


def changing_wrapper(environment: Any) -> str | None:
    """Return the name of the outermost wrapper that may change the task, or None if there is no such wrapper."""
    return next((type(layer).__name__ for layer in wrappers(environment) if not is_passive(layer)), None)


def wrappers(environment: Any) -> Iterator[Any]:
    """Yield the wrappers around an environment, the outermost one first."""
    bare = getattr(environment, "unwrapped", environment)
    while environment is not None and environment is not bare:
        yield environment
        environment = getattr(environment, "env", None)


def is_passive(layer: Any) -> bool:
    definers = [definer(layer, method) for method in ("step", "reset")]
    return all(in_gymnasium(kind) and kind.__name__ in PASSIVE for kind in definers) and (
        layer.observation_space == layer.env.observation_space and layer.action_space == layer.env.action_space
    )


def definer(layer: Any, method: str) -> type:
    """Return the class that defines `method` for the wrapper `layer`."""
    return next(kind for kind in type(layer).__mro__ if method in vars(kind))


def in_gymnasium(kind: type) -> bool:
    return kind.__module__.startswith("gymnasium.")
