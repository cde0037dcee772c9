"""What a step through an environment means: whether it reached the goal, and what it cost.

An environment tells of a step by a reward, two flags and `info`. Which of its endings is the goal is said by one rule:

    goal="terminated"    every end of an episode is the goal
    goal=1.0             a step whose reward is at least this reaches the goal
    goal=function        a step of which the function says so, called with an `Outcome`

and what a step costs by another:

    cost="penalty"       minus the reward where that is negative, 1 otherwise: sparse rewards count steps
    cost="reward"        minus the reward
    cost=2.0             this much, whatever the reward
    cost=function        what the function says, called with an `Outcome`

`truncated` is no end: the environment cuts the episode off, wherever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from goalward.environments.wrappers import changing_wrapper, keeps_endings
from goalward.errors import CostError, SettingError, UnknownNameError
from goalward.settings import checked_number

__all__ = ["CostRule", "GoalRule", "Outcome", "cost_rule", "goal_rule", "known_goal", "name_of"]

TERMINATED = "terminated"
PENALTY, REWARD = "penalty", "reward"


class Outcome(NamedTuple):
    """One step of an environment, in its own words; a table of transitions has no `info`."""

    state: Any
    action: Any
    next_state: Any
    reward: float
    terminated: bool
    info: Mapping[str, Any]

    @property
    def gain(self) -> float:
        """The reward; raises CostError if it is no number."""
        try:
            return float(self.reward)
        except (TypeError, ValueError):
            raise CostError(
                f"action {self.action} in state {self.state} gave the reward {self.reward!r}; it must be a number, or"
                " pass rules that do not need it: goal='terminated' and cost=1.0"
            ) from None


class GoalRule(NamedTuple):
    """Which steps reach the goal: those of a reward, those that a function names, or else all that end an episode."""

    threshold: float | None = None
    predicate: Callable[[Outcome], object] | None = None

    def reached(self, outcome: Outcome) -> bool:
        """Return whether a step reached the goal."""
        if self.threshold is not None:
            return outcome.gain >= self.threshold
        return bool(outcome.terminated if self.predicate is None else self.predicate(outcome))

    def __str__(self) -> str:
        if self.threshold is not None:
            return f"a reward of at least {self.threshold:g}"
        return "every end of an episode" if self.predicate is None else "what the function given as goal says"


class CostRule(NamedTuple):
    """What a step costs: a fixed number, what a function says, or minus the reward; if `sparse`, 1 for gains."""

    fixed: float | None = None
    function: Callable[[Outcome], float] | None = None
    sparse: bool = False

    def cost(self, outcome: Outcome) -> float:
        """Return what a step cost; raises CostError if that is no finite number from 0 on."""
        if self.fixed is not None:
            return self.fixed
        if self.function is not None:
            try:
                paid = float(self.function(outcome))
            except (TypeError, ValueError):
                raise CostError(f"the function given as cost returned no number for {outcome}") from None
        else:
            paid = -outcome.gain
            if self.sparse and paid <= 0.0:
                paid = 1.0
        if not 0.0 <= paid < np.inf:
            raise CostError(
                f"action {outcome.action} in state {outcome.state} gave the reward {outcome.reward}, a cost of"
                f" {paid:g}; costs must be finite and not negative: pass cost=1.0 to count steps, cost={PENALTY!r} to"
                " count steps where rewards are not negative, or a function of the outcome"
            )
        # Minus a reward of zero is minus zero.
        return abs(paid)


def goal_rule(given: object, environment: Any) -> GoalRule:
    """Return the rule that names the goal; without one, that of an environment that is known here."""
    if given is None:
        preset = known_goal(environment)
        if preset is not None:
            return preset
        raise SettingError(
            f"which endings of {name_of(environment)} are the goal? Pass goal={TERMINATED!r} if all are, goal=1.0 for"
            " steps with a reward of at least 1, or a function of the outcome such as"
            ' goal=lambda outcome: outcome.info["is_success"]'
        )
    if callable(given):
        return GoalRule(predicate=given)
    if isinstance(given, str):
        if given != TERMINATED:
            raise UnknownNameError("rule for goals", given, [TERMINATED])
        return GoalRule()
    return GoalRule(checked_number("goal", given, -np.inf, note=f", the least reward at the goal; or {TERMINATED!r}"))


def cost_rule(given: object) -> CostRule:
    """Return the rule for costs."""
    if given is None or (isinstance(given, str) and given == PENALTY):
        return CostRule(sparse=True)
    if callable(given):
        return CostRule(function=given)
    if isinstance(given, str):
        if given != REWARD:
            raise UnknownNameError("rule for costs", given, [PENALTY, REWARD])
        return CostRule()
    return CostRule(fixed=checked_number("cost", given, note=f", what every step costs; or {PENALTY!r}, {REWARD!r}"))


def known_goal(environment: Any) -> GoalRule | None:
    """Return the rule of an environment whose endings are known, None for any other."""
    bare = getattr(environment, "unwrapped", environment)
    name = type(bare).__name__
    if name == "FrozenLakeEnv":
        goals = {cell for cell, letter in enumerate(np.asarray(bare.desc).ravel().tolist()) if letter == b"G"}
        if changing_wrapper(environment):  # observations may be no cells: look where the agent really is
            return GoalRule(predicate=lambda outcome: int(bare.s) in goals)
        return GoalRule(predicate=lambda outcome: outcome.next_state in goals)
    if name in ("CliffWalkingEnv", "TaxiEnv", "MountainCarEnv", "AcrobotEnv") and keeps_endings(environment):
        return GoalRule()
    if hasattr(bare, "ssp"):
        return GoalRule(predicate=lambda outcome: outcome.terminated and outcome.info.get("goal", True))
    return None


def name_of(environment: Any) -> str:
    """Return what messages call an environment: its id, or its class."""
    spec = getattr(environment, "spec", None)
    return str(getattr(spec, "id", None) or type(getattr(environment, "unwrapped", environment)).__name__)
