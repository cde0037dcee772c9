"""What a step of an environment means: whether it reached the goal, and what it cost.

An environment reports a step as a reward, two flags and `info`. One rule says which steps reach the goal::

    goal="terminated"    every end of an episode
    goal=1.0             steps with a reward of at least 1
    goal=function        steps for which function(outcome) is true

Another rule says what a step costs::

    cost="penalty"       minus the reward where the reward is negative, otherwise 1: sparse rewards count steps
    cost="reward"        minus the reward
    cost=2.0             2, whatever the reward
    cost=function        function(outcome)

Functions are called with an `Outcome`. `truncated` is not an end: the environment breaks the episode off, wherever the
agent is.

Wrappers
    A wrapper that charges more, observes less or ends episodes early turns an environment into another task. What is
    known about the environment below it, such as its table of transitions, its model or its initial states, then says
    nothing about the steps that an agent sees. `changing_wrapper` finds such wrappers.
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
"""Classes of Gymnasium whose `step` and `reset` pass on what they get; a time limit truncates, which is not an end."""
NO_GOAL = "goalward learns to reach a goal at the least cost; it cannot learn to go on for long, as in CartPole"


class Outcome(NamedTuple):
    """One step as the environment reports it; a step of a table of transitions has an empty `info`."""

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
                f"action {self.action} in state {self.state} gave the reward {self.reward!r}; it must be a number, or"
                " pass rules that do not need it: goal='terminated' and cost=1.0"
            ) from None


class GoalRule(NamedTuple):
    """Which steps reach the goal, and a description of them in words."""

    reached: Callable[[Outcome], object]
    text: str

    def __str__(self) -> str:
        return self.text


class CostRule(NamedTuple):
    """What a step costs: a function of the outcome, and the cost if it is the same for all steps."""

    function: Callable[[Outcome], float]
    fixed: float | None = None

    def cost(self, outcome: Outcome) -> float:
        """Return what a step cost; raises CostError unless that is a finite number of at least 0."""
        result = self.function(outcome)
        try:
            paid = float(result)
        except (TypeError, ValueError):
            raise CostError(
                f"the function passed as cost returned {result!r:.60} for {outcome}, not a number"
            ) from None
        if not 0.0 <= paid < np.inf:
            raise CostError(
                f"action {outcome.action} in state {outcome.state} gave the reward {outcome.reward}, a cost of"
                f" {paid:g}; costs must be finite and not negative: pass cost=1.0 to count steps, cost='penalty' to"
                " count steps where rewards are not negative, or a function of the outcome"
            )
        return abs(paid)  # minus a reward of zero is minus zero


ENDS = GoalRule(lambda outcome: outcome.terminated, "every end of an episode")


def goal_rule(rule: object, environment: Any) -> GoalRule:
    """Return the rule for the goal; if it is None, that of an environment whose goal is known."""
    if rule is None and (preset := known_goal(environment)) is not None:
        return preset
    if rule is None:
        raise SettingError(
            f"which endings of {name_of(environment)} are the goal? Pass goal='terminated' if all are, goal=1.0 for"
            " steps with a reward of at least 1, or a function of the outcome such as"
            f' goal=lambda outcome: outcome.info["is_success"]. {NO_GOAL}'
        )
    if callable(rule):
        return GoalRule(rule, "where the function passed as goal says so")
    if rule == "terminated":
        return ENDS
    if isinstance(rule, str):
        raise UnknownNameError("rule for goals", rule, ["terminated"])
    least = check("goal", rule, float, ", the least reward at the goal; or 'terminated'")
    return GoalRule(lambda outcome: outcome.gain >= least, f"a reward of at least {least:g}")


def cost_rule(rule: object) -> CostRule:
    """Return the rule for costs, by default the penalty."""
    if callable(rule):
        return CostRule(rule)
    if rule is None or rule == "penalty":
        return CostRule(lambda outcome: 1.0 if outcome.gain >= 0.0 else -outcome.gain)
    if rule == "reward":
        return CostRule(lambda outcome: -outcome.gain)
    if isinstance(rule, str):
        raise UnknownNameError("rule for costs", rule, ["penalty", "reward"])
    fixed = check("cost", rule, NotNegative, ", what every step costs; or 'penalty', 'reward'")
    return CostRule(lambda outcome: fixed, fixed)


def known_goal(environment: Any) -> GoalRule | None:
    """Return the goal of an environment that this module knows or that has no spaces; None for any other."""
    bare = getattr(environment, "unwrapped", environment)
    name = type(bare).__name__
    if name == "FrozenLakeEnv":
        goals = set(np.flatnonzero(np.asarray(bare.desc).ravel() == b"G").tolist())
        # Observations below a wrapper may not be cells: then look where the agent really is.
        where = (lambda outcome: int(bare.s)) if changing_wrapper(environment) else lambda outcome: outcome.next_state
        return GoalRule(lambda outcome: where(outcome) in goals, "the cells G of the map")
    if name in ("CliffWalkingEnv", "TaxiEnv", "MountainCarEnv", "AcrobotEnv"):
        # Unless a wrapper can end an episode: its steps do not pass through Gymnasium's own classes alone.
        return ENDS if all(in_gymnasium(definer(layer, "step")) for layer in wrappers(environment)) else None
    if hasattr(bare, "ssp"):
        return GoalRule(lambda outcome: outcome.terminated and outcome.info.get("goal", True), "the goal of the model")
    return None if hasattr(environment, "observation_space") else ENDS


def name_of(environment: Any) -> str:
    """Return what messages call an environment: its id, or its class."""
    spec = getattr(environment, "spec", None)
    return str(getattr(spec, "id", None) or type(getattr(environment, "unwrapped", environment)).__name__)


def changing_wrapper(environment: Any) -> str | None:
    """Return the name of the outermost wrapper that may change observations, actions, rewards or ends, or None."""
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
    """Return the class that defines a method of a wrapper."""
    return next(kind for kind in type(layer).__mro__ if method in vars(kind))


def in_gymnasium(kind: type) -> bool:
    return kind.__module__.startswith("gymnasium.")
